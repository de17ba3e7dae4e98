"""Compare the gains that `diagnose` predicts with measured gains, for known defects.

Each retriever has one defect: a wrong suffix, repeated documents, a small k.
`diagnose` predicts the gain of the fix; then a retriever without the defect answers all questions.
BM25 in LangChain and word vectors in LlamaIndex answer over a part of the standard library's
documentation; with DATA, BM25 answers over the collections in that folder too.

    python bench/diagnosis_gains.py [DATA] [--held-out]

With --held-out each change is predicted from one half of the questions and measured on the other
half.
An interval is for the mean over all such questions. The mean of the other half has its own error,
so it may lie outside of a right interval.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

sys.path.append(str(Path(__file__).parents[1]))

from fullrecall import Context, IdRecall, Report, Sample, diagnose, evaluate
from fullrecall.diagnosis import Change, ChangeKind
from fullrecall.measures import Recall

K, DEPTH = 5, 40

Search = Callable[[str, int], Sequence[Context]]
"""Takes a question and how many contexts to return."""

Index = Callable[[Sequence[Context]], Search]
"""Makes a search over contexts."""

Mended = Callable[[str, Change], Sequence[Context]]
"""Returns what is retrieved for a question once a change is made."""


@dataclass(frozen=True)
class Setting:
    """A retriever over a collection, with questions whose documents are known."""

    name: str
    contexts: Sequence[Context]
    samples: Sequence[Sample]
    index: Index

    def search(self) -> Search:
        """Return the search without a defect."""
        return self.index(self.contexts)

    def report(
        self,
        retrieve: Callable[[str], Sequence[Context]],
    ) -> Report:
        """Return the report of the contexts that `retrieve` returns for each question."""
        filled = [
            sample.with_retrieval(retrieve(sample.user_input or "")) for sample in self.samples
        ]
        return evaluate(filled, IdRecall(), progress=False)


class Defective(NamedTuple):
    """A report of a retriever with a defect, the options of `diagnose`, and the expected proposals.

    Changes of the kinds in `mended` fix the defect; other changes may gain as well.
    """

    report: Report
    options: Mapping[str, Any]
    mended: Mapping[ChangeKind, Mended]


def wrong_suffix(setting: Setting) -> Defective:
    """Index documents under a file suffix that the references lack."""
    search = setting.search()
    return _renamed(setting, lambda c: Context(c.text, id=f"{c.id}.md"), search, "normalize_ids")


def letter_case(setting: Setting) -> Defective:
    """Index the IDs in the other letter case, with a path before them."""
    search = setting.search()
    return _renamed(
        setting,
        lambda c: Context(c.text, id=f"./{(c.id or '').swapcase()} "),
        search,
        "normalize_ids",
    )


def node_ids(setting: Setting) -> Defective:
    """Return node IDs, and those of documents in a field."""

    def node(context: Context) -> Context:
        name = f"node {crc32((context.id or '').encode())}"
        return Context(context.text, id=name, metadata={"doc": {"key": context.id}})

    return _renamed(setting, node, setting.search(), "id_level")


def chunk_ids(setting: Setting) -> Defective:
    """Return the IDs of chunks instead of documents."""
    search = setting.search()
    return _renamed(setting, lambda c: Context(c.text, id=f"{c.id}#3"), search, "id_level")


def _renamed(
    setting: Setting, rename: Callable[[Context], Context], search: Search, kind: str
) -> Defective:
    def renamed(question: str, k: int) -> list[Context]:
        return [rename(context) for context in search(question, k)]

    report = setting.report(lambda question: renamed(question, K))
    return Defective(report, {"retriever": renamed}, {ChangeKind(kind): _first(search)})


def _first(search: Search) -> Mended:
    """Return a search without the defect."""
    return lambda question, _: search(question, K)


def _distinct(search: Search) -> Mended:
    """Return a search that drops contexts of equal texts before the list is cut."""

    def distinct(question: str, _: Change) -> Sequence[Context]:
        first_of: dict[str | None, Context] = {}
        for context in search(question, DEPTH):
            first_of.setdefault(context.text, context)
        return list(first_of.values())[:K]

    return distinct


def small_k(setting: Setting) -> Defective:
    """Retrieve too few contexts."""
    search = setting.search()
    report = setting.report(lambda question: search(question, K))

    def deeper(question: str, change: Change) -> Sequence[Context]:
        _, depth, *_ = change.action.split()  # "retrieve 10 contexts in place of 5"
        return search(question, int(depth))

    options = {"retriever": search, "deep_k": DEPTH}
    return Defective(report, options, {ChangeKind.LARGER_K: deeper})


def repeated(setting: Setting) -> Defective:
    """Return each document once for each of its copies, since no step removes them."""
    search = setting.index([copy for context in setting.contexts for copy in [context] * 3])
    report = setting.report(lambda question: search(question, K))
    options = {"retriever": search, "deep_k": DEPTH}
    return Defective(report, options, {ChangeKind.DROP_DUPLICATES: _distinct(search)})


def crowded(setting: Setting) -> Defective:
    """Index two copies of every other document under other IDs: they fill the lists."""
    copies = [
        Context(c.text, id=f"copy {nth} of {c.id}") for c in setting.contexts[::2] for nth in (1, 2)
    ]
    search = setting.index([*setting.contexts, *copies])
    report = setting.report(lambda question: search(question, DEPTH))
    options = {"k": K, "retriever": search, "deep_k": DEPTH}
    return Defective(report, options, {ChangeKind.DROP_DUPLICATES: _distinct(search)})


def directory(setting: Setting) -> Defective:
    """Index documents under the path of their folder."""
    search = setting.search()
    return _renamed(
        setting, lambda c: Context(c.text, id=f"docs/latest/{c.id}"), search, "normalize_ids"
    )


def other_field(setting: Setting) -> Defective:
    """Return the number of a row as ID, and the document's ID as the source."""

    def row(context: Context) -> Context:
        number = str(crc32((context.id or "").encode()))
        return Context(context.text, id=number, source=context.id)

    return _renamed(setting, row, setting.search(), "id_level")


