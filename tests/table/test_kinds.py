"""Rows in which the same was found are worked out once; each row gets the value of its own."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall import IdRecall, evaluate
from fullrecall.measures import AP, F1, RR, AllFound, Hit, Measure, Precision, Recall, nDCG
from fullrecall.results.totals import Totals
from fullrecall.table.found import FoundColumns
from fullrecall.table.lists import Lists, offsets_of
from fullrecall.table.part import SCORED, UNDEFINED, UNSCORED, ScoreColumns

MEASURES = [
    measure if k is None else measure @ k
    for measure in (Recall, Recall(zero_division=1.0), Precision, F1, Hit, AllFound, RR, AP, nDCG)
    for k in (None, 1, 3, 30)
]


@st.composite
def score_columns(draw: st.DrawFn) -> ScoreColumns:
    """Columns of rows of which many are alike."""
    deepest = draw(st.sampled_from([2, 10, 1000]))
    row = st.integers(0, deepest).flatmap(
        lambda retrieved: st.tuples(
            st.just(retrieved),
            st.lists(st.integers(0, retrieved), max_size=draw(st.sampled_from([1, 3, 9]))),
            st.sampled_from([SCORED, UNSCORED]),
        )
    )
    rows = draw(st.lists(row, min_size=1, max_size=4))
    rows = draw(st.lists(st.sampled_from(rows), min_size=1, max_size=40))
    lists = [positions if status == SCORED else [] for _, positions, status in rows]
    statuses = [
        status if positions or status == UNSCORED else UNDEFINED
        for (*_, status), positions in zip(rows, lists, strict=True)
    ]
    retrieved = np.array([number for number, *_ in rows])
    first = Lists(np.array(list(chain.from_iterable(lists)), np.int32), offsets_of(map(len, lists)))
    return ScoreColumns(np.array(statuses, np.int8), FoundColumns(retrieved, first))


def no_findings(_: int) -> Any:
    """No measure of this package looks at findings one by one."""
    raise AssertionError


@settings(max_examples=100)
@given(score_columns(), st.sampled_from(MEASURES))
def test_a_kind_has_the_value_of_its_rows(columns: ScoreColumns, measure: Measure) -> None:
    """Every measure gives the same to the bit, by kind and by row."""
    kinds = columns.kinds()
    if kinds is None:
        return
    assert 2 * len(kinds.frequencies) <= len(columns.status)
    assert kinds.frequencies.tolist() == np.bincount(kinds.index).tolist()
    assert kinds.columns.status[kinds.index].tolist() == columns.status.tolist()
    by_row = measure.values(columns.outcomes, no_findings)
    by_kind = measure.values(kinds.columns.outcomes, no_findings)
    assert by_kind[kinds.index].tobytes() == by_row.tobytes()


@given(score_columns())
def test_kinds_are_distinct(columns: ScoreColumns) -> None:
    """No two kinds have the same status, contexts and positions."""
    kinds = columns.kinds()
    if kinds is not None:
        own = kinds.columns
        rows = [
            (int(status), int(retrieved), *own.outcomes.first.of_row(row))
            for row, (status, retrieved) in enumerate(
                zip(own.status, own.outcomes.retrieved, strict=True)
            )
        ]
        assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(("depth", "targets"), [(10, 2), (1000, 2), (1000, 5)])
def test_many_alike_rows_take_few_kinds(depth: int, targets: int) -> None:
    """Told apart by a table of all numbers, and by sorting where there are too many."""
    positions = np.tile(np.arange(targets, dtype=np.int32), 900)
    positions[0] = depth
    outcomes = FoundColumns(np.full(900, depth), Lists(positions, np.arange(901) * targets))
    kinds = ScoreColumns(np.zeros(900, np.int8), outcomes).kinds()
    assert kinds is not None
    assert kinds.frequencies.tolist() in ([1, 899], [899, 1])
    assert kinds.index.dtype.itemsize == 1


@pytest.mark.parametrize(("depth", "targets"), [(10**6, 4), (1, 80), (0, 100_000)])
def test_numbers_that_would_overflow_are_no_kinds(depth: int, targets: int) -> None:
    """Rows of many targets are worked out one by one, whether or not any is found."""
    positions = np.full(9 * targets, depth, np.int32)
    outcomes = FoundColumns(np.full(9, depth), Lists(positions, np.arange(10) * targets))
    assert ScoreColumns(np.zeros(9, np.int8), outcomes).kinds() is None


class Even(Measure):
    """The share of targets at even positions: a user's own, which looks at findings."""

    text = "even"

    def count(self, findings: Any, retrieved: int) -> float:
        """Return the share."""
        return sum(bool(f.ranks) and f.ranks[0] % 2 == 0 for f in findings) / len(findings)


class Deep(Measure):
    """The depth of the list: a formula of a user's own."""

    text = "deep"

    def formula(self, outcomes: Any, findings_of: Any) -> Any:
        """Return the position of the last target, told by its findings."""
        return outcomes.each(lambda row, _: max(f.ranks[0] for f in findings_of(row)) / 10)


def test_a_measure_of_ones_own_sees_the_findings_of_each_row() -> None:
    """It may look at more than columns."""
    rows = [
        {"retrieved_context_ids": ["x", "a"], "reference_context_ids": ["a"]} for _ in range(20)
    ]
    report = evaluate(rows, IdRecall())
    assert report.values(Recall @ 1).tolist() == [0.0] * 20
    assert report.values(Even()).tolist() == [1.0] * 20
    assert report.values(Deep()).tolist() == [0.2] * 20


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0, float("nan")]), st.booleans(), st.integers(1, 9)),
        max_size=20,
    )
)
def test_totals_of_counted_values_are_those_of_each(rows: list[tuple[float, bool, int]]) -> None:
    """Values with their counts add up as the samples do."""
    values, due, often = (
        (np.array(column) for column in zip(*rows, strict=True))
        if rows
        else (np.zeros(0), np.zeros(0, bool), np.zeros(0, int))
    )
    counted = Totals.of(values, due=due.astype(bool), frequencies=often)
    each = Totals.of(np.repeat(values, often), due=np.repeat(due.astype(bool), often))
    assert counted.values.tolist() == each.values.tolist()
    assert counted.frequencies.tolist() == each.frequencies.tolist()
    assert counted.gaps == each.gaps
