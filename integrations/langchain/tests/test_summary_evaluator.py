"""The summary has the mean over an experiment with its counts, and judges no run twice."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example, Run

from fullrecall import IdRecall, Sample
from fullrecall.measures import Hit, Recall
from fullrecall.scorers import Method, Result
from langchain_fullrecall import RecallStringEvaluator

pytestmark = pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")


class CountingScorer:
    """A scorer by ID that counts its calls."""

    def __init__(self) -> None:
        self.inner = IdRecall()
        self.asked = 0

    @property
    def method(self) -> Method:
        """Return the inner scorer's method."""
        return self.inner.method

    def score(self, sample: Sample) -> Result:
        """Return the inner scorer's result."""
        self.asked += 1
        return self.inner.score(sample)


@pytest.fixture
def rows(example: Any) -> list[Example]:
    """Return rows: two are scored, one fails, and one has no reference items."""
    return [
        example("half", reference_context_ids=["d0", "d9"]),
        example("all", reference_context_ids=["d1"]),
        example("fails", reference_context_ids=["d0"]),
        example("half", reference_context_ids=[]),
    ]


@pytest.fixture
def target(retriever_of: Any, documents: list[Document]) -> Any:
    """An application whose retriever fails for one question."""
    found = {"half": documents, "all": documents, "fails": ConnectionError("no route")}
    retriever = retriever_of(found)

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": str(len(retriever.invoke(inputs["question"])))}

    return run


def summaries(evaluator: Any, target: Any, rows: list[Example], client: Client, **more: Any) -> Any:
    """Return the results of one experiment's summary evaluators."""
    outcome = evaluate(
        target,
        data=rows,
        evaluators=[evaluator],
        summary_evaluators=[evaluator.summary],
        client=client,
        upload_results=False,
        **more,
    )
    list(outcome)
    return outcome._summary_results["results"]


@pytest.mark.parametrize("kind", [RecallStringEvaluator])
def test_the_mean_and_its_coverage(
    kind: Any, target: Any, rows: list[Example], client: Client
) -> None:
    """Unmeasured runs are counted, and are not 0 in the mean."""
    (mean,) = summaries(kind(IdRecall(), Recall @ 2), target, rows, client, max_concurrency=3)
    assert (mean.key, mean.score, mean.value) == ("id_recall@2.mean", 0.75, None)
    assert mean.comment.startswith(
        "mean of 2 of 4 runs; 1 undefined, without reference items; 1 unscored: no retrieval"
    )
    told = json.loads(json.dumps(mean.evaluator_info))["fullrecall"]
    assert [told[count] for count in ("runs", "scored", "undefined", "unscored")] == [4, 2, 1, 1]


def test_nothing_is_scored_twice(target: Any, rows: list[Example], client: Client) -> None:
    """Each run is scored once, since a judge costs money."""
    scorer = CountingScorer()
    evaluator = RecallStringEvaluator(scorer)
    assert summaries(evaluator, target, rows, client)[0].score == 0.75
    assert scorer.asked == 4
    assert summaries(evaluator, target, rows[1:2], client)[0].score == 1.0
    assert scorer.asked == 5


def test_an_evaluator_that_was_left_out_is_asked(
    target: Any, rows: list[Example], client: Client
) -> None:
    """The summary works without the evaluator among the row evaluators."""
    summary = RecallStringEvaluator(IdRecall(), Recall @ 2).summary
    outcome = evaluate(
        target, data=rows, summary_evaluators=[summary], client=client, upload_results=False
    )
    list(outcome)
    assert outcome._summary_results["results"][0].score == 0.75


def test_in_an_async_experiment(target: Any, rows: list[Example], client: Client) -> None:
    """`aevaluate` takes the summary too."""
    scorer = CountingScorer()
    evaluator = RecallStringEvaluator(scorer)

    async def atarget(inputs: dict[str, Any]) -> Any:
        return await asyncio.to_thread(target, inputs)

    async def run() -> Any:
        outcome = await aevaluate(
            atarget,
            data=rows,
            evaluators=[evaluator],
            client=client,
            upload_results=False,
            summary_evaluators=[evaluator.summary],
            max_concurrency=2,
        )
        async for _ in outcome:
            pass
        return outcome._summary_results["results"]

    (mean,) = asyncio.run(run())
    assert (mean.score, scorer.asked) == (0.75, 4)


