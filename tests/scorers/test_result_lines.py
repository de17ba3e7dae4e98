"""A result as a line for a person: its score, its reason, and the targets that were missed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judge.scripted import judged, reply, verdict

from fullrecall import IdRecall
from fullrecall.measures import Recall
from fullrecall.samples.retrieval import Retrieval

SEARCHES = Retrieval.of_calls(("p", ["b", "c"]), ("q", ["x"]))
NO_RETRIEVAL = (
    "no retrieval observed: the sample has neither retrieved_contexts nor retrieved_context_ids"
)


@pytest.mark.parametrize(
    ("retrieved", "references", "line"),
    [
        ("abx", "bc", "0.500 id_recall: 1 of 2 found in 3 retrieved; missed: c"),
        ("b", "b", "1.000 id_recall: 1 of 1 found in 1 retrieved"),
        ("", "b", "0.000 id_recall: 0 of 1 found in 0 retrieved; missed: b"),
        ("a", "bcdef", "0.000 id_recall: 0 of 5 found in 1 retrieved; missed: b, c, d, e, f"),
        (
            "a",
            "bcdefgh",
            "0.000 id_recall: 0 of 7 found in 1 retrieved; missed: b, c, d, e, f, 2 more",
        ),
        ("a", "", "undefined id_recall: no reference items"),
        (None, "a", f"unscored id_recall: {NO_RETRIEVAL}"),
        (Retrieval(error="down"), "a", "unscored id_recall: no retrieval: down"),
        (SEARCHES, "x", "1.000 id_recall: 1 of 1 found in 3 retrieved; union of 2 calls"),
    ],
)
def test_a_result_is_one_line(retrieved: Any, references: str, line: str) -> None:
    """The line has the score or the status, the reason, and at most five missed targets."""
    given = (
        {"retrieval": retrieved}
        if isinstance(retrieved, Retrieval)
        else {"retrieved_context_ids": None if retrieved is None else list(retrieved)}
    )
    result = IdRecall().score(reference_context_ids=list(references), **given)
    assert str(result) == line
    assert repr(result) == f"Result({line.partition('; missed')[0]})"
    assert not result.is_judged


@pytest.mark.parametrize(
    ("k", "reason"),
    [(1, "0 of 2 found in 1 retrieved"), (2, "1 of 2 found in 2 retrieved"),
     (9, "1 of 2 found in 3 retrieved")],
)  # fmt: skip
def test_a_reason_within_k(k: int, reason: str) -> None:
    """The reason within k counts the targets found, and the contexts, at the first k ranks."""
    result = IdRecall().score(
        retrieved_context_ids=["a", "b", "x"], reference_context_ids=["b", "c"]
    )
    assert result.reason_within(Recall @ k) == reason
    assert result.reason_within(Recall) == result.reason


@pytest.mark.parametrize(
    ("k", "reason"),
    [(1, "1 of 1 found in 2 retrieved"), (2, "1 of 1 found in 3 retrieved")],
)
def test_a_reason_within_k_of_several_searches(k: int, reason: str) -> None:
    """Contexts of several searches share ranks, and all at a rank within k count."""
    result = IdRecall().score(retrieval=SEARCHES, reference_context_ids=["x"])
    assert result.reason_within(Recall @ k) == f"{reason}; union of 2 calls"


@pytest.mark.parametrize(("length", "shown"), [(119, 119), (120, 120), (121, 119), (700, 119)])
def test_a_long_target_is_cut_on_a_line(length: int, shown: int) -> None:
    """A target has at most 120 characters of one line, with an ellipsis if it is cut."""
    result = IdRecall().score(retrieved_context_ids=["a"], reference_context_ids=["x" * length])
    assert str(result).endswith(f": {'x' * shown}{'…' * (length > 120)}")


def test_a_result_of_a_judge_is_judged() -> None:
    """A result is judged if a judge was asked, whether or not it gave a verdict."""
    assert judged([reply(verdict(1, "supported", 1), verdict(2, "not_supported"))]).is_judged
    assert judged([reply()]).is_judged
