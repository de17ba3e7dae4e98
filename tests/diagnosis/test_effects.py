"""The words and the order of changes, and which ks, stages and duplicates are proposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fullrecall import Context, EntityRecall, IdRecall, Retrieval, Sample, TextRecall, evaluate
from fullrecall.diagnosis.causes import Cause, Diagnosed
from fullrecall.diagnosis.effects import Baseline, Change, ChangeKind, Cost, Proposal, proposals
from fullrecall.diagnosis.investigation import index_proposals
from fullrecall.measures import calls
from fullrecall.samples.calls import Call
from fullrecall.stats.bounds import Interval


def contexts(names: str) -> list[Context]:
    """Return contexts by their IDs, one letter each, with 40 characters of their own."""
    return [Context(f"{name * 9} " * 4, id=name) for name in names]


def sample(names: str, wanted: str, **more: Any) -> Sample:
    """Return a sample with a list and the IDs that it should have, one letter each."""
    return Sample(
        user_input="q",
        retrieved_contexts=contexts(names),
        reference_context_ids=list(wanted),
        **more,
    )


def baseline(*samples: Sample, k: Any = None, scorer: Any = None) -> Baseline:
    """Return the recorded recall of samples."""
    return Baseline(evaluate(samples, scorer or IdRecall(), progress=False), k)


def proposed(recorded: Baseline, deep_lists: Any = None) -> dict[str, Proposal]:
    """Return the proposals by their action."""
    return {each.action: each for each in proposals(recorded, deep_lists or {})}


@pytest.mark.parametrize(
    ("cost", "factor", "text"),
    [
        (Cost(0, 4), None, ""),
        (Cost(4, 4), 1, ""),
        (Cost(4, 4.016), 1.004, ""),
        (Cost(4, 4.04), 1.01, "1.01 times the contexts"),
        (Cost(4, 3.84), 0.96, "0.96 times the contexts"),
        (Cost(4, 4.24), 1.06, "1.1 times the contexts"),
        (Cost(4, 8), 2, "twice the contexts"),
        (Cost(4, 8.04), 2.01, "2 times the contexts"),
        (Cost(4, 12), 3, "3 times the contexts"),
        (Cost(4, 2), 0.5, "0.5 times the contexts"),
        (Cost(4, 8, 10), 2, "twice the contexts"),
        (Cost(4, 8, None, 20), 2, "twice the contexts"),
        (Cost(4, 8, 10, 10.4), 2, "twice the contexts"),
        (Cost(4, 8, 10, 1210), 2, "twice the contexts (+1,200 tokens per question)"),
        (Cost(4, 2, 10, 5), 0.5, "0.5 times the contexts (-5 tokens per question)"),
    ],
)
def test_a_cost_in_words(cost: Cost, factor: float | None, text: str) -> None:
    """A cost is a factor and, with known tokens on both sides, their difference."""
    assert cost.factor == pytest.approx(factor)
    assert cost.text == text


def change(gain: float, low: float, high: float, cost: Cost | None = None) -> Change:
    """Return a change with an interval."""
    kind = ChangeKind.LARGER_K
    return Change(kind, "do it", "id_recall", 0.5, 0.5 + gain, gain, Interval(low, high), 9, cost)


def test_a_change_in_words() -> None:
    """A lower bound that rounds to 0 is "above 0", unless it is 0."""
    assert change(0.11, 0.06, 0.16).gain_text == "+0.11 (+0.06 to +0.16)"
    assert change(0.11, 0.001, 0.16).gain_text == "+0.11 (above 0 to +0.16)"
    assert change(0.11, 0.0, 0.16).gain_text == "+0.11 (+0.00 to +0.16)"
    assert change(-0.11, -0.16, -0.001).gain_text == "-0.11 (-0.16 to +0.00)"
    assert str(change(0.11, 0.06, 0.16)) == "do it: +0.11 (+0.06 to +0.16)"
    assert change(0.11, 0.06, 0.16, Cost(4, 8)).text.endswith("+0.16), twice the contexts")
    assert repr(change(0.11, 0.06, 0.16)) == "Change(+0.11 (+0.06 to +0.16), id_recall: do it)"


def test_gain_per_context() -> None:
    """Up to 0.05 more contexts are free; above, the gain is divided by them."""
    assert change(0.2, 0, 1).per_context == (True, 0.2)
    assert change(0.2, 0, 1, Cost(4, 3)).per_context == (True, 0.2)
    assert change(0.2, 0, 1, Cost(0, 0.05)).per_context == (True, 0.2)
    assert change(0.2, 0, 1, Cost(0, 0.1)).per_context == (False, pytest.approx(2.0))
    assert change(0.2, 0, 1, Cost(4, 8)).per_context == (False, pytest.approx(0.05))


@pytest.mark.parametrize(
    ("names", "wanted", "k", "ks"),
    [
        ("abcdefghi", "i", 2, [4, 8, 9]),
        ("abcdefghi", "h", 2, [4, 8]),
        ("abcdefghi", "c", 2, [4]),
        ("abcdefghi", "b", 2, [4]),
        ("abcd", "d", 4, []),
        ("abcd", "d", 5, []),
        ("abcde", "e", 4, [5]),
        ("abcd", "d", None, []),
    ],
)
def test_ks_double_up_to_enough(names: str, wanted: str, k: int | None, ks: list[int]) -> None:
    """K doubles up to the length of the lists, or to nearly the recall of whole lists."""
    found = proposed(baseline(sample(names, wanted), k=k))
    assert list(found) == [f"raise k from {k} to {larger}" for larger in ks]
    for larger, each in zip(ks, found.values(), strict=True):
        assert each.after == {0: [float(names.index(wanted) < larger)]}
        assert [len(kept or ()) for kept in each.lists or ()] == [larger]


def test_a_larger_budget() -> None:
    """A budget of calls grows to at least its double, or to all calls."""
    made = [Call("search", contexts=tuple(contexts(name))) for name in "abcde"]
    record = Retrieval(contexts("abcde"), calls=made)
    asked = Sample(user_input="q", reference_context_ids=["e"]).with_retrieval(record)

    def larger(k: int) -> list[str]:
        found = proposed(baseline(asked, k=calls(k)))
        return [action.rpartition(" to ")[2] for action in found if action.startswith("raise the")]

    assert larger(1) == ["2 calls", "3 calls", "4 calls", "5 calls"]
    assert larger(2) == ["4 calls", "5 calls"]
    assert larger(3) == ["5 calls"]
    assert larger(5) == []


def test_more_contexts_of_a_retriever() -> None:
    """Deeper lists are proposed if each begins with the recorded list of its row."""
    recorded = baseline(sample("ab", "d"), sample("ab", "a"))
    found = proposed(recorded, {0: contexts("abcd")})
    assert list(found) == ["retrieve 4 contexts in place of 2"]
    (each,) = found.values()
    assert each.after == {0: [1.0, 1.0]}
    assert [kept and len(kept) for kept in each.lists or ()] == [4, None]
    assert proposed(recorded, {0: contexts("bacd")}) == {}
    assert proposed(recorded, {0: contexts("abcd"), 1: contexts("xb")}) == {}
    assert proposed(recorded, {}) == {}
    assert proposed(recorded, {0: contexts("ab")}) == {}
    texts = Sample(retrieved_contexts=["one", "two"], reference_contexts=["three"])
    deeper = [Context(text) for text in ("two", "one", "three")]
    assert proposed(baseline(texts, scorer=TextRecall()), {0: deeper}) == {}
    assert proposed(baseline(sample("", "d")), {0: contexts("abcd")}) == {}
    # Up to the longest recorded list, a larger k says the same.
    found = proposed(baseline(sample("abcd", "h"), k=2), {0: contexts("abcdefgh")})
    assert [name for name in found if name.startswith("retrieve")] == [
        "retrieve 8 contexts in place of 2"]  # fmt: skip


def test_duplicates_are_dropped_within_the_length() -> None:
    """A list without its duplicates is filled up; one below k, or of united calls, is not."""
    copies = [Context("one and the same text " * 3, id=f"copy {n}") for n in range(3)]
    action = "drop duplicates before the list is cut"

    def kept(listed: Sequence[Context], k: int, **more: Any) -> list[str | None] | None:
        asked = Sample(retrieved_contexts=listed, reference_context_ids=["d"], **more)
        found = proposed(baseline(asked, k=k)).get(action)
        (after,) = list(found.lists or ()) if found else [None]
        return None if after is None else [context.id for context in after]

    assert kept([*copies, *contexts("de")], 2) == ["copy 0", "d"]
    assert kept([*copies, *contexts("de")], 3) == ["copy 0", "d", "e"]
    assert kept([*contexts("de"), *copies], 3) is None
    assert kept([*copies[:1], *contexts("d"), *copies[1:2]], 2) is None
    assert kept([*copies[:1], *contexts("d"), *copies[1:2]], 3) is None
    assert kept([*copies[:2], *contexts("d")], 2) == ["copy 0", "d"]
    assert kept([*copies[:2], *contexts("d")], 3) is None


def test_only_rebuilt_scorers_propose_other_lists() -> None:
    """A row keeps its recall where the list is unknown; without any ID, recall is unknown."""
    recorded = baseline(sample("ab", "ad"), Sample(reference_context_ids=["d"]), k=2)
    assert recorded.values == {0: [0.5, None]}
    kept = recorded.lists[0]
    assert recorded.over([kept, None]) == {0: [0.5, None]}
    assert recorded.over([None, None]) == {0: [0.5, None]}
    assert recorded.over([contexts("ad"), contexts("d")]) == {0: [1.0, None]}
    assert recorded.over([contexts("d"), None]) == {0: [0.5, None]}
    assert recorded.over([[Context("text")], None]) == {0: [None, None]}
    assert recorded.over([[Context("text"), *contexts("a")], None]) == {0: [0.5, None]}
    entities = Sample(retrieved_contexts=["Ann"], reference_entities=["Ann", "Bo"])
    other = baseline(entities, scorer=EntityRecall())
    assert other.over([[Context("Ann and Bo")]]) == {0: [1.0]}


@pytest.mark.parametrize(("count", "named"), [(3, "'0/', '1/', '2/'"), (4, "'0/', '1/', '2/', …")])
def test_up_to_three_sources_are_named(count: int, named: str) -> None:
    """The proposal to search sources names three of them, and says if there are more."""
    recorded = baseline(*[sample("a", "a")] * 4, *[sample("a", "b")] * count)
    misses = [
        Diagnosed(f"#{n + 5}", None, "id_recall", str(n), Cause.NOT_SEARCHED, "")
        for n in range(count)
    ]
    (found,) = index_proposals(recorded, misses, {str(n): f"{n}/" for n in range(count)})
    assert found.action == f"search the sources that no list has: {named} (gain: as other targets)"


def test_changes_are_ordered_and_shown_only_with_a_gain() -> None:
    """Free changes come first; a change without a gain whose interval is above 0 is left out."""
    recorded = baseline(*[sample("ab", "c")] * 20)

    def told(kind: ChangeKind, action: str, value: float, lists: Any = None) -> Proposal:
        return Proposal(kind, action, {0: [value] * 20}, lists)

    # A list that is not known adds nothing to the cost.
    larger, fewer = [*[contexts("abcd")] * 19, None], [contexts("ab")] * 20
    changes = recorded.changes(
        [
            told(ChangeKind.LARGER_K, "costly", 0.9, larger),
            told(ChangeKind.NORMALIZE_IDS, "free", 0.5),
            told(ChangeKind.DROP_DUPLICATES, "same length", 0.6, fewer),
            told(ChangeKind.EARLIER_STAGE, "none", 0.0, fewer),
            told(ChangeKind.EARLIER_STAGE, "tiny", 0.0004, fewer),
            Proposal(ChangeKind.ID_LEVEL, "unknown", {0: [None] * 20}),
        ]
    )
    assert [each.action for each in changes] == ["same length", "free", "costly"]
    same, free, costly = changes
    assert free.cost is None
    assert (costly.before, costly.after, costly.gain, costly.samples) == (0, 0.9, 0.9, 20)
    assert same.cost == Cost(2, 2, 20, 20)
    assert costly.cost == Cost(2, 4, 20, 40)
    # Six proposals share the error of 5 %.
    for each in changes:
        assert each.interval.confidence == pytest.approx(1 - 0.05 / 6)
    # A change that drops contexts may lose, so its interval is wider than that of one that adds.
    adds, drops = (
        recorded.changes([told(kind, "", 0.5)])[0].interval
        for kind in (ChangeKind.ID_LEVEL, ChangeKind.DROP_DUPLICATES)
    )
    assert adds.low > drops.low


def test_stages_are_proposed_at_the_last_ones_length() -> None:
    """The list of an earlier stage is cut to the final length; rows without it keep theirs."""
    search = Call("search", contexts=tuple(contexts("dabc")))
    last = Call("reranker", contexts=tuple(contexts("ab")), children=(search,))
    record = Retrieval(contexts("ab"), calls=[last])
    staged = Sample(user_input="q", reference_context_ids=["d"]).with_retrieval(record)
    found = proposed(baseline(staged, sample("ab", "a")))
    each = found["return the list of search as it is, without the stages after it"]
    assert each.after == {0: [1.0, 1.0]}
    assert [[c.id for c in kept or ()] for kept in each.lists or ()] == [["d", "a"], ["a", "b"]]