def test_each_score_has_its_mean(target: Any, rows: list[Example], client: Client) -> None:
    """Each k and measure of the evaluator has a mean."""
    evaluator = RecallStringEvaluator(
        IdRecall(), Recall, Recall @ 1, Recall @ 2, Hit, Hit @ 1, Hit @ 2
    )
    means = {mean.key: mean.score for mean in summaries(evaluator, target, rows[:2], client)}
    assert means == {
        "id_recall.mean": 0.75,
        "id_recall@1.mean": 0.25,
        "id_recall@2.mean": 0.75,
        "id_recall.hit.mean": 1.0,
        "id_recall.hit@1.mean": 0.5,
        "id_recall.hit@2.mean": 1.0,
    }


def run_with(documents: list[Document]) -> Run:
    """Return a run whose output holds these documents."""
    now = datetime(2025, 1, 1, tzinfo=UTC)
    return Run(
        id=uuid4(),
        name="run",
        start_time=now,
        run_type="chain",
        inputs={},
        outputs={"documents": documents},
        trace_id=uuid4(),
        dotted_order="20250101T000000000000Zx",
    )


def test_ids_of_the_wrong_level_are_told(documents: list[Document], example: Any) -> None:
    """If no reference ID was found in a whole experiment, the comment names the right key."""
    summary = RecallStringEvaluator().summary
    rows = [example(reference_context_ids=["fr"]), example(reference_context_ids=["it"])]
    runs = [run_with(documents), run_with(documents)]
    mean: Any = summary(runs, rows)
    assert mean.score == 0.0
    assert "no reference ID was retrieved: the references are in other fields: " in mean.comment
    assert "id_key='source' would find them (in 2 of 2)" in mean.comment
    found: Any = RecallStringEvaluator(id_key="source").summary(runs, rows)
    assert (found.score, found.comment) == (1.0, "mean of 2 of 2 runs")


class OfAPool(IdRecall):
    """A scorer whose user has judged no documents for some rows, those with the answer "?"."""

    def score(self, sample: Any = None, /, **fields: Any) -> Result:
        """Return the result of an ID scorer, unjudged for those rows."""
        unjudged = Sample(retrieved_context_ids=[], judged=False)
        return super().score(unjudged if sample.reference == "?" else sample, **fields)


def test_a_comment_has_a_part_for_each_state(documents: list[Document], example: Any) -> None:
    """The comment counts undefined, unjudged and unscored runs, each if there are any."""
    states = {
        "scored": (documents, {"reference_context_ids": ["d0"]}),
        "1 undefined, without reference items": (documents, {"reference_context_ids": []}),
        "1 unjudged, without a relevance judgment": (
            documents,
            {"reference_context_ids": [], "reference": "?"},
        ),
        "2 unscored: reference_context_ids is missing (2)": (documents, {"reference": "r"}),
        "hint": (documents, {"reference_context_ids": ["fr"]}),
    }
    for left_out in ("", *states):
        rows = {state: row for state, row in states.items() if state != left_out}
        pairs = [row for state, row in rows.items() for _ in range(2 if state[0] == "2" else 1)]
        mean: Any = RecallStringEvaluator(OfAPool()).summary(
            [run_with(found) for found, _ in pairs], [example(**outputs) for _, outputs in pairs]
        )
        scored = sum(state in rows for state in ("scored", "hint"))
        parts = [f"mean of {scored} of {len(pairs)} runs", *(s for s in rows if s[0] in "12")]
        told = mean.comment.split("; ")
        assert told[: len(parts)] == parts
        assert ["no reference ID" in part for part in told[len(parts) :]] == (
            [True] if left_out == "scored" else []
        )
