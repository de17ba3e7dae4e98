"""Reports as files: JSON lines, written row by row so that a killed run keeps what it had."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fullrecall.errors import FullrecallError, ReportError
from fullrecall.report.row import Row
from fullrecall.result import Method, Result
from fullrecall.sample import Sample

VERSION = 1
_KIND = "fullrecall report"


class Writer:
    """Writes a report to `path` as its rows come; use it as a context manager."""

    def __init__(self, path: str | Path, methods: Sequence[Method]) -> None:
        # Line by line, so that a killed run keeps every row that it had written.
        self._file = Path(path).open("w", 1, encoding="utf-8", newline="\n")  # noqa: SIM115 - held
        self._head: dict[str, Any] | None = {
            "kind": _KIND,
            "version": VERSION,
            "methods": [method.to_dict() for method in methods],
        }

    def write(self, row: Row) -> None:
        """Write one row; raises `OSError` where the file cannot take it."""
        self._write_head()
        self._file.write(as_line(plain_row(row)) + "\n")

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
        try:
            if kind is None:
                self._write_head()
        finally:
            # After a failed write the same lines fail again on closing: the first error tells.
            with suppress(OSError) if kind is not None else nullcontext():
                self._file.close()


def plain_row(row: Row) -> dict[str, Any]:
    """Return a row as plain JSON values that `row_of` reads back; its position is its line's."""
    return {
        "sample": row.sample.to_dict(),
        "results": [result.to_dict() for result in row.results],
    }


def row_of(plain: dict[str, Any], methods: Sequence[Method], position: int) -> Row:
    """Return the row that `plain_row` wrote; raises what values that are no row's come to."""
    results = tuple(
        Result.from_dict(result, method)
        for result, method in zip(plain["results"], methods, strict=True)
    )
    return Row(position, Sample(**plain["sample"]), results)


def as_line(plain: dict[str, Any]) -> str:
    """Return plain values as one line of UTF-8; raises `ReportError` for keys that are no str."""
    try:
        line = json.dumps(plain, ensure_ascii=False, default=str)
    except TypeError as error:
        raise ReportError(
            f"a sample's metadata does not go into JSON ({error}): its keys are to be str"
        ) from None
    try:
        line.encode()
    except UnicodeEncodeError:  # half an emoji is legal in JSON input, and no UTF-8
        line = json.dumps(plain, default=str)
    return line


def read(path: str | Path) -> tuple[list[Method], Iterator[Row]]:
    """Return the methods and the rows of a saved report; see `Report.load`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ReportError(f"{path} is no saved report: it is not UTF-8 text ({error})") from None
    head, _, body = text.partition("\n")
    try:
        plain = json.loads(head)
        kind, version = plain["kind"], plain["version"]
    except (ValueError, TypeError, KeyError):
        kind, version = None, None
    if kind != _KIND:
        raise ReportError(
            f"{path} is no saved report: Report.save and `fullrecall evaluate --output` write one"
        )
    if version != VERSION:
        raise ReportError(
            f"{path} has version {version!r} of the format, this fullrecall reads {VERSION}: "
            "upgrade fullrecall"
        )
    methods = [Method.from_dict(method) for method in plain["methods"]]
    return methods, _rows(path, body, methods)


def _rows(path: str | Path, body: str, methods: Sequence[Method]) -> Iterator[Row]:
    # Not splitlines: texts may hold other line separators, and JSON leaves them as they are.
    *lines, rest = body.split("\n")
    whole = not rest
    lines += [rest] if rest else []
    for position, line in enumerate(lines, start=1):
        try:
            row = row_of(json.loads(line), methods, position)
        except (ValueError, TypeError, KeyError, FullrecallError) as error:
            if position == len(lines) and not whole:
                warnings.warn(
                    f"{path}: the last line is cut off, as an interrupted run leaves it; "
                    f"{position - 1} samples were read",
                    stacklevel=4,
                )
                return
            raise ReportError(f"{path}:{position + 1}: no row of a report: {error}") from None
        yield row
