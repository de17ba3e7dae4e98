"""Shared fixtures: framework objects that need no network, and a guard that blocks the network."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langsmith import Client
from langsmith.schemas import Example

from langchain_fullrecall import offline_client


class ListRetriever(BaseRetriever):
    """A retriever that returns its documents for a question, or raises its error."""

    answers: dict[str, Any]
    asked: list[str] = []  # noqa: RUF012 - pydantic copies a default

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.asked.append(query)
        answer = self.answers.get(query, [])
        if isinstance(answer, Exception):
            raise answer
        found: list[Document] = answer
        return found


class LetterEmbeddings(Embeddings):
    """Embeddings that count letters, so that a text is nearest to itself on every machine."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector of 26 counts for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the 26 counts of a text."""
        return [float(text.lower().count(chr(ord("a") + n))) for n in range(26)]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail every test that connects to another machine, even if the error is swallowed."""
    attempts: list[object] = []

    def refuse(self: socket.socket, address: object) -> None:
        attempts.append(address)
        raise OSError(f"a test tried to connect to {address!r}")

    def unresolved(*args: object, **kwargs: object) -> None:
        attempts.append(args)
        raise OSError(f"a test tried to look up {args!r}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    for name in ("LANGSMITH", "LANGCHAIN"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
        monkeypatch.delenv(f"{name}_TRACING", raising=False)
        monkeypatch.delenv(f"{name}_TRACING_V2", raising=False)
    yield
    assert attempts == []


@pytest.fixture
def documents() -> list[Document]:
    """Return four documents of two sources, with IDs."""
    return [
        Document("Paris is the capital of France.", id="d0", metadata={"source": "fr", "page": 1}),
        Document("The Seine flows through Paris.", id="d1", metadata={"source": "fr", "page": 2}),
        Document("Rome is the capital of Italy.", id="d2", metadata={"source": "it", "page": 1}),
        Document("The Tiber flows through Rome.", id="d3", metadata={"source": "it", "page": 2}),
    ]


@pytest.fixture
def retriever_of() -> Callable[..., ListRetriever]:
    """Return a factory of retrievers: documents, or an error, for each question of a mapping."""

    def make(answers: Any = (), *, question: str = "q", **fields: Any) -> ListRetriever:
        held = answers if isinstance(answers, dict) else {question: answers}
        return ListRetriever(answers=held, asked=[], **fields)

    return make


@pytest.fixture
def store(documents: list[Document]) -> InMemoryVectorStore:
    """Return a vector store that holds `documents`."""
    store = InMemoryVectorStore(LetterEmbeddings())
    store.add_documents(documents)
    return store


@pytest.fixture
def client() -> Client:
    """Return a LangSmith client that uploads nothing."""
    return offline_client()


@pytest.fixture
def example() -> Callable[..., Example]:
    """Return a factory of rows of a LangSmith dataset."""

    def make(question: str = "q", **outputs: Any) -> Example:
        return Example(id=uuid4(), inputs={"question": question}, outputs=outputs)

    return make


@pytest.fixture(scope="session")
def runs() -> int:
    """Return the number of repetitions of a test: 7, or `FULLRECALL_RUNS`."""
    return int(os.environ.get("FULLRECALL_RUNS", "7"))
