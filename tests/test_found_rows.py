"""Reports whose rows are made when someone looks: the rows, numbers and errors of scoring."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.test_rank_totals import MEASURES, row_of

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.errors import InputError, Interrupted
from fullrecall.measures import Measure, Recall, nDCG
from fullrecall.report.found_rows import FoundRows
from fullrecall.report.report import Report
from fullrecall.table.row import Row

RUNS = int(os.environ.get("FULLRECALL_RUNS", "6"))
SCORERS = [IdRecall(), IdRecall(name="again")]
PLAIN = {"retrieved_ids": ["a", "b"], "expected_ids": ["b", "c"]}


def scored(items: list[Any]) -> Report:
    """Return the report of samples that were scored one by one."""
    rows = []
    for position, item in enumerate(items, start=1):
        sample = item if isinstance(item, Sample) else Sample(**item)
        rows.append(Row(position, sample, tuple(one.score(sample) for one in SCORERS)))
    return Report.of([one.method for one in SCORERS], rows)


def found(items: Any, **options: Any) -> Report:
    """Return the report of `evaluate`, which has not made a row by now."""
    report = evaluate(items, SCORERS, progress=False, **options)
    assert isinstance(report._rows, FoundRows)
    return report


def saved(report: Report, path: Path) -> str:
    """Return what a report saves, but for the times at which it did."""
    report.save(path)
    return path.read_text("utf-8")


READ: dict[str, Callable[[Report], Any]] = {
    "rows": lambda report: list(report.rows),
    "reasons": lambda report: [[str(one) for one in row.results] for row in report],
    "summary": lambda report: report.summary().to_dict(),
    "measures": lambda report: report.summary(*MEASURES).to_dict(),
    "totals": lambda report: report.totals(),
    "missed": lambda report: [report.missed(k) for k in (None, 1, 3)],
    "groups": lambda report: report.groups,
    "json": lambda report: report.to_json(measures=[Recall @ 3, nDCG]),
    "csv": lambda report: report.to_csv(),
    "half": lambda report: report[: len(report) // 2].summary().to_dict(),
    "filter": lambda report: report.filter(lambda row: row.sample.id).summary().to_dict(),
    "twice": lambda report: Report.merged([report, report]).summary(nDCG @ 3).to_dict(),
    "drawn": lambda report: [row.label for row in report.drawn(3)],
    "smallest k": lambda report: str(report.smallest_k(0.2, score="again")),
    "metrics": lambda report: report.metrics(),
    "page": lambda report: report.to_html(title="Page", diagnosis=False),
    "repr": repr,
}


def test_whatever_is_read_is_what_scoring_gives() -> None:
    """Plain and other samples mixed, mappings and objects, groups and repeated IDs."""
    rng = random.Random(5)
    for _ in range(RUNS):
        rows = [row_of(rng, rng.choice((number, 1))) for number in range(rng.choice((1, 6, 60)))]
        items = [Sample(**row) if rng.random() < 0.4 else row for row in rows]
        for name, read in READ.items():
            assert read(found(items)) == read(scored(items)), name


def test_a_summary_makes_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means by any measure of ranks are read of the ranks; other measures make the rows."""
    report = found([PLAIN] * 3)
    with monkeypatch.context() as patched:
        patched.setattr(IdRecall, "by_ranks", None)
        assert report.summary(*MEASURES[:30:5])[0].scored == 3
        assert (len(report), report.keeps_rows, report.complete) == (3, True, True)
        assert report.totals()["samples"] == 3

    class Named(Measure):
        text = "named_first"

        def count(self, findings: Any, retrieved: int) -> float:
            return float(findings[0].target.label == "b")

    assert report.summary(Named())[1][Named()].mean == 1.0
    assert report.summary(Recall).to_dict() == scored([PLAIN] * 3).summary(Recall).to_dict()


def test_a_report_is_a_record() -> None:
    """What becomes of the caller's lists and mappings afterwards changes nothing."""
    rows = [{"id": str(n), **copy.deepcopy(PLAIN)} for n in range(4)]
    lists = [(["a", "b"], ["b"]) for _ in range(4)]
    samples = [Sample(retrieved_ids=some, expected_ids=others) for some, others in lists]
    items = [*rows, *samples]
    report, expected = found(items), scored(copy.deepcopy(items))
    for row in rows:
        row["retrieved_ids"].clear()
        row["expected_ids"][0] = "z"
        row.clear()
    for some, others in lists:
        some[:] = others[:] = ["z"]
    items.clear()
    assert report.summary().to_dict() == expected.summary().to_dict()
    assert report.rows == expected.rows


