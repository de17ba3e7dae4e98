"""Reports as files: JSON lines, written row by row so that a killed run keeps what it had.

The first line has the methods, each of the others one sample, and the last one tells whether the
run came to its end. A file without that line is what a killed run leaves.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field

from fullrecall.errors import FullrecallError, ReportError
from fullrecall.records import (
    MethodRecord,
    Record,
    check_plain,
    content_of,
    plain_method,
    plain_row,
)
from fullrecall.table.row import Row
from fullrecall.report.signature import KIND
from fullrecall.report.text import ending
from fullrecall.result import Method

VERSION = 2
_END = "end of fullrecall report"

_NO_END = "its file has no end: the run was killed or is still running, or the file was cut off"


class Writer:
    """Writes a report to `path` as its rows come; use it as a context manager.

    `stopped` is what the last line says of a run that ended early; an error within the context
    says it too.
    """

    def __init__(
        self,
        path: str | Path,
        methods: Sequence[Method],
        *,
        default: Callable[[Any], Any] | None = None,
    ) -> None:
        self._default = default
        self._head: dict[str, Any] | None = {
            "kind": KIND,
            "version": VERSION,
            "methods": [plain_method(method) for method in methods],
        }
        # Line by line, so that a killed run keeps every row that it had written.
        self._file = Path(path).open("w", 1, encoding="utf-8", newline="\n")  # noqa: SIM115 - held
        self._rows = 0
        self.stopped: str | None = None

    def write(self, row: Row) -> None:
        """Write one row.

        Raises `OSError` where the file cannot take it, `ReportError` for metadata that JSON would
        change or cannot hold.
        """
        self._write_head()
        plain = plain_row(row.sample, row.results, default=self._default)
        self._file.write(as_line(plain) + "\n")
        self._rows += 1

    def _write_head(self) -> None:
        head, self._head = self._head, None
        if head is not None:
            self._file.write(as_line(head) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.stopped = ending(error)
        # After a failed write the same lines fail again on closing: the first error tells.
        with suppress(OSError) if kind is not None else nullcontext():
            try:
                if not isinstance(error, OSError):  # half a line may stand there
                    self._write_head()
                    foot = {"kind": _END, "samples": self._rows, "stopped": self.stopped}
                    self._file.write(as_line(foot) + "\n")
            finally:
                self._file.close()


def row_of(plain: object, methods: Sequence[Method], position: int) -> Row:
    """Return the row of plain JSON values; raises `ReportError` for what is no row."""
    sample, results = content_of(plain, methods)
    return Row(position, sample, results)


def as_line(plain: object) -> str:
    """Return plain values as one line of UTF-8."""
    line = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # half an emoji is legal in JSON input, and no UTF-8
        line = json.dumps(plain, allow_nan=False)
    return line


class Head(Record):
    """The first line of a report."""

    kind: str
    version: int
    methods: Annotated[list[MethodRecord], Field(min_length=1)]


class Foot(Record):
    """The last line of a report."""

    kind: str
    samples: Annotated[int, Field(ge=0)]
    stopped: str | None


class Saved(NamedTuple):
    """What a file has: `rows` are read as they are drawn; `stopped` is as in `Report`."""

    methods: list[Method]
    rows: Iterator[Row]
    stopped: str | None


def read(path: str | Path) -> Saved:
    """Return what a saved report holds; see `Report.load`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ReportError(f"{path} is not a saved report: it is not UTF-8 text ({error})") from None
    # Not splitlines: texts may hold other line separators, and JSON leaves them as they are.
    head, *lines = text.split("\n")
    rest = lines.pop() if lines else ""
    del text  # as large as its lines
    try:
        plain = _mapping(head)
    except ReportError as error:
        raise ReportError(f"{path}:1: {error}") from None
    if plain.get("kind") != KIND:
        raise ReportError(
            f"{path} is not a saved report: Report.save and `fullrecall evaluate --output` write "
            "one"
        )
    version = plain.get("version")
    if version != VERSION:
        raise ReportError(
            f"{path} has version {version!r} of the format, this fullrecall reads {VERSION}: "
            "evaluate again, or read it with the fullrecall that wrote it"
        )
    try:
        methods = [record.method for record in Head.read(plain).methods]
        _check_names(methods)
    except ReportError as error:
        raise ReportError(f"{path}:1: {error}") from None
    try:
        foot = _mapping(lines[-1]) if lines and not rest else {}
    except ReportError as error:
        raise ReportError(f"{path}:{len(lines) + 1}: {error}") from None
    if foot.get("kind") != _END:
        lines += [rest] if rest else []
        return Saved(methods, _rows(path, lines, methods, rest), _NO_END)
    del lines[-1]
    try:
        end = Foot.read(foot)
    except ReportError as error:
        raise ReportError(f"{path}:{len(lines) + 2}: {error}") from None
    if end.samples != len(lines):
        raise ReportError(
            f"{path} has {len(lines)} samples, and its last line says {end.samples}: some "
            "were added or removed; save it again with Report.save"
        )
    return Saved(methods, _rows(path, lines, methods), end.stopped)


def _check_names(methods: Sequence[Method]) -> None:
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise ReportError(f"methods must have distinct names, got {name!r} twice")


def _mapping(line: str) -> dict[str, Any]:
    """Return a line of JSON as a mapping; an empty one where it is none."""
    try:
        plain = parsed(line)
    except ReportError:
        raise
    except ValueError:
        return {}
    return plain if isinstance(plain, dict) else {}


def _rows(
    path: str | Path, lines: Sequence[str], methods: Sequence[Method], cut: str = ""
) -> Iterator[Row]:
    """Yield the rows of `lines`; the last of them may be `cut` off."""
    for position, line in enumerate(lines, start=1):
        try:
            row = row_of(parsed(line), methods, position)
        except (ValueError, FullrecallError, RecursionError) as error:
            if position == len(lines) and cut:
                warnings.warn(
                    f"{path}: the last line is cut off, as an interrupted run leaves it; "
                    f"{position - 1} samples were read",
                    stacklevel=4,
                )
                return
            raise ReportError(f"{path}:{position + 1}: {error}") from None
        yield row


def parsed(line: str) -> Any:
    """Return the plain values of a line of JSON.

    Raises `ReportError` for what JSON does not have or names twice, and for numbers beyond all
    floats; `ValueError` for no JSON.
    """
    try:
        return json.loads(
            line, parse_constant=_refuse, object_pairs_hook=_object, parse_float=_finite
        )
    except RecursionError:
        raise ReportError("it is nested too deeply") from None
    except OverflowError:  # found again without the hook, to name its place
        plain = json.loads(line)
        check_plain(plain, "")
        return plain


def _finite(text: str) -> float:
    number = float(text)
    if isfinite(number):
        return number
    raise OverflowError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReportError(f"{twice} must occur once, and occurs {names.count(twice)} times")
    return plain


def _refuse(constant: str) -> object:
    raise ReportError(f"{constant} is not a JSON value")
