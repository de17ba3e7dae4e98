"""Rows as plain JSON values, and as lines of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

from fullrecall._util.values import changed_by_json
from fullrecall.errors import FullrecallError, ReportError
from fullrecall.files.reports.records import as_kept, plain_method, plain_result
from fullrecall.files.reports.signature import KIND
from fullrecall.scorers.result import Method
from fullrecall.table.part import Part

_WRONG = (FullrecallError, ValueError, TypeError, LookupError, RuntimeError, OSError)
"""The errors, including pyarrow's, that damaged or foreign content raises when it is read."""


@contextmanager
def located(where: object) -> Iterator[None]:
    """Convert errors of reading to a `ReportError` that begins with `where`."""
    try:
        yield
    except _WRONG as error:
        raise ReportError(f"{where}: {error}") from None


def plain_results(part: Part, score: int, method: Method) -> Iterator[dict[str, Any]]:
    """Yield the results of a score as plain values; the columns give the score of each result."""
    values = method.headline.values(part.outcomes(score))
    return map(plain_result, part.results(score), values.tolist())


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def as_line(content: object) -> str:
    """Return plain values as one line of JSON that can be encoded in UTF-8.

    Raises `ReportError` for a text in which two surrogates are the halves of a character: JSON
    would read them as that character, so that the text would come back changed.
    """
    line = _ENCODER.encode(content)
    try:
        line.encode()
    except UnicodeEncodeError:  # JSON input may have a lone surrogate: escape it for UTF-8
        problem = changed_by_json(line)
        if problem is not None:
            raise ReportError(problem) from None
        line = json.dumps(content)
    return line


def head_of(methods: Sequence[Method], version: int) -> dict[str, Any]:
    """Return the head of a report: its kind, the version of its format, and its methods."""
    plain_methods = [plain_method(method) for method in methods]
    return {"kind": KIND, "version": version, "methods": plain_methods}


def changed(name: str | Path) -> ReportError:
    """Return the error for a file whose content does not match its digest."""
    return ReportError(
        f"{name} was changed after it was written, as its digest tells: evaluate again, or take "
        "the file that was written"
    )


def parsed(text: str | bytes) -> Any:
    """Parse a JSON text; return its plain values.

    Raises `ReportError` for values that JSON does not have, such as NaN, for a key that occurs
    twice, and for numbers too large for a float; `ValueError` for a text that is not JSON.
    """
    line = text if isinstance(text, str) else text.decode()
    try:
        return _DECODER.decode(line)
    except RecursionError:
        raise ReportError("it is nested too deeply") from None
    except OverflowError:  # parse again without the hook, to find the place of the error
        content = json.loads(line)
        as_kept(content, "")
        return content


def mapping(text: str | bytes) -> dict[str, Any]:
    """Return the object in a JSON text; {} for another value, or a text that is not JSON.

    Raises `ReportError` for values that `parsed` refuses.
    """
    try:
        content = parsed(text)
    except ReportError:
        raise
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _finite(text: str) -> float:
    number = float(text)
    if isfinite(number):
        return number
    raise OverflowError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReportError(f"{twice} must occur once, and occurs {names.count(twice)} times")
    return content


def _refuse(constant: str) -> object:
    raise ReportError(f"{constant} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_object, parse_float=_finite)
