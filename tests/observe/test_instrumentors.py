"""Spans of the real instrumentors of LangChain and LlamaIndex: the lists of the adapters' records.

A test that shows a loss of an instrumentor names it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
)
from langchain_core.messages import AIMessage
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

from fullrecall import IdRecall, Retrieval, Sample, evaluate
from fullrecall import read as datasets
from fullrecall.observe import RetrievalProcessor
from fullrecall.run.retrievers import as_retriever
from fullrecall.samples.calls import Call
from langchain_fullrecall import observed as langchain_observed
from llama_index.evaluation.fullrecall import observed as llama_observed

pytestmark = [
    pytest.mark.frameworks,
    # An instrumentor swallows its own exceptions: a warning as an error would lose its spans.
    pytest.mark.filterwarnings("ignore"),
]

QUESTION = "How high is the tower?"


class Documents(BaseRetriever):
    """Returns the first `count` documents of the same list, or fails."""

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
    """Another class, since a call is named after its class."""


class Nodes(NodeRetriever):
    """The same for LlamaIndex."""

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
    """Another class, since a call is named after its class."""


def texts(documents: list[Document]) -> str:
    """Return the documents' texts, for a prompt."""
    return "\n".join(each.page_content for each in documents)


def chain(*steps: Any) -> Any:
    """Return a chain that answers from a retriever's documents, after these steps."""
    retrieval: Any = Documents()
    for step in (*steps, RunnableLambda(texts)):
        retrieval = retrieval | step
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    model = FakeListChatModel(responses=["330 metres."])
    return {"context": retrieval, "question": RunnablePassthrough()} | prompt | model


def search() -> Any:
    """Return a tool whose documents are its artifact: no retriever is called."""

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


@pytest.fixture(scope="module")
def instrumented() -> Iterator[Tracing]:
    """Instrument both frameworks while this module runs."""
    made = Tracing()
    instrumentors = (LangChainInstrumentor(), LlamaIndexInstrumentor())
    for each in instrumentors:
        each.instrument(tracer_provider=made.provider)
    yield made
    for each in instrumentors:
        each.uninstrument()
    made.provider.shutdown()


@pytest.fixture
def tracing(instrumented: Tracing) -> Tracing:
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


@pytest.mark.parametrize("name", LANGCHAIN)
def test_langchain(name: str, tracing: Tracing) -> None:
    """Live, exported, and by the adapter: one record."""
    application, sample = LANGCHAIN[name](), Sample(user_input=QUESTION)
    seen = as_retriever(tracing.processor.observed(application.invoke)).retrieve(sample)
    assert seen.error is None
    (exported,) = tracing.exported()
    assert exported.user_input == QUESTION
    assert lists(exported.retrieval or Retrieval()) == lists(seen)
    expected = langchain_observed(application).retrieve(sample)
    assert lists(seen) == lists(expected)


@pytest.mark.parametrize("name", LLAMA_INDEX)
def test_llama_index(name: str, tracing: Tracing) -> None:
    """Live, exported, and by the adapter: one record."""
    application, sample = LLAMA_INDEX[name](), Sample(user_input=QUESTION)
    seen = as_retriever(tracing.processor.observed(asked(application))).retrieve(sample)
    assert seen.error is None
    (exported,) = tracing.exported()
    assert exported.user_input == QUESTION
    assert lists(exported.retrieval or Retrieval()) == lists(seen)
    expected = llama_observed(application).retrieve(sample)
    assert lists(seen) == lists(expected)


def graph() -> Any:
    """Return a graph that retrieves three documents, keeps one, and answers from it."""
    from langgraph.graph import END, START, StateGraph

    def generate(state: dict[str, Any]) -> dict[str, Any]:
        prompt = ChatPromptTemplate.from_template("{context}")
        model = FakeListChatModel(responses=["330 metres."])
        return {"answer": (prompt | model).invoke({"context": texts(state["documents"])}).content}

    made: Any = StateGraph(dict)  # type: ignore[type-var]
    made.add_node("retrieve", lambda state: {**state, "documents": Documents(count=3).invoke("q")})
    made.add_node("grade", lambda state: {**state, "documents": state["documents"][:1]})
    made.add_node("generate", generate)
    for edge in ((START, "retrieve"), ("retrieve", "grade"), ("grade", "generate")):
        made.add_edge(*edge)
    made.add_edge("generate", END)
    return made.compile()


def first_three_of_four(question: str) -> list[Document]:
    """Return the first three documents of a retriever."""
    return Documents().invoke(question)[:3]


APPLICATIONS: dict[str, tuple[Callable[[str], Any], float]] = {
    "a graph's answer": (lambda q: graph().invoke({"question": q})["answer"], 0.5),
    "a graph's state": (lambda q: graph().invoke({"question": q}), 0.5),
    "a function that cuts": (first_three_of_four, 1.0),
    "a function that cuts more": (lambda q: first_three_of_four(q)[:1], 0.5),
    "a function that caches": (lambda _: first_two([Document(id="d1", page_content="F")]), 0.5),
}


