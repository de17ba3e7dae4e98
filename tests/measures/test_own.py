"""Three measures that a user writes by the docs alone work in every output of a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from fullrecall import Gate, IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import ParameterError
from fullrecall.measures import MEASURES, GradedMeasure, Measure, calls
from fullrecall.measures.findings import Findings

OWN = """
from fullrecall.measures import GradedMeasure, Measure


class Novelty(GradedMeasure):
    text = "novelty"

    def count(self, findings, retrieved):
        return sum(finding.found_at() for finding in findings) / max(1, retrieved)


class Decay(Measure):
    text = "decay"

    p: float = 0.5

    def count(self, findings, retrieved):
        ranks = {rank for finding in findings for rank in finding.ranks}
        return sum((1 - self.p) * self.p ** (rank - 1) for rank in ranks) + 1e-16


class Holes(Measure):
    text = "holes"

    def count(self, findings, retrieved, sample):
        judged = {name for any_of, grade in sample.reference_context_ids for name in any_of}
        ids = sample.retrieved_context_ids[:retrieved]
        return sum(name not in judged for name in ids) / max(1, retrieved)
"""

ROWS = [
    {"id": "1", "retrieved_ids": ["a", "x", "b"], "expected_ids": {"a": 1, "b": 3, "n": 0}},
    {"id": "2", "retrieved_ids": ["n", "c"], "expected_ids": {"c": 2, "n": 0}},
]

EXPECTED = {
    "novelty(min_grade=2)@2": [0.0, 0.5],
    "decay(p=0.25)@2": [0.75, 0.1875],
    "holes@2": [0.5, 0.0],
}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Yield the file of the user's measures, and remove them from `MEASURES` afterwards."""
    monkeypatch.setattr("fullrecall.measures.MEASURES", MEASURES)
    before = dict(MEASURES)
    path = tmp_path / "own_measures.py"
    path.write_text(OWN)
    yield path  # type: ignore[misc]
    MEASURES.clear()
    MEASURES.update(before)


@pytest.fixture
def measures(own: Path) -> list[Measure]:
    """Return the measures with parameters and a k."""
    names: dict[str, Any] = {}
    exec(OWN, names)  # noqa: S102 - as a user's file
    return [names["Novelty"](min_grade=2) @ 2, names["Decay"](p=0.25) @ 2, names["Holes"]() @ 2]


@pytest.mark.rooms
def test_in_python(measures: list[Measure], tmp_path: Path) -> None:
    """A summary, a comparison, a gate, a page, and a saved report have the same values."""
    report = evaluate(ROWS, IdRecall(), progress=False)
    report.save(tmp_path / "report.parquet")
    loaded = Report.load(tmp_path / "report.parquet")
    for measure in measures:
        values = EXPECTED[measure.name]
        for each in (report, loaded):
            assert each.values(measure).tolist() == pytest.approx(values)
            results = [row.results[0][measure] for row in each.rows]
            assert results == pytest.approx(values)
            assert each.summary(measure)["id_recall"][measure].mean == pytest.approx(
                sum(values) / 2
            )
        score = IdRecall().score(**ROWS[0])  # type: ignore[arg-type]
        assert score[measure] == pytest.approx(values[0])
    assert compare(report, loaded, *measures)["id_recall"][measures[0]].difference == 0.0
    assert Gate(measures[0] >= 0.0).check(report).outcome == "pass"
    assert "decay(p=0.25)@2" in report.to_html(measures=measures)


@pytest.mark.rooms
def test_on_the_command_line(own: Path, tmp_path: Path) -> None:
    """`--measure app.py:NAME` takes parameters, a k, and thresholds."""
    from tests.cli.command_line import run

    samples, saved = tmp_path / "samples.jsonl", tmp_path / "report.jsonl"
    samples.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    names = {"Novelty(min_grade=2)@2", "Decay(p=0.25)@2", "Holes@2"}
    options = [part for name in sorted(names) for part in ("--measure", f"{own}:{name}")]
    done = run("evaluate", samples, "--output", saved, "--json", *options)
    assert done.exit_code == 0, done.output
    (score,) = json.loads(done.stdout)["scores"]
    means = {name: estimate["mean"] for name, estimate in score["measures"].items()}
    assert means == pytest.approx({name: sum(both) / 2 for name, both in EXPECTED.items()})
    gate = run("gate", saved, "--require", f"{own}:Holes@2>=0")
    assert gate.exit_code == 0, gate.output
    for wrong, problem in ((f"{own}:OWN@2", "cannot load"), ("json:loads", "is not a measure")):
        done = run("summary", saved, "--measure", wrong)
        assert done.exit_code == 2
        assert problem in " ".join(done.stderr.split())


class Seen(GradedMeasure):
    """A measure that records the findings and counts that it gets."""

    text = "seen"
    shown: ClassVar[list[tuple[Findings, int]]] = []

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return 1.0."""
        self.shown.append((findings, retrieved))
        return 1.0 + 1e-12


@pytest.mark.parametrize("cut", [2, calls(1)], ids=str)
def test_findings_and_contexts_are_cut_alike(cut: Any) -> None:
    """Ranks, steps, and evidence beyond a k or a budget are removed."""
    sample = Sample(
        retrieved_ids=["x", "a", "b"][: 3 if cut == 2 else 2], expected_ids=["a", ["b", "a"], "c"]
    )
    Seen.shown.clear()
    assert IdRecall().score(sample)[Seen() @ cut] == 1.0
    ((findings, retrieved),) = Seen.shown
    assert retrieved == 2
    assert [finding.ranks for finding in findings] == [(2,), (2,), ()]
    assert [finding.rank for finding in findings] == [2, 2, None]


@pytest.mark.parametrize("value", [1 + 1e-6, -1e-6, float("nan"), "1", None])
def test_values_out_of_range(value: Any) -> None:
    """A value beyond 0 to 1 by more than rounding is an error that names the measure."""

    class Wrong(Measure):
        text = "wrong"

        def count(self, findings: Findings, retrieved: int) -> float:
            """Return the value."""
            return value  # type: ignore[no-any-return]

    with pytest.raises(ParameterError, match="count must return a number from 0 to 1"):
        IdRecall().score(retrieved_ids=["a"], expected_ids=["a"])[Wrong()]


def test_a_number_of_numpy_is_a_value() -> None:
    """A value may be a number of NumPy that is no float of Python."""

    class Half(Measure):
        text = "half"

        def count(self, findings: Findings, retrieved: int) -> float:
            """Return one half."""
            return np.float32(0.5)  # type: ignore[return-value]

    assert IdRecall().score(retrieved_ids=["a"], expected_ids=["a"])[Half()] == 0.5


def test_counts_have_means_without_intervals() -> None:
    """A user's counts have a mean without an interval, and groups count once."""

    class Pairs(Measure):
        text = "pairs"
        is_count = True

        def count(self, findings: Findings, retrieved: int) -> float:
            """Return targets times contexts."""
            return float(len(findings) * retrieved)

    rows = [{**row, "group": "g"} for row in ROWS]
    for samples, mean in ((ROWS, 4.0), ([*rows, {**ROWS[0], "id": "3"}], 5.0)):
        (score,) = evaluate(samples, IdRecall(), progress=False).summary(Pairs())
        assert (score[Pairs()].mean, score[Pairs()].interval) == (mean, None)
        assert score[Pairs()].bounds is None
    with pytest.raises(ParameterError, match="is a count"):
        compare(*[evaluate(ROWS, IdRecall(), progress=False)] * 2, Pairs())
