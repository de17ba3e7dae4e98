"""Files as rows: JSON, JSON Lines, CSV, TSV and Parquet, each read by one generator of mappings."""

from __future__ import annotations

import csv
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.read import text_files
from fullrecall.read.strict_json import parsed, values_in
from fullrecall.read.text_files import STANDARD_INPUT, first_line, text_lines, too_long, whole_text

if TYPE_CHECKING:
    from fullrecall.read.rows import Columns

Rows: TypeAlias = Generator[tuple[int, Mapping[Any, Any]], None, None]
"""Rows, each with the line on which it begins, or its number where there are no lines."""


def kind_of(name: str) -> str | None:
    """Return the kind of container that a file's name ends in; None where it ends in no such."""
    packed = name.lower().endswith(".gz")
    ending = Path(name.lower().removesuffix(".gz")).suffix.removeprefix(".")
    return ending if ending in KINDS and not (packed and ending == "parquet") else None


def rows_of_file(path: str, kind: str, columns: Columns | None = None) -> Rows:
    """Return the rows of a file of a kind; `columns` checks its header, and what is left out.

    Raises `InputError`, which has the line but not the path, after all rows before it.
    """
    return KINDS[kind](path, columns)


def json_lines(path: str, _: Columns | None = None, *, limit: int | None = None) -> Rows:
    """Yield the objects of a JSON Lines file with their line numbers, blank lines skipped."""
    with closing(text_lines(path, limit)) as lines:
        for line, text in lines:
            if text.strip():
                yield line, _line_object(text, line)


def _line_object(text: str, line: int) -> Mapping[str, Any]:
    try:
        return _object(parsed(text.rstrip(), line), line)
    except InputError as error:
        begun = text.strip()
        if line == 1 and (begun[0] == "[" or begun == "{"):
            hint = "; a JSON value over the whole file is read with read(path, format='json')"
            raise InputError(error.problem + hint, line=line, field=error.field) from None
        raise


def _object(value: object, line: int) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(
            f"a row must be an object with named fields, got {type(value).__name__} {shown(value)}",
            line=line,
        )
    return value


def _json(path: str, _: Columns | None) -> Rows:
    """Yield the objects of an array, of one value over several lines, or of values by lines.

    The latter are what spans' exporters and Hugging Face's `to_json` write into a `.json`.
    """
    if Path(path).is_file() and _begins_with_object(path):  # a pipe is read once
        yield from json_lines(path, limit=text_files.MAX_TEXT_BYTES)
        return
    for line, value in values_in(whole_text(path).rstrip()):
        yield line, _object(value, line)


def _begins_with_object(path: str) -> bool:
    try:
        return isinstance(parsed(first_line(path, text_files.MAX_TEXT_BYTES)), dict)
    except InputError:
        return False


def _csv(path: str, columns: Columns | None, delimiter: str | None = None) -> Rows:
    """Yield the rows of a CSV file with a header; a cell that is blank is not in its row."""
    with closing(csv_records(path, delimiter)) as records:
        line, header = next(records, (0, []))
        header = [column.strip() for column in header]
        if header and columns is not None:
            try:
                columns.check_header(header)
            except InputError as error:
                raise error.at(line=line) from None
        for line, cells in records:
            if len(cells) != len(header):
                raise InputError(wrong_width(cells, header), line=line)
            row = zip(header, cells, strict=True)
            yield line, {column: cell for column, cell in row if cell.strip()}


def wrong_width(cells: Sequence[str], header: Sequence[str]) -> str:
    """Return what is wrong with a row that has more or fewer cells than the header."""
    way_out = "quote cells that hold the delimiter or a line break"
    if len(cells) < len(header):
        way_out = f"{way_out}, and write an empty cell as nothing between delimiters"
    return f"the row has {len(cells)} cells, the header {len(header)}: {way_out}"


def csv_records(path: str, delimiter: str | None) -> Generator[tuple[int, list[str]], None, None]:
    """Yield the cells of each record that is not blank, with the line on which it begins.

    Records of bare delimiters, which spreadsheets leave at the end, are blank.
    """
    # csv refuses cells of more than 131,072 characters, which a list of contexts easily has. The
    # limit is the process's, so it is only ever raised: to restore it would race with threads.
    limit = text_files.MAX_LINE_BYTES
    csv.field_size_limit(max(csv.field_size_limit(), limit))
    begins, size = 1, 0

    def lines() -> Iterator[str]:
        nonlocal size
        for _, text in source:
            size += len(text)
            if size > limit:  # a quote that is never closed swallows all that follows
                raise too_long(limit, begins)
            yield text

    with closing(text_lines(path)) as rest:
        first = next(rest, None)
        if first is None:
            return
        source = chain([first], rest)
        reader = csv.reader(lines(), delimiter=delimiter or _delimiter(first[1]), strict=True)
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield begins, cells
                begins, size = reader.line_num + 1, 0
        except csv.Error as error:
            raise InputError(_csv_problem(error), line=begins) from None


def _delimiter(header: str) -> str:
    """Return what parts the cells of `header`: spreadsheets of half Europe write semicolons."""
    return max((",", "\t", ";", "|"), key=header.count)


def _csv_problem(error: csv.Error) -> str:
    problem = str(error)
    if "unexpected end of data" in problem:
        return "not CSV: a quote opens in this row and is never closed"
    if "new-line character" in problem:
        return "not CSV: a bare carriage return outside quotes: save it with line feeds"
    return f'not CSV: {problem} (a quote inside a quoted cell is doubled, "")'


def _parquet(path: str, columns: Columns | None) -> Rows:
    from fullrecall.read.parquet import check_pyarrow, parquet_rows

    check_pyarrow()
    if path == STANDARD_INPUT:
        raise InputError("cannot be Parquet, which is not read in order: name a file", path=path)
    return parquet_rows(path, columns)


KINDS: Mapping[str, Callable[[str, Columns | None], Rows]] = MappingProxyType(
    {
        "jsonl": json_lines,
        "ndjson": json_lines,
        "json": _json,
        "csv": _csv,
        "tsv": partial(_csv, delimiter="\t"),
        "parquet": _parquet,
    }
)
"""The reader of each kind of container, by the ending of a file's name."""
