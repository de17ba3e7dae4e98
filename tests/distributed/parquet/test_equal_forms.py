"""A report as a directory is the same report."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.distributed.parquet.made import (
    MEASURES,
    RUNS,
    FirstLetter,
    odd_rows,
    replace_id,
    run,
    samples,
    stored,
)

from fullrecall import Gate, IdRecall, Report
from fullrecall.diagnosis import diagnose
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import Hit, Recall, nDCG

pytest.importorskip("pyarrow", reason="needs the parquet extra")


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.parametrize(("repeats", "groups"), [(0, 0), (0.2, 0), (0, 0.6), (0.2, 0.6)])
def test_both_forms_are_the_same_report(
    tmp_path: Path, seed: int, repeats: float, groups: float
) -> None:
    """Whatever is asked of a report, its directory answers as its file does."""
    report = run(samples(random.Random(seed), 90, repeats=repeats, groups=groups))
    parts = stored(report, tmp_path / "report.parquet")
    assert len(list(tmp_path.glob("report.parquet/*.parquet"))) > 2
    assert list(parts) == list(report) == list(Report.load(tmp_path / "report.parquet"))
    assert parts[7] == report[7]
    assert list(parts[-3:]) == list(report[-3:])
    assert parts.groups == report.groups
    assert parts.summary().to_dict() == report.summary().to_dict()
    assert parts.summary(*MEASURES).to_dict() == report.summary(*MEASURES).to_dict()
    assert parts.summary(FirstLetter()).to_dict() == report.summary(FirstLetter()).to_dict()
    assert parts.metrics() == report.metrics()
    if not repeats:
        assert Report.of_totals([parts.totals()]).metrics() == report.metrics()
    missed, expected = parts.missed(2), report.missed(2)
    assert list(missed) == expected
    assert list(missed) == expected, "each pass reads anew"
    assert len(missed) == len(expected)
    assert missed[:3] == expected[:3]
    for place in {0, len(expected) // 2, -1} if expected else ():
        assert missed[place] == expected[place]
    with pytest.raises(IndexError, match=f"there are {len(expected):,}"):
        missed[len(expected)]
    for by in ("kind", "deep.er", lambda row: len(row.results), *(["group"] if groups else [])):
        assert parts.slices(by, score="id_recall") == report.slices(by, score="id_recall")
    for target in (0.02, 0.9):
        asked = {"score": "id_recall", "measure": Hit}
        assert parts.smallest_k(target, **asked) == report.smallest_k(target, **asked)
    assert parts.to_csv() == report.to_csv()
    assert diagnose(parts).to_dict() == diagnose(report).to_dict()
    rules = (Recall @ 3 >= 0.05, nDCG >= 0.6)
    assert Gate(*rules, scores=["id_recall"]).check(parts) == Gate(
        *rules, scores=["id_recall"]
    ).check(report)


def test_scores_as_arrow_batches(tmp_path: Path) -> None:
    """The columns of `to_frame`, some rows at a time, from either form."""
    report = run(samples(random.Random(1), 60, repeats=0, groups=0.1))
    table = report.to_arrow(Recall @ 3).read_all()
    assert table.equals(stored(report, tmp_path / "r.parquet").to_arrow(Recall @ 3).read_all())
    assert table.column_names == list(report.to_frame(Recall @ 3).columns)
    assert table["id_recall@3"].to_pylist() == [row.results[0][Recall @ 3] for row in report]
    assert str(table.schema.field("id_recall@3").type) == "double"


def test_all_that_a_result_can_hold_comes_back(tmp_path: Path) -> None:
    """Evidence, alternatives, united lists, usage, reasons, half an emoji: nothing is lost."""
    report = Report.of(*odd_rows())
    report.stopped = "a budget"
    opened = stored(report, tmp_path / "r.parquet")
    assert list(opened) == list(report)
    assert opened.stopped == "a budget"
    assert opened.summary().to_dict() == report.summary().to_dict()
    opened.save(tmp_path / "back.jsonl")
    report.save(tmp_path / "r.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "r.jsonl").read_bytes()
    assert list(stored(Report.load(tmp_path / "r.jsonl"), tmp_path / "again.parquet")) == list(
        report
    )


def test_an_empty_report_is_one(tmp_path: Path) -> None:
    """No sample at all is saved and opened, in a directory that ends in a slash too."""
    report = Report([IdRecall().method])
    report.save(f"{tmp_path}/empty/")
    opened = Report.open(tmp_path / "empty")
    assert len(opened) == 0
    assert opened.complete
    assert opened.summary().to_dict() == report.summary().to_dict()


def test_a_row_is_found_by_its_id(tmp_path: Path) -> None:
    """By its label or by its place; what is not there is refused as in memory."""
    given = samples(random.Random(4), 60, repeats=0, groups=0)
    report = run([*given, replace_id(given[3], None), given[5]])
    opened = stored(report, tmp_path / "r.parquet")
    assert opened["q7"] == report["q7"]
    assert opened["#61"] == report["#61"]
    for wrong in ("q5", "q99", "#3"):
        told = []
        for each in (opened, report):
            with pytest.raises(KeyError) as caught:
                each[wrong]
            told.append(str(caught.value))
        assert told[0] == told[1]
    with pytest.raises(ReportError, match="read from its directory"):
        opened.add(report[0])
    with pytest.raises(ParameterError, match="n must be a whole number"):
        opened.drawn(0)
    assert list(opened.drawn(10, seed=3)) == list(report.drawn(10, seed=3))
    assert len(opened.filter(lambda row: row.sample.id == "q5")) == 2
