"""JSON that is read strictly: a key that an object holds twice is an error, not a lost value."""

from __future__ import annotations

import json
from collections import Counter

from fullrecall._util.values import shown
from fullrecall.errors import InputError


def parsed(text: str, line: int | None = None) -> object:
    """Return the value that `text` is; it begins at `line` of a file, if it is of one.

    Raises `InputError` for what is not JSON and for a key that stands twice in one object.
    """
    try:
        return _DECODER.decode(text)
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
    # json keeps the last of two equal keys. In `{"d1": 3, "d1": 1}` that drops a judgment, and
    # nothing tells which of the two was meant.
    values = dict(pairs)
    if len(values) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise InputError(f"the key {twice!r} occurs twice in one object: keep one", field=twice)
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
"""One for all lines: `json.loads` makes one each time."""
