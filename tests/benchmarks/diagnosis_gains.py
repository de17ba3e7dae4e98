"""Gains that `diagnose` predicts beside those of really making the change.

Each change is made in earnest: another depth is asked for, the reranker is left out, the missing
documents are indexed, the IDs are read from another field, and all questions are asked again. The
demo's two retrievers, BM25 in LangChain and word vectors in LlamaIndex, answer over a part of the
demo's collection; with DATA, BM25 answers over the collections there too.

    python tests/benchmarks/diagnosis_gains.py [DATA] [--held-out]

With --held-out each change is diagnosed on one half of the questions and measured on the other.
An interval is about the mean over all such questions; the mean of the other half has its own
error, so that it may lie outside of an interval that is right.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from tests.steps.calls import of_calls

from fullrecall import Context, IdRecall, Report, Retrieval, Sample, diagnose, evaluate
from fullrecall.calls import Call
from fullrecall.diagnosis import Change, ChangeKind, Diagnosis
from fullrecall.scorers import Scorer

K, DEPTH = 5, 40

Search = Callable[[str, int], Sequence[Context]]
"""Takes a question and how many contexts to return."""

Index = Callable[[Sequence[Context]], Search]
"""Makes a search over contexts."""


class Made(NamedTuple):
    """A change as it was predicted, and the reports before it and after it was made."""

    setting: Setting
    change: Change
    before: Report
    after: Report

    @property
    def measured(self) -> float:
        """The gain of mean recall by the change, over the questions that it is measured on."""
        return self.measured_on(range(len(self.before))[self.setting.measured])

    @property
    def holds(self) -> bool:
        """Whether the predicted interval has the measured gain."""
        low, high, _ = self.change.interval
        return low - 1e-9 <= self.measured <= high + 1e-9

    def measured_on(self, positions: Sequence[int]) -> float:
        """Return the gain over some of the samples."""
        gains = [
            (self.after.rows[n].results[0].score or 0.0) - (at_k(self.before, n) or 0.0)
            for n in positions
            if at_k(self.before, n) is not None
        ]
        return sum(gains) / len(gains) if gains else nan


def at_k(report: Report, position: int) -> float | None:
    """Return recall within the first K contexts of one sample."""
    from fullrecall.measures import Recall

    return report.rows[position].results[0][Recall @ K]


@dataclass(frozen=True)
class Setting:
    """A retriever over a collection, with questions whose documents are known.

    Changes are diagnosed on some of the questions and measured on some: by default on all.
    """

    name: str
    contexts: Sequence[Context]
    samples: Sequence[Sample]
    index: Index
    diagnosed: slice = field(default_factory=lambda: slice(None))
    measured: slice = field(default_factory=lambda: slice(None))

    def told(self, report: Report, **options: Any) -> Diagnosis:
        """Return the diagnosis of the questions that are diagnosed."""
        if self.diagnosed == slice(None):
            return diagnose(report, **options)
        samples = [row.sample for row in report.rows[self.diagnosed]]
        return diagnose(evaluate(samples, IdRecall(), progress=False), **options)

    def report(
        self,
        retrieve: Callable[[Sample], Retrieval | Sequence[Context]],
        samples: Sequence[Sample] | None = None,
        scorer: Scorer | None = None,
    ) -> Report:
        """Return the report of what `retrieve` returns for each sample."""
        filled = [one.with_retrieval(retrieve(one)) for one in samples or self.samples]
        return evaluate(filled, scorer or IdRecall(), progress=False)


def larger_k(setting: Setting) -> Iterator[Made]:
    """Ask for more contexts: as many as the diagnosis of longer lists, and of a retriever, says."""
    search = setting.index(setting.contexts)
    before = setting.report(lambda one: search(question(one), DEPTH))
    short = setting.report(lambda one: search(question(one), K))
    for report, changes in (
        (before, setting.told(before, k=K).changes),
        (short, setting.told(short, k=K, retriever=search, deep_k=DEPTH).changes),
    ):
        for change in changes:
            if change.kind is ChangeKind.LARGER_K:
                words = change.action.split()
                k = int(words[-1] if words[0] == "raise" else words[1])
                after = setting.report(lambda one, k=k: search(question(one), k))
                yield Made(setting, change, report, after)


def stages(setting: Setting) -> Iterator[Made]:
    """Take the reranker out, let it keep all, and fuse it with the search before it.

    It ranks by how many of the question's longer words a text has: worse than the search.
    """
    search = setting.index(setting.contexts)
    wide = 30

    def reranked(one: Sample, keep: int) -> tuple[Sequence[Context], list[Context]]:
        first = search(question(one), wide)
        words = {word for word in question(one).lower().split() if len(word) > 5}
        order = sorted(first, key=lambda c: -sum(word in (c.text or "") for word in words))
        return first, order[:keep]

    def recorded(one: Sample) -> Retrieval:
        first, kept = reranked(one, K)
        call = Call(
            "Reranker", contexts=tuple(kept), children=(Call("Search", contexts=tuple(first)),)
        )
        return Retrieval(kept, calls=[call])

    def fused(one: Sample) -> list[Context]:
        first, kept = reranked(one, K)
        worth: dict[tuple[str | None, str | None], float] = {}
        for ranked in (first, kept):
            for rank, context in enumerate(ranked, start=1):
                key = (context.id, context.text)
                worth[key] = worth.get(key, 0) + 1 / (60 + rank)
        best = sorted(worth, key=lambda key: -worth[key])[:K]
        return [Context(text, id=own) for own, text in best]

    before = setting.report(recorded)
    made = {
        ChangeKind.SKIP_STAGES: lambda one: search(question(one), K),
        ChangeKind.KEEP_MORE: lambda one: reranked(one, wide)[1],
        ChangeKind.FUSE_STAGES: fused,
    }
    for change in setting.told(before, k=K).changes:
        yield Made(setting, change, before, setting.report(made[change.kind]))


def duplicates(setting: Setting) -> Iterator[Made]:
    """Index a copy of every third document: drop the copies, or accept them in the references."""
    copied = {one.id: f"copy of {one.id}" for one in setting.contexts[::3]}
    copies = [Context(one.text, id=copied[one.id]) for one in setting.contexts[::3]]
    # Of equal scores the one that was indexed first stands first.
    behind = setting.index([*setting.contexts, *copies])
    before_them = setting.index([*copies, *setting.contexts])

    def without_copies(one: Sample) -> list[Context]:
        first: dict[str | None, Context] = {}
        for context in behind(question(one), DEPTH):
            first.setdefault(context.text, context)
        return list(first.values())[:K]

    before = setting.report(lambda one: behind(question(one), DEPTH))
    for change in setting.told(before, k=K).changes:
        if change.kind is ChangeKind.DROP_DUPLICATES:
            yield Made(setting, change, before, setting.report(without_copies))
    known = [*setting.contexts, *copies]
    before = setting.report(lambda one: before_them(question(one), K))
    for change in setting.told(before, k=K, corpus=known).changes:
        if change.kind is ChangeKind.ACCEPT_DUPLICATES:
            accepted = [
                Sample(**{**one.to_dict(), "reference_context_ids": _with(one, copied)})
                for one in setting.samples
            ]
            after = setting.report(lambda one: before_them(question(one), K), accepted)
            yield Made(setting, change, before, after)


def _with(sample: Sample, copied: Mapping[str | None, str]) -> list[list[str]]:
    """Return the references with the copies as alternatives."""
    return [
        [*reference.any_of, *(copied[one] for one in reference.any_of if one in copied)]
        for reference in sample.reference_context_ids or ()
    ]


def missing(setting: Setting) -> Iterator[Made]:
    """Index what every fifth question needs, which had been left out."""
    gone = {
        one for sample in setting.samples[::5] for r in sample.reference_context_ids or ()
        for one in r.any_of
    }  # fmt: skip
    indexed = [context for context in setting.contexts if context.id not in gone]
    patchy, whole = setting.index(indexed), setting.index(setting.contexts)
    before = setting.report(lambda one: patchy(question(one), K))
    after = setting.report(lambda one: whole(question(one), K))
    for change in setting.told(before, k=K, corpus=indexed).changes:
        if change.kind is ChangeKind.INDEX_MISSING:
            yield Made(setting, change, before, after)


def ids(setting: Setting) -> Iterator[Made]:
    """Return IDs in capitals, IDs of chunks, and node IDs with the document in metadata."""
    search = setting.index(setting.contexts)

    def renamed(rename: Callable[[int, Context], Context]) -> Report:
        return setting.report(
            lambda one: [rename(n, c) for n, c in enumerate(search(question(one), K))]
        )

    after = setting.report(lambda one: search(question(one), K))
    for rename in (
        lambda _, c: Context(c.text, id=f"./{c.id.swapcase()} "),
        lambda n, c: Context(c.text, id=f"{c.id}#{n}"),
        lambda n, c: Context(c.text, id=f"node {n}", metadata={"doc": {"key": c.id}}),
        lambda n, c: Context(c.text, id=f"node {n}", source=c.id),
    ):
        before = renamed(rename)
        for change in setting.told(before, k=K).changes:
            yield Made(setting, change, before, after)


def failed_calls(setting: Setting) -> Iterator[Made]:
    """Make the second of two calls succeed, which had failed for every fourth question."""
    search = setting.index(setting.contexts)

    def united(one: Sample, *, fails: bool) -> Retrieval:
        words = question(one).split()
        halves = [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]
        calls = [Call("first", halves[0], contexts=tuple(search(halves[0], K)))]
        calls.append(
            Call("second", halves[1], error="timed out")
            if fails
            else Call("second", halves[1], contexts=tuple(search(halves[1], K)))
        )
        return of_calls(calls, failed_calls="score")

    # Of both halves, where one is held out.
    down = {one.id for nth, one in enumerate(setting.samples) if nth % 8 in {0, 3}}
    before = setting.report(lambda one: united(one, fails=one.id in down))
    after = setting.report(lambda one: united(one, fails=False))
    for change in setting.told(before, k=K).changes:
        if change.kind is ChangeKind.MEND_CALLS:
            yield Made(setting, change, before, after)


CHANGES = (larger_k, stages, duplicates, missing, ids, failed_calls)


def question(sample: Sample) -> str:
    """Return the question of a sample."""
    return sample.user_input or ""


def demo(pages: int = 900) -> list[Setting]:
    """Return the demo's two retrievers over a part of its collection."""
    from fullrecall.collections import documents, questions
    from fullrecall.collections.stdlib import Document
    from fullrecall.demo import dense, lexical
    from fullrecall.demo.chunks import chunked
    from langchain_fullrecall import contexts as from_documents
    from llama_index.evaluation.fullrecall import contexts as from_nodes

    every, samples = documents(), questions()
    needed = {one for s in samples for r in s.reference_context_ids or () for one in r.any_of}
    rest = [page for page in every if page.id not in needed]
    step = max(1, len(rest) // max(1, pages - len(needed)))
    kept = [page for page in every if page.id in needed] + rest[::step]
    documents_kept = [Context(page.text, id=page.id) for page in kept]

    def bm25(contexts: Sequence[Context]) -> Search:
        chunks = chunked([Document(str(c.id), c.text or "") for c in contexts])
        retriever = lexical.LexicalRetriever.over(chunks, DEPTH)

        def search(asked: str, k: int) -> Sequence[Context]:
            if not asked.strip():
                return []
            found = retriever.model_copy(update={"depth": k}).invoke(asked)
            return from_documents(found, id_key="source")

        return search

    def vectors(contexts: Sequence[Context]) -> Search:
        from llama_index.core import VectorStoreIndex

        nodes = dense.nodes([Document(str(c.id), c.text or "") for c in contexts])
        index = VectorStoreIndex(nodes, embed_model=dense.WordEmbedding())

        def search(asked: str, k: int) -> Sequence[Context]:
            return from_nodes(
                index.as_retriever(similarity_top_k=k).retrieve(asked), id_key="ref_doc_id"
            )

        return search

    return [
        Setting("demo, BM25", documents_kept, samples, bm25),
        Setting("demo, dense", documents_kept, samples, vectors),
    ]


def collection(folder: Path) -> Setting:
    """Return BM25 over a collection in BEIR's form."""
    import bm25s
    import numpy as np

    def words(texts: list[str]) -> list[list[str]]:
        split: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", return_ids=False, show_progress=False
        )
        return split

    def bm25(contexts: Sequence[Context]) -> Search:
        index = bm25s.BM25()
        index.index(words([c.text or "" for c in contexts]), show_progress=False)

        def search(asked: str, k: int) -> Sequence[Context]:
            if not words([asked])[0]:
                return []
            scores = index.get_scores(words([asked])[0])
            best = np.argsort(-scores, kind="stable")[:k]
            return [contexts[n] for n in best if scores[n] > 0]

        return search

    rows = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
    wanted: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")[:3]
        if float(grade) > 0:
            wanted.setdefault(query, {})[document] = float(grade)
    asked = [json.loads(line) for line in (folder / "queries.jsonl").open()]
    return Setting(
        f"{folder.name.removeprefix('retrieval_')}, BM25",
        [Context(row["text"] or " ", id=row["id"]) for row in rows],
        [
            Sample(id=row["id"], user_input=row["text"], reference_context_ids=wanted[row["id"]])
            for row in asked
            if row["id"] in wanted
        ],
        bm25,
    )


