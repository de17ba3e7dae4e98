"""Parts of a table in Parquet files; of each row group, only the needed columns are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fullrecall._util.caches import Cache
from fullrecall.errors import ReportError
from fullrecall.files.reports import columns
from fullrecall.files.reports.plain import located, mapping
from fullrecall.files.reports.records import ResultRecord
from fullrecall.measures.found import SCORED, FoundColumns, steps_of
from fullrecall.measures.lists import Integers, Lists, count_sums, offsets_of
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.table.part import Part, name_hashes, result_of

_MOST_BYTES = 24 * 2**20
"""Bytes of the columns that are kept at a time, of all row groups of a report.

With ten times as many, a summary of 1,000,000 rows takes 0.5 s of CPU instead of 0.7 s, and a list
of all missed targets 1,070 MiB instead of 630.
"""

_MOST_OPEN = 128
"""Files that are open at a time."""

_AT_ONCE = 64
"""Rows that become Python objects together: most readers of a row read the next one, too."""


class Files:
    """The Parquet files of a report, opened when they are read, and the columns read last."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem
        self._open = Cache(_MOST_OPEN)
        self.kept = Cache(_MOST_BYTES)
        self.last: tuple[tuple[str, int, int], list[dict[str, Any]]] | None = None
        """The rows that became Python objects last, of one row group only."""

    def file(self, path: str) -> pq.ParquetFile:
        """Return an open file; `ReportError` for anything but a report's Parquet file."""
        file: pq.ParquetFile = self._open.get(path, lambda: self._opened(path), lambda _: 1)
        return file

    def heads(self, path: str) -> list[str]:
        """Return the distinct heads of the rows of a file; a report has one."""
        column = self.file(path).read(columns=[columns.HEAD], use_threads=False).column(0)
        return [head for head in column.unique().cast(pa.string()).to_pylist() if head]

    def _opened(self, path: str) -> pq.ParquetFile:
        try:
            source = self._filesystem.open_input_file(path)
            # Every row has the head: as a dictionary it is decoded once.
            return pq.ParquetFile(source, read_dictionary=[columns.HEAD])
        except KeyError:
            problem = f"is no saved report: it has no column {columns.HEAD!r}"
        except FileNotFoundError:
            problem = "is missing"
        except pa.ArrowInvalid as error:
            problem = f"is no Parquet file, or cut off: {error}"
        raise ReportError(f"{path} {problem}")


