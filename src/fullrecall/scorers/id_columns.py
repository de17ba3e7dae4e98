"""Find document IDs in columns, without an object for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullrecall.measures.found import SCORED, UNDEFINED, FoundColumns
from fullrecall.measures.lists import Floats, Integers, Lists, narrow, offsets_of
from fullrecall.samples.references import Reference, SingleIds
from fullrecall.scorers.result import Result, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

CODES = {status: code for code, status in enumerate(Status)}


class IdTargets(NamedTuple):
    """The reference IDs of rows; the alternatives of a reference follow each other.

    `grades` has the grade of each reference; None if all grades are 1. `sizes` has the number of
    alternatives of each reference; None if no reference has several.
    """

    ids: Sequence[Sequence[str]]
    grades: Floats | None = None
    sizes: Integers | None = None

    @classmethod
    def of(cls, rows: Sequence[SingleIds | tuple[Reference, ...]]) -> IdTargets:
        """Return the targets of rows, given the references of each row."""
        single = [row for row in rows if type(row) is SingleIds]
        if len(single) == len(rows):
            grades = None
            if any(row.grades is not None for row in single):
                each = (row.grades or [1.0] * len(row.ids) for row in single)
                grades = np.fromiter(chain.from_iterable(each), np.float64)
            return cls([row.ids for row in single], grades)
        references = list(map(listed, rows))
        every = list(chain.from_iterable(references))
        return cls(
            [[name for any_of, _ in row for name in any_of] for row in references],
            np.fromiter((grade for _, grade in every), np.float64),
            np.fromiter((len(any_of) for any_of, _ in every), np.int32),
        )


def listed(references: SingleIds | tuple[Reference, ...]) -> tuple[Reference, ...]:
    """Return references as a tuple of `Reference`s."""
    return references.references if isinstance(references, SingleIds) else references


def columns_of(results: Sequence[Result]) -> FoundColumns:
    """Convert results that were computed one by one to columns; only scored ones keep targets."""
    return FoundColumns.of(
        [result.findings if result.status is Status.SCORED else () for result in results],
        [result.retrieved for result in results],
        [result.ranks for result in results],
        [CODES[result.status] for result in results],
    )


def score_ids(
    first: Sequence[int] | NDArray[np.int32],
    lengths: Integers,
    offsets: Integers,
    grades: Floats | None = None,
    sizes: Integers | None = None,
) -> FoundColumns:
    """Return the results of `IdRecall` as columns: statuses of rows, and positions of references.

    `first` has the positions that `first_ranks` returns. For each row, `lengths` has the number of
    retrieved IDs, and `offsets` the index of the first reference ID. Only grades above 0 count.
    """
    positions, supports = Lists(np.array(first, np.int32), offsets), None
    if sizes is not None:
        found = Lists(positions.values, offsets_of(sizes))
        offsets = narrow(np.searchsorted(found.offsets, offsets))
        found = found.kept(found.values > 0)
        supports = Lists(found.values[np.lexsort((found.values, found.rows))], found.offsets)
        is_found, earliest = supports.counts > 0, np.zeros(len(sizes), np.int32)
        earliest[is_found] = supports.values[supports.offsets[:-1][is_found]]
        positions = Lists(earliest, offsets)
    if grades is not None:
        relevant = grades > 0
        positions, grades = positions.kept(relevant), grades[relevant]
        supports = supports and supports.selected(np.flatnonzero(relevant))
        grades = None if (grades == 1.0).all() else grades
    if supports is not None and (supports.counts <= 1).all():
        supports = None
    status = np.where(positions.counts > 0, SCORED, UNDEFINED).astype(np.int8)
    return FoundColumns(status, lengths, positions, supports, grade=grades)


def with_results(columns: FoundColumns, odd: Mapping[int, Result]) -> FoundColumns:
    """Return the columns with the rows in `odd` replaced by separately computed results."""
    if not odd:
        return columns
    others = np.setdiff1d(np.arange(len(columns)), list(odd))
    joined = FoundColumns.joined([columns.selected(others), columns_of(list(odd.values()))])
    ordered = joined.selected(np.argsort([*others, *odd]))
    # Compute the supporting ranks now: a function that computes them later cannot be pickled.
    return replace(ordered, supports=None if ordered.supports is None else ordered.supporting)
