"""Reports as Parquet: one file of row groups, or a directory of files that a stream fills."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from fullrecall.errors import ReportError
from fullrecall.report.report import Report, check_parts
from fullrecall.report.signature import KIND, MANIFEST
from fullrecall.result import Method
from fullrecall.results.files import columns
from fullrecall.results.files.json_lines import methods_of
from fullrecall.results.files.plain import changed, parsed, parsed_mapping
from fullrecall.results.files.plan import assembled
from fullrecall.results.files.proof import proofs_of
from fullrecall.results.files.proven_columns import prove
from fullrecall.results.files.row_groups import Files, RowGroup
from fullrecall.results.files.row_writer import Writer
from fullrecall.results.origin import UNKNOWN, Origin
from fullrecall.scorers.scorer import BAD_ROW
from fullrecall.table.part import Part
from fullrecall.table.table import Table

GROUP_ROWS = 24_576
"""Rows of a row group, however many come together: the same rows give the same files."""

_GROUP_BYTES = 64 * 2**20
"""Bytes from which on a row group is written though it has fewer rows."""

_AT_A_TIME = 2**20
"""Bytes that are hashed together."""

_END = b"fullrecall"
"""Where a file's metadata say how many rows the report has, and what ended its run."""

_NO_END = "its directory has no end: the run was killed or is still running"


class _GroupWriter(Writer):
    """Writes rows in row groups: `put_group` takes one whenever there are enough."""

    together = 1_024

    def __init__(
        self,
        path: str | Path,
        methods: Sequence[Method],
        origin: Origin = UNKNOWN,
        *,
        default: columns.Default = None,
    ) -> None:
        super().__init__(methods, default)
        self._path = Path(path)
        self._count = 0  # rows that came so far
        self._tables: list[pa.Table] = []
        self._rows = self._bytes = 0  # of these tables: a stream brings many small ones
        self._end = {"head": columns.head(methods), **origin.to_dict()}
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Make what rows are written to."""

    @abstractmethod
    def put_group(self, table: pa.Table) -> None:
        """Write a row group."""

    def put(self, part: Part) -> None:
        """Write rows in pieces of at most `GROUP_ROWS`."""
        for piece in _slices(part):
            self._convert(piece)

    def finish(self) -> None:
        """Write what waits; a report without rows has an empty row group."""
        if not self._count:
            self._tables = [columns.schema(self.methods).empty_table()]
        if self._tables:
            self._put_first(self._rows)

    def _convert(self, part: Part) -> None:
        rows = range(self._count, self._count + len(part))
        table = columns.arrow_table(part, self.methods, rows, self.default)
        self._tables.append(table)
        self._rows += table.num_rows
        self._bytes += table.nbytes
        self._count += len(part)
        if self._rows >= GROUP_ROWS:
            self._put_first(GROUP_ROWS)
        elif self._bytes >= _GROUP_BYTES:
            self._put_first(self._rows)

    def _put_first(self, rows: int) -> None:
        """Write so many of the rows that wait, the first ones."""
        waiting = pa.concat_tables(self._tables)
        self.put_group(waiting.slice(0, rows).combine_chunks())
        rest = waiting.slice(rows)
        self._tables = [rest] if rest.num_rows else []
        self._rows, self._bytes = rest.num_rows, rest.nbytes


def _slices(part: Part) -> Iterator[Part]:
    """Yield a part in pieces of at most `GROUP_ROWS` rows."""
    for first in range(0, len(part), GROUP_ROWS):
        last = min(first + GROUP_ROWS, len(part))
        yield part if last - first == len(part) else part.selected(np.arange(first, last))


def _writer(path: Any, methods: Sequence[Method]) -> pq.ParquetWriter:
    schema = columns.schema(methods)
    # IDs mostly differ: a dictionary of them takes twice the time and more room.
    coded = [each.name for each in schema if each.name not in {columns.ROW, "id", *columns.LISTS}]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=_leaves(schema, coded),  # type: ignore[arg-type] # paths, too
        column_encoding={columns.ROW: "DELTA_BINARY_PACKED"},
        store_schema=False,
    )


def _leaves(schema: pa.Schema, names: Iterable[str]) -> list[str]:
    """Return the paths of the values of columns, as Parquet names them."""
    return [f"{name}{_inside(schema.field(name).type)}" for name in names]


def _inside(kind: pa.DataType) -> str:
    return f".list.element{_inside(kind.value_type)}" if pa.types.is_list(kind) else ""


class FileWriter(_GroupWriter):
    """Writes a report to one file that is not there."""

    def begin(self) -> None:
        """Open the file."""
        self._file = _Hashed(self._path)
        self._writer = _writer(self._file, self.methods)

    def put_group(self, table: pa.Table) -> None:
        """Write a row group."""
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def finish(self) -> None:
        """Write what waits, and what the file's metadata say of it."""
        super().finish()
        end = {**self._end, "rows": self._count, "stopped": self.stopped}
        sealed = {**end, "sha256": _seal(self._file.digest, end)}
        self._writer.add_key_value_metadata({_END.decode(): json.dumps(sealed)})

    def close(self) -> None:
        """Write the file's footer."""
        self._writer.close()
        self._file.close()