class RowGroup(Part):
    """The rows of a row group."""

    def __init__(self, files: Files, path: str, group: int, methods: Sequence[Method]) -> None:
        self._files = files
        self._path = path
        self._group = group
        self._methods = methods
        self._count: int = files.file(path).metadata.row_group(group).num_rows

    def __len__(self) -> int:
        return self._count

    def __str__(self) -> str:
        return f"{self._path}[{self._group}]"

    def may_have(self, *columns: str) -> bool:
        """Return whether any sample may have a value in one of these columns."""
        return not all(map(self.is_null, columns))

    def cells(self, name: str) -> list[Any]:
        """Return a column as Python values; IDs are kept, since comparisons read them again."""
        if name != "id":
            return self._values(name)
        key = (self._path, self._group, name)
        ids: list[Any] = self._files.kept.get(
            key, lambda: self._values(name), lambda ids: 80 * len(ids)
        )
        return ids

    def _values(self, name: str) -> list[Any]:
        column = self.column(name)
        return [None] * len(self) if column is None else column.to_pylist()

    def numbers(self, name: str, null: int) -> Integers:
        """Return a column of whole numbers, with `null` in place of a missing one."""
        column = self.column(name)
        if column is None:
            return np.full(len(self), null, np.int64)
        values: Integers = as_numbers(column.cast(pa.int64()).fill_null(null))
        return values

    def columns(self, score: int) -> FoundColumns:
        """Return the columns of the score at this index; see `score_columns`."""
        key = (self._path, self._group, score)
        read: FoundColumns = self._files.kept.get(key, lambda: self._score(score), _size)
        return read

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        with located(f"{self._path}: row {row}"):
            return columns.sample_of(self._cells(row), self._own)

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        method, cells = self._methods[score], self._cells(row)
        details = cells.get(f"{method.name}_details")
        if details is None:
            note = cells.get(f"{method.name}_reason") or ""
            return result_of(method, self.sample(row), self.columns(score), row, note)
        with located(f"{self._path}: {method.name}_details of row {row}"):
            return ResultRecord.read(mapping(details)).as_found(method)

    def judged(self, score: int) -> bool:
        """Return whether any result of this score may have verdicts."""
        return not self.is_null(f"{self._methods[score].name}_verdict")

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a number for the targets of each row; see `Table.target_digests`."""
        name = self._methods[score].name
        references = self.column("reference_context_ids")
        special = (f"{name}_details", f"{name}_grade", "references")
        if references is None or not all(map(self.is_null, special)):
            return super().target_digests(score)
        codes = references.flatten().dictionary_encode()
        hashes = name_hashes(codes.dictionary.to_pylist())
        offsets = offsets_of(list_lengths(references))
        sums = count_sums(hashes[as_numbers(codes.indices)], offsets, np.uint64)
        sums[self.columns(score).status != SCORED] = 0
        return sums

    def column(self, name: str) -> Any:
        """Return a column of the row group as one Arrow array; None where it is null throughout."""
        if self.is_null(name):
            return None
        column: Any = self._read([name]).column(0).chunk(0)
        return column

    def cells_of(self, rows: Integers) -> list[dict[str, Any]]:
        """Return all columns of some rows."""
        cells: list[dict[str, Any]] = self._read(self._names).take(rows).to_pylist()
        return cells

    def is_null(self, name: str) -> bool:
        """Whether a column is missing, or null throughout, as far as the file's footer shows.

        Empty lists count as null there, too.
        """
        return name not in self._filled

    def _score(self, score: int) -> FoundColumns:
        with located(self._path):  # such as a null within a list
            return score_columns(self, self._methods[score].name)

    def _cells(self, row: int) -> dict[str, Any]:
        """Return the cells of a row from which its sample and its results are made."""
        first = row // _AT_ONCE * _AT_ONCE
        key = (self._path, self._group, first)
        last = self._files.last  # read once: another thread may look at another row
        if last is None or last[0] != key:
            table = self._files.kept.get((self._path, self._group), self._cold, _size)
            last = self._files.last = key, table.slice(first, _AT_ONCE).to_pylist()
        return last[1][row - first]

    def _cold(self) -> pa.Table:
        ends = ("_reason", "_details")
        names = [*columns.COLD, *self._own]
        names += [f"{method.name}{end}" for method in self._methods for end in ends]
        return self._read([name for name in names if not self.is_null(name)])

    def _read(self, names: Sequence[str]) -> pa.Table:
        """Return columns in the types of a report: engines write lists and texts of other types."""
        file = self._files.file(self._path)
        with located(f"{self._path} cannot be read"):
            # In this thread: reading in Arrow's own took 16 MiB more at 100,000 rows.
            table = file.read_row_group(self._group, columns=list(names), use_threads=False)
            kinds = [(each.name, self._types.get(each.name, each.type)) for each in table.schema]
            return table.cast(pa.schema(kinds)).combine_chunks()

    @cached_property
    def _types(self) -> dict[str, pa.DataType]:
        return {field.name: field.type for field in columns.schema(self._methods)}

    @cached_property
    def _names(self) -> list[str]:
        return list(self._files.file(self._path).schema_arrow.names)

    @cached_property
    def _own(self) -> list[str]:
        """The user's own columns; those of pandas and Dask, as __index_level_0__, are left out."""
        return [name for name in self._names if name not in self._types and name[:2] != "__"]

    @cached_property
    def _filled(self) -> set[str]:
        group = self._files.file(self._path).metadata.row_group(self._group)
        filled = set(columns.LISTS) & set(self._names)  # empty is not missing there
        for index in range(group.num_columns):
            column = group.column(index)
            statistics = column.statistics
            nulls = None if statistics is None else statistics.null_count
            if nulls is None or nulls < column.num_values:
                # By path: a user's column of mappings may have a key that is named as a score.
                filled.add(column.path_in_schema.partition(".")[0])
        types = self._files.file(self._path).schema_arrow
        return {name for name in filled if not pa.types.is_null(types.field(name).type)}


def score_columns(group: RowGroup, name: str) -> FoundColumns:
    """Return the columns of a score that measures read; the support of targets is read on demand.

    Raises `ReportError` for values that no run can give.
    """

    def read(end: str) -> Any:
        return group.column(f"{name}{end}")

    def of_targets(end: str) -> Any:
        """Return a column's values for each target; None where it is null throughout."""
        column = columns.completed(read(end), end, trivial)
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
    """Return the steps of an Arrow array of lists of them."""
    steps = targets.flatten()
    positions, credits_ = (as_numbers(steps.field(name)) for name in ("position", "credit"))
    return steps_of(positions, credits_, offsets_of(list_lengths(targets)))


def list_lengths(column: Any) -> Any:
    """Return the length of each list of an Arrow array, 0 for null."""
    counts = np.diff(as_numbers(column.offsets).astype(np.int64))
    return np.where(np.asarray(column.is_null()), 0, counts) if column.null_count else counts


def _lists(column: Any, rows: int) -> Lists:
    """Return an Arrow array of lists of numbers; null is empty."""
    if column is None:
        return Lists.empty(rows)
    return Lists(as_numbers(column.flatten()), offsets_of(list_lengths(column)))


def as_numbers(column: Any) -> Any:
    """Return an Arrow array of numbers as NumPy's, without a copy; `ArrowInvalid` for a null.

    By DLPack: `to_numpy` imports pandas, which takes a third of a second.
    """
    if column.null_count:
        raise pa.ArrowInvalid("a number is null")
    return np.from_dlpack(column)


def _size(value: Any) -> int:
    """Return the bytes of a table, or of the arrays in tuples and data classes."""
    if isinstance(value, tuple):
        return sum(map(_size, value))
    if is_dataclass(value):
        return sum(map(_size, vars(value).values()))
    return int(getattr(value, "nbytes", 0))