@pytest.mark.parametrize("name", APPLICATIONS)
def test_one_number(name: str, tracing: Tracing) -> None:
    """Spans and the adapter give the same score of the final list."""
    application, expected = APPLICATIONS[name]
    samples = [Sample(user_input=QUESTION, reference_context_ids=["d0", "d1"])]
    live = tracing.processor.observed(application)
    report = evaluate(samples, IdRecall(), retriever=live, progress=False)
    assert report.rows[0].results[0].score == expected
    if name.startswith("a graph"):
        (exported,) = tracing.exported()
        assert exported.retrieved_context_ids == ("d0",)
    through_adapter = langchain_observed(application)
    report = evaluate(samples, IdRecall(), retriever=through_adapter, progress=False)
    assert report.rows[0].results[0].score == expected


class ToolCalling(FakeMessagesListChatModel):
    """A model that calls tools as its messages say."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """Return this model."""
        return self


def agent() -> Any:
    """Return an agent that searches with two tools at once."""
    from langchain.agents import create_agent

    calls = [{"name": name, "args": {"query": name}, "id": name} for name in ("one", "two")]
    model = ToolCalling(responses=[AIMessage("", tool_calls=calls), AIMessage("330 metres.")])
    tools = [
        create_retriever_tool(Documents(), "one", "Search."),
        create_retriever_tool(OtherDocuments(count=2), "two", "Search."),
    ]
    return create_agent(model, tools)


def test_a_fallback_is_known_to_the_adapter_alone(tracing: Tracing) -> None:
    """Spans name the construct's caller as that of each attempt, so the trace is unscored."""
    application = Documents(fails=True).with_fallbacks([OtherDocuments(count=2)])
    application.invoke(QUESTION)
    spans = tracing.spans.get_finished_spans()
    (unscored,) = datasets.from_spans(spans)
    assert "1 of 2 calls failed" in str(unscored.retrieval_error)
    (scored,) = datasets.from_spans(spans, failed_calls="score")
    assert scored.retrieved_context_ids == ("d0", "d1")
    seen = langchain_observed(application).retrieve(Sample(user_input=QUESTION))
    assert seen.error is None


def test_an_agent_of_langchain(tracing: Tracing) -> None:
    """Its question, its answer, and the union of its tools' documents."""
    sample = Sample(user_input=QUESTION)

    def application(question: str) -> Any:
        return agent().invoke({"messages": [("user", question)]})

    seen = as_retriever(tracing.processor.observed(application)).retrieve(sample)
    assert seen.ranks == (1, 2, 3, 4)
    (exported,) = tracing.exported()
    assert (exported.user_input, exported.response) == (QUESTION, "330 metres.")
    assert lists(exported.retrieval or Retrieval()) == lists(seen)
    assert lists(seen) == lists(langchain_observed(agent()).retrieve(sample))


def test_each_trace_is_a_sample(tracing: Tracing) -> None:
    """Side by side, too: each question with its own list and answer."""
    application = chain(RunnableLambda(first_two))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(application.invoke, (f"q{n}" for n in range(8))))
    samples = tracing.exported()
    assert sorted(str(each.user_input) for each in samples) == [f"q{n}" for n in range(8)]
    for each in samples:
        assert each.retrieved_context_ids == ("d0", "d1")
        assert each.response == "330 metres."
        assert each.id == each.metadata["trace_id"]


def test_an_evaluation_asks_an_instrumented_application(tracing: Tracing) -> None:
    """`evaluate` asks it side by side; a failure is that sample's own."""

    def application(question: str) -> str:
        return (
            str(chain().invoke(question).content)
            + Documents(fails=question == "1").invoke(question)[0].page_content
        )

    samples = [
        Sample(id=str(n), user_input=str(n), reference_context_ids=["d0", "d9"]) for n in range(4)
    ]
    report = evaluate(
        samples, IdRecall(), retriever=tracing.processor.observed(application), progress=False
    )
    assert [row.results[0].score for row in report.rows] == [0.5, None, 0.5, 0.5]
    assert "the index is gone" in report.rows[1].results[0].reason


@pytest.mark.parametrize("application", [Documents().ainvoke, fusion().aretrieve])
def test_an_async_application(application: Any, tracing: Tracing) -> None:
    """It is awaited in the event loop of its caller; questions side by side keep apart."""

    async def both() -> list[Retrieval]:
        observed = tracing.processor.observed(application)
        return await asyncio.gather(*map(observed, "ab"))

    found = asyncio.run(both())
    assert [each.calls[0].query for each in found] == ["a", "b"]
    for each in found:
        assert each.error is None
        assert [context.id for context in each.contexts or ()][:1] in (["d0"], ["d2"])
        assert len(each.calls) == 1


