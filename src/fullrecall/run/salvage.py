"""What can be read of a damaged store, in a new one.

SQLite gives up a table with its first damaged page. Here each page is read by itself, as SQLite's
file format lays them out (https://www.sqlite.org/fileformat2.html): rows stand in leaf pages, long
ones go on in overflow pages, and what a run had not yet tidied up stands in the log. The checksum
of each row tells whether it is whole, so that nothing is taken on trust.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from fullrecall.run.store_file import checksum_of, writing

_LEAF = 0x0D
_HEADER = 100  # bytes of the first page that come before it
_PAGE = 4096  # bytes, where the header does not say
_MOST_BYTES = 1 << 30  # of one row
_UNKNOWN = "unknown"  # the model or scorer of a row, where its name was on a damaged page

Row = list[Any]


def salvaged(path: Path) -> str:
    """Copy what can be read of a damaged store; return what was and where, empty for nothing.

    The copy is made once: a second call names the one that is there.
    """
    target = path.with_name(f"{path.stem}-salvaged{path.suffix}")
    if target.exists():
        return f"what could be read of it is in {target}"
    names, rows = _rows(path)
    if not rows:
        return ""
    made = path.with_name(f"{target.name}.{os.getpid()}")
    try:
        _write(made, names, rows)
        with suppress(FileExistsError):  # another process was faster
            os.link(made, target)
    except (OSError, sqlite3.Error) as error:
        return f"what can be read of it cannot be saved: {error}"
    finally:
        made.unlink(missing_ok=True)
    answers = sum(row[0].startswith("answer:") for row in rows)
    return (
        f"{answers:,} answers and {len(rows) - answers:,} results of it could be read, and are in "
        f"{target}: go on with that"
    )


def _write(path: Path, names: Mapping[int, str], rows: list[Row]) -> None:
    with closing(writing(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # one file, whole when it is named
        connection.execute("BEGIN")
        for key, value, checksum, number, made in rows:
            name = names.get(number, _UNKNOWN)
            connection.execute("INSERT OR IGNORE INTO names (name) VALUES (?)", (name,))
            connection.execute(
                "INSERT OR IGNORE INTO asks (key, value, sum, name, made) "
                "SELECT ?, ?, ?, (SELECT id FROM names WHERE name = ?), ?",
                (key, value, checksum, name, made),
            )
        connection.execute("COMMIT")


def _rows(path: Path) -> tuple[dict[int, str], list[Row]]:
    """Return the names by number, and the whole rows of answers and results."""
    names: dict[int, str] = {}
    rows: list[Row] = []
    for number, row in _cells(_Pages(path)):
        match row:
            case [None, str(name)]:
                names[number] = name
            case [str(key), str(value), int(checksum), _, float() | int(), *_]:
                kind = key.partition(":")[0]
                if kind in ("answer", "result") and checksum_of(key, value) == checksum:
                    rows.append(row[:5])
    return names, rows


class _Pages:
    """The pages of a database, by their number from 1, as the log left them."""

    def __init__(self, path: Path) -> None:
        self._content = path.read_bytes()
        size = int.from_bytes(self._content[16:18], "big")
        size = 65_536 if size == 1 else size
        self.size = size if 512 <= size <= 65_536 and size & (size - 1) == 0 else _PAGE  # noqa: PLR2004
        reserved = self._content[20] if len(self._content) > 20 else 0  # noqa: PLR2004
        self.usable = self.size - (reserved if reserved <= self.size - 480 else 0)
        log = path.with_name(f"{path.name}-wal")
        self._newer = _logged(log.read_bytes(), self.size) if log.exists() else {}

    def __len__(self) -> int:
        return max(-(-len(self._content) // self.size), *self._newer, 0)

    def __getitem__(self, number: int) -> bytes:
        begin = (number - 1) * self.size
        return self._newer.get(number) or self._content[begin : begin + self.size]


def _logged(log: bytes, size: int) -> dict[int, bytes]:
    """Return the pages that the log has committed."""
    salts, position = log[16:24], 32
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    while len(frame := log[position : position + 24 + size]) == 24 + size:
        if frame[8:16] != salts:
            break
        pending[int.from_bytes(frame[:4], "big")] = frame[24:]
        if any(frame[4:8]):
            committed |= pending
            pending = {}
        position += 24 + size
    return committed


def _cells(pages: _Pages) -> Iterator[tuple[int, Row]]:
    """Yield the number and the values of every row that stands in a leaf page."""
    for number in range(1, len(pages) + 1):
        page = pages[number]
        begin = _HEADER if number == 1 else 0
        if len(page) < begin + 8 or page[begin] != _LEAF:
            continue
        for index in range(int.from_bytes(page[begin + 3 : begin + 5], "big")):
            place = begin + 8 + 2 * index
            with suppress(IndexError, ValueError, OverflowError):
                yield _cell(pages, page, int.from_bytes(page[place : place + 2], "big"))


def _cell(pages: _Pages, page: bytes, position: int) -> tuple[int, Row]:
    length, position = _varint(page, position)
    number, position = _varint(page, position)
    if length > _MOST_BYTES:
        raise ValueError(length)
    usable = pages.usable
    local = length
    if length > usable - 35:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        local = local if local <= usable - 35 else least
    payload = bytearray(page[position : position + local])
    following = int.from_bytes(page[position + local : position + local + 4], "big")
    while len(payload) < length:
        overflow = pages[following]
        part = overflow[4 : min(usable, 4 + length - len(payload))]
        if not part:
            raise ValueError(following)
        payload += part
        following = int.from_bytes(overflow[:4], "big")
    return number, _values(bytes(payload))


def _values(payload: bytes) -> Row:
    """Return the values of a record."""
    end, position = _varint(payload, 0)
    kinds = []
    while position < end:
        kind, position = _varint(payload, position)
        kinds.append(kind)
    row: Row = []
    for kind in kinds:
        size = _size(kind)
        content = payload[position : position + size]
        if len(content) < size:
            raise ValueError(kind)
        row.append(_value(kind, content))
        position += size
    return row


def _size(kind: int) -> int:
    if kind >= 12:  # noqa: PLR2004 - blobs are even, texts odd
        return (kind - 12) // 2
    return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]


def _value(kind: int, content: bytes) -> Any:
    if kind >= 12:  # noqa: PLR2004 - as above
        return content if kind % 2 == 0 else content.decode(errors="replace")
    if kind == 7:  # noqa: PLR2004 - a float
        import struct

        return struct.unpack(">d", content)[0]
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind]
    return int.from_bytes(content, "big", signed=True)


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """Return a number of 7 bits a byte, and where it ends."""
    value = 0
    for _ in range(8):
        byte = content[position]
        position += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the last one
            return value, position
    return value << 8 | content[position], position + 1
