"""The smallest k that reaches a target, also for measures that may fall with k."""

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
from fullrecall.measures.budgets import Cut
from fullrecall.results.smallest_k import Tested as KTested
from fullrecall.results.smallest_k import may_fall, search_k, smallest_k
from fullrecall.results.totals import Totals
from fullrecall.table.table import Table

DRAWS = 150


class Searched(NamedTuple):
    """The smallest k, and all that was tested."""

    k: Cut | None
    tested: tuple[KTested, ...]


def searched(columns: Sequence[Sequence[float]], *, falls: bool) -> Searched:
    """Return the search for 0.9 over the values at k = 1, 2, and so on."""

    def totals_at(k: Cut) -> Totals:
        assert isinstance(k, int)
        values = np.array(columns[k - 1], float)
        return Totals.of(values, due=np.zeros(len(values), bool))

    return Searched(*search_k(totals_at, range(1, len(columns) + 1), 0.9, falls=falls))


def test_a_measure_that_falls_is_found_where_it_is_high() -> None:
    """Precision is 1.0 at k = 1 and .2 at k = 5: the answer is 1, not "at no k"."""
    columns = [[1 / k] * 100 for k in range(1, 6)]
    assert searched(columns, falls=False).k is None
    found = searched(columns, falls=True)
    assert found.k == 1
    assert [each.k for each in found.tested] == [1, 2, 3, 4, 5]


def test_a_measure_that_rises_is_searched_from_the_largest_k_down() -> None:
    """The first k that fails ends it, and nothing is corrected."""
    found = searched([[share] * 80 for share in (0.5, 0.85, 0.97, 1.0)], falls=False)
    assert found.k == 3
    assert [each.k for each in found.tested] == [2, 3, 4]
    assert all(each.p == each.p_adjusted for each in found.tested)


def test_no_k_and_no_values() -> None:
    """None reaches it, and nothing can be tested without values."""
    assert searched([[0.1] * 50] * 3, falls=True).k is None
    assert searched([], falls=True).tested == ()
    assert searched([[]], falls=False).k is None
    with pytest.raises(ParameterError, match="target"):
        search_k(lambda _: Totals.of(np.array([]), due=np.array([], bool)), [1], 2, falls=True)


@pytest.mark.long
@pytest.mark.parametrize("falls", [True, False])
def test_a_k_below_the_target_is_returned_in_five_percent_at_most(*, falls: bool) -> None:
    """All ks exactly at the target, which no test may exceed: any k is an error."""
    rng = np.random.default_rng(9)
    wrong = 0
    for _ in range(200):
        values = (rng.random((6, 60)) < 0.9).astype(float)
        wrong += searched(values.tolist(), falls=falls).k is not None
    assert wrong / 200 <= 0.05 + 3 * 0.0155


class SecondOnly(Measure):
    """A measure of a user's: whether the second context is a target, as long as k is 2 or 3."""

    text = "second_only"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return 1.0 at k = 2 and 3 if a target stands at rank 2."""
        return float(self.k in (2, 3) and any(2 in finding.ranks for finding in findings))


def pool(shares: Sequence[float], count: int = 400) -> Table:
    """Return samples whose context at each rank is relevant with a share, and one never is found.

    Draws with replacement are independent, and their true means are those of the pool.
    """
    rng = Random(11)
    samples = []
    for _ in range(count):
        relevant = [f"d{n}" for n, share in enumerate(shares) if rng.random() < share]
        ids = [f"d{n}" for n in range(len(shares))]
        samples.append({"retrieved_ids": ids, "expected_ids": [*relevant, "z"]})
    return evaluate(samples, IdRecall(), progress=False).table


POOLS = {
    "falls": (0.9, 0.6, 0.3, 0.2, 0.1),
    "flat": (0.8, 0.8, 0.8, 0.8, 0.8),
    "a hump": (0.2, 0.9, 0.9, 0.1, 0.0),
}


def test_precision_reaches_the_target_where_it_is_high() -> None:
    """Precision@1 is 1.0 and that of five contexts .2: the answer is 1, and says how it was found.

    `lower` promises no more than the target, because all k were looked at.
    """
    samples = [{"retrieved_ids": ["a", "b", "c", "d", "e"], "expected_ids": ["a"]}] * 60
    report = evaluate(samples, IdRecall(), progress=False)
    found = report.smallest_k(0.9, Precision)
    assert (found.k, found.at, found.mean, found.lower, found.falls) == (1, 1, 1.0, 0.9, True)
    assert found.reason == (
        "id_recall.precision reaches 0.9 at k = 1: at least 0.900 (95% confidence), mean 1.000, "
        "60 samples; the measure may fall with k: each of 5 values of k was tested, corrected for "
        "their number (Holm)"
    )
    assert "p of below 0.9 (Holm)" in found._repr_html_()
    plain = found.to_dict()
    assert (plain["falls"], plain["tested"][0]["p_adjusted"]) == (True, 5 * plain["tested"][0]["p"])


def test_what_is_missing_for_a_measure_that_falls() -> None:
    """Too few samples name the k that is nearest and how many would do; else the highest mean."""
    samples = [{"retrieved_ids": ["a", "b"], "expected_ids": ["a"]}]
    few = evaluate(samples * 30, IdRecall(), progress=False).smallest_k(0.9, Precision)
    assert (few.k, few.at) == (None, 1)
    assert few.needed is not None
    enough = evaluate(samples * few.needed, IdRecall(), progress=False)
    assert enough.smallest_k(0.9, Precision).k == 1
    almost = evaluate(samples * (few.needed - 1), IdRecall(), progress=False)
    assert almost.smallest_k(0.9, Precision).k is None
    low = evaluate(
        [{"retrieved_ids": ["x", "a"], "expected_ids": ["a"]}] * 30, IdRecall(), progress=False
    ).smallest_k(0.9, Precision)
    assert "at no k up to 2: the highest mean is 0.500, at 2" in low.reason


def test_a_measure_of_ones_own_is_searched_at_every_k() -> None:
    """Whether it falls nobody knows: nothing is skipped."""
    found = smallest_k(pool((0.0, 1.0, 0.0, 0.0), 80), 0, 0.9, SecondOnly())
    assert (found.k, [each.k for each in found.tested]) == (2, [1, 2, 3, 4])


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
