"""`BatchEvalRunner` with a judge that asks a LlamaIndex model, and a model that fails."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import BatchEvalRunner
from llama_index.core.llms import CustomLLM
from llama_index.core.schema import NodeWithScore
from pydantic import PrivateAttr

from fullrecall import ClaimRecall, LLMJudge
from fullrecall.errors import InputError
from fullrecall.measures import Recall
from fullrecall.scorers import Status
from llama_index.evaluation.fullrecall import LlamaIndexChatModel, RecallEvaluator, report_of

Nodes: TypeAlias = Callable[..., list[NodeWithScore]]

SUPPORTED = json.dumps(
    {
        "verdicts": [
            {
                "id": 1,
                "verdict": "supported",
                "together": False,
                "citations": [{"context": 1, "quote": "The Eiffel Tower stands in Paris."}],
            }
        ]
    }
)


class BadRequestError(Exception):
    """A client's exception for a request that will never be answered."""

    status_code = 400


class Fails(CustomLLM):
    """A model that finds every claim supported, and raises for the claim about Rome."""

    error: Any
    _asked: Counter[str] = PrivateAttr(default_factory=Counter)

    @property
    def metadata(self) -> LLMMetadata:
        """Return the metadata of a model that is not for chat."""
        return LLMMetadata(model_name="fails")

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Count the request by its claim, and answer it."""
        claim = "Rome" if "Rome is old" in prompt else "Paris"
        self._asked[claim] += 1
        if claim == "Rome":
            raise self.error
        return CompletionResponse(text=SUPPORTED)

    async def acomplete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Answer after other tasks had a turn, as a client does."""
        await asyncio.sleep(0)
        return self.complete(prompt)

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        """Fail: no test asks for a stream."""
        raise AssertionError("a judge does not stream")


@pytest.mark.parametrize(
    "error",
    [BadRequestError("no such model"), RuntimeError("no connection"), ValueError("boom")],
    ids=lambda error: type(error).__name__,
)
def test_one_failing_judge_call_costs_one_result(error: Exception, scored: Nodes) -> None:
    """A failing judge costs one result; LlamaIndex would retry three times, and lose the batch."""
    llm = Fails(error=error)
    judge = LLMJudge(LlamaIndexChatModel(llm), reasks=0)
    evaluators = {"claims": RecallEvaluator(ClaimRecall(judge=judge)), "ids": RecallEvaluator()}
    with pytest.warns(DeprecationWarning, match="asyncio_module"):
        runner = BatchEvalRunner(evaluators, workers=4)
    claims = [["It stands in Paris."], ["Rome is old."], ["A tower stands in Paris."]]
    results = asyncio.run(
        runner.aevaluate_responses(
            ["q1", "q2", "q3"],
            [Response("x", scored("place")) for _ in claims],
            claims={"reference_claims": claims},
            ids={"expected_ids": [["place"]] * 3},
        )
    )
    assert [answer.score for answer in results["ids"]] == [1.0, 1.0, 1.0]
    assert [answer.score for answer in results["claims"]] == [1.0, None, 1.0]
    failed = results["claims"][1]
    assert (failed.invalid_result, failed.query) == (True, "q2")
    assert failed.result.status is Status.UNSCORED
    assert f"{type(error).__name__}: {error}" in (failed.invalid_reason or "")
    assert llm._asked == {"Paris": 2, "Rome": 1}, "each claim asked about once, the failed one too"
    report = report_of(results)
    assert [method.name for method in report.methods] == ["claim_recall", "id_recall"]
    (claims, ids) = report.summary(Recall)
    assert (claims[Recall].mean, claims.scored, claims.unscored) == (1.0, 2, 1)
    assert (ids[Recall].mean, ids.scored, ids.unscored) == (1.0, 3, 0)
    assert report.rows[1].results[0].reason == failed.invalid_reason


def test_results_that_make_no_report_are_refused(scored: Nodes) -> None:
    """A report has a row for each sample, with a result of each evaluator."""
    response = Response("x", scored("place"))
    result = RecallEvaluator().evaluate_response("q", response, expected_ids=["place"])
    wrong: list[tuple[Any, str]] = [
        ({"one": [result], "two": [result, result]}, "results of different numbers of samples"),
        ({"one": []}, "expected results of a RecallEvaluator, got none"),
        ("results", "results must be lists of results"),
    ]
    for given, problem in wrong:
        with pytest.raises(InputError, match=problem):
            report_of(given)


def test_a_runtime_error_never_becomes_advice_on_event_loops(scored: Nodes) -> None:
    """In a running loop the model's own error is reported, not advice on event loops."""

    async def in_a_loop() -> Any:
        llm = Fails(error=RuntimeError("judge connection pool closed"))
        judge = LLMJudge(LlamaIndexChatModel(llm), reasks=0)
        return RecallEvaluator(ClaimRecall(judge=judge)).evaluate(
            "q", Response("x", scored("place")), reference_claims=["Rome is old."]
        )

    answer = asyncio.run(in_a_loop())
    assert "RuntimeError: judge connection pool closed" in answer.invalid_reason
    assert "nest_asyncio" not in answer.invalid_reason
