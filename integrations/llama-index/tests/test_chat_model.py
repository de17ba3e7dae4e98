"""Any LlamaIndex LLM judges claims, by chat or by completion."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.llms import CustomLLM, MockLLM
from pydantic import Field, PrivateAttr
from tests.judged_sample import ANSWER, SAMPLE

from fullrecall import ClaimRecall, LLMJudge, aevaluate, evaluate
from fullrecall.errors import ParameterError
from fullrecall.judge import ChatRequest, Message
from fullrecall.judge.models.redaction import redacted
from fullrecall.scorers import Status
from llama_index.evaluation.fullrecall import LlamaIndexChatModel, RecallEvaluator


class Scripted(CustomLLM):
    """A real LLM subclass that gives one reply, by completion or by chat."""

    reply: str
    by_chat: bool = False
    raw: Any = None
    counts: Any = None
    error: Any = None
    temperature: float | None = None
    api_base: str | None = None
    additional_kwargs: dict[str, Any] = Field(default_factory=dict)
    _asked: list[Any] = PrivateAttr(default_factory=list)

    @property
    def spent(self) -> dict[str, Any]:
        """Return the counts that LlamaIndex's own integrations put beside a reply."""
        return self.counts or {}

    @property
    def metadata(self) -> LLMMetadata:
        """Return the metadata: whether it is a chat model."""
        return LLMMetadata(is_chat_model=self.by_chat, model_name="scripted-1")

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Return the reply, or fail."""
        self._asked.append(prompt)
        if self.error is not None:
            raise self.error
        return CompletionResponse(text=self.reply, raw=self.raw, additional_kwargs=self.spent)

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        """Return the reply, or fail."""
        self._asked.append(list(messages))
        if self.error is not None:
            raise self.error
        message = ChatMessage(role="assistant", content=self.reply)
        return ChatResponse(message=message, raw=self.raw, additional_kwargs=self.spent)

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        """Return the reply."""
        return self.chat(messages)

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        """Fail: no test asks for a stream."""
        raise AssertionError("a judge does not stream")


@pytest.mark.parametrize("by_chat", [True, False], ids=["chat", "completion"])
def test_judges_claims_with_usage(*, by_chat: bool) -> None:
    """Chat and completion models are asked in their own way, and raw usage is counted."""
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
    """A failed request is unscored, with the reason."""
    model = LlamaIndexChatModel(Scripted(reply=reply, raw=raw))
    result = ClaimRecall(judge=LLMJudge(model, reasks=0)).score(SAMPLE)
    assert result.status is Status.UNSCORED
    assert reason in result.reason


def test_a_model_that_echoes_the_prompt_earns_nothing() -> None:
    """The example in the prompt, which LlamaIndex's MockLLM echoes, is no verdict."""
    result = ClaimRecall(judge=LLMJudge(LlamaIndexChatModel(MockLLM()), reasks=1)).score(SAMPLE)
    assert (result.status, result.score) == (Status.UNSCORED, None)


def test_name_tells_class_model_and_temperature() -> None:
    """Two models, or one model at two temperatures, have different names."""
    named = "llama-index:custom_llm:scripted-1"
    assert LlamaIndexChatModel(Scripted(reply="x")).name == named
    assert LlamaIndexChatModel(Scripted(reply="x", temperature=0.5)).name == f"{named},t=0.5"
    assert LlamaIndexChatModel(Scripted(reply="x"), name="judge-7").name == "judge-7"


def test_the_name_tells_where_and_how_and_no_secret() -> None:
    """Two endpoints or seeds give two names, and no name has a password."""
    llm = Scripted(
        reply="x", api_base="http://me:Secr3t-word@host/v1", additional_kwargs={"seed": 7}
    )
    name = LlamaIndexChatModel(llm).name
    assert name == "llama-index:custom_llm:scripted-1@http://host/v1,seed=7"
    assert redacted("it said Secr3t-word") == "it said [redacted]"


REQUEST = ChatRequest((Message("system", "Judge {this}."), Message("user", "a {claim}")))


@pytest.mark.parametrize(
    ("raw", "counts", "expected"),
    [
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 2}}, {}, (7, 2)),
        ({"usage": {"input_tokens": 7, "output_tokens": 2}}, {}, (7, 2)),
        (
            {"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 2}},
            {},
            (7, 2),
        ),
        (None, {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, (7, 2)),
        (None, {}, (0, 0)),
    ],
    ids=["OpenAI", "Anthropic", "Google", "LlamaIndex", "none"],
)
@pytest.mark.parametrize("by_chat", [True, False], ids=["chat", "completion"])
def test_tokens_are_read_under_every_providers_names(
    raw: Any, counts: dict[str, Any], expected: tuple[int, int], *, by_chat: bool
) -> None:
    """Tokens are read under the names of every provider."""
    model = LlamaIndexChatModel(Scripted(reply="x", by_chat=by_chat, raw=raw, counts=counts))
    completion = model.complete(REQUEST)
    assert (completion.prompt_tokens, completion.completion_tokens) == expected