def test_rows_are_made_once() -> None:
    """Threads that look at the same time get the same rows, and `add` adds to these."""
    report = found([PLAIN] * 200)
    start, seen = threading.Barrier(4), []

    def look() -> None:
        start.wait()
        seen.append(report.rows)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(rows is seen[0] for rows in seen)
    assert report[7] is report[7] is seen[0][7]
    report.add(Row(201, Sample(id="last", **PLAIN), seen[0][0].results))
    assert (len(report), report["last"].position, report.summary()[0].scored) == (201, 201, 201)


@pytest.mark.parametrize("looked", [False, True])
def test_copies(looked: bool) -> None:  # noqa: FBT001
    """A report goes through pickle and `deepcopy`, before its rows are made and after."""
    items = [
        {**PLAIN, "id": "x"},
        {**PLAIN, "expected_ids": []},
        {**PLAIN, "expected_ids": {"a": 2}},
    ]
    report = found(items)
    if looked:
        assert len(report.rows) == 3
    for other in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):  # noqa: S301
        assert other.summary(*MEASURES[:8]).to_dict() == report.summary(*MEASURES[:8]).to_dict()
        assert list(other) == list(scored(items))


@pytest.mark.parametrize(
    "bad", [{"retrieved_ids": "a", "expected_ids": ["a"]}, {**PLAIN, "colour": 1}, 7, [1]]
)
def test_what_is_no_sample_ends_the_run_at_once(bad: Any) -> None:
    """Its place is named, nothing after it is read, and the report has what came before."""
    read = []

    def items() -> Iterator[Any]:
        for item in (PLAIN, PLAIN, bad, PLAIN):
            read.append(item)
            yield item

    with pytest.raises(InputError) as caught:
        evaluate(items(), SCORERS, progress=False)
    report: Report = caught.value.report  # type: ignore[attr-defined]
    assert (caught.value.line, len(read), len(report)) == (3, 3, 2)
    assert report.rows == scored([PLAIN, PLAIN]).rows
    assert report.stopped is not None


def test_what_the_samples_raise() -> None:
    """The report goes with the exception; the iterator is closed."""
    closed = []

    def items() -> Iterator[Any]:
        try:
            yield PLAIN
            yield {**PLAIN, "expected_ids": {"a": 2}}
            raise OSError("no more")
        finally:
            closed.append(1)

    with pytest.raises(OSError, match="no more") as caught:
        evaluate(items(), SCORERS, progress=False)
    assert len(caught.value.report) == 2  # type: ignore[attr-defined]
    assert closed == [1]


def test_ctrl_c() -> None:
    """The sample that was being read is the last; what is raised then gives way."""
    seen: list[Any] = []

    def items() -> Iterator[Any]:
        yield PLAIN
        os.kill(os.getpid(), 2)
        yield PLAIN
        yield PLAIN

    def failing() -> Iterator[Any]:
        yield PLAIN
        os.kill(os.getpid(), 2)
        raise OSError("no more")

    for source, size in ((items, 2), (failing, 1)):
        with pytest.raises(Interrupted) as caught:
            evaluate(source(), SCORERS, progress=False, on_progress=seen.append)
        assert caught.value.report.rows == scored([PLAIN] * size).rows
    assert [(one.done, one.scored) for one in seen] == [(1, 2), (2, 4), (1, 2)]


def test_texts_that_raise_are_unscored_with_the_reason() -> None:
    """IDs of a class of one's own may raise when they are compared: no run ends of it."""

    class Wild(str):
        __slots__ = ()
        armed = False

        def __hash__(self) -> int:
            if Wild.armed:
                raise RuntimeError("not comparable")
            return str.__hash__(self)

    samples = [Sample(retrieved_ids=["a"], expected_ids=[Wild("a")]), Sample(**PLAIN)]  # type: ignore[arg-type]
    Wild.armed = True
    report = evaluate(samples, IdRecall(), progress=False)
    assert [str(row.results[0].status) for row in report] == ["unscored", "scored"]
    assert "not comparable" in report[0].results[0].reason


def test_contexts_without_ids_are_told() -> None:
    """A blank ID is none: the reason counts them, as it does for None."""
    for blank in ("", None):
        report = found([{"retrieved_ids": ["a", blank], "expected_ids": ["a"]}])
        assert report[0].results[0].reason.endswith("1 of 2 retrieved contexts have no ID")
        assert report[0].sample.retrieved_context_ids == ("a", None)
        report = found([{"retrieved_ids": [blank], "expected_ids": ["a"]}])
        assert "the retrieved context has no ID" in report[0].results[0].reason


def test_saved_files_are_equal(tmp_path: Path) -> None:
    """A report saves the same, whenever its rows are made, and loads as equal."""
    rng = random.Random(11)
    items = [row_of(rng, number) for number in range(40)]
    first = saved(found(items), tmp_path / "found.jsonl")
    assert first == saved(scored(items), tmp_path / "scored.jsonl")
    assert Report.load(tmp_path / "found.jsonl").rows == scored(items).rows
    assert json.loads(first.splitlines()[0])
