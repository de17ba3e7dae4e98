"""The forms of an experiment that become a report, and the errors of all others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.documents import Document
from langsmith.schemas import Example, Run

from fullrecall import IdRecall, TextRecall
from fullrecall.errors import InputError, ReportError
from langchain_fullrecall import RecallStringEvaluator, report_of

MORNING = datetime(2025, 1, 1, tzinfo=UTC)
ROW = UUID(int=7)
EXAMPLE = Example(id=ROW, inputs={"question": "q"}, outputs={"reference_context_ids": ["a", "b"]})
BY_ID = RecallStringEvaluator(IdRecall())
BY_TEXT = RecallStringEvaluator(TextRecall())


def run_of(order: int = 0, **fields: Any) -> Run:
    """Return a run that retrieved one document."""
    own = {
        "id": UUID(int=100 + order),
        "name": "target",
        "run_type": "chain",
        "inputs": {"question": "q"},
        "outputs": {"documents": [Document("text", id="a")]},
        "start_time": MORNING,
        "end_time": MORNING,
        "dotted_order": f"20250101T00000{order}000000Z{order}",
    }
    return Run(**{**own, **fields})


def entry_of(run: Run, *infos: Any, example: Example | None = EXAMPLE) -> dict[str, Any]:
    """Return a row of the results of `langsmith.evaluate`."""
    results = [SimpleNamespace(evaluator_info=info) for info in infos]
    return {"run": run, "example": example, "evaluation_results": {"results": results}}


def info_of(run: Run, evaluator: RecallStringEvaluator = BY_ID) -> Any:
    """Return the values that an evaluator keeps beside its score."""
    return evaluator.evaluate_run(run, EXAMPLE).evaluator_info  # type: ignore[union-attr]


RUN = run_of()
NOTED = entry_of(RUN, {"other": 1}, None, info_of(RUN))


@pytest.mark.parametrize(
    ("experiment", "evaluators", "sample_id"),
    [
        ([NOTED], (), ROW),
        ([NOTED], (BY_ID,), ROW),
        ([entry_of(RUN)], (BY_ID,), ROW),
        ([{"run": RUN, "example": EXAMPLE, "evaluation_results": None}], (BY_ID,), ROW),
        ([{"run": RUN, "example": EXAMPLE, "evaluation_results": {}}], (BY_ID,), ROW),
        ([{"run": RUN, "example": EXAMPLE}], (BY_ID,), ROW),
        ([(RUN, EXAMPLE)], (BY_ID,), ROW),
        (iter([(RUN, EXAMPLE)]), (BY_ID,), ROW),
        ([entry_of(run_of(reference_example_id=uuid4()), info_of(RUN))], (), ROW),
        ([entry_of(run_of(reference_example_id=ROW), info_of(RUN), example=None)], (), ROW),
        ([entry_of(RUN, info_of(RUN), example=None)], (), None),
    ],
)
def test_the_forms_of_an_experiment(experiment: Any, evaluators: Any, sample_id: Any) -> None:
    """Rows, runs and pairs become rows with the example's ID; kept results are read."""
    report = report_of(experiment, *evaluators)
    (row,) = report
    (result,) = row.results
    assert (result.score, result.method.name) == (0.5, "id_recall")
    assert row.sample.id == (None if sample_id is None else str(sample_id))


def test_a_kept_result_is_not_measured_again() -> None:
    """An evaluator measures the runs that lack its result, and no others."""
    asked: list[Run] = []

    class Counting(RecallStringEvaluator):
        def measure_run(self, run: Run, *args: Any) -> Any:
            asked.append(run)
            return super().measure_run(run, *args)

    report = report_of([NOTED, entry_of(run_of(1))], Counting(IdRecall()))
    assert len(report) == 2
    assert asked == [run_of(1)]


