"""One evaluator object gives the same score through every entry point, and uploads all of it."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from operator import itemgetter
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from langchain_classic.smith import RunEvalConfig, arun_on_dataset, run_on_dataset
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example

from fullrecall import ClaimRecall, IdRecall, Sample, TextRecall
from fullrecall.errors import ParameterError
from fullrecall.measures import Precision, Recall, nDCG
from fullrecall.scorers import Scorer
from langchain_fullrecall import RecallStringEvaluator, observed

pytestmark = [
    pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta"),
    pytest.mark.filterwarnings("ignore:.*run_on_dataset:DeprecationWarning"),
]

REFERENCES = {
    "reference_context_ids": ["d0", "d9"],
    "reference_contexts": ["Paris is the capital of France.", "Nothing of the kind is there."],
    "reference": "Paris is the capital of France. Berlin is the capital of Germany.",
}


class Uploads:
    """The uploads and requests for a LangSmith server, kept in memory."""

    def __init__(self, examples: list[Example]) -> None:
        self.examples = examples
        self.feedback: list[dict[str, Any]] = []

    def read_dataset(self, **_: Any) -> Any:
        """Return the only dataset."""
        return SimpleNamespace(id=uuid4(), url="http://localhost:9", data_type=None)

    def list_examples(self, **_: Any) -> Any:
        """Return the rows of the dataset."""
        return iter(self.examples)

    def read_example(self, example_id: Any, **_: Any) -> Example:
        """Return one row."""
        return next(example for example in self.examples if example.id == example_id)

    def create_project(self, project_name: str, **_: Any) -> Any:
        """Return a project that is not stored."""
        metadata = {"dataset_version": None}
        return SimpleNamespace(
            id=uuid4(),
            name=project_name,
            url="",
            metadata=metadata,
            reference_dataset_id=uuid4(),
            extra={},
        )

    def update_project(self, *_: Any, **__: Any) -> None:
        """Change nothing."""

    def create_feedback(self, run_id: Any = None, key: str = "unnamed", **fields: Any) -> None:
        """Keep the feedback to upload."""
        self.feedback.append({"run_id": run_id, "key": key, **fields})


@pytest.fixture
def uploads(client: Client, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Uploads]:
    """Return a function that gives the client a dataset, and keeps the client's uploads."""

    def behind(*examples: Example) -> Uploads:
        kept = Uploads(list(examples))
        for name in vars(Uploads):
            if not name.startswith("_"):
                monkeypatch.setattr(client, name, getattr(kept, name))
        return kept

    return behind


def experiment_rows(outcome: Any) -> list[Any]:
    """Return each row's feedback."""
    return [feedback for row in outcome for feedback in row["evaluation_results"]["results"]]


