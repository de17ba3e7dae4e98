"""Texts written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util.counts import counted
from fullrecall._util.parameters import as_path

if TYPE_CHECKING:
    from pathlib import Path


class Text(str):
    """A text that was written to a file; its repr is short, so a notebook does not show it all."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'character')}, written to a file>"


def written(text: str, path: str | Path | None, mark: str = "") -> str:
    """Return `text`, and write it to `path` unless that is None; an existing file is replaced.

    The file begins with `mark`, such as `spreadsheet.BOM` for a table.
    """
    if path is None:
        return text
    from fullrecall._util.whole_files import write_whole  # imported late: it loads OpenSSL

    # Write bytes: lines of CSV already end in CRLF, which a text file on Windows would turn into
    # CRCRLF.
    write_whole(as_path(path), (mark + text).encode("utf-8", "backslashreplace"))
    return Text(text)
