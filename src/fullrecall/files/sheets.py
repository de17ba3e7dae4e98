"""Sheets that people filled in: CSV from a spreadsheet, or JSON Lines."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import zip_longest

from fullrecall.errors import InputError
from fullrecall.files.containers import Lines, csv_records, json_lines, kind_of, wrong_width
from fullrecall.files.text_files import FilePath, existing_file
from fullrecall.show.spreadsheet import bare


def sheet_rows(path: FilePath, needed: Sequence[Sequence[str]]) -> Lines:
    """Yield the rows of a sheet that people filled in, with the lines on which they begin.

    A sheet whose name does not end like CSV or TSV is read as JSON Lines, unchecked. In CSV and
    TSV, column names are converted to lower case, and the sheet must have at least one of the
    names in each item of `needed`. As spreadsheets save them, cells may be separated by semicolons
    or tabs, and rows may lack their last empty cells. Raises `InputError` for a missing column, for
    two columns of one name, and for more cells than columns.
    """
    name = existing_file(path)
    if kind_of(name) not in ("csv", "tsv"):
        yield from json_lines(name)
        return
    with closing(csv_records(name, "\t" if kind_of(name) == "tsv" else None)) as records:
        line, header = next(records, (1, []))
        header = [column.strip().lower() for column in header]
        twice = sorted({column for column in header if column and header.count(column) > 1})
        if twice:
            raise InputError(f"the header has the column {twice[0]!r} twice", line=line)
        missing = [" or ".join(names) for names in needed if not set(names) & set(header)]
        if missing:
            columns = ", ".join(header) or "none"
            raise InputError(f"needs the columns {', '.join(missing)}; got {columns}", line=line)
        for line, cells in records:
            if any(cell.strip() for cell in cells[len(header) :]):
                raise InputError(wrong_width(cells, header), line=line)
            row = zip_longest(header, map(bare, cells[: len(header)]), fillvalue="")
            yield line, dict(row)
