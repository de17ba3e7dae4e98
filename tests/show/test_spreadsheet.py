"""Sheets for spreadsheets are new files, begin with a byte order mark, and have no formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fullrecall.errors import ParameterError
from fullrecall.show import spreadsheet


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        (" +x", "' +x"),
        ("'=x", "''=x"),
        ("a;=x", "a;'=x"),
        ("a,b\t@x", "a,b\t'@x"),
        ("\uff1dx", "'\uff1dx"),
        ("-1", "-1"),
        ("-1.5e3 ", "-1.5e3 "),
        ("-1;x", "'-1;x"),
        ("a-b", "a-b"),
        ("", ""),
        (-1, -1),
        (None, None),
    ],
)
def test_cells(value: Any, written: Any) -> None:
    """Each part that could be a formula begins with an apostrophe, which can be removed again."""
    assert spreadsheet.cell(value) == written
    if isinstance(written, str):
        assert spreadsheet.bare(written) == value


def test_tables() -> None:
    """Lines end as RFC 4180 has it, and delimiters may be chosen."""
    rows = [("a", "b"), (1, "x;y"), (None, "two\rlines")]
    assert spreadsheet.table(rows) == 'a,b\r\n1,x;y\r\n,"two\rlines"\r\n'
    assert spreadsheet.table(rows[:2], ";") == 'a;b\r\n1;"x;y"\r\n'
    with pytest.raises(ParameterError, match="delimiter must be"):
        spreadsheet.table(rows, "|")


def test_a_sheet_is_a_new_file(tmp_path: Path) -> None:
    """A sheet begins with a byte order mark; no file is replaced, and its name ends in .csv."""
    path = tmp_path / "labels.csv"
    spreadsheet.write_new(path, [("a",)])
    assert path.read_bytes() == b"\xef\xbb\xbfa\r\n"
    with pytest.raises(ParameterError, match="exists and may hold labels: name another file"):
        spreadsheet.write_new(path, [("b",)])
    assert path.read_bytes() == b"\xef\xbb\xbfa\r\n"
    with pytest.raises(ParameterError, match=r"path must end in \.csv, got 'labels.txt'"):
        spreadsheet.write_new(tmp_path / "labels.txt", [("b",)])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["labels.csv"]