def both_at_once(setting: Setting) -> Defective:
    """Return IDs of chunks, written in the other letter case."""
    search = setting.search()
    return _renamed(
        setting, lambda c: Context(c.text, id=f"{(c.id or '').swapcase()}#p7"), search, "id_level"
    )


DEFECTS: tuple[Callable[[Setting], Defective], ...] = (
    *(wrong_suffix, letter_case, node_ids, chunk_ids, directory, other_field, both_at_once),
    *(small_k, repeated, crowded),
)


def part_of(report: Report, part: slice) -> Report:
    """Return the report of a part of the samples."""
    samples = [row.sample for row in report.rows[part]]
    return evaluate(samples, IdRecall(), progress=False)


def predicted(report: Report, defective: Defective) -> list[Change]:
    """Return the proposed changes that fix the defect, from its report."""
    changes = diagnose(report, **defective.options).changes
    return [change for change in changes if change.kind in defective.mended]


def gain(report: Report, defective: Defective, change: Change) -> float:
    """Return the mean recall of the report's questions with a change made, less that without."""
    before = [row.results[0][Recall @ K] or 0.0 for row in report.rows]
    samples = [row.sample for row in report.rows]
    retrieve = defective.mended[change.kind]
    mended = [
        sample.with_retrieval(retrieve(sample.user_input or "", change)) for sample in samples
    ]
    rows = evaluate(mended, IdRecall(), progress=False).rows
    after = [row.results[0].score or 0.0 for row in rows]
    return (sum(after) - sum(before)) / len(samples)


def holds(change: Change, measured: float) -> bool:
    """Return whether the predicted interval contains a measured gain."""
    low, high, _ = change.interval
    return low - 1e-9 <= measured <= high + 1e-9


def demo(pages: int = 900) -> list[Setting]:
    """Return BM25 and word vectors over a part of the standard library's documentation."""
    import frameworks
    from langchain_core.documents import Document as Page
    from tests.stdlib_docs.collection import documents, questions

    from fullrecall.demo.library import chunked
    from fullrecall.samples import Document
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
        pages = [Page(c.text, metadata={"source": c.source}) for c in chunks]
        retriever = frameworks.LexicalRetriever.over(pages, DEPTH)

        def search(asked: str, k: int) -> Sequence[Context]:
            if not asked.strip():
                return []
            found = retriever.model_copy(update={"depth": k}).invoke(asked)
            return from_documents(found, id_key="source")

        return search

    def vectors(contexts: Sequence[Context]) -> Search:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

        nodes = [
            TextNode(
                text=chunk.text,
                id_=f"{chunk.source}#{number}",
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.source)},
            )
            for number, chunk in enumerate(
                chunked([Document(str(c.id), c.text or "") for c in contexts])
            )
        ]
        index = VectorStoreIndex(nodes, embed_model=frameworks.WordEmbedding())

        def search(asked: str, k: int) -> Sequence[Context]:
            return from_nodes(
                index.as_retriever(similarity_top_k=k).retrieve(asked), id_key="ref_doc_id"
            )

        return search

    return [
        Setting("demo, BM25", documents_kept, samples, bm25),
        Setting("demo, dense", documents_kept, samples, vectors),
    ]


_PREFIX = "doc-"
"""Before the numbers that documents have there: IDs of letters are what most collections have."""


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
            wanted.setdefault(query, {})[f"{_PREFIX}{document}"] = float(grade)
    asked = [json.loads(line) for line in (folder / "queries.jsonl").open()]
    return Setting(
        f"{folder.name.removeprefix('retrieval_')}, BM25",
        [Context(row["text"] or " ", id=f"{_PREFIX}{row['id']}") for row in rows],
        [
            Sample(id=row["id"], user_input=row["text"], reference_context_ids=wanted[row["id"]])
            for row in asked
            if row["id"] in wanted
        ],
        bm25,
    )


HALVES = ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2)))
"""Of which questions a gain is predicted, and on which others it is measured."""


def measured(defective: Defective, *, held_out: bool) -> Iterator[tuple[Change, float]]:
    """Yield each change that fixes a defect, with its measured gain."""
    halves = [(part_of(defective.report, first), other) for first, other in HALVES]
    for report, other in halves if held_out else [(defective.report, slice(None))]:
        others = part_of(defective.report, other) if held_out else report
        for change in predicted(report, defective):
            yield change, gain(others, defective, change)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="Predict from one half of the questions and measure on the other, both ways.",
    )
    options = parser.parse_args()
    logging.disable(logging.DEBUG)
    settings = demo()
    if options.data is not None:
        settings += [collection(options.data / f"retrieval_{n}") for n in ("cranfield", "clapnq")]
    print("| retriever | defect | change | predicted | measured | within |")
    print("| --- | --- | --- | ---: | ---: | --- |")
    within: list[bool] = []
    for setting in settings:
        for defect in DEFECTS:
            for change, gained in measured(defect(setting), held_out=options.held_out):
                row = [setting.name, defect.__name__.replace("_", " "), change.action]
                within.append(holds(change, gained))
                row += [change.gain_text, f"{gained:+.3f}"]
                row += ["yes" if holds(change, gained) else "NO"]
                print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{sum(within)} of {len(within)} measured gains lie within the interval.")


if __name__ == "__main__":
    main()
