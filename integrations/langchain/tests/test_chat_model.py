"""Any LangChain chat model judges claims, and each of its failures has its reason."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from fullrecall import ClaimRecall, LLMJudge, Sample, Status
from langchain_fullrecall import LangChainChatModel

SAMPLE = Sample(
    user_input="q",
    retrieved_contexts=["Paris is the capital of France.", "Rome is old."],
    reference_claims=["Paris is France's capital.", "Rome is new."],
)
ANSWER = json.dumps(
    {
        "verdicts": [
            {
                "id": 1, "verdict": "supported", "together": False,
                "citations": [{"context": 1, "quote": "Paris is the capital"}],
            },
            {"id": 2, "verdict": "not_supported", "citations": [], "together": False},
        ]
    }
)  # fmt: skip


def fake(*messages: AIMessage | str, **fields: Any) -> GenericFakeChatModel:
    """Return a real chat model class that answers from a script."""
    script = (m if isinstance(m, AIMessage) else AIMessage(m) for m in messages)
    return GenericFakeChatModel(messages=script, **fields)


def test_judges_claims_with_usage() -> None:
    """The verdicts count, and the tokens that the model reported."""
    usage = {"input_tokens": 70, "output_tokens": 9, "total_tokens": 79}
    model = LangChainChatModel(fake(AIMessage(ANSWER, usage_metadata=usage)))
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert (result.score, result.usage) == (0.5, (1, 70, 9))
    assert result.findings[0].evidence[0].verified is True


def test_async_agrees() -> None:
    """`ascore` asks by `ainvoke` and gives the same."""
    scorer = ClaimRecall(judge=LLMJudge(LangChainChatModel(fake(ANSWER))))
    assert asyncio.run(scorer.ascore(SAMPLE)).score == 0.5


def test_text_blocks_are_joined_and_thinking_left_out() -> None:
    """Models that answer in blocks are read by their text blocks."""
    blocks: list[str | dict[Any, Any]] = [
        {"type": "thinking", "thinking": '{"id": 2, "verdict": "supported"}'},
        {"type": "text", "text": ANSWER[:30]},
        {"type": "text", "text": ANSWER[30:]},
    ]
    model = LangChainChatModel(fake(AIMessage(blocks)))
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 0.5


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (AIMessage("", response_metadata={"finish_reason": "content_filter"}), "refused"),
        (AIMessage("", additional_kwargs={"refusal": "I will not"}), "refused: I will not"),
        (AIMessage(""), "empty"),
        (AIMessage(ANSWER[:40], response_metadata={"stop_reason": "max_tokens"}), "cut off"),
        (AIMessage("Both are fine."), "no verdict"),
    ],
    ids=["filter", "refusal", "empty", "cut off", "prose"],
)
def test_each_failure_has_its_reason(reply: AIMessage, reason: str) -> None:
    """What is no answer is unscored, and says why."""
    model = LangChainChatModel(fake(reply))
    result = ClaimRecall(judge=LLMJudge(model, reasks=0)).score(SAMPLE)
    assert result.status is Status.UNSCORED
    assert reason in result.reason


def test_the_frameworks_cache_is_respected() -> None:
    """A second judging of the same sample comes from LangChain's cache, and costs no tokens."""
    usage = {"input_tokens": 70, "output_tokens": 9, "total_tokens": 79}
    first = AIMessage(ANSWER, usage_metadata=usage)
    model = LangChainChatModel(fake(first, "no second answer", cache=InMemoryCache()))
    results = [ClaimRecall(judge=LLMJudge(model, reasks=0)).score(SAMPLE) for _ in range(2)]
    assert [result.score for result in results] == [0.5, 0.5]
    assert [result.usage for result in results] == [(1, 70, 9), (1, 0, 0)]


def test_a_runnable_around_the_model_is_taken() -> None:
    """`.with_retry()` and `.bind()` are runnables, not chat models."""
    model = LangChainChatModel(fake(ANSWER).with_retry(stop_after_attempt=2))
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 0.5
    assert "GenericFakeChatModel" in model.name
