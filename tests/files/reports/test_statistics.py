"""Statistics in files give the numbers of the rows, to the bit, without reading any row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.files.reports import made

from fullrecall import Gate, IdRecall, Report, compare, evaluate
from fullrecall.errors import ReportError
from fullrecall.files.reports import parquet, saved
from fullrecall.files.reports.arrow_rows import ArrowRows
from fullrecall.measures import F1, Leak, Recall, nDCG
from fullrecall.table import distinct
from fullrecall.table.groups import IdRange, are_apart
from fullrecall.table.table import Table

MEASURES = (*made.MEASURES, F1 @ 5, nDCG(gain="exponential") @ 3, Recall(min_grade=2) @ 5)


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write files of 64 rows, and count findings even where most of them differ."""
    monkeypatch.setattr(parquet, "GROUP_ROWS", 64)
    monkeypatch.setattr(distinct, "_FEWER", 0)


def _report(seed: int) -> Report:
    """Return a report of all kinds of rows, with unscored, unjudged and forbidden ones."""
    samples = made.samples(200, seed)
    for number, sample in enumerate(samples):
        sample["id"] = f"q{number}"
        sample.pop("group", None)
        if number % 11 == 0:
            sample |= {"forbidden_ids": ["d99"], "answerable": number % 2 == 0}
        if number % 13 == 0:
            sample["judged"] = False
            sample.pop("reference_context_ids", None)
    return evaluate(samples, made.scorers(), progress=False)


def _refuse(*_: object) -> Any:
    raise AssertionError("a row was read")


