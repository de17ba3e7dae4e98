"""Rows with the same findings are counted once, if they are few and narrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fullrecall import Context, IdRecall, Retrieval, Sample, SpanRecall, evaluate
from fullrecall.measures import Recall
from fullrecall.table.distinct import DistinctRows


def distinct(rows: Sequence[Any], scorer: Any = None) -> DistinctRows | None:
    """Return the distinct rows of an evaluation of these rows."""
    table = evaluate(list(rows), scorer or IdRecall(), progress=False).table
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


def united(ranks: Sequence[int]) -> Sample:
    """Return a sample of a retrieval that merged two calls."""
    record = Retrieval([Context("x", id="x"), Context("a", id="a")], ranks=ranks)
    return Sample(expected_ids=["a"], retrieval=record)


def held(characters: int) -> Sample:
    """Return a sample of a text, with the beginning of it retrieved."""
    text = "The old mill was built by hand near the river, and its keeper wrote."
    return Sample(reference_contexts=[text], retrieved_contexts=[text[:characters]])


@pytest.mark.parametrize(
    ("one", "other", "scorer"),
    [
        (row("ax") | {"expected_ids": {"a": 2}}, row("xa") | {"expected_ids": {"a": 2}}, None),
        (row("ab", "ab"), row("ab") | {"expected_ids": [["a", "b"]]}, None),
        (united([1, 1]), united([1, 2]), None),
        (held(40), held(50), SpanRecall()),
    ],
)
def test_rows_that_differ_in_one_kind_of_number(one: Any, other: Any, scorer: Any) -> None:
    """Rows are distinct by positions beside grades, further supports, ranks, and credit alone."""
    found = distinct([one] * 20 + [other] * 20, scorer)
    assert found is not None
    assert found.counts.tolist() == [20, 20]


@pytest.mark.parametrize(("targets", "counted"), [(61, True), (62, False)])
def test_wide_rows_are_not_counted(targets: int, counted: bool) -> None:  # noqa: FBT001
    """Rows of more than 64 numbers are not compared: a status, two counts, and each position."""
    ids = [f"d{n}" for n in range(targets)]
    rows = [{"retrieved_ids": ids, "expected_ids": ids}] * 20
    assert (distinct(rows) is not None) == counted
