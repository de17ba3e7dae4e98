"""Parts of a table in Parquet files; of each row group, only the needed columns are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fullrecall._util.caches import Cache
from fullrecall.errors import ReportError
from fullrecall.files.reports import columns
from fullrecall.files.reports.arrow_rows import ArrowRows, ReadColumns, size_of
from fullrecall.files.reports.plain import located
from fullrecall.files.reports.statistics import KEY, Statistics
from fullrecall.scorers.result import Method
from fullrecall.table.distinct import DistinctRows
from fullrecall.table.groups import IdRange
from fullrecall.table.verdicts import VerdictSums

_MOST_OPEN = 128
"""The most files that are open at a time."""


class Files(ReadColumns):
    """The Parquet files of a report, opened when they are read."""

    def __init__(self, filesystem: Any) -> None:
        super().__init__()
        self._filesystem = filesystem
        self._open = Cache(_MOST_OPEN)

    def file(self, path: str) -> pq.ParquetFile:
        """Return an open file; raise `ReportError` unless it is a report's Parquet file."""
        file: pq.ParquetFile = self._open.get(path, lambda: self._opened(path), lambda _: 1)
        return file

    def statistics(self, path: str) -> Statistics | None:
        """Return the saved statistics of a file with one row group; None without them."""
        read: Statistics | None = self.kept.get(
            (path, KEY), lambda: self._statistics(path), size_of
        )
        return read

    def _statistics(self, path: str) -> Statistics | None:
        metadata = self.file(path).metadata
        pairs = metadata.metadata or {}
        # A file with Arrow's schema was rewritten by another program, so the statistics that it
        # kept may be stale: ignore them.
        if KEY.encode() not in pairs or b"ARROW:schema" in pairs or metadata.num_row_groups != 1:
            return None
        statistics = Statistics.read(pairs[KEY.encode()], path)
        return statistics if statistics and statistics.rows == metadata.num_rows else None

    def heads(self, path: str) -> list[str]:
        """Return the distinct report heads (JSON of the methods) in a file's rows.

        A valid report has exactly one.
        """
        statistics = self.statistics(path)
        if statistics is not None:
            return [statistics.head]
        column = self.file(path).read(columns=[columns.HEAD], use_threads=False).column(0)
        return [head for head in column.unique().cast(pa.string()).to_pylist() if head]

    def _opened(self, path: str) -> pq.ParquetFile:
        try:
            source = self._filesystem.open_input_file(path)
            # Every row has the same head: read the column as a dictionary, to decode it once.
            return pq.ParquetFile(source, read_dictionary=[columns.HEAD])
        except KeyError:
            problem = f"is not a saved report: it has no column {columns.HEAD!r}"
        except FileNotFoundError:
            problem = "is missing"
        except pa.ArrowInvalid as error:
            problem = f"is not a Parquet file, or cut off: {error}"
        except OSError as error:
            problem = f"cannot be read: {error}"
        raise ReportError(f"{path} {problem}")


class RowGroup(ArrowRows):
    """The rows of one row group of a file, and their statistics if the file has saved ones.

    `partition` has the columns in the names of the file's folders, with their values.
    """

    def __init__(
        self,
        files: Files,
        path: str,
        group: int,
        methods: Sequence[Method],
        partition: Mapping[str, str | None] = MappingProxyType({}),
        *,
        statistics: bool = True,
    ) -> None:
        super().__init__(files, f"{path}[{group}]", methods)
        self.path = path
        self._files = files
        self._group = group
        self._partition = partition
        metadata = files.file(path).metadata
        self._count: int = metadata.row_group(group).num_rows
        self._has_statistics = statistics and files.statistics(path) is not None

    def __len__(self) -> int:
        return self._count

    def without_statistics(self) -> RowGroup:
        """Return the same rows without statistics, so that every value is read from the rows."""
        where = self._files, self.path, self._group, self._methods, self._partition
        return RowGroup(*where, statistics=False)

    @property
    def statistics(self) -> Statistics | None:
        """The saved statistics of the rows; None if the file has none."""
        return self._files.statistics(self.path) if self._has_statistics else None

    @property
    def first_row(self) -> int | None:
        """The number of the first row, or None if the rows are not numbered consecutively."""
        return super().first_row if self.statistics is None else self.statistics.first

    @property
    def id_range(self) -> IdRange | None:
        """The range of the samples' IDs; None if any ID repeats."""
        return super().id_range if self.statistics is None else self.statistics.ids

    def distinct(self, score: int) -> DistinctRows | None:
        """Return one row for each distinct set of findings, with its count; None if not saved."""
        return None if self.statistics is None else self.statistics.distinct[score]

    def notes(self, score: int) -> Counter[str]:
        """Return the notes of the unscored rows, with the number of rows that have each."""
        return super().notes(score) if self.statistics is None else self.statistics.notes[score]

    def verdicts(self, score: int) -> VerdictSums | None:
        """Return the sums over the verdicts of a score; None if no result has a verdict."""
        own = self.statistics
        return super().verdicts(score) if own is None else own.sums.verdicts[score]

    def unanswerable(self) -> tuple[int, int]:
        """Return the numbers of unanswerable questions with a retrieval, and with an empty one."""
        own = self.statistics
        return super().unanswerable() if own is None else (own.sums.unanswerable, own.sums.empty)

    def retrievals(self) -> Counter[str]:
        """Return the counts of the samples' retrievals; see `Part.retrievals`."""
        return super().retrievals() if self.statistics is None else self.statistics.sums.retrievals

    def tied(self, k: int) -> int:
        """Return the number of samples in which ranks `k` and `k` + 1 are tied by equal scores."""
        no_ties = self.statistics is not None and not self.statistics.has_ties
        return 0 if no_ties else super().tied(k)

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return the columns `names`, converted from an engine's types to those of a report.

        If a column occurs only in the names of folders, every row gets the value in the name.
        """
        file = self._files.file(self.path)
        with located(f"{self.path} cannot be read"):
            # Columns are read in this thread: reading in Arrow's threads took 16 MiB more for
            # 100,000 rows.
            own = set(file.schema_arrow.names)
            table = file.read_row_group(
                self._group, columns=[name for name in names if name in own], use_threads=False
            )
            for name in names:
                if name not in own:
                    column = pa.repeat(pa.scalar(self._partition[name], pa.string()), len(self))
                    table = table.append_column(name, column)
            kinds = [(each.name, self._types.get(each.name, each.type)) for each in table.schema]
            return table.cast(pa.schema(kinds)).combine_chunks()

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of all columns."""
        return [*dict.fromkeys([*self._files.file(self.path).schema_arrow.names, *self._partition])]

    @cached_property
    def filled(self) -> AbstractSet[str]:
        """The columns that may have a value, according to the file's footer and folders."""
        group = self._files.file(self.path).metadata.row_group(self._group)
        filled = set(columns.LISTS) & set(self.names)  # the footer counts an empty list as missing
        for index in range(group.num_columns):
            column = group.column(index)
            statistics = column.statistics
            nulls = None if statistics is None else statistics.null_count
            if nulls is None or nulls < column.num_values:
                # Take the first name of the path: in a user's column of mappings, a key may have
                # the name of a score's column.
                filled.add(column.path_in_schema.partition(".")[0])
        types = self._files.file(self.path).schema_arrow
        filled = {name for name in filled if not pa.types.is_null(types.field(name).type)}
        named = {name for name, value in self._partition.items() if value is not None}
        return filled | (named - set(types.names))
