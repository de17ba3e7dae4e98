"""Rows with the same findings are counted once, if they are few and narrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fullrecall import IdRecall, evaluate
from fullrecall.measures import Recall
from fullrecall.table.distinct import DistinctRows


def distinct(rows: Sequence[dict[str, Any]]) -> DistinctRows | None:
    """Return the distinct rows of an evaluation of these rows."""
    table = evaluate(list(rows), IdRecall(), progress=False).table
    (part,) = table.parts
    return DistinctRows.of(part.columns(0))


def row(retrieved: str, expected: str = "a") -> dict[str, Any]:
    """Return a row with these letters as IDs."""
    return {"retrieved_ids": list(retrieved), "expected_ids": list(expected)}


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([row("a")] * 16, [16]),
        ([row("a")] * 15, None),
        ([row("a")] * 20 + [row("xa")] * 12, [20, 12]),
        ([row("a")] * 20 + [row("xa")] * 11, None),
        # the order of references, and which of two IDs is first, do not matter
        ([row("ab", "ab")] * 16 + [row("ba", "ab")] * 16, [32]),
        ([row("a")] * 30 + [row("ax")] * 30, [30, 30]),
        ([{"expected_ids": ["a"]}] * 30 + [row("x")] * 30, [30, 30]),
    ],
)
def test_distinct_rows(rows: list[dict[str, Any]], counts: list[int] | None) -> None:
    """Rows are counted if one in sixteen, at most, is unlike those before it."""
    found = distinct(rows)
    assert (found and sorted(found.counts.tolist())) == (counts and sorted(counts))
    if found is not None:
        values = Recall.values(found.columns)
        whole = evaluate(rows, IdRecall(), progress=False)
        mean = whole.summary()[0].mean
        known = found.columns.status == 0
        assert (values * found.counts)[known].sum() / found.counts[known].sum() == mean


@pytest.mark.parametrize(("targets", "counted"), [(61, True), (62, False)])
def test_wide_rows_are_not_counted(targets: int, counted: bool) -> None:  # noqa: FBT001
    """Rows of more than 64 numbers are not compared: a status, two counts, and each position."""
    ids = [f"d{n}" for n in range(targets)]
    rows = [{"retrieved_ids": ids, "expected_ids": ids}] * 20
    assert (distinct(rows) is not None) == counted
