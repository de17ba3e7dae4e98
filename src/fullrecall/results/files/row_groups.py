"""Parts of a table that lie in Parquet files: of a row group, the columns that are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fullrecall.caches import Cache
from fullrecall.errors import FullrecallError, ReportError
from fullrecall.records import ResultRecord
from fullrecall.result import Method, Result
from fullrecall.results.files import columns
from fullrecall.results.files.plain import parsed_mapping
from fullrecall.sample import Sample
from fullrecall.table.lists import Integers, offsets_of
from fullrecall.table.part import SCORED, Part, ScoreColumns, hash_sums, name_hashes

_MOST_BYTES = 256 * 2**20
"""Columns that are kept at a time, of all row groups of a report."""

_MOST_OPEN = 128
"""Files that are open at a time."""

_MOST_FOOTERS = 1_024
"""Footers that are kept of files that are closed again, some 50 KB each."""

_AT_ONCE = 64
"""Rows that become Python objects together: whoever reads one mostly reads the next."""


class Files:
    """The Parquet files of a report, opened when they are read, and what was read last."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem
        self._open = Cache(_MOST_OPEN)
        self._footers = Cache(_MOST_FOOTERS)
        self.kept = Cache(_MOST_BYTES)

    def file(self, path: str) -> pq.ParquetFile:
        """Return an open file; `ReportError` for what is none."""
        file: pq.ParquetFile = self._open.get(path, lambda: self._opened(path), lambda _: 1)
        return file

    def heads(self, path: str) -> list[str]:
        """Return what the rows of a file say of its report: the same, mostly."""
        column = self.file(path).read(columns=[columns.HEAD], use_threads=False).column(0)
        is_encoded = pa.types.is_dictionary(column.type)
        chunks: list[Any] = column.chunks if is_encoded else [column.cast(pa.string())]
        distinct = [chunk.dictionary if is_encoded else chunk.unique() for chunk in chunks]
        heads = [head for each in distinct for head in each.to_pylist()]
        return list(dict.fromkeys(filter(None, heads)))

    def _opened(self, path: str) -> pq.ParquetFile:
        try:
            source = self._filesystem.open_input_file(path)
            metadata = self._footers.get(path, lambda: pq.read_metadata(source), lambda _: 1)
            paths = _paths(metadata)
            repeating = [path for path in paths if _is_repeating(path, paths)]
            return pq.ParquetFile(source, metadata=metadata, read_dictionary=repeating)
        except FileNotFoundError:
            raise ReportError(f"{path} is missing") from None
        except pa.ArrowInvalid as error:
            raise ReportError(f"{path} is no Parquet file, or cut off: {error}") from None


def _paths(metadata: pq.FileMetaData) -> list[str]:
    """Return the path of each leaf of a file; its name may be that of another column."""
    return [metadata.schema.column(index).path for index in range(metadata.num_columns)]


def _is_repeating(name: str, names: Collection[str]) -> bool:
    """Whether a column has few texts, which are read faster as a dictionary."""
    score = name.removesuffix("_status")
    return name == columns.HEAD or (score != name and score in names)