def test_a_completion_model_gets_its_own_form_of_messages() -> None:
    """A completion model gets its own template of messages, which affects its quality."""
    llm = Scripted(
        reply="x",
        messages_to_prompt=lambda messages: "".join(
            f"<{m.role.value}>{m.content}" for m in messages
        ),
    )
    LlamaIndexChatModel(llm).complete(REQUEST)
    asyncio.run(LlamaIndexChatModel(llm).acomplete(REQUEST))
    assert llm._asked == ["<system>Judge {this}.<user>a {claim}"] * 2


def test_every_request_is_made_of_new_messages() -> None:
    """A client that changes its messages does not change the next request."""
    llm = Scripted(reply="x", by_chat=True)
    model = LlamaIndexChatModel(llm)
    model.complete(REQUEST)
    llm._asked[0][0].content = "changed"
    model.complete(REQUEST)
    assert [message.content for message in llm._asked[1]] == ["Judge {this}.", "a {claim}"]


class KeepsConnections(Scripted):
    """A model whose async client keeps a connection, which another event loop cannot use."""

    _kept: Any = PrivateAttr(default=None)

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        """Answer in the loop of the first request, and fail in any later loop."""
        loop = asyncio.get_running_loop()
        self._kept = self._kept or loop
        if self._kept is not loop:
            raise RuntimeError("Event loop is closed")
        return self.chat(messages)


def test_one_model_serves_several_runs() -> None:
    """Each `evaluate` has its own event loop, and uses no connection of another."""
    llm = KeepsConnections(reply=ANSWER, by_chat=True)
    scorer = ClaimRecall(judge=LLMJudge(LlamaIndexChatModel(llm)))
    for _ in range(2):
        assert evaluate([SAMPLE], scorer, progress=False).summary()[0].mean == 0.5
    assert llm._kept is None

    async def awaited() -> Any:
        return await aevaluate([SAMPLE], scorer, progress=False)

    assert asyncio.run(awaited()).summary()[0].mean == 0.5
    assert asyncio.run(awaited()).summary()[0].mean == 0.5
    evaluator = RecallEvaluator(scorer)
    answer = asyncio.run(
        evaluator.aevaluate(
            contexts=["Paris is the capital of {France}."],
            reference_claims=["Paris is France's capital.", "Rome is new."],
        )
    )
    assert answer.score == 0.5, answer.invalid_reason
    assert llm._kept is None


class RateLimitError(Exception):
    """A client's exception at a rate limit."""

    status_code = 429


@pytest.mark.parametrize("by_chat", [True, False], ids=["chat", "completion"])
def test_the_clients_exception_arrives_unchanged(*, by_chat: bool) -> None:
    """A client's own exception reaches the engine, which recognizes rate limits by it."""
    error = RateLimitError("slow down")
    model = LlamaIndexChatModel(Scripted(reply="", by_chat=by_chat, error=error))
    with pytest.raises(RateLimitError) as caught:
        model.complete(REQUEST)
    assert caught.value is error
    with pytest.raises(RateLimitError) as caught:
        asyncio.run(model.acomplete(REQUEST))
    assert caught.value is error


def test_a_model_that_was_asked_can_be_sent_to_another_process() -> None:
    """A model that was asked can be pickled, without the loop that asked it first."""
    model = LlamaIndexChatModel(MockLLM(max_tokens=3))
    asyncio.run(model.acomplete(REQUEST))
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert asyncio.run(again.acomplete(REQUEST)) == model.complete(REQUEST)


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Reset LlamaIndex's settings to no model, before and after a test."""
    monkeypatch.setattr(Settings, "_llm", None)
    return monkeypatch


def test_without_a_model_it_is_that_of_the_settings(settings: pytest.MonkeyPatch) -> None:
    """Without `model=`, the model of the settings is looked up when needed, and kept."""
    model = LlamaIndexChatModel()
    settings.setattr(Settings, "_llm", Scripted(reply="from the settings"))
    assert model.complete(REQUEST).text == "from the settings"
    settings.setattr(Settings, "_llm", Scripted(reply="another"))
    assert model.complete(REQUEST).text == "from the settings"
    assert model.name == "llama-index:custom_llm:scripted-1"


def test_settings_without_a_model_are_told_of(settings: pytest.MonkeyPatch) -> None:
    """Without a model in the settings, the error says what to pass, not to install OpenAI."""
    settings.delenv("IS_TESTING", raising=False)
    with pytest.raises(ParameterError, match=r"pass LlamaIndexChatModel\(llm\), or set Settings"):
        LLMJudge(LlamaIndexChatModel()).name  # noqa: B018 - asking for the name raises


@pytest.mark.parametrize("llm", ["gpt", LLMMetadata(), Scripted])
def test_an_object_that_is_not_a_model_is_refused(llm: Any) -> None:
    """A name alone is refused at once, not at the first request."""
    with pytest.raises(ParameterError, match="expected a LlamaIndex LLM, got"):
        LlamaIndexChatModel(llm)
