"""The rows of a report as Arrow columns, in a file or in memory; only needed columns are read."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fullrecall._util.caches import Cache
from fullrecall.errors import ReportError
from fullrecall.files.reports import columns
from fullrecall.files.reports.plain import located, mapping
from fullrecall.files.reports.records import ResultRecord
from fullrecall.files.reports.statistics import SampleSums, Statistics
from fullrecall.measures.found import SCORED, UNSCORED, FoundColumns, steps_of
from fullrecall.measures.lists import Integers, Lists, count_sums, offsets_of
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.table.distinct import DistinctRows
from fullrecall.table.groups import IdRange
from fullrecall.table.part import TIED, Part, name_hashes, result_of

_MOST_BYTES = 24 * 2**20
"""The most bytes of columns that are kept in memory, over all row groups of a report.

A limit ten times as high saves 0.2 of 0.7 s of CPU in a summary of 1,000,000 rows, but a list of
all missed targets then takes 1,070 MiB of memory instead of 630.
"""

_RANKED = (
    "_status", "_retrieved", "_first", "_position", "_ranks", "_grade", "_size", "_steps",
)  # fmt: skip
"""The endings of the score columns that measures read, except `_support`, read on demand."""

_AT_ONCE = 64
"""The number of neighboring rows that become Python objects together.

