"""Reports as JSON Lines, written row by row so that a killed run keeps what it had.

The first line has the methods, each of the others one sample, and the last one says whether the
run came to its end. A file without that line is what a killed run leaves.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fullrecall.errors import FullrecallError, ReportError
from fullrecall.garbage import uncollected
from fullrecall.records import MethodRecord, Record, check_row, plain_method, plain_row, sample_of
from fullrecall.report.report import Report
from fullrecall.report.signature import KIND
from fullrecall.result import Method, Result
from fullrecall.results.files.plain import as_line, parsed, plain_rows
from fullrecall.results.files.proof import Contradiction, Proof, Proven, proofs_of
from fullrecall.results.files.row_writer import Writer as RowWriter
from fullrecall.results.origin import UNKNOWN, Origin
from fullrecall.retrieval import View
from fullrecall.sample import Sample
from fullrecall.table.lists import Integers
from fullrecall.table.part import Part, ScoreColumns, retrievals_of
from fullrecall.table.table import Table

VERSION = 3
_END = "end of fullrecall report"

_WRITTEN_TOGETHER = 256
"""Rows that reach the file at once, where many come together."""

_NO_END = "its file has no end: the run was killed or is still running, or the file was cut off"


class Writer(RowWriter):
    """Writes a report to `path`: line by line, so that a killed run keeps all that it had."""

    def __init__(
        self,
        path: str | Path,
        methods: Sequence[Method],
        origin: Origin = UNKNOWN,
        *,
        default: Callable[[Any], Any] | None = None,
    ) -> None:
        self._default = default
        self._methods = methods
        self._head: dict[str, Any] | None = {
            "kind": KIND,
            "version": VERSION,
            "methods": [plain_method(method) for method in methods],
            **origin.to_dict(),
        }
        self._file = Path(path).open("w", 1, encoding="utf-8", newline="\n")  # noqa: SIM115 - held
        self._rows = 0
        self._digest = sha256()

    def add(self, part: Part) -> None:
        """Write rows that were scored together."""
        self._write_head()
        rows = plain_rows(part, self._methods, self._default)
        while some := list(islice(rows, _WRITTEN_TOGETHER)):
            self._write_lines(*some)
            self._rows += len(some)

    def write(self, sample: Sample, results: Sequence[Result]) -> None:
        """Write one row."""
        self._write_head()
        self._write_lines(plain_row(sample, results, default=self._default))
        self._rows += 1

    def _write_head(self) -> None:
        head, self._head = self._head, None
        if head is not None:
            self._write_lines(head)

    def _write_lines(self, *rows: object) -> None:
        lines = "".join(f"{as_line(row)}\n" for row in rows)
        self._file.write(lines)
        self._digest.update(lines.encode())

    def finish(self) -> None:
        """Write the foot."""
        self._write_head()
        foot = {"kind": _END, "samples": self._rows, "stopped": self.stopped}
        self._digest.update(as_line(foot).encode())
        self._write_lines({**foot, "sha256": self._digest.hexdigest()})

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Head(Record):
    """The first line of a report."""

    kind: str
    version: int
    methods: Annotated[list[MethodRecord], Field(min_length=1)]
    corpus: str | None = None
    view: View = "contexts"


class Foot(Record):
    """The last line of a report; `sha256` is the digest of all lines and of its other fields."""

    kind: str
    samples: Annotated[int, Field(ge=0)]
    stopped: str | None
    sha256: str


class Lines(NamedTuple):
    """Lines of a file in memory, as bytes: `starts` and `ends` say where each one lies."""

    data: bytes
    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, data: bytes) -> Lines:
        """Return the lines; the last one is what follows the last line feed, mostly nothing."""
        # Not splitlines: texts may hold other line separators, and JSON leaves them as they are.
        breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        return cls(data, np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(data)]]))

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, row: int) -> str:
        """Return one line; raises `UnicodeDecodeError` for what is not UTF-8."""
        return str(memoryview(self.data)[self.starts[row] : self.ends[row]], "utf-8")

    def selected(self, rows: Any) -> Lines:
        """Return these lines."""
        return Lines(self.data, self.starts[rows], self.ends[rows])


Content: TypeAlias = tuple[Sample, list[Any]]


class LinePart(Part):
    """Rows of a file: columns, and the line of each row, which is read when somebody looks.

    There is no object for a row, so that garbage collection has nothing to look at.
    """

    def __init__(
        self,
        lines: Lines,
        proofs: Sequence[Proof],
        samples: Sequence[Sample],
        scores: Sequence[Proven],
    ) -> None:
        """Keep the columns of rows, whose lines were compared with their samples."""
        self._lines = lines
        self._proofs = proofs
        self._scores = scores
        self._retrievals = retrievals_of(samples)
        self._last: tuple[int, Content] | None = None
        self.ids = [sample.id for sample in samples]
        self.groups = [sample.group for sample in samples]
        self.questions = [sample.user_input for sample in samples]
        self.has_texts = any(sample.retrieved_contexts is not None for sample in samples)
        self.forbids = any(sample.forbids for sample in samples)

    def __len__(self) -> int:
        return len(self._lines)

    def columns(self, score: int) -> ScoreColumns:
        """Return the columns of the score at this index."""
        return self._scores[score].columns

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        return self._content(row)[0]

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        sample, saved = self._content(row)
        return self._proofs[score].proven(sample, saved[score])

    def selected(self, rows: Integers) -> LinePart:
        """Return these rows, in the order given."""
        return LinePart(
            self._lines.selected(rows),
            self._proofs,
            [self.sample(row) for row in rows.tolist()],
            [score.selected(rows) for score in self._scores],
        )

    def judged(self, score: int) -> bool:
        """Return whether any result of this score has verdicts, or targets without one."""
        return self._scores[score].judged

    def retrievals(self) -> Counter[str]:
        """Return of how many samples the retrieval was "united" of calls, or had a "failed" one."""
        return self._retrievals

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a number for the targets of each row; see `Table.target_digests`."""
        return self._scores[score].digests

    def _content(self, row: int) -> Content:
        """Return what a line holds, which was checked when the file was read."""
        last = self._last  # read once: another thread may look at another row
        if last is None or last[0] != row:
            content = parsed(self._lines.line(row))
            last = self._last = row, (sample_of(content), content["results"])
        return last[1]


