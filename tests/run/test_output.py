"""A run that ended early resumes in its output, and other runs' outputs are refused."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.files.reports import made
from tests.run import paid

from fullrecall import (
    Budget,
    ClaimRecall,
    IdRecall,
    Report,
    Sample,
    TextRecall,
    aevaluate,
    evaluate,
)
from fullrecall.errors import Interrupted, ReportError, RunStopped
from fullrecall.files.reports import parquet, row_writer, saved
from fullrecall.table.origin import UNKNOWN

NAMES = ("r.jsonl", "r.parquet")


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set row groups of 10 rows, so that a test has many."""
    monkeypatch.setattr(parquet, "GROUP_ROWS", 10)


def questions(count: int) -> list[Sample]:
    """Return samples without a retrieval."""
    return [
        Sample(id=f"q{n}", user_input=f"question {n}", expected_ids=[f"d{n}"]) for n in range(count)
    ]


def until(samples: list[Any], count: int) -> Iterator[Any]:
    """Yield `count` samples, then interrupt the run."""
    yield from samples[:count]
    raise KeyboardInterrupt


def run(samples: Any, path: Path, **options: Any) -> Report:
    """Return the report of samples by ID and text, written to a path."""
    return evaluate(samples, [IdRecall(), TextRecall()], output=path, progress=False, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [0, 1, 10, 33])
def test_an_interrupted_run_goes_on(name: str, count: int, tmp_path: Path) -> None:
    """An interrupted run resumes, and gives the report of an uninterrupted one."""
    path, samples = tmp_path / name, made.samples(40)
    with pytest.raises(Interrupted):
        run(until(samples, count), path)
    report = run(samples, path)
    expected = evaluate(samples, [IdRecall(), TextRecall()], progress=False)
    assert report.complete
    assert list(report) == list(expected) == list(Report.load(path))
    assert sum(1 for _ in tmp_path.iterdir()) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_complete_report_is_read_again(name: str, tmp_path: Path) -> None:
    """The same call reads a complete report, and scores samples that were added since."""
    path, scored = tmp_path / name, []
    samples = [sample.with_retrieval([{"id": "d1"}]) for sample in questions(25)]
    first = run(samples[:12], path)
    again = run(samples[:12], path, sink=lambda row: scored.append(row.position))
    assert list(again) == list(first)
    longer = run(samples, path, sink=lambda row: scored.append(row.position))
    assert [row.position for row in longer] == list(range(1, 26))
    assert scored == list(range(13, 26))


def searched(question: str) -> list[str]:
    """Return the one context that a question needs."""
    return [f"d{question.rpartition(' ')[2]}"]


@pytest.mark.parametrize("name", NAMES)
def test_a_retriever_is_asked_for_the_rest(name: str, tmp_path: Path) -> None:
    """A retriever is asked for the remaining samples; a complete report is refused."""
    path, samples, asked = tmp_path / name, questions(30), []

    def search(question: str) -> list[str]:
        asked.append(question)
        if len(asked) == 18:
            os.kill(os.getpid(), signal.SIGINT)
        return searched(question)

    ask: dict[str, Any] = {"retriever": search, "output": path, "progress": False}
    with pytest.raises(Interrupted) as stopped:
        evaluate(samples, IdRecall(), **ask, max_concurrency=1)
    kept = stopped.value.report.summary()["id_recall"].scored
    asked.clear()
    asked += ["again"] * 20
    told = f"keeps {kept} rows of an earlier run with their contexts; replace=True asks the retr"
    with pytest.warns(UserWarning, match=told):
        report = evaluate(samples, IdRecall(), **ask)
    assert len(asked) == 20 + 30 - kept
    assert report.summary()["id_recall"].scored == 30
    with pytest.raises(ReportError, match="is complete, and a retriever would be asked: pass repl"):
        evaluate(samples, IdRecall(), **ask)
    assert len(evaluate(samples, IdRecall(), **ask, replace=True)) == 30
    assert len(asked) == 20 + 30 - kept + 30


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("end", ["budget", "deadline", "model"])
def test_samples_that_the_run_did_not_reach_are_scored(name: str, end: str, tmp_path: Path) -> None:
    """Samples after an end by a budget, a deadline, or a dead model are scored by the next run."""
    path, samples, is_down = tmp_path / name, paid.samples(list(range(12))), end == "model"

    def before(sent: int) -> None:
        if is_down and sent > 5:
            raise ConnectionError("no route")

    model = paid.Paid(tmp_path / "paid", before)
    judged: dict[str, Any] = {"output": path, "progress": False, "retries": 0, "max_concurrency": 1}
    ends: dict[str, Any] = {"budget": {"budget": Budget(calls=5)}, "deadline": {"deadline": 1e-9}}
    with suppress(RunStopped):
        evaluate(samples, paid.scorer(model), **judged, **ends.get(end, {}))
    left = Report.open(path).summary()["claim_recall"].scored
    assert left == {"budget": 5, "deadline": 0, "model": 5}[end]
    is_down = False
    report = evaluate(samples, paid.scorer(model), **judged)
    assert report.summary()["claim_recall"].scored == 12
    assert set(model.paid().values()) == {1}


def test_a_retriever_is_asked_after_a_deadline(tmp_path: Path) -> None:
    """A run whose deadline passed is not complete, so the next run asks its retriever."""
    ask: dict[str, Any] = {"retriever": lambda _: ["d1"], "output": tmp_path / "r.jsonl"}
    for late in ({"deadline": 1e-9}, {}):
        report = evaluate(questions(3), IdRecall(), progress=False, **ask, **late)
        assert report.summary()["id_recall"].scored == (0 if late else 3)