Most callers read the next row, too, and one conversion of many rows is faster.
"""


class ReadColumns:
    """The columns that were read most recently, from any row group of a report."""

    def __init__(self) -> None:
        self.kept = Cache(_MOST_BYTES)
        self.last: tuple[tuple[str, int], list[dict[str, Any]]] | None = None
        """The rows converted to Python objects last, with their key; None before the first."""


class ArrowRows(Part):
    """Rows in Arrow columns; subclasses read the columns.

    `name` identifies the rows in messages and in the caches of `read`. All row groups of a report
    share these caches.
    """

    def __init__(self, read: ReadColumns, name: str, methods: Sequence[Method]) -> None:
        self._read = read
        self._name = name
        self._methods = methods

    def __str__(self) -> str:
        return self._name

    @abstractmethod
    def read(self, names: Sequence[str]) -> pa.Table:
        """Return these columns as a table with the types of a report, each in one chunk."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The names of all columns."""

    @property
    @abstractmethod
    def filled(self) -> AbstractSet[str]:
        """The columns that may have a value.

        If all lists of a column in a file are empty, the column is left out. The columns of the
        retrieved and of the reference IDs are exceptions.
        """

    def may_have(self, *columns: str) -> bool:
        """Return whether any sample may have a value in one of these columns."""
        return not all(map(self.is_null, columns))

    def cells(self, name: str) -> list[Any]:
        """Return a column as Python values; cache sample IDs, which comparisons read again."""
        if name != "id":
            return self._values(name)
        key = (self._name, name)
        ids: list[Any] = self._read.kept.get(
            key, lambda: self._values(name), lambda ids: 80 * len(ids)
        )
        return ids

    def _values(self, name: str) -> list[Any]:
        column = self.column(name)
        if column is None:
            return [None] * len(self)
        return columns.values_of(column) if name in columns.ESCAPED else column.to_pylist()

    def numbers(self, name: str, null: int) -> Integers:
        """Return a column of whole numbers as an array, with `null` for missing values."""
        column = self.column(name)
        if column is None:
            return np.full(len(self), null, np.int64)
        values: Integers = as_numbers(column.cast(pa.int64()).fill_null(null))
        return values

    @property
    def first_row(self) -> int | None:
        """The number of the first row; None without rows, or if numbers are not consecutive."""
        numbers = self.numbers(columns.ROW, null=-1)
        if not len(numbers) or numbers[0] < 0 or (np.diff(numbers) != 1).any():
            return None
        return int(numbers[0])

    @property
    def id_range(self) -> IdRange | None:
        """The range of the samples' IDs, in the escaped form of the file; None if an ID repeats."""
        ids = self.column("id")
        ids = None if ids is None else ids.drop_null()
        if ids is None or not len(ids):
            return IdRange()
        if pc.count_distinct(ids).as_py() < len(ids):
            return None
        lengths = pc.utf8_length(ids)
        least = pc.min(ids.filter(pc.equal(lengths, pc.min(lengths)))).as_py()
        greatest = pc.max(ids.filter(pc.equal(lengths, pc.max(lengths)))).as_py()
        return IdRange(least, greatest, len(ids))

    @property
    def has_groups(self) -> bool:
        """Whether any sample names a group."""
        return not self.is_null("group")

    @property
    def has_ties(self) -> bool:
        """Whether any sample's metadata has the key for tied ranks, `TIED`."""
        metadata = self.column("metadata")
        return metadata is not None and pc.any(pc.match_substring(metadata, TIED)).as_py() is True

    def notes(self, score: int) -> Counter[str]:
        """Return the notes of the unscored rows, with the number of rows that have each."""
        unscored = np.flatnonzero(self.columns(score).status == UNSCORED)
        reasons = self.column(f"{self._methods[score].name}_reason") if len(unscored) else None
        if reasons is None:
            return Counter([""] * len(unscored))
        notes = columns.values_of(reasons.take(pa.array(unscored)))
        return Counter(note or "" for note in notes)

    def columns(self, score: int) -> FoundColumns:
        """Return the columns of the score at this index; see `score_columns`."""
        key = (self._name, score)
        read: FoundColumns = self._read.kept.get(key, lambda: self._score(score), size_of)
        return read

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        with located(f"{self}: row {row}"):
            return columns.sample_of(self._cells(row), self._own)

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        method, cells = self._methods[score], self._cells(row)
        details = cells.get(f"{method.name}_details")
        if details is None:
            note = columns.unescaped(cells.get(f"{method.name}_reason")) or ""
            return result_of(method, self.sample(row), self.columns(score), row, note)
        with located(f"{self}: {method.name}_details of row {row}"):
            return ResultRecord.read(mapping(details)).as_found(method)

    def judged(self, score: int) -> bool:
        """Return whether any result of a score may have verdicts."""
        return not self.is_null(f"{self._methods[score].name}_verdict")

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a digest of the targets of each row; see `Table.target_digests`."""
        if not self.has_plain_targets(score):
            return super().target_digests(score)
        references = self.column("reference_context_ids")
        codes = references.flatten().dictionary_encode()
        hashes = name_hashes(columns.values_of(codes.dictionary))
        offsets = offsets_of(list_lengths(references))
        sums = count_sums(hashes[as_numbers(codes.indices)], offsets, np.uint64)
        sums[self.columns(score).status != SCORED] = 0
        return sums

    def same_cells(self, other: Part, name: str) -> bool:
        """Return whether another part of this length is known to have the same values."""
        if not isinstance(other, ArrowRows):
            return False
        own, theirs = self.column(name), other.column(name)
        return own is theirs or (None not in (own, theirs) and bool(own.equals(theirs)))

    def same_targets(self, score: int, other: Part, other_score: int) -> bool:
        """Return whether the results of two scores are known to have the same targets."""
        return (
            isinstance(other, ArrowRows)
            and self.has_plain_targets(score)
            and other.has_plain_targets(other_score)
            and self.same_cells(other, "reference_context_ids")
        )

    def has_plain_targets(self, score: int) -> bool:
        """Return whether the column of reference IDs alone gives all targets.

        Each target is then one ID, with grade 1.
        """
        name = self._methods[score].name
        special = (f"{name}_details", f"{name}_grade", "references")
        return not self.is_null("reference_context_ids") and all(map(self.is_null, special))

    def column(self, name: str) -> Any:
        """Return a column of the row group as one Arrow array; None if `is_null`."""
        if self.is_null(name):
            return None
        column: Any = self.read([name]).column(0).chunk(0)
        return column

    def cells_of(self, rows: Integers) -> list[dict[str, Any]]:
        """Return some rows, each as a mapping of all columns to Python values."""
        table = self.read(self.names).take(rows)
        return columns.rows_of(table, columns.escaped_in(table))

    def is_null(self, name: str) -> bool:
        """Return whether a column is missing or known to have no value; see `filled`."""
        return name not in self.filled

    def _score(self, score: int) -> FoundColumns:
        with located(self):  # for errors such as a null within a list
            return score_columns(self, self._methods[score].name)

    def _cells(self, row: int) -> dict[str, Any]:
        """Return the Python values from which a row's sample and results are created."""
        first = row // _AT_ONCE * _AT_ONCE
        key = (self._name, first)
        last = self._read.last  # read once, since another thread may replace it
        if last is None or last[0] != key:
            table, escaped = self._read.kept.get(self._name, self._cold, size_of)
            rows = columns.rows_of(table.slice(first, _AT_ONCE), escaped)
            last = self._read.last = key, rows
        return last[1][row - first]

    def _cold(self) -> tuple[pa.Table, frozenset[str]]:
        """Return the columns from which samples and results are created, as a table.

        Also return the names of those columns in which a text may have an escape.
        """
        ends = ("_reason", "_details")
        names = [*columns.COLD, *self._own]
        names += [f"{method.name}{end}" for method in self._methods for end in ends]
        table = self.read([name for name in names if not self.is_null(name)])
        return table, columns.escaped_in(table)

    @cached_property
    def _types(self) -> dict[str, pa.DataType]:
        return {field.name: field.type for field in columns.schema(self._methods)}

    @cached_property
    def _own(self) -> list[str]:
        """The columns that a user added, without those of pandas and Dask (__index_level_0__)."""
        return [name for name in self.names if name not in self._types and name[:2] != "__"]


