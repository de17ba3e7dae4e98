"""Each cause made on purpose over the demo's collection: the cause found is the cause made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import bm25s
import numpy as np
import pytest

from fullrecall import ClaimRecall, Context, IdRecall, Sample, TextRecall, evaluate
from fullrecall.calls import Call
from fullrecall.collections import documents, questions
from fullrecall.diagnosis import Cause, Diagnosed, diagnose
from fullrecall.retrieval import Retrieval
from fullrecall.testing import ContainmentJudge

pytestmark = pytest.mark.frameworks  # bm25s comes with the demo

K = 5


@dataclass
class Searcher:
    """BM25 over contexts, as `diagnose` takes a retriever: a question and k, contexts back."""

    contexts: Sequence[Context]
    asked: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._index = bm25s.BM25()
        self._index.index(_words([c.text or "" for c in self.contexts]), show_progress=False)

    def __call__(self, question: str, k: int) -> list[Context]:
        """Return the k best contexts that share a word."""
        self.asked.append((question, k))
        scores = self._index.get_scores(_words([question])[0])
        best = np.argsort(-scores, kind="stable")[:k]
        return [self.contexts[n] for n in best if scores[n] > 0]


def _words(texts: list[str]) -> list[list[str]]:
    words: list[list[str]] = bm25s.tokenize(
        texts, stopwords="en", return_ids=False, show_progress=False
    )
    return words


@pytest.fixture(scope="module")
def pages() -> list[Context]:
    """Return the collection, one context for each document."""
    return [Context(document.text, id=document.id) for document in documents()]


@pytest.fixture(scope="module")
def index(pages: list[Context]) -> Searcher:
    """Return BM25 over the whole documents."""
    return Searcher(pages)


@pytest.fixture(scope="module")
def wanted(index: Searcher) -> dict[str, tuple[str, Sample]]:
    """Return questions of one plain target that BM25 brings within K: by question, its ID.

    The claims of the answer are asked, since the questions avoid the documents' words on purpose.
    """
    found = {}
    for sample in questions():
        references = sample.reference_context_ids or ()
        if len(references) != 1 or len(references[0].any_of) != 1:
            continue
        asked = " ".join(claim.text for claim in sample.reference_claims or ())
        target = references[0].any_of[0]
        if target in [context.id for context in index(asked, K)]:
            found[sample.id or ""] = (target, _asking(sample, asked))
    assert len(found) >= 20
    return found


def _asking(sample: Sample, question: str) -> Sample:
    return Sample(**{**sample.to_dict(), "user_input": question})


def causes(misses: Sequence[Diagnosed]) -> dict[tuple[str, str], Cause]:
    """Return the cause of each miss by its sample and target."""
    return {(miss.sample, miss.target): miss.cause for miss in misses}


def by_id(
    wanted: Mapping[str, tuple[str, Sample]],
    retrieve: Callable[[str, Sample], Sample],
) -> tuple[list[Sample], dict[tuple[str, str], str]]:
    """Return the samples as `retrieve` fills them in, and their targets."""
    samples = [retrieve(target, sample) for target, sample in wanted.values()]
    return samples, {(name, target): target for name, (target, _) in wanted.items()}


def test_an_item_deleted_from_the_index(
    wanted: dict[str, tuple[str, Sample]], pages: list[Context]
) -> None:
    """Every target is taken out of the index: each miss is not in the corpus, and no other."""
    gone = {target for target, _ in wanted.values()}
    kept = [page for page in pages if page.id not in gone]
    search = Searcher(kept)
    samples = [sample.with_retrieval(search(sample.user_input, K)) for _, sample in wanted.values()]
    report = evaluate(samples, IdRecall(), progress=False)
    found = diagnose(report, k=K, corpus=kept, retriever=search)
    assert causes(found.misses) == {
        (name, target): Cause.NOT_IN_CORPUS for name, (target, _) in wanted.items()
    }


def test_a_list_cut_too_short(
    wanted: dict[str, tuple[str, Sample]], index: Searcher, pages: list[Context]
) -> None:
    """What the deeper search brings is beyond k, at the very rank where it stands there."""
    ranks = {}
    samples = []
    for name, (target, sample) in wanted.items():
        brought = index(sample.user_input, K)
        ranks[name, target] = [context.id for context in brought].index(target) + 1
        samples.append(sample.with_retrieval(brought[: ranks[name, target] - 1]))
    report = evaluate(samples, IdRecall(), progress=False)
    index.asked.clear()
    found = diagnose(report, k=K, corpus=pages, retriever=index, deep_k=50)
    assert causes(found.misses) == {
        miss: Cause.NOTHING_RETRIEVED if rank == 1 else Cause.BEYOND_K
        for miss, rank in ranks.items()
    }
    assert {(miss.sample, miss.target): miss.rank for miss in found} == ranks
    assert index.asked == [(sample.user_input, 50) for sample in samples]


def test_a_list_longer_than_k_needs_no_deeper_search(
    wanted: dict[str, tuple[str, Sample]], index: Searcher
) -> None:
    """A rank beyond k in the list itself is the report's own knowledge."""
    samples = [s.with_retrieval(index(s.user_input, 50)) for _, s in wanted.values()]
    report = evaluate(samples, IdRecall(), progress=False)
    index.asked.clear()
    found = diagnose(report, k=1, retriever=index)
    assert len(found) > 0
    assert {miss.cause for miss in found} == {Cause.BEYOND_K}
    assert [miss.rank for miss in found] == [missed.rank for missed in report.missed(1)]
    assert index.asked == []