class _Hashed(FileIO):
    """A file that knows the digest of what was written to it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w")
        self.digest = sha256()

    def write(self, data: Any, /) -> int:
        """Write bytes, all of them."""
        self.digest.update(data)
        view = memoryview(data)
        written = super().write(view)
        while written < view.nbytes:
            written += super().write(view[written:])
        return written


def _seal(rows: Any, end: Mapping[str, Any]) -> str:
    """Return the digest of what `rows` has hashed, and of what an end says of them."""
    whole = rows.copy()
    whole.update(json.dumps({**end, "sha256": None}, sort_keys=True).encode())
    digest: str = whole.hexdigest()
    return digest


class DirectoryWriter(_GroupWriter):
    """Writes rows to a directory of files, each of which is whole once it is there.

    A killed run keeps all that it had written.
    """

    def begin(self) -> None:
        """Make the directory, whose manifest says that there is no end yet."""
        self._files: list[dict[str, Any]] = []
        self._path.mkdir()
        self._manifest(_NO_END)

    def put_group(self, table: pa.Table) -> None:
        """Write a file of one row group."""
        name = f"part-{len(self._files):05}.parquet"
        hidden = self._path / f".{name}"
        with _writer(hidden, self.methods) as writer:
            writer.write_table(table, row_group_size=max(1, table.num_rows))
        digest = sha256(hidden.read_bytes()).hexdigest()
        hidden.replace(self._path / name)
        self._files.append({"name": name, "rows": table.num_rows, "sha256": digest})

    def finish(self) -> None:
        """Write what waits, and the manifest."""
        super().finish()
        self._manifest(self.stopped, files=self._files)

    def close(self) -> None:
        """Leave what is there: each file was closed as it was written."""

    def _manifest(self, stopped: str | None, **more: Any) -> None:
        about = {"kind": KIND, "version": columns.VERSION, **self._end, **more}
        manifest = {**about, "rows": self._count, "stopped": stopped}
        manifest["sha256"] = _seal(sha256(), manifest)
        hidden = self._path / f".{MANIFEST}"
        hidden.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        hidden.replace(self._path / MANIFEST)


def opened(paths: Iterable[str | Path], rows: int | None = None, *, whole: bool = False) -> Report:
    """Return the report of some files and directories; `whole` reads and checks all of it.

    Raises `ReportError` for what is no report, files of several reports, damaged files, and what
    `plan.assembled` raises.
    """
    located = [_Located.of(path) for path in paths]
    if not located:
        raise ReportError("no file to open: pass at least one path")
    files = Files(located[0].filesystem)
    names = [name for each in located for name in each.names]
    methods = _methods(files, names, located)
    groups = [group for name in names for group in _groups(files, name, methods)]
    end_records = [end for each in located for end in each.end_records(files)]
    origin = Origin.common(map(Origin.from_dict, end_records)) if end_records else UNKNOWN
    if whole:
        proofs = proofs_of(names[0], methods, origin)
        for group in groups:
            prove(group, methods, proofs)
        for each in located:  # last: a row says more
            each.check()
    parts, stopped = assembled(groups, methods, rows)
    report = Report(methods, table=Table(methods, parts))
    ends = [*dict.fromkeys(end.get("stopped") for end in end_records), stopped]
    report.stopped = "; ".join(filter(None, ends)) or None
    report.origin = origin
    report.bad_rows = _bad_rows(groups, methods)
    return report


class _Located:
    """A file, or the files of a directory, of any file system."""

    def __init__(self, filesystem: Any, path: str, names: list[str], manifest: Any) -> None:
        self.filesystem = filesystem
        self.names = names
        self._path = path
        self._manifest = manifest

    @classmethod
    def of(cls, path: str | Path) -> _Located:
        """Return what is at a path, or at a URI such as s3://bucket/scores."""
        if "://" in str(path):
            filesystem, name = pafs.FileSystem.from_uri(str(path))
        else:
            filesystem, name = pafs.LocalFileSystem(), str(path)
        about = filesystem.get_file_info(name)
        if about.type == pafs.FileType.NotFound:
            raise ReportError(f"{path} does not exist")
        if about.type != pafs.FileType.Directory:
            return cls(filesystem, name, [name], None)
        inside = filesystem.get_file_info(pafs.FileSelector(name, recursive=True))
        names = sorted(
            each.path
            for each in inside
            if each.type == pafs.FileType.File
            and each.base_name.endswith((".parquet", ".parq"))
            and not each.base_name.startswith((".", "_"))
        )
        if not names:
            raise ReportError(f"{path} has no Parquet files: it is no saved report")
        manifests = [each.path for each in inside if each.path == f"{name.rstrip('/')}/{MANIFEST}"]
        located = cls(filesystem, name, names, None)
        if manifests:
            located._read(manifests[0])
        return located

    def _read(self, path: str) -> None:
        with self.filesystem.open_input_file(path) as file:
            text = file.read()
        try:
            self._manifest = parsed(text.decode())
            listed = self._manifest.get("files")
        except (ValueError, AttributeError, ReportError) as error:
            raise ReportError(f"{path} is no manifest of a report: {error}") from None
        if listed is not None:
            base = self._path.rstrip("/")
            self.names = [f"{base}/{each['name']}" for each in listed]

    def end_records(self, files: Files) -> list[Mapping[str, Any]]:
        """Return what the runs that wrote the files said of themselves, such as what ended them."""
        if self._manifest is not None:
            return [self._manifest]
        ends = [_end_of(files, name) for name in self.names]
        return [end for end in ends if end is not None]

    def check(self) -> None:
        """Raise `ReportError` for a file that is not the one that was written."""
        if self._manifest is None:
            for name in self.names:
                self._check_seal(name)
            return
        if self._manifest.get("sha256") != _seal(sha256(), self._manifest):
            raise changed(f"{self._path}/{MANIFEST}")
        listed = self._manifest.get("files")
        for each, name in zip(listed or (), self.names, strict=False):
            with self.filesystem.open_input_file(name) as file:
                if _hashed(file, file.size()).hexdigest() != each["sha256"]:
                    raise changed(name)

    def _check_seal(self, name: str) -> None:
        """Raise `ReportError` where the rows of a file, or its end, are not those of its digest."""
        with self.filesystem.open_input_file(name) as file:
            metadata = pq.read_metadata(file).metadata or {}
            if _END not in metadata:  # of an engine
                return
            size = file.size()
            file.seek(size - 8)
            rows = _hashed(file, size - 8 - int.from_bytes(file.read(4), "little"))
        end = parsed(metadata[_END].decode())
        if not isinstance(end, dict) or end.get("sha256") != _seal(rows, end):
            raise changed(name)

    @property
    def head(self) -> str | None:
        """What the manifest says of the report."""
        return None if self._manifest is None else self._manifest.get("head")


