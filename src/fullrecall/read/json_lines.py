"""JSON Lines, one sample per line: reading and writing."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from fullrecall.errors import InputError
from fullrecall.hits import IdKey
from fullrecall.identifiers import shown
from fullrecall.read.frames import from_rows
from fullrecall.read.rows import Columns, Rename, in_file, to_samples
from fullrecall.read.strict_json import parsed
from fullrecall.read.text_files import (
    MAX_LINE_BYTES,
    FilePath,
    check_limit,
    existing_file,
    text_lines,
)
from fullrecall.sample import Sample


def read_jsonl(
    path: FilePath,
    *,
    rename: Rename | None = None,
    id_key: IdKey | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Sample]:
    """Return the samples of a JSON Lines file: one object per line, blank lines skipped.

    The file is UTF-8, may be gzipped, and is read line by line; a line longer than
    `max_line_bytes` is an error, met before the rest of that line is read. A key that stands
    twice in one object is an error, since either value may be meant. Raises `InputError` with
    the line's number.
    """
    check_limit(max_line_bytes)
    name, columns = existing_file(path), Columns(rename, id_key=id_key)
    return in_file(name, to_samples(json_lines(name, max_line_bytes), columns))


def json_lines(
    path: str, max_line_bytes: int
) -> Generator[tuple[int, dict[str, object]], None, None]:
    """Yield the objects of a JSON Lines file with their line numbers, blank lines skipped."""
    with closing(text_lines(path, max_line_bytes)) as lines:
        for line, text in lines:
            if text.strip():
                yield line, _row(text, line)


def _row(text: str, line: int) -> dict[str, object]:
    try:
        row = parsed(text.rstrip(), line)
        if isinstance(row, dict):
            return row
        problem = f"each line is one JSON object, got {type(row).__name__} {shown(row)}"
        error = InputError(problem, line=line)
    except InputError as syntax_error:
        error = syntax_error
    begun = text.strip()
    if line == 1 and (begun[0] == "[" or begun == "{"):
        hint = "; a JSON value over the whole file is read with read(path, format='json')"
        error = InputError(error.problem + hint, line=line, field=error.field)
    raise error


def write_jsonl(samples: Iterable[Sample | Mapping[str, Any]], path: FilePath) -> int:
    """Write samples as JSON Lines that `read_jsonl` reads back equal; return how many.

    A path that ends in `.gz` is compressed. The file appears when it is complete: an error on
    the way leaves what was there before. Raises `InputError` for metadata that JSON has no form
    for.
    """
    final = Path(os.fsdecode(path))
    if final.exists() and not final.is_file():  # a pipe, or /dev/stdout
        with final.open("wb") as file:
            return _write_rows(samples, file.write)
    final = final.resolve()  # a link stays one: the file that it names is replaced
    part = final.with_name(f"{final.name}.part")
    try:
        with part.open("wb") as file:
            if final.suffix == ".gz":
                # No name and no time in the header: the same samples give the same bytes.
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    count = _write_rows(samples, packed.write)
            else:
                count = _write_rows(samples, file.write)
        part.replace(final)
    finally:
        part.unlink(missing_ok=True)
    return count


def _write_rows(
    samples: Iterable[Sample | Mapping[str, Any]], write: Callable[[bytes], object]
) -> int:
    count = 0
    for count, sample in enumerate(from_rows(samples), start=1):
        try:
            text = json.dumps(sample.to_dict(), ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            problem = f"metadata holds what JSON has no form for: {error}"
            raise InputError(problem, line=count, field="metadata") from None
        try:
            line = text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which JSON can only escape
            line = json.dumps(sample.to_dict()).encode()
        write(line + b"\n")
    return count
