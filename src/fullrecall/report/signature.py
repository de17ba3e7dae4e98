"""What saved reports are known by; loads nothing, so that any reader may ask."""

from __future__ import annotations

from pathlib import Path

KIND = "fullrecall report"
"""The kind that the first line of a report's file names."""

MANIFEST = "manifest.json"
"""The file of a report's directory that says which parts it has."""

_BEGINNING = f'{{"kind": "{KIND}"'.encode()


def is_report(path: str | Path) -> bool:
    """Return whether a file, or a directory, begins as a saved report does."""
    path = Path(path)
    try:
        if path.is_dir():
            return (path / MANIFEST).is_file()
        if path.suffix != ".jsonl" or not path.is_file():
            return False  # a pipe is read once: what is looked at is gone
        with path.open("rb") as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except OSError:
        return False  # its reader says what is wrong
