"""Spans of the real instrumentors of both frameworks give the lists of the adapters' records.

A test names each value that an instrumentor omits.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
)
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import create_retriever_tool
from tests.observe.instrumented import (  # noqa: F401 - fixtures
    LANGCHAIN,
    LLAMA_INDEX,
    QUESTION,
    Documents,
    OtherDocuments,
    Tracing,
    asked,
    chain,
    first_two,
    instrumented_process,
    lists,
    texts,
    tracing_of_a_test,
)

from fullrecall import IdRecall, Retrieval, Sample, evaluate
from fullrecall import read as datasets
from fullrecall.run.retrievers import as_retriever
from langchain_fullrecall import observed as langchain_observed
from llama_index.evaluation.fullrecall import observed as llama_observed

pytestmark = [
    pytest.mark.frameworks,
    # An instrumentor swallows its own exceptions: a warning as an error would lose its spans.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.mark.parametrize("name", LANGCHAIN)
def test_langchain(name: str, tracing: Tracing) -> None:
    """Live spans, exported spans, and the LangChain adapter give one record."""
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
    """Live spans, exported spans, and the LlamaIndex adapter give one record."""
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
    """A model that calls the tools that its messages contain."""

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


def fallback() -> Any:
    """Return a retriever that fails, and another one in its place."""
    return Documents(fails=True).with_fallbacks([OtherDocuments(count=2)])


@pytest.mark.parametrize(
    "application",
    [
        fallback(),
        RunnableLambda(lambda question: question) | fallback(),
        (Documents() | RunnableLambda(lambda _: 1 / 0)).with_fallbacks([OtherDocuments(count=2)]),
        Documents(fails=True).with_fallbacks([fallback()]) | RunnableLambda(list),
    ],
    ids=["alone", "in a chain", "of a chain", "in a fallback"],
)
def test_a_fallback_recovers_its_attempts(tracing: Tracing, application: Any) -> None:
    """LangChain reports attempts beside their run with fallbacks; they belong to it."""
    application.invoke(QUESTION)
    (sample,) = datasets.from_spans(tracing.spans.get_finished_spans())
    assert sample.retrieval_error is None
    assert sample.retrieved_context_ids == ("d0", "d1")
    seen = langchain_observed(application).retrieve(Sample(user_input=QUESTION))
    assert lists(seen) == lists(sample.retrieval or Retrieval())


def test_a_renamed_fallback_is_known_to_nobody(tracing: Tracing) -> None:
    """Spans of a renamed fallback do not show what it is, so its trace is unscored."""
    fallback().with_config(run_name="mine").invoke(QUESTION)
    spans = tracing.spans.get_finished_spans()
    (unscored,) = datasets.from_spans(spans)
    assert "1 of 2 calls failed" in str(unscored.retrieval_error)
    (scored,) = datasets.from_spans(spans, failed_calls="score")
    assert scored.retrieved_context_ids == ("d0", "d1")


def test_an_agent_of_langchain(tracing: Tracing) -> None:
    """An agent's trace has its question, its answer, and the union of its tools' documents."""
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
    """Concurrent traces are samples with their own question, list and answer."""
    application = chain(RunnableLambda(first_two))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(application.invoke, (f"q{n}" for n in range(8))))
    samples = tracing.exported()
    assert sorted(str(each.user_input) for each in samples) == [f"q{n}" for n in range(8)]
    for each in samples:
        assert each.retrieved_context_ids == ("d0", "d1")
        assert each.response == "330 metres."
        assert each.id == each.metadata["trace_id"]
