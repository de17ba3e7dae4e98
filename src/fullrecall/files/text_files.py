"""Text files as checked lines: gzip, encodings, line lengths, and the place of each error."""

from __future__ import annotations

import gzip
import os
import re
import sys
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, TextIO, TypeAlias, TypeVar

from fullrecall._util.naming import parameter
from fullrecall._util.parameters import as_path
from fullrecall._util.places import Place, address_of, shown_path
from fullrecall._util.values import shown
from fullrecall.errors import InputError

T = TypeVar("T")
FilePath: TypeAlias = str | os.PathLike[str]

STANDARD_INPUT = "-"
"""The name of standard input."""

MAX_TEXT_LENGTH = 512 * 2**20
"""The most characters of a file that is read into memory as a whole, such as a JSON array."""

MAX_LINE_LENGTH = 64 * 2**20
"""The most characters of a line, or of a CSV record."""

_GZIP_MARK = b"\x1f\x8b"
_NO_TEXT = re.compile("[\0\udc80-\udcff]")
"""A NUL byte, or a byte that is not UTF-8 and was read with `surrogateescape`."""


def existing_file(path: FilePath) -> str:
    """Return `path` as a `str`; raise `InputError` if no file can be read there."""
    name = name_of(path)
    kind = kind_at(name)
    if kind != "file":
        problem = "no such file" if kind is None else "is a directory: name one file in it"
        raise InputError(problem, path=shown_path(name))
    return name


def name_of(path: FilePath) -> str:
    """Return a path, or an address, as a `str`; raise `ParameterError` for anything else."""
    return address_of(path) or str(as_path(path))


def kind_at(name: str) -> str | None:
    """Return whether a "file" or a "folder" is at a path or an address; None for neither."""
    if name == STANDARD_INPUT:
        return "file"
    if address_of(name) is not None:
        return Place(name, InputError).kind
    if Path(name).is_dir():
        return "folder"
    return "file" if Path(name).exists() else None


def text_lines(path: str, limit: int | None = None) -> Generator[tuple[int, str], None, None]:
    """Yield each line of a file, including its line ending, with its number (from 1).

    A line may have at most `limit` characters; default: `MAX_LINE_LENGTH`. Yields all lines before
    the first one that is longer or cannot be read, and then raises `InputError` with the number of
    that line, but without the path.
    """
    most = MAX_LINE_LENGTH if limit is None else limit
    with _opened(path) as file:
        number = 1
        while text := _read(file.readline, most + 1, number):
            if len(text) > most and not text.endswith("\n"):
                raise too_long(most, number)
            yield number, text
            number += 1


@contextmanager
def plain_text(path: str) -> Iterator[BinaryIO]:
    """Yield a text file as seekable UTF-8 bytes: the file itself, or an unpacked copy of it."""
    if path != STANDARD_INPUT:
        with _file(path) as raw:
            head = raw.peek(4)
            if not head.startswith((_GZIP_MARK, BOM_UTF16_LE, BOM_UTF16_BE)) and raw.seekable():
                raw.seek(len(BOM_UTF8) if head.startswith(BOM_UTF8) else 0)
                yield raw
                return
    with TemporaryFile() as copy:
        for _, line in text_lines(path):
            copy.write(line.encode("utf-8", "surrogateescape"))
        copy.seek(0)
        yield copy


