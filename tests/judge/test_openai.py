"""The OpenAI-compatible model, through the official client, over real HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.judge.scripted import quoting, reply
from tests.openai_protocol import completion

from fullrecall import Budget, ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.errors import MissingExtraError, ParameterError
from fullrecall.judge import AnthropicChatModel, OpenAIChatModel
from fullrecall.judge.models import ChatRequest, Completion, Failure, Message
from fullrecall.judge.models.redaction import redacted
from fullrecall.judge.models.retries import Retries
from fullrecall.scorers.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    Endpoint = Any
SAMPLE = Sample(
    user_input="q",
    retrieved_contexts=["Paris is the capital of France.", "Rome is old."],
    reference="Paris is France's capital. Rome is new.",
    reference_claims=["Paris is France's capital.", "Rome is new."],
)
ANSWER = reply(
    quoting(1, "supported", (1, "Paris is the capital"), begins="Paris is"),
    quoting(2, "not_supported", begins="Rome is"),
)


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send failed requests again at once."""
    monkeypatch.setattr("fullrecall.judge.flow.Retries", lambda: Retries(first_wait=0.001))


@pytest.fixture
def model(endpoint: Endpoint) -> Iterator[OpenAIChatModel]:
    """Return a model behind the loopback endpoint."""
    made = OpenAIChatModel("m", base_url=endpoint.base_url)
    yield made
    made.close()


def test_one_call_when_claims_are_known(endpoint: Endpoint, model: OpenAIChatModel) -> None:
    """One request, with the schema, and the endpoint's token counts in the usage."""
    endpoint.says(ANSWER)
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert (result.score, result.usage) == (0.5, (1, 11, 5))
    assert result.findings[0].evidence[0].verified is True
    (request,) = endpoint.requests
    form = request["response_format"]["json_schema"]
    assert (form["schema"]["required"], form["strict"]) == (["verdicts"], True)
    assert request["temperature"] == 0.0


def test_two_calls_at_first_sight_and_one_with_sentences(
    endpoint: Endpoint, model: OpenAIChatModel
) -> None:
    """The judge splits a text once, by one more call; splitting into sentences needs no call."""
    items = json.dumps({"items": ["Paris is France's capital.", "Rome is new."]})
    endpoint.script = lambda body: (
        200,
        completion(items if body["response_format"]["json_schema"]["name"] == "items" else ANSWER),
    )
    unsplit = Sample(retrieved_contexts=SAMPLE.retrieved_contexts, reference=SAMPLE.reference)
    judge = LLMJudge(model)
    results = [ClaimRecall(judge=judge).score(unsplit) for _ in range(2)]
    assert len(endpoint.requests) == 3
    assert results[0] == results[1], "what a result rests on is the same whoever asked for it"
    by_sentence = ClaimRecall(judge=judge, split="sentences").score(unsplit)
    assert (by_sentence.usage.calls, by_sentence.score) == (1, 0.5)
    assert len(endpoint.requests) == 4


def test_async_in_several_loops(endpoint: Endpoint, model: OpenAIChatModel) -> None:
    """One model serves one event loop after another."""
    endpoint.says(ANSWER)

    async def twice() -> list[float | None]:
        scorer = ClaimRecall(judge=LLMJudge(model))
        results = await asyncio.gather(scorer.ascore(SAMPLE), scorer.ascore(SAMPLE))
        await model.aclose()
        return [result.score for result in results]

    assert [asyncio.run(twice()) for _ in range(3)] == [[0.5, 0.5]] * 3


