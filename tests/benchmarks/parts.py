"""What totals with identity cost: a row in its worker, a part on its way, a merge at the driver.

    python tests/benchmarks/parts.py

CPU seconds of this process; the least of three for what is short.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from fullrecall.distributed.totals.summed_rows import SummedRows

from fullrecall import BatchScorer, IdRecall

ROWS = 100_000


def table(rows: range, *, ids: bool, groups: int | None) -> Any:
    """Return samples of ten retrieved and two expected IDs."""
    rng = random.Random(rows.start)
    columns: dict[str, Any] = {
        "row": list(rows),
        "retrieved_ids": [[rng.randrange(1_000) for _ in range(10)] for _ in rows],
        "expected_ids": [[rng.randrange(1_000) for _ in range(2)] for _ in rows],
    }
    if ids:
        columns["id"] = [f"q{row}" for row in rows]
    if groups:
        columns["group"] = [f"group-{row * 7919 % groups}" for row in rows]
    return pa.table(columns)


def seconds(act: Callable[[], Any], times: int = 3) -> float:
    """Return the least CPU seconds that it takes."""
    took = []
    for _ in range(times):
        began = time.process_time()
        act()
        took.append(time.process_time() - began)
    return min(took)


def rows() -> None:
    """Print what a row costs in its worker, by the size of its batch and by its form."""
    some = table(range(20_000), ids=True, groups=None)
    totals = BatchScorer(IdRecall(), position="row", keep="summary")
    full = BatchScorer(IdRecall(), position="row")
    for size in (100, 1_000, 10_000):

        def act(size: int = size) -> None:
            for start in range(0, 20_000, size):
                totals(some.slice(start, size))

        print(f"totals, batches of {size:,}: {seconds(act) / 20_000 * 1e6:.1f} us a row")
    counting = SummedRows.count_columns
    SummedRows.count_columns = lambda *_: None  # type: ignore[method-assign]
    took = seconds(lambda: totals(some), 1) / 20_000 * 1e6
    SummedRows.count_columns = counting  # type: ignore[method-assign]
    print(f"totals, row by row: {took:.1f} us a row")
    scores = full(some)
    took = seconds(lambda: full(some), 1) / 20_000 * 1e6
    told = sum(map(len, scores["fullrecall_row"].to_pylist())) / 20_000
    reporting = seconds(lambda: full.report(scores), 1) / 20_000 * 1e6
    print(f"rows: {took:.0f} us a row, {told:.0f} bytes; at the driver {reporting:.0f} us a row")
    empty = some.slice(0, 1)
    print(f"a batch by itself: {seconds(lambda: totals(empty), 20) * 1e3:.2f} ms")


def parts() -> None:
    """Print what parts weigh, and what merging them costs."""
    for ids in (False, True):
        totals = BatchScorer(IdRecall(), position="row", keep="summary")
        made = [
            totals(table(range(start, start + 10_000), ids=ids, groups=None))
            for start in range(0, ROWS, 10_000)
        ]
        size = sum(len(each["fullrecall_totals"][0].as_py()) for each in made) / len(made)
        took = seconds(lambda: totals.report(made, rows=ROWS)) / len(made)  # noqa: B023
        print(f"part of 10,000 rows, ids={ids}: {size:,.0f} bytes, merged in {took * 1e3:.2f} ms")
        merged = totals.merged(pa.concat_tables(made))
        print(f"  ten of them merged: {len(merged['fullrecall_totals'][0].as_py()):,} bytes")


def groups() -> None:
    """Print what groups weigh before and after they are folded."""
    count = 20_000
    totals = BatchScorer(IdRecall(), position="row", keep="summary")
    made = pa.concat_tables(
        totals(table(range(start, start + 10_000), ids=False, groups=count))
        for start in range(0, ROWS, 10_000)
    )
    size = sum(map(len, made["fullrecall_totals"].to_pylist()))
    began = time.process_time()
    merged = totals.merged(made)
    took = time.process_time() - began
    after = sum(map(len, merged["fullrecall_totals"].to_pylist()))
    print(
        f"{count:,} groups in 10 parts: {size / ROWS:.0f} bytes for each group in each part; "
        f"folded in {took / ROWS * 1e6:.1f} us each, to {after:,} bytes in all"
    )


if __name__ == "__main__":
    rows()
    parts()
    groups()
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