@pytest.mark.parametrize("scorer", [IdRecall(), TextRecall(), ClaimRecall()])
def test_the_same_object_gives_the_same_score_everywhere(
    *,
    scorer: Scorer,
    retriever_of: Any,
    documents: list[Document],
    example: Any,
    client: Client,
    uploads: Any,
) -> None:
    """Direct calls, `evaluate`, `aevaluate`, `RunEvalConfig` and both runners give one score."""
    retriever = retriever_of(documents)
    evaluator = RecallStringEvaluator(scorer)
    row: Example = example(**REFERENCES)
    kept = uploads(row)
    chain = RunnableLambda(lambda inputs: inputs["question"]) | retriever
    scores: dict[str, Any] = {}

    arguments: dict[str, Any] = {"reference": REFERENCES, "input": "q"}
    for form, prediction in {
        "documents": documents,
        "chain": {"answer": "a", "context": documents},
        "source_documents": {"result": "a", "source_documents": documents},
        "message": {"answer": "a", "documents": documents},
    }.items():
        returned = evaluator.evaluate_strings(prediction=prediction, **arguments)
        scores[f"evaluate_strings({form})"] = returned["score"]
    given: dict[str, Any] = {"prediction": "an answer", "retrieved_documents": documents}
    returned = evaluator.evaluate_strings(**given, **arguments)
    scores["retrieved_documents"] = returned["score"]
    returned = asyncio.run(evaluator.aevaluate_strings(**given, **arguments))
    scores["aevaluate_strings"] = returned["score"]

    options: dict[str, Any] = {
        "data": [row], "evaluators": [evaluator], "client": client, "upload_results": False,
    }  # fmt: skip
    (feedback,) = experiment_rows(evaluate(chain.invoke, **options))
    scores["evaluate"] = feedback.score

    async def rows() -> list[Any]:
        return [found async for found in await aevaluate(chain.ainvoke, **options)]

    (feedback,) = experiment_rows(asyncio.run(rows()))
    scores["aevaluate"] = feedback.score

    for slot in ("evaluators", "custom_evaluators"):
        configured: dict[str, Any] = {
            "client": client,
            "dataset_name": "d",
            "llm_or_chain_factory": lambda: chain,
            "evaluation": RunEvalConfig(**{slot: [evaluator]}),
        }
        for runner in (run_on_dataset, arun_on_dataset):
            outcome: Any = runner(**configured)
            outcome = asyncio.run(outcome) if asyncio.iscoroutine(outcome) else outcome
            (feedback,) = outcome["results"][str(row.id)]["feedback"]
            scores[f"{runner.__name__}({slot})"] = feedback.score

    assert {item["score"] for item in kept.feedback} == {0.5}
    assert {item["source_info"]["fullrecall"]["status"] for item in kept.feedback} == {"scored"}
    assert all(item["comment"].startswith("1 of 2 found") for item in kept.feedback)
    assert len(kept.feedback) == 4
    assert len(scores) == 12
    assert set(scores.values()) == {0.5}, scores


@pytest.mark.parametrize("kind", [RecallStringEvaluator])
@pytest.mark.parametrize("route", ["evaluate", "aevaluate"])
def test_langsmith_gets_scores_and_reasons(
    *,
    kind: Any,
    route: str,
    retriever_of: Any,
    documents: list[Document],
    example: Any,
    client: Client,
    uploads: Any,
) -> None:
    """LangSmith gets score and comment, and for an unmeasured run a reason and a row."""
    down = ConnectionError("no route")
    retriever = retriever_of({"fine": documents, "down": down})
    rows = [
        example("fine", **REFERENCES),
        example("down", **REFERENCES),
        example("fine", reference_context_ids=[]),
    ]
    kept = uploads(*rows)
    evaluator = kind(IdRecall(), Recall @ 2, Recall @ 1)

    def target(inputs: dict[str, Any]) -> dict[str, str]:
        return {"answer": str(len(retriever.invoke(inputs["question"])))}

    async def atarget(inputs: dict[str, Any]) -> dict[str, str]:
        return {"answer": str(len(await retriever.ainvoke(inputs["question"])))}

    options: dict[str, Any] = {
        "data": rows, "evaluators": [evaluator], "client": client,
        "summary_evaluators": [evaluator.summary],
    }  # fmt: skip

    async def drain() -> None:
        async for _ in await aevaluate(atarget, **options):
            pass

    if route == "evaluate":
        evaluate(target, **options).wait()
    else:
        asyncio.run(drain())
    of_rows = [item for item in kept.feedback if item["run_id"] is not None]
    told = {(item["key"], item["score"], item["comment"].partition(";")[0]) for item in of_rows}
    assert told == {
        ("id_recall@2", 0.5, "1 of 2 found in 2 retrieved"),
        ("id_recall@1", 0.5, "1 of 2 found in 1 retrieved"),
        ("id_recall@2", None, "unscored: no retrieval: ConnectionError: no route"),
        ("id_recall@1", None, "unscored: no retrieval: ConnectionError: no route"),
        ("id_recall@2", None, "undefined: no reference items"),
        ("id_recall@1", None, "undefined: no reference items"),
    }
    assert len(of_rows) == 6
    assert {item["value"] for item in of_rows} == {None}
    statuses = [item["source_info"]["fullrecall"]["status"] for item in of_rows]
    assert sorted(statuses) == ["scored"] * 2 + ["undefined"] * 2 + ["unscored"] * 2
    means = {item["key"]: item for item in kept.feedback if item["run_id"] is None}
    assert {key: item["score"] for key, item in means.items()} == {
        "id_recall@2.mean": 0.5,
        "id_recall@1.mean": 0.5,
    }
    told_of_all = means["id_recall@2.mean"]["source_info"]["fullrecall"]
    assert (told_of_all["runs"], told_of_all["scored"]) == (3, 1)