@pytest.mark.parametrize(
    ("content", "told", "reason"),
    [
        (None, {"refusal": "I cannot help with that."}, "refused: I cannot help with that."),
        ("", {"finish": "content_filter"}, "refused: content filter"),
        ("", {}, "reply was empty"),
        ("", {"finish": "SAFETY"}, "refused: safety"),
        ("", {"finish": "error"}, "reply was empty: its finish reason is 'error'"),
        (ANSWER[:40], {"finish": "abort"}, "cut off: by 'abort'"),
        (ANSWER[:40], {"finish": "length"}, "cut off"),
    ],
)
def test_each_failure_has_its_reason(
    endpoint: Endpoint, model: OpenAIChatModel, content: str, told: dict[str, str], reason: str
) -> None:
    """A refusal, an empty reply and a cut-off reply have different reasons."""
    endpoint.says(content, **told)
    result = ClaimRecall(judge=LLMJudge(model, reasks=1)).score(SAMPLE)
    assert result.status is Status.UNSCORED
    assert reason in result.reason


@pytest.mark.parametrize(("status", "requests"), [(401, 1), (429, 5), (500, 5)])
def test_a_failed_request_is_unscored(
    endpoint: Endpoint, model: OpenAIChatModel, status: int, requests: int
) -> None:
    """The reason of an HTTP error is the client's message; passing errors get four retries."""
    endpoint.script = lambda _: (status, {"error": {"message": f"broken {status}"}})
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert result.status is Status.UNSCORED
    assert f"broken {status}" in result.reason
    assert len(endpoint.requests) == requests


