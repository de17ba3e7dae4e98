"""Keys and passwords stay hidden, wherever a user or an endpoint puts them."""

from __future__ import annotations

import asyncio
import base64
import copy
import importlib
import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fullrecall import ClaimRecall, Gate, LLMJudge, Report, Sample, evaluate
from fullrecall.errors import ParameterError, RunStopped
from fullrecall.judge import AnthropicChatModel, OpenAIChatModel
from fullrecall.judge.models import ChatRequest, Completion, Failure, Message
from fullrecall.judge.models.redaction import (
    hide,
    hide_environment,
    hide_url,
    hide_values,
    public_url,
    redacted,
    without_secrets,
)
from fullrecall.judge.models.remote_model import RemoteModel
from fullrecall.judge.models.retries import Retries
from fullrecall.measures import Recall
from fullrecall.run.sqlite import SQLiteLedger

Exchange = FaultyEndpoint = Any  # of conftest.py

KEY = 'sk-Key+7/Qz=éK"9'
PASSWORD = "pass:W0rd/of@mine"  # noqa: S105 - a made-up one
QUERY = "query-K3y&value"
HEADER = "Header-S3cret-value"
TOKEN = "eyJhbGciOi" + "".join(chr(65 + n * n % 57 % 26) + str(n) for n in range(400))
ASCII_KEY = KEY.replace("é", "e")
SECRETS = (ASCII_KEY, PASSWORD, QUERY, HEADER, TOKEN)
PROXY = "proxy:Pa55/word"

SAMPLES = [
    Sample(
        user_input=f"Question {number}?",
        retrieved_contexts=[f"This is what the context says of {number}.", "Nothing."],
        reference_claims=[f"Claim {number} is the first.", f"Claim {number} is the second."],
    )
    for number in range(3)
]


def ways(secret: str) -> Iterator[str]:
    """Yield a secret in every encoding in which it may be written."""
    written = json.dumps(secret)[1:-1]
    yield secret
    yield secret.upper()
    yield quote(secret, safe="")
    yield quote(secret)
    yield written
    yield json.dumps(written)[1:-1]
    yield written.replace("/", "\\/")
    yield repr(secret)[1:-1]
    yield base64.b64encode(secret.encode()).decode().rstrip("=")


def written() -> Iterator[str]:
    """Yield all secrets in every encoding."""
    for secret in SECRETS:
        yield from ways(secret)
    yield base64.b64encode(f"user:{PASSWORD}".encode()).decode().rstrip("=")


def tell_tales() -> set[str]:
    """Return the forbidden pieces: eight characters each of a secret and of its encodings."""
    pieces = {TOKEN[n : n + 8] for n in (*range(8), *range(8, len(TOKEN) - 8, 40))}
    for secret in SECRETS[:-1]:
        for way in ways(secret):
            pieces |= {way[n : n + 8] for n in range(len(way) - 7)}
    # Pieces of ordinary words are allowed.
    marked = {piece for piece in pieces if piece.lower() not in {"password", "s3cret-v"}}
    return {piece.lower() for piece in marked}


TELL_TALES = tell_tales()
CLEAN: set[str] = set()
"""Lines that were already checked: most recur."""


def check(*told: object) -> None:
    """Fail if any secret, or eight characters of one, is in any of these."""
    for text in {line for each in told for line in str(each).splitlines()} - CLEAN:
        lowered = text.lower()
        pieces = {lowered[n : n + 8] for n in range(len(lowered) - 7)} & TELL_TALES
        assert not pieces, (sorted(pieces)[:3], text[:2_000])
        CLEAN.add(text)


def everything_in(error: BaseException) -> Iterator[str]:
    """Yield the contents of an exception: its words, notes, attributes, causes, frames."""
    pending: list[tuple[object, int]] = [(error, 0)]
    seen: set[int] = set()
    while pending:
        thing, depth = pending.pop()
        if id(thing) in seen or depth > 6:
            continue
        seen.add(id(thing))
        yield repr(thing)
        if isinstance(thing, BaseException):
            pending += [(each, depth) for each in (thing.__cause__, thing.__context__, thing.args)]
            yield "".join(
                traceback.TracebackException.from_exception(thing, capture_locals=True).format()
            )
        if isinstance(thing, (list, tuple)):
            pending += [(each, depth + 1) for each in thing]
        elif type(thing).__module__.partition(".")[0] in {"httpx", "httpx2", "openai", "anthropic"}:
            pending += [(each, depth + 1) for each in vars(thing).values()]