def test_the_rows_are_in_the_order_of_the_runs() -> None:
    """Runs are reported in the order in which they began, with every method."""
    first, second = run_of(1), run_of(2, outputs={"documents": []})
    report = report_of([(second, EXAMPLE), (first, EXAMPLE)], BY_ID, BY_TEXT)
    scores = [[(each.method.name, each.score) for each in row.results] for row in report]
    assert scores == [
        [("id_recall", 0.5), ("text_recall", None)],
        [("id_recall", 0.0), ("text_recall", None)],
    ]


NO_RESULTS = (
    "no run has results of a RecallStringEvaluator: pass one, "
    "report_of(experiment, RecallStringEvaluator(IdRecall()))"
)
NO_RESULT = (
    f"run {run_of(1).id} has no result of id_recall: pass the evaluator that gave the others"
)


async def _running() -> AsyncIterator[Any]:
    await _Never()
    yield NOTED


class _Never:
    def __await__(self) -> Any:
        yield


@pytest.mark.parametrize(
    ("experiment", "error", "message"),
    [
        (7, InputError, "expected an experiment's results, its name, or runs, got int"),
        (b"name", InputError, "expected an experiment's results, its name, or runs, got bytes"),
        (NOTED, InputError, "expected an experiment's results, its name, or runs, got dict"),
        ([7], InputError, "expected a run, or a run with its example, got int"),
        ([{"example": EXAMPLE}], InputError, "expected a run, or a run with its example, got dict"),
        ([(RUN, EXAMPLE, 1)], InputError, "expected a run, or a run with its example, got tuple"),
        ([], ReportError, NO_RESULTS),
        ([RUN], ReportError, NO_RESULTS),
        ([entry_of(RUN, {"fullrecall": {}}, {"fullrecall": 7})], ReportError, NO_RESULTS),
        (
            [NOTED, run_of(1)],
            ReportError,
            NO_RESULT,
        ),
        (
            _running(),
            InputError,
            "the experiment has not ended: pass report_of([row async for row in results])",
        ),
    ],
)
def test_what_is_no_finished_experiment(experiment: Any, error: Any, message: str) -> None:
    """Any other value, a run without results, and a running experiment are refused."""
    with pytest.raises(error) as raised:
        report_of(experiment)
    assert str(raised.value) == message


class _Client:
    """LangSmith's client, with runs, examples and feedback in memory."""

    def __init__(self, runs: list[Run], notes: Any = ()) -> None:
        self._runs, self._notes = runs, notes
        self.asked: list[Any] = []

    def list_runs(self, *, project_name: str, is_root: bool = False) -> list[Run]:
        """Return the runs, or those without a parent."""
        assert project_name == "name"
        return [run for run in self._runs if not is_root or run.parent_run_id is None]

    def list_examples(self, *, example_ids: list[UUID]) -> list[Example]:
        """Return the example."""
        self.asked += example_ids
        return [EXAMPLE]

    def list_feedback(self, *, run_ids: list[UUID]) -> Any:
        """Return the notes."""
        self.asked += run_ids
        return self._notes


def test_an_experiment_by_its_name() -> None:
    """The runs, below their callers, have their examples, and the results kept in feedback."""
    root = run_of(outputs={"answer": "x"}, reference_example_id=ROW)
    child = run_of(1, run_type="retriever", parent_run_id=root.id)
    lost = run_of(2, run_type="retriever", parent_run_id=uuid4())
    client: Any = _Client([root, child, lost])
    (row,) = report_of("name", BY_ID, client=client)
    assert (row.results[0].score, row.sample.id) == (0.5, str(ROW))
    assert client.asked == [ROW, root.id]
    source = SimpleNamespace(metadata=info_of(RUN))
    notes = [
        SimpleNamespace(run_id=each.id, feedback_source=own)
        for each in (root, child)
        for own in (None, source)
    ]
    other: Any = _Client([run_of(outputs={"answer": "x"}), child], notes)
    (row,) = report_of("name", client=other)
    assert (row.results[0].score, row.sample.id) == (0.5, None)
    assert other.asked == [root.id]


def test_an_experiment_without_runs() -> None:
    """A name without any run is an error."""
    client: Any = _Client([])
    with pytest.raises(InputError, match="experiment 'name' has no runs"):
        report_of("name", client=client)
