"""One part of a report: a Parquet file, written whole or not at all, and checked before it is read.

Its bytes are known by the digest in the manifest, its scorers and its name among the parts by what
stands in its own head, so that a part cannot take the place of another one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from fullrecall.distributed.parquet import columns
from fullrecall.distributed.parquet.manifest import VERSION, PartRecord
from fullrecall.errors import FullrecallError, ReportError
from fullrecall.extras import pyarrow
from fullrecall.result import Method

if TYPE_CHECKING:
    import pyarrow as pa

ENDING = ".parquet"

GROUP = 20_000
"""Rows of a row group: what is in memory at once, as rows are read or written."""

_HEAD = b"fullrecall"


def as_table(rows: Sequence[Sequence[Any]], methods: Sequence[Method]) -> Any:
    """Return the cells of rows as a table with the columns of a part."""
    pa = pyarrow(columns.PURPOSE)
    expected = columns.schema(methods)
    listed = list(zip(*rows, strict=True)) or [()] * len(expected)
    arrays = [pa.array(cells, type=f.type) for cells, f in zip(listed, expected, strict=True)]
    return pa.Table.from_arrays(arrays, schema=expected)


def write_table(
    folder: Path,
    part: str,
    methods: Sequence[Method],
    table: pa.Table,
    *,
    more: Sequence[str] = (),
) -> PartRecord:
    """Write one part into a folder, whole or not at all; return its record for the manifest.

    `part` names it among the parts of the report. Its file has a name of its own: of one part
    there may be several, of which a manifest names one. `more` are whole numbers that stand beside
    the columns of `columns.schema`.
    """
    pa = pyarrow(columns.PURPOSE)
    expected = _schema(methods, more)
    head = {"version": VERSION, "methods": columns.identity(methods), "part": part}
    made = table.select(expected.names).cast(expected)
    made = made.replace_schema_metadata({_HEAD: json.dumps(head).encode()})
    lists = [f"{name}.list.element" for name in ("retrieved_context_ids", "reference_context_ids")]
    buffer = pa.BufferOutputStream()
    pa.parquet.write_table(
        made,
        buffer,
        row_group_size=GROUP,
        compression="zstd",
        compression_level=1,
        use_dictionary=[*columns.repeated(methods), *lists],
        write_page_checksum=True,
    )
    content = buffer.getvalue()
    name = f"part-{_plain(part)}-{uuid4().hex[:12]}{ENDING}"
    begun = folder / f".{name}.{os.getpid()}"
    try:
        with begun.open("wb") as file:
            file.write(content)
        begun.replace(folder / name)
    finally:
        begun.unlink(missing_ok=True)
    digest = blake2b(content, digest_size=16).hexdigest()
    return PartRecord(id=part, file=name, rows=made.num_rows, bytes=content.size, digest=digest)


def _schema(methods: Sequence[Method], more: Sequence[str]) -> Any:
    schema = columns.schema(methods)
    for name in more:
        schema = schema.append(pyarrow(columns.PURPOSE).field(name, "int64"))
    return schema


def _plain(part: str) -> str:
    """Return the name of a part as file names may have it."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in part)[:60]


