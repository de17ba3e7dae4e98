"""A report is the same in memory, as JSON Lines, as Parquet, and written as a stream."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.files.reports import made

from fullrecall import IdRecall, Report, Sample, evaluate
from fullrecall.errors import ReportError
from fullrecall.files.reports import saved as files
from fullrecall.measures import Recall
from fullrecall.report import Row
from fullrecall.scorers.result import Method, Result, Status


def _streamed(report: Report, path: Path) -> Report:
    with files.writer(path, report.methods) as writer:
        for row in report:
            writer.write(row.sample, row.results)
    return Report.open(path)


def _saved(report: Report, path: Path) -> Report:
    report.save(path)
    return Report.open(path)


FORMS: dict[str, Callable[[Report, Path], Report]] = {
    "lines": lambda report, folder: _saved(report, folder / "r.jsonl"),
    "columns": lambda report, folder: _saved(report, folder / "r.parquet"),
    "streamed columns": lambda report, folder: _streamed(report, folder / "r.parquet"),
    "streamed lines": lambda report, folder: _streamed(report, folder / "r.jsonl"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_row_and_value_comes_back(form: str, seed: int, tmp_path: Path) -> None:
    """Samples and results come back equal, measures to the bit, in a choice of the rows too."""
    report = made.report(seed=seed)
    opened = FORMS[form](report, tmp_path)
    assert opened.methods == report.methods
    assert list(opened) == list(report)
    for score, method in enumerate(report.methods):
        for measure in made.MEASURES:
            ours, theirs = (one.values(measure, score=method.name) for one in (report, opened))
            assert np.array_equal(ours, theirs, equal_nan=True)
        digests = (one.table.target_digests(score) for one in (report, opened))
        assert np.array_equal(*digests)
    assert opened.summary().to_dict() == report.summary().to_dict()
    assert opened.table.groups == report.table.groups
    some = np.array(random.Random(seed).sample(range(len(report)), 60))
    assert list(opened.table.selected(some)) == list(report.table.selected(some))


@pytest.mark.parametrize("form", ["lines", "columns"])
@pytest.mark.parametrize("texts", [None, ["a text"]], ids=["ids", "texts"])
@pytest.mark.parametrize("value", [{1}, {"at": (1, 2)}, {3: "x"}, [float("inf")]], ids=repr)
def test_metadata_that_json_would_change_is_refused(
    form: str, texts: list[str] | None, value: object, tmp_path: Path
) -> None:
    """Both forms name the place in the metadata, for samples of IDs alone too."""
    sample = Sample(
        retrieved_ids=["a"], expected_ids=["a"], reference_contexts=texts, metadata={"m": value}
    )
    report = evaluate([sample], IdRecall(), progress=False)
    with pytest.raises(ReportError, match=r"sample\.metadata\.m"):
        FORMS[form](report, tmp_path)


def test_rows_that_came_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A trivial column may be left out for some rows of a file and written for other rows."""
    monkeypatch.setattr("fullrecall.files.reports.parquet.ParquetWriter.together", 3)
    report, path = made.report(), tmp_path / "r.parquet"
    opened = _streamed(report, path)
    for each in (opened, Report.load(path)):
        assert list(each) == list(report)
        for score, method in enumerate(report.methods):
            for measure in made.MEASURES:
                ours, theirs = (one.values(measure, score=method.name) for one in (report, each))
                assert np.array_equal(ours, theirs, equal_nan=True)
            digests = (one.table.target_digests(score) for one in (report, each))
            assert np.array_equal(*digests)


def test_saved_again_it_is_the_same_file(tmp_path: Path) -> None:
    """A report loaded from Parquet and saved again has the bytes of its first JSON Lines file."""
    report, first, second = made.report(), tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    report.save(first)
    _saved(Report.load(first), tmp_path / "c.parquet").save(second)
    assert first.read_bytes() == second.read_bytes()
    assert list(Report.load(tmp_path / "c.parquet")) == list(report)


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("seed", range(7))
def test_lines_of_columns_are_those_of_rows(seed: int, *, graded: bool, tmp_path: Path) -> None:
    """Samples of IDs alone are written from columns, with the bytes that rows would give."""
    rng = random.Random(seed)
    names = ["a", "b", "c", "½ 🙂", 'q"\\', 7, 0]

    def ids() -> list[str | int]:
        return rng.choices(names, k=rng.randrange(6))

    rows: list[dict[str, object]] = [
        {
            "id": rng.choice([None, f"q{n}"]),
            "user_input": rng.choice([None, "why?"]),
            "group": rng.choice([None, "g"]),
            "retrieved_ids": ids(),
            "expected_ids": {name: rng.randrange(3) for name in ids()} if graded else ids(),
        }
        for n in range(30)
    ]
    report = evaluate(rows, IdRecall(), progress=False)
    _streamed(report, tmp_path / "rows.jsonl")
    loaded = _saved(report, tmp_path / "columns.jsonl")
    assert (tmp_path / "rows.jsonl").read_bytes() == (tmp_path / "columns.jsonl").read_bytes()
    assert list(loaded) == list(report)
    one_by_one = Report.of(report.methods, report)
    assert np.array_equal(report.table.target_digests(0), one_by_one.table.target_digests(0))


