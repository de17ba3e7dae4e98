"""Reports as Parquet: a directory of files, written while rows arrive, with a manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from fullrecall._util.places import Place, address_of, partitions_of, shown_path
from fullrecall._util.values import shown
from fullrecall.errors import ReportError
from fullrecall.files.reports import columns
from fullrecall.files.reports.arrow_rows import WaitingRows, statistics_of
from fullrecall.files.reports.json_lines import methods_of
from fullrecall.files.reports.plain import changed, located, mapping, parsed
from fullrecall.files.reports.plan import assembled
from fullrecall.files.reports.proof import Contradiction, Proof, difference, proofs_of
from fullrecall.files.reports.records import BaseRecord
from fullrecall.files.reports.row_groups import Files, RowGroup
from fullrecall.files.reports.row_writer import MOST_SECONDS, RowWriter
from fullrecall.files.reports.signature import KIND, MANIFEST
from fullrecall.files.reports.statistics import KEY, SampleSums
from fullrecall.files.reports.stores import folder_at
from fullrecall.measures.lists import Integers
from fullrecall.samples.retrieval import View
from fullrecall.scorers.result import Method
from fullrecall.stats.evaluation import AnyEvaluation
from fullrecall.table.origin import UNKNOWN, Origin
from fullrecall.table.part import MemoryPart, Part, Selection
from fullrecall.table.table import Table

GROUP_ROWS = 24_576
"""The most rows of a file: a constant, so that batches of any size give the same files."""

_GROUP_BYTES = 64 * 2**20
"""The bytes of waiting rows at which a file is written, even with fewer rows than `GROUP_ROWS`."""

_NO_END = "its directory has no end: the run was killed or is still running"


class PartFile(BaseRecord):
    """One file of a report: its name, its number of rows, and the digest of its content."""

    name: str
    rows: int
    sha256: str


class Manifest(BaseRecord):
    """The manifest of a report's directory; `sha256` is the digest of all other fields."""

    kind: str
    version: int
    head: str
    corpus: str | None = None
    view: View = "contexts"
    files: list[PartFile]
    rows: int
    stopped: str | None
    sha256: str = ""

    @property
    def seal(self) -> str:
        """The digest of all fields but `sha256`."""
        content = json.dumps(self.model_dump(exclude={"sha256"}), sort_keys=True)
        return sha256(content.encode()).hexdigest()