HELD_OUT = ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2)))
"""Which questions are diagnosed, and on which others the change is measured."""


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="Diagnose one half of the questions and measure on the other, both ways.",
    )
    given = parser.parse_args()
    logging.disable(logging.DEBUG)
    settings = demo()
    if given.data is not None:
        settings += [collection(given.data / f"retrieval_{n}") for n in ("cranfield", "clapnq")]
    if given.held_out:
        halves = [(one, *half) for one in settings for half in HELD_OUT]
        settings = [replace(one, diagnosed=d, measured=m) for one, d, m in halves]
    print("| retriever | change | predicted | measured | within |")
    print("| --- | --- | ---: | ---: | --- |")
    held: Counter[bool] = Counter()
    total: Counter[bool] = Counter()
    for setting in settings:
        for make in CHANGES:
            for made in make(setting):
                total[made.change.at_most] += 1
                held[made.change.at_most] += made.holds
                print(
                    f"| {setting.name} | {made.change.action} | {made.change.gain_text} "
                    f"| {made.measured:+.3f} | {'yes' if made.holds else 'NO'} |",
                    flush=True,
                )
    for at_most, what in ((False, "gains"), (True, "gains of which a bound was predicted")):
        print(f"\n{held[at_most]} of {total[at_most]} measured {what} lie within the interval.")


if __name__ == "__main__":
    main()
