"""Jobs with faults, the same for each engine."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.batches.loopback import Endpoint

from fullrecall import (
    BatchScorer,
    Budget,
    ClaimRecall,
    IdRecall,
    LLMJudge,
    Report,
    Sample,
    evaluate,
)
from fullrecall.errors import InputError
from fullrecall.files.plans import ReadPlan
from fullrecall.judge import OpenAIChatModel
from fullrecall.read import read
from fullrecall.run.work import unscored
from fullrecall.scorers.scorer import BAD_ROW
from fullrecall.table.row import Row

SHARES = (0.5, 0.3, 0.1, 0.06, 0.04)
"""The share of the rows in each row group: half of the work is in one group."""


class FaultError(RuntimeError):
    """A deliberate fault."""


@dataclass(frozen=True)
class FaultyScorer(BatchScorer):
    """A scorer with failing batches: one fails once, one always, and one kills its worker.

    Each of `once`, `always`, `killed` and `slow` is the position of a row, and selects the batch
    with this row; -1 selects no batch. The worker dies in the middle of its batch, `after` these
    seconds. `folder` has a file for each fault that has happened, for all workers.
    """

    folder: str = field(default="", kw_only=True)
    after: float = field(default=0.0, kw_only=True)
    once: int = field(default=-1, kw_only=True)
    always: int = field(default=-1, kw_only=True)
    killed: int = field(default=-1, kw_only=True)
    slow: int = field(default=-1, kw_only=True)

    def _scored(self, frame: Any, plan: ReadPlan) -> Any:
        has = set(self._positions(frame))
        if self.killed in has and self._first("killed"):
            if not self.after:
                _die()
            threading.Timer(self.after, _die).start()
        if self.slow in has and self._first("slow"):
            time.sleep(20)
        if self.always in has:
            raise FaultError("this partition always fails")
        if self.once in has and self._first("once"):
            raise FaultError("this partition fails once")
        return super()._scored(frame, plan)

    def _first(self, what: str) -> bool:
        try:
            (Path(self.folder) / what).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def kept(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the scores of each batch, and write a file of them, also for failed attempts."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for number, scores in zip(count(), self.over(batches), strict=False):
            name = f"{os.getpid()}-{time.time_ns()}-{number}.parquet"
            pq.write_table(pa.Table.from_batches([scores]), Path(self.folder) / name)
            yield scores


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def is_bad(row: int) -> bool:
    """Return whether a row of `write_ids` is not a sample: a reference without an ID."""
    return row % 1_009 == 7


def write_ids(path: Path, rows: int, seed: int = 7) -> None:
    """Write samples of IDs in skewed row groups: in groups, without references, and bad rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = random.Random(seed)
    kinds = {"row": pa.int64(), "id": pa.string(), "group": pa.string()}
    kinds |= dict.fromkeys(("retrieved_ids", "expected_ids"), pa.list_(pa.int64()))
    schema = pa.schema(kinds.items())
    made = 0
    with pq.ParquetWriter(path, schema) as writer:
        for share in SHARES:
            some = range(made, min(rows, made + round(share * rows)))
            made = some.stop
            table = {
                "row": list(some),
                "id": [f"q{row}" for row in some],
                "group": [f"g{row % (rows // 8)}" if row % 4 == 0 else None for row in some],
                "retrieved_ids": [[rng.randrange(60) for _ in range(10)] for _ in some],
                "expected_ids": [
                    [rng.randrange(60) for _ in range(row % 5)] + [None] * is_bad(row)
                    if row % 97
                    else None
                    for row in some
                ],
            }
            writer.write_table(pa.table(table, schema=schema), row_group_size=len(some) or 1)


