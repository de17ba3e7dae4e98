"""Strict reading of JSON: a key that occurs twice in an object is an error, not a lost value."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from fullrecall._util.values import shown
from fullrecall.errors import InputError


def parsed(text: str, line: int | None = None) -> object:
    """Return the value of a JSON text; `line` is the number of its first line, for errors.

    Raises `InputError` for anything but JSON and for a key that occurs twice in one object. If
    `line` is None, the error names no line.
    """
    with _placed(text, line):
        return _DECODER.decode(text)


def array_items(text: str) -> Iterator[object]:
    """Yield the items of a JSON array, one at a time, or the only value of the text.

    Raises `InputError` as `parsed` does, once all items before the error have been yielded.
    """
    position = _blank(text, 0)
    if text[position : position + 1] != "[":
        yield parsed(text, 1)
        return
    position = _blank(text, position + 1)
    is_open = text[position : position + 1] != "]"
    while is_open:
        with _placed(text, 1):
            value, end = _DECODER.raw_decode(text, position)
        yield value
        position = _blank(text, end)
        is_open = text[position : position + 1] == ","
        if is_open:
            position = _blank(text, position + 1)
    with _placed(text, 1):
        if text[position : position + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, position)
        if (end := _blank(text, position + 1)) < len(text):
            raise json.JSONDecodeError("Extra data", text, end)


def _blank(text: str, position: int) -> int:
    """Return the first position, at or after `position`, that has no white space."""
    match = _BLANK.match(text, position)
    return match.end() if match else position


@contextmanager
def _placed(text: str, line: int | None) -> Iterator[None]:
    """Convert the errors of reading a JSON text to an `InputError` with the line of the error."""
    try:
        yield
    except json.JSONDecodeError as error:
        near = shown(text[error.pos : error.pos + 30], 30) if error.pos < len(text) else "the end"
        problem = f"not JSON: {error.msg} at column {error.colno}, near {near}"
        within = None if line is None else line + error.lineno - 1
        raise InputError(problem, line=within) from None
    except InputError as error:
        raise error.at(line=None if "\n" in text else line) from None
    except RecursionError:
        raise InputError("the JSON is nested too deeply", line=line) from None
    except ValueError as error:  # an integer beyond sys.get_int_max_str_digits()
        raise InputError(f"not JSON that can be read: {error}", line=line) from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # json keeps the last of two equal keys. In `{"d1": 3, "d1": 1}` that drops a judgment,
    # and the intended one is unknown.
    values = dict(pairs)
    if len(values) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise InputError(f"the key {twice!r} occurs twice in one object: keep one", field=twice)
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
"""One decoder for all texts, since `json.loads` with options makes a new one at each call."""

_BLANK = re.compile(r"[ \t\n\r]*")
