"""Dask runs a real local job, and its report is the plain one.

Opt-in, `-m engines`: it needs `pip install "dask[dataframe]"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.batches import engines, faults
from tests.batches.conftest import SAMPLES

from fullrecall import BatchScorer, ClaimRecall, LLMJudge, Report, evaluate
from fullrecall.errors import InputError
from fullrecall.judge import OpenAIChatModel
from fullrecall.read import from_rows

if TYPE_CHECKING:
    from conftest import Job
    from tests.batches.loopback import Endpoint

pytestmark = [
    pytest.mark.engines,
    # Dask's own warning, on reading Parquet with pandas 3.
    pytest.mark.filterwarnings("ignore:The inplace keyword in:DeprecationWarning"),
]


@pytest.fixture(scope="session")
def dd(installed: Callable[..., None]) -> Any:
    """Return Dask's data frames."""
    installed("dask", "dask[dataframe]")
    import dask.dataframe

    return dask.dataframe


def test_the_documented_job(
    dd: Any, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example in the documentation runs as it is, in worker processes."""
    monkeypatch.chdir(tmp_path)
    job.run(job.documented("Dask"))
    job.check_saved(tmp_path / "report.jsonl")


def test_a_frame_in_memory(dd: Any, job: Job, tmp_path: Path) -> None:
    """A pandas frame in threads gives scores with the columns of `meta`, in any order."""
    import dask
    import pandas as pd

    scorer = BatchScorer(job.scorers, position="row")
    with dask.config.set({"dataframe.convert-string": False}):
        frame = pd.read_parquet(job.path, dtype_backend="pyarrow").sample(frac=1, random_state=3)
        samples = dd.from_pandas(frame, npartitions=5, sort=False)
        scores = samples.map_partitions(scorer, meta=scorer.meta(samples))
        computed = scores.compute(scheduler="threads")
        scores.to_parquet(tmp_path / "scores", compute_kwargs={"scheduler": "threads"})
    assert list(scores.columns) == list(computed.columns)
    assert list(computed.index) == list(frame.index)
    job.check(Report.open(tmp_path / "scores", rows=SAMPLES))


@pytest.fixture(scope="module")
def cluster(installed: Callable[..., None]) -> Iterator[Any]:
    """Start two workers with nannies."""
    installed("distributed", "dask[dataframe,distributed]")
    with engines.dask_started() as client:
        yield client


def test_faults(cluster: Any, tmp_path: Path) -> None:
    """A batch that fails once and a killed worker leave the report of one run."""
    scorer, path = faults.ids_job(tmp_path, 4_000)
    report = Report.open(engines.in_dask(scorer, path), rows=4_000)
    faults.check_ids(scorer, report, path, 4_000)


def test_faults_with_a_judge(
    cluster: Any, endpoint: Endpoint, redis_url: str, tmp_path: Path
) -> None:
    """With an endpoint that limits its rate, each answer is paid once, within the budget."""
    endpoint.rate = 100.0
    scorer, path = faults.judged_job(tmp_path, endpoint, redis_url, rows=200, texts=90, calls=70)
    report = Report.open(engines.in_dask(scorer, path), rows=200)
    faults.check_judged(scorer, report, endpoint, rows=200, calls=70)


def test_a_judge_has_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask names a computation by its content: the same judge has the same name twice."""
    import dask
    from dask.base import tokenize

    model, other = (OpenAIChatModel(name, base_url="http://127.0.0.1:9/v1") for name in "mo")
    with dask.config.set({"tokenize.ensure-deterministic": True}):
        scorers = [
            BatchScorer(ClaimRecall(judge=LLMJudge(one)), position="row")
            for one in (model, model, other)
        ]
        one, same, another = map(tokenize, scorers)
        assert one == same != another
        assert tokenize(scorers[0].scorers) == tokenize(scorers[1].scorers)


def test_a_frame_as_rows(dd: Any, job: Job) -> None:
    """A Dask frame read whole in this process gives the plain report."""
    import dask
    import pandas as pd

    frame = pd.read_parquet(job.path, dtype_backend="pyarrow")
    with dask.config.set({"dataframe.convert-string": False}):
        samples = from_rows(dd.from_pandas(frame, npartitions=3), rename={"row": None})
        job.check(evaluate(samples, job.scorers, progress=False))


def test_lists_that_dask_made_texts(dd: Any) -> None:
    """Lists that Dask turned into texts are read; an array's text is an error with the reason."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({"user_input": ["q"], "retrieved_ids": [["a"]]})
    (sample,) = from_rows(dd.from_pandas(frame, npartitions=1))
    assert sample.retrieved_context_ids == ("a",)
    frame["retrieved_ids"] = [np.array(["a", "b"], object)]
    with pytest.raises(InputError, match="Dask turns lists into texts unless"):
        list(from_rows(dd.from_pandas(frame, npartitions=1)))