def test_a_batch_evaluator_of_langchain_is_the_summary(
    retriever_of: Any, documents: list[Document], example: Any, client: Client, uploads: Any
) -> None:
    """`batch_evaluators` of `RunEvalConfig` takes the evaluator as a summary evaluator."""
    rows = [example(**REFERENCES), example(reference_context_ids=["d1"])]
    kept = uploads(*rows)
    evaluator = RecallStringEvaluator()
    outcome = run_on_dataset(
        client=client,
        dataset_name="d",
        llm_or_chain_factory=lambda: (
            RunnableLambda(lambda inputs: inputs["question"]) | retriever_of(documents)
        ),
        evaluation=RunEvalConfig(evaluators=[evaluator], batch_evaluators=[evaluator.summary]),
    )
    (mean,) = outcome["aggregate_metrics"]
    assert (mean["key"], mean["score"]) == ("id_recall.mean", 0.75)
    (uploaded,) = [item for item in kept.feedback if item["run_id"] is None]
    assert uploaded["comment"] == "mean of 2 of 2 runs"


def test_a_run_that_langchain_skips_is_not_scored_as_zero(
    retriever_of: Any, documents: list[Document], example: Any, client: Client, uploads: Any
) -> None:
    """LangChain skips a run that raised: its row has the error, and the summary counts it."""
    rows = [example("fine", **REFERENCES), example("down", **REFERENCES)]
    kept = uploads(*rows)
    retriever = retriever_of({"fine": documents, "down": ConnectionError("no route")})
    evaluator = RecallStringEvaluator()
    outcome = run_on_dataset(
        client=client,
        dataset_name="d",
        llm_or_chain_factory=lambda: RunnableLambda(lambda inputs: inputs["question"]) | retriever,
        evaluation=RunEvalConfig(evaluators=[evaluator], batch_evaluators=[evaluator.summary]),
    )
    fine, down = (outcome["results"][str(row.id)] for row in rows)
    assert ([item.score for item in fine["feedback"]], down["feedback"]) == ([0.5], [])
    assert isinstance(down["Error"], ConnectionError)
    (mean,) = outcome["aggregate_metrics"]
    assert mean["score"] == 0.5
    assert mean["comment"].startswith(
        "mean of 1 of 2 runs; 1 unscored: no retrieval: ConnectionError"
    )
    assert len(kept.feedback) == 2


def test_a_score_for_each_k_and_measure(
    documents: list[Document], example: Any, client: Client, retriever_of: Any
) -> None:
    """One scoring gives every k and measure, each once, the scorer's own first."""
    evaluator = RecallStringEvaluator(
        IdRecall(), Recall @ 2, Recall @ 1, Precision @ 2, Precision @ 1, nDCG @ 2, nDCG @ 1
    )
    assert evaluator.feedback_keys == [
        "id_recall@2",
        "id_recall@1",
        "id_recall.precision@2",
        "id_recall.precision@1",
        "id_recall.ndcg@2",
        "id_recall.ndcg@1",
    ]
    outcome = evaluate(
        lambda inputs: {"documents": documents},
        data=[example(reference_context_ids=["d1", "d3"])],
        evaluators=[evaluator],
        client=client,
        upload_results=False,
    )
    found = {feedback.key: feedback for feedback in experiment_rows(outcome)}
    scores = {key: round(feedback.score, 3) for key, feedback in found.items()}
    assert scores == {
        "id_recall@2": 0.5,
        "id_recall@1": 0.0,
        "id_recall.precision@2": 0.5,
        "id_recall.precision@1": 0.0,
        "id_recall.ndcg@2": 0.387,
        "id_recall.ndcg@1": 0.0,
    }
    assert found["id_recall@1"].comment.startswith("0 of 2 found in 1 retrieved; missed: d1, d3")
    assert found["id_recall@2"].comment == "1 of 2 found in 2 retrieved; missed: d3"


