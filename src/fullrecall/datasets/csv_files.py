"""CSV and TSV, one sample per record; list fields hold JSON."""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import chain

from fullrecall.datasets.rows import FIELDS, Columns, Rename, in_file, to_samples
from fullrecall.datasets.strict_json import parsed
from fullrecall.datasets.text_files import (
    MAX_LINE_BYTES,
    FilePath,
    check_limit,
    existing_file,
    text_lines,
    too_long,
)
from fullrecall.errors import InputError, ParameterError
from fullrecall.identifiers import shown
from fullrecall.sample import Sample

_LIST_FIELDS = {
    "retrieved_contexts",
    "retrieved_context_ids",
    "reference_contexts",
    "reference_context_ids",
    "reference_claims",
    "reference_entities",
    "forbidden_ids",
    "superseded",
    "metadata",
}
# ragas's old `ground_truths` means one text to `Sample`, but was a list wherever it was written.
_LIST_NAMES = {name for name, field in FIELDS.items() if field in _LIST_FIELDS} | {"ground_truths"}


def read_csv(
    path: FilePath,
    *,
    rename: Rename | None = None,
    delimiter: str | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Sample]:
    """Return the samples of a CSV file with a header, one at a time.

    A cell of a list field (`retrieved_contexts`, `reference_context_ids`, …) is a JSON array or
    object; an empty cell is not given, which is not the same as `[]`. `delimiter` is a comma
    unless given, or a tab for a `.tsv`; a header without a comma but with tabs or semicolons
    tells its own. The file is UTF-8, with or without a byte order mark, and may be gzipped.
    Raises `InputError` with the number of the line on which the row begins.
    """
    check_limit(max_line_bytes)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise ParameterError(f"delimiter must be one character, got {delimiter!r}")
    name, columns = existing_file(path), Columns(rename)
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
        in_lists = {column for column in header if columns.field(column) in _LIST_NAMES}
        for line, cells in records:
            if not any(cell.strip() for cell in cells):
                continue  # spreadsheets leave rows of bare delimiters at the end
            if len(cells) != len(header):
                raise InputError(
                    f"the row has {len(cells)} cells, the header {len(header)}: quote cells that "
                    "hold the delimiter or a line break",
                    line=line,
                )
            try:
                row = {
                    column: _csv_cell(column, cell, is_list=column in in_lists)
                    for column, cell in zip(header, cells, strict=True)
                }
            except InputError as error:
                raise error.at(line=line) from None
            yield line, row


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


def _csv_cell(column: str, cell: str, *, is_list: bool) -> object:
    if not cell.strip():
        return None
    if not is_list:
        return cell
    text = cell.strip()
    meant = f'{column}: expected a JSON array such as ["a", "b"], got {shown(cell)}'
    if text[0] not in "[{":
        raise InputError(f"{meant}: write the list as JSON", field=column)
    try:
        return parsed(text)
    except InputError as error:
        hint = ""
        if error.problem.startswith("not JSON"):
            hint = (
                "; to_csv of pandas and ragas writes Python's notation, which can lose items: "
                "write each list with json.dumps, or save JSON Lines or Parquet"
            )
        raise InputError(f"{meant}: {error.problem}{hint}", field=column) from None
