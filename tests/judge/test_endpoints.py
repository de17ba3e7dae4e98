"""Endpoints that reject fields, reply in their own format, or need their own address work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.judge.scripted import quoting, reply
from tests.openai_protocol import completion

from fullrecall import ClaimRecall, LLMJudge, Sample, evaluate
from fullrecall.judge import AnthropicChatModel, OpenAIChatModel
from fullrecall.judge.models.retries import Retries
from fullrecall.scorers.result import Status

Endpoint = Any
SAMPLE = Sample(
    user_input="When does the ferry leave?",
    retrieved_contexts=["The ferry leaves at 9:40 from Pier 2."],
    reference_claims=["The ferry leaves from Pier 2."],
)
ANSWER = reply(quoting(1, "supported", (1, "The ferry leaves at 9:40 from Pier 2.")))
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send failed requests again at once."""
    monkeypatch.setattr("fullrecall.judge.flow.Retries", lambda: Retries(first_wait=0.001))


def rejecting(*fields: str, message: str, status: int = 400, **more: Any) -> Any:
    """Return an endpoint that rejects requests with any of these fields, with this message."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        present = [field for field in fields if field in body]
        if not present:
            return 200, completion(ANSWER)
        error = {"message": message.format(present[0]), **more}
        return status, {"error": {**error, "type": "invalid_request_error"}}

    return script


def fields_of(endpoint: Endpoint, *names: str) -> list[list[str]]:
    """Return for each request which of these fields it had."""
    return [[name for name in names if name in body] for body in endpoint.requests]


def test_a_reasoning_model_works_with_the_defaults(endpoint: Endpoint) -> None:
    """Temperature is left out after one 400, for all requests, and the report says so."""
    endpoint.script = rejecting(
        "temperature",
        message="Unsupported value: '{}' does not support 0.0 with this model. Only the default "
        "(1) value is supported.",
        param="temperature",
        code="unsupported_value",
    )
    model = OpenAIChatModel("gpt-5-mini", base_url=endpoint.base_url)
    samples = [
        SAMPLE,
        Sample(
            user_input="Again?",
            retrieved_contexts=SAMPLE.retrieved_contexts,
            reference_claims=SAMPLE.reference_claims,
        ),
    ]
    report = evaluate(
        samples,
        ClaimRecall(judge=LLMJudge(model)),
        max_concurrency=1,
        retries=Retries(first_wait=0.001),
        progress=False,
    )
    assert [row.results[0].score for row in report] == [1.0, 1.0]
    assert fields_of(endpoint, "temperature", "response_format") == [
        ["temperature", "response_format"],
        ["response_format"],
        ["response_format"],
    ]
    assert report.spent is not None
    assert report.spent.adjusted == ("gpt-5-mini rejects temperature: sent without it.",)
    assert "gpt-5-mini rejects temperature" in report.spent.sentence()


REJECTIONS = {
    "unsupported parameter": "Unsupported parameter: '{}' is not supported with this model.",
    "unrecognized argument": "Unrecognized request argument supplied: {}",
    "extra inputs": "{}: Extra inputs are not permitted",
    "a location": "[{{'type': 'extra_forbidden', 'loc': ('body', '{}'), 'msg': 'no'}}]",
    "backticks": "`{}` is deprecated for this model.",
    "property": "property '{}' is unsupported, did you mean 'n'?",
}


@pytest.mark.parametrize("message", REJECTIONS.values(), ids=REJECTIONS)
@pytest.mark.parametrize("name", ["temperature", "seed", "top_p", "response_format", "stop"])
@pytest.mark.parametrize("status", [400, 422])
def test_a_named_field_is_left_out(
    endpoint: Endpoint, message: str, name: str, status: int
) -> None:
    """After a rejected request, the same one without the named field is answered."""
    endpoint.script = rejecting(name, message=message, status=status)
    options = {"seed": 1, "top_p": 0.9, "stop": ["X"]}
    model = OpenAIChatModel("m", base_url=endpoint.base_url, options=options)
    scorer = ClaimRecall(judge=LLMJudge(model))
    assert [scorer.score(SAMPLE).score for _ in range(2)] == [1.0, 1.0]
    every = ["temperature", "seed", "top_p", "response_format", "stop"]
    rest = [field for field in every if field != name]
    assert fields_of(endpoint, *every) == [every, rest, rest]
    model.close()


@pytest.mark.parametrize(
    "error",
    [
        {"message": {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not allowed"}]}},
        [{"error": {"message": 'Unknown name "seed": Cannot find field.'}}],
        {"message": "extraneous key [seed_] and 'seed' are not permitted"},
    ],
    ids=["a list in a message", "a list", "no error"],
)
def test_bodies_of_other_shapes_are_read(endpoint: Endpoint, error: Any) -> None:
    """The rejected field is read from error bodies of different shapes."""
    endpoint.script = lambda body: (422, error) if "seed" in body else (200, completion(ANSWER))
    model = OpenAIChatModel("m", base_url=endpoint.base_url, options={"seed": 1})
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 1.0
    assert list(model.adjustments) == ["m rejects seed: sent without it."]
    model.close()


def test_several_fields_one_after_another(endpoint: Endpoint) -> None:
    """`max_tokens` is sent under its newer name, and other rejected fields are left out."""
    endpoint.script = rejecting(
        "max_tokens", "temperature", "response_format", message="Unsupported parameter: '{}'."
    )
    model = OpenAIChatModel("o", base_url=endpoint.base_url, options={"max_tokens": 900})
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 1.0
    assert len(endpoint.requests) == 4
    assert endpoint.requests[-1]["max_completion_tokens"] == 900
    assert list(model.adjustments) == [
        "o rejects max_tokens: sent as max_completion_tokens.",
        "o rejects temperature: sent without it.",
        "o rejects response_format: sent without it.",
    ]
    model.close()


def test_a_newer_name_may_be_rejected_too(endpoint: Endpoint) -> None:
    """If the newer name is rejected too, the field is left out."""
    endpoint.script = rejecting("max_tokens", "max_completion_tokens", message="no '{}' here")
    model = OpenAIChatModel("o", base_url=endpoint.base_url, options={"max_tokens": 9})
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 1.0
    assert not {"max_tokens", "max_completion_tokens"} & endpoint.requests[-1].keys()
    model.close()


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens, 'max_tokens' is 900.",
        "Please stop: the user has no seed.",
        "model is required",
    ],
)
def test_other_faults_cost_no_field(endpoint: Endpoint, message: str) -> None:
    """A request that is rejected for another reason leaves the fields of the next unchanged."""
    endpoint.script = lambda _: (400, {"error": {"message": message}})
    options = {"max_tokens": 900, "seed": 1, "stop": ["X"]}
    model = OpenAIChatModel("m", base_url=endpoint.base_url, options=options)
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert result.status is Status.UNSCORED
    assert message in result.reason
    assert model.adjustments == []
    model.close()


@pytest.mark.parametrize("message", ["failed to parse grammar", "Internal Server Error"])
def test_a_failed_grammar_goes_without_the_schema(endpoint: Endpoint, message: str) -> None:
    """If a request with a schema fails with a 500, the same request is sent without it."""
    endpoint.script = rejecting("response_format", message=message, status=500)
    model = OpenAIChatModel("m", base_url=endpoint.base_url)
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 1.0
    assert fields_of(endpoint, "response_format") == [["response_format"], []]
    model.close()


def test_a_server_that_fails_for_a_moment_keeps_its_schema(endpoint: Endpoint) -> None:
    """After a passing failure the next request has the schema again."""
    replies = iter([(500, {"error": {"message": "oops"}})])
    endpoint.script = lambda _: next(replies, (200, completion(ANSWER)))
    model = OpenAIChatModel("m", base_url=endpoint.base_url)
    scorer = ClaimRecall(judge=LLMJudge(model))
    assert scorer.score(SAMPLE).score == 1.0
    scorer.score(retrieved_contexts=["other words"], reference_claims=SAMPLE.reference_claims)
    assert fields_of(endpoint, "response_format") == [["response_format"], [], ["response_format"]]
    model.close()


def test_anthropic_leaves_out_what_is_rejected_and_keeps_max_tokens(endpoint: Endpoint) -> None:
    """The API requires `max_tokens`; a rejected tool is left out with its `tool_choice`."""
    text = {"type": "text", "text": ANSWER}
    usage = {"input_tokens": 1, "output_tokens": 1}
    rejections = iter(
        [
            "`temperature` and `top_p` cannot both be specified for this model.",
            "tool_choice: this model does not support forced tools",
        ]
    )

    def script(_: dict[str, Any]) -> tuple[int, Any]:
        message = next(rejections, None)
        if message is None:
            return 200, {"content": [text], "stop_reason": "end_turn", "usage": usage}
        return 400, {"type": "error", "error": {"type": "e", "message": message}}

    endpoint.script = script
    address = endpoint.base_url.removesuffix("/v1")
    model = AnthropicChatModel("c", base_url=address, options={"top_p": 0.9})
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 1.0
    assert set(endpoint.requests[-1]) == {"model", "messages", "system", "max_tokens", "top_p"}
    model.close()


# --- replies in other fields


def message_of(**fields: Any) -> dict[str, Any]:
    """Return a completion whose message has these fields."""
    made = completion(None)
    made["choices"][0]["message"] |= fields
    return made


CALL = {"name": "verdicts", "arguments": ANSWER}
READ = {
    "parts": message_of(content=[{"type": "text", "text": ANSWER}]),
    "parts with thoughts": message_of(
        content=[
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": ANSWER},
        ]
    ),
    "a tool's arguments": message_of(tool_calls=[{"type": "function", "function": CALL}]),
    "a function's arguments": message_of(content="", function_call=CALL),
    "reasoning alone": message_of(content="", reasoning_content=ANSWER),
    "thoughts beside the answer": message_of(content=ANSWER, reasoning_content="{}"),
    "newer reasoning alone": message_of(reasoning=ANSWER),
}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_an_answer_in_another_field_is_read(endpoint: Endpoint, body: Any) -> None:
    """An answer in another field of the message is read from the first reply."""
    endpoint.script = lambda _: (200, body)
    model = OpenAIChatModel("m", base_url=endpoint.base_url)
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 1.0
    assert len(endpoint.requests) == 1
    model.close()


def test_reasoning_that_was_cut_off_is_no_answer(endpoint: Endpoint) -> None:
    """Reasoning that was cut off is not read as an answer, since it may contain drafts."""
    body = message_of(content="", reasoning_content=ANSWER)
    body["choices"][0]["finish_reason"] = "length"
    endpoint.script = lambda _: (200, body)
    model = OpenAIChatModel("m", base_url=endpoint.base_url)
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).status is Status.UNSCORED
    model.close()


DENIED = reply(quoting(1, "not_supported"))


def choices(*texts: tuple[int, str]) -> dict[str, Any]:
    """Return a completion with several choices, each under its index."""
    made = completion("")
    shown = made["choices"][0]
    made["choices"] = [
        {**shown, "index": index, "message": {"role": "assistant", "content": text}}
        for index, text in texts
    ]
    return made


def test_choices_are_read_by_index_and_refused_if_they_differ(endpoint: Endpoint) -> None:
    """Several equal choices are one answer; different choices are no answer."""
    scorer = ClaimRecall(judge=LLMJudge(OpenAIChatModel("m", base_url=endpoint.base_url), reasks=0))
    endpoint.script = lambda _: (200, choices((1, ANSWER), (0, ANSWER)))
    assert scorer.score(SAMPLE).score == 1.0
    for order in (((1, DENIED), (0, ANSWER)), ((0, ANSWER), (1, DENIED))):
        endpoint.script = lambda _, order=order: (200, choices(*order))
        result = scorer.score(SAMPLE)
        assert result.status is Status.UNSCORED
        assert "answers that differ: 2 choices" in result.reason


# --- the recipes of the docs

_RECIPE = re.compile(r"<!-- recipe: ([\w ,()'-]+) -->\n```py\n(.*?)```", re.DOTALL)
_HOST = re.compile(r"https?://[^\"/]+(?:/v1(?=\"))?")
RECIPES = dict(_RECIPE.findall((DOCS / "judges.md").read_text("utf-8")))
NAMED = "Azure OpenAI|Bedrock|Vertex|Ollama|vLLM|LiteLLM|a reasoning model|Anthropic".split("|")


def test_every_endpoint_that_people_ask_for_has_a_recipe() -> None:
    """The docs have one recipe for each endpoint."""
    assert sorted(RECIPES) == sorted(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_a_recipe_works(endpoint: Endpoint, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each recipe runs as it is, with a loopback server in place of the provider's address."""
    for variable in re.findall(r'environ\["(\w+)"\]', RECIPES[name]):
        monkeypatch.setenv(variable, "a-key-of-32-characters-0123456789")
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    is_anthropic = "AnthropicChatModel" in RECIPES[name]
    address = endpoint.base_url.removesuffix("/v1") if is_anthropic else endpoint.base_url
    usage = {"input_tokens": 1, "output_tokens": 1}
    tool = {"type": "tool_use", "id": "t", "name": "verdicts", "input": json.loads(ANSWER)}
    body = {"content": [tool], "stop_reason": "tool_use", "usage": usage}
    endpoint.script = lambda _: (200, body if is_anthropic else completion(ANSWER))
    if "base_url" not in RECIPES[name]:
        monkeypatch.setenv("ANTHROPIC_BASE_URL" if is_anthropic else "OPENAI_BASE_URL", address)
        monkeypatch.setenv("ANTHROPIC_API_KEY" if is_anthropic else "OPENAI_API_KEY", "k" * 20)
    names: dict[str, Any] = {}
    exec(compile(_HOST.sub(address, RECIPES[name]), name, "exec"), names)  # noqa: S102 - the docs
    assert ClaimRecall(judge=LLMJudge(names["model"])).score(SAMPLE).score == 1.0
    assert len(endpoint.requests) == 1
    if is_anthropic:
        shared, own = endpoint.requests[0]["messages"][0]["content"]
        assert shared["cache_control"] == {"type": "ephemeral"}
        assert shared["text"].startswith("contexts:\n1 ")
        assert "claims:\n1 " in own["text"]
        assert "cache_control" not in own
    names["model"].close()