@pytest.mark.rooms
@pytest.mark.parametrize("name", NAMES)
def test_aevaluate_goes_on_too(name: str, tmp_path: Path) -> None:
    """`aevaluate` resumes too, and judged samples keep their verdicts."""
    path = tmp_path / name
    samples = [
        Sample(
            id=n, retrieved_contexts=[f"The tower has {n} floors."], reference=f"It has {n} floors."
        )
        for n in range(12)
    ]
    with pytest.raises(Interrupted):
        evaluate(until(samples, 7), ClaimRecall(), output=path, progress=False)
    kept: list[int] = []
    going_on = aevaluate(
        samples,
        ClaimRecall(),
        output=path,
        progress=False,
        sink=lambda row: kept.append(row.position),
    )
    report = asyncio.run(going_on)
    assert kept == [8, 9, 10, 11, 12]
    assert list(report) == list(evaluate(samples, ClaimRecall(), progress=False))


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_another_run_are_refused(name: str, tmp_path: Path) -> None:
    """Rows of other samples, another order, other scorers or lists are refused; the file stays."""
    path, samples = tmp_path / name, made.samples(20)
    before = list(run(samples, path))
    others = {
        6: [*samples[:5], Sample(user_input="another"), *samples[6:]],
        1: samples[::-1],
        11: samples[:10],
    }
    for place, other in others.items():
        with pytest.raises(ReportError, match=f"has other samples, the first at position {place}:"):
            run(other, path)
    with pytest.raises(ReportError, match="scores by other scorers or parameters: pass replace"):
        evaluate(samples, [IdRecall(), TextRecall(threshold=0.9)], output=path, progress=False)
    with pytest.raises(ReportError, match="over another corpus or view"):
        run(samples, path, view="retrieved")
    assert list(Report.load(path)) == before
    assert len(run(samples[:10], path, replace=True)) == 10
    precious = tmp_path / f"notes{path.suffix}"
    precious.write_text("mine")
    for replace in (False, True):
        with pytest.raises(ReportError, match="not a saved report"):
            run(samples, precious, replace=replace)
    assert precious.read_text() == "mine"


def lowest_free_descriptor() -> int:
    """Return the descriptor that the next file to be opened gets."""
    with Path(os.devnull).open() as file:
        return file.fileno()


@pytest.mark.skipif(sys.platform == "win32", reason="locks as on POSIX systems")
@pytest.mark.parametrize("name", NAMES)
def test_two_runs_do_not_write_to_one_output(name: str, tmp_path: Path) -> None:
    """A second run is refused while the first one writes, and resumes afterwards."""
    path, scorers = tmp_path / name, [IdRecall(), TextRecall()]
    methods = [scorer.method for scorer in scorers]
    with saved.writer(path, methods):
        free = lowest_free_descriptor()
        with pytest.raises(ReportError, match="another run writes to"):
            saved.writer(path, methods, UNKNOWN, after=0)
        assert lowest_free_descriptor() == free
    assert len(run(made.samples(5), path)) == 5


@pytest.mark.rooms
def test_a_slow_judge_loses_less_than_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are written within a minute, even if a slow judge gives few."""
    now = 1000.0
    for module in (row_writer, parquet):
        monkeypatch.setattr(module, "monotonic", lambda: now)
    path = tmp_path / "r.parquet"
    on_disk = []

    def slow() -> Iterator[Sample]:
        nonlocal now
        for sample in questions(9):
            yield sample
            now += 8.0
            on_disk.append(len(Report.open(path)))

    evaluate(slow(), ClaimRecall(), output=path, progress=False, max_concurrency=1)
    waiting = [number - rows for number, rows in enumerate(on_disk, start=1)]
    assert max(waiting) <= 60 / 8
    assert on_disk[-1] > 0


KILLED = """
import os, signal, sys
from tests.run.test_output import questions
from fullrecall import IdRecall, evaluate
from fullrecall.files.reports import parquet
parquet.GROUP_ROWS = parquet.ParquetWriter.together = 10
path, last, log = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def search(question):
    with open(log, "a") as file:
        file.write(question + "\\n")
    if int(question.rpartition(" ")[2]) == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return ["d" + question.rpartition(" ")[2]]
evaluate(questions(60), IdRecall(), retriever=search, output=path, progress=False,
         max_concurrency=1)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
@pytest.mark.parametrize("name", NAMES)
def test_kills_at_twenty_moments(name: str, tmp_path: Path) -> None:
    """Each kill loses at most the rows of a group; in the end the report is complete."""
    path, log = tmp_path / name, tmp_path / "asked"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    moments = [2, 5, 9, 10, 11, 14, 19, 20, 22, 25, 29, 30, 31, 35, 39, 41, 44, 50, 55, 59]
    for last in [*moments, -1]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", KILLED, str(path), str(last), str(log)],
            check=False,
            env=environment,
        )
        assert done.returncode == (-signal.SIGKILL if last >= 0 else 0)
    report = Report.load(path)
    assert [row.sample.id for row in report] == [f"q{n}" for n in range(60)]
    assert report.summary()["id_recall"].main.mean == 1
    waiting = 11 if name == "r.parquet" else 2
    asked = log.read_text().splitlines()
    assert len(asked) <= 60 + len(moments) * waiting
