"""Measure the cost of recording one question whose retrieval returns 10 documents.

The store is the framework's own vector store in memory, with 300 documents and a local embedding.
The list is the least that a retriever can do: it returns its documents without a search.

    python bench/observed.py [--rounds 30] [--questions 40]

Needs both adapters. "An empty handler" is a callback or span handler that does nothing: any
listener costs as much.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from zlib import crc32

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span_handlers import NullSpanHandler
from llama_index.core.retrievers import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from side_by_side import CLOCKS, Contender, Ratio, interleaved, say, setting, table

from fullrecall import Sample
from langchain_fullrecall import observed as observed_by_langchain
from llama_index.evaluation.fullrecall import observed as observed_by_llama_index

DOCUMENTS = 10
STORED = 300
_DIMENSIONS = 64
_WORDS = "word " * 60
SAMPLE = Sample(user_input="q", reference_context_ids=["d1"])


def _langchain_documents(number: int = DOCUMENTS) -> list[Document]:
    return [
        Document(page_content=f"text {n} {_WORDS}", id=f"d{n}", metadata={"source": f"s{n}"})
        for n in range(number)
    ]


def _text_nodes(number: int) -> list[TextNode]:
    return [
        TextNode(text=f"text {n} {_WORDS}", id_=f"d{n}", metadata={"source": f"s{n}"})
        for n in range(number)
    ]


def _llama_index_nodes() -> list[NodeWithScore]:
    return [NodeWithScore(node=node, score=0.5) for node in _text_nodes(DOCUMENTS)]


def _embedded(text: str) -> list[float]:
    """Return the counts of a text's words, by a hash that no process changes."""
    counts = [0.0] * _DIMENSIONS
    for word in text.split():
        counts[crc32(word.encode()) % _DIMENSIONS] += 1.0
    return counts


class _LangChainEmbedding(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [_embedded(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return _embedded(text)


class _LlamaIndexEmbedding(BaseEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        return _embedded(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return _embedded(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return _embedded(text)


def langchain_store() -> LangChainRetriever:
    """Return a retriever of LangChain's vector store in memory."""
    store = InMemoryVectorStore(_LangChainEmbedding())
    store.add_documents(_langchain_documents(STORED))
    return store.as_retriever(search_kwargs={"k": DOCUMENTS})


def llama_index_store() -> LlamaIndexRetriever:
    """Return a retriever of LlamaIndex's vector store in memory."""
    index = VectorStoreIndex(nodes=_text_nodes(STORED), embed_model=_LlamaIndexEmbedding())
    return index.as_retriever(similarity_top_k=DOCUMENTS)


class LangChainMemory(LangChainRetriever):
    """A retriever that copies its documents, as a store in memory does."""

    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [
            Document(page_content=each.page_content, id=each.id, metadata=each.metadata)
            for each in self.documents
        ]


class LlamaIndexMemory(LlamaIndexRetriever):
    """A retriever that scores its nodes anew for each question."""

    def __init__(self, nodes: list[NodeWithScore]) -> None:
        self._nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [NodeWithScore(node=each.node, score=each.score) for each in self._nodes]


class _NoCallbacks(BaseCallbackHandler):
    run_inline = True


@contextmanager
def _null_spans() -> Iterator[None]:
    handlers = get_dispatcher().span_handlers
    handlers.append(null := NullSpanHandler())
    try:
        yield
    finally:
        handlers[:] = [each for each in handlers if each is not null]


def _often(ask: Callable[[], Any], questions: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(questions):
            ask()

    return run


def of_langchain(retriever: LangChainRetriever, questions: int) -> list[Contender]:
    """Return the timed calls of LangChain: bare, with an empty handler, observed."""
    config: Any = {"callbacks": [_NoCallbacks()]}
    recorded = observed_by_langchain(retriever)
    return [
        Contender("bare", _often(lambda: retriever.invoke("q"), questions)),
        Contender("an empty handler", _often(lambda: retriever.invoke("q", config), questions)),
        Contender("observed", _often(lambda: recorded.retrieve(SAMPLE), questions)),
    ]


def of_llama_index(retriever: LlamaIndexRetriever, questions: int) -> list[Contender]:
    """Return the timed calls of LlamaIndex: bare, with an empty handler, observed."""
    recorded = observed_by_llama_index(retriever)
    bare = _often(lambda: retriever.retrieve("q"), questions)

    def handled() -> None:
        with _null_spans():
            bare()

    return [
        Contender("bare", bare),
        Contender("an empty handler", handled),
        Contender("observed", _often(lambda: recorded.retrieve(SAMPLE), questions)),
    ]


def frameworks(questions: int) -> dict[str, list[Contender]]:
    """Return the timed calls of each framework, of a store and of a list."""
    documents, nodes = _langchain_documents(), _llama_index_nodes()
    return {
        "LangChain, a store": of_langchain(langchain_store(), questions),
        "LangChain, a list": of_langchain(LangChainMemory(documents=documents), questions),
        "LlamaIndex, a store": of_llama_index(llama_index_store(), questions),
        "LlamaIndex, a list": of_llama_index(LlamaIndexMemory(nodes), questions),
    }


def check() -> None:
    """Raise `ValueError` unless every document of every question is in the record."""
    for ask in (
        observed_by_langchain(LangChainMemory(documents=_langchain_documents())),
        observed_by_langchain(langchain_store()),
        observed_by_llama_index(LlamaIndexMemory(_llama_index_nodes())),
        observed_by_llama_index(llama_index_store()),
    ):
        contexts = ask.retrieve(SAMPLE).contexts or ()
        if len({each.id for each in contexts if each.text}) != DOCUMENTS:
            raise ValueError(f"{ask} has not recorded every document")


def shown(seconds: Mapping[str, Sequence[float]], questions: int) -> str:
    """Return a table of the least CPU time of each call, and of ratios within the rounds."""
    bare = seconds["bare"]
    rows = [
        [
            title,
            f"{min(own) / questions * 1e6:.1f}",
            f"{min(own) / min(bare):.2f}",
            str(Ratio.of(own, bare)),
        ]
        for title, own in seconds.items()
    ]
    return table(["", "least µs of CPU", "bare = 1", "bare = 1 in each round"], rows)


def main() -> None:
    """Measure and print a table for each framework."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--questions", type=int, default=40)
    options = parser.parse_args()
    check()
    for name, contenders in frameworks(options.questions).items():
        seconds = interleaved(contenders, options.rounds, CLOCKS["cpu"])
        say(f"{name}, {DOCUMENTS} documents\n\n{shown(seconds, options.questions)}\n")
    say(setting("fullrecall", "langchain-core", "llama-index-core"))


if __name__ == "__main__":
    main()
