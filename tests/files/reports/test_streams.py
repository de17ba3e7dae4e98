"""A stream is written as it arrives: no row stays in memory, and a killed run keeps its rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.files.reports import made

from fullrecall import Gate, IdRecall, Report, TextRecall, evaluate
from fullrecall.errors import InputError, Interrupted
from fullrecall.files.reports import parquet
from fullrecall.files.reports.row_groups import RowGroup
from fullrecall.measures import Recall
from fullrecall.report import Outcome


def ids(count: int, *, graded: bool = False) -> Iterator[dict[str, Any]]:
    """Yield samples of IDs alone; if `graded`, a few of them have grades other than 1."""
    for n in range(count):
        retrieved = [f"d{(n * 7 + rank * 3) % 50}" for rank in range(10)]
        names = [f"d{n % 50}", f"d{n % 9}", f"d{n % 50}"]
        yield {
            "id": f"q{n}",
            "retrieved_context_ids": retrieved,
            "reference_context_ids": dict.fromkeys(names, 1 + (n % 40 == 0)) if graded else names,
        }


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use row groups of 100 rows, so that a test has many groups."""
    monkeypatch.setattr(parquet, "GROUP_ROWS", 100)


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet"])
@pytest.mark.parametrize("by", [(IdRecall(),), (IdRecall(), TextRecall())])
def test_the_report_is_that_of_memory(name: str, by: Any, tmp_path: Path) -> None:
    """A streamed report equals one in memory to the bit, for every kind of sample."""
    for number, some in enumerate([list(ids(450)), made.samples(150)]):
        expected = evaluate(some, by, progress=False)
        report = evaluate(some, by, progress=False, output=tmp_path / f"{number}{name}")
        assert list(report) == list(expected)
        assert report.summary().to_dict() == expected.summary().to_dict()
        assert (report.complete, report.spent is not None) == (True, True)
        if name == "r.parquet":
            assert all(isinstance(part, RowGroup) for part in report.table.parts)
            assert len(report.table.parts) > 1


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("largest", [7, 64, 999])
def test_the_same_rows_give_the_same_files(
    largest: int, *, graded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files do not depend on how many rows a slow source yields at once."""

    def written(name: str) -> Report:
        rows = ids(1_050, graded=graded)
        return evaluate(rows, IdRecall(), output=tmp_path / name, progress=False)

    expected = written("a.parquet")
    monkeypatch.setattr("fullrecall._util.pieces._LARGEST", largest)
    written("b.parquet")
    ours, theirs = (sorted((tmp_path / name).glob("part-*")) for name in ("a.parquet", "b.parquet"))
    assert [path.read_bytes() for path in ours] == [path.read_bytes() for path in theirs]
    assert [len(part) for part in expected.table.parts] == [*[100] * 10, 50]
    in_memory = evaluate(ids(1_050, graded=graded), IdRecall(), progress=False)
    assert list(Report.load(tmp_path / "b.parquet")) == list(in_memory)


def test_rows_that_files_divide_become_no_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a chunk that is divided between two files stay columns, and become no samples."""

    def made(*_: object) -> None:
        raise AssertionError("a sample was made")

    monkeypatch.setattr("fullrecall.scorers.id_samples.IdSamples.__getitem__", made)
    monkeypatch.setattr("fullrecall._util.pieces._LARGEST", 64)
    report = evaluate([*ids(450)], IdRecall(), output=tmp_path / "r.parquet", progress=False)
    assert [len(part) for part in report.table.parts] == [*[100] * 4, 50]


def test_rows_of_many_bytes_end_a_file_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is written once its rows have enough bytes, so that memory stays bounded."""
    monkeypatch.setattr(parquet, "_GROUP_BYTES", 1)
    monkeypatch.setattr("fullrecall._util.pieces._LARGEST", 20)
    report = evaluate(ids(60), IdRecall(), output=tmp_path / "r.parquet", progress=False)
    assert len(report.table.parts) >= 3


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a report that cannot be written is an error."""

    def full(_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(parquet.ParquetWriter, "finish", full)
    with pytest.raises(OSError, match="no space left"):
        made.report(3).save(tmp_path / "r.parquet")


def test_a_bad_sample_ends_the_run_and_keeps_what_came_before(tmp_path: Path) -> None:
    """The error has the report of the samples before the bad one, read from the file."""
    path = tmp_path / "r.parquet"
    with pytest.raises(InputError) as stopped:
        evaluate([*ids(330), {"no such field": 1}], IdRecall(), output=path, progress=False)
    report = stopped.value.report
    assert len(report) == len(Report.open(path)) == 330
    assert "no such field" in (Report.open(path).stopped or "")


def test_ctrl_c_keeps_what_came_before(tmp_path: Path) -> None:
    """Ctrl-C keeps the rows that still waited for a full row group, too."""

    def interrupted() -> Iterator[dict[str, Any]]:
        yield from ids(130)
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        evaluate(interrupted(), IdRecall(), output=tmp_path / "r.parquet", progress=False)
    assert stopped.value.report.stopped == "the run was interrupted"
    assert Report.open(tmp_path / "r.parquet").stopped == "the run was interrupted"


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet"])
def test_a_killed_run_leaves_what_it_had(name: str, tmp_path: Path) -> None:
    """The file of a killed run opens, says that it has no end, and passes no gate."""
    program = """
import os, signal, sys
from tests.files.reports.test_streams import ids
from fullrecall import IdRecall, evaluate
from fullrecall._util import pieces
from fullrecall.files.reports import parquet
parquet.GROUP_ROWS = pieces._LARGEST = 100
def killed():
    yield from ids(1_000)
    os.kill(os.getpid(), signal.SIGKILL)
evaluate(killed(), IdRecall(), output=sys.argv[1], progress=False)
"""
    path = tmp_path / name
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    killed = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=False, env=environment
    )
    assert killed.returncode == -signal.SIGKILL
    report = Report.open(path)
    assert len(report) >= 800
    assert "has no end" in (report.stopped or "")
    assert Gate(Recall >= 0.0).check(report).outcome is Outcome.CANNOT_TELL
    expected = evaluate(ids(len(report)), IdRecall(), progress=False)
    assert list(report) == list(expected)


def test_columns_that_were_streamed_are_not_kept(tmp_path: Path) -> None:
    """The cache keeps a bounded number of bytes of any report, and the values stay right."""
    from fullrecall.files.reports import row_groups

    report = evaluate(ids(2_000), IdRecall(), progress=False, output=tmp_path / "r.parquet")
    cache = row_groups.Cache(20_000)
    report.table.parts[0]._files.kept = cache  # type: ignore[attr-defined]
    expected = evaluate(ids(2_000), IdRecall(), progress=False)
    for measure in made.MEASURES:
        assert np.array_equal(report.values(measure), expected.values(measure), equal_nan=True)
    assert 10_000 < cache.size < 40_000
