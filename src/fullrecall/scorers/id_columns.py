"""Find document IDs in columns, without an object for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fullrecall.measures.found import SCORED, UNDEFINED, FoundColumns
from fullrecall.measures.lists import Floats, Lists, narrow, offsets_of
from fullrecall.scorers.scorer import first_positions

_FEW = 400
"""Pairs of a retrieved and a reference ID in a row: with more, a dictionary is faster."""


def distinct(references: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Return the rows' references without repetitions, in order of first appearance."""
    return [
        row if len(row) == 1 or len(set(row)) == len(row) else list(dict.fromkeys(row))
        for row in references
    ]


def score_ids(
    retrieved: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    grades: Floats | None = None,
) -> FoundColumns:
    """Return the results of `IdRecall` as columns: references' positions and rows' statuses.

    References must be distinct within a row, and no ID blank. `grades` has one grade for each
    reference of all rows; only references with a grade above 0 count.
    """
    positions = Lists(first_ranks(retrieved, references), offsets_of(map(len, references)))
    if grades is not None:
        relevant = grades > 0
        positions, grades = positions.kept(relevant), grades[relevant]
        grades = None if (grades == 1.0).all() else grades
    lengths = np.fromiter(map(len, retrieved), np.int64, len(retrieved))
    status = np.where(positions.counts > 0, SCORED, UNDEFINED).astype(np.int8)
    return FoundColumns(status, narrow(lengths), positions, grade=grades)


def first_ranks(
    retrieved: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> NDArray[np.int32]:
    """Return the 1-based position of each reference among its row's retrieved IDs, or 0."""
    longest = max(map(len, retrieved), default=0) * max(map(len, references), default=0)
    pairs = zip(retrieved, references, strict=True)
    if longest <= _FEW:
        positions = [
            row.index(name) + 1 if name in row else 0 for row, names in pairs for name in names
        ]
    else:
        positions = []
        for row, names in pairs:
            positions += first_positions(row, names)
    return np.array(positions, np.int32)
