"""A file that must not be written is refused before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from fullrecall.cli.options import check_output


@pytest.mark.parametrize(
    ("name", "options", "refusal"),
    [
        ("new.jsonl", {}, ""),
        ("new.jsonl", {"endings": [".jsonl", ".parquet"]}, ""),
        ("new.txt", {"endings": [".jsonl", ".parquet"]}, "must end in .jsonl or .parquet"),
        ("absent/new.jsonl", {}, "no directory"),
        ("ours.jsonl", {}, "exists: name another file"),
        ("ours.jsonl", {"replace": True}, ""),
        ("ours.jsonl", {"replace": True, "inputs": ["ours.jsonl"]}, "must not be an input"),
        ("ours.jsonl", {"replace": True, "inputs": [None, "absent.jsonl", "notes.txt"]}, ""),
        ("new.jsonl", {"inputs": ["notes.txt"]}, ""),
        ("notes.txt", {"replace": True}, "is not a saved report"),
        ("late.jsonl", {"replace": True}, "is not a saved report"),
        ("empty.jsonl", {"replace": True}, ""),
        ("empty.jsonl", {}, "exists"),
        ("folder", {"replace": True}, "is a directory: name a file"),
        ("folder.parquet", {"replace": True}, "is not a saved report"),
        ("s3://bucket/new.jsonl", {}, ""),
        ("s3://bucket/new.txt", {"endings": [".jsonl"]}, "must end in .jsonl"),
    ],
)
def test_a_file_that_must_not_be_written_is_refused(
    name: str, options: dict[str, Any], refusal: str, tmp_path: Path
) -> None:
    """Inputs, other endings, absent directories, and files that fullrecall did not write."""
    (tmp_path / "ours.jsonl").write_text('{"kind": "fullrecall report"}')
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "late.jsonl").write_text(" " * 1024 + "fullrecall")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    path = Path(name) if ":" in name else tmp_path / name
    more = dict(options)
    files = [each and tmp_path / each for each in more.pop("inputs", ())]
    if not refusal:
        check_output(path, inputs=files, **more)
        return
    with pytest.raises(typer.BadParameter, match=refusal):
        check_output(path, inputs=files, **more)
