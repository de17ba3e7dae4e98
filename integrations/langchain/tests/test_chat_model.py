"""Any LangChain chat model judges claims, and each of its failures has its reason."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import ConfigurableField
from pydantic import SecretStr
from tests.judged_sample import ANSWER, SAMPLE

from fullrecall import ClaimRecall, LLMJudge, aevaluate, evaluate
from fullrecall.errors import ParameterError
from fullrecall.judge import ChatRequest, Message
from fullrecall.judge.models.redaction import redacted
from fullrecall.scorers import Status
from langchain_fullrecall import LangChainChatModel


def fake(*messages: AIMessage | str, **fields: Any) -> GenericFakeChatModel:
    """Return a real chat model class that answers from a script."""
    script = (m if isinstance(m, AIMessage) else AIMessage(m) for m in messages)
    return GenericFakeChatModel(messages=script, **fields)


def test_judges_claims_with_usage() -> None:
    """The verdicts count, with the tokens that the model reported."""
    usage = {"input_tokens": 70, "output_tokens": 9, "total_tokens": 79}
    model = LangChainChatModel(fake(AIMessage(ANSWER, usage_metadata=usage)))
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert (result.score, result.usage) == (0.5, (1, 70, 9))
    assert result.findings[0].evidence[0].verified is True


def test_text_blocks_are_joined_and_thinking_left_out() -> None:
    """Replies in blocks are read by their text blocks, without the thinking."""
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
    """A failed request is unscored, with the reason."""
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


class Looped(BaseChatModel):
    """A model that answers, as clients do, only in the loop of its first request."""

    loops: list[Any] = []  # noqa: RUF012 - pydantic copies a default
    sync: list[str] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "looped"

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        self.sync.append(threading.current_thread().name)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(ANSWER))])

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        self.loops.append(asyncio.get_running_loop())
        if self.loops[0] is not self.loops[-1]:
            raise RuntimeError("Event loop is closed")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(ANSWER))])


def test_one_run_after_the_other() -> None:
    """Each run's requests use connections of its own loop."""
    model = Looped(loops=[], sync=[])
    scorer = ClaimRecall(judge=LLMJudge(LangChainChatModel(model)))
    for _ in range(2):
        assert evaluate([SAMPLE], scorer, progress=False).rows[0].results[0].score == 0.5
    assert (len(model.loops), len(model.sync)) == (0, 2)
    assert not any("MainThread" in name for name in model.sync)

    async def own_loop() -> float | None:
        report = await aevaluate([SAMPLE], scorer, progress=False)
        return report.rows[0].results[0].score

    assert asyncio.run(own_loop()) == 0.5
    assert (len(model.loops), len(model.sync)) == (0, 3)
    assert not any("MainThread" in name for name in model.sync)


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_cached_reply_that_could_not_be_used_is_not_given_again(*, everywhere: bool) -> None:
    """A cached reply that could not be used is not repeated: the model is asked again."""
    cache = InMemoryCache()
    own = None if everywhere else cache
    set_llm_cache(cache if everywhere else None)
    try:
        for model in (fake("prose", ANSWER, cache=own), fake(ANSWER, cache=own).bind()):
            judge = LLMJudge(LangChainChatModel(model), reasks=1)
            assert ClaimRecall(judge=judge).score(SAMPLE).score == 0.5
    finally:
        set_llm_cache(None)
    assert [reply[0].text for reply in cache._cache.values()] == ["prose"]


def test_rate_limiters_are_respected() -> None:
    """Requests wait for the framework's own rate limiter."""

    class Counting(InMemoryRateLimiter):
        turns = 0

        def acquire(self, *, blocking: bool = True) -> bool:
            Counting.turns += 1
            return True

    limiter = Counting(requests_per_second=1000)
    model = LangChainChatModel(fake(ANSWER, rate_limiter=limiter))
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 0.5
    assert Counting.turns == 1