def test_an_evaluator_can_be_sent_to_another_process(documents: list[Document]) -> None:
    """An evaluator is pickled with all its parameters."""
    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1, id_key="source")
    evaluator = copy.deepcopy(pickle.loads(pickle.dumps(evaluator)))  # noqa: S301
    returned = evaluator.evaluate_strings(prediction=documents, reference=["fr"])
    assert (returned["key"], returned["score"]) == ("id_recall@1", 1.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"failed_calls": "ignore"}, "failed_calls must be 'unscored' or 'score', got 'ignore'"),
        ({"id_key": ""}, "id_key"),
        ({"which": "all"}, "which must be 'outermost' or 'innermost', got"),
    ],
)
def test_wrong_parameters_are_named(fields: dict[str, Any], message: str) -> None:
    """Wrong parameters are refused at once, not in the middle of a run."""
    with pytest.raises(ParameterError, match=message):
        RecallStringEvaluator(**fields)
    with pytest.raises(ParameterError, match="expected a measure such as Recall @ 5, got 'ndcg'"):
        RecallStringEvaluator(IdRecall(), "ndcg")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"contexts": True}, {"ids": True}, {"contexts": 1, "ids": 1}])
def test_the_chunks_of_a_source_may_count_once(
    given: dict[str, Any], documents: list[Document]
) -> None:
    """With `collapse`, a source's chunks count once, before the cut at k, for any place of IDs."""
    chunks = [*documents[:2], documents[3], Document("Madrid", id="d4", metadata={"source": "es"})]
    output: dict[str, Any] = {}
    if "ids" in given:  # IDs are given apart from documents without IDs.
        chunks = [Document(chunk.page_content) for chunk in chunks]
    if "contexts" in given:
        output["documents"] = chunks
    if "ids" in given:
        output["retrieved_ids"] = ["fr", "fr", "it", "es"]
    id_key = None if "ids" in given else "source"
    arguments: dict[str, Any] = {"prediction": output, "reference": ["fr", "it", "es"]}

    def score(*, collapse: bool) -> Any:
        evaluator = RecallStringEvaluator(IdRecall(), Recall @ 2, id_key=id_key, collapse=collapse)
        return evaluator.evaluate_strings(**arguments)["score"]

    assert score(collapse=False) == pytest.approx(1 / 3)
    assert score(collapse=True) == pytest.approx(2 / 3)


def _answering(inputs: dict[str, str]) -> list[Document]:
    return [Document("x", id=inputs["question"])]


def _ids(retriever: Any) -> list[str | None]:
    return [each.id for each in retriever.retrieve(Sample(user_input="q")).contexts or ()]


@pytest.mark.parametrize(
    "chain",
    [
        RunnableLambda(_answering),
        RunnableLambda(_answering).with_config(run_name="mine"),
        RunnableParallel(question=itemgetter("topic"), before=itemgetter("history")) | _answering,
    ],
    ids=["a dict", "configured", "one key beside the history"],
)
def test_a_mapping_has_the_question_under_a_usual_name(chain: Any) -> None:
    """A chain that declares no key gets the question under each usual name, or its only key."""
    assert _ids(observed(chain)) == ["q"]


def test_the_schema_of_an_input_is_read_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain makes an input's schema in milliseconds: it is read once, without `as_input`."""
    reads: list[Any] = []
    chain = RunnableLambda(lambda question: [Document("x", id=question)])
    make = RunnableLambda.get_input_jsonschema
    monkeypatch.setattr(
        RunnableLambda, "get_input_jsonschema", lambda self: reads.append(self) or make(self)
    )
    assert _ids(observed(chain, as_input=str.upper)) == ["Q"]
    assert not reads
    kept = observed(chain)
    assert _ids(kept) == _ids(kept) == ["q"]
    assert len(reads) == 1
