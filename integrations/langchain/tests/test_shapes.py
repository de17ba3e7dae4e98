"""Difficult shapes of applications give the one right number on every path.

"unscored" is right if the answer cannot be known. A path that knows less than the rest may be
unscored too, if `SILENT` names it, but no path may give another number.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from langsmith import Client
from typing_extensions import TypedDict

from fullrecall import Sample
from langchain_fullrecall import observed

_spec = spec_from_file_location("shapes", Path(__file__).with_name("shapes.py"))
assert _spec is not None
assert _spec.loader is not None
shapes = module_from_spec(_spec)
_spec.loader.exec_module(shapes)
Store, Model, doc, joined, paths = (
    shapes.Store, shapes.Model, shapes.doc, shapes.joined, shapes.paths
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore:.upload_results. parameter is in beta")

PROMPT = ChatPromptTemplate.from_template("Context: {context}\nQuestion: {question}")


class State(TypedDict, total=False):
    """A graph's state."""

    question: str
    documents: list[Document]
    answer: str


def graph(
    *nodes: tuple[str, Callable[[Any], Any]],
    state: Any = State,
    checkpointer: Any = None,
    **options: Any,
) -> Any:
    """Return a graph of these nodes, in sequence."""
    builder = StateGraph(state)
    before = START
    for name, node in nodes:
        builder.add_node(name, node, **options)
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, END)
    return builder.compile(checkpointer=checkpointer)


def generate(state: Any) -> dict[str, str]:
    """Answer from the documents of a state."""
    return {"answer": Model().invoke(joined(state["documents"])).content}


def grading() -> Any:
    """LangGraph's most common graph: retrieve, grade, generate."""
    return graph(
        ("retrieve", lambda state: {"documents": Store().invoke(state["question"])}),
        ("grade", lambda state: {"documents": state["documents"][:1]}),
        ("generate", generate),
    )


def answering_graph() -> Any:
    """The grading graph with the answer alone as its output."""
    return grading() | (lambda state: "the answer")


def fused() -> Any:
    """A chain whose lambda fuses the lists of a parallel."""
    return (
        RunnableParallel(x=Store(letters="ab"), y=Store(letters="cb"))
        | RunnableLambda(lambda both: [both["y"][0], both["x"][0]])
        | joined
        | Model()
    )


def failing_rerank() -> Any:
    """A chain with fallbacks whose reranker failed after retrieving."""

    def rerank(documents: list[Document]) -> list[Document]:
        raise TimeoutError("no answer")

    return (Store() | RunnableLambda(rerank)).with_fallbacks([Store(letters="de")])


def gathered() -> Any:
    """A chain with fallbacks beside a store that is down."""

    async def asearch(question: str) -> list[Document]:
        found = await asyncio.gather(
            Store(down=True).with_fallbacks([Store(letters="de")]).ainvoke(question),
            Store(down=True).ainvoke(question),
            return_exceptions=True,
        )
        return [each for part in found if isinstance(part, list) for each in part]

    def search(question: str) -> list[Document]:
        return asyncio.run(asearch(question))

    return RunnableLambda(search, asearch)


def two_stores() -> Any:
    """A loop with `try` searches two stores of one class; one store is down."""

    def search(question: str) -> list[Document]:
        found: list[Document] = []
        for store in (Store(down=True), Store(letters="ab")):
            try:
                found += store.invoke(question)
            except ConnectionError:
                continue
        return found

    return RunnableLambda(search)