class RowGroup(Part):
    """The rows of a row group, or some of them in any order."""

    def __init__(
        self,
        files: Files,
        path: str,
        group: int,
        methods: Sequence[Method],
        rows: Integers | None = None,
    ) -> None:
        self._files = files
        self._path = path
        self._group = group
        self._methods = methods
        self._rows = rows
        self._all = files.file(path).metadata.row_group(group).num_rows
        self._last: tuple[int, list[dict[str, Any]]] | None = None

    def __len__(self) -> int:
        return self._all if self._rows is None else len(self._rows)

    def __str__(self) -> str:
        return f"{self._path}[{self._group}]"

    @property
    def ids(self) -> Sequence[str | None]:
        """The ID of each sample."""
        key = (self._path, self._group, "id")
        whole = self._files.kept.get(key, lambda: self._texts("id"), lambda ids: 80 * len(ids))
        return whole if self._rows is None else [whole[row] for row in self._rows.tolist()]

    @property
    def groups(self) -> Sequence[str | None]:
        """The group that each sample names."""
        return self.cells("group")

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        return self.cells("user_input")

    @property
    def names_groups(self) -> bool:
        """Whether any sample may name a group."""
        return not all(map(self.is_null, ("group", columns.SAMPLE)))

    @property
    def has_texts(self) -> bool:
        """Whether any sample may have contexts beside their IDs."""
        return not all(map(self.is_null, ("contexts", "retrieval", columns.SAMPLE)))

    @property
    def forbids(self) -> bool:
        """Whether any sample may forbid a context."""
        names = ("forbidden_ids", "forbidden_contexts", "superseded", "answerable", columns.SAMPLE)
        return not all(map(self.is_null, names))

    def cells(self, name: str) -> list[Any]:
        """Return a column as Python values."""
        values = self._texts(name)
        return values if self._rows is None else [values[row] for row in self._rows.tolist()]

    def numbers(self, name: str) -> Integers | None:
        """Return a column of whole numbers; None where a row has none."""
        column = self.column(name)
        if column is None or column.null_count:
            return None
        values: Integers = columns.as_numbers(column).astype(np.int64)
        return values if self._rows is None else values[self._rows]

    def columns(self, score: int) -> ScoreColumns:
        """Return the columns of the score at this index; see `columns.score_columns`."""
        key = (self._path, self._group, score)
        whole: ScoreColumns = self._files.kept.get(key, lambda: self._score(score), _size)
        return whole if self._rows is None else whole.selected(self._rows)

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        try:
            return columns.sample_of(self._cells(row), self._own)
        except (FullrecallError, ValueError, TypeError, RecursionError) as error:
            raise ReportError(f"{self._path}: row {row}: {error}") from None

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        method, cells = self._methods[score], self._cells(row)
        details = cells.get(f"{method.name}_details")
        if details is None:
            note = cells.get(f"{method.name}_reason") or ""
            return columns.derived(method, self.sample(row), self.columns(score), row, note)
        try:
            return ResultRecord.read(parsed_mapping(details)).as_found(method)
        except FullrecallError as error:
            where = f"{self._path}: {method.name}_details of row {row}"
            raise ReportError(f"{where}: {error}") from None

    def selected(self, rows: Integers) -> RowGroup:
        """Return these rows, in the order given."""
        chosen = rows if self._rows is None else self._rows[rows]
        return RowGroup(self._files, self._path, self._group, self._methods, chosen)

    def judged(self, score: int) -> bool:
        """Return whether any result of this score may have verdicts."""
        return not self.is_null(f"{self._methods[score].name}_verdict")

    def notes(self, score: int, rows: Integers) -> Iterable[str]:
        """Return the notes of some rows' results."""
        if not len(rows):
            return []
        reasons = self.cells(f"{self._methods[score].name}_reason")
        return [reasons[row] or "" for row in rows.tolist()]

    def retrievals(self) -> Counter[str]:
        """Return of how many samples the retrieval was "united" of calls, or had a "failed" one."""
        if self.is_null("retrieval"):
            return Counter()
        return super().retrievals()

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a number for the targets of each row; see `Table.target_digests`."""
        name = self._methods[score].name
        special = (f"{name}_details", f"{name}_grade", "references", columns.SAMPLE)
        if not all(map(self.is_null, special)):
            return super().target_digests(score)
        references = self.column("reference_context_ids")
        if references is None:
            return np.zeros(len(self), np.uint64)
        codes = references.flatten().dictionary_encode()
        hashes = name_hashes(codes.dictionary.to_pylist())
        offsets = offsets_of(columns.list_lengths(references))
        sums = hash_sums(hashes[columns.as_numbers(codes.indices)], offsets)
        sums = sums if self._rows is None else sums[self._rows]
        sums[self.columns(score).status != SCORED] = 0
        return sums

    def column(self, name: str) -> Any:
        """Return a column of the row group as one Arrow array; None where it is null throughout."""
        if self.is_null(name):
            return None
        column: Any = self._read([name]).column(0).chunk(0)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = self._types.get(name, column.type)  # engines write lists and texts of other types
        if pa.types.is_null(column.type) or column.type == kind:
            return None if pa.types.is_null(column.type) else column
        try:
            return column.cast(kind)
        except pa.ArrowException:
            raise ReportError(f"{self._path}: {name} must be {kind}, got {column.type}") from None

    def encoded(self, name: str) -> Any:
        """Return a column of texts as a dictionary and indices; None where it is null."""
        if self.is_null(name):
            return None
        column = self._read([name]).column(0).chunk(0)
        if pa.types.is_dictionary(column.type):
            return column
        column = self.column(name)
        return None if column is None else column.dictionary_encode()

    def cells_of_rows(self) -> pa.Table:
        """Return all columns of the rows."""
        table = self._read(self._names)
        return table if self._rows is None else table.take(pa.array(self._rows, pa.int64()))

    def _texts(self, name: str) -> list[Any]:
        column = self.column(name)
        texts: list[Any] = [None] * self._all if column is None else column.to_pylist()
        if name in columns.COLD and not self.is_null(columns.SAMPLE):
            for row, text in enumerate(self.column(columns.SAMPLE).to_pylist()):
                if text is not None:
                    texts[row] = self._mapping(text, row).get(name)
        return texts

    def _mapping(self, text: str, row: int) -> dict[str, Any]:
        """Return what a cell of `columns.SAMPLE` holds."""
        try:
            return parsed_mapping(text)
        except ReportError as error:
            where = f"{self._path}: {columns.SAMPLE} of row {row}"
            raise ReportError(f"{where}: {error}") from None

    def _score(self, score: int) -> ScoreColumns:
        try:
            return columns.score_columns(self, self._methods[score].name, self._all)
        except (ReportError, pa.ArrowException) as error:  # a null within a list
            raise ReportError(f"{self._path}: {error}") from None

    def _cells(self, row: int) -> dict[str, Any]:
        """Return what a sample and its results are made of."""
        chosen = row if self._rows is None else int(self._rows[row])
        first = chosen // _AT_ONCE * _AT_ONCE
        last = self._last  # read once: another thread may look at another row
        if last is None or last[0] != first:
            table = self._files.kept.get((self._path, self._group), self._cold, _bytes)
            last = self._last = first, table.slice(first, _AT_ONCE).to_pylist()
        return last[1][chosen - first]

    def _cold(self) -> pa.Table:
        ends = ("_reason", "_details")
        names = [*columns.COLD, *self._own]
        names += [f"{method.name}{end}" for method in self._methods for end in ends]
        table = self._read([name for name in names if not self.is_null(name)])
        kinds = [(each.name, self._types.get(each.name, each.type)) for each in table.schema]
        try:
            return table.cast(pa.schema(kinds))
        except pa.ArrowException as error:
            raise ReportError(f"{self._path} has columns of other types: {error}") from None

    def _read(self, names: Sequence[str]) -> pa.Table:
        file = self._files.file(self._path)
        try:
            table = file.read_row_group(self._group, columns=list(names), use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise ReportError(f"{self._path} cannot be read: {error}") from None
        return table.combine_chunks()

    @cached_property
    def _types(self) -> dict[str, pa.DataType]:
        return {field.name: field.type for field in columns.schema(self._methods)}

    @cached_property
    def _names(self) -> list[str]:
        return list(self._files.file(self._path).schema_arrow.names)

    @cached_property
    def _own(self) -> list[str]:
        """The user's own columns; those of pandas and Dask, as __index_level_0__, are left out."""
        ours = set(columns.schema(self._methods).names)
        return [name for name in self._names if name not in ours and not name.startswith("__")]

    def is_null(self, name: str) -> bool:
        """Whether a column is not there, or null throughout, as far as the file's footer shows.

        There empty lists are null, too.
        """
        return name not in self._filled

    def has_nulls(self, name: str) -> bool:
        """Whether any cell of a column may be null, as far as the file's footer shows."""
        return name not in self._whole

    @cached_property
    def _whole(self) -> set[str]:
        group = self._files.file(self._path).metadata.row_group(self._group)
        columns_ = map(group.column, range(group.num_columns))
        every: list[tuple[str, Any]] = [(each.path_in_schema, each.statistics) for each in columns_]
        return {
            path
            for path, statistics in every
            if statistics is not None and statistics.has_null_count and statistics.null_count == 0
        }

    @cached_property
    def _filled(self) -> set[str]:
        group = self._files.file(self._path).metadata.row_group(self._group)
        filled = set(columns.LISTS) & set(self._names)  # empty is not missing there
        for index in range(group.num_columns):
            column = group.column(index)
            statistics = column.statistics
            nulls = None if statistics is None else statistics.null_count
            if nulls is None or nulls < column.num_values:
                filled.add(column.path_in_schema.partition(".")[0])
        types = self._files.file(self._path).schema_arrow
        return {name for name in filled if not pa.types.is_null(types.field(name).type)}


def _size(score: ScoreColumns) -> int:
    outcomes = score.outcomes
    arrays = [score.status, outcomes.retrieved, *outcomes.first]
    arrays += [each for each in (outcomes.grade, outcomes.size) if each is not None]
    if outcomes.steps is not None:
        arrays += [*outcomes.steps.positions, outcomes.steps.credits]
    if outcomes.ranks is not None:
        arrays += outcomes.ranks
    return sum(int(array.nbytes) for array in arrays)


def _bytes(table: pa.Table) -> int:
    return int(table.nbytes)