class Part:
    """One part of a saved report, to be read. `first` is the 0-based place of its first row.

    `more` are the columns that it has beside those of `columns.schema`.
    """

    def __init__(
        self,
        folder: Path,
        record: PartRecord,
        methods: Sequence[Method],
        first: int,
        *,
        more: Sequence[str] = (),
    ) -> None:
        self.path = folder / record.file
        self.record = record
        self.first = first
        self._methods = methods
        self._more = more
        self._trusted = False

    def check_size(self) -> None:
        """Raise `ReportError` where the file is not there, or is not as long as it was."""
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            raise ReportError(
                f"{self.path} is missing, with {self.record.rows:,} samples: restore it, save the "
                "report again, or open it again if another run has replaced it"
            ) from None
        if size != self.record.bytes:
            raise ReportError(
                f"{self.path} must have {self.record.bytes:,} bytes, got {size:,}: it was cut off "
                "or edited; save the report again"
            )

    def batches(self, names: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the columns of these names, some rows at a time, each with its first row's place.

        Raises `ReportError` for a part that is not the one that was written.
        """
        pa = pyarrow(columns.PURPOSE)
        self._check()
        place = self.first
        try:
            with self._opened() as file:
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, columns=list(names), use_threads=False)
                    for batch in table.select(list(names)).combine_chunks().to_batches():
                        yield place, batch
                        place += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            self.check_size()
            raise ReportError(f"{self.path} cannot be read: {error}") from None

    def rows_at(self, places: Sequence[int], names: Sequence[str]) -> Any:
        """Return the columns of the rows at these places, ascending, within the report."""
        import numpy as np

        pa = pyarrow(columns.PURPOSE)
        wanted, kept = np.asarray(places), []
        for first, batch in self.batches(names):
            low, high = np.searchsorted(wanted, (first, first + batch.num_rows))
            if low < high:
                kept.append(batch.take(pa.array(wanted[low:high] - first)))
            if high == len(wanted):
                break
        return pa.Table.from_batches(kept)

    def _check(self) -> None:
        """Raise `ReportError` unless the file is, to the byte, the one that was written."""
        if self._trusted:
            return
        self.check_size()
        digest = blake2b(digest_size=16)
        with self.path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        if digest.hexdigest() != self.record.digest:
            self._accuse()
        self._check_head()
        self._trusted = True

    def _check_head(self) -> None:
        pa = pyarrow(columns.PURPOSE)
        try:
            with self._opened() as file:
                schema, rows = file.schema_arrow, file.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            raise ReportError(f"{self.path} is not a Parquet file: {error}") from None
        try:
            head = json.loads((schema.metadata or {})[_HEAD])
        except (KeyError, ValueError):
            raise ReportError(f"{self.path} is not a part of a report: it has no head") from None
        ours = columns.identity(self._methods)
        if head.get("methods") != ours:
            raise ReportError(
                f"{self.path} was scored in another way than the manifest says: parts of one "
                "report have the same scorers with the same parameters"
            )
        if head.get("version") != VERSION or head.get("part") != self.record.id:
            raise ReportError(
                f"{self.path} must be part {self.record.id!r} in version {VERSION}, got part "
                f"{head.get('part')!r} in version {head.get('version')!r}"
            )
        names = _schema(self._methods, self._more).names
        if schema.names != names:
            raise ReportError(f"{self.path} must have the columns {', '.join(names)}")
        if rows != self.record.rows:
            raise ReportError(f"{self.path} must have {self.record.rows:,} rows, got {rows:,}")

    def _accuse(self) -> None:
        """Raise `ReportError` for a file that was changed, with the row and field if one tells."""
        from fullrecall.records import RowRecord

        pa = pyarrow(columns.PURPOSE)
        names = columns.schema(self._methods).names
        number = 0
        with suppress(pa.ArrowException, OSError, KeyError, AssertionError), self._opened() as file:
            for batch in file.iter_batches(GROUP, columns=names):
                plain = columns.plain_rows(batch, self._methods)
                for number in range(number + 1, number + 1 + batch.num_rows):  # noqa: B020
                    try:
                        RowRecord.read(next(plain)).content(self._methods)
                    except (FullrecallError, ValueError, TypeError) as error:
                        raise ReportError(f"{self.path}: row {number}: {error}") from None
        raise ReportError(
            f"{self.path} is not the file that was written (its digest is another one): it was "
            "edited, damaged or replaced; save the report again"
        )

    def _opened(self) -> Any:
        return pyarrow(columns.PURPOSE).parquet.ParquetFile(
            self.path,
            read_dictionary=columns.repeated(self._methods),
            page_checksum_verification=True,
        )