def write_judged(path: Path, rows: int, texts: int) -> None:
    """Write samples with claims in skewed row groups; only `texts` of them differ."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        {
            "row": pa.int64(),
            "retrieved_contexts": pa.list_(pa.string()),
            "reference_claims": pa.list_(pa.string()),
        }.items()
    )
    made = 0
    with pq.ParquetWriter(path, schema) as writer:
        for share in SHARES:
            some = range(made, min(rows, made + round(share * rows)))
            made = some.stop
            lines = [[f"The tower {row % texts} is high."] for row in some]
            table = {"row": list(some), "retrieved_contexts": lines, "reference_claims": lines}
            writer.write_table(pa.table(table, schema=schema), row_group_size=len(some) or 1)


def ids_job(folder: Path, rows: int, **options: Any) -> tuple[FaultyScorer, Path]:
    """Return a scorer with a batch that fails once and a killed worker, and its file."""
    path, marks = folder / "ids.parquet", folder / "marks"
    marks.mkdir()
    write_ids(path, rows)
    faulty = FaultyScorer(
        IdRecall(),
        position="row",
        folder=str(marks),
        once=rows // 3,
        killed=rows // 5,
        **options,
    )
    return faulty, path


def check_ids(scorer: FaultyScorer, report: Report, path: Path, rows: int) -> None:
    """Fail unless the report is that of one run, without the rows that it reports as missing.

    Rows are missing only if a batch always fails.
    """
    assert {each.name for each in Path(scorer.folder).iterdir()} >= {"once", "killed"}
    missing = lost(report, rows)
    assert max(missing, default=-1) == scorer.always
    assert report.complete == (not missing)
    expected, bad = one_run(path, missing)
    notes = [row.results[0].note for row in report]
    assert sum(note.startswith("bad row: ") for note in notes) == len(bad)
    assert as_text(report) == as_text(expected)


def one_run(path: Path, left: set[int]) -> tuple[Report, list[int]]:
    """Return the report of one run over the rows that are not missing, and the bad rows of these.

    Bad rows, which a run would refuse, are counted as unscored.
    """
    import pyarrow.parquet as pq

    total, bad, taken = pq.read_metadata(path).num_rows, [], []
    for row in range(total):
        if row not in left:
            (bad if is_bad(row) and row % 97 else taken).append(row)
    table = pq.read_table(path)
    good = path.with_name("good.parquet")
    pq.write_table(table.take(taken).drop_columns("row"), good)
    scorers = (IdRecall(),)
    report = evaluate(read(good), scorers, progress=False)
    named = table.select(["row", "id", "group", "expected_ids"]).take(bad).to_pylist()
    for row in named:
        with pytest.raises(InputError) as refused:
            Sample(reference_context_ids=row["expected_ids"])
        why = str(refused.value)
        sample = Sample(id=row["id"], group=row["group"])
        results = tuple(unscored(scorer, f"{BAD_ROW}: {why}") for scorer in scorers)
        report.add(Row(row["row"] + 1, sample, results))
    return report, bad


def as_text(report: Report) -> str:
    """Return a report's summary as JSON, without its missing rows."""
    plain = report.summary().to_dict()
    return json.dumps(plain | {"stopped": None, "complete": None}, sort_keys=True)


def judged_job(
    folder: Path,
    endpoint: Endpoint,
    url: str,
    *,
    rows: int,
    texts: int,
    calls: int,
    after: float = 0.3,
) -> tuple[FaultyScorer, Path]:
    """Return a scorer with a judge, one budget and one rate, and its file.

    A worker is killed in the middle of its requests, `after` these seconds.
    """
    path, marks = folder / "judged.parquet", folder / "judged-marks"
    marks.mkdir(parents=True)
    write_judged(path, rows, texts)
    faulty = FaultyScorer(
        judging(endpoint),
        position="row",
        folder=str(marks),
        once=rows // 3,
        killed=rows // 5,
        after=after,
        store=url,
        budget=Budget(calls=calls, rate=0.9 * (endpoint.rate or 1e6)),
        max_concurrency=8,
    )
    return faulty, path


def judging(endpoint: Endpoint) -> ClaimRecall:
    """Return a scorer whose judge is the endpoint."""
    return ClaimRecall(judge=LLMJudge(OpenAIChatModel("m", base_url=endpoint.base_url)))


def check_judged(
    scorer: FaultyScorer,
    report: Report,
    endpoint: Endpoint,
    *,
    rows: int,
    calls: int,
    jobs_before: int = 0,
    requests_before: int = 0,
) -> None:
    """Fail unless each answer was paid once, within the budget, and is in the report.

    Only the requests in flight of a killed worker are paid again, in this job and in earlier jobs.
    """
    assert {each.name for each in Path(scorer.folder).iterdir()} >= {"once", "killed"}
    assert report.complete
    summary = report.summary()[0]
    assert scorer.spent is not None
    assert endpoint.requests - requests_before <= scorer.spent.calls <= calls
    assert set(endpoint.asked.values()) <= {1, 2}
    assert (
        endpoint.asked.total() - len(endpoint.asked) <= (jobs_before + 1) * scorer.max_concurrency
    )
    assert summary.scored + summary.unscored == rows
    if summary.unscored:
        assert summary.reasons.keys() == {f"the budget of {calls:,} calls is used up"}
        assert scorer.spent.calls == calls


def lost(report: Report, rows: int) -> set[int]:
    """Return the missing rows that a report's own sentence lists."""
    if report.stopped is None:
        return set()
    told = report.stopped.split(" rows are missing: ")[1].split(";")[0]
    assert f"of {rows:,} rows" in report.stopped
    assert "more range" not in told
    found: set[int] = set()
    for each in told.split(", "):
        first, _, last = each.replace(",", "").partition(" to ")
        found.update(range(int(first), int(last or first) + 1))
    return found