class ParquetWriter(RowWriter):
    """Writes rows to a directory of files; each file appears when it is complete.

    A killed run keeps all files that it has written.
    """

    together = 1_024
    _tables: list[pa.Table]
    _sums: list[SampleSums]

    def begin(self) -> None:
        """Make the directory, with a manifest of an unfinished report."""
        self._folder = folder_at(self.path)
        self._folder.make()
        self._start([], 0)
        self._write_manifest(_NO_END)

    def resume(self, rows: int) -> None:
        """Open the report at the path, and drop all rows after the first `rows`.

        If a file has rows on both sides of this limit, the kept ones are written to a new file.
        """
        self._folder = folder_at(self.path)
        written = _Source.at(self.path).manifest
        if written is None:
            raise ReportError(f"{shown_path(self.path)} has no {MANIFEST}: no run wrote it")
        ends = np.cumsum([file.rows for file in written.files])
        whole = int(np.searchsorted(ends, rows, side="right"))
        self._start(written.files[:whole], rows)
        # Files get new names, so that a run that is killed here leaves the report unchanged.
        self._next = max((int(file.name[5:-8]) + 1 for file in written.files), default=0)
        missing = rows - sum(file.rows for file in self._files)
        if missing:
            content = pa.BufferReader(self._folder.read(written.files[whole].name))
            table = pq.read_table(content).slice(0, missing).cast(columns.schema(self.methods))
            self._wait(table, WaitingRows(table, self.methods))
            self._write_waiting()
        self._write_manifest(_NO_END)
        kept = {file.name for file in self._files}
        for name in self._folder.names():
            if name.startswith("part-") and name not in kept:
                self._folder.remove(name)

    def _start(self, files: list[PartFile], rows: int) -> None:
        """Lock the folder, and continue after the files and rows that it already has."""
        self._next = len(files)
        self._folder.lock()
        self._head = columns.head(self.methods)
        self._files = files
        self._count = rows  # The number of rows so far.
        self._clear()

    def put(self, part: Part) -> None:
        """Add rows, and write a file whenever enough rows are waiting."""
        for first in range(0, len(part), GROUP_ROWS):
            piece = part
            if len(part) > GROUP_ROWS:
                rows = np.arange(first, min(first + GROUP_ROWS, len(part)))
                piece = Selection([part], rows)
            self._put(piece)

    def _put(self, part: Part) -> None:
        numbers = range(self._count, self._count + len(part))
        table, start = columns.arrow_table(part, self.methods, numbers, self.default), 0
        while start < len(part):
            # Split at full groups, so that files do not depend on the batches of rows. Only the
            # limits of bytes and of time end a file early.
            piece = table.slice(start, GROUP_ROWS - self._rows)
            whole = piece.num_rows == len(part)
            self._wait(piece, part if whole else WaitingRows(piece, self.methods))
            start += piece.num_rows
            is_due = self._bytes >= _GROUP_BYTES or monotonic() - self._written_at > MOST_SECONDS
            if self._rows >= GROUP_ROWS or is_due:
                self._write_waiting()
        self._count += len(part)

    def _wait(self, table: pa.Table, part: Part) -> None:
        """Keep a table, and the sums over its rows, until the table is written.

        `part` has the same rows as the table.
        """
        self._tables.append(table)
        self._sums.append(SampleSums.of(part, self.methods))
        self._rows += table.num_rows
        self._bytes += table.nbytes

    def finish(self) -> None:
        """Write the waiting rows and the manifest; an empty report gets one file without rows."""
        if not self._count:
            self._tables = [columns.schema(self.methods).empty_table()]
        if self._tables:
            self._write_waiting()
        self._write_manifest(self.stopped)

    def close(self) -> None:
        """Allow another run to write here."""
        self._folder.unlock()

    def _write_waiting(self) -> None:
        """Write the waiting rows to a file."""
        table = pa.concat_tables(self._tables).combine_chunks()
        name = f"part-{self._next:05}.parquet"
        sink = pa.BufferOutputStream()
        with _writer(sink, table.schema) as writer:
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            if table.num_rows:
                rows, sums = WaitingRows(table, self.methods), SampleSums.joined(self._sums)
                statistics = statistics_of(rows, self._head, sums, len(self.methods))
                writer.add_key_value_metadata({KEY: statistics.to_json()})
        content = sink.getvalue()
        digest = sha256(content).hexdigest()
        self._folder.write(content, name)
        self._next += 1
        self._files.append(PartFile(name=name, rows=table.num_rows, sha256=digest))
        self._clear()
        self._write_manifest(_NO_END)

    def _clear(self) -> None:
        """Drop the waiting rows."""
        self._tables = []
        self._sums = []
        # Keep running totals: a stream has too many waiting tables to add them up each time.
        self._rows = self._bytes = 0
        self._written_at = monotonic()

    def _write_manifest(self, stopped: str | None) -> None:
        manifest = Manifest(
            kind=KIND,
            version=columns.VERSION,
            head=self._head,
            **self.origin._asdict(),
            files=self._files,
            rows=sum(file.rows for file in self._files),
            stopped=stopped,
        )
        sealed = manifest.model_copy(update={"sha256": manifest.seal})
        self._folder.write(sealed.model_dump_json(indent=1).encode(), MANIFEST)


def _writer(sink: Any, schema: pa.Schema) -> pq.ParquetWriter:
    # IDs rarely repeat: a dictionary of them would take twice the time, and more space.
    repetitive = [
        field for field in schema if field.name not in {columns.ROW, "id", *columns.LISTS}
    ]
    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_dictionary=[f"{field.name}{_leaf(field.type)}" for field in repetitive],  # type: ignore[arg-type] # paths, too
        column_encoding={columns.ROW: "DELTA_BINARY_PACKED"},
        # Do not store Arrow's schema: `Files._statistics` takes it as a sign that another program
        # rewrote the file.
        store_schema=False,
    )


def _leaf(kind: pa.DataType) -> str:
    """Return the part of a column's Parquet path below its name."""
    return f".list.element{_leaf(kind.value_type)}" if pa.types.is_list(kind) else ""