_AT_ONCE = 4_096
"""Lines of a part."""


def read(path: str | Path) -> Report:
    """Return a saved report; see `Report.load`."""
    lines = Lines.of(Path(path).read_bytes())
    try:
        head, last = lines.line(0), lines.line(max(0, len(lines) - 2))
        rest = lines.line(len(lines) - 1) if len(lines) > 1 else ""
    except UnicodeDecodeError as error:
        raise _no_text(path, error) from None
    methods, origin = _head(path, head)
    rows = lines.selected(slice(1, None if rest else -1))
    foot = _foot(path, last, len(rows) + 1) if len(rows) and not rest else None
    if foot is not None:
        rows = rows.selected(slice(None, -1))
        if foot.samples != len(rows):
            raise ReportError(
                f"{path} has {len(rows)} samples, and its last line says {foot.samples}: some "
                "were added or removed; save it again with Report.save"
            )
    reader = _Reader(path, methods, origin, len(rows) - 1 if rest else None)
    report = Report(methods, table=Table(methods, reader.parts(rows)))
    report.origin = origin
    report.stopped = _NO_END if foot is None else foot.stopped
    if foot is not None:  # last: a row says more
        before = memoryview(lines.data)[: rows.ends[-1] + 1 if len(rows) else lines.ends[0] + 1]
        _check_digest(path, before, foot)
    return report


def _foot(path: str | Path, line: str, number: int) -> Foot | None:
    """Return the foot of a report, None where its last line is none."""
    try:
        foot = _mapping(line)
        return Foot.read(foot) if foot.get("kind") == _END else None
    except ReportError as error:
        raise ReportError(f"{path}:{number}: {error}") from None


