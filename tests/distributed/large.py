"""Jobs of many rows through each engine, with everything that goes wrong, held against one run.

    python -m tests.distributed.large ids ray spark dask
    python -m tests.distributed.large judged ray spark dask
    python -m tests.distributed.large documented ray spark dask

Each engine has two workers. A batch fails once, one fails always, a worker is killed, half of the
rows are in one partition, and Spark starts a slow task twice. What the engine's report has must be
what one run has over the same rows, byte for byte; the endpoint counts what was paid. `documented`
runs the examples of docs/scale.md as they stand, where nothing goes wrong.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.distributed import engines, faults
from tests.distributed.loopback import Endpoint, served
from tests.distributed.redis_server import RedisServer


def ids(engine: str, rows: int, folder: Path) -> None:
    """Score samples of IDs."""
    slow = {"slow": rows * 85 // 100} if engine == "spark" else {}
    scorer, path = faults.ids_job(folder, rows, **slow)
    with engines.started(engine, folder, batch=max(1, rows // 1_000)) as run:
        began = time.monotonic()
        report = faults.Report.open(run(scorer, path), rows=rows)
        took = time.monotonic() - began
        faults.check_ids(scorer, report, path, rows)
        told = f"{engine}: {rows:,} rows in {took:.0f} s; {len(report.bad_rows):,} bad rows"
        if engine == "spark":
            told += f"; {again(scorer, report, rows):,} rows came twice"
    print(f"{told}; as one run, byte for byte, but: {report.stopped}", flush=True)


def again(scorer: faults.FaultyScorer, report: faults.Report, rows: int) -> int:
    """Report all that any attempt made: the same; return how many rows were made twice."""
    import pyarrow.parquet as pq

    left = [*Path(scorer.folder).glob("*.parquet")]
    every = faults.Report.open(left, rows=rows)
    assert faults.as_text(every) == faults.as_text(report)
    assert every.stopped == report.stopped
    return sum(pq.read_metadata(file).num_rows for file in left) - len(report)


def judged(engine: str, rows: int, folder: Path, *, rate: float, seconds: float) -> None:
    """Judge samples, a quarter of them twice: with a budget that ends early, then with enough."""
    texts = rows * 3 // 4
    server = RedisServer(folder)
    server.start()
    try:
        with served() as endpoint, engines.started(engine, folder, batch=rows // 100) as run:
            endpoint.rate, endpoint.seconds = rate, seconds
            for nth, calls in enumerate((texts // 3, texts + 100)):
                scorer, path = faults.judged_job(
                    folder / str(nth),
                    endpoint,
                    server.url,
                    rows=rows,
                    texts=texts,
                    calls=calls,
                    after=5.0,
                )
                before = endpoint.requests
                began = time.monotonic()
                report = faults.Report.open(run(scorer, path), rows=rows)
                took = time.monotonic() - began
                faults.check_judged(
                    scorer,
                    report,
                    endpoint,
                    rows=rows,
                    calls=calls,
                    jobs_before=nth,
                    requests_before=before,
                )
                asked = endpoint.requests - before
                print(
                    f"{engine}: {rows:,} judged samples in {took:.0f} s, budget {calls:,}: "
                    f"{report.summary()[0].scored:,} scored, {asked:,} requests "
                    f"({asked / took:.0f} a second), {endpoint.turned_away:,} turned away so far",
                    flush=True,
                )
            faults.check_judged_whole(scorer, report, endpoint, path, rows)
            told = paid_twice(endpoint)
    finally:
        server.stop()
    print(f"{engine}: as one run, byte for byte, {told}, but: {report.stopped}", flush=True)


def documented(engine: str, rows: int, folder: Path) -> None:
    """Run the documented job, by ID alone."""
    path = folder / "samples.parquet"
    faults.write_ids(path, rows)
    heading = {"ray": "Ray Data"}.get(engine, engine.title())
    given = {
        "samples.parquet": str(path),
        '"scores"': repr(str(folder / "scores")),
        "[IdRecall(), TextRecall(), ClaimRecall()]": "IdRecall()",
    }
    code = engines.documented(heading, given)
    script = folder / "script.py"
    script.write_text(f"{code}\nif __name__ == '__main__':\n    {_KEEP.format(folder=folder)}\n")
    began = time.monotonic()
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_register_timeout_seconds": "300",
    }
    subprocess.run([sys.executable, str(script)], check=True, env=environment, cwd=folder)
    took = time.monotonic() - began
    expected, _ = faults.one_run(path, ())
    assert (folder / "totals.json").read_text() == faults.as_text(expected)
    print(f"{engine}, as documented: {rows:,} rows in {took:.0f} s, byte for byte", flush=True)


_KEEP = (
    "from tests.distributed.faults import as_text; "
    "open('{folder}' + '/totals.json', 'w').write(as_text(report))"
)


def paid_twice(endpoint: Endpoint) -> str:
    """Return how many answers were paid for, and how many of them twice."""
    twice = endpoint.asked.total() - len(endpoint.asked)
    return f"{len(endpoint.asked):,} answers paid, {twice} of them twice"


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["ids", "judged", "documented"])
    parser.add_argument("engines", nargs="+", choices=engines.ENGINES)
    parser.add_argument("--rows", type=int, help="default: 1,000,000 of IDs, 20,000 judged")
    parser.add_argument("--rate", type=float, default=150.0, help="requests a second")
    parser.add_argument("--seconds", type=float, default=0.05, help="that a reply takes")
    given = parser.parse_args()
    for engine in given.engines:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            if given.what == "documented":
                documented(engine, given.rows or 1_000_000, Path(folder))
            elif given.what == "ids":
                ids(engine, given.rows or 1_000_000, Path(folder))
            else:
                rows = given.rows or 20_000
                judged(engine, rows, Path(folder), rate=given.rate, seconds=given.seconds)


if __name__ == "__main__":
    main()
