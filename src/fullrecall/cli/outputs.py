"""Check that a file may be written, so that no file of the user is lost."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from fullrecall._util.places import address_of
from fullrecall.cli.options import bad_option
from fullrecall.files.reports.signature import is_report

REPORTS = (".jsonl", ".parquet")


def check_output(
    path: Path,
    option: str = "--output",
    endings: Collection[str] = (),
    *,
    inputs: Iterable[Path | None] = (),
    replace: bool = False,
    way_out: str = "name another file",
) -> None:
    """Raise `typer.BadParameter` if `path` cannot, or must not, be written.

    It must not be one of the `inputs`; its name must have one of the `endings`, if any are given;
    its directory must exist; an existing file must have been written by fullrecall, and is refused
    without `replace`. The writer checks addresses.
    """
    is_here = address_of(path) is None
    read_from = [file for file in inputs if file is not None and file.exists()]
    if is_here and path.exists() and any(map(path.samefile, read_from)):
        raise bad_option(option, f"must not be an input file, got {path}")
    if endings and path.suffix not in endings:
        raise bad_option(option, f"must end in {' or '.join(endings)}, got {path.name!r}")
    if not is_here:
        return
    if not path.exists():
        if not path.parent.is_dir():
            raise bad_option(option, f"no directory {path.parent}")
        return
    if path.is_dir() and path.suffix != ".parquet":
        raise bad_option(option, f"{path} is a directory: name a file")
    if not _is_ours(path):
        raise bad_option(option, f"{path} exists and is not a saved report: name another file")
    if not replace:
        raise bad_option(option, f"{path} exists: {way_out}")


def _is_ours(path: Path) -> bool:
    """Return whether a file is empty or was written by fullrecall."""
    if path.is_dir():
        return is_report(path)
    # Reports and pages name fullrecall at their beginning, so that any other file is kept.
    with path.open("rb") as file:
        head = file.read(1024)
    return not head or b"fullrecall" in head


def append(path: Path, text: str) -> None:
    """Add a text to a file, such as the one at $GITHUB_STEP_SUMMARY."""
    # UTF-8 cannot encode half of an emoji in a question; its escape is written instead.
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
