"""Ray Data runs real local jobs, one of them through the death of a worker.

Opt-in, `-m engines`: it needs `pip install "ray[data]"`.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from tests.batches import engines, faults
from tests.batches.conftest import SAMPLES

from fullrecall import BatchScorer, ClaimRecall, LLMJudge, Report
from fullrecall.judge import OpenAIChatModel

if TYPE_CHECKING:
    from conftest import Job
    from tests.batches.loopback import Endpoint

pytestmark = [
    pytest.mark.engines,
    # Ray's own warnings: its use of deprecated functions, and files and processes left open.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray\\."),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:subprocess \\d+ is still running:ResourceWarning"),
]

TRIES = 5
"""Ray gives up if its own processes take more than 15 s to start: a busy machine is slower."""

CONCURRENCY = 4


@pytest.fixture(scope="module")
def ray(installed: Callable[..., None]) -> Iterator[Any]:
    """Start a small Ray on this machine, without usage reports."""
    installed("ray", "ray[data]")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("RAY_worker_register_timeout_seconds", "300")
        # The default is 15: on a busy machine its workers would get too little time to run.
        environment.setenv("RAY_worker_niceness", "0")
        environment.delenv("RAY_ADDRESS", raising=False)
        import ray
        import ray.data

        before = set(psutil.Process().children())
        for attempt in range(1, TRIES + 1):
            try:
                ray.init(
                    num_cpus=2,
                    object_store_memory=200 * 2**20,
                    include_dashboard=False,
                    configure_logging=False,
                    log_to_driver=False,
                    runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parents[2])}},
                )
                break
            except Exception:
                if attempt == TRIES:
                    raise
                for left in set(psutil.Process().children()) - before:
                    left.kill()
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.max_errored_blocks = -1  # A batch that always fails must not end the job.
        context.max_map_retries = 2
        context.retried_map_errors = ["this partition fails once"]
        yield ray
        ray.shutdown()


def test_the_documented_job(
    ray: Any, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example in the documentation runs as it is."""
    monkeypatch.chdir(tmp_path)
    job.run(job.documented("Ray Data"))
    job.check_saved(tmp_path / "report.jsonl")


def test_data_frames_for_batches(ray: Any, job: Job, tmp_path: Path) -> None:
    """Batches that are data frames give the same report."""
    scorer = BatchScorer(job.scorers, position="row")
    samples = ray.data.read_parquet(str(job.path))
    scores = samples.map_batches(scorer, batch_size=80, batch_format="pandas")
    scores.write_parquet(str(tmp_path / "scores"))
    job.check(Report.open(tmp_path / "scores", rows=SAMPLES))


def test_the_documented_judge(
    ray: Any, job: Job, endpoint: Endpoint, redis_url: str, tmp_path: Path
) -> None:
    """Workers ask a model over HTTP; each judging is requested once, as in the plain run."""
    code = job.documented(
        "A model as the judge",
        **{
            "http://localhost:8000/v1": endpoint.base_url,
            "redis://localhost:6379/0": redis_url,
            "rate=50.0": "rate=500.0",
            "report.jsonl": str(tmp_path / "report.jsonl"),
        },
    )
    job.run(code)
    once = endpoint.asked.copy()
    model = OpenAIChatModel("my-model", base_url=endpoint.base_url)
    job.evaluated(ClaimRecall(judge=LLMJudge(model))).save(tmp_path / "plain.jsonl")
    assert (tmp_path / "report.jsonl").read_bytes() == (tmp_path / "plain.jsonl").read_bytes()
    assert set(once.values()) == {1}
    assert endpoint.asked == once + once


def test_faults(ray: Any, tmp_path: Path) -> None:
    """A batch that fails once, one that always fails, and a killed worker leave right counts.

    The report lists the missing rows.
    """
    scorer, path = faults.ids_job(tmp_path, 4_000, always=3_999)
    report = Report.open(engines.in_ray(ray, scorer, path, batch=200), rows=4_000)
    faults.check_ids(scorer, report, path, 4_000)


def test_faults_with_a_judge(ray: Any, endpoint: Endpoint, redis_url: str, tmp_path: Path) -> None:
    """With an endpoint that limits its rate, each answer is paid once, within the budget."""
    endpoint.rate = 100.0
    scorer, path = faults.judged_job(tmp_path, endpoint, redis_url, rows=200, texts=90, calls=70)
    report = Report.open(engines.in_ray(ray, scorer, path, batch=20), rows=200)
    faults.check_judged(scorer, report, endpoint, rows=200, calls=70)


def test_a_killed_worker_loses_nothing(
    ray: Any, job: Job, endpoint: Endpoint, tmp_path: Path
) -> None:
    """After SIGKILL in a batch, the report is the same, and only requests in flight cost twice."""

    class Judging:
        """An actor that writes a file named by its process ID."""

        def __init__(self, scorer: BatchScorer, folder: Path) -> None:
            self.scorer = scorer
            (folder / str(os.getpid())).touch()

        def __call__(self, batch: Any) -> Any:
            return self.scorer(batch)

    folder = tmp_path / "workers"
    folder.mkdir()
    killed: list[int] = []
    lock = threading.Lock()

    def kill(number: int) -> None:
        with lock:
            if number == 60:
                (worker,) = folder.iterdir()
                killed.append(int(worker.name))
                os.kill(killed[0], signal.SIGKILL)

    endpoint.on_request = kill
    endpoint.seconds = 0.02
    claims = ClaimRecall(judge=LLMJudge(OpenAIChatModel("m", base_url=endpoint.base_url)))
    scorer = BatchScorer(
        claims, position="row", store=tmp_path / "answers.sqlite", max_concurrency=CONCURRENCY
    )
    scores = ray.data.read_parquet(str(job.path)).map_batches(
        Judging,
        fn_constructor_args=[scorer, folder],
        compute=ray.data.ActorPoolStrategy(size=1),
        batch_size=40,
        batch_format="pyarrow",
    )
    scores.write_parquet(str(tmp_path / "scores"))
    report = Report.open(tmp_path / "scores", rows=SAMPLES)
    asked = endpoint.asked.copy()
    job.check(report, claims)

    assert killed
    assert len(list(folder.iterdir())) >= 2
    assert set(asked.values()) <= {1, 2}
    assert asked.total() - len(asked) <= CONCURRENCY
