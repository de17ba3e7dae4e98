"""Files and folders as rows: JSON, YAML, CSV, TSV and Parquet, each read by one generator.

A folder is read as partitions: a file below a folder `kind=faq` has the column `kind`, with the
value `faq` in each row.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from fullrecall._util.dataframes import frame_rows
from fullrecall._util.extras import pyarrow
from fullrecall._util.naming import parameter
from fullrecall._util.places import Place, address_of, partitions_of, shown_path
from fullrecall.errors import InputError
from fullrecall.files import text_files
from fullrecall.files.row_paths import RowNumber
from fullrecall.files.rows import as_mapping, placed
from fullrecall.files.strict_json import array_items, parsed
from fullrecall.files.text_files import STANDARD_INPUT, text_lines, too_long, whole_text

FileRows: TypeAlias = Generator[tuple[RowNumber, Mapping[Any, Any]], None, None]
Lines: TypeAlias = Generator[tuple[int, Mapping[Any, Any]], None, None]
"""Rows, each with the line on which it begins."""

_BATCH_BYTES, _BATCH_ROWS = 2**20, 8_192
"""The most bytes, and the most rows, of Parquet that are read together."""

_BUFFER_BYTES = 2**16


def kind_of(name: str) -> str | None:
    """Return the kind of container by the ending of a file's name; None for an unknown ending."""
    packed = name.lower().endswith(".gz")
    ending = Path(name.lower().removesuffix(".gz")).suffix.removeprefix(".")
    return ending if ending in KINDS and not (packed and ending == "parquet") else None


def rows_of_file(path: str, kind: str, left_out: AbstractSet[str] = frozenset()) -> FileRows:
    """Return the rows of a file, read as `kind`; from Parquet, omit the columns in `left_out`.

    Raises `InputError`, with the line but without the path, at the first row that cannot be read,
    after all rows before it.
    """
    if kind == "parquet":  # Raise for a missing pyarrow now, not at the first row.
        pyarrow("reading Parquet")
    return KINDS[kind](path, left_out)


def json_lines(path: str, _: object = None, *, limit: int | None = None) -> Lines:
    """Yield the objects of a JSON Lines file with their line numbers; blank lines are skipped."""
    with closing(text_lines(path, limit)) as lines:
        for line, text in lines:
            begun = text.strip()
            if not begun:
                continue
            try:
                yield line, as_mapping(parsed(text.rstrip(), line))
            except InputError as error:
                if line == 1 and (begun[0] == "[" or begun == "{"):
                    way = parameter("format", "json")
                    hint = f"a JSON value over the whole file is read with {way}"
                    raise InputError(f"{error.problem}; {hint}", line=line) from None
                raise error.at(line=line) from None


def _json(path: str, _: object) -> FileRows:
    """Yield the objects of a JSON file: those of its array, its only object, or one on each line.

    Exporters of spans and Hugging Face's `to_json` write JSON Lines into a `.json` file.
    """
    limit = text_files.MAX_TEXT_LENGTH
    is_file = address_of(path) is not None or Path(path).is_file()
    # Do not look at the first line of a pipe, which cannot be read twice.
    if is_file and _begins_with_object(path, limit):
        yield from json_lines(path, limit=limit)
        return
    text = whole_text(path)
    yield from _items(array_items(text) if text and not text.isspace() else ())


def _yaml(path: str, _: object) -> FileRows:
    """Yield the objects of a YAML file's list, or its single object."""
    from fullrecall.files.yaml_files import yaml_value

    value = yaml_value(whole_text(path))
    yield from _items(value if isinstance(value, list) else [value])


def _items(items: Iterable[object]) -> FileRows:
    for number, item in enumerate(items, start=1):
        label = f"item {number}"
        try:
            yield label, as_mapping(item)
        except InputError as error:
            raise placed(error, label) from None


def _begins_with_object(path: str, limit: int) -> bool:
    try:
        with closing(text_lines(path, limit)) as lines:
            first = next((text for _, text in lines if text.strip()), "")
        return first.lstrip().startswith("{") and isinstance(parsed(first), dict)
    except InputError:
        return False


def _csv(path: str, _: object, delimiter: str | None = None) -> FileRows:
    """Yield the rows of a CSV file with a header; a blank cell is None."""
    with closing(csv_records(path, delimiter)) as records:
        line, header = next(records, (0, []))
        # Skip title rows above a table: three or more cells, of which only one is filled.
        while len(header) - sum(not cell.strip() for cell in header) == 1 < len(header) - 1:
            line, header = next(records, (line, []))
        header = [column.strip() for column in header]
        twice = sorted({column for column in header if header.count(column) > 1})
        if twice:
            raise InputError(f"two columns have the name {twice[0]!r}", line=line, field=twice[0])
        for line, cells in records:
            if len(cells) != len(header):
                raise InputError(wrong_width(cells, header), line=line)
            row = zip(header, cells, strict=True)
            yield line, {column: cell if cell.strip() else None for column, cell in row}


def wrong_width(cells: Sequence[str], header: Sequence[str]) -> str:
    """Return the error message for a row with more or fewer cells than the header."""
    return (
        f"the row has {len(cells)} cells, the header {len(header)}: quote cells that hold the "
        "delimiter or a line break, and write an empty cell as nothing between delimiters"
    )