class TooManyRequestsError(Exception):
    """An error of a rate limit, as clients raise it."""

    status_code = 429


class Refusing(Looped):
    """A model that is rejected the first time, and answers the second."""

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        result = super()._generate(*args, **kwargs)
        if len(self.sync) == 1:
            raise TooManyRequestsError("slow down")
        return result


def test_the_clients_exception_is_passed_on() -> None:
    """A client's exception reaches `evaluate`, which recognizes a rate limit and asks again."""
    with pytest.raises(TooManyRequestsError, match="slow down"):
        LangChainChatModel(Refusing(loops=[], sync=[])).complete(
            ChatRequest((Message("user", "q"),))
        )
    model = LangChainChatModel(Refusing(loops=[], sync=[]))
    report = evaluate([SAMPLE], ClaimRecall(judge=LLMJudge(model)), progress=False)
    assert report.rows[0].results[0].score == 0.5
    assert report.spent.retries == 1


class Parametrised(Looped):
    """A model with parameters like those of the partner packages."""

    model_name: str = "m-1"
    temperature: float = 0.2
    openai_api_base: str = "http://host/v1"
    api_key: Any = "sk-secret"
    default_headers: dict[str, str] = {}  # noqa: RUF012 - pydantic copies a default
    seed: int = 3

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {
            "model_name": self.model_name,
            "seed": self.seed,
            "api_key": self.api_key,
            "model_kwargs": {"top_k": 5},
            "client": object(),
        }


def test_the_name_has_all_that_decides_the_answers() -> None:
    """The name has model, address, parameters and bindings, without secrets or changing values."""
    own = "Parametrised:m-1@http://host/v1,model_kwargs={'top_k': 5},seed=3,temperature=0.2"
    model = Parametrised()
    assert LangChainChatModel(model).name == f"langchain:{own}"
    bound = model.bind(stop=["x"], extra_headers={"Authorization": "sk-secret"})
    assert LangChainChatModel(bound).name == f"langchain:bound,stop=['x']|{own}"
    assert LangChainChatModel(bound.with_retry()).name == LangChainChatModel(bound).name
    other = model.with_fallbacks([Parametrised(model_name="m-2")])
    assert LangChainChatModel(other).name == f"langchain:{own}|{own.replace('m-1', 'm-2')}"
    assert LangChainChatModel(model, name="mine").name == "mine"


def test_configured_fields_are_in_the_name() -> None:
    """A configurable field that is set by the config is in the name, and sets the temperature."""
    open_ = Parametrised(temperature=0.0).configurable_fields(
        temperature=ConfigurableField(id="temperature")
    )
    chosen = {"configurable": {"temperature": 0.9}}
    models = [
        LangChainChatModel(open_, config=chosen),
        LangChainChatModel(open_.with_config(chosen)),
    ]
    for model in models:
        assert "temperature=0.9" in model.name
        assert model.name != LangChainChatModel(open_).name


def test_keys_and_passwords_of_a_model_are_taken_out() -> None:
    """Keys and passwords in a model's fields are in neither its name nor a message."""
    secrets = ("Key-1234-abcd", "Passw-5678", "Head-9101")
    model = Parametrised(
        temperature=0.0,
        api_key=SecretStr(secrets[0]),
        openai_api_base=f"http://me:{secrets[1]}@host/v1",
        default_headers={"X-Auth": secrets[2]},
    )
    assert "@http://host/v1" in LangChainChatModel(model).name
    for secret in secrets:
        assert secret not in LangChainChatModel(model).name
        assert redacted(f"it said {secret}") == "it said [redacted]"


def test_an_object_that_is_not_a_model_is_refused() -> None:
    """An object that is not a model is refused at once, not at the first sample."""
    with pytest.raises(ParameterError, match="a chat model or a runnable of one, got 'gpt'"):
        LangChainChatModel("gpt")  # type: ignore[arg-type]
