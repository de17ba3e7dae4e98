"""Text files as checked lines: gzip, encodings, over-long lines, and where each error stands."""

from __future__ import annotations

import codecs
import gzip
import os
import stat
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from fullrecall.errors import InputError
from fullrecall.identifiers import shown

FilePath: TypeAlias = str | os.PathLike[str]

STANDARD_INPUT = "-"
"""The name under which a text is read from standard input."""

MAX_TEXT_BYTES = 512 * 2**20
"""The longest text that comes into memory as a whole: a JSON array, a file in UTF-16."""

MAX_LINE_BYTES = 64 * 2**20
"""The longest line, or CSV record, that is read."""

_TRUNCATED = "the gzip data end in the middle: the file is truncated, fetch it again"
_GZIP_MARK = b"\x1f\x8b"
_FOREIGN_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def existing_file(path: FilePath) -> str:
    """Return `path` as a `str`; raise `InputError` where no file can be read there."""
    name = os.fsdecode(path)
    if name == STANDARD_INPUT:
        return name
    if Path(name).is_dir():
        raise InputError("is a directory: name one file in it", path=name)
    if not Path(name).exists():
        raise InputError("no such file", path=name)
    mode = Path(name).stat().st_mode
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode):
        raise InputError("is a device, which may never end: name a file or a pipe", path=name)
    return name


def text_lines(path: str, limit: int | None = None) -> Generator[tuple[int, str], None, None]:
    """Yield each line of a UTF-8 file with its number (from 1) and its line ending.

    No more than `limit` bytes of a line come into memory; the default is `MAX_LINE_BYTES`. Raises
    `InputError`, which has the line but not the path, at the first line that cannot be read,
    after all lines before it.
    """
    max_line_bytes = MAX_LINE_BYTES if limit is None else limit
    offset = 0
    with _opened(path) as file:
        number = 1
        while raw := _read(file, max_line_bytes + 1, number):
            if len(raw) > max_line_bytes and not raw.endswith(b"\n"):
                raise too_long(max_line_bytes, number)
            text = _decoded(raw, number, offset)
            offset += len(raw)
            yield number, text
            number += 1


def first_line(path: str, limit: int) -> str:
    """Return the first line of a UTF-8 file that is not blank; "" where there is none."""
    with closing(text_lines(path, limit)) as lines:
        return next((text for _, text in lines if text.strip()), "")


def whole_text(path: str) -> str:
    """Return all text of a UTF-8 file; raise `InputError` where it cannot be read."""
    with _opened(path) as file:
        return _decoded(_whole(file), 1, 0)


def too_long(max_line_bytes: int, line: int) -> InputError:
    """Return the error for a line, or a CSV record, that outgrows the limit."""
    return InputError(
        f"the row that begins here is longer than {max_line_bytes:,} bytes: a line break or a "
        "closing quote is missing; rows that are meant to be so long are read from Parquet",
        line=line,
    )


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    with _standard_input() if path == STANDARD_INPUT else _file(path) as raw:
        # By content, not by name: browsers unpack `.gz` downloads and leave the name as it was.
        if raw.peek(2)[:2] == _GZIP_MARK:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield _as_utf8(BufferedReader(cast("Any", unpacked)))
        else:
            yield _as_utf8(raw)


def _as_utf8(file: BufferedReader) -> BinaryIO:
    """Return a file as UTF-8: what begins with the mark of UTF-16 or UTF-32 is turned into it."""
    try:
        begun = file.peek(4)[:4]
    except EOFError as error:
        raise InputError(_TRUNCATED, line=1) from error
    except (OSError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", line=1) from error
    encoding = next((own for mark, own in _FOREIGN_MARKS if begun.startswith(mark)), None)
    if encoding is None:
        return file
    try:
        return BytesIO(_whole(file).decode(encoding).encode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise InputError(f"is damaged {encoding}: {error.reason} at byte {error.start}") from None


def _whole(file: BinaryIO) -> bytes:
    """Return all of a file; raise `InputError` where it outgrows the limit."""
    content = _read(file, MAX_TEXT_BYTES + 1, None, whole=True)
    if len(content) > MAX_TEXT_BYTES:
        raise InputError(
            f"holds more than {MAX_TEXT_BYTES >> 20:,} MiB as one text, unpacked: save it as JSON "
            "Lines or Parquet, which are read row by row"
        )
    return content


def _file(path: str) -> BufferedReader:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}") from error


@contextmanager
def _standard_input() -> Iterator[BufferedReader]:
    """Give standard input as bytes, and leave it open."""
    if sys.stdin is None:  # closed by whatever started this
        raise InputError("is closed", path=STANDARD_INPUT)
    bytes_of_it: Any = sys.stdin.buffer  # whatever reads into a buffer
    raw = BufferedReader(bytes_of_it)
    try:
        yield raw
    finally:
        with suppress(ValueError):  # whoever gave standard input has closed it
            raw.detach()


def _read(file: BinaryIO, size: int, line: int | None, *, whole: bool = False) -> bytes:
    """Return the next line, or the whole file, cut at `size` bytes."""
    try:
        return file.read(size) if whole else file.readline(size)
    except EOFError as error:
        raise InputError(_TRUNCATED, line=line) from error
    except (OSError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", line=line) from error


def _decoded(raw: bytes, line: int, offset: int) -> str:
    """Return the text of `raw`, which begins at `line` and at byte `offset` of the file."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        problem = f"byte {raw[error.start]:#04x} is not UTF-8: save the file as UTF-8"
        raise _at_byte(problem, raw, error.start, line, offset) from None
    if "\0" in text:
        problem = "a NUL byte: not text, UTF-16, or damaged; save the file as UTF-8"
        raise _at_byte(problem, raw, raw.index(b"\0"), line, offset)
    return text.removeprefix("\ufeff") if offset == 0 else text


def _at_byte(problem: str, raw: bytes, position: int, line: int, offset: int) -> InputError:
    """Return the error with its place: the line, the byte in the line and in the file."""
    start = raw.rfind(b"\n", 0, position) + 1
    near = shown(raw[max(start, position - 20) : position].decode(errors="replace"))
    return InputError(
        f"{problem} (at byte offset {position - start} of the line, {offset + position} of the "
        f"file, after {near})",
        line=line + raw.count(b"\n", 0, position),
    )
