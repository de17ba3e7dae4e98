"""Any LlamaIndex LLM judges claims, by chat or by completion."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.llms import CustomLLM, MockLLM
from pydantic import PrivateAttr

from fullrecall import ClaimRecall, LLMJudge, Sample, Status
from llama_index.evaluation.fullrecall import LlamaIndexChatModel

SAMPLE = Sample(
    user_input="q",
    retrieved_contexts=["Paris is the capital of {France}.", "Rome is old."],
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


class Scripted(CustomLLM):
    """A real LLM subclass that gives one reply, by completion or by chat."""

    reply: str
    by_chat: bool = False
    raw: Any = None
    _asked: list[Any] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        """Whether it chats."""
        return LLMMetadata(is_chat_model=self.by_chat, model_name="scripted-1")

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Return the reply."""
        self._asked.append(prompt)
        return CompletionResponse(text=self.reply, raw=self.raw)

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        """Return the reply."""
        self._asked.append(list(messages))
        message = ChatMessage(role="assistant", content=self.reply)
        return ChatResponse(message=message, raw=self.raw)

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        """Return the reply."""
        return self.chat(messages)

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        """Fail: nobody asks for a stream."""
        raise AssertionError("a judge does not stream")


@pytest.mark.parametrize("by_chat", [True, False], ids=["chat", "completion"])
def test_judges_claims_with_usage(*, by_chat: bool) -> None:
    """Both kinds of LLM are asked in their own way, and raw usage is counted."""
    raw = {"usage": {"prompt_tokens": 70, "completion_tokens": 9}}
    llm = Scripted(reply=ANSWER, by_chat=by_chat, raw=raw)
    scorer = ClaimRecall(judge=LLMJudge(LlamaIndexChatModel(llm)))
    result = scorer.score(SAMPLE)
    assert (result.score, result.usage) == (0.5, (1, 70, 9))
    assert asyncio.run(scorer.ascore(SAMPLE)).score == 0.5
    (asked, again) = llm._asked
    assert isinstance(asked, list) is by_chat
    assert str(asked) == str(again)
    assert "{France}" in str(asked)


@pytest.mark.parametrize(
    ("reply", "raw", "reason"),
    [
        ("", None, "empty"),
        (ANSWER[:40], {"choices": [{"finish_reason": "length"}]}, "cut off"),
        ("", {"choices": [{"finish_reason": "content_filter"}]}, "refused"),
        ("", {"choices": [{"message": {"refusal": "I will not"}}]}, "refused: I will not"),
        ("YES", None, "no verdict"),
    ],
    ids=["empty", "cut off", "filter", "refusal", "prose"],
)
def test_each_failure_has_its_reason(reply: str, raw: Any, reason: str) -> None:
    """What is no answer is unscored, and says why."""
    model = LlamaIndexChatModel(Scripted(reply=reply, raw=raw))
    result = ClaimRecall(judge=LLMJudge(model, reasks=0)).score(SAMPLE)
    assert result.status is Status.UNSCORED
    assert reason in result.reason


def test_a_model_that_echoes_the_prompt_earns_nothing() -> None:
    """LlamaIndex's own MockLLM echoes: the example in the prompt is no verdict on the claims."""
    result = ClaimRecall(judge=LLMJudge(LlamaIndexChatModel(MockLLM()), reasks=1)).score(SAMPLE)
    assert (result.status, result.score) == (Status.UNSCORED, None)


def test_name_tells_class_and_model() -> None:
    """Two models never share a name by default."""
    name = LlamaIndexChatModel(Scripted(reply="x")).name
    assert name == "llama-index:custom_llm:scripted-1"
