"""One process that writes a report: killed, interrupted, side by side with another."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest
from tests.distributed.parquet.made import RUNS

from fullrecall import Gate, Report, Sample
from fullrecall.distributed.parquet.directory import Writer
from fullrecall.errors import ReportError
from fullrecall.measures import Recall

pytest.importorskip("pyarrow", reason="needs the parquet extra")


def test_what_is_killed_leaves_the_old_report(folder: Path) -> None:
    """An error half way through a save keeps what was there, and no file of its own."""
    there = sorted(folder.iterdir())
    old = list(Report.load(folder))
    broken = [*old[:100], replace(old[100], sample=Sample(metadata={"odd": {1, 2}}))]
    with pytest.raises(ReportError, match="odd"):
        Report.of(Report.open(folder).methods, broken).save(folder)
    assert sorted(folder.iterdir()) == there
    assert list(Report.open(folder)) == old
    Report.of(Report.open(folder).methods, old[:50]).save(folder)
    assert list(Report.open(folder)) == old[:50]
    assert len(list(folder.iterdir())) == 1 + 2


def test_a_run_that_goes_on_says_so(tmp_path: Path, folder: Path) -> None:
    """Whole parts can be read while the rest comes; the gate cannot tell."""
    rows = list(Report.load(folder))
    writer = Writer(tmp_path / "going", Report.open(folder).methods)
    with writer:
        assert len(Report.open(tmp_path / "going")) == 0
        for row in rows[:80]:
            writer.write(row)
        going = Report.open(tmp_path / "going")
        assert list(going) == rows[:74]
        assert not going.complete
        (check,) = Gate(Recall >= 0.0, scores=["id_recall"]).check(going).checks
        assert "killed or is still running" in check.reason
    whole = Report.open(tmp_path / "going")
    assert list(whole) == rows[:80]
    second = Writer(tmp_path / "going", whole.methods)
    with suppress(RuntimeError), second:
        second.write(rows[0])
        raise RuntimeError("no more")
    ended = Report.open(tmp_path / "going")
    assert list(ended) == rows[:1]
    assert "no more" in str(ended.stopped)


_SAVING = """
import sys
from fullrecall import Report
from fullrecall.distributed.parquet import directory
directory.GROUP = 5
new = Report.load(sys.argv[1])
print("ready", flush=True)
while True:
    new.save(sys.argv[2])
"""


def test_a_killed_save_leaves_a_whole_report(tmp_path: Path, folder: Path) -> None:
    """Whenever it is killed, what is there is the one report or the other, and is read."""
    report = Report.load(folder)
    other = Report.of(report.methods, list(report)[:60])
    other.save(tmp_path / "other.jsonl")
    command = [sys.executable, "-c", _SAVING, str(tmp_path / "other.jsonl"), str(folder)]
    for pause in (0.0, 0.013, 0.031)[: 1 + RUNS]:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            sleep(pause)
            process.send_signal(signal.SIGKILL)
        assert list(Report.open(folder)) in (list(report), list(other))
    report.save(folder)
    assert len(list(folder.iterdir())) == 1 + 6  # nothing is left of what was killed


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path, folder: Path) -> None:
    """Nothing is written into, or removed from, a directory that is not a report's."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(ReportError, match="has other files"):
        Report.open(folder).save(tmp_path / "mine")
    (tmp_path / "data.parquet").write_text("x")
    with pytest.raises(ReportError, match="is a file"):
        Report.open(folder).save(tmp_path / "data.parquet")
    with pytest.raises(ReportError, match="is a file"):
        Report.open(tmp_path / "data.parquet")
