"""`fullrecall summary`: what a saved report adds up to, and the smallest k that would do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.precision_by_id import PrecisionById
from typer.testing import CliRunner

from fullrecall import IdRecall, Report, Sample, SpanRecall, evaluate
from fullrecall.cli import app
from fullrecall.measures import AllFound, Hit, Recall, nDCG


def run(*arguments: object) -> Any:
    """Run the command line in this process; whatever is no exit is raised."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A report in which everything stands in the first three contexts."""
    samples = [
        Sample(
            retrieved_contexts=[
                {"id": str((n + at) % 3), "text": f"text {(n + at) % 3}"} for at in range(5)
            ],
            expected_ids=["2"],
            reference_contexts=["text 2"],
        )
        for n in range(60)
    ]
    path = tmp_path / "report.jsonl"
    scorers = [IdRecall(), SpanRecall(), PrecisionById()]
    evaluate(samples, scorers, progress=False).save(path)
    return path


def test_it_prints_the_summary(saved: Path) -> None:
    """The table of the report, as it prints itself."""
    done = run("summary", saved)
    assert done.exit_code == 0
    table = str(Report.load(saved).summary()).split("samples")[0]
    assert done.stdout.startswith(table.split("\n\n")[0])
    plain = json.loads(run("summary", saved, "--json").stdout)
    assert plain == json.loads(json.dumps(Report.load(saved).summary().to_dict()))


def test_the_smallest_k_of_each_recall(saved: Path) -> None:
    """One sentence for each score that measures recall, as `Report.smallest_k` has it."""
    done = run("summary", saved, "--smallest-k", "0.9")
    text = " ".join(done.stdout.split())
    report = Report.load(saved)
    for score in ("id_recall", "span_recall"):
        found = report.smallest_k(0.9, score=score)
        assert found.k == 3
        assert found.reason in text
    assert "context_precision, " not in text


def test_any_measure_is_shown(saved: Path) -> None:
    """--measure is what is read of each score, of a report that was saved before."""
    measures = ("--measure", "ndcg(gain=exponential)@2", "--measure", "all_found@3")
    plain = json.loads(run("summary", saved, *measures, "--json").stdout)
    expected = Report.load(saved).summary(nDCG(gain="exponential") @ 2, AllFound @ 3)
    assert plain == json.loads(json.dumps(expected.to_dict()))
    assert "all_found@3" in run("summary", saved, *measures).stdout


def test_its_options(saved: Path) -> None:
    """Other measures, whatever their k, another confidence."""
    options = ("--score", "id_recall", "--measure", "hit@9", "-m", "recall(min_grade=2)")
    more = ("--confidence", "0.8", "--json")
    plain = json.loads(run("summary", saved, "--smallest-k", "0.9", *options, *more).stdout)
    report = Report.load(saved)
    expected = [
        report.smallest_k(0.9, one, confidence=0.8, score="id_recall").to_dict()
        for one in (Hit, Recall(min_grade=2.0))
    ]
    assert plain["smallest_k"] == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--smallest-k", "1.5"), "'--smallest-k': must be from 0 to 1, got 1.5"),
        (("--smallest-k", "0.9", "--score", "x"), "no score 'x' in the report"),
        (("--smallest-k", "0.9", "--measure", "x"), "no measure 'x': choose one of"),
        (("--smallest-k", "0.9", "--confidence", "1"), "--confidence must be"),
        (("--score", "id_recall"), "--score: needs --smallest-k"),
    ],
)
def test_what_is_wrong_is_told(saved: Path, options: tuple[str, ...], told: str) -> None:
    """Exit 2 and one sentence, no traceback."""
    done = run("summary", saved, *options)
    assert done.exit_code == 2
    assert told in re.sub(r"[\s│]+", " ", done.stderr)


def test_a_report_without_recall(tmp_path: Path) -> None:
    """There is nothing to look for, and that is said."""
    path = tmp_path / "report.jsonl"
    sample = Sample(retrieved_ids=["a"], expected_ids=["a"])
    evaluate([sample], PrecisionById(), progress=False).save(path)
    done = run("summary", path, "--smallest-k", "0.9")
    assert (done.exit_code, "has no recall score" in done.stdout) == (0, True)
