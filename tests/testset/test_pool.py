"""The pool of several retrievers' contexts, and the targets that each context satisfies."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, Sample
from fullrecall.testset.pool import Pool, PooledPair, Targets

TEXT = "The old mill burned in May. The town sold the new mill to Bo in June."


def span(start: int | None, end: int | None, source: str | None = "d", text: Any = None) -> Context:
    """Return a range of a document."""
    return Context(text or "x" * ((end or 1) - (start or 0)), source=source, start=start, end=end)


@pytest.mark.parametrize(
    ("context", "named"),
    [
        (Context("t", id="a"), {0}),
        (Context("t", id="c"), {0}),
        (Context("t", id="x", source="b"), {1}),
        (Context("t", id="x"), set()),
    ],
)
def test_references_by_id_name_a_context(context: Context, named: set[int]) -> None:
    """An ID, or the ID of the source, is one of an any-of group."""
    sample = Sample(reference_context_ids=[["a", "c"], "b"])
    assert Targets(sample).named_by(context) == named


@pytest.mark.parametrize(
    ("reference", "context", "holds"),
    [
        (span(0, 10), span(0, 10), True),
        (span(0, 10), span(0, 9), True),
        (span(0, 10), span(0, 8), False),
        (span(0, 10), span(1, 20), True),
        (span(0, 10), span(2, 20), False),
        (span(0, 10), span(0, 10, "other"), False),
        (Context("old mill", source="d"), Context(TEXT), True),
        (Context("OLD  mill", source="d"), Context(TEXT), True),
        (Context("old tower", source="d"), Context(TEXT), False),
        (Context("old mill", id="a"), Context("other words", id="a"), False),
        (Context(id="a"), Context("words", id="a"), True),
        (Context(id="a"), Context("words", id="b"), False),
        (Context("old mill", id="a"), Context(id="a"), True),
    ],
)
def test_references_by_place_or_words_name_a_context(
    reference: Context,
    context: Context,
    holds: bool,  # noqa: FBT001
) -> None:
    """A context has most of the place, or all of the words; without words, the ID."""
    targets = Targets(Sample(reference_contexts=[reference]))
    assert targets.named_by(context) == ({0} if holds else set())


def pair(**fields: Any) -> PooledPair:
    """Return a pooled pair."""
    return PooledPair(0, "item", Context("t"), 0.1, **fields)


def test_targets_that_a_pair_joins() -> None:
    """Claims are joined by their number; other targets by a nearly equal text."""
    claims = Targets(
        Sample(reference_claims=["one", "two"], reference_contexts=[Context("a"), Context("b")])
    )
    assert (claims.are_claims, claims.count) == (True, 2)
    assert claims.joined_by(pair(claims=frozenset({1}))) == {1}
    assert claims.joined_by(pair(twin_of=frozenset({1}))) == frozenset()
    only = Targets(Sample(reference_claims=["one"], reference_contexts=[Context("a")]))
    assert only.joined_by(pair()) == {0}
    texts = Targets(
        Sample(reference_claims=["one"], reference_contexts=[Context("a"), Context("b")])
    )
    assert (texts.are_claims, texts.claims) == (False, [])
    assert texts.joined_by(pair(claims=frozenset({1}))) == frozenset()
    assert texts.joined_by(pair(twin_of=frozenset({1}))) == {1}


def pooled(*lists: Any, depth: int = 3, **fields: Any) -> Pool:
    """Return the pool of one question, of a list by each retriever."""
    sample = Sample(id="q", user_input="?", reference_context_ids=["a"], **fields)
    return Pool.of([sample], [[sample.with_retrieval(listed)] for listed in lists], depth)


def test_equal_texts_of_retrievers_are_one_pair() -> None:
    """The nearness is summed over the retrievers, each at its first rank within the depth."""
    first = [Context("one", id="a"), Context("two", id="b"), Context("one", id="c")]
    pool = pooled(first, [Context("two", id="d"), Context("three"), Context(id="e"), Context("f")])
    (pairs,) = pool.pairs
    assert [(each.context.label, [c.id for c in each.also]) for each in pairs] == [
        ("one", ["c"]), ("two", ["d"]), ("three", []), ("e", [])]  # fmt: skip
    assert [each.nearness for each in pairs] == pytest.approx(
        [1 / 11, 1 / 12 + 1 / 11, 1 / 12, 1 / 13]
    )
    assert [each.is_open for each in pairs] == [False, True, True, False]
    assert len({each.item for each in pairs}) == 4
    assert [each.named for each in pairs] == [{0}, set(), set(), set()]
    assert pool.problems == {}
    assert [each.kind for each in (pair(), pair(relevant=True), pair(relevant=False))] == [
        "no verdict", "yes", "no"]  # fmt: skip


def test_a_copy_of_a_referenced_text_has_its_target() -> None:
    """A text that is nearly equal to one that the references name is a twin of its target."""
    text = " ".join(f"word{n}" for n in range(30))
    ((_, copy, other),) = pooled(
        [Context(text, id="a"), Context(f"{text} copy", id="b"), Context("c d e", id="c")]
    ).pairs
    assert (copy.named, copy.twin_of, other.twin_of) == (set(), {0}, set())


def test_an_unseen_retrieval_is_a_problem() -> None:
    """The question is counted, and the contexts of the other retrievers stay."""
    sample = Sample(id="q", user_input="?", reference_context_ids=["a"])
    pool = Pool.of([sample], [[sample], [sample.with_retrieval([Context("one")])]], 3)
    assert list(pool.problems) == [0]
    assert [len(pairs) for pairs in pool.pairs] == [1]