def test_an_id_in_the_metadata(tracing: Tracing) -> None:
    """`id_key` names the key, as in the adapters."""
    Documents(count=2).invoke("q")
    Nodes(2).retrieve("q")
    spans = tracing.spans.get_finished_spans()
    found = list(datasets.from_spans(spans, id_key="source"))
    assert found[0].retrieved_context_ids == ("s0", "s1")
    assert found[1].retrieved_context_ids == (None, None)


def test_a_block_records_what_runs_in_it(tracing: Tracing) -> None:
    """Within an application's own span, too, whose trace goes on."""
    with tracing.provider.get_tracer("test").start_as_current_span("request"):
        Documents(count=1).invoke("before")
        with tracing.processor.capture() as seen:
            Documents(count=2).invoke("within")
        Documents(count=3).invoke("after")
    sample = seen.sample(user_input="within", reference_context_ids=["d1"])
    assert sample.retrieved_context_ids == ("d0", "d1")


@pytest.mark.parametrize("retrieve", [Documents(count=80).invoke, Nodes(40).retrieve])
def test_beyond_128_attributes_a_list_is_not_whole(retrieve: Any, tracing: Tracing) -> None:
    """Unscored, with what to set."""
    retrieve(QUESTION)
    (sample,) = tracing.exported()
    assert sample.retrieved_context_ids is None
    assert "attributes were dropped: set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in str(
        sample.retrieval_error
    )


@pytest.mark.parametrize("hidden", ["OUTPUTS", "OUTPUT_TEXT", "INPUTS"])
def test_hidden_values(hidden: str, tracing: Tracing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents hidden by OPENINFERENCE_HIDE_* are unscored; a hidden input leaves the list."""
    instrumentor = LangChainInstrumentor()
    instrumentor.uninstrument()
    monkeypatch.setenv(f"OPENINFERENCE_HIDE_{hidden}", "true")
    instrumentor.instrument(tracer_provider=tracing.provider)
    try:
        Documents().invoke(QUESTION)
    finally:
        instrumentor.uninstrument()
        monkeypatch.undo()
        instrumentor.instrument(tracer_provider=tracing.provider)
    (sample,) = tracing.exported()
    if hidden == "INPUTS":
        assert sample.retrieved_context_ids == ("d0", "d1", "d2", "d3")
        assert sample.user_input is None
    elif hidden == "OUTPUTS":
        assert "hidden" in str(sample.retrieval_error)


def test_a_file_of_spans_is_scored_with_labels(tracing: Tracing, tmp_path: Path) -> None:
    """OTLP JSON as the exporter writes it: the same samples, joined by ID, else by question."""
    application = chain()
    for question in ("a", "b", "b", "unlabeled"):
        application.invoke(question)
    with tracing.provider.get_tracer("test").start_as_current_span(
        "request", attributes={"fullrecall.sample_id": "by id"}
    ):
        Documents(count=1).invoke("asked otherwise")
    path = tmp_path / "traces.json"
    write_otlp(path, tracing.spans.get_finished_spans())
    assert list(datasets.read(path)) == tracing.exported()
    references = [
        Sample(id="1", user_input="a", reference_context_ids=["d0", "d9"]),
        Sample(user_input=" b ", reference_context_ids=["d1"]),
        Sample(id="by id", user_input="c", reference_context_ids=["d0"]),
        Sample(id="never", user_input="d", reference_context_ids=["d0"]),
    ]
    joined = datasets.with_references(datasets.read(path), references)
    report = evaluate(joined, IdRecall(), progress=False)
    assert [row.results[0].score for row in report.rows] == [0.5, 1.0, 1.0, 1.0, None]
    assert [row.sample.group for row in report.rows] == [None, " b ", " b ", None, None]
    assert report.rows[-1].results[0].reason == "no retrieval: no trace asks this question"
    assert (joined.left_out, joined.unasked) == (1, 0)


def write_otlp(path: Path, spans: Any) -> None:
    """Write spans as OpenTelemetry's exporters do: one object a line, children first."""

    def value(held: Any) -> dict[str, Any]:
        if isinstance(held, bool):
            return {"boolValue": held}
        if isinstance(held, str):
            return {"stringValue": held}
        if isinstance(held, int):
            return {"intValue": str(held)}
        if isinstance(held, float):
            return {"doubleValue": held}
        return {"arrayValue": {"values": [value(each) for each in held]} if held else {}}

    lines = []
    for span in spans:
        plain = {
            "traceId": f"{span.context.trace_id:032x}",
            "spanId": f"{span.context.span_id:016x}",
            "parentSpanId": f"{span.parent.span_id:016x}" if span.parent else "",
            "flags": 256,
            "name": span.name,
            "kind": 1,
            "startTimeUnixNano": str(span.start_time),
            "endTimeUnixNano": str(span.end_time),
            "attributes": [
                {"key": key, "value": value(held)} for key, held in span.attributes.items()
            ],
            "droppedAttributesCount": span.dropped_attributes,
            "events": [],
            "status": {"code": span.status.status_code.value},
        }
        lines.append(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [plain]}]}]}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