def test_a_hanging_endpoint_times_out(endpoint: Endpoint) -> None:
    """A reply that does not come within the timeout is a failed request, not a hanging run."""

    def script(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        time.sleep(1.0)
        return 200, completion(ANSWER)

    endpoint.script = script
    model = OpenAIChatModel("m", base_url=endpoint.base_url, timeout=0.1)
    try:
        result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    finally:
        model.close()
    assert result.status is Status.UNSCORED
    assert "timed out" in result.reason.lower()


def without_schemas(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Answer as a server that refuses schemas."""
    if "response_format" in body:
        return 400, {"error": {"message": "response_format is not supported"}}
    return 200, completion(ANSWER)


def test_an_endpoint_without_schemas(endpoint: Endpoint, model: OpenAIChatModel) -> None:
    """After a 400 the same request is sent without the schema, and so are all later ones."""
    endpoint.script = without_schemas
    scorer = ClaimRecall(judge=LLMJudge(model))
    assert [scorer.score(SAMPLE).score for _ in range(3)] == [0.5, 0.5, 0.5]
    sent = ["response_format" in body for body in endpoint.requests]
    assert sent == [True, False, False, False]


def test_one_bad_request_does_not_cost_the_schema(
    endpoint: Endpoint, model: OpenAIChatModel
) -> None:
    """A request rejected also without its schema, or after an answer, has another fault."""
    struck = iter([True, True, False, True, False])

    def script(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if next(struck, False):
            return 400, {"error": {"message": "too long"}}
        return 200, completion(ANSWER)

    endpoint.script = script
    scorer = ClaimRecall(judge=LLMJudge(model))
    asked = [replace(SAMPLE, user_input=f"question {number}") for number in range(4)]
    assert [scorer.score(sample).score for sample in asked] == [None, 0.5, 0.5, 0.5]
    sent = ["response_format" in body for body in endpoint.requests]
    assert sent == [True, False, True, True, False, True]


def test_a_400_that_says_why_is_not_sent_without_its_schema(
    endpoint: Endpoint, model: OpenAIChatModel
) -> None:
    """A request that was rejected by a content filter is not sent again without its schema."""
    error = {"message": "filtered", "code": "content_filter"}
    endpoint.script = lambda _: (400, {"error": error})
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert "the model refused: " in result.reason
    assert len(endpoint.requests) == 1


def test_a_request_that_is_sent_without_its_schema_is_counted(endpoint: Endpoint) -> None:
    """The request without its schema is counted as a second call, within the budget."""
    endpoint.script = without_schemas
    model = OpenAIChatModel("m", base_url=endpoint.base_url)

    def judged(calls: int) -> Report:
        return evaluate(
            [SAMPLE],
            ClaimRecall(judge=LLMJudge(model)),
            budget=Budget(calls=calls),
            retries=Retries(first_wait=0.001),
            progress=False,
        )

    (row,) = judged(1)
    assert row.results[0].reason == "the budget of 1 call is used up"
    assert len(endpoint.requests) == 1
    report = judged(2)
    assert report.spent is not None
    assert (report.spent.calls, report.spent.retries) == (1, 0), "it is known by now"
    model = OpenAIChatModel("m", base_url=endpoint.base_url)
    report = judged(2)
    assert report.spent is not None
    assert (report.spent.calls, report.spent.retries) == (2, 1)
    assert report.rows[0].results[0].score == 0.5


def test_options_beside_the_schema(endpoint: Endpoint) -> None:
    """The user's fields of the body are sent beside the schema, and replace it."""
    endpoint.says(ANSWER)
    plain = {"top_k": 3}
    other = {"response_format": {"type": "json_object"}}
    for options in (plain, other):
        model = OpenAIChatModel("m", base_url=endpoint.base_url, options=options)
        assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 0.5
        model.close()
    first, second = endpoint.requests
    assert (first["top_k"], first["response_format"]["type"]) == (3, "json_schema")
    assert second["response_format"] == {"type": "json_object"}
    model = OpenAIChatModel("m", base_url=endpoint.base_url, schema=False)
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 0.5
    model.close()
    assert "response_format" not in endpoint.requests[-1]


def test_options_of_the_client_are_no_fields_of_the_request(endpoint: Endpoint) -> None:
    """Headers and the query are sent as such; the other options go into the body."""
    endpoint.says(ANSWER)
    options = {"extra_headers": {"X-Team": "a"}, "extra_query": {"v": "2"}, "seed": 1}
    model = OpenAIChatModel("m", base_url=endpoint.base_url, options=options)
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 0.5
    model.close()
    assert endpoint.paths == ["/v1/chat/completions?v=2"]
    assert endpoint.headers[0]["x-team"] == "a"
    assert endpoint.headers[0]["authorization"] == "Bearer none"
    sent = set(endpoint.requests[0])
    assert sent == {"model", "messages", "temperature", "response_format", "seed"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "overloaded",
        None,
        {"choices": []},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": [3]}}]},
    ],
    ids=repr,
)
def test_a_reply_that_is_no_completion_is_asked_for_again(
    endpoint: Endpoint, model: OpenAIChatModel, body: object
) -> None:
    """An error that a gateway sends with status 200 is not an answer; the next reply is."""
    replies = iter([body])
    endpoint.script = lambda _: (200, next(replies, completion(ANSWER)))
    assert ClaimRecall(judge=LLMJudge(model)).score(SAMPLE).score == 0.5
    endpoint.script = lambda _: (200, body)
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert result.status is Status.UNSCORED
    assert "could not be read: the reply is not a chat completion: " in result.reason


def test_no_secret_is_shown(endpoint: Endpoint) -> None:
    """No report, name or `repr` contains the key or the headers."""
    model = OpenAIChatModel(
        "m",
        base_url=endpoint.base_url,
        api_key="sk-SECRET",
        options={"extra_headers": {"X-Auth": "sk-SECRET"}, "seed": 1},
    )
    scorer = ClaimRecall(judge=LLMJudge(model))
    told = [repr(model), model.name, repr(scorer), repr(scorer.method)]
    assert "sk-SECRET" not in "".join(told)
    assert "seed=1" in model.name
    assert repr(model) == f"OpenAIChatModel('m', base_url={endpoint.base_url!r})"
    model.close()


def test_a_model_pickles_and_copies_without_its_connections(endpoint: Endpoint) -> None:
    """A pickled or copied model opens its own connections."""
    endpoint.says(ANSWER)
    model = OpenAIChatModel("m", base_url=endpoint.base_url)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert ClaimRecall(judge=LLMJudge(copied)).score(SAMPLE).score == 0.5
    model.close()
    copied.close()


def test_headers_of_an_error_that_are_no_ascii() -> None:
    """An error with headers that are not ASCII is read by its status."""
    head = b"HTTP/1.1 401 No\r\nX-A: \xc3\xa9 sk-abcdefghijklmnopqrstuvwxyz\r\nX-B: \xff\r\n"

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + b"Content-Length: 2\r\n\r\n{}")
        writer.close()

    async def answered() -> Completion:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            model = OpenAIChatModel("m", base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
            reply = await model.acomplete(ChatRequest((Message("user", "q"),)))
            await model.aclose()
            return reply

    assert asyncio.run(answered()).failure is Failure.DENIED


def test_a_dead_address_is_named() -> None:
    """A dead address is named in the reason; an address without a scheme is refused at once."""
    model = OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1")
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLE)
    model.close()
    assert "http://127.0.0.1:9/v1" in result.reason
    with pytest.raises(ParameterError, match="http://"):
        OpenAIChatModel("m", base_url="127.0.0.1:9/v1")


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the client the error is the command that installs it."""
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install openai$"):
        OpenAIChatModel("m")


def test_missing_key_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's own endpoint without a key is a `ParameterError` at once."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ParameterError, match="OPENAI_API_KEY"):
        OpenAIChatModel("m")


@pytest.mark.parametrize(
    ("name", "value"), [("model", None), ("base_url", 7), ("api_key", b"k"), ("timeout", -1.0)]
)
def test_fields_of_another_type_are_refused(name: str, value: Any) -> None:
    """A field of another type is refused when the model is made, with the field's name."""
    with pytest.raises(ParameterError, match=f"{name} must be"):
        OpenAIChatModel(**{"model": "m", "base_url": "http://127.0.0.1:9", name: value})


