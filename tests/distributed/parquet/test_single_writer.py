"""One process that writes a report: killed, interrupted, side by side with another."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest
from fullrecall.distributed.parquet import manifest, staging
from fullrecall.distributed.parquet.directory import Writer
from fullrecall.distributed.parquet.manifest import Manifest
from tests.distributed.parquet.made import RUNS

from fullrecall import Gate, Report, Sample
from fullrecall.errors import ReportError
from fullrecall.measures import Recall
from fullrecall.table.row import Row

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
from fullrecall.distributed.parquet import manifest, staging
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


@pytest.mark.parametrize("after", [0, 40, 150])
def test_an_interrupted_save_leaves_the_old_report(folder: Path, after: int) -> None:
    """Ctrl-C before the first part, between two, or near the end: nothing of the new one stays."""
    there, old = sorted(folder.iterdir()), list(Report.load(folder))
    report = Report.of(Report.open(folder).methods, old)

    class Interrupted(list[Row]):
        """Rows of which reading is interrupted."""

        def __iter__(self) -> Iterator[Row]:
            """Yield some of them."""
            yield from old[:after]
            raise KeyboardInterrupt

    report._rows = Interrupted(old)
    with pytest.raises(KeyboardInterrupt):
        report.save(folder)
    assert sorted(folder.iterdir()) == there
    assert list(Report.open(folder)) == old


def test_an_interrupted_end_leaves_a_whole_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C once parts were moved, and before the manifest: the old report, and no more later."""
    old = list(Report.load(folder))
    other = Report.of(Report.open(folder).methods, old[:60])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Manifest, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            other.save(folder)
    assert list(Report.open(folder)) == old
    other.save(folder)
    assert list(Report.open(folder)) == old[:60]
    assert len(list(folder.iterdir())) == 1 + 2


def test_two_that_write_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one writes, the other is refused; two that save take turns, and the last one stays."""
    monkeypatch.setattr(staging, "_PATIENCE", 0.0)
    report = Report.load(folder)
    with Writer(folder, report.methods) as running:
        running.write(report[0])
        with pytest.raises(ReportError, match="is being written by another run: wait for its end"):
            report.save(folder)
        with (
            pytest.raises(ReportError, match="is being written by another run"),
            Writer(folder, report.methods),
        ):
            pass
    assert list(Report.open(folder)) == [report[0]]
    with (
        Writer(folder, report.methods, replace=True) as one,
        Writer(folder, report.methods, replace=True) as two,
    ):
        for row in report:
            one.write(row)
        two.write(report[3])
    ended = Report.open(folder)  # the inner one ends first, and the outer one takes its place
    assert [row.sample for row in ended] == [row.sample for row in report]
    assert len(list(folder.iterdir())) == 1 + len(manifest.read(folder).parts)
