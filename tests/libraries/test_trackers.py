"""MLflow and Weights & Biases take `Report.metrics()`, offline, and MLflow's traces are read.

Opt-in: `-m libraries`, with mlflow-skinny and wandb.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fullrecall import IdRecall, Report, Sample, evaluate, read
from fullrecall.measures import Recall, nDCG

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore")]


def report() -> Report:
    """Return a report of names that a tracker does not take, with an unscored sample."""
    samples = [
        Sample(retrieved_context_ids=["a", "b"], reference_context_ids=["a", "c"] if n else None)
        for n in range(3)
    ]
    scorers = [IdRecall(), IdRecall(name="../id@half (é)")]
    return evaluate(samples, scorers, progress=False)


def metrics() -> dict[str, float]:
    """Return the metrics of that report, with measures that have parameters."""
    return {
        **report().metrics(),
        **report().metrics(Recall(min_grade=1) @ 3, nDCG(gain="exponential") @ 10),
    }


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return MLflow with a store of files."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield mlflow
    mlflow.set_tracking_uri(None)


def test_mlflow_takes_them(mlflow: Any) -> None:
    """MLflow takes the names of metrics, even in a store of files, where a name is a path."""
    with mlflow.start_run() as run:
        mlflow.log_metrics(metrics())
    assert mlflow.get_run(run.info.run_id).data.metrics == metrics()


def test_weights_and_biases_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights & Biases takes the metrics unchanged: the run's summary has each number."""
    monkeypatch.setenv("WANDB_SILENT", "true")
    import wandb

    with wandb.init(project="recall", dir=tmp_path, mode="offline") as run:
        run.log(metrics())
        logged = dict(run.summary)
    assert {name: logged.get(name) for name in metrics()} == metrics()


def test_traces_of_mlflow(mlflow: Any) -> None:
    """A retriever's span, as MLflow logs it, gives the same sample from a list and a frame."""

    @mlflow.trace(span_type="RETRIEVER")
    def search(query: str) -> list[dict[str, Any]]:
        if query == "fails":
            raise ConnectionError("the index is gone")
        return [
            {"page_content": f"text {n}", "metadata": {"doc_uri": f"u{n}"}, "id": f"d{n}"}
            for n in range(0 if query == "nothing" else 2)
        ]

    @mlflow.trace
    def answer(question: str) -> str:
        return str(len(search(question)))

    answer("two")
    answer("nothing")
    with pytest.raises(ConnectionError):
        answer("fails")
    mlflow.flush_trace_async_logging()
    frame = mlflow.search_traces()
    listed = mlflow.search_traces(return_type="list")
    found = {one.user_input: one for one in read.from_spans(listed)}
    assert {one.user_input: one for one in read.from_spans(frame)} == found
    assert found["two"].retrieved_context_ids == ("d0", "d1")
    assert found["two"].response == "2"
    assert found["nothing"].retrieved_context_ids == ()
    assert "the index is gone" in str(found["fails"].retrieval_error)
    by_uri = {one.user_input: one for one in read.from_spans(listed, id_key="doc_uri")}
    assert by_uri["two"].retrieved_context_ids == ("u0", "u1")
