"""The cost of a question counts the contexts that the measures read."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Recall, calls
from fullrecall.stats.question_cost import QuestionCost, Seconds, question_cost, shown_seconds

CONTEXTS = [{"id": f"d{n}", "text": "x" * 40} for n in range(4)]
LONG = Sample(retrieved_contexts=CONTEXTS, expected_ids=["d0"])
SHORT = Sample(retrieved_contexts=CONTEXTS[:2], expected_ids=["d0"])
UNSEEN = Sample(expected_ids=["d0"])


@pytest.mark.parametrize(
    ("samples", "measures", "cost"),
    [
        ([LONG], [Recall], (4, 40)),
        ([LONG], [Recall @ 1], (1, 10)),
        ([LONG], [Recall @ 1, Recall @ 3], (3, 30)),
        ([LONG], [Recall @ 1, Recall], (4, 40)),
        ([LONG], [Recall @ 9], (4, 40)),
        ([LONG], [Recall @ calls(1)], (4, 40)),
        ([LONG, SHORT], [Recall @ 3], (2.5, 25)),
        ([SHORT, UNSEEN, LONG], [Recall], (3, 30)),
        ([UNSEEN], [Recall], None),
        ([], [Recall], None),
    ],
)
def test_contexts_and_tokens(samples: list[Sample], measures: list[Any], cost: Any) -> None:
    """Only contexts within the largest k count, unless a measure reads all of them."""
    report = evaluate(samples, IdRecall(), progress=False)
    found = question_cost(report.table, measures)
    assert (found and (found.contexts, found.tokens)) == cost


def test_the_first_samples_count() -> None:
    """At most five hundred samples with a retrieval are looked at, among the first ones."""
    report = evaluate([*[SHORT] * 500, *[LONG] * 500], IdRecall(), progress=False)
    assert question_cost(report.table) == QuestionCost(2, 20, None, 500)


def test_contexts_of_equal_rank_all_count() -> None:
    """Ranks decide, not positions."""
    sample = Sample(retrieval={"contexts": CONTEXTS, "ranks": [1, 1, 2, 2]}, expected_ids=["d0"])
    report = evaluate([sample], IdRecall(), progress=False)
    found = question_cost(report.table, [Recall @ 1])
    assert found is not None
    assert (found.contexts, found.tokens) == (2, 20)


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (QuestionCost(1, None, None, 1), "1 context"),
        (QuestionCost(1.25, 1234.5, None, 1), "1.25 contexts, about 1,234 tokens"),
        (QuestionCost(0, 0, None, 1), "0 contexts, about 0 tokens"),
        (QuestionCost(1, None, Seconds(0.01, 0.25), 1), "1 context, 0.01 s (p95 0.25 s)"),
        (QuestionCost(1, None, Seconds(0.009, 0.25), 1), "1 context"),
    ],
)
def test_a_cost_in_words(cost: QuestionCost, text: str) -> None:
    """Unknown tokens, and times that were not measured, are left out."""
    assert str(cost) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.5, "1.5"), (0.0149, "0.015"), (0.01, "0.01"), (0.0099, "<0.01"), (0.0, "<0.01")],
)
def test_seconds_in_words(seconds: float, text: str) -> None:
    """Two digits are shown, and a time too short to be felt is not."""
    assert shown_seconds(seconds) == text
