"""Fixtures of the command line's tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.judge.conftest import endpoint  # noqa: F401 - a fixture


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes rows, or a text, to a file and returns its path."""

    def written(rows: list[Any] | str | bytes, name: str = "samples.jsonl") -> Path:
        path = tmp_path / name
        if isinstance(rows, bytes):
            path.write_bytes(rows)
        else:
            lines = rows if isinstance(rows, str) else "".join(f"{json.dumps(r)}\n" for r in rows)
            path.write_text(lines, encoding="utf-8")
        return path

    return written
