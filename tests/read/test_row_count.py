"""How many rows a file holds, told before it is read: the number that reading it gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fullrecall.cli import app
from fullrecall.read import read
from fullrecall.read.row_count import row_count
from fullrecall.run import progress
from fullrecall.run.progress import Progress
from fullrecall.usage import Spent

ROW = {"user_input": "two\nlines, and a comma", "retrieved_ids": ["a"], "expected_ids": ["a"]}
LINE = json.dumps(ROW)
RECORD = '"two\nlines, and a comma","[""a""]","[""a""]"'
HEADER = "user_input,retrieved_context_ids,reference_context_ids"


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.jsonl", f"{LINE}\n{LINE}\n", 2),
        ("a.ndjson", f"\n{LINE}\n  \n{LINE}", 2),
        ("a.csv", f"\ufeff{HEADER}\n{RECORD}\n{RECORD}\n{RECORD}\n", 3),
    ],
)
def test_it_is_what_reading_gives(name: str, text: str, rows: int, tmp_path: Path) -> None:
    """Blank lines, cells of several lines, a byte order mark, no newline at the end."""
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert row_count(path) == len(list(read(path))) == rows


def test_parquet_says_it(tmp_path: Path) -> None:
    """Without reading a row."""
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")
    pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    pq.write_table(pa.Table.from_pylist([ROW] * 7), tmp_path / "a.parquet")
    assert row_count(tmp_path / "a.parquet") == 7


@pytest.mark.parametrize("name", ["a.json", "a.jsonl.gz", "-", "none.jsonl", "bad.parquet"])
def test_what_does_not_say(name: str, tmp_path: Path) -> None:
    """No number is better than a wrong one; what is wrong with a file its reader says."""
    path = tmp_path / name
    if not name.startswith(("-", "none")):
        path.write_bytes(b"[{}]")
    assert row_count(path) is None


def test_the_time_left_is_said() -> None:
    """Where there is a total: the share that is done, and how long the rest takes at this pace."""
    spent = Spent(seconds=50.0)
    assert str(Progress(250, 1_000, 250, 0, spent)) == "250/1,000 samples (25%), 5/s, 2:30 left"
    assert str(Progress(250, 10**6, 250, 0, spent)).endswith("(0%), 5/s, 55:32:30 left")
    assert str(Progress(250, None, 250, 0, spent)) == "250 samples, 5/s"


def test_the_command_line_tells_the_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the files say goes to the display, whatever reads them."""
    told: list[int | None] = []
    made = progress.Meter.__init__

    def meter(self: progress.Meter, account: Any, **options: Any) -> None:
        told.append(options["total"])
        made(self, account, **options)

    monkeypatch.setattr(progress.Meter, "__init__", meter)
    path = tmp_path / "a.jsonl"
    path.write_text(f"{LINE}\n" * 3, "utf-8")
    assert CliRunner().invoke(app, ["evaluate", str(path), str(path)]).exit_code == 0
    path.rename(tmp_path / "a.jsonl.none")
    again = ["evaluate", str(tmp_path / "a.jsonl.none"), "--format", "jsonl"]
    assert CliRunner().invoke(app, again).exit_code == 0
    assert told in ([6, None], [3, None])  # a file that is named twice is read once
