"""Spark runs a real local job, and its report is the plain one.

Opt-in, `-m engines`: it needs `pip install pyspark` and a Java that Spark runs on.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.batches import engines, faults
from tests.batches.conftest import SAMPLES

from fullrecall import BatchScorer, Report, evaluate
from fullrecall.read import from_rows

pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")

if TYPE_CHECKING:
    from conftest import Job
    from tests.batches.loopback import Endpoint

pytestmark = [
    pytest.mark.engines,
    # Spark's own warnings: it does not know pandas 3 yet, and does not close its JVM's sockets.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture(scope="module")
def spark(
    installed: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """Start Spark on this machine, with two workers, on loopback only."""
    installed("pyspark", "pyspark")
    if shutil.which("java") is None:
        pytest.fail("-m engines needs java: apt-get install openjdk-17-jre-headless")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        from pyspark.sql import SparkSession

        settings = {
            "spark.master": "local[2,4]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.files.maxPartitionBytes": "20k",
            "spark.sql.files.openCostInBytes": "1k",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        }
        session = SparkSession.builder.config(map=settings).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


def test_the_documented_job(
    spark: Any, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example in the documentation runs as it is."""
    monkeypatch.chdir(tmp_path)
    job.run(job.documented("Spark"))
    job.check_saved(tmp_path / "report.jsonl")


def test_the_columns_without_a_row(spark: Any, job: Job) -> None:
    """The schema has the user's own columns with their types, and then those of a result."""
    from pyspark.sql import functions

    samples = spark.read.parquet(str(job.path)).withColumn("of`me", functions.lit(1.5))
    schema = BatchScorer(job.scorers, position="row").schema(samples)
    own, head, number, *_ = schema.fields
    assert (own.name, own.dataType.simpleString()) == ("of`me", "double")
    assert (head.name, head.dataType.simpleString()) == ("fullrecall", "string")
    assert (number.name, number.dataType.simpleString()) == ("row", "bigint")
    steps = "array<array<struct<position:int,credit:double>>>"
    assert schema["id_recall_steps"].dataType.simpleString() == steps


def test_after_a_shuffle(spark: Any, job: Job, tmp_path: Path) -> None:
    """Mixed partitions give the same report, with the rows in their order."""
    scorer = BatchScorer(job.scorers, position="row")
    samples = spark.read.parquet(str(job.path)).repartition(3)
    scores = samples.mapInArrow(scorer.over, scorer.schema(samples))
    scores.write.parquet(str(tmp_path / "scores"))
    job.check(Report.open(tmp_path / "scores", rows=SAMPLES))


def test_faults(spark: Any, tmp_path: Path) -> None:
    """A batch that fails once and a killed worker leave the report of one run.

    Rows that the files have twice, as speculative attempts leave them, count once.
    """
    scorer, path = faults.ids_job(tmp_path, 4_000)
    report = Report.open(engines.in_spark(spark, scorer, path, kept=True), rows=4_000)
    faults.check_ids(scorer, report, path, 4_000)
    left = [*Path(scorer.folder).glob("*.parquet")] * 2
    again = Report.open(left, rows=4_000)
    assert again.complete
    assert again.summary().to_dict() == report.summary().to_dict()


def test_faults_with_a_judge(
    spark: Any, endpoint: Endpoint, redis_url: str, tmp_path: Path
) -> None:
    """With an endpoint that limits its rate, each answer is paid once, within the budget."""
    endpoint.rate = 100.0
    scorer, path = faults.judged_job(tmp_path, endpoint, redis_url, rows=200, texts=90, calls=200)
    report = Report.open(engines.in_spark(spark, scorer, path), rows=200)
    faults.check_judged(scorer, report, endpoint, rows=200, calls=200)


def test_spark_s_own_rows(spark: Any, job: Job) -> None:
    """Collected Spark rows are samples, even with rows nested inside."""
    samples = spark.read.parquet(str(job.path))
    collected = samples.orderBy("row").collect()
    assert hasattr(collected[1].retrieved_contexts[0], "asDict")
    report = evaluate(from_rows(collected, rename={"row": None}), job.scorers, progress=False)
    job.check(report)


def test_the_frames_of_six_libraries_are_one_set(
    spark: Any, job: Job, installed: Callable[..., None]
) -> None:
    """One file, as a frame of each of six libraries, gives the plain report."""
    for package in ("polars", "datasets", "dask"):
        installed(package, package)
    import dask
    import dask.dataframe as dd
    import datasets
    import pandas as pd
    import polars as pl

    table = pq.read_table(job.path)
    frame = pd.read_parquet(job.path, dtype_backend="pyarrow")
    with dask.config.set({"dataframe.convert-string": False}):
        frames = {
            "pandas": frame,
            "polars": pl.from_arrow(table),
            "pyarrow": table,
            "Hugging Face": datasets.Dataset(table),
            "Dask": dd.from_pandas(frame, npartitions=3),
            "Spark": spark.read.parquet(str(job.path)).orderBy("row"),
        }
        for one in frames.values():
            samples = from_rows(one, rename={"row": None})
            job.check(evaluate(samples, job.scorers, progress=False))
