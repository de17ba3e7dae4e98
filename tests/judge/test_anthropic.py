"""The Anthropic model, through the official client, over real HTTP on loopback."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from typing import Any

import pytest

from fullrecall import ClaimRecall, LLMJudge, Sample
from fullrecall.errors import MissingExtraError, ParameterError
from fullrecall.judge import AnthropicChatModel
from fullrecall.judge.models.retries import Retries
from fullrecall.scorers.result import Status

SAMPLE = Sample(
    user_input="q",
    retrieved_contexts=["Paris is the capital of France.", "Rome is old."],
    reference_claims=["Paris is France's capital.", "Rome is new."],
)
VERDICTS = {
    "verdicts": [
        {"id": 1, "begins": "Paris", "citations": [{"context": 1, "quote": "Paris is the capital"}],
         "together": False, "verdict": "supported"},
        {"id": 2, "begins": "Rome", "citations": [], "together": False, "verdict": "not_supported"},
    ]
}  # fmt: skip
TOOL = {"type": "tool_use", "id": "t", "name": "verdicts", "input": VERDICTS}
TEXT = {"type": "text", "text": json.dumps(VERDICTS)}


def message(*blocks: dict[str, Any], stop: str = "tool_use") -> dict[str, Any]:
    """Return the body of an answer of the Messages API."""
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": list(blocks),
        "stop_reason": stop,
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 2, "output_tokens": 5},
    }


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send failed requests again at once."""
    monkeypatch.setattr("fullrecall.judge.flow.Retries", lambda: Retries(first_wait=0.001))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


@pytest.fixture
def model(endpoint: Any) -> Any:
    """Return a model behind the loopback endpoint."""
    made = AnthropicChatModel("c", base_url=endpoint.base_url.removesuffix("/v1"))
    yield made
    made.close()


def test_verdicts_come_as_the_input_of_a_tool(endpoint: Any, model: Any) -> None:
    """One call judges known claims: the schema is a tool's, the instructions the system prompt."""
    endpoint.script = lambda _: (200, message(TOOL))
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert (result.score, result.usage.calls) == (0.5, 1)
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (11, 5)
    (body,) = endpoint.requests
    assert endpoint.paths == ["/v1/messages"]
    assert body["tool_choice"] == {"type": "tool", "name": "verdicts"}
    assert body["tools"][0]["input_schema"]["required"] == ["verdicts"]
    assert body["system"].startswith("You check claims")
    assert [one["role"] for one in body["messages"]] == ["user"]
    assert (body["max_tokens"], body["temperature"]) == (8_192, 0.0)


def test_without_a_schema_the_text_counts(endpoint: Any) -> None:
    """`schema=False` sends no tool, and the answer is read from the text."""
    endpoint.script = lambda _: (200, message(TEXT, stop="end_turn"))
    model = AnthropicChatModel(
        "c",
        base_url=endpoint.base_url.removesuffix("/v1"),
        schema=False,
        temperature=None,
        options={"top_k": 5, "extra_headers": {"X-Team": "t"}, "metadata": {}},
    )
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 0.5
    (body,) = endpoint.requests
    assert "tools" not in body
    assert "temperature" not in body
    assert (body["top_k"], body["metadata"], endpoint.headers[0]["x-team"]) == (5, {}, "t")
    model.close()


def test_a_rejected_schema_is_left_out(endpoint: Any, model: Any) -> None:
    """After a 400 the same request is sent without the tool, and so are all later ones."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "tools" in body:
            return 400, {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": "no tools here"},
            }
        return 200, message(TEXT, stop="end_turn")

    endpoint.script = script
    scorer = ClaimRecall(judge=LLMJudge(model))
    for context in "abc":
        sample = Sample(
            retrieved_contexts=[f"Paris is the capital of {context}", "Rome"],
            reference_claims=SAMPLE.reference_claims,
        )
        assert scorer.score(sample).score == 0.5
    assert ["tools" in body for body in endpoint.requests] == [True, False, False, False]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((200, message(TEXT, stop="max_tokens") | {"content": []}), "cut off"),
        ((200, message({"type": "text", "text": "no"}, stop="refusal")), "refused"),
        ((200, message()), "was empty"),
        ((200, {"odd": 1}), "could not be read"),
        ((200, []), "could not be read"),
        ((401, {"error": {"type": "authentication_error", "message": "bad key"}}), "denied access"),
        ((404, {"error": {"type": "not_found_error", "message": "model: c"}}), "does not know"),
        ((529, {"error": {"type": "overloaded_error", "message": "busy"}}), "endpoint failed"),
    ],
)
def test_failures_are_unscored_with_their_reason(
    endpoint: Any, model: Any, answer: Any, reason: str
) -> None:
    """Each failure of the client leaves the sample unscored with its reason, as with OpenAI."""
    endpoint.script = lambda _: answer
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert result.status is Status.UNSCORED
    assert reason in result.reason


def test_parameters_and_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anthropic's own endpoint needs a key, which is in neither the name nor the `repr`."""
    with pytest.raises(ParameterError, match="ANTHROPIC_API_KEY"):
        AnthropicChatModel("c")
    with pytest.raises(ParameterError, match="base_url"):
        AnthropicChatModel("c", base_url="localhost")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-SECRET")
    model = AnthropicChatModel("c", options={"extra_headers": {"X": "sk-SECRET"}, "top_p": 1})
    assert "SECRET" not in repr(model) + model.name
    assert model.name == "anthropic:c@default,t=0.0,max_tokens=8192,top_p=1"
    assert copy.deepcopy(model) == model
    with pytest.raises(ParameterError, match="options holds secrets"):
        pickle.dumps(model)
    plain = AnthropicChatModel("c", options={"top_p": 1})
    assert pickle.loads(pickle.dumps(plain)) == plain  # noqa: S301


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(MissingExtraError, match=r"pip install anthropic$"):
        AnthropicChatModel("c", api_key="k")