def csv_records(path: str, delimiter: str | None) -> Generator[tuple[int, list[str]], None, None]:
    """Yield the cells of each record that is not blank, with the line on which it begins.

    Records that have only delimiters, which spreadsheets leave at the end, count as blank.
    """
    # csv refuses cells of more than 131,072 characters, and a cell with a list of contexts is often
    # longer. The limit is global to the process, so it is only raised: restoring it would race with
    # other threads.
    limit = text_files.MAX_LINE_LENGTH
    csv.field_size_limit(max(csv.field_size_limit(), limit))
    begins, size = 1, 0

    def lines() -> Iterator[str]:
        nonlocal size
        for _, text in source:
            size += len(text)
            if size > limit:  # A quote that is never closed makes the rest one cell.
                raise too_long(limit, begins)
            yield text

    with closing(text_lines(path)) as rest:
        first = next(rest, None)
        if first is None:
            return
        source = chain([first], rest)
        # Take the delimiter that the first line has most often: spreadsheets in many European
        # locales write semicolons.
        usual = max((",", "\t", ";", "|"), key=first[1].count)
        reader = csv.reader(lines(), delimiter=delimiter or usual, strict=True)
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield begins, cells
                begins, size = reader.line_num + 1, 0
        except csv.Error as error:
            problem = f'not CSV: {error} (a quote inside a quoted cell is doubled, "")'
            raise InputError(problem, line=begins) from None


def _parquet(path: str, left_out: AbstractSet[str]) -> FileRows:
    """Yield the numbered rows of a Parquet file, without the columns that are left out.

    The file is read in small pieces to save memory: by default pyarrow reads each column of a row
    group at once, and a row group may be the whole file.
    """
    pa = pyarrow("reading Parquet")
    if path == STANDARD_INPUT:
        raise InputError("cannot be Parquet, which is not read in order: name a file", path=path)
    rows_before = 0
    try:
        with (
            _binary(path) as opened,  # opened here, to close it even if it is not Parquet
            pa.parquet.ParquetFile(opened, buffer_size=_BUFFER_BYTES, pre_buffer=False) as file,
        ):
            header = [name for name in file.schema_arrow.names if name not in left_out]
            # Read the columns in this thread, not in several: 100,000 rows take 16 MiB less.
            groups = (file.metadata.row_group(n) for n in range(file.metadata.num_row_groups))
            size = sum(group.total_byte_size for group in groups) // max(1, file.metadata.num_rows)
            together = max(1, min(_BATCH_BYTES // max(1, size), _BATCH_ROWS))
            for batch in file.iter_batches(together, columns=header, use_threads=False):
                yield from enumerate(frame_rows(batch), start=rows_before + 1)
                rows_before += batch.num_rows
    except InputError as error:
        line = None if error.line is None else rows_before + error.line
        raise InputError(error.problem, line=line, field=error.field) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"not a Parquet file that can be read: {error}") from error


def _binary(path: str) -> Any:
    """Open a file, or the file at an address, as bytes that Arrow can read."""
    if address_of(path) is not None:
        return Place(path, InputError).open()
    return pyarrow("reading Parquet").OSFile(path, "rb")


KINDS: Mapping[str, Callable[[str, AbstractSet[str]], FileRows]] = MappingProxyType(
    {
        "jsonl": json_lines,
        "ndjson": json_lines,
        "json": _json,
        "csv": _csv,
        "tsv": partial(_csv, delimiter="\t"),
        "parquet": _parquet,
        "yaml": _yaml,
        "yml": _yaml,
    }
)
"""The reader of each kind of container, by the ending of a file's name."""


class Partition(NamedTuple):
    """A file, and the columns that the names of its folders give: `kind=faq` gives `kind`."""

    path: str
    columns: dict[str, str | None]


def partitions(folder: str, kind: str | None) -> tuple[str, list[Partition]]:
    """Return the kind of the files in a folder, and each file with its columns.

    Files of unknown kinds are ignored; with `kind`, only files of that kind are read. Raises
    `InputError` if no file is left, or if the files are of several kinds. Also raises it for a file
    that is neither Parquet nor in a folder such as `kind=faq`, which names a column.
    """
    found = [(name, kind_of(name)) for name in _files(folder)]
    chosen = [(name, own) for name, own in found if own is not None and kind in (None, own)]
    kinds = sorted({own for _, own in chosen})
    if len(kinds) > 1:
        raise InputError(
            f"holds files of {' and '.join(kinds)}: pass {parameter('format')}, one of them",
            path=shown_path(folder),
        )
    parts = [Partition(f"{folder.rstrip('/')}/{name}", partitions_of(name)) for name, _ in chosen]
    if not parts or not (kinds == ["parquet"] or all(part.columns for part in parts)):
        raise InputError("is a directory: name one file in it", path=shown_path(folder))
    return kinds[0], parts


def rows_of_partitions(parts: list[Partition], kind: str, left_out: AbstractSet[str]) -> FileRows:
    """Return the rows of all files, with the columns that their folders name."""
    return _rows([(part, rows_of_file(part.path, kind, left_out)) for part in parts])


def _rows(parts: list[tuple[Partition, FileRows]]) -> FileRows:
    for part, rows in parts:
        try:
            for number, row in rows:
                yield number, {**part.columns, **row} if part.columns else row
        except InputError as error:
            raise error.at(path=shown_path(part.path)) from error.__cause__


def _files(folder: str) -> list[str]:
    """Return the paths of the files in a folder, relative to it, without hidden ones.

    A file is hidden if its name, or that of a folder, begins with `.` or `_`.
    """
    if address_of(folder) is None:
        paths = (each.relative_to(folder) for each in Path(folder).rglob("*") if each.is_file())
        names = sorted(path.as_posix() for path in paths)
    else:
        names = Place(folder, InputError).files()
    return [name for name in names if not any(p.startswith((".", "_")) for p in name.split("/"))]
