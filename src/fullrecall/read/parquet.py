"""Parquet, one sample per row; pyarrow loads when the first file is read."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from threading import Lock
from typing import Any

from fullrecall.dataframes import map_cell
from fullrecall.errors import InputError, MissingExtraError
from fullrecall.read.rows import Columns

_BUFFER = 2**16
_BATCH_ROWS = 256
_ROWS_TOGETHER = 2**14
_OPENING = Lock()
"""Held while Arrow's default pool is another: two that change it at once would leave it changed."""


def parquet_rows(
    path: str, columns: Columns | None = None
) -> Generator[tuple[int, dict[str, object]], None, None]:
    """Yield the numbered rows of a file, those columns alone that `columns` keeps.

    Raises `InputError` for what is no Parquet file.
    """
    import pyarrow as pa

    try:
        with (
            pa.OSFile(path, "rb") as opened,  # closed, too, where it is no Parquet
            _file(opened) as file,
        ):
            header = file.schema_arrow.names
            kept_columns = header
            if columns is not None:
                columns.check_header(header)
                kept_columns = [column for column in header if columns.field(column) is not None]
            yield from arrow_rows(_batches(file, kept_columns))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"not a Parquet file that can be read: {error}") from error


def _file(opened: Any) -> Any:
    """Return a Parquet file that is read a piece at a time, and gives back what it has read.

    By default each column of a row group, which may be the whole file, comes into memory at once;
    it takes both `buffer_size` and `pre_buffer` to prevent that. Values are allocated by the
    system, since Arrow's own allocator keeps as much memory again for later. A file uses whichever
    pool is the default when it is opened.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _OPENING:
        pool = pa.default_memory_pool()
        pa.set_memory_pool(pa.system_memory_pool())
        try:
            return pq.ParquetFile(opened, buffer_size=_BUFFER, pre_buffer=False)
        finally:
            pa.set_memory_pool(pool)


def _batches(file: Any, columns: list[str]) -> Iterator[Any]:
    """Yield the batches of a file; what was unpacked of one group is gone when the next begins."""
    import pyarrow as pa

    arrows, systems = pa.default_memory_pool(), pa.system_memory_pool()
    for groups in _together(file.metadata):
        for batch in file.iter_batches(
            _BATCH_ROWS, row_groups=groups, columns=columns, use_threads=False
        ):
            arrows.release_unused()
            yield batch
        # Seldom: it goes over all that the program has in memory.
        systems.release_unused()


def _together(metadata: Any) -> Iterator[list[int]]:
    """Yield the groups of rows that are read in one go: small ones, of which there may be many."""
    groups: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= _ROWS_TOGETHER:
            yield groups
            groups, rows = [], 0
    if groups:
        yield groups


def arrow_rows(batches: Iterable[Any]) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the rows of Arrow's record batches with their numbers (from 1), maps as mappings."""
    import pyarrow as pa

    number = 0
    for batch in batches:
        maps = [field.name for field in batch.schema if pa.types.is_map(field.type)]
        for row in batch.to_pylist():
            number += 1
            for column in maps:
                row[column] = map_cell(column, row[column], number)
            yield number, row


def check_pyarrow() -> None:
    """Raise `MissingExtraError` without pyarrow."""
    try:
        import pyarrow.parquet  # noqa: F401 - heavy, so loaded when first used
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "reading Parquet") from None