def byte_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield each line from a file's position on, including its line ending, with its number.

    Numbers begin at 1. Raises `InputError` for a line of more than `MAX_LINE_LENGTH` bytes.
    """
    number = 1
    while line := file.readline(MAX_LINE_LENGTH + 1):
        if len(line) > MAX_LINE_LENGTH and not line.endswith(b"\n"):
            raise too_long(MAX_LINE_LENGTH, number)
        yield number, line
        number += 1


def whole_text(path: str) -> str:
    """Return all text of a file; raise `InputError` if it cannot be read or is too long."""
    with _opened(path) as file:
        text = _read(file.read, MAX_TEXT_LENGTH + 1, 1)
    if len(text) > MAX_TEXT_LENGTH:
        raise InputError(
            f"holds more than {MAX_TEXT_LENGTH:,} characters as one text, unpacked: save it as "
            "JSON Lines or Parquet, which are read row by row"
        )
    return text


def too_long(most: int, line: int) -> InputError:
    """Return the error for a line, or a CSV record, that exceeds the limit."""
    return InputError(
        f"the row that begins here is longer than {most:,} characters: a line break or a closing "
        "quote is missing; if none is, save the rows as Parquet",
        line=line,
    )


def _read(read: Callable[[int], str], most: int, line: int) -> str:
    """Return the checked text of `read(most)`; errors count its lines from `line`."""
    return as_text(_guarded(read, most, line), line)


def as_text(text: str, line: int) -> str:
    """Return the text, which begins at `line`; raise `InputError` for bytes that are not text."""
    wrong = None if text.isascii() and "\0" not in text else _NO_TEXT.search(text)
    if wrong is not None:
        byte = ord(wrong[0]) & 0xFF
        what = f"byte {byte:#04x} is not UTF-8" if byte else "a NUL byte is not text"
        after = shown(text[max(0, wrong.start() - 20) : wrong.start()])
        line += text.count("\n", 0, wrong.start())
        raise InputError(f"{what} (after {after}): save the file as UTF-8", line=line)
    return text


def _guarded(read: Callable[[int], T], size: int, line: int) -> T:
    """Return the result of `read`; raise `InputError` with the line if it fails."""
    try:
        return read(size)
    except EOFError as error:
        problem = "the gzip data end in the middle: the file is truncated, fetch it again"
        raise InputError(problem, line=line) from error
    except (OSError, zlib.error, UnicodeDecodeError) as error:  # UnicodeDecodeError: damaged UTF-16
        raise InputError(f"cannot be read: {error}", line=line) from error


@contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    with _standard_input() if path == STANDARD_INPUT else _file(path) as raw:
        buffered = raw
        # Gzip is recognized by content, not by name: browsers unpack `.gz` downloads and keep the
        # name.
        if _guarded(raw.peek, 2, 1)[:2] == _GZIP_MARK:
            unpacked: Any = gzip.GzipFile(fileobj=raw)
            buffered = BufferedReader(unpacked)
        is_wide = _guarded(buffered.peek, 2, 1)[:2] in (BOM_UTF16_LE, BOM_UTF16_BE)
        encoding = "utf-16" if is_wide else "utf-8-sig"
        # Split lines only at line feeds: other line breaks stay in the text.
        file = TextIOWrapper(buffered, encoding, "surrogateescape", newline="\n")
        try:
            yield file
        finally:
            with suppress(ValueError):  # the caller may have closed standard input
                file.detach()  # otherwise the wrapper would close the file with itself


def _file(path: str) -> BufferedReader:
    address = address_of(path)
    if address is not None:
        return BufferedReader(Place(address, InputError).open())
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}") from error


@contextmanager
def _standard_input() -> Iterator[BufferedReader]:
    """Yield standard input as bytes, and leave it open."""
    if sys.stdin is None:  # closed by the process that started this one
        raise InputError("is closed", path=STANDARD_INPUT)
    bytes_of_it: Any = sys.stdin.buffer  # A replaced `sys.stdin` may use any kind of buffer.
    raw = BufferedReader(bytes_of_it)
    try:
        yield raw
    finally:
        with suppress(ValueError):  # the caller may have closed standard input
            raw.detach()


_SHEET = "is a spreadsheet: save it as CSV, or pass pandas.read_excel(path) to from_rows"
_DOCUMENT = (
    "is a document, not a file of samples: fullrecall testset generate makes samples of texts"
)
_OTHER_KINDS = {
    **dict.fromkeys((".xls", ".xlsx", ".ods"), _SHEET),
    **dict.fromkeys((".pdf", ".docx", ".html", ".htm", ".md", ".rst"), _DOCUMENT),
    **dict.fromkeys((".pkl", ".pickle"), "is a pickle: pass the object that it holds to from_rows"),
    **dict.fromkeys((".db", ".sqlite"), "is a database: pass the rows of a query to from_rows"),
    ".py": "is a program: pass its samples to evaluate, or its function as the retriever",
}
"""The advice for files that are not read, by the ending of their names."""


def way_out(name: str, kinds: Iterable[str]) -> str:
    """Return the advice for a file whose ending is not read."""
    return _OTHER_KINDS.get(
        Path(name).suffix.lower(),
        f"the name does not show the format: pass {parameter('format')}, one of "
        f"{', '.join(kinds)} (TREC's pair of files is read with read_trec(qrels, run), on the "
        "command line with --run)",
    )
