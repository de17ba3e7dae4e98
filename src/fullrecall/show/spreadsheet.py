"""Tables as CSV for spreadsheets: no cell runs as a formula, and all cells can be read back."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from fullrecall._util.parameters import check_choice
from fullrecall.errors import ParameterError
from fullrecall.show.output import written

BOM = "\ufeff"
"""The byte order mark, without which Excel misreads all but ASCII."""

DELIMITERS = (",", ";", "\t")
"""The delimiters of cells; spreadsheets in half of Europe expect semicolons."""

# A spreadsheet that expects another delimiter splits a text at that delimiter, and may run a part
# as a formula. So each part is checked like a cell. A cell `-1`, which is only a number, stays
# unchanged; in `-1;x`, the part `-1` gets an apostrophe.
_PARTS = re.compile(r"([;,\t\r\n])")

# East Asian spreadsheets also accept the fullwidth forms.
_SIGN = re.compile("[=+\\-@\uff1d\uff0b\uff0d\uff20]")
_FORMULA = re.compile(rf"[\s'\"\u200b\ufeff]*+{_SIGN.pattern}")
_NUMBER = re.compile(r"\s*+[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?\s*+", re.ASCII)


def cell(value: Any) -> Any:
    """Return a value for a cell, with an apostrophe before each part that could be a formula.

    `bare` removes the apostrophes again, so that different texts stay different. Numbers stay
    numbers.
    """
    if not isinstance(value, str) or not _SIGN.search(value) or _NUMBER.fullmatch(value):
        return value
    return "".join(f"'{part}" if _FORMULA.match(part) else part for part in _PARTS.split(value))


def bare(text: str) -> str:
    """Return the original text of a cell that `cell` returned, without its apostrophes."""
    parts = _PARTS.split(text)
    return "".join(
        part[1:] if part[:1] == "'" and _FORMULA.match(part[1:]) else part for part in parts
    )


def table(rows: Iterable[Sequence[Any]], delimiter: str = ",") -> str:
    """Return rows of cells, the head first, as CSV without a byte order mark.

    Raises `ParameterError` for a delimiter that is not a comma, a semicolon or a tab.
    """
    check_choice(delimiter, "delimiter", DELIMITERS)
    text = StringIO()
    # The writer's default line end, CRLF (RFC 4180), also makes it quote a single CR.
    csv.writer(text, delimiter=delimiter).writerows(map(cell, row) for row in rows)
    return text.getvalue()


def check_new(path: str | Path) -> None:
    """Raise `ParameterError` if `path` does not end in .csv, or exists."""
    if Path(path).suffix != ".csv":
        raise ParameterError(f"must end in .csv, got {Path(path).name!r}", "path")
    if Path(path).exists():
        raise ParameterError(f"{path} exists and may hold labels: name another file")


def write_new(path: str | Path, cells: Iterable[Sequence[Any]]) -> None:
    """Write a new sheet of `cells`, the head first."""
    check_new(path)
    written(table(cells), path, BOM)