def test_a_reranker_that_drops(
    wanted: dict[str, tuple[str, Sample]], index: Searcher, pages: list[Context]
) -> None:
    """What the first stage had and the reranker left out is blamed on the reranker."""

    def reranked(target: str, sample: Sample) -> Sample:
        first = tuple(index(sample.user_input, 20))
        second = tuple(c for c in reversed(first) if c.id != target)[:10]
        search = Call("BM25", contexts=first)
        calls = [Call("Reranker", contexts=second, children=(search,))]
        return sample.with_retrieval(Retrieval(second[:K], calls=calls))

    samples, _ = by_id(wanted, reranked)
    found = diagnose(
        evaluate(samples, IdRecall(), progress=False), k=K, corpus=pages, retriever=index
    )
    assert causes(found.misses) == {
        (name, target): Cause.DROPPED_BY_STAGE for name, (target, _) in wanted.items()
    }
    assert all("BM25 had it at rank" in miss.detail for miss in found)
    assert all("Reranker no longer has it" in miss.detail for miss in found)


def test_a_duplicate_that_was_kept_instead(
    wanted: dict[str, tuple[str, Sample]], pages: list[Context]
) -> None:
    """Every target has a twin in the index, and a filter keeps the twin: a near duplicate."""
    targets = {target for target, _ in wanted.values()}
    twins = [
        Context(f"{page.text} See also the manual.", id=f"copy of {page.id}")
        for page in pages
        if page.id in targets and len(page.text or "") > 200
    ]
    both = [*pages, *twins]
    search = Searcher(both)
    with_twin = {str(twin.id).removeprefix("copy of ") for twin in twins}
    samples = []
    made = {}
    for name, (target, sample) in wanted.items():
        brought = [c for c in search(sample.user_input, 3 * K) if c.id != target][:K]
        if f"copy of {target}" in [context.id for context in brought]:
            samples.append(sample.with_retrieval(brought))
            made[name, target] = Cause.NEAR_DUPLICATE
    assert len(made) > len(with_twin) / 2
    found = diagnose(evaluate(samples, IdRecall(), progress=False), k=K, corpus=both)
    assert causes(found.misses) == made