def model_of(
    faulty: FaultyEndpoint, client: type[RemoteModel] = OpenAIChatModel, **changes: Any
) -> RemoteModel:
    """Return a model with a secret in every option that takes one."""
    host = faulty.base_url.removeprefix("http://")
    if client is AnthropicChatModel:
        host = host.removesuffix("/v1")
    given: dict[str, Any] = {
        "base_url": f"http://user:{quote(PASSWORD, safe='')}@{host}",
        "api_key": ASCII_KEY,
        "options": {
            "extra_headers": {"X-Auth": f"Token {HEADER}", "X-Jwt": TOKEN},
            "extra_query": {"api-key": QUERY, "api-version": "2024-06-01"},
            "seed": 1,
        },
    }
    return client("m", **{**given, **changes})


def everything(exchange: Exchange) -> str:
    """Return the request's path, headers and secrets, as the endpoint may echo them."""
    told = f"{exchange.path} {dict(exchange.headers)} " + " ".join(written())
    return f"{told} http://user:{PASSWORD}@host/?api-key={QUERY} Bearer {ASCII_KEY}"


def escaped(exchange: Exchange) -> str:
    """Return the request's path, headers and secrets, escaped as in other servers' JSON."""
    return f"{exchange.path} " + " ".join(way for secret in SECRETS for way in ways(secret))


def cut_off(length: int) -> Callable[[Exchange], None]:
    """Return a fault that replies with a token everywhere, cut off after `length` characters."""

    def fault(exchange: Exchange) -> None:
        code = (400, 200)[length % 2]
        padded = "." * length + TOKEN
        body = json.dumps({"error": {"message": padded + TOKEN}}) if length % 3 else padded
        exchange.send(code, body.encode(), X_Echo=padded)

    return fault


def echoing_message(exchange: Exchange, code: int) -> None:
    """Reply with an error, with all secrets in the message, the code and the headers."""
    error = {"message": everything(exchange), "code": ASCII_KEY, "param": PASSWORD}
    exchange.send(code, json.dumps({"error": error}).encode(), X_Echo=HEADER)


def echoing_reply(exchange: Exchange) -> None:
    """Answer with the secrets quoted as evidence."""
    verdicts = json.loads(exchange.right())
    for verdict in verdicts["verdicts"]:
        verdict["verdict"] = "supported"
        verdict["citations"] = [{"context": 1, "quote": everything(exchange)}]
    exchange.say(json.dumps({**verdicts, "note": everything(exchange)}))


