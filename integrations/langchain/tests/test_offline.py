"""An offline eval run sends nothing, as an endpoint on this machine confirms."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnablePassthrough
from langsmith import Client, aevaluate, evaluate, run_trees
from langsmith.schemas import Example
from langsmith.utils import LangSmithError, get_env_var

from fullrecall import ClaimRecall, LLMJudge
from langchain_fullrecall import LangChainChatModel, RecallStringEvaluator, offline_client

pytestmark = [
    pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta"),
    pytest.mark.parametrize("tracing", ["true", "false", None]),
]
VERDICT = json.dumps(
    {"verdicts": [{"id": 1, "verdict": "not_supported", "citations": [], "together": False}]}
)


class Endpoint(ThreadingHTTPServer):
    """An endpoint that accepts every request, and lists them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.requests: list[str] = []


class Answering(BaseHTTPRequestHandler):
    """A request handler that answers with an empty object."""

    def do_GET(self) -> None:
        """Keep the request, and answer."""
        server = self.server
        assert isinstance(server, Endpoint)
        server.requests.append(f"{self.command} {self.path}")
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815 - as the server calls them

    def log_message(self, *_args: object) -> None:
        """Write no log."""


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail on connections to another machine, but allow this one."""
    connect, attempts = socket.socket.connect, []

    def local(self: socket.socket, address: Any) -> None:
        if address[0] != "127.0.0.1":
            attempts.append(address)
            raise OSError(f"a test tried to connect to {address!r}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local)
    yield
    assert attempts == []


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, tracing: str | None) -> Iterator[Endpoint]:
    """Return the endpoint of all LangSmith traffic, with a key, and tracing on or off."""
    server = Endpoint()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    url = f"http://127.0.0.1:{server.server_port}"
    for name, value in (
        ("ENDPOINT", url),
        ("API_KEY", "k"),
        ("TRACING", tracing),
        ("TRACING_V2", tracing),
    ):
        for prefix in ("LANGSMITH", "LANGCHAIN"):
            if value is None:
                monkeypatch.delenv(f"{prefix}_{name}", raising=False)
            else:
                monkeypatch.setenv(f"{prefix}_{name}", value)
    monkeypatch.setattr(run_trees, "_CLIENT", None)
    get_env_var.cache_clear()
    yield server
    server.shutdown()
    server.server_close()
    get_env_var.cache_clear()


def run(
    route: str, client: Client, retriever: Any, rows: list[Example]
) -> tuple[list[float | None], int]:
    """Return the scores of an eval run, and the number of child runs in the evaluators' input."""
    chain = RunnablePassthrough.assign(
        documents=(lambda inputs: inputs["question"]) | retriever
    ).assign(answer=lambda _inputs: "Rome")
    judge = LLMJudge(LangChainChatModel(GenericFakeChatModel(messages=iter([AIMessage(VERDICT)]))))
    seen: list[int] = []

    def count(run: Any, example: Any) -> dict[str, Any]:
        seen.append(len(run.child_runs))
        return {"key": "count", "score": 1}

    options: dict[str, Any] = {
        "data": rows,
        "evaluators": [
            RecallStringEvaluator(),
            RecallStringEvaluator(ClaimRecall(judge=judge)),
            count,
        ],
        "summary_evaluators": [lambda runs, examples: {"key": "n", "score": len(runs)}],
        "client": client,
        "upload_results": False,
    }

    async def arun() -> list[Any]:
        return [row async for row in await aevaluate(chain.ainvoke, **options)]

    found = list(evaluate(chain.invoke, **options)) if route == "sync" else asyncio.run(arun())
    results = found[0]["evaluation_results"]["results"]
    return [result.score for result in results if result.key != "count"], sum(seen)


@pytest.fixture
def rows(example: Callable[..., Example]) -> list[Example]:
    """Return one question with its references."""
    return [example("q", reference_context_ids=["d0", "d9"], reference_claims=["Rome is old."])]


@pytest.mark.parametrize("route", ["sync", "async"])
def test_nothing_is_sent(
    route: str,
    endpoint: Endpoint,
    retriever_of: Any,
    documents: list[Document],
    rows: list[Example],
) -> None:
    """No run, child run, judge run, feedback or version request is sent."""
    client = offline_client()
    scores, child_runs = run(route, client, retriever_of(documents), rows)
    client.flush()
    default = run_trees._CLIENT  # This default client serves calls without a client.
    if default is not None:
        default.flush()
    assert endpoint.requests == []
    assert scores == [0.5, 0.0]
    assert child_runs >= 1


def test_another_client_does_send(
    endpoint: Endpoint, retriever_of: Any, documents: list[Document], rows: list[Example]
) -> None:
    """LangSmith's own client sends to the endpoint in the same eval run, so the test can fail."""
    client = Client(auto_batch_tracing=False, info={})
    run("sync", client, retriever_of(documents), rows)
    client.flush()
    assert any(request.startswith("POST") for request in endpoint.requests)


def test_a_data_set_by_name_needs_langsmith(endpoint: Endpoint) -> None:
    """A data set by name needs LangSmith: the error says so, and no request is sent."""
    with pytest.raises(LangSmithError, match=r"offline_client\(\) sends nothing"):
        list(
            evaluate(
                lambda inputs: inputs,
                data="a data set",
                client=offline_client(),
                upload_results=False,
            )
        )
    assert endpoint.requests == []
