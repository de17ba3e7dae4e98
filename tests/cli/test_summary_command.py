"""`fullrecall summary`: the summary of a saved report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.command_line import run
from tests.precision_by_id import PrecisionById

from fullrecall import IdRecall, Report, Sample, SpanRecall, evaluate
from fullrecall.measures import AllFound, nDCG


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A report in which every target is in the first three contexts."""
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
    """The command prints the same table as the report itself."""
    done = run("summary", saved)
    assert done.exit_code == 0
    table = str(Report.load(saved).summary()).split("samples")[0]
    assert done.stdout.startswith(table.split("\n\n")[0])
    plain = json.loads(run("summary", saved, "--json").stdout)
    assert plain == json.loads(json.dumps(Report.load(saved).summary().to_dict()))


def test_any_measure_is_shown(saved: Path) -> None:
    """--measure shows any measure, computed from a saved report."""
    measures = ("--measure", "ndcg(gain=exponential)@2", "--measure", "all_found@3")
    plain = json.loads(run("summary", saved, *measures, "--json").stdout)
    expected = Report.load(saved).summary(nDCG(gain="exponential") @ 2, AllFound @ 3)
    assert plain == json.loads(json.dumps(expected.to_dict()))
    assert "all_found@3" in run("summary", saved, *measures).stdout


def test_what_is_wrong_is_told(saved: Path) -> None:
    """Wrong input exits with 2 and one sentence, without a traceback."""
    done = run("summary", saved, "--measure", "x")
    assert done.exit_code == 2
    assert "no measure 'x': choose one of" in re.sub(r"[\s│]+", " ", done.stderr)


def test_the_smallest_k_is_found(saved: Path) -> None:
    """The smallest k is found in contexts or calls; exit 3 if no k reaches the target."""
    result = run("smallest-k", saved, "--target", 0.9, "--score", "id_recall")
    assert result.exit_code == 0
    assert "id_recall reaches 0.9 at k = 3: at least 0.951" in result.output
    result = run("smallest-k", saved, "--target", 0.99, "--score", "id_recall", "--json")
    assert (result.exit_code, json.loads(result.output)["k"]) == (3, None)
    result = run("smallest-k", saved, "--target", 0.9, "--score", "id_recall", "--unit", "pages")
    assert result.exit_code == 2
    assert "--unit" in result.output
    result = run("smallest-k", saved, "--target", 0.9, "--score", "id_recall", "--measure", "hit")
    assert "id_recall" in result.output
    assert "expected one measure" not in result.output
    result = run("smallest-k", saved, "--target", 0.9, "--measure", "hit", "--measure", "rr")
    assert (result.exit_code, "expected one measure, got 2" in result.output) == (2, True)
