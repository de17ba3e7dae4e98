"""Folders of golden sets: files of one kind, in subfolders that name columns, such as kind=faq."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from fullrecall._util.extras import pyarrow
from fullrecall._util.naming import parameter
from fullrecall._util.places import Place, address_of, partitions_of, shown_path
from fullrecall.errors import InputError
from fullrecall.files.containers import FileRows, kind_of, rows_of_file


class Partition(NamedTuple):
    """A file, and the columns that its folders name."""

    path: str
    columns: dict[str, str | None]


def partitions(folder: str, kind: str | None) -> tuple[str, list[Partition]]:
    """Return the kind of the files in a folder, and each file with its columns.

    Raises `InputError` unless all are of one kind, and are Parquet or in folders that name columns.
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
    if kind == "parquet":  # raised at the call, before the first row
        pyarrow("reading Parquet")
    return _rows(parts, kind, left_out)


def _rows(parts: list[Partition], kind: str, left_out: AbstractSet[str]) -> FileRows:
    for part in parts:
        try:
            for number, row in rows_of_file(part.path, kind, left_out):
                yield number, {**part.columns, **row} if part.columns else row
        except InputError as error:
            raise error.at(path=shown_path(part.path)) from error.__cause__


def _files(folder: str) -> list[str]:
    """Return the names of the files in a folder, relative to it; hidden ones are left out."""
    if address_of(folder) is None:
        paths = (each.relative_to(folder) for each in Path(folder).rglob("*") if each.is_file())
        names = sorted(path.as_posix() for path in paths)
    else:
        names = Place(folder, InputError).files()
    return [name for name in names if not any(p.startswith((".", "_")) for p in name.split("/"))]
