"""The table of a report's results: rows in parts, columns of each score, and views of rows."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from fullrecall._util.caches import Cache
from fullrecall.measures import Measure
from fullrecall.measures.found import UNSCORED, FoundColumns, Statuses
from fullrecall.measures.lists import Floats, Integers
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result
from fullrecall.table.groups import Group, are_apart, codes_of, groups_of, may_repeat
from fullrecall.table.part import MemoryPart, Part, Selection
from fullrecall.table.row import Row, row_view
from fullrecall.table.views import ScoreView

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_BYTES = 2**24
"""The most bytes of measures' values that are cached."""

_MOST_PENDING = 4_096
"""The most appended rows that wait before they become columns."""

_MOST_VIEWS = 10_000
"""The most rows whose views are kept: pages and diagnoses read each of them several times."""


class Counted(NamedTuple):
    """The values of a measure for rows or distinct rows; `gaps` marks rows that were not scored.

    `counts` has the number of rows that each distinct row represents; None if all are single rows.
    """

    values: Floats
    gaps: NDArray[np.bool_]
    status: Statuses
    counts: Integers | None = None


class Table(Sequence[Row]):
    """Samples with their results by some scorers, as columns; parts and rows can be added.

    Each part has its rows in memory or in files. As a sequence, a table consists of `Row` views.
    """

    def __init__(self, methods: Sequence[Method], parts: Iterable[Part] = ()) -> None:
        self.methods = tuple(methods)
        self._parts: list[Part] = []
        self._starts: list[int] = []
        self._size = 0
        self._pending: list[tuple[Sample, Sequence[Result]]] = []
        self._values = Cache(_MOST_BYTES)
        self._views: dict[int, Row] = {}
        self._last: tuple[tuple[int, int], FoundColumns] | None = None
        self._last_views: tuple[int, list[ScoreView]] | None = None
        self._stand_alone: bool | None = None
        self._group_codes: Integers | None = None
        for part in parts:
            self.add(part)

    def add(self, part: Part) -> None:
        """Add rows at the end."""
        self._settle()
        if len(part):
            self._starts.append(self._size)
            self._parts.append(part)
            self._size += len(part)
            self._stand_alone = self._group_codes = None

    def append(self, sample: Sample, results: Sequence[Result]) -> None:
        """Add one row at the end."""
        self._pending.append((sample, results))
        if len(self._pending) >= _MOST_PENDING:
            self._settle()

    def __len__(self) -> int:
        return self._size + len(self._pending)

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...
    def __getitem__(self, key: int | slice) -> Row | list[Row]:
        if isinstance(key, slice):
            return [self.row(row) for row in range(len(self))[key]]
        return self.row(range(len(self))[key])

    def __iter__(self) -> Iterator[Row]:
        for part_index, part in enumerate(tuple(self.parts)):
            if self._views:
                yield from map(partial(self._row, part_index), range(len(part)))
            else:
                yield from self._rows_of(part_index, part)

    @property
    def parts(self) -> Sequence[Part]:
        """The parts, in order."""
        self._settle()
        return self._parts

    def values(self, score: int, measure: Measure) -> Floats:
        """Return a measure's value for each row; NaN for a row without one.

        Values are in [0, 1], unless the measure is a count.
        """
        return _joined(self.values_by_part(score, measure))

    def values_by_part(self, score: int, measure: Measure) -> Iterator[Floats]:
        """Yield a measure's values for the rows of each part; see `values`."""
        for part_index in range(len(self.parts)):
            yield self._read(part_index, score, measure)

    def counted(
        self, score: int, measures: Sequence[Measure]
    ) -> Iterator[tuple[Part, FoundColumns, list[Counted]]]:
        """Yield each part with its columns of findings, and the values of each measure.

        If no rows of the table share a group, and a part knows its distinct rows, its columns have
        each distinct row once. Measures that need only columns then have one value for each
        distinct row; all other measures have one for each row.
        """
        is_grouped = self.group_codes is not None
        for part_index, part in enumerate(self.parts):
            distinct = None if is_grouped else part.distinct(score)
            columns = part.columns(score) if distinct is None else distinct.columns
            counted = []
            for measure in measures:
                if distinct is not None and measure.of_columns:
                    values, gaps = _measured(columns, measure), columns.status == UNSCORED
                    counted.append(Counted(values, gaps, columns.status, distinct.counts))
                    continue
                values, gaps = self._read(part_index, score, measure), part.gaps(score, measure)
                counted.append(Counted(values, gaps, part.columns(score).status))
            yield part, columns, counted

    def status(self, score: int) -> Statuses:
        """Return the status of each row, as a code."""
        return _joined((part.columns(score).status for part in self.parts), np.int8)

    def gaps(self, score: int, measure: Measure) -> NDArray[np.bool_]:
        """Return a mask of the rows that have no value because they could not be scored.

        For a measure of leaks, a row that forbids no context needs no score, so it is not a gap.
        """
        return _joined((part.gaps(score, measure) for part in self.parts), np.bool_)

    @property
    def tokenizers(self) -> list[str]:
        """The names of the tokenizers (or the estimate) that counted tokens, most used first."""
        counted_by: Counter[str] = Counter()
        for part in self.parts:
            if part.has_texts:
                counted_by.update(part.costs.counted_by)
        return [name for name, _ in counted_by.most_common()]

    def unanswerable(self) -> tuple[int, int]:
        """Return the numbers of unanswerable questions with a retrieval, and with an empty one."""
        counts = [part.unanswerable() for part in self.parts]
        return sum(due for due, _ in counts), sum(empty for _, empty in counts)

    def changed(self, change: Callable[[Sample], Sample]) -> Table:
        """Return a table with the same results, and `change` applied to samples with texts."""
        table = Table(self.methods)
        for part in self.parts:
            if not part.has_texts:
                table.add(part)
                continue
            scores = range(len(self.methods))
            results = [list(part.results(score)) for score in scores]
            samples = list(map(change, part.samples()))
            table.add(MemoryPart(samples, list(map(part.columns, scores)), results))
        return table

    def cells(self, name: str) -> list[str | None]:
        """Return the "id", "group", or "user_input" of each sample."""
        return [cell for part in self.parts for cell in part.cells(name)]

    @property
    def ids(self) -> list[str | None]:
        """The ID of each sample."""
        return self.cells("id")

    def labels(self, rows: Iterable[int]) -> list[str]:
        """Return the IDs of these rows' samples; `#position` for a sample without an ID."""
        asked = list(rows)
        ids = self.ids if asked else []  # this reads the IDs of all samples, perhaps millions
        return [ids[row] or f"#{row + 1}" for row in asked]

    def same_cells(self, other: Table, name: str) -> bool:
        """Return whether another table is known to have the same "id" or "user_input" in each row.

        Returns False if the parts differ in length, and for rows in memory, which are not compared.
        """
        pairs = zip(self.parts, other.parts, strict=True)
        return self.has_parts_of(other) and all(own.same_cells(each, name) for own, each in pairs)

    def has_parts_of(self, other: Table) -> bool:
        """Return whether another table has parts of the same lengths."""
        return list(map(len, self.parts)) == list(map(len, other.parts))

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a digest of the targets of each row, the same for equal targets in any order.

        It is valid within one process only.
        """
        return _joined((part.target_digests(score) for part in self.parts), np.uint64)

    def other_targets(self, score: int, other: Table, other_score: int) -> NDArray[np.bool_]:
        """Return a mask of the rows in which the targets of a score differ between two tables."""
        return _joined(
            (
                np.zeros(len(part), np.bool_)
                if part.same_targets(score, each, other_score)
                else part.target_digests(score) != each.target_digests(other_score)
                for part, each in zip(self.parts, other.parts, strict=True)
            ),
            np.bool_,
        )

    @property
    def has_groups(self) -> bool:
        """Whether any sample names a group."""
        return any(part.has_groups for part in self.parts)

    @property
    def has_distinct_ids(self) -> bool:
        """Whether the ranges of IDs prove that each sample has an ID that no other sample has."""
        ranges = [part.id_range for part in self.parts]
        named = sum(each.ids for each in ranges if each is not None)
        return named == len(self) and are_apart(ranges)

    @property
    def groups(self) -> list[Group | None]:
        """The group of each row, None for a row that is independent of all other rows.

        Rows with the same group or sample ID are not independent, so they share a group.
        """
        if self._all_stand_alone():
            return [None] * self._size
        return groups_of(self.ids, self.cells("group"))

    @property
    def group_codes(self) -> Integers | None:
        """The number of each row's group, -1 for a row without one; None if no row has one."""
        if self._group_codes is None and not self._all_stand_alone():
            self._group_codes = codes_of(self.groups)
        return self._group_codes

    def tied(self, k: int) -> int:
        """Return the number of samples in which ranks `k` and `k` + 1 are tied by equal scores."""
        return sum(part.tied(k) for part in self.parts)

    @property
    def retrievals(self) -> Counter[str]:
        """The counts of all samples' retrievals; see `Part.retrievals`."""
        return sum((part.retrievals() for part in self.parts), Counter())

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        part_index, index = self._located(row)
        return self._parts[part_index].sample(index)

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row, whose measures are read from the columns."""
        part_index, index = self._located(row)
        return self._views_of(part_index)[score].result(index)

    def row(self, row: int) -> Row:
        """Return the view of a row; its `position` counts from 1."""
        return self._row(*self._located(row))

    def selected(self, rows: Integers) -> Table:
        """Return a table of these rows, in the order given."""
        return Table(self.methods, [Selection(self.parts, rows)])

    def _all_stand_alone(self) -> bool:
        """Return whether a quick check shows that no samples share a group or an ID."""
        self._settle()
        if self._stand_alone is None:
            self._stand_alone = not self.has_groups and (
                are_apart([part.id_range for part in self._parts])
                # Read the IDs by part, so that only their hashes are in memory, not all IDs.
                or not may_repeat(name for part in self._parts for name in part.cells("id"))
            )
        return self._stand_alone

    def _read(self, part_index: int, score: int, measure: Measure) -> Floats:
        """Return a measure's values for the rows of a part."""
        values: Floats = self._values.get(
            (part_index, score, measure),
            lambda: self._measured(part_index, score, measure),
            attrgetter("nbytes"),
        )
        return values

    def _measured(self, part_index: int, score: int, measure: Measure) -> Floats:
        # Read `_last` once, since another thread may replace it.
        part, last = self._parts[part_index], self._last
        if last is None or last[0] != (part_index, score):
            # `outcomes` returns a new object, which caches values that several measures need.
            # These values are freed when the next object replaces it.
            last = self._last = (part_index, score), part.outcomes(score)
        return _measured(last[1], measure)

    def _views_of(self, part_index: int) -> list[ScoreView]:
        """Return the views of the scores of a part; the last part's views are kept."""
        last = self._last_views  # read once, since another thread may replace it
        if last is None or last[0] != part_index:
            views = [
                ScoreView(
                    self._parts[part_index], score, method, partial(self._read, part_index, score)
                )
                for score, method in enumerate(self.methods)
            ]
            last = self._last_views = part_index, views
        return last[1]

    def _rows_of(self, part_index: int, part: Part) -> Iterator[Row]:
        """Yield the views of all rows of a part in one pass."""
        columns = [view.results() for view in self._views_of(part_index)]
        is_small = self._size <= _MOST_VIEWS
        start = self._starts[part_index]
        for index, results in enumerate(zip(*columns, strict=True)):
            row = row_view(start + index + 1, results, part, index)
            yield self._views.setdefault(start + index, row) if is_small else row

    def _row(self, part_index: int, index: int) -> Row:
        """Return the view of a row; in a small table, always the same object."""
        if self._size > _MOST_VIEWS:
            return self._new_row(part_index, index)
        row = self._starts[part_index] + index
        view = self._views.get(row)
        if view is None:
            view = self._views[row] = self._new_row(part_index, index)
        return view

    def _new_row(self, part_index: int, index: int) -> Row:
        results = [view.result(index) for view in self._views_of(part_index)]
        position = self._starts[part_index] + index + 1
        return row_view(position, results, self._parts[part_index], index)

    def _located(self, row: int) -> tuple[int, int]:
        """Return the index of the part that has a row, and the row's index there."""
        self._settle()
        if not 0 <= row < self._size:
            raise IndexError(f"no row {row}: there are {self._size:,}")
        part_index = bisect_right(self._starts, row) - 1
        return part_index, row - self._starts[part_index]

    def _settle(self) -> None:
        """Convert appended rows to columns."""
        if self._pending:
            pending, self._pending = self._pending, []
            samples, results = zip(*pending, strict=True)
            self.add(MemoryPart.of(samples, results))


def _measured(columns: FoundColumns, measure: Measure) -> Floats:
    """Return a measure's value for each row; NaN for unscored rows if the measure needs a score."""
    values = measure.values(columns)
    if not measure.of_sample:
        values[columns.status == UNSCORED] = np.nan
    return values


def _joined(arrays: Iterable[NDArray[Any]], kind: Any = np.float64) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *arrays])
