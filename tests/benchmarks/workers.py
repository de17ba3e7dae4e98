"""When an engine pays: rows per second of one process, of two, and of Ray, Spark and Dask.

    python tests/benchmarks/workers.py            # a table; --write puts it into docs/scale.md
    python tests/benchmarks/workers.py --small    # a tenth of the rows, half a minute
    python tests/benchmarks/workers.py --only process ray

It needs "ray[data]", pyspark and a Java, "dask[dataframe,distributed]", redis and redis-server. By
the wall, on an otherwise idle machine. All have two workers, read the same Parquet files, and must
come to the same totals. Judged samples are asked of an endpoint on loopback, in a process of its
own, that takes 300 ms for a reply; the workers of engines share a store and a budget in Redis.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from fullrecall import BatchScorer, Budget, ClaimRecall, IdRecall, LLMJudge, Report  # noqa: E402
from fullrecall.models.openai import OpenAIChatModel  # noqa: E402

PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- workers -->", "<!-- end of workers -->"

BATCH = 10_000
WORKERS = 2
REPLY_SECONDS = 0.3
MANY = 200
"""Parts of a data set that is cut too small, to see what one more part takes."""

Run = Callable[[BatchScorer, Path, int], Report]
"""Scores a folder of Parquet files with so many rows."""


@dataclass
class Figures:
    """What was measured of one way; None where it was not."""

    name: str
    start: float = 0.0
    """Seconds up to the first result, of a few rows."""
    small: float | None = None
    large: float | None = None
    """Rows per second."""
    part: float | None = None
    """Seconds for one more part."""
    judged: float | None = None
    """Samples per second."""


@dataclass(frozen=True)
class Data:
    """Folders of the same kind of rows, and how many are in each."""

    folder: Path
    rows: dict[str, int] = field(default_factory=dict)

    def make(self, name: str, rows: int, files: int, *, judged: bool = False) -> None:
        """Write so many rows, in so many files."""
        (self.folder / name).mkdir()
        step = -(-rows // files)
        for nth, start in enumerate(range(0, rows, step)):
            some = range(start, min(rows, start + step))
            path = self.folder / name / f"{nth:04}.parquet"
            pq.write_table(judged_table(some) if judged else id_table(some), path)
        self.rows[name] = rows

    def timed(self, run: Run, scorer: BatchScorer, name: str) -> tuple[float, Report]:
        """Return how long a folder takes, by the wall, and what it comes to."""
        began = time.perf_counter()
        report = run(scorer, self.folder / name, self.rows[name])
        took = time.perf_counter() - began
        if not report.complete:
            raise ValueError(f"{name}: the report must be complete, got {report.stopped}")
        return took, report


def id_table(rows: range) -> pa.Table:
    """Return samples of ten retrieved and two expected IDs."""
    rng = random.Random(rows.start)
    return pa.table({
        "row": pa.array(rows),
        "retrieved_ids": [[rng.randrange(1_000) for _ in range(10)] for _ in rows],
        "expected_ids": [[rng.randrange(1_000) for _ in range(2)] for _ in rows],
    })  # fmt: skip


def judged_table(rows: range) -> pa.Table:
    """Return samples that each take one request."""
    lines = [[f"The tower {row} is high."] for row in rows]
    return pa.table({"row": pa.array(rows), "retrieved_contexts": lines, "reference_claims": lines})


def scored_files(scorer: BatchScorer, files: Sequence[Path]) -> pa.Table:
    """Return the totals of files, merged: what one process makes of its share."""
    made: list[pa.RecordBatch] = []
    for path in files:
        made += map(scorer, pq.ParquetFile(path).iter_batches(BATCH))
    merged: pa.Table = scorer.merged(pa.Table.from_batches(made))
    return merged


def in_process(scorer: BatchScorer, folder: Path, rows: int) -> Report:
    """Score in this process."""
    return scorer.report([scored_files(scorer, sorted(folder.iterdir()))], rows=rows)


@contextmanager
def processes() -> Iterator[Run]:
    """Score in two processes, without an engine."""
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as pool:

        def run(scorer: BatchScorer, folder: Path, rows: int) -> Report:
            files = sorted(folder.iterdir())
            shares = [files[nth::WORKERS] for nth in range(WORKERS)]
            made = pool.map(scored_files, [scorer] * WORKERS, shares)
            return scorer.report(list(made), rows=rows)

        yield run


@contextmanager
def in_ray() -> Iterator[Run]:
    """Score in Ray Data."""
    from tests.distributed.engines import ray_started

    with ray_started(WORKERS) as ray:

        def run(scorer: BatchScorer, folder: Path, rows: int) -> Report:
            files = len(list(folder.iterdir()))
            samples = ray.data.read_parquet(str(folder), override_num_blocks=files)
            scores = samples.map_batches(scorer, batch_size=BATCH, batch_format="pyarrow")
            merged = scores.groupby("fullrecall_key", num_partitions=WORKERS).map_groups(
                scorer.merged, batch_format="pyarrow"
            )
            return scorer.report(merged.iter_batches(batch_format="pyarrow"), rows=rows)

        yield run


@contextmanager
def in_spark() -> Iterator[Run]:
    """Score in Spark, a file being a partition."""
    from tests.distributed.engines import spark_started

    settings = {
        "spark.sql.shuffle.partitions": str(WORKERS),
        "spark.sql.files.maxPartitionBytes": "128m",
        "spark.sql.files.openCostInBytes": "128m",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
    }
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        spark_started(Path(folder), f"local[{WORKERS}]", **settings) as spark,
    ):

        def run(scorer: BatchScorer, folder: Path, rows: int) -> Report:
            scores = spark.read.parquet(str(folder)).mapInArrow(scorer.over, scorer.schema)
            grouped = scores.groupBy("fullrecall_key")
            merged = grouped.applyInArrow(lambda table: scorer.merged(table), scorer.schema)  # noqa: PLW0108
            return scorer.report(merged.toArrow(), rows=rows)

        yield run


@contextmanager
def in_dask() -> Iterator[Run]:
    """Score in Dask, a file being a partition."""
    from tests.distributed.engines import dask_started

    with dask_started(WORKERS):
        import dask.dataframe as dd

        def run(scorer: BatchScorer, folder: Path, rows: int) -> Report:
            samples = dd.read_parquet(folder, split_row_groups=True, dtype_backend="pyarrow")
            scores = samples.map_partitions(scorer, meta=scorer.meta)
            merged = scores.shuffle("fullrecall_key").map_partitions(
                scorer.merged, meta=scorer.meta
            )
            return scorer.report(merged.compute(), rows=rows)

        yield run


@contextmanager
def here() -> Iterator[Run]:
    """Score in this process."""
    yield in_process


WAYS: dict[str, tuple[str, Callable[[], Any]]] = {
    "process": ("one process", here),
    "processes": ("two processes", processes),
    "ray": ("Ray", in_ray),
    "spark": ("Spark", in_spark),
    "dask": ("Dask", in_dask),
}


def serve(address: Any) -> None:
    """Be the endpoint, until the process is ended."""
    from tests.distributed.loopback import served

    with served() as endpoint:
        endpoint.seconds = REPLY_SECONDS
        address.send(endpoint.base_url)
        time.sleep(3_600)


@contextmanager
def judge() -> Iterator[Callable[[str], BatchScorer]]:
    """Start an endpoint and a Redis server; yield what returns the scorer of a way."""
    from tests.distributed.redis_server import RedisServer

    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(there,), daemon=True)
    process.start()
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder))
        server.start()
        try:
            model = OpenAIChatModel("m", base_url=here.recv())

            def scorer(way: str) -> BatchScorer:
                with server.client() as client:
                    client.flushall()  # each pays for its answers
                shared: dict[str, Any] = {"store": server.url, "budget": Budget(calls=10**6)}
                claims = ClaimRecall(judge=LLMJudge(model))
                options = {} if way == "process" else shared
                return BatchScorer(claims, position="row", keep="summary", **options)

            yield scorer
        finally:
            server.stop()
            process.kill()
            process.join()


def measured(
    way: str, run: Run, began: float, data: Data, judged: Callable[[str], BatchScorer]
) -> tuple[Figures, list[str]]:
    """Return the figures of one way, and the totals that it came to."""
    name, _ = WAYS[way]
    ids = BatchScorer(IdRecall(), position="row", keep="summary")
    figures, totals = Figures(name), []
    data.timed(run, ids, "few")
    figures.start = time.perf_counter() - began
    small = []
    for _ in range(3):
        took, report = data.timed(run, ids, "small")
        small.append(took)
    totals.append(report)
    figures.small = data.rows["small"] / min(small)
    took, report = data.timed(run, ids, "large")
    totals.append(report)
    figures.large = data.rows["large"] / took
    took, report = data.timed(run, ids, "many")
    figures.part = max(0.0, (took - min(small)) / (MANY - WORKERS))
    totals.append(report)
    data.timed(run, judged(way), "few-judged")  # what asks is loaded by then
    took, report = data.timed(run, judged(way), "judged")
    figures.judged = data.rows["judged"] / took
    totals.append(report)
    for report in totals:
        report.tallies.fold_groups()
    return figures, [json.dumps(report.totals(), sort_keys=True) for report in totals]


def table(every: Sequence[Figures], rows: dict[str, int]) -> str:
    """Return the figures as a Markdown table."""
    lines = ["| | " + " | ".join(each.name for each in every) + " |"]
    lines.append("|---|" + "---:|" * len(every))
    titles: list[tuple[str, Callable[[Figures], str]]] = [
        ("seconds up to the first result", lambda each: f"{each.start:.1f}"),
        (f"ID rows per second, {rows['small']:,} rows", lambda each: _rounded(each.small)),
        (f"ID rows per second, {rows['large']:,} rows", lambda each: _rounded(each.large)),
        ("one more part, ms", lambda each: f"{1e3 * (each.part or 0):.1f}"),
        (f"judged samples per second, {rows['judged']:,} samples",
         lambda each: _rounded(each.judged)),
    ]  # fmt: skip
    lines += [f"| {title} | " + " | ".join(map(told, every)) + " |" for title, told in titles]
    return "\n".join(lines)


def _rounded(rate: float | None) -> str:
    if rate is None:
        return "-"
    return f"{rate:,.0f}" if rate < 1_000 else f"{round(rate, -3):,.0f}"


def written(page: str, body: str) -> str:
    """Return the page with this table in place of its own, or as the first of its section."""
    if BEGIN not in page:
        heading = "## When an engine pays\n"
        page = page.replace(heading, f"{heading}\n{BEGIN}\n{END}\n")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page must have a table between {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{body}\n{END}{after}"


def make(folder: Path, scale: float) -> Data:
    """Write all rows; with `scale` 1 it is 100,000, a million, and 1,000 judged samples."""
    data = Data(folder)
    data.make("few", 100, WORKERS)
    data.make("small", int(100_000 * scale), WORKERS)
    data.make("large", int(1_000_000 * scale), 20)
    data.make("many", int(100_000 * scale), MANY)
    data.make("few-judged", 4, WORKERS, judged=True)
    data.make("judged", int(1_000 * scale), WORKERS, judged=True)
    return data


def main() -> None:
    """Measure, print, and write if that is wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth of the rows")
    parser.add_argument("--write", action="store_true", help="put the table into docs/scale.md")
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS), metavar="WAY")
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT)
    every: list[Figures] = []
    came_to: dict[str, list[str]] = {}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        data = make(Path(folder), 0.1 if given.small else 1.0)
        judged = stack.enter_context(judge())
        for way in given.only:
            began = time.perf_counter()
            with WAYS[way][1]() as run:
                figures, came_to[way] = measured(way, run, began, data, judged)
            every.append(figures)
            print(figures, file=sys.stderr, flush=True)
    first = came_to[given.only[0]]
    if wrong := [way for way, totals in came_to.items() if totals != first]:
        raise SystemExit(f"other totals than {given.only[0]}: {', '.join(wrong)}")
    print(table(every, data.rows))
    if given.write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), table(every, data.rows)), "utf-8")


if __name__ == "__main__":
    main()
