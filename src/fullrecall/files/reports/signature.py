"""Recognize saved reports, without the modules that read them, which take longer to import."""

from __future__ import annotations

import re
from os import SEEK_END
from pathlib import Path

from fullrecall._util.places import Place, address_of
from fullrecall.errors import FullrecallError, ReportError

KIND = "fullrecall report"
"""The value of `kind` in a report's first line and manifest."""

MANIFEST = "_manifest.json"
"""The name of the file that lists a report's files; Parquet readers skip names that begin with _.
"""

_OWN_FILE = re.compile(rf"\.?({re.escape(MANIFEST)}|part-\d{{5,}}\.parquet)")
"""The names of the files in a report's directory; a leading dot marks an unfinished file."""

_COLUMN = b"fullrecall"
"""The name of a column that every Parquet file of a report has."""

_LONGEST_FOOTER = 2**20

_BEGINNING = f'{{"kind": "{KIND}"'.encode()


def is_report(path: str | Path, error: type[FullrecallError] = ReportError) -> bool:
    """Return whether a file or a directory has the mark of a saved report.

    The mark is the beginning of the first line, a column of a Parquet file, or the manifest of a
    directory. Raises `error` if an address cannot be reached.
    """
    address = address_of(path)
    if address is not None:
        return _is_report_at(Place(address, error))
    path = Path(path)
    try:
        if path.is_dir():
            return (path / MANIFEST).is_file()
        if path.suffix == ".parquet":
            return path.is_file() and _COLUMN in _footer(path)
        if path.suffix != ".jsonl" or not path.is_file():
            return False  # do not read a pipe, which can be read only once
        with path.open("rb") as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except OSError:
        return False  # reading the file later raises the error


def _is_report_at(place: Place) -> bool:
    if place.kind == "folder":
        return MANIFEST in place.files()
    if place.kind is None or not place.shown.endswith((".jsonl", ".parquet")):
        return False
    with place.open() as file:
        if place.shown.endswith(".jsonl"):
            return bool(file.read(len(_BEGINNING)) == _BEGINNING)
        file.seek(max(0, file.size() - _LONGEST_FOOTER))
        return _COLUMN in file.read()


def is_own(name: str) -> bool:
    """Return whether a file with that name in a report's directory belongs to the report."""
    return _OWN_FILE.fullmatch(name) is not None


def _footer(path: Path) -> bytes:
    """Return the last bytes of a file: a Parquet file names its columns there."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, SEEK_END) - _LONGEST_FOOTER))
        return file.read()
