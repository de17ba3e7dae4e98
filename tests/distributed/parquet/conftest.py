"""A few hundred rows go through what millions do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fullrecall.distributed import spill
from fullrecall.distributed.parquet import directory, part, stored_rows
from tests.distributed.parquet.made import run, samples

pytest.importorskip("pyarrow", reason="needs the parquet extra")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred rows go through what millions do: many parts, row groups, splits and files."""
    monkeypatch.setattr(directory, "GROUP", 37)
    monkeypatch.setattr(part, "GROUP", 17)
    monkeypatch.setattr(spill, "FILE_ROWS", 50)
    monkeypatch.setattr(spill, "GATHERED", 40)
    monkeypatch.setattr(stored_rows, "_MOST_EQUAL", 20)
    monkeypatch.setattr(stored_rows, "_MOST_GROUPS", 30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved report of several parts."""
    path = tmp_path / "report.parquet"
    run(samples(random.Random(2), 200, repeats=0, groups=0.3)).save(path)
    return path