def _check_digest(path: str | Path, before: memoryview, foot: Foot) -> None:
    """Raise `ReportError` where the lines before the foot are not those of its digest."""
    digest = sha256(before)
    digest.update(as_line(foot.model_dump(exclude={"sha256"})).encode())
    if digest.hexdigest() != foot.sha256:
        raise ReportError(
            f"{path} was changed after it was written, as the digest in its last line tells: "
            "evaluate again, or take the file that was written"
        )


def _head(path: str | Path, head: str) -> tuple[list[Method], Origin]:
    """Return the methods and the origin that the first line of a report names."""
    try:
        content = _mapping(head)
    except ReportError as error:
        raise ReportError(f"{path}:1: {error}") from None
    if content.get("kind") != KIND:
        raise ReportError(
            f"{path} is not a saved report: Report.save and `fullrecall evaluate --output` write "
            "one"
        )
    version = content.get("version")
    if version != VERSION:
        raise ReportError(
            f"{path} has version {version!r} of the format, this fullrecall reads {VERSION}: "
            "evaluate again, or read it with the fullrecall that wrote it"
        )
    try:
        return methods_of(content), Origin.from_dict(content)
    except ReportError as error:
        raise ReportError(f"{path}:1: {error}") from None


def methods_of(head: object) -> list[Method]:
    """Return the methods of a report's head; `ReportError` for what is none."""
    methods = [record.method for record in Head.read(head).methods]
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise ReportError(f"methods must have distinct names, got {name!r} twice")
    return methods


def _no_text(path: str | Path, error: UnicodeDecodeError) -> ReportError:
    return ReportError(f"{path} is not a saved report: it is not UTF-8 text ({error})")


def _mapping(line: str) -> dict[str, Any]:
    """Return a line of JSON as a mapping; an empty one where it is none."""
    try:
        content = parsed(line)
    except ReportError:
        raise
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


class _Reader:
    """Reads the rows of a file; the row with the index `cut` may be cut off."""

    def __init__(
        self, path: str | Path, methods: Sequence[Method], origin: Origin, cut: int | None
    ) -> None:
        self._path = path
        self._methods = methods
        self._cut = cut
        self._proofs = proofs_of(f"{path}:1", methods, origin)

    def parts(self, lines: Lines) -> Iterator[LinePart]:
        """Yield the rows of all lines, some at a time."""
        for first in range(0, len(lines), _AT_ONCE):
            yield self._part(lines.selected(slice(first, first + _AT_ONCE)), first)

    @uncollected()
    def _part(self, lines: Lines, first: int) -> LinePart:
        """Return the rows of lines, of which the first has the index `first`."""
        saved: list[list[Any]] = []
        samples: list[Sample] = []
        for row in range(len(lines)):
            try:
                content = parsed(lines.line(row))
                check_row(content, self._methods)
                samples.append(sample_of(content))
                saved.append(content["results"])
            except (ValueError, FullrecallError, RecursionError) as error:
                self._fail(error, first + row)
        scores = []
        for score, proof in enumerate(self._proofs):
            try:
                scores.append(proof.lines(samples, [results[score] for results in saved]))
            except Contradiction as error:
                line = first + error.row + 2
                raise ReportError(f"{self._path}:{line}: results[{score}].{error}") from None
        return LinePart(lines.selected(slice(len(samples))), self._proofs, samples, scores)

    def _fail(self, error: Exception, row_index: int) -> None:
        """Raise what is wrong with a row; warn where it was cut off."""
        if row_index == self._cut:
            warnings.warn(
                f"{self._path}: the last line is cut off, as an interrupted run leaves it; "
                f"{row_index} samples were read",
                stacklevel=8,
            )
            return
        if isinstance(error, UnicodeDecodeError):
            raise _no_text(self._path, error) from None
        raise ReportError(f"{self._path}:{row_index + 2}: {error}") from None
