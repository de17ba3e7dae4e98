"""How many samples there are, told before they are read: what the display divides by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fullrecall.cli import app
from fullrecall.run import progress

LINE = json.dumps({"user_input": "a, b", "retrieved_ids": ["a"], "expected_ids": ["a"]})


@pytest.mark.parametrize(("name", "total"), [("a.jsonl", 3), ("a.jsonl.none", None)])
def test_the_command_line_tells_the_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, total: int | None
) -> None:
    """The lines of a file that are not blank; no number is better than a wrong one."""
    told: list[int | None] = []
    made = progress.Meter.__init__

    def meter(self: progress.Meter, account: Any, **options: Any) -> None:
        told.append(options["total"])
        made(self, account, **options)

    monkeypatch.setattr(progress.Meter, "__init__", meter)
    path = tmp_path / name
    path.write_text(f"\n{LINE}\n  \n{LINE}\n{LINE}", "utf-8")
    command = ["evaluate", str(path), str(path)]  # a file that is named twice is read once
    command += [] if total else ["--format", "jsonl"]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert told == [total]