FAULTS: dict[str, Callable[[Exchange], None]] = {
    **{
        str(code): lambda exchange, code=code: echoing_message(exchange, code)
        for code in (400, 401, 403, 404, 408, 418, 429, 500, 503)
    },
    "error as text": lambda exchange: exchange.send(400, everything(exchange).encode()),
    "redirect": lambda exchange: exchange.send(
        307, b"", Location=f"http://user:{quote(PASSWORD)}@elsewhere/?api-key={quote(QUERY)}"
    ),
    "reply": echoing_reply,
    "refusal": lambda exchange: exchange.say(None, refusal=everything(exchange)),
    "prose": lambda exchange: exchange.say(everything(exchange)),
    "no completion": lambda exchange: exchange.send(
        200, json.dumps({"error": everything(exchange)}).encode()
    ),
    "no JSON": lambda exchange: exchange.send(200, everything(exchange).encode()),
    "as other servers write it": lambda exchange: exchange.send(
        400, json.dumps({"error": {"message": escaped(exchange)}}).encode()
    ),
    "in plain text, escaped": lambda exchange: exchange.send(200, escaped(exchange).encode()),
    **{
        f"cut off at {length}": cut_off(length)
        for length in (1, 60, 130, 149, 180, 191, 194, 235, 285, 296, 8_000, 8_187)
    },
    "a long encoding": lambda exchange: exchange.send(200, b"{}", Content_Encoding=TOKEN),
    "an encoding behind dots": lambda exchange: exchange.send(
        200, b"{}", Content_Encoding="." * 30 + TOKEN
    ),
    "an encoding": lambda exchange: exchange.send(200, b"{}", Content_Encoding=ASCII_KEY),
    "a broken status line": lambda exchange: exchange.wfile.write(
        f"HTTP/1.1 {ASCII_KEY} {PASSWORD}\r\n\r\n".encode()
    ),
    "a hang-up": lambda exchange: setattr(exchange, "close_connection", True),
}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Capture the logs of clients, also if an earlier test has disabled them."""
    for package in ("openai", "anthropic"):
        importlib.import_module(package)
    monkeypatch.setattr(logging.root.manager, "disable", 0)
    families = {"openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2", "asyncio"}
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in families:
            logger = logging.getLogger(name)
            monkeypatch.setattr(logger, "disabled", False)
            monkeypatch.setattr(logger, "propagate", True)
            caplog.set_level(logging.DEBUG, logger=name)
    caplog.set_level(logging.DEBUG)
    yield caplog
    records = caplog.get_records("call")
    names = {record.name.partition(".")[0] for record in records}
    assert names & {"openai", "anthropic"}, names
    assert names & {"httpcore", "httpcore2"}, names
    check(*(each for record in records for each in vars(record).values() if isinstance(each, str)))


@pytest.mark.rooms
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("client", "name"),
    [(OpenAIChatModel, name) for name in FAULTS]
    + [
        (AnthropicChatModel, name)
        for name in (
            "400",
            "401",
            "429",
            "redirect",
            "reply",
            "no JSON",
            "a broken status line",
            "as other servers write it",
            "cut off at 180",
            "cut off at 8187",
        )
    ],
)
def test_no_secret_leaves(  # noqa: PLR0917 - fixtures
    faulty: FaultyEndpoint,
    tmp_path: Path,
    logged: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    client: type[RemoteModel],
    name: str,
) -> None:
    """No store, report, page, log, `repr` or exception has a part of a secret."""
    faulty.strikes(FAULTS[name], frozenset({1, 2}), always=True)
    model = model_of(faulty, client)
    scorer = ClaimRecall(judge=LLMJudge(model, reasks=0))
    retries = Retries(1, first_wait=0.001)
    report = Report([])
    store = SQLiteLedger(tmp_path / "s")
    try:
        report = evaluate(SAMPLES, scorer, store=store, retries=retries, progress=True)
    except RunStopped as stopped:
        check(*everything_in(stopped))
        report = stopped.report or report
    # The check includes the log of the store.
    check(*(file.read_bytes().decode("latin-1") for file in tmp_path.glob("s*")))
    store.close()
    check(repr(model), model.name, repr(scorer), repr(scorer.method), hash(model), vars(scorer))
    check(repr(report), report.summary(), *(row.results[0] for row in report))
    check(*(finding for row in report for finding in row.results[0].findings))
    report.save(tmp_path / "report.jsonl")
    report.to_csv(tmp_path / "report.csv")
    for path in tmp_path.iterdir():
        check(path.read_bytes().decode("latin-1"))
    check(report.to_html(), report.to_markdown())
    check(*Gate(Recall >= 0.9).check(report).checks, pickle.dumps(report).decode("latin-1"))
    check(logged.text, *capfd.readouterr())
    assert report.rows[0].results[0].score == 0.0, "the sample that was not struck is right"


@pytest.mark.parametrize("name", FAULTS)
def test_no_secret_is_in_what_a_model_returns(faulty: FaultyEndpoint, name: str) -> None:
    """A direct call of a model returns a completion with the failure, and without a secret."""
    faulty.strikes(FAULTS[name], frozenset({1}), always=True)
    model = model_of(faulty)
    request = ChatRequest((Message("system", "s"), Message("user", 'claims:\n1 "Claim 1"')))

    async def asked(request: ChatRequest) -> Completion:
        try:
            return await model.acomplete(request)
        finally:
            await model.aclose()

    try:
        for call in (model.complete, lambda request: asyncio.run(asked(request))):
            completion = call(request)
            check(completion, completion.detail)
    finally:
        model.close()


@pytest.mark.parametrize(
    ("status", "headers", "failure", "wait"),
    [
        (307, {"Location": "/v1/elsewhere"}, Failure.MOVED, None),
        (400, {"Content_Encoding": "gzip"}, Failure.INVALID, None),
        (429, {"Retry_After": "7"}, Failure.RATE_LIMIT, 7.0),
    ],
)
def test_the_headers_of_an_error(
    faulty: FaultyEndpoint,
    status: int,
    headers: dict[str, str],
    failure: Failure,
    wait: float | None,
) -> None:
    """No redirect is followed, an error's encoding is ignored, and its `Retry-After` is read."""
    paths: list[str] = []

    def strike(exchange: Exchange) -> None:
        paths.append(exchange.path)
        exchange.send(status, b"{}", **headers)

    faulty.strikes(strike, frozenset({1}), always=True)
    model = OpenAIChatModel("m", base_url=faulty.base_url)
    completion = model.complete(ChatRequest((Message("user", 'claims:\n1 "Claim 1"'),)))
    model.close()
    assert (completion.failure, completion.wait) == (failure, wait)
    assert paths == ["/v1/chat/completions"]