@pytest.mark.parametrize("client", [OpenAIChatModel, AnthropicChatModel])
def test_options_that_a_parameter_sets_are_refused(
    client: type[OpenAIChatModel | AnthropicChatModel],
) -> None:
    """Options that a parameter sets are refused: an option could bypass the temperature."""
    with pytest.raises(ParameterError, match=r"options must not set temperature.*temperature=…"):
        client("m", base_url="http://127.0.0.1:9", options={"temperature": 0.7})
    for name in ("model", "messages", "stream", "timeout", "extra_body"):
        with pytest.raises(ParameterError, match=f"options must not set {name}"):
            client("m", base_url="http://127.0.0.1:9", options={name: 1})
    with pytest.raises(ParameterError, match="sample must be 0 for a model at temperature 0"):
        LLMJudge(client("m", base_url="http://127.0.0.1:9"), sample=1)
    LLMJudge(client("m", base_url="http://127.0.0.1:9", temperature=0.7), sample=1)


@pytest.mark.parametrize("client", [OpenAIChatModel, AnthropicChatModel])
def test_the_environment_s_address_and_headers_are_known(
    monkeypatch: pytest.MonkeyPatch, client: type[OpenAIChatModel | AnthropicChatModel]
) -> None:
    """Address and headers from the environment are in the model's name, without any secret."""
    package = client.package.upper()
    monkeypatch.setenv(f"{package}_BASE_URL", "http://me:Env-Pa55word@127.0.0.1:9/v1")
    monkeypatch.setenv(f"{package}_CUSTOM_HEADERS", "X-Team: Env-Head3r\nX-B: b")
    model = client("m")
    assert "@http://127.0.0.1:9/v1," in model.name
    result = ClaimRecall(judge=LLMJudge(model, reasks=0)).score(SAMPLE)
    model.close()
    assert "127.0.0.1:9/v1" in result.reason
    assert "Env-Pa55word" not in repr(model) + model.name + result.reason
    assert redacted("it said Env-Head3r and Env-Pa55word").count("[redacted]") == 2
