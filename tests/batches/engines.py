"""Runs a scorer over a file in each engine, as in the documentation, with the setup of a test."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.batches.faults import FaultyScorer

BATCH = 1_000
DOCS = Path(__file__).parents[2] / "docs" / "scale.md"


def documented(heading: str, replaced: Mapping[str, str]) -> str:
    """Return the example under a heading of docs/scale.md, with these texts replaced."""
    section = DOCS.read_text("utf-8").split(f"\n### {heading}\n", 1)[1].split("\n### ", 1)[0]
    (code,) = re.findall(r"^```py\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    for before, after in replaced.items():
        assert before in code
        code = code.replace(before, after)
    return str(code)


def in_ray(ray: Any, scorer: FaultyScorer, path: Path, *, batch: int = BATCH) -> Path:
    """Write the scores, and return their path."""
    # An error in Ray loses the whole block.
    samples = ray.data.read_parquet(str(path)).repartition(8)
    scores = samples.map_batches(scorer, batch_size=batch, batch_format="pyarrow")
    scores.write_parquet(str(path.with_name("scores")))
    return path.with_name("scores")


def in_spark(spark: Any, scorer: FaultyScorer, path: Path, *, kept: bool = False) -> Path:
    """Write the scores, and return their path."""
    samples = spark.read.parquet(str(path))
    scores = samples.mapInArrow(scorer.kept if kept else scorer.over, scorer.schema(samples))
    scores.write.parquet(str(path.with_name("scores")))
    return path.with_name("scores")


@contextmanager
def dask_started(workers: int = 2) -> Iterator[Any]:
    """Start worker processes of Dask on this machine, each with a nanny that restarts it."""
    import dask
    from distributed import Client, LocalCluster

    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    config = {"distributed.scheduler.allowed-failures": 5, "distributed.worker.daemon": False}
    with (
        dask.config.set(config),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit="2GB"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def in_dask(scorer: FaultyScorer, path: Path) -> Path:
    """Write the scores, and return their path. Call it within `dask_started`."""
    import dask.dataframe as dd

    samples = dd.read_parquet(path, split_row_groups=True, dtype_backend="pyarrow")
    scores = samples.map_partitions(scorer, meta=scorer.meta(samples))
    scores.to_parquet(path.with_name("scores"), compute_kwargs={"retries": 2})
    return path.with_name("scores")