def test_the_endpoint_gets_what_it_needs(faulty: FaultyEndpoint) -> None:
    """The endpoint gets user and password as basic authorization, and the parameters unchanged."""
    seen: list[tuple[str, dict[str, str]]] = []

    def look(exchange: Exchange) -> None:
        seen.append((exchange.path, {k.lower(): v for k, v in exchange.headers.items()}))
        exchange.say(exchange.right())

    faulty.strikes(look, frozenset({0}), always=True)
    model = model_of(faulty)
    report = evaluate(SAMPLES[:1], ClaimRecall(judge=LLMJudge(model)), progress=False)
    assert report.rows[0].results[0].score == 0.0
    ((path, headers),) = seen
    assert path == (f"/v1/chat/completions?api-key={quote(QUERY, safe='')}&api-version=2024-06-01")
    basic = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
    assert headers["authorization"] == f"Basic {basic}"
    assert headers["x-auth"] == f"Token {HEADER}"
    assert model.name.startswith("openai:m@http://127.0.0.1:")


def test_no_secret_is_in_a_pickle(faulty: FaultyEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with a key of its own is not pickled; workers read keys from their environment."""
    url = faulty.base_url.replace("//", f"//user:{quote(PASSWORD, safe='')}@")
    model = OpenAIChatModel("m", base_url=faulty.base_url, api_key=ASCII_KEY)
    with pytest.raises(ParameterError, match=r"api_key holds secrets.*set OPENAI_API_KEY here"):
        pickle.dumps(model)
    monkeypatch.setenv("OPENAI_API_KEY", ASCII_KEY)
    sent = pickle.dumps(ClaimRecall(judge=LLMJudge(model)))
    assert not [form for form in written() if form.encode() in sent]
    received = pickle.loads(sent).judge.model  # noqa: S301
    assert received.name == model.name
    assert received._key() == ASCII_KEY
    check(repr(received), received.name)
    with pytest.raises(ParameterError, match=r"base_url holds secrets.*set OPENAI_BASE_URL"):
        pickle.dumps(OpenAIChatModel("m", base_url=url))
    for options in ({"extra_headers": {"X-Auth": HEADER}}, {"extra_query": {"key": QUERY}}):
        with pytest.raises(ParameterError, match=r"options holds secrets.*OPENAI_CUSTOM_HEADERS"):
            pickle.dumps(OpenAIChatModel("m", base_url=faulty.base_url, options=options))
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    sent = pickle.dumps(OpenAIChatModel("m"))
    assert not [form for form in written() if form.encode() in sent]
    assert pickle.loads(sent).base_url == url  # noqa: S301


def test_a_copy_in_the_same_process_keeps_the_key(faulty: FaultyEndpoint) -> None:
    """A copy in the same process keeps the key, since it does not leave the process."""
    model = model_of(faulty)
    for copied in (copy.copy(model), copy.deepcopy(model)):
        assert copied.api_key == ASCII_KEY
        assert copied.options == model.options
        assert copied == model


def test_an_invalid_address_is_refused_without_its_password() -> None:
    """An invalid address is refused, and the message shows it without its secrets."""
    for address in (
        f"user:{PASSWORD}@host/v1",
        f"http://user:{PASSWORD[:4]}@[::1/v1",
        f"http://host/v1?api-key={QUERY}",
    ):
        with pytest.raises(ParameterError, match="base_url must") as caught:
            OpenAIChatModel("m", base_url=address)
        check(caught.value)


def test_secrets_from_the_environment_are_hidden(
    faulty: FaultyEndpoint, monkeypatch: pytest.MonkeyPatch, logged: pytest.LogCaptureFixture
) -> None:
    """Keys, addresses, headers and proxy passwords from the environment are hidden."""
    host = faulty.base_url.removeprefix("http://").removesuffix("/v1")
    for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    given = f"proxy:{quote(PROXY.partition(':')[2], safe='')}"
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://{given}@{host}")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{quote(QUERY, safe='')}@nowhere.invalid/v1")
    monkeypatch.setenv("OPENAI_API_KEY", ASCII_KEY)
    monkeypatch.setenv("OPENAI_WEBHOOK_SECRET", PASSWORD)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-One: {HEADER}\nX-Two: {TOKEN}")
    seen: list[dict[str, str]] = []

    def echo(exchange: Exchange) -> None:
        seen.append({name.lower(): value for name, value in exchange.headers.items()})
        told = f"{exchange.path} {dict(exchange.headers)} {everything(exchange)} {PROXY}"
        exchange.send(407, json.dumps({"error": {"message": told}}).encode(), X_Echo=PROXY)

    faulty.strikes(echo, frozenset({1}), always=True)
    model = OpenAIChatModel("m")
    result = ClaimRecall(judge=LLMJudge(model)).score(SAMPLES[1])
    model.close()
    assert seen[0]["x-one"] == HEADER
    assert base64.b64encode(PROXY.encode()).decode() in seen[0]["proxy-authorization"]
    assert "407" in result.reason
    check(result.reason, model.name, repr(model), logged.text)
    for told in (result.reason, logged.text):
        assert "Pa55/wo" not in told
        assert quote("Pa55/word", safe="") not in told


def test_a_secret_is_found_wherever_options_take_one(faulty: FaultyEndpoint) -> None:
    """Secrets are found in a user that is a token, and in lists and bytes of the options."""
    host = faulty.base_url.removeprefix("http://")
    model = OpenAIChatModel(
        "m",
        base_url=f"http://tok-USER-1234@{host}",
        api_key="k-1234567",
        options={
            "auth": ["List-910111"],
            "providers": {"token": {"of": "Deep-121314"}},
            "extra_headers": {"X-Bytes": "Plain-151617"},
            "metadata": {"api_key": b"Bytes-181920"},
        },
    )
    secrets = ("tok-USER-1234", "k-1234567", "List-910111", "Deep-121314",
               "Plain-151617", "Bytes-181920")  # fmt: skip
    told = f"{secrets} {model!r} {model.name}"
    for secret in secrets:
        assert secret not in redacted(told)
        assert secret not in without_secrets(told)
        assert secret not in f"{model!r} {model.name}"


@pytest.mark.parametrize(
    ("message", "secret"),
    [
        ("GET https://me:hunter2@host/v1 failed", "hunter2"),
        ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
        ("url https://host/v1?api-key=abc123&x=1", "abc123"),
        ("Incorrect API key provided: sk-proj-abcdefgh1234", "abcdefgh1234"),
        ('{"api_key": "abc123def"}', "abc123def"),
        ("password=letmein2 user=me", "letmein2"),
        ("invalid x-api-key: 0123456789abcdef", "0123456789abcdef"),
    ],
)
def test_texts_like_secrets_are_removed_from_messages(message: str, secret: str) -> None:
    """Texts that look like secrets are removed from messages, for any framework's model."""
    assert secret not in redacted(message)
    assert "[redacted]" in redacted(message)


@pytest.mark.parametrize(
    "text",
    ["max_tokens=100", "the token limit is 4096", "the model refused: I cannot.",
     "Error code: 429 - no", "see https://host/v1/chat/completions", "keys: value", "sk-1"],
)  # fmt: skip
def test_ordinary_words_stay(text: str) -> None:
    """Ordinary words of a message are kept."""
    assert redacted(text) == text


def test_a_reply_keeps_the_words_that_keys_are_made_of() -> None:
    """A reply keeps words and keys that it quotes, since a local server's key may be a word."""
    OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1", api_key="ollama")
    OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1", api_key="Secret-42-key")
    text = "Use ollama with api_key=abc12345, or sk-abcdefghijkl."
    assert without_secrets(text) == text
    assert without_secrets("a Secret-42-key b") == "a [redacted] b"
    assert "ollama" not in redacted("the key ollama is refused")


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("https://host/v1?Bare-222324&x=Value-252627", ("Bare-222324", "Value-252627")),
        ("redis://:Only-282930@host", ("Only-282930",)),
        ("https://tok-USER-313233@host", ("tok-USER-313233",)),
        (
            "https://you:Pa%2Fss-343536@host?plainname=Value-373839",
            ("Pa/ss-343536", "eW91OlBhL3NzLTM0MzUzNg", "Value-373839"),
        ),
    ],
)
def test_secrets_of_an_address_are_hidden_everywhere(url: str, secrets: tuple[str, ...]) -> None:
    """A parameter without a value, and a user without a password, are hidden as secrets."""
    hide_url(url)
    told = redacted(f"{secrets}")
    assert not [secret for secret in secrets if secret in told]
    assert redacted("a plainname b") == "a plainname b"


