"""Applications of both frameworks under the real instrumentors, and the lists of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool, tool
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import LongContextReorder, SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever as NodeRetriever
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fullrecall import Retrieval, Sample
from fullrecall import read as datasets
from fullrecall.observe import RetrievalProcessor
from fullrecall.samples.calls import Call

QUESTION = "How high is the tower?"


class Documents(BaseRetriever):
    """A LangChain retriever that returns the first `count` documents of a list, or fails."""

    count: int = 4
    fails: bool = False

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        if self.fails:
            raise ConnectionError("the index is gone")
        return [
            Document(id=f"d{n}", page_content=f"Fact {n} on towers.", metadata={"source": f"s{n}"})
            for n in range(self.count)
        ]


class OtherDocuments(Documents):
    """Another class with the same behavior, since a call is named after its class."""


class Nodes(NodeRetriever):
    """A LlamaIndex retriever that returns the first `count` nodes of a list, or fails."""

    def __init__(self, count: int = 4, start: int = 0) -> None:
        self.numbers = range(start, start + count)
        super().__init__()

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(id_=f"d{n}", text=f"Fact {n} on towers.", metadata={"page": n}),
                score=1 - n / 10,
            )
            for n in self.numbers
        ]


class OtherNodes(Nodes):
    """Another class with the same behavior, since a call is named after its class."""


def texts(documents: list[Document]) -> str:
    """Return the documents' texts, for a prompt."""
    return "\n".join(each.page_content for each in documents)


def chain(*steps: Any) -> Any:
    """Return a chain that answers from a retriever's documents, changed by these steps."""
    retrieval: Any = Documents()
    for step in (*steps, RunnableLambda(texts)):
        retrieval = retrieval | step
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    model = FakeListChatModel(responses=["330 metres."])
    return {"context": retrieval, "question": RunnablePassthrough()} | prompt | model


def search() -> Any:
    """Return a tool that returns documents as its artifact, without calling a retriever."""

    @tool(response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search."""
        return "found", Documents().invoke(query)[:2]

    return search


def first_two(documents: list[Document]) -> list[Document]:
    """Return the first two documents."""
    return documents[:2]


def engine(*postprocessors: Any) -> Any:
    """Return a query engine with these postprocessors."""
    return RetrieverQueryEngine.from_args(
        Nodes(), llm=MockLLM(max_tokens=4), node_postprocessors=list(postprocessors)
    )


def fusion() -> Any:
    """Return a retriever that fuses two retrievers."""
    return QueryFusionRetriever(
        [Nodes(3), OtherNodes(3, 2)],
        llm=MockLLM(),
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )


LANGCHAIN: dict[str, Callable[[], Any]] = {
    "retriever": Documents,
    "nothing found": lambda: Documents(count=0),
    "chain": chain,
    "chain with a later step": lambda: chain(RunnableLambda(first_two)),
    "tool": lambda: create_retriever_tool(Documents(), "search", "Search."),
    "two calls": lambda: {"a": Documents(count=2), "b": OtherDocuments()} | RunnablePassthrough(),
}
LLAMA_INDEX: dict[str, Callable[[], Any]] = {
    "retriever": Nodes,
    "nothing found": lambda: Nodes(0),
    "engine": engine,
    "postprocessor": lambda: engine(SimilarityPostprocessor(similarity_cutoff=0.75)),
    "reordered": lambda: engine(LongContextReorder()),
    "fusion": fusion,
}


class Tracing:
    """The instrumented frameworks: a processor, and the spans that were exported beside it."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        self.processor = RetrievalProcessor()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.provider.add_span_processor(self.processor)

    def exported(self) -> list[Sample]:
        """Return the samples of the spans exported since the last call."""
        found = list(datasets.from_spans(self.spans.get_finished_spans()))
        self.spans.clear()
        return found


@pytest.fixture(scope="module", name="instrumented")
def instrumented_process() -> Iterator[Tracing]:
    """Instrument both frameworks while this module runs."""
    made = Tracing()
    instrumentors = (LangChainInstrumentor(), LlamaIndexInstrumentor())
    for each in instrumentors:
        each.instrument(tracer_provider=made.provider)
    yield made
    for each in instrumentors:
        each.uninstrument()
    made.provider.shutdown()


@pytest.fixture(name="tracing")
def tracing_of_a_test(instrumented: Tracing) -> Tracing:
    """Return the instrumented frameworks without exported spans."""
    instrumented.spans.clear()
    return instrumented


def asked(application: Any) -> Callable[[str], Any]:
    """Return the method that asks an application."""
    for name in ("query", "retrieve", "invoke"):
        if hasattr(application, name):
            return getattr(application, name)  # type: ignore[no-any-return]
    return application.invoke  # type: ignore[no-any-return]


def lists(record: Retrieval) -> Any:
    """Return a record's list, ranks, prompts and response, and the lists of its calls."""

    def plain(call: Call) -> Any:
        found = None if call.contexts is None else [each.id for each in call.contexts]
        return call.source, found, call.reorders, sorted(map(plain, call.children), key=str)

    contexts = None if record.contexts is None else [(c.id, c.text) for c in record.contexts]
    calls = sorted(map(plain, record.calls), key=str)
    return contexts, record.ranks, record.read, record.response, calls, record.line