class Minting(BaseDocumentCompressor):
    """A compressor that returns a shortened text under a new ID."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        """Return one document."""
        return [Document(documents[2].page_content[:40], id="new-1")]


def compressed() -> Any:
    """A retriever with a compressor."""
    return ContextualCompressionRetriever(base_compressor=Minting(), base_retriever=Store())


def merged() -> Any:
    """A chain over an ensemble."""
    return EnsembleRetriever(
        retrievers=[Store(letters="ab"), Store(letters="b")], weights=[0.5, 0.5]
    )


def calling_tool(error: type[Exception] | None, *, handled: Any, swallow: bool = False) -> Any:
    """A function that calls a tool that retrieves and then fails."""

    def make() -> Any:
        @tool
        def search(query: str) -> str:
            """Search."""
            found = Store(letters="ab").invoke(query)
            if swallow:
                try:
                    Store(down=True).invoke(query)
                except ConnectionError:
                    return "nothing found"
            if error is not None:
                raise error("broken")
            return joined(found)

        search.handle_tool_error = handled

        def run(question: str) -> str:
            first = joined(Store(letters="c").invoke(question))
            call = {"args": {"query": question}, "id": "1", "name": "search", "type": "tool_call"}
            try:
                second = search.invoke(call).content
            except ValueError:  # The application goes on.
                second = ""
            return Model().invoke(f"{first} {second}").content

        return RunnableLambda(run)

    return make


def resumed(*nodes: tuple[str, Callable[[Any], Any]]) -> Callable[[], Any]:
    """Return a factory of functions that run a graph until it asks a human, and resume it."""

    def run(question: str) -> str:
        stopping = graph(*nodes, ("generate", generate), checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "1"}}
        stopping.invoke({"question": question}, config)
        return str(stopping.invoke(Command(resume=2), config)["answer"])

    return lambda: RunnableLambda(run)


def asking(state: Any) -> dict[str, Any]:
    """Let a human say how many documents are kept."""
    return {"documents": state["documents"][: interrupt("how many?")]}


def retrieving_and_asking(state: Any) -> dict[str, Any]:
    """Retrieve, and ask a human how many documents to keep: resumed, the node begins anew."""
    found = Store().invoke(state["question"])
    return {"documents": found[: interrupt("how many?")]}


def retrieving(state: Any) -> dict[str, Any]:
    """Retrieve."""
    return {"documents": Store().invoke(state["question"])}


def sorted_in_place() -> Any:
    """A chain with a step that sorts its input list in place, which a stream shows afterwards."""

    def order(documents: list[Document]) -> list[Document]:
        documents.sort(key=lambda each: each.page_content)
        return documents

    return Store(letters="cab") | RunnableLambda(order) | joined | Model()


def cut_in_place() -> Any:
    """A chain with a step that cuts its input list in place."""

    def cut(documents: list[Document]) -> list[Document]:
        del documents[1:]
        return documents

    return Store() | RunnableLambda(cut) | joined | Model()


class Hit:
    """A document in an object of an unknown class."""

    def __init__(self, document: Document) -> None:
        self.document = document


def past_the_record() -> Any:
    """A chain whose later step makes a list from documents in objects of unknown classes."""
    return (
        Store()
        | (lambda documents: [Hit(each) for each in documents])
        | (lambda hits: [each.document for each in hits[1:2]])
        | joined
        | Model()
    )


def past_the_record_unread() -> Any:
    """The same chain without a model, so that the replacement of the list is unknown."""
    return (
        Store()
        | (lambda documents: [Hit(each) for each in documents])
        | (lambda hits: [each.document for each in hits[1:2]])
        | (lambda documents: "one document")
    )


class Cutting(Store):
    """A retriever that cuts its list after its callbacks."""

    def invoke(self, *args: Any, **kwargs: Any) -> list[Document]:
        """Return the last document."""
        return super().invoke(*args, **kwargs)[-1:]

    async def ainvoke(self, *args: Any, **kwargs: Any) -> list[Document]:
        """Return the last document."""
        return (await super().ainvoke(*args, **kwargs))[-1:]


def nothing_left() -> Any:
    """A chain whose step keeps nothing, and whose model answers all the same."""
    return Store() | (lambda documents: []) | joined | Model()


def configured() -> Any:
    """A retriever that asks a part with a config of its own."""

    class Outer(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return Store().with_config(tags=["t"]).invoke(query)[1:]

    return Outer() | joined | Model()


def dark() -> Any:
    """A chain with a retriever, and a tool that returns a text of unknown content."""

    @tool
    def wiki(query: str) -> str:
        """Look something up."""
        return "Text from somewhere else that nobody has seen before. " * 4

    def run(question: str) -> str:
        found = joined(Store(letters="a").invoke(question))
        return Model().invoke(f"{found} {wiki.invoke({'query': question})}").content

    return RunnableLambda(run)


def handing_over() -> Any:
    """A graph whose subgraph passes its documents to a node of the outer graph."""

    def retrieve(state: Any) -> Any:
        found = Store().invoke(state["question"])[:2]
        return Command(graph=Command.PARENT, goto="grade", update={"documents": found})

    outer = StateGraph(State)
    outer.add_node("search", graph(("retrieve", retrieve)), destinations=("grade",))
    outer.add_node("grade", lambda state: {"documents": state["documents"][1:]})
    outer.add_node("generate", generate)
    outer.add_edge(START, "search")
    outer.add_edge("grade", "generate")
    outer.add_edge("generate", END)
    return outer.compile()


def waiting() -> Any:
    """A graph that waits for a human to say how many documents are good."""
    steps = graph(
        ("retrieve", retrieving),
        ("ask", asking),
        ("generate", generate),
        checkpointer=InMemorySaver(),
    )

    def run(question: str) -> str:
        config: Any = {"configurable": {"thread_id": "1"}}
        return str(steps.invoke({"question": question}, config).get("answer", "waiting"))

    return RunnableLambda(run)


SHAPES: dict[str, tuple[Callable[[], Any], list[str] | None]] = {
    "retrieve, grade, generate": (grading, ["a"]),
    "a graph that answers": (answering_graph, ["a"]),
    "fusion below a parallel": (fused, ["c", "a"]),
    "fallback for a failed reranker": (failing_rerank, ["d", "e"]),
    "gather beside a fallback": (gathered, None),
    "two stores, one down": (two_stores, None),
    "compressor with new IDs": (compressed, ["c"]),
    "ensemble": (merged, ["b", "a"]),
    "tool that raises": (calling_tool(ValueError, handled=False), None),
    "handled ToolException": (calling_tool(ToolException, handled=True), None),
    "handled without a word": (calling_tool(ToolException, handled=lambda error: ""), None),
    "tool that swallows": (calling_tool(None, handled=False, swallow=True), None),
    "retriever with a configured part": (configured, ["b", "c"]),
    "dark tool": (dark, None),
    "handed to the outer graph": (handing_over, ["b"]),
    "undecided yet": (waiting, ["a", "b", "c"]),
    "resumed in the retrieving node": (resumed(("retrieve", retrieving_and_asking)), ["a", "b"]),
    "resumed in a subgraph": (
        resumed(("inner", graph(("retrieve", retrieving), ("ask", asking)))),
        ["a", "b"],
    ),
    "sorted in place": (sorted_in_place, ["a", "b", "c"]),
    "cut in place": (cut_in_place, ["a"]),
    "past the record": (past_the_record, ["b"]),
    "past the record, unread": (past_the_record_unread, None),
    "nothing left": (nothing_left, []),
}

SILENT = {
    # A stored run does not show which object was returned, nor always which step called which.
    "stored": {
        "retriever with a configured part",
        "fallback for a failed reranker",
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_one_right_number_on_every_path(shape: str, client: Client) -> None:
    """Every path gives the right number: direct, awaited, threads, streams, and stored runs."""
    make, expected = SHAPES[shape]
    for path, ids in paths(make, client):
        if ids is None and shape in SILENT.get(path, ()):
            continue
        assert ids == expected, path


@pytest.mark.parametrize(
    ("said", "expected"), [("No.", ["a", "b"]), ("Only c0xc is left, which I keep.", None)]
)
def test_a_search_that_a_human_refuses_retrieves_nothing(
    said: str, expected: list[str] | None
) -> None:
    """A tool searches, asks a human and returns a text: its documents count if a word is theirs."""

    @tool
    def search(query: str) -> str:
        """Search, and show the documents if a human says yes."""
        found = joined(Store(letters="cd").invoke(query))
        return found if interrupt(query) else said

    steps = graph(
        ("retrieve", lambda state: {"documents": Store(letters="ab").invoke(state["question"])}),
        ("search", lambda state: {"answer": search.invoke({"query": state["question"]})}),
        ("generate", generate),
        checkpointer=InMemorySaver(),
    )

    def run(question: str) -> str:
        config: Any = {"configurable": {"thread_id": str(uuid4())}}
        steps.invoke({"question": question}, config)
        return str(steps.invoke(Command(resume=False), config)["answer"])

    found = observed(RunnableLambda(run)).retrieve(Sample(user_input="q"))
    assert shapes.ids_of(found) == expected
    assert expected or found.error is not None


def test_a_retriever_that_cuts_by_itself() -> None:
    """The list that a retriever returns counts, not the one that its callbacks received."""
    found = observed(Cutting()).retrieve(Sample(user_input="q"))
    assert shapes.ids_of(found) == ["c"]


@pytest.mark.parametrize(
    "shape", ["retrieve, grade, generate", "fusion below a parallel", "ensemble"]
)
def test_garbage_and_threads_change_nothing(shape: str, runs: int) -> None:
    """Garbage collection and threads change no number."""
    import gc
    from concurrent.futures import ThreadPoolExecutor

    make, expected = SHAPES[shape]

    def once(number: int) -> Any:
        found = observed(make()).retrieve(Sample(user_input="q"))
        if random.Random(number).random() < 0.2:
            gc.collect(0)
        return shapes.ids_of(found)

    with ThreadPoolExecutor(8) as pool:
        assert set(map(tuple, pool.map(once, range(runs)))) == {tuple(expected or ())}


def yielding(question: str) -> Iterator[Document]:
    """Yield two of three documents, one by one."""
    yield from Store().invoke(question)[:2]


async def yielding_later(question: str) -> AsyncIterator[Document]:
    """Yield two of three documents, one by one."""
    for document in (await Store().ainvoke(question))[:2]:
        yield document


def answering_in_parts(question: str) -> Iterator[str]:
    """Answer in pieces, from the retrieved documents."""
    Store().invoke(question)
    yield from ("An ", "answer.")


@pytest.mark.parametrize(
    ("function", "ids", "answer"),
    [
        (yielding, ["a", "b"], None),
        (yielding_later, ["a", "b"], None),
        (answering_in_parts, ["a", "b", "c"], "An answer."),
    ],
)
def test_documents_of_a_generator_are_read(
    function: Callable[[str], Any], ids: list[str], answer: str | None
) -> None:
    """All documents that a generator yields are read, or its text, though LangChain keeps one."""
    asked, sample = observed(function), Sample(user_input="q")
    seen = [asyncio.run(asked.aretrieve(sample))]
    if not asked.asynchronous:
        seen.append(asked.retrieve(sample))
    for retrieval in seen:
        assert [context.id for context in retrieval.contexts or ()] == ids
        assert (retrieval.response, retrieval.error) == (answer, None)
