"""Reports as JSON Lines, written row by row, so that a killed run keeps its finished rows.

The first line has the methods, the last line records whether the run was complete, and each line
between them has one sample. A killed run leaves a file without the last line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fullrecall._util.garbage import uncollected
from fullrecall._util.places import Place, address_of, shown_path
from fullrecall._util.warning import warn
from fullrecall.errors import ReportError
from fullrecall.files.reports.plain import (
    as_line,
    changed,
    head_of,
    located,
    mapping,
    parsed,
    plain_results,
)
from fullrecall.files.reports.proof import Contradiction, Proof, proofs_of
from fullrecall.files.reports.records import (
    BaseRecord,
    MethodRecord,
    check_row,
    plain_sample,
    sample_of,
)
from fullrecall.files.reports.row_writer import RowWriter
from fullrecall.files.reports.signature import KIND
from fullrecall.files.reports.stores import lock
from fullrecall.samples.retrieval import View
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method
from fullrecall.stats.evaluation import AnyEvaluation
from fullrecall.table.origin import Origin
from fullrecall.table.part import MemoryPart, Part
from fullrecall.table.table import Table

VERSION = 4
_END = "end of fullrecall report"

_WRITTEN_TOGETHER = 256
"""The most rows that are written to the file at once."""

_NO_END = "its file has no end: the run was killed or is still running, or the file was cut off"


class JsonLinesWriter(RowWriter):
    """Writes a report to `path` line by line; a killed run keeps its finished rows."""

    def begin(self) -> None:
        """Open the file."""
        head = {**head_of(self.methods, VERSION), **self.origin._asdict()}
        # Line-buffered: a killed run keeps every row that was written.
        self._open("x")
        self._rows = 0
        self._digest = sha256()
        self._write_lines(head)

    def resume(self, rows: int) -> None:
        """Open the file, and drop all lines after the first `rows` rows."""
        self._open("r+")
        self._rows = rows
        self._digest = sha256()
        end = 0
        with Path(self.path).open("rb") as file:
            for line in islice(file, rows + 1):
                self._digest.update(line)
                end += len(line)
        self._file.seek(end)
        self._file.truncate()

    def _open(self, mode: str) -> None:
        path = Path(self.path)
        file = path.open(mode, 1, encoding="utf-8", newline="\n")
        try:
            lock(file.fileno(), path)
        except ReportError:
            file.close()
            raise
        self._file = file

    def put(self, part: Part) -> None:
        """Write the rows of a part, in chunks."""
        results = [plain_results(part, score, method) for score, method in enumerate(self.methods)]
        rows = (
            {"sample": plain_sample(sample, default=self.default), "results": own_results}
            for sample, *own_results in zip(part.samples(), *results, strict=True)
        )
        while batch := list(islice(rows, _WRITTEN_TOGETHER)):
            self._write_lines(*batch)
            self._rows += len(batch)

    def _write_lines(self, *rows: object) -> None:
        lines = "".join(f"{as_line(row)}\n" for row in rows)
        self._file.write(lines)
        self._digest.update(lines.encode())

    def finish(self) -> None:
        """Write the last line."""
        foot = {"kind": _END, "samples": self._rows, "stopped": self.stopped}
        # The digest includes the fields of the last line; otherwise "stopped" could be edited out
        # of a run that was cut short.
        self._digest.update(as_line(foot).encode())
        self._write_lines({**foot, "sha256": self._digest.hexdigest()})

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Head(BaseRecord):
    """The first line of a report."""

    kind: str
    version: int
    methods: Annotated[list[MethodRecord], Field(min_length=1)]
    corpus: str | None = None
    view: View = "contexts"


class Foot(BaseRecord):
    """The last line of a report.

    `samples` is the number of rows, `stopped` the reason why the run ended early, or None.
    `sha256` is the digest of all lines before this one and of this line's other fields.
    """

    kind: str
    samples: Annotated[int, Field(ge=0)]
    stopped: str | None
    sha256: str


_AT_ONCE = 4_096
"""The most lines that become one part of the table."""


def read(path: str | Path, make: type[AnyEvaluation]) -> AnyEvaluation:
    """Return a saved report; see `Report.load`."""
    address = address_of(path)
    data = Path(path).read_bytes() if address is None else Place(address, ReportError).read()
    path = shown_path(path)
    # Do not use `splitlines`: it would hide whether the data end in a line break. If they do not,
    # the last line is cut off.
    head, *lines = data.split(b"\n")
    methods, origin = _head(path, head)
    if lines and lines.pop():  # text after the last line break
        warn(
            f"{path}: the last line is cut off, as an interrupted run leaves it; "
            f"{len(lines)} samples were read"
        )
    foot = _foot(path, lines[-1], len(lines) + 1) if lines else None
    if foot is not None:
        end = lines.pop()
        if foot.samples != len(lines):
            raise ReportError(
                f"{path} has {len(lines)} samples, and its last line says {foot.samples}: some "
                "were added or removed; save it again with Report.save"
            )
    report = make(methods, table=Table(methods, _parts(path, lines, methods, origin)))
    report.origin = origin
    report.stopped = _NO_END if foot is None else foot.stopped
    if foot is not None:  # raised last, since the error of a row is more specific
        _check_digest(path, memoryview(data)[: -len(end) - 1], foot)
    return report


def _foot(path: str | Path, line: bytes, number: int) -> Foot | None:
    """Return the foot of a report, its last line; None if this line has another kind."""
    with located(f"{path}:{number}"):
        foot = mapping(line)
        return Foot.read(foot) if foot.get("kind") == _END else None


def _check_digest(path: str | Path, before: memoryview, foot: Foot) -> None:
    """Raise `ReportError` if the lines before the foot do not match its digest."""
    digest = sha256(before)
    digest.update(as_line(foot.model_dump(exclude={"sha256"})).encode())
    if digest.hexdigest() != foot.sha256:
        raise changed(path)


def _head(path: str | Path, head: bytes) -> tuple[list[Method], Origin]:
    """Return the methods and the origin (corpus and view) from the first line of a report."""
    with located(f"{path}:1"):
        content = mapping(head)
        if content.get("kind") == KIND:
            methods = methods_of(content, VERSION)
            return methods, Origin(content.get("corpus"), content.get("view") or "contexts")
    raise ReportError(
        f"{path} is not a saved report: Report.save and `fullrecall evaluate --output` write one"
    )


def methods_of(head: dict[str, Any], version: int) -> list[Method]:
    """Return the methods in a report's head.

    Raises `ReportError` for a wrong head, another version, and two methods of one name.
    """
    if head.get("version", version) != version:
        raise ReportError(
            f"the file has version {head['version']!r} of the format, this fullrecall reads "
            f"{version}: evaluate again, or read it with the fullrecall that wrote it"
        )
    methods = [record.method for record in Head.read(head).methods]
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise ReportError(f"methods must have distinct names, got {name!r} twice")
    return methods


def _parts(
    path: str | Path, lines: Sequence[bytes], methods: Sequence[Method], origin: Origin
) -> Iterator[MemoryPart]:
    """Yield the rows of all lines, in chunks; raise `ReportError` for a wrong row."""
    proofs = proofs_of(f"{path}:1", methods, origin)
    for first in range(0, len(lines), _AT_ONCE):
        yield _part(path, lines[first : first + _AT_ONCE], first + 2, methods, proofs)


@uncollected()
def _part(
    path: str | Path,
    lines: Sequence[bytes],
    first: int,
    methods: Sequence[Method],
    proofs: Sequence[Proof],
) -> MemoryPart:
    """Return the rows in `lines`, which begin at line `first` of the file.

    Raises `ReportError`, with the line, for a row whose results do not follow from its sample.
    """
    saved: list[list[Any]] = []
    samples: list[Sample] = []
    for number, line in enumerate(lines, start=first):
        with located(f"{path}:{number}"):
            content = check_row(parsed(line), methods)
            samples.append(sample_of(content.sample))
            saved.append(content.results)
    scores = []
    for score, proof in enumerate(proofs):
        try:
            scores.append(proof.score(samples, [results[score] for results in saved]))
        except Contradiction as error:
            where = f"{path}:{first + error.row}: results[{score}]"
            raise ReportError(f"{where}.{error}") from None
    return MemoryPart(samples, *zip(*scores, strict=True))