def opened(
    paths: Iterable[str | Path],
    make: type[AnyEvaluation],
    rows: int | None = None,
    *,
    whole: bool,
) -> AnyEvaluation:
    """Return the report in files and directories; with `whole`, read and check all rows now.

    `rows` is the number of planned rows, None if unknown; see `plan.assembled`. Raises
    `ReportError` for paths without a report, files of several reports, damaged files, and rows that
    `plan.assembled` refuses.
    """
    sources = [_Source.at(path) for path in paths]
    if not sources:
        raise ReportError("no file to open: pass at least one path")
    files = Files(sources[0].filesystem)
    partitions = {name: own for source in sources for name, own in source.files.items()}
    names = [name for source in sources for name in source.files]
    manifests = [source.manifest for source in sources if source.manifest is not None]
    methods = _methods(files, names, manifests)
    groups = [group for name in names for group in _groups(files, name, methods, partitions[name])]
    origins = [Origin(manifest.corpus, manifest.view) for manifest in manifests]
    origin = Origin.common(origins) if origins else UNKNOWN
    if whole:
        proofs = proofs_of(names[0], methods, origin)
        for group in groups:
            _prove(group, methods, proofs)
        for source in sources:  # last, since the error of a row is more specific than a digest's
            source.check()
    parts, stopped = assembled(groups, rows)
    report = make(methods, table=Table(methods, parts))
    ends = [*dict.fromkeys(manifest.stopped for manifest in manifests), stopped]
    report.stopped = "; ".join(filter(None, ends)) or None
    report.origin = origin
    return report


@dataclass(frozen=True)
class _Source:
    """A file, or the files of a directory, on any file system."""

    filesystem: Any
    path: str
    files: dict[str, dict[str, str | None]]
    """The path of each file, with the columns in its folders' names, such as tenant=north."""
    manifest: Manifest | None = None
    """The manifest of a directory; None for a single file, or if another program wrote it."""

    @classmethod
    def at(cls, path: str | Path) -> _Source:
        """Return the files at a path, or at an address such as s3://bucket/scores."""
        address = address_of(path)
        if address is None:
            return cls._in(pafs.LocalFileSystem(), str(path), str(path))
        place = Place(address, ReportError)
        with place.reached():
            return cls._in(place.filesystem, place.path, place.shown)

    @classmethod
    def _in(cls, filesystem: Any, name: str, shown_name: str) -> _Source:
        info = filesystem.get_file_info(name)
        if info.type == pafs.FileType.NotFound:
            raise ReportError(f"{shown_name} does not exist")
        if info.type != pafs.FileType.Directory:
            return cls(filesystem, name, {name: partitions_of(name)})
        name = name.rstrip("/")
        entries = filesystem.get_file_info(pafs.FileSelector(name, recursive=True))
        if f"{name}/{MANIFEST}" in [entry.path for entry in entries]:
            manifest = _manifest(filesystem, f"{name}/{MANIFEST}")
            files: dict[str, dict[str, str | None]] = {
                f"{name}/{file.name}": {} for file in manifest.files
            }
            return cls(filesystem, name, files, manifest)
        names = sorted(entry.path for entry in entries if _is_part(entry))
        if not names:
            raise ReportError(f"{shown_name} has no Parquet files: it is not a saved report")
        return cls(filesystem, name, {each: partitions_of(each[len(name) :]) for each in names})

    def check(self) -> None:
        """Raise `ReportError` for a file that was changed after it was written."""
        if self.manifest is None:
            return
        if self.manifest.sha256 != self.manifest.seal:
            raise changed(f"{self.path}/{MANIFEST}")
        for name, listed in zip(self.files, self.manifest.files, strict=True):
            with self.filesystem.open_input_file(name) as file:
                if sha256(file.read()).hexdigest() != listed.sha256:
                    raise changed(name)


def _is_part(file: pafs.FileInfo) -> bool:
    return (
        file.type == pafs.FileType.File
        and file.base_name.endswith((".parquet", ".parq"))
        and not file.base_name.startswith((".", "_"))
    )


def _manifest(filesystem: pafs.FileSystem, path: str) -> Manifest:
    with filesystem.open_input_file(path) as file:
        text = file.read()
    with located(f"{path} is not a manifest of a report"):
        return Manifest.read(mapping(text))


def _methods(files: Files, names: Sequence[str], manifests: Sequence[Manifest]) -> Sequence[Method]:
    """Return the methods that all files share; raise `ReportError` if they differ."""
    heads = dict.fromkeys((manifest.head for manifest in manifests), f"its {MANIFEST}")
    for name in names:
        for head in files.heads(name):
            heads.setdefault(head, name)
    if not heads:
        raise ReportError(f"{names[0]} is not a saved report: its column {columns.HEAD} is empty")
    methods_by_head = []
    for head, name in heads.items():
        with located(f"{name}: {columns.HEAD}"):
            methods_by_head.append(methods_of(mapping(head), columns.VERSION))
    for methods in methods_by_head[1:]:
        if methods != methods_by_head[0]:
            ours, theirs = (
                ", ".join(method.name for method in each) for each in (methods_by_head[0], methods)
            )
            raise ReportError(
                f"reports of {ours} and of {theirs} are not parts of one evaluation: score each by "
                "the same scorers with the same parameters"
            )
    return methods_by_head[0]


