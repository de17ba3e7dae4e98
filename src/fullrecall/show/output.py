"""Texts written to files."""

from __future__ import annotations

from pathlib import Path

from fullrecall._util.counts import counted


class Text(str):
    """What was written to a file: as a cell's last value it does not show all of itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'character')}, written to a file>"


def written(text: str, path: str | Path | None, mark: str = "") -> str:
    """Return `text`, and write it to `path` if there is one; the file that is there is replaced.

    The file begins with `mark`, such as `spreadsheet.BOM` for a table.
    """
    if path is None:
        return text
    # Beside the old file until it is whole: a full disk or Ctrl-C costs nobody the old one.
    part = Path(f"{path}.part")
    try:
        # Lines of CSV end in CRLF already, which text files of Windows would double.
        part.write_text(mark + text, encoding="utf-8", errors="backslashreplace", newline="")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return Text(text)