def test_unmeasured_claims_are_verdicts(tmp_path: Path) -> None:
    """The column of verdicts has an entry for each unmeasured claim, for readers of the file."""
    method = Method("claim_recall", {})
    claims = (("a claim", "the judge failed"), ("another", "the judge failed"))
    result = Result(method, Status.UNSCORED, note="unmeasured", unmeasured=claims)
    path = tmp_path / "r.parquet"
    Report.of([method], [Row(1, Sample(user_input="q?"), (result,))]).save(path)
    verdicts = pq.read_table(path / "part-00000.parquet")["claim_recall_verdict"]
    assert verdicts.to_pylist() == [["unmeasured", "unmeasured"]]


def test_what_ended_the_run_is_kept(tmp_path: Path) -> None:
    """Both forms keep the reason why a run ended early."""
    report = made.report(20)
    report.stopped = "the run was interrupted"
    report.save(tmp_path / "r.jsonl")
    assert Report.open(tmp_path / "r.jsonl").stopped == report.stopped
    report.save(tmp_path / "r.parquet")
    assert Report.open(tmp_path / "r.parquet").stopped == report.stopped


def content(path: Path) -> list[bytes]:
    """Return the bytes of a file, or of all files of a directory."""
    return [each.read_bytes() for each in (sorted(path.iterdir()) if path.is_dir() else [path])]


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet"])
def test_nothing_is_replaced_silently(name: str, tmp_path: Path) -> None:
    """Neither `save` nor a run replaces a file without `replace=True`."""
    report, path = made.report(10), tmp_path / name
    report.save(path)
    before = content(path)
    with pytest.raises(ReportError, match="exists: pass replace=True"):
        report.save(path)
    with pytest.raises(ReportError, match="scores by other scorers"):
        evaluate(made.samples(5), IdRecall(), output=path, progress=False)
    assert content(path) == before
    made.report(12).save(path, replace=True)
    assert len(Report.open(path)) == 12
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_run_that_goes_on_drops_the_files_of_rows_that_were_not_finished(tmp_path: Path) -> None:
    """A part that a killed run left out of its manifest is removed by the run that goes on."""
    path = tmp_path / "r.parquet"
    evaluate(made.samples(5), IdRecall(), output=path, progress=False)
    (path / "part-00009.parquet").write_bytes(b"half")
    evaluate(made.samples(8), IdRecall(), output=path, progress=False)
    assert sorted(each.name for each in path.glob("part-*")) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    assert len(Report.open(path)) == 8


@pytest.mark.parametrize("name", ["r.html", "r.csv", "r", "r.json"])
def test_another_suffix_is_an_error(name: str, tmp_path: Path) -> None:
    """The error names the suffixes of reports, and the method that writes such a file."""
    with pytest.raises(ReportError, match=r"saved as \.jsonl or \.parquet.*to_html"):
        made.report(3).save(tmp_path / name)
    with pytest.raises(ReportError, match=r"saved as \.jsonl or \.parquet.*to_html"):
        evaluate(made.samples(3), IdRecall(), output=tmp_path / name, progress=False)
    assert not list(tmp_path.iterdir())


def test_a_directory_of_other_files_is_not_replaced(tmp_path: Path) -> None:
    """A directory is kept even if its name ends in `.parquet`."""
    path = tmp_path / "photos.parquet"
    path.mkdir()
    (path / "photo.png").touch()
    with pytest.raises(ReportError, match="directory of other files"):
        made.report(3).save(path, replace=True)
    made.report(3).save(tmp_path / "r.parquet")
    (path / "photo.png").rename(tmp_path / "r.parquet" / "photo.png")
    before = content(tmp_path / "r.parquet")
    with pytest.raises(ReportError, match=r"has 'photo\.png', which no report wrote"):
        evaluate([], IdRecall(), output=tmp_path / "r.parquet", replace=True, progress=False)
    assert content(tmp_path / "r.parquet") == before


def test_rows_and_parts_keep_their_order(tmp_path: Path) -> None:
    """A part that follows single rows is written after them."""
    report, path = made.report(4, by=(IdRecall(),)), tmp_path / "r.parquet"
    with files.writer(path, report.methods) as writer:
        writer.write(report[0].sample, report[0].results)
        for part in report.table.selected(np.arange(1, 4)).parts:
            writer.add(part)
    assert list(Report.open(path)) == list(report)


def test_a_directory_replaces_a_single_file(tmp_path: Path) -> None:
    """A file such as an engine writes is replaced by a report's directory."""
    path = tmp_path / "r.parquet"
    path.write_bytes(b"a file")
    made.report(3).save(path, replace=True)
    assert len(Report.open(path)) == 3


def test_an_empty_report(tmp_path: Path) -> None:
    """An empty report keeps its methods."""
    report = evaluate([], IdRecall(), progress=False)
    for name in ("r.jsonl", "r.parquet"):
        opened = _saved(report, tmp_path / name)
        assert (len(opened), opened.methods) == (0, report.methods)
    streamed = evaluate([], IdRecall(), progress=False, output=tmp_path / "s.parquet")
    assert (len(streamed), streamed.methods) == (0, report.methods)
    assert np.isnan(report.values(Recall)).sum() == 0


@pytest.mark.parametrize("rows", [3, 100, 130])
@pytest.mark.parametrize("name", ["r.parquet", "r.jsonl"])
def test_a_run_that_is_killed_as_it_goes_on_leaves_the_rows_that_it_kept(
    name: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows beyond those that a run keeps are gone before it scores any."""
    monkeypatch.setattr("fullrecall.files.reports.parquet.GROUP_ROWS", 100)
    path = tmp_path / name
    whole = evaluate(made.samples(250), IdRecall(), output=path, progress=False)
    files.writer(path, [IdRecall().method], after=rows).close()
    left = Report.open(path)
    assert list(left) == list(whole[:rows])