def _groups(
    files: Files, name: str, methods: Sequence[Method], partition: Mapping[str, str | None]
) -> list[RowGroup]:
    metadata = files.file(name).metadata
    return [
        RowGroup(files, name, index, methods, partition)
        for index in range(metadata.num_row_groups)
        if metadata.row_group(index).num_rows
    ]


_PROVEN_AT_ONCE = 1_024
"""The most rows that are compared with their samples at once."""


def _prove(group: RowGroup, methods: Sequence[Method], proofs: Sequence[Proof]) -> None:
    """Raise `ReportError` for scores that do not follow from their samples.

    The scores of the samples are computed again, turned into columns as the writer does, and
    compared with each column of the file. The file's statistics are checked in the same way.
    """
    column_of = cache(group.column)
    sums = []
    for first in range(0, len(group), _PROVEN_AT_ONCE):
        rows = np.arange(first, min(first + _PROVEN_AT_ONCE, len(group)))
        samples = [group.sample(row) for row in rows.tolist()]
        parts = []
        for score, (method, proof) in enumerate(zip(methods, proofs, strict=True)):
            statuses = _rows_of(column_of(f"{method.name}_status"), rows, pa.string()).to_pylist()
            saved = [partial(group.result, row, score) for row in rows.tolist()]
            try:
                parts.append(proof.derived(samples, list(map(str, statuses)), saved))
                _check_cells(column_of, rows, parts[-1], method)
            except Contradiction as error:
                raise ReportError(f"{group}: row {first + error.row}: {error}") from None
        kept = zip(*((part.columns(0), part.kept[0]) for part in parts), strict=True)
        sums.append(SampleSums.of(MemoryPart(samples, *kept), methods))
    _check_statistics(group, SampleSums.joined(sums), methods)


def _check_statistics(group: RowGroup, sums: SampleSums, methods: Sequence[Method]) -> None:
    """Raise `ReportError` for saved statistics that do not follow from the rows."""
    if group.statistics is None:
        return
    bare = group.without_statistics()
    expected = statistics_of(bare, columns.head(methods), sums, len(methods))
    if expected.to_json() != group.statistics.to_json():
        raise ReportError(f"{group.path}: its statistics do not follow from its rows")


def _rows_of(column: Any, rows: Integers, kind: pa.DataType) -> Any:
    """Return the rows of a column at these indices; a column that is None is null throughout."""
    return pa.array([None] * len(rows), kind) if column is None else column.take(pa.array(rows))


def _check_cells(
    column_of: Callable[[str], Any], rows: Integers, part: MemoryPart, method: Method
) -> None:
    """Raise `Contradiction` for a saved cell that differs from the derived results in `part`.

    `rows` are the indices of the part's rows in the saved columns.
    """
    cells = columns.score_cells(part, 0, method)
    for end, kind in columns.SCORE_COLUMNS.items():
        name = f"{method.name}{end}"
        saved = _rows_of(column_of(name), rows, kind)
        expected: Any = pa.array(cells.get(end, [None] * len(rows)), kind)
        if end in columns.FOLLOWING and not saved.equals(expected):
            outcomes = part.columns(0)
            saved = columns.completed(saved, end, outcomes)
            expected = columns.completed(expected, end, outcomes)
        if saved.equals(expected):
            continue
        for row, pair in enumerate(zip(saved.to_pylist(), expected.to_pylist(), strict=True)):
            problem = _difference(*pair, name)
            if problem is not None:
                raise Contradiction(row, problem)


def _difference(saved: Any, derived: Any, name: str) -> str | None:
    """Describe how a saved cell differs from the derived value; None if they agree.

    Empty lists and texts equal None.
    """
    if not saved and not derived and saved != 0.0 and derived != 0.0:
        return None
    if not name.endswith("_details") or saved is None or derived is None:
        return difference(saved, derived, name)
    try:
        return difference(parsed(saved), parsed(derived), name)
    except (ReportError, ValueError) as error:
        return f"{name} must be {shown(derived)}, as the sample gives, got {shown(saved)}: {error}"
