"""The smallest k that reaches a target, and the measures of which there is none."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from fullrecall import IdRecall, evaluate
from fullrecall.errors import ParameterError
from fullrecall.findings import Findings
from fullrecall.measures import AP, F1, MEASURES, RR, AllFound, Hit, Measure, Precision, Recall
from fullrecall.measures.budgets import Cut, Unit
from fullrecall.results.smallest_k import Tested as KTested
from fullrecall.results.smallest_k import may_fall, search_k
from fullrecall.results.totals import Totals


class Searched(NamedTuple):
    """The smallest k, and all that was tested."""

    k: Cut | None
    tested: tuple[KTested, ...]


def searched(columns: Sequence[Sequence[float]]) -> Searched:
    """Return the search for 0.9 over the values at k = 1, 2, and so on."""

    def totals_at(k: Cut) -> Totals:
        assert isinstance(k, int)
        values = np.array(columns[k - 1], float)
        return Totals.of(values, due=np.zeros(len(values), bool))

    return Searched(*search_k(totals_at, range(1, len(columns) + 1), 0.9))


def test_a_measure_is_searched_from_the_largest_k_down() -> None:
    """The first k that fails ends it."""
    found = searched([[share] * 80 for share in (0.5, 0.85, 0.97, 1.0)])
    assert found.k == 3
    assert [each.k for each in found.tested] == [2, 3, 4]


def test_no_k_and_no_values() -> None:
    """None reaches it, and nothing can be tested without values."""
    assert searched([[0.1] * 50] * 3).k is None
    assert searched([]).tested == ()
    assert searched([[]]).k is None
    with pytest.raises(ParameterError, match="target"):
        search_k(lambda _: Totals.of(np.array([]), due=np.array([], bool)), [1], 2)


@pytest.mark.long
def test_a_k_below_the_target_is_returned_in_five_percent_at_most() -> None:
    """All ks exactly at the target, which no test may exceed: any k is an error."""
    rng = np.random.default_rng(9)
    wrong = 0
    for _ in range(200):
        values = (rng.random((6, 60)) < 0.9).astype(float)
        wrong += searched(values.tolist()).k is not None
    assert wrong / 200 <= 0.05 + 3 * 0.0155


class SecondOnly(Measure):
    """A measure of a user's: whether the second context is a target, as long as k is 2 or 3."""

    text = "second_only"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return 1.0 at k = 2 and 3 if a target stands at rank 2."""
        return float(self.k in (2, 3) and any(2 in finding.ranks for finding in findings))


@pytest.mark.parametrize("measure", [Precision, SecondOnly(), AP, RR])
def test_a_measure_that_may_fall_is_refused(measure: Measure) -> None:
    """Precision falls with k, AP and RR with a budget; of a measure of one's own nobody knows."""
    samples = [{"retrieved_ids": ["a", "b"], "expected_ids": ["a"]}] * 60
    report = evaluate(samples, IdRecall(), progress=False)
    unit: Unit | None = "calls" if measure in (AP, RR) else None
    with pytest.raises(ParameterError, match="may be smaller at a larger k"):
        report.smallest_k(0.9, measure, unit=unit)


@pytest.mark.parametrize("measure", [AP, F1, RR, AllFound, Hit, Precision, Recall, *MEASURES])
def test_measures_are_classed_by_what_they_do(measure: Measure | str) -> None:
    """What is said never to fall never does, sample by sample, at any k."""
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
