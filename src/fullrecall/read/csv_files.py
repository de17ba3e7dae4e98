"""CSV and TSV, one sample per record; list fields hold JSON."""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain, zip_longest

from fullrecall.errors import InputError, ParameterError
from fullrecall.hits import IdKey
from fullrecall.read.rows import Columns, Rename, in_file, to_samples
from fullrecall.read.text_files import (
    MAX_LINE_BYTES,
    FilePath,
    check_limit,
    existing_file,
    text_lines,
    too_long,
)
from fullrecall.sample import Sample


def read_csv(
    path: FilePath,
    *,
    rename: Rename | None = None,
    id_key: IdKey | None = None,
    delimiter: str | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Sample]:
    """Return the samples of a CSV file with a header, one at a time.

    A cell of a list field (`retrieved_contexts`, `reference_context_ids`, …) is a JSON array or
    object, or a list as Python prints it, if no item can be lost; IDs may also be separated by
    one of `;`, `|`, a comma or a line break. An empty cell is not given, which is not the same as
    `[]`. `delimiter` is a comma
    unless given, or a tab for a `.tsv`; a header without a comma but with tabs or semicolons
    tells its own. The file is UTF-8, with or without a byte order mark, and may be gzipped.
    Raises `InputError` with the number of the line on which the row begins.
    """
    check_limit(max_line_bytes)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise ParameterError(f"delimiter must be one character, got {delimiter!r}")
    name, columns = existing_file(path), Columns(rename, id_key=id_key, lists_are_texts=True)
    if delimiter is None and name.lower().removesuffix(".gz").endswith(".tsv"):
        delimiter = "\t"
    rows = _csv_rows(name, columns, delimiter, max_line_bytes)
    return in_file(name, to_samples(rows, columns))


def _csv_rows(
    path: str, columns: Columns, delimiter: str | None, max_line_bytes: int
) -> Iterator[tuple[int, dict[str, object]]]:
    with closing(csv_records(path, delimiter, max_line_bytes)) as records:
        line, header = next(records, (0, []))
        header = [column.strip() for column in header]
        if header:
            try:
                columns.check_header(header)
            except InputError as error:
                raise error.at(line=line) from None
        for line, cells in records:
            if not any(cell.strip() for cell in cells):
                continue  # spreadsheets leave rows of bare delimiters at the end
            if len(cells) != len(header):
                raise InputError(_wrong_width(cells, header), line=line)
            row: dict[str, object] = {
                column: cell for column, cell in zip(header, cells, strict=True) if cell.strip()
            }
            yield line, row


def sheet_rows(
    path: FilePath, needed: Sequence[Sequence[str]]
) -> Generator[tuple[int, dict[str, str]], None, None]:
    """Yield the rows of a sheet that people filled in, with the lines on which they begin.

    Column names are in lower case; of each item of `needed` one must be there. Spreadsheets save
    semicolons, tabs, UTF-16, and leave out empty cells at the end: all of it is read. Raises
    `InputError` for a column that is missing or there twice, and for more cells than columns.
    """
    name = existing_file(path)
    tab = "\t" if name.lower().removesuffix(".gz").endswith(".tsv") else None
    with closing(csv_records(name, tab, MAX_LINE_BYTES)) as records:
        line, header = next(records, (1, []))
        header = [column.strip().lower() for column in header]
        twice = sorted({column for column in header if column and header.count(column) > 1})
        if twice:
            raise InputError(f"the header has the column {twice[0]!r} twice", line=line)
        missing = [" or ".join(names) for names in needed if not set(names) & set(header)]
        if missing:
            there = ", ".join(header) or "none"
            raise InputError(f"needs the columns {', '.join(missing)}; got {there}", line=line)
        for line, cells in records:
            if not any(cell.strip() for cell in cells):
                continue
            if any(cell.strip() for cell in cells[len(header) :]):
                raise InputError(_wrong_width(cells, header), line=line)
            yield line, dict(zip_longest(header, cells[: len(header)], fillvalue=""))


def _wrong_width(cells: Sequence[str], header: Sequence[str]) -> str:
    way_out = "quote cells that hold the delimiter or a line break"
    if len(cells) < len(header):
        way_out = f"{way_out}, and write an empty cell as nothing between delimiters"
    return f"the row has {len(cells)} cells, the header {len(header)}: {way_out}"


def csv_records(
    path: str, delimiter: str | None, max_line_bytes: int
) -> Generator[tuple[int, list[str]], None, None]:
    """Yield the cells of each record that is not blank, with the line on which it begins."""
    # csv refuses cells of more than 131,072 characters, which a list of contexts easily has. The
    # limit is the process's, so it is only ever raised: to restore it would race with threads.
    csv.field_size_limit(max(csv.field_size_limit(), max_line_bytes))
    begins, size = 1, 0

    def lines() -> Iterator[str]:
        nonlocal size
        for _, text in source:
            size += len(text)
            if size > max_line_bytes:  # a quote that is never closed swallows all that follows
                raise too_long(max_line_bytes, begins)
            yield text

    with closing(text_lines(path, max_line_bytes)) as rest:
        first = next(rest, None)
        if first is None:
            return
        source = chain([first], rest)
        reader = csv.reader(lines(), delimiter=delimiter or _delimiter(first[1]), strict=True)
        try:
            for cells in reader:
                if cells:
                    yield begins, cells
                begins, size = reader.line_num + 1, 0
        except csv.Error as error:
            raise InputError(_csv_problem(error), line=begins) from None


def _delimiter(header: str) -> str:
    """Return what parts the cells of `header`: spreadsheets of half Europe write semicolons."""
    if "," not in header:
        for other in ("\t", ";"):
            if other in header:
                return other
    return ","


def _csv_problem(error: csv.Error) -> str:
    problem = str(error)
    if "unexpected end of data" in problem:
        return "not CSV: a quote opens in this row and is never closed"
    if "new-line character" in problem:
        return "not CSV: a bare carriage return outside quotes: save it with line feeds"
    return f'not CSV: {problem} (a quote inside a quoted cell is doubled, "")'