class WaitingRows(ArrowRows):
    """The rows of an Arrow table in memory that a writer has not written yet."""

    def __init__(self, table: pa.Table, methods: Sequence[Method]) -> None:
        super().__init__(ReadColumns(), "the rows to be written", methods)
        self._table = table.combine_chunks()

    def __len__(self) -> int:
        return self._table.num_rows

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return columns of the table."""
        return self._table.select(list(names))

    @property
    def names(self) -> Sequence[str]:
        """The names of all columns."""
        return self._table.column_names

    @cached_property
    def filled(self) -> AbstractSet[str]:
        """The columns that have at least one value; see `ArrowRows.filled` for empty lists."""
        return {name for name in self.names if self._has_value(name)}

    def _has_value(self, name: str) -> bool:
        values: Any = self._table[name]
        while pa.types.is_list(values.type) and name not in columns.LISTS:
            values = pc.list_flatten(values)
        return bool(values.null_count < len(values))


def statistics_of(rows: ArrowRows, head: str, sums: SampleSums, scores: int) -> Statistics:
    """Return the statistics of rows, for a number of `scores`.

    `head` is the report's head (see `columns.head`), and `sums` are the rows' `SampleSums`.
    """
    return Statistics(
        head,
        len(rows),
        rows.first_row,
        rows.id_range,
        rows.has_ties,
        [rows.notes(score) for score in range(scores)],
        [DistinctRows.of(rows.columns(score)) for score in range(scores)],
        sums,
    )


def score_columns(group: ArrowRows, name: str) -> FoundColumns:
    """Return those columns of a score that measures need; the targets' support is read later."""
    names = [f"{name}{end}" for end in _RANKED]
    table = group.read([each for each in names if not group.is_null(each)])

    def read(end: str) -> Any:
        own = f"{name}{end}"
        return table[own].chunk(0) if own in table.column_names else None

    def of_targets(end: str) -> Any:
        """Return all targets' values in the score's column with this suffix, such as `_grade`.

        The values are one flat array; None if all of them are null.
        """
        own = group.column(f"{name}{end}") if end == "_support" else read(end)
        column = columns.completed(own, end, trivial)
        return None if column is None else column.flatten()

    texts, rows = read("_status"), len(group)
    codes = None if texts is None else pc.index_in(texts, pa.array(list(map(str, Status))))
    if codes is None or codes.null_count:
        raise ReportError(f"{name}_status must be one of {', '.join(Status)}")
    first, position, ranks = read("_first"), read("_position"), read("_ranks")
    retrieved = read("_retrieved")
    trivial = FoundColumns(
        as_numbers(codes).astype(np.int8),
        np.zeros(rows, np.int32) if retrieved is None else as_numbers(pc.fill_null(retrieved, 0)),
        _lists(first if position is None else pc.coalesce(position, first), rows),
    )
    has_support = not group.is_null(f"{name}_support")
    grade, size, steps = map(of_targets, ("_grade", "_size", "_steps"))
    return replace(
        trivial,
        supports=(lambda: _lists(of_targets("_support"), rows)) if has_support else None,
        steps=None if steps is None else _steps(steps),
        grade=None if grade is None else as_numbers(grade),
        size=None if size is None else as_numbers(size),
        ranks=None if ranks is None else _lists(ranks, rows),
    )


def _steps(targets: Any) -> Lists:
    """Return the credit steps in an Arrow array of lists."""
    steps = targets.flatten()
    positions, credits_ = (as_numbers(steps.field(name)) for name in ("position", "credit"))
    return steps_of(positions, credits_, offsets_of(list_lengths(targets)))


def list_lengths(column: Any) -> Any:
    """Return the length of each list of an Arrow array, 0 for null."""
    counts = np.diff(as_numbers(column.offsets).astype(np.int64))
    return np.where(np.asarray(column.is_null()), 0, counts) if column.null_count else counts


def _lists(column: Any, rows: int) -> Lists:
    """Return an Arrow array of lists of numbers as `Lists`; a null becomes an empty list."""
    if column is None:
        return Lists.empty(rows)
    return Lists(as_numbers(column.flatten()), offsets_of(list_lengths(column)))


def as_numbers(column: Any) -> Any:
    """Return an Arrow array of numbers as a NumPy array without a copy.

    It uses DLPack, since `to_numpy` imports pandas, which takes a third of a second. Raises
    `ArrowInvalid` if a number is null.
    """
    if column.null_count:
        raise pa.ArrowInvalid("a number is null")
    return np.from_dlpack(column)


def size_of(value: Any) -> int:
    """Return the size in bytes of a table or an array, or of all those in a tuple or a data class.

    Any other value counts as 0 bytes.
    """
    if isinstance(value, tuple):
        return sum(map(size_of, value))
    if is_dataclass(value):
        return sum(map(size_of, vars(value).values()))
    return int(getattr(value, "nbytes", 0))
