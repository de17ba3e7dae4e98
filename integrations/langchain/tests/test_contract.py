"""The adapter keeps fullrecall's contract for adapters on every path through LangChain."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example

from fullrecall import Context
from fullrecall import evaluate as evaluate_samples
from fullrecall.scorers import Result, Scorer
from fullrecall.testing import ADAPTER_CASES, AdapterCase, check_adapter_case
from langchain_fullrecall import RecallStringEvaluator, observed
from langchain_fullrecall.feedback import measured_in

pytestmark = pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")


class Held(BaseRetriever):
    """A retriever that returns its own documents for any question."""

    documents: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.documents


def retriever_of(retrieved: Sequence[Context]) -> BaseRetriever:
    """Return a retriever that returns these contexts as documents."""
    return Held(
        documents=[
            Document(context.text or "", id=context.id, metadata=dict(context.metadata))
            for context in retrieved
        ]
    )


def through_langchain(
    scorer: Scorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Score contexts that went through a retriever, an LCEL chain and the string evaluator."""
    output: object = "an answer without documents"
    if retrieved is not None:
        chain = RunnablePassthrough.assign(
            context=RunnableLambda(lambda inputs: inputs["question"]) | retriever_of(retrieved)
        ).assign(answer=lambda inputs: f"{len(inputs['context'])} documents")
        output = chain.invoke({"question": "what?"})
    evaluator = RecallStringEvaluator(scorer)
    result: Result = evaluator.evaluate_strings(
        prediction=output, reference=references, input="what?"
    )["result"]
    return result


def through_async(
    scorer: Scorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Score the documents of a retriever that the evaluator asks itself, asynchronously."""
    retriever = None if retrieved is None else retriever_of(retrieved)
    evaluator = RecallStringEvaluator(scorer, retriever=retriever)
    returned = asyncio.run(evaluator.aevaluate_strings(reference=references, input="what?"))
    result: Result = returned["result"]
    return result


def through_retriever(
    scorer: Scorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Score a retriever's results for a sample, in a report."""
    sample = {"user_input": "what?", **references}
    retriever = RunnableLambda(_fail) if retrieved is None else retriever_of(retrieved)
    (row,) = evaluate_samples([sample], scorer, retriever=observed(retriever), progress=False).rows
    return row.results[0]


def _fail(question: str) -> list[Document]:
    raise ConnectionError(question)


@pytest.mark.parametrize("case", ADAPTER_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("through", [through_langchain, through_async, through_retriever])
def test_results_pass_through_without_loss(
    through: Callable[..., Result], case: AdapterCase
) -> None:
    """The adapter's result equals the scorer's own result."""
    check_adapter_case(through, case)


@pytest.mark.parametrize("kind", [RecallStringEvaluator])
@pytest.mark.parametrize("route", ["evaluate", "aevaluate"])
def test_results_pass_through_langsmith(kind: Any, route: str, client: Client) -> None:
    """The adapter's result is the same in an eval run, where documents come from the trace."""

    def through(
        scorer: Scorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
    ) -> Result:
        retriever = None if retrieved is None else retriever_of(retrieved)

        def target(inputs: dict[str, Any]) -> dict[str, str]:
            count = 0 if retriever is None else len(retriever.invoke(inputs["question"]))
            return {"answer": f"{count} documents"}

        async def atarget(inputs: dict[str, Any]) -> dict[str, str]:
            count = 0 if retriever is None else len(await retriever.ainvoke(inputs["question"]))
            return {"answer": f"{count} documents"}

        data = [Example(id=uuid4(), inputs={"question": "what?"}, outputs=dict(references))]
        options: dict[str, Any] = {
            "data": data,
            "evaluators": [kind(scorer)],
            "client": client,
            "upload_results": False,
        }

        async def rows() -> list[Any]:
            return [row async for row in await aevaluate(atarget, **options)]

        (row,) = evaluate(target, **options) if route == "evaluate" else asyncio.run(rows())
        (feedback,) = row["evaluation_results"]["results"]
        assert feedback.key == scorer.method.name
        kept = measured_in(json.loads(json.dumps(feedback.evaluator_info)))
        assert kept is not None
        result: Result = kept.result
        assert feedback.score == result.score
        assert feedback.evaluator_info["fullrecall"]["status"] == result.status
        return result

    for case in ADAPTER_CASES:
        check_adapter_case(through, case)
