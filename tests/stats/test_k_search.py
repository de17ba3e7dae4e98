"""The search returns the smallest k that reaches a target, for measures that never fall."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from fullrecall import IdRecall, evaluate
from fullrecall.errors import ParameterError
from fullrecall.measures import AP, F1, MEASURES, RR, AllFound, Hit, Measure, Precision, Recall
from fullrecall.measures.budgets import Unit
from fullrecall.measures.findings import Findings
from fullrecall.stats.smallest_k import SmallestK, may_fall


def searched(ranks: Iterable[int | None], target: float = 0.9) -> SmallestK:
    """Return the search over samples with one target each at these ranks, of 6 contexts."""
    samples = []
    for number, rank in enumerate(ranks):
        retrieved = [f"x{n}" for n in range(6)]
        if rank is not None:
            retrieved[rank - 1] = "target"
        row = {"id": str(number), "retrieved_ids": retrieved, "expected_ids": ["target"]}
        samples.append(row)
    return evaluate(samples, IdRecall(), progress=False).smallest_k(target)


def test_a_measure_is_searched_from_the_largest_k_down() -> None:
    """The search goes down from the largest k, and ends at the first k that fails."""
    found = searched([1] * 200 + [2] * 140 + [3] * 48 + [4] * 12)
    assert found.k == 3
    assert [each.k for each in found.tested] == [2, 3, 4, 5, 6]


def test_no_k_and_no_values() -> None:
    """No k is returned if none reaches the target, and none is tested without values."""
    assert searched([1] * 5 + [None] * 45).k is None
    assert "more samples with these values would not" in searched([1, None], target=0.5).reason
    assert searched([None] * 5, target=0).k == 1
    assert (searched([]).k, searched([]).tested) == (None, ())
    with pytest.raises(ParameterError, match="target"):
        searched([1], target=2)


@pytest.mark.long
def test_a_k_below_the_target_is_returned_in_five_percent_at_most() -> None:
    """With all true means at the target, any k is returned in 5% at most."""
    rng = Random(9)
    wrong = 0
    for _ in range(200):
        wrong += searched([1 if rng.random() < 0.9 else None for _ in range(60)]).k is not None
    assert wrong / 200 <= 0.05 + 3 * 0.0155


class SecondOnly(Measure):
    """A user's measure: whether the second context is a target, if k is 2 or 3."""

    text = "second_only"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return 1.0 at k = 2 and 3 if a target is at rank 2."""
        return float(self.k in (2, 3) and any(2 in finding.ranks for finding in findings))


@pytest.mark.parametrize("measure", [Precision, SecondOnly(), AP, RR])
def test_a_measure_that_may_fall_is_refused(measure: Measure) -> None:
    """A measure that may fall with k or a budget is refused, and so is a user's own."""
    samples = [{"retrieved_ids": ["a", "b"], "expected_ids": ["a"]}] * 60
    report = evaluate(samples, IdRecall(), progress=False)
    unit: Unit | None = "calls" if measure in (AP, RR) else None
    with pytest.raises(ParameterError, match="may be smaller at a larger k"):
        report.smallest_k(0.9, measure, unit=unit)


@pytest.mark.parametrize("measure", [AP, F1, RR, AllFound, Hit, Precision, Recall, *MEASURES])
def test_measures_that_never_fall_are_classed_so(measure: Measure | str) -> None:
    """A measure that is classed as never falling never falls, for any sample and k."""
    measured = measure if isinstance(measure, Measure) else MEASURES[measure]
    if isinstance(measured, type):
        measured = measured()
    rng = Random(3)
    documents = [f"d{n}" for n in range(12)]
    samples = [
        {"retrieved_ids": rng.sample(documents, 10), "expected_ids": rng.sample(documents, 3)}
        for _ in range(40)
    ]
    rows = evaluate(samples, IdRecall(), progress=False).rows
    curves = [[row.results[0][measured @ k] or 0.0 for k in range(1, 11)] for row in rows]
    ever_falls = any(b < a - 1e-12 for curve in curves for a, b in zip(curve, curve[1:]))  # noqa: B905, RUF007
    assert not ever_falls or may_fall(measured)
