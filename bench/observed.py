"""Measure the cost of recording one question to an in-memory retriever of 10 documents.

    python bench/observed.py [--rounds 30] [--questions 300]

Needs both adapters. "An empty handler" is a callback or span handler that does nothing: any
listener costs as much.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span_handlers import NullSpanHandler
from llama_index.core.retrievers import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from side_by_side import CLOCKS, Contender, Ratio, interleaved, say, setting, table

from fullrecall import Sample
from langchain_fullrecall import observed as observed_by_langchain
from llama_index.evaluation.fullrecall import observed as observed_by_llama_index

DOCUMENTS = 10
_WORDS = "word " * 60
SAMPLE = Sample(user_input="q", reference_context_ids=["d1"])


def _langchain_documents() -> list[Document]:
    return [
        Document(page_content=f"text {n} {_WORDS}", id=f"d{n}", metadata={"source": f"s{n}"})
        for n in range(DOCUMENTS)
    ]


def _llama_index_nodes() -> list[NodeWithScore]:
    nodes = [
        TextNode(text=f"text {n} {_WORDS}", id_=f"d{n}", metadata={"source": f"s{n}"})
        for n in range(DOCUMENTS)
    ]
    return [NodeWithScore(node=node, score=0.5) for node in nodes]


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


def frameworks(questions: int) -> dict[str, list[Contender]]:
    """Return the timed calls of each framework: bare, with an empty handler, observed."""
    retriever = LangChainMemory(documents=_langchain_documents())
    other = LlamaIndexMemory(_llama_index_nodes())
    config: Any = {"callbacks": [_NoCallbacks()]}
    recorded, other_recorded = observed_by_langchain(retriever), observed_by_llama_index(other)

    def handled() -> None:
        with _null_spans():
            for _ in range(questions):
                other.retrieve("q")

    def often(ask: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(questions):
                ask()

        return run

    return {
        "LangChain": [
            Contender("bare", often(lambda: retriever.invoke("q"))),
            Contender("an empty handler", often(lambda: retriever.invoke("q", config))),
            Contender("observed", often(lambda: recorded.retrieve(SAMPLE))),
        ],
        "LlamaIndex": [
            Contender("bare", often(lambda: other.retrieve("q"))),
            Contender("an empty handler", handled),
            Contender("observed", often(lambda: other_recorded.retrieve(SAMPLE))),
        ],
    }


def check() -> None:
    """Raise `ValueError` unless every document of every question is in the record."""
    wanted = [f"d{n}" for n in range(DOCUMENTS)]
    for ask in (
        observed_by_langchain(LangChainMemory(documents=_langchain_documents())),
        observed_by_llama_index(LlamaIndexMemory(_llama_index_nodes())),
    ):
        contexts = ask.retrieve(SAMPLE).contexts or ()
        if [each.id for each in contexts] != wanted or not all(each.text for each in contexts):
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
    parser.add_argument("--questions", type=int, default=300)
    options = parser.parse_args()
    check()
    for name, contenders in frameworks(options.questions).items():
        seconds = interleaved(contenders, options.rounds, CLOCKS["cpu"])
        say(f"{name}, {DOCUMENTS} documents\n\n{shown(seconds, options.questions)}\n")
    say(setting("fullrecall", "langchain-core", "llama-index-core"))


if __name__ == "__main__":
    main()