def _hashed(file: Any, size: int) -> Any:
    """Return the digest of the first bytes of a file."""
    digest = sha256()
    file.seek(0)
    while size:
        some = file.read(min(size, _AT_A_TIME))
        if not some:
            break
        digest.update(some)
        size -= len(some)
    return digest


def _methods(files: Files, names: Sequence[str], located: Sequence[_Located]) -> list[Method]:
    """Return the methods of the report that all files are of."""
    first, heads = "", {each.head: "its manifest" for each in located if each.head is not None}
    for name in names:
        for head in _heads(files, name):
            first = first or name
            heads.setdefault(head, name)
    if not heads:
        raise ReportError(f"{names[0]} is no saved report: it has no column {columns.HEAD}")
    methods = [_read_head(head, name) for head, name in heads.items()]
    for other in methods[1:]:
        check_parts(methods[0], other)
    return methods[0]


def _heads(files: Files, name: str) -> list[str]:
    """Return what the rows of a file say of its report: the same, mostly."""
    file = files.file(name)
    schema = file.schema_arrow
    if columns.HEAD not in schema.names or pa.types.is_nested(schema.field(columns.HEAD).type):
        raise ReportError(f"{name} is no saved report: it has no column {columns.HEAD!r}")
    end = _end_of(files, name)
    return [*([] if end is None else [end["head"]]), *files.heads(name)]


def _end_of(files: Files, name: str) -> dict[str, Any] | None:
    """Return what a file's metadata say of its report; None for a file of an engine."""
    text = (files.file(name).metadata.metadata or {}).get(_END)
    if text is None:
        return None
    where = f"{name}: the metadata {_END.decode()!r}"
    try:
        end = parsed_mapping(text)
    except ReportError as error:
        raise ReportError(f"{where}: {error}") from None
    if not isinstance(end.get("head"), str) or not isinstance(end.get("stopped"), str | None):
        raise ReportError(f"{where}: head must be a str, and stopped a str or null")
    return end


def _read_head(head: str, name: str) -> list[Method]:
    try:
        return methods_of(parsed_mapping(head))
    except ReportError as error:
        raise ReportError(f"{name}: {columns.HEAD}: {error}") from None


def _groups(files: Files, name: str, methods: Sequence[Method]) -> list[RowGroup]:
    metadata = files.file(name).metadata
    return [
        RowGroup(files, name, index, methods)
        for index in range(metadata.num_row_groups)
        if metadata.row_group(index).num_rows
    ]


def _bad_rows(groups: Sequence[RowGroup], methods: Sequence[Method]) -> dict[int, str]:
    """Return the rows that are no samples, by number, and why."""
    bad: dict[int, str] = {}
    for group in groups:
        reasons = group.column(f"{methods[0].name}_reason")
        if reasons is None:
            continue
        numbers = group.numbers(columns.ROW)
        for row, why in enumerate(reasons.to_pylist()):
            if why is not None and why.startswith(BAD_ROW) and numbers is not None:
                bad[int(numbers[row])] = why.removeprefix(f"{BAD_ROW}: ")
    return dict(sorted(bad.items()))