def test_only_secrets_of_options_and_the_environment_are_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Secrets in lists, bytes and variables are hidden, the longest first; other values stay."""
    monkeypatch.setenv("http_proxy", "me:Proxy-404142@host:3128")
    hide_values({"auth": ["List-434445", b"Bytes-464748"], "title": "Plain-495051"})
    hide_values({"extra_query": {"team": "Team-525354"}})
    hide_environment("openai", {"OPENAI_ADMIN_KEY": "Own-555657", "OTHER_KEY": "Other-585960"})
    hide("Begin-616263")
    hide("Begin-616263-longer")
    for secret in ("Proxy-404142", "List-434445", "Bytes-464748", "Team-525354", "Own-555657",
                   "Begin-616263-longer"):  # fmt: skip
        assert redacted(f"a {secret} b") == "a [redacted] b"
    for text in ("Plain-495051", "Other-585960"):
        assert redacted(text) == text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/v1", "https://host/v1"),
        ("https://a:b@host:8/v1?k=s&api-version=3", "https://host:8/v1"),
        ("http://a@[::1]:9/", "http://[::1]:9/"),
    ],
)
def test_an_address_as_it_is_shown(url: str, shown: str) -> None:
    """A shown address has the URL's host and path, without its secrets."""
    assert public_url(url) == shown


def test_a_completion_of_any_model_passes_the_same_door() -> None:
    """The reply of a framework's model that echoes a known key is redacted, too."""

    class Echo:
        name = "echo"

        def complete(self, request: ChatRequest) -> Completion:
            return Completion(f"the key is {ASCII_KEY}", detail=f"Bearer {ASCII_KEY}")

        async def acomplete(self, request: ChatRequest) -> Completion:
            return self.complete(request)

    OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1", api_key=ASCII_KEY)
    result = ClaimRecall(judge=LLMJudge(Echo())).score(SAMPLES[0])
    check(result, result.reason)
