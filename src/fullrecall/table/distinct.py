"""Find the distinct rows of findings, so that a measure is computed once for equal rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fullrecall.measures.found import FoundColumns
from fullrecall.measures.lists import Integers, Lists

_WIDEST = 64
"""The most numbers that describe a row; if a row has more, equal rows are not searched for."""

_FEWER = 16
"""Equal rows are counted together only if at most one row in this many is distinct."""


class DistinctRows(NamedTuple):
    """One row for each distinct set of findings, with the number of rows that have it."""

    columns: FoundColumns
    counts: Integers

    @classmethod
    def of(cls, columns: FoundColumns) -> DistinctRows | None:
        """Return the distinct rows.

        Returns None if they are more than 1/16 of all rows, or if a row is too long.
        """
        numbers = _numbers(columns)
        if numbers is None:
            return None
        factors = np.random.default_rng(0).integers(2**63, size=numbers.shape[1]) * 2 + 1
        _, first, which, counts = np.unique(
            numbers @ factors, return_index=True, return_inverse=True, return_counts=True
        )
        # Rarely, different rows have the same product: compare the rows themselves, too.
        is_few = len(first) * _FEWER <= len(numbers)
        if not is_few or not np.array_equal(numbers[first][which], numbers):
            return None
        return cls(columns.selected(first), counts)


def _numbers(columns: FoundColumns) -> Integers | None:
    """Return, for each row, the whole numbers that describe its findings, padded with -1.

    Returns None if a row has more than `_WIDEST` numbers.
    """
    own = [columns.status, columns.retrieved, columns.targets]
    lists = _lists(columns)
    widths = [int(each.counts.max(initial=0)) for each in lists]
    if len(own) + sum(widths) > _WIDEST:
        return None
    numbers = np.full((len(columns), len(own) + sum(widths)), -1, np.int64)
    for index, column in enumerate(own):
        numbers[:, index] = column
    start = len(own)
    for each, width in zip(lists, widths, strict=True):
        numbers[each.rows, start + each.nth - 1] = each.values
        start += width
    if len(lists) == 1:  # Rows then have only their targets' positions, whose order is irrelevant.
        numbers[:, len(own) :].sort(axis=1)
    return numbers


def _lists(columns: FoundColumns) -> list[Lists]:
    """Return the findings of all rows as lists of whole numbers; floats become their bits."""
    targets = columns.first.offsets
    lists = [columns.first]
    given = [weights for weights in (columns.grade, columns.size) if weights is not None]
    lists += [Lists(weights.view(np.int64), targets) for weights in given]
    if columns.supports is not None:
        lists += _flat(columns.supporting, targets)
    if columns.steps is not None:
        values, offsets = columns.steps
        lists += _flat(Lists(values["position"], offsets), targets)
        lists.append(Lists(np.ascontiguousarray(values["credit"]).view(np.int64), offsets[targets]))
    if columns.ranks is not None:
        lists.append(columns.ranks)
    return lists


def _flat(lists: Lists, targets: Integers) -> list[Lists]:
    """Return two lists for each row: the lengths of its targets' lists, and all their values."""
    return [Lists(lists.counts, targets), Lists(lists.values, lists.offsets[targets])]
