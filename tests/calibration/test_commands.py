"""`fullrecall judge label` and `judge calibrate`: from a report to labels to a corrected mean."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.cli import command_line

from fullrecall import Report
from fullrecall.read import read_labels


@pytest.fixture
def saved(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a saved report, in the working directory."""
    monkeypatch.chdir(tmp_path)
    report.save("report.jsonl")
    return Path("report.jsonl")


def run(*words: str | Path, code: int = 0) -> str:
    """Return a command's output, on both streams; its exit code is checked."""
    done = command_line.run(*words)
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def fill(path: Path, label: str = "supported") -> None:
    """Label the claims that a drawing has not labeled yet."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "label": row["label"] or label} for row in rows)


def test_from_report_to_corrected_mean(saved: Path) -> None:
    """Label, fill in, calibrate: the output has the next step and the figures."""
    told = run("judge", "label", saved, "-n", "30", "-o", "labels.csv")
    assert "30 claims of" in told
    assert "written to labels.csv" in told
    assert "fullrecall judge calibrate report.jsonl labels.csv" in told
    fill(Path("labels.csv"))
    shown = run("judge", "calibrate", saved, "labels.csv")
    assert "corrected (prediction-powered) 1.000" in shown
    assert "30 of 52 claims labeled" in shown
    plain = json.loads(command_line.run("judge", "calibrate", saved, "labels.csv", "--json").stdout)
    assert plain["corrected"]["value"] == pytest.approx(1)


def test_more_labels(saved: Path) -> None:
    """A larger drawing takes over the labels of a smaller one."""
    run("judge", "label", saved, "-n", "20", "-o", "labels.csv")
    fill(Path("labels.csv"))
    run("judge", "label", saved, "-n", "40", "--labels", "labels.csv", "-o", "more.csv")
    assert len(read_labels("more.csv")) >= len(read_labels("labels.csv")) > 0


def test_a_drawing_that_is_too_small(saved: Path) -> None:
    """A drawing that is too small is an error that says how many samples calibration needs."""
    told = run("judge", "label", saved, "-n", "5", "-o", "few.csv")
    assert "needs labels in at least 10 samples" in told
    assert "Note" not in run("judge", "label", saved, "-n", "30", "-o", "enough.csv")


def test_wrong_usage_and_input(saved: Path) -> None:
    """Wrong usage and input exit with 2, and the message names the mistake."""
    run("judge", "label", saved, "-n", "30", "-o", "labels.csv")
    assert "Error: labels.csv no claim is labeled: fill in the column label" in run(
        "judge", "calibrate", saved, "labels.csv", code=2
    )
    Path("bad.csv").write_text("item,label\nc1,maybe\n", "utf-8")
    assert "bad.csv, line 2" in run("judge", "calibrate", saved, "bad.csv", code=2)
    Path("other.csv").write_text("item,label\nc1,yes\n", "utf-8")
    assert "other.csv" in run("judge", "calibrate", saved, "other.csv", code=2)
    told = run("judge", "label", saved, "-n", "9", "--labels", "other.csv", "-o", "n.csv", code=2)
    assert "match no claim" in told
    assert not Path("n.csv").exists()
    assert "missing.jsonl" in run("judge", "calibrate", "missing.jsonl", "labels.csv", code=2)
