"""JSON that is read strictly: a key that an object holds twice is an error, not a lost value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from fullrecall.errors import InputError
from fullrecall.identifiers import shown

_BLANK = re.compile(r"[ \t\r\n]*")


class _DuplicateKeyError(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # json keeps the last of two equal keys. In `{"d1": 3, "d1": 1}` that drops a judgment, and
    # nothing tells which of the two was meant.
    values = dict(pairs)
    if len(values) < len(pairs):
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise _DuplicateKeyError(key)
            keys.add(key)
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def parsed(text: str, line: int = 1) -> object:
    """Return the value that `text` is; it begins at `line` of the file.

    Raises `InputError` for what is not JSON and for a key that stands twice in one object.
    """
    value, end = _value_at(text, 0, line)
    end = _skip_blank(text, end)
    if end < len(text):
        raise _syntax_error("Extra data", text, end, line)
    return value


def _value_at(text: str, position: int, line: int = 1) -> tuple[object, int]:
    """Return the value that begins at `position`, and where it ends; see `parsed`."""
    try:
        return _DECODER.raw_decode(text, _skip_blank(text, position))
    except json.JSONDecodeError as error:
        line += text.count("\n", 0, error.pos)
        raise InputError(_problem(error), line=line) from None
    except _DuplicateKeyError as error:
        problem = f"the key {error.key!r} occurs twice in one object: keep one"
        field = error.key
    except RecursionError:
        problem, field = "the JSON is nested too deeply", None
    except ValueError as error:  # an integer beyond sys.get_int_max_str_digits()
        problem, field = f"not JSON that can be read: {error}", None
    line += text.count("\n", 0, _skip_blank(text, position))
    raise InputError(problem, line=line, field=field)


def values_in(text: str) -> Iterator[tuple[int, object]]:
    """Yield the items of an array, or values one after another, with the lines they begin on.

    One at a time, so that every item before a malformed one has been yielded.
    """
    position = _skip_blank(text, 0)
    if text.startswith("[", position):
        yield from _array_items(text)
        return
    line = 1 + text.count("\n", 0, position)
    while position < len(text):
        value, end = _value_at(text, position)
        yield line, value
        end = _skip_blank(text, end)
        line += text.count("\n", position, end)
        position = end


def _array_items(text: str) -> Iterator[tuple[int, object]]:
    position = _skip_blank(text, text.index("[") + 1)
    line = 1 + text.count("\n", 0, position)
    closed = text.startswith("]", position)
    while not closed:
        item, end = _value_at(text, position)
        yield line, item
        end = _skip_blank(text, end)
        closed = text.startswith("]", end)
        if not closed and not text.startswith(",", end):
            raise _syntax_error("Expecting ',' delimiter", text, end)
        begin = end if closed else _skip_blank(text, end + 1)
        line += text.count("\n", position, begin)
        position = begin
    end = _skip_blank(text, position + 1)
    if end < len(text):
        raise _syntax_error("Extra data", text, end)


def _syntax_error(problem: str, text: str, position: int, line: int = 1) -> InputError:
    error = json.JSONDecodeError(problem, text, position)
    return InputError(_problem(error), line=line + text.count("\n", 0, position))


def _skip_blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _problem(error: json.JSONDecodeError) -> str:
    """Return what is wrong and, for the usual slips, how to mend it."""
    here, before = error.doc[error.pos : error.pos + 1], error.doc[: error.pos].rstrip()[-1:]
    hint = ""
    if (before == "," and here in ("}", "]")) or (here == "," and error.msg[:5] in _COMMA_ERRORS):
        hint = "; remove the trailing comma"
    elif here == "'":
        hint = "; JSON takes double quotes"
    elif not here:
        hint = "; it ends too early, with a bracket or a quote open"
    near = f" near {shown(error.doc[error.pos : error.pos + 30], 30)}" if here else ""
    return f"not JSON: {error.msg} at column {error.colno}{near}{hint}"


_COMMA_ERRORS = ("Extra", "Illeg")
"""How `json` begins its messages when it points at the comma itself (the second: from 3.13 on)."""