def test_chunks_where_documents_are_expected(
    wanted: dict[str, tuple[str, Sample]], pages: list[Context]
) -> None:
    """Chunks carry IDs of their own: by their source, or by the form of their ID."""
    chunks = [
        Context((page.text or "")[at : at + 400], id=f"{page.id}#{at}", source=page.id)
        for page in pages
        for at in range(0, len(page.text or ""), 400)
    ]
    bare = [Context(chunk.text, id=chunk.id) for chunk in chunks]
    for corpus in (chunks, bare):
        search = Searcher(corpus)
        brought = [
            (name, target, sample, search(sample.user_input, K))
            for name, (target, sample) in wanted.items()
        ]
        hits = [b for b in brought if any(str(c.id).startswith(f"{b[1]}#") for c in b[3])]
        assert len(hits) >= 10
        samples = [sample.with_retrieval(contexts) for _, _, sample, contexts in hits]
        report = evaluate(samples, IdRecall(), progress=False)
        found = diagnose(report, k=K, corpus=corpus)
        assert causes(found.misses) == {
            (name, target): Cause.WRONG_ID_LEVEL for name, target, _, _ in hits
        }


def test_a_chunker_that_splits(pages: list[Context]) -> None:
    """A passage that no chunk holds whole was split; one that a chunk holds was not."""
    chunks = [
        Context((page.text or "")[at : at + 300], id=f"{page.id}#{at}")
        for page in pages
        for at in range(0, len(page.text or ""), 300)
    ]
    search = Searcher(chunks)
    long = [page for page in pages if len(page.text or "") > 900][:60:2]
    samples, made = [], {}
    for nth, page in enumerate(long):
        # Every second passage lies across a border, the others inside a chunk.
        start = 200 if nth % 2 else 310
        passage = (page.text or "")[start : start + 200]
        if len("".join(passage.split())) < 120:
            continue
        brought = [c for c in search(passage, 20) if not str(c.id).startswith(f"{page.id}#300")]
        samples.append(
            Sample(
                id=page.id,
                user_input=passage,
                reference_contexts=[passage],
                retrieved_contexts=brought[:K],
            )
        )
        made[page.id, passage] = Cause.SPLIT_ACROSS_CHUNKS if nth % 2 else Cause.BEYOND_K
    assert len(set(made.values())) == 2
    report = evaluate(samples, TextRecall(threshold=0.9), progress=False)
    found = diagnose(report, k=K, corpus=chunks, retriever=search)
    assert causes(found.misses) == made
    split = [miss for miss in found if miss.cause is Cause.SPLIT_ACROSS_CHUNKS]
    assert all("of it was retrieved" in miss.detail for miss in split)
    assert all("#300" in miss.detail.partition("not retrieved: ")[2] for miss in split)


@dataclass(frozen=True)
class Overwhelmed(ContainmentJudge):
    """A judge that finds nothing in more than two contexts."""

    name: str = "overwhelmed"

    def _verdict(self, target: str, contexts: Sequence[str]) -> object:  # type: ignore[override]
        return super()._verdict(target, contexts if len(contexts) <= 2 else ())


def test_a_judge_that_says_no(index: Searcher, wanted: dict[str, tuple[str, Sample]]) -> None:
    """The reference context was retrieved, and the judge denies a claim that it grants alone."""
    samples, made = [], {}
    for name, (_, sample) in wanted.items():
        brought = index(sample.user_input, K)
        texts = [c.label for group in sample.reference_contexts or () for c in group]
        claim = texts[0].split("\n")[0].strip()
        samples.append(
            Sample(
                id=name,
                user_input=sample.user_input,
                retrieved_contexts=brought,
                reference_contexts=texts,
                reference_claims=[claim],
            )
        )
        made[name, claim] = Cause.JUDGED_UNSUPPORTED
    scorer = ClaimRecall(judge=Overwhelmed())
    report = evaluate(samples, scorer, progress=False)
    assert causes(diagnose(report, scorers=scorer).misses) == made
