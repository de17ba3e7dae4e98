"""The smallest k that reaches a target, also for measures that may fall with k."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from fullrecall import IdRecall, evaluate
from fullrecall.errors import ParameterError
from fullrecall.measures import AP, F1, MEASURES, RR, AllFound, Hit, Measure, Precision, Recall
from fullrecall.results.bounds import Counts
from fullrecall.results.k_search import may_fall, search_k


def test_a_measure_that_falls_is_found_where_it_is_high() -> None:
    """Precision is 1.0 at k = 1 and .2 at k = 5: the answer is 1, not "at no k"."""
    counts = [Counts.of([1 / k] * 100) for k in range(1, 6)]
    downwards = search_k(counts, 0.9, falls=False)
    assert downwards.k is None
    found = search_k(counts, 0.9, falls=True)
    assert found.k == 1
    assert "each of 5 values of k was tested" in found.note
    assert [each.k for each in found.tested] == [1, 2, 3, 4, 5]


def test_a_measure_that_rises_is_searched_from_the_largest_k_down() -> None:
    """The first k that fails ends it, and nothing is corrected."""
    counts = [Counts.of([share] * 80) for share in (0.5, 0.85, 0.97, 1.0)]
    found = search_k(counts, 0.9, falls=False)
    assert found.k == 3
    assert [each.k for each in found.tested] == [2, 3, 4]
    assert all(each.p == each.p_adjusted for each in found.tested)
    assert found.note == ""


def test_no_k_and_no_values() -> None:
    """None reaches it, and nothing can be tested without values."""
    assert search_k([Counts.of([0.1] * 50)] * 3, 0.9, falls=True).k is None
    assert search_k([], 0.9, falls=True).tested == ()
    assert search_k([Counts.of([])], 0.9, falls=False).k is None
    with pytest.raises(ParameterError, match="target"):
        search_k([], 2, falls=True)


@pytest.mark.parametrize("falls", [True, False])
def test_a_k_below_the_target_is_returned_in_five_percent_at_most(*, falls: bool) -> None:
    """All ks exactly at the target, which no test may exceed: any k is an error."""
    rng = np.random.default_rng(9)
    wrong = 0
    for _ in range(600):
        values = (rng.random((60, 6)) < 0.9).astype(float)
        counts = [Counts.of(values[:, k].tolist()) for k in range(6)]
        wrong += search_k(counts, 0.9, falls=falls).k is not None
    assert wrong / 600 <= 0.05 + 3 * 0.009


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