@pytest.mark.rooms
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_numbers_are_those_of_the_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means, intervals, coverage, reasons and verdicts equal those of a report in memory."""
    report = _report(seed)
    report.save(tmp_path / "r.parquet")
    opened = Report.open(tmp_path / "r.parquet")
    assert len(opened.table.parts) == 4
    whole = (Leak @ 5, *MEASURES)  # Leaks are read from samples.
    assert opened.summary(*whole).to_dict() == report.summary(*whole).to_dict()
    assert str(opened.summary(*whole)) == str(report.summary(*whole))
    expected, limit = report.summary(*MEASURES), report.smallest_k(0.2, score="id_recall")
    monkeypatch.setattr(ArrowRows, "columns", _refuse)
    monkeypatch.setattr(ArrowRows, "column", _refuse)
    summary = Report.open(tmp_path / "r.parquet").summary(*MEASURES)
    for score, other in zip(summary, expected, strict=True):
        assert score.to_dict() == other.to_dict()
        assert [score[m].bounds for m in MEASURES] == [other[m].bounds for m in MEASURES]
    monkeypatch.undo()
    assert opened.smallest_k(0.2, score="id_recall") == limit


def test_a_gate_and_a_length_read_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate's outcome and the number of rows follow from the statistics."""
    samples = [
        {"id": f"q{n}", "retrieved_ids": [f"d{n % 3}"], "expected_ids": ["d1"]} for n in range(200)
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    report.save(tmp_path / "r.parquet")
    expected = Gate(Recall @ 1 >= 0.2).check(report)
    monkeypatch.setattr(ArrowRows, "column", _refuse)
    opened = Report.open(tmp_path / "r.parquet")
    assert (len(opened), str(Gate(Recall @ 1 >= 0.2).check(opened))) == (200, str(expected))


def test_many_different_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the findings of most rows differ, a file has no counts of them, and its rows are read."""
    monkeypatch.setattr(distinct, "_FEWER", 16)
    report = _report(4)
    report.save(tmp_path / "r.parquet")
    opened = Report.open(tmp_path / "r.parquet")
    assert [part.distinct(0) for part in opened.table.parts] == [None] * 4
    assert opened.summary().to_dict() == report.summary().to_dict()


def test_rows_that_another_program_changed_are_read(tmp_path: Path) -> None:
    """Statistics do not count if another program rewrote the rows and Arrow kept the metadata."""
    _report(5).save(tmp_path / "r.parquet")
    part = tmp_path / "r.parquet" / "part-00000.parquet"
    table = pq.read_table(part)
    pq.write_table(table.take([0] * table.num_rows), part)
    opened = Report.open(part)
    assert opened.table.parts[0].distinct(0) is None
    assert opened.summary()[0].scored in (0, table.num_rows)


def test_statistics_that_do_not_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`load` compares the statistics with the rows; a file may have only some of the columns."""
    report = _report(6)[130:]
    report.save(tmp_path / "honest.parquet")
    assert len(Report.load(tmp_path / "honest.parquet")) == 70
    honest = parquet.statistics_of

    def forged(*given: Any) -> Any:
        return honest(*given)._replace(first=7)

    with monkeypatch.context() as forging:
        forging.setattr(parquet, "statistics_of", forged)
        report.save(tmp_path / "r.parquet")
    with pytest.raises(ReportError, match="its statistics do not follow from its rows"):
        Report.load(tmp_path / "r.parquet")


def test_statistics_of_another_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics do not count if another program changed the number of rows."""
    honest = parquet.statistics_of
    monkeypatch.setattr(parquet, "statistics_of", lambda *given: honest(*given)._replace(rows=7))
    _report(6).save(tmp_path / "r.parquet")
    assert [part.distinct(0) for part in Report.open(tmp_path / "r.parquet").table.parts] == [
        None
    ] * 4


def test_a_batch_of_rows_that_two_files_divide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file has the statistics of its own rows of a batch."""
    monkeypatch.setattr(parquet.ParquetWriter, "together", 50)
    samples = [{"retrieved_ids": ["d1"], "answerable": n % 3 > 0} for n in range(200)]
    report = evaluate(samples, IdRecall(), progress=False)
    with saved.writer(tmp_path / "r.parquet", report.methods) as writer:
        for row in report:
            writer.write(row.sample, row.results)
    assert Report.open(tmp_path / "r.parquet").summary().to_dict() == report.summary().to_dict()


@pytest.mark.parametrize(("id_of", "groups"), [(lambda n: n % 150, 150), (lambda n: n // 2, 100)])
def test_repeated_ids(id_of: Callable[[int], int], groups: int, tmp_path: Path) -> None:
    """Samples with one ID share a group, in one file and in files that are apart."""
    samples = [
        {"id": f"q{id_of(n)}", "retrieved_ids": ["d1"], "expected_ids": ["d1", f"d{n % 2}"]}
        for n in range(200)
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    report.save(tmp_path / "r.parquet")
    summary = Report.open(tmp_path / "r.parquet").summary()
    assert summary.to_dict() == report.summary().to_dict()
    assert summary[0].main.groups == groups


def test_ranges_of_ids() -> None:
    """Ranges of numbered IDs are ordered by the length of the ID, then by its letters."""
    assert are_apart([IdRange("q0", "q99", 9), IdRange("q100", "q200", 9), IdRange()])
    assert not are_apart([IdRange("q0", "q99", 9), IdRange("q5", "q5", 1)])
    assert not are_apart([IdRange("q0", "q1", 2), None])


def test_rows_of_one_kind_are_counted() -> None:
    """Rows with the same positions in any order are one kind; another rank makes another kind."""
    samples = [
        {"retrieved_ids": ["a", "b"], "expected_ids": list(expected)}
        for expected in ("ab", "ba", "bx", "xb", "ax")
    ]
    table: Table = evaluate(samples, IdRecall(), progress=False).table
    counted = distinct.DistinctRows.of(table.parts[0].columns(0))
    assert counted is not None
    assert sorted(counted.counts.tolist()) == [1, 2, 2]


def test_a_comparison_makes_no_list_of_all_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports of the same samples are paired by Arrow's columns, without a list of all IDs."""
    rows = [
        {"id": f"q{n}", "retrieved_ids": ["d1"], "expected_ids": [f"d{n % 3}"]} for n in range(200)
    ]
    evaluate(rows, IdRecall(), progress=False).save(tmp_path / "r.parquet")
    reports = [Report.open(tmp_path / "r.parquet") for _ in range(2)]
    read = ArrowRows.cells
    names: list[str] = []

    def cells(rows: ArrowRows, name: str) -> list[Any]:
        names.append(name)
        return read(rows, name)

    monkeypatch.setattr(ArrowRows, "cells", cells)
    comparison = compare(*reports)
    assert str(comparison)
    assert comparison.paired_by == "id"
    assert "id" not in names


def test_rows_in_another_order_are_compared_by_id(tmp_path: Path) -> None:
    """Samples in another order are paired by ID, in files and in memory."""
    rows = [
        {"id": f"q{n}", "retrieved_ids": ["d1"], "expected_ids": [f"d{n % 3}"]} for n in range(60)
    ]
    reports = [evaluate(some, IdRecall(), progress=False) for some in (rows, rows[::-1])]
    opened = []
    for number, report in enumerate(reports):
        report.save(tmp_path / f"{number}.parquet")
        opened.append(Report.open(tmp_path / f"{number}.parquet"))
    expected = str(compare(*reports))
    assert str(compare(*opened)) == str(compare(opened[0], reports[1])) == expected
