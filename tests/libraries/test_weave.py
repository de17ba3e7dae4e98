"""Calls that Weave's own client records are read; its server's data is kept in memory.

Opt-in: `-m libraries`, with weave and langchain-core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fullrecall import read

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore")]

FOUND = [{"id": "a", "text": "t"}, {"id": "b", "text": "u"}]


class Queue:
    """Keeps the calls that the client sends, in place of a queue to a server."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, Any]] = {}

    def enqueue_start(self, item: Any, **_: Any) -> None:
        """Keep the start of a call."""
        self._keep(item.req["start"])

    def enqueue_end(self, item: Any, **_: Any) -> None:
        """Keep the end of a call."""
        self._keep(getattr(item, "req", item)["end"])

    def _keep(self, fields: Any) -> None:
        self.calls.setdefault(fields["id"], {}).update(fields)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


class Server:
    """A trace server that stores nothing but calls."""

    def __init__(self) -> None:
        self.call_processor = Queue()

    def call_end(self, request: Any) -> None:
        """Keep the end of a call."""
        self.call_processor.enqueue_end(request)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        class Answer:
            digest = "abc"

            def __getattr__(self, name: str) -> Any:
                return lambda *_, **__: None

        return lambda *_, **__: Answer()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Record calls, and return a function that lists them."""
    monkeypatch.setenv("WEAVE_PRINT_CALL_LINK", "false")
    from weave.trace.context import weave_client_context
    from weave.trace.weave_client import WeaveClient

    server = Server()
    client = WeaveClient("team", "project", server, ensure_project_exists=False)  # type: ignore[arg-type]
    weave_client_context.set_weave_client_global(client)

    def made() -> list[dict[str, Any]]:
        client.future_executor.flush()
        return list(server.call_processor.calls.values())

    yield made
    weave_client_context.set_weave_client_global(None)


def test_an_op_that_searches(calls: Callable[[], list[dict[str, Any]]]) -> None:
    """`@weave.op(kind="search")` is the retriever of the call above it."""
    import weave

    @weave.op(kind="search")
    def search(question: str) -> list[dict[str, str]]:
        return FOUND

    @weave.op
    def answer(question: str) -> str:
        return f"{len(search(question))} found"

    answer("high tower?")
    (sample,) = read.from_spans(calls())
    assert (sample.user_input, sample.response) == ("high tower?", "2 found")
    assert sample.retrieved_context_ids == ("a", "b")


def test_the_integration_of_langchain(calls: Callable[[], list[dict[str, Any]]]) -> None:
    """Weave's tracer of LangChain marks retrievers, and its record of a run has the documents."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda
    from weave.integrations.langchain.langchain import WeaveTracer

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(one["text"], id=one["id"]) for one in FOUND]

    chain = RunnableLambda(lambda question: f"{len(Fixed().invoke(question))} found")
    chain.invoke("high tower?", config={"callbacks": [WeaveTracer()]})
    (sample,) = read.from_spans(calls())
    assert (sample.user_input, sample.response) == ("high tower?", "2 found")
    assert sample.retrieved_context_ids == ("a", "b")
    assert [context.text for context in sample.retrieved_contexts or ()] == ["t", "u"]
