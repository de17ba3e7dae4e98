"""The retrievers that people build, real ones, are read alike on every way through LangChain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
)
from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.stores import InMemoryStore
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example

from fullrecall import IdRecall
from fullrecall.measures import Recall
from langchain_fullrecall import RecallStringEvaluator, capture_retrievals

pytestmark = pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")

QUESTION = "The Seine flows through Paris."


class BM25(BaseRetriever):
    """Ranks by BM25, with the bm25s library; keeps what shares a word with the question."""

    documents: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        import bm25s

        texts = [document.page_content for document in self.documents]
        index = bm25s.BM25()
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        asked = bm25s.tokenize([query], show_progress=False)
        places, scores = index.retrieve(asked, k=len(texts), show_progress=False)
        return [
            self.documents[place]
            for place, score in zip(places[0], scores[0], strict=True)
            if score > 0
        ]


class Mentions(BaseDocumentCompressor):
    """Keeps the documents with a word, last first, without their IDs, as many rerankers do."""

    word: str

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return copies of the documents with the word."""
        kept = [document for document in documents if self.word in document.page_content]
        return [Document(d.page_content, metadata=d.metadata) for d in reversed(kept)]


def dense(documents: list[Document], store: InMemoryVectorStore) -> BaseRetriever:
    """Return a vector store's retriever of three documents."""
    return store.as_retriever(search_kwargs={"k": 3})


def bm25(documents: list[Document], store: InMemoryVectorStore) -> BaseRetriever:
    """Return a lexical retriever."""
    pytest.importorskip("bm25s", reason="bm25s is not installed: no BM25 to test")
    return BM25(documents=documents)


def ensemble(documents: list[Document], store: InMemoryVectorStore) -> BaseRetriever:
    """Return both, their lists merged."""
    return EnsembleRetriever(retrievers=[dense(documents, store), bm25(documents, store)])


def multi_query(documents: list[Document], store: InMemoryVectorStore) -> BaseRetriever:
    """Return a retriever that asks three questions in the place of one."""
    asks = "The Tiber flows through Rome.\nRome is the capital of Italy."
    model = GenericFakeChatModel(messages=iter([AIMessage(asks)] * 50))
    each = store.as_retriever(search_kwargs={"k": 1})
    return MultiQueryRetriever.from_llm(each, model, include_original=True)


def compression(documents: list[Document], store: InMemoryVectorStore) -> BaseRetriever:
    """Return a retriever behind a reranker."""
    return ContextualCompressionRetriever(
        base_compressor=Mentions(word="flows"), base_retriever=dense(documents, store)
    )


def parents(documents: list[Document], store: InMemoryVectorStore) -> BaseRetriever:
    """Return a retriever that searches in small chunks and brings their documents."""
    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(store.embeddings),
        docstore=InMemoryStore(),
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=20, chunk_overlap=0),
        search_kwargs={"k": 2},
    )
    retriever.add_documents(documents, ids=[str(document.id) for document in documents])
    return retriever


class Path(NamedTuple):
    """A retriever, where its IDs stand, and what it brings: whole, and in its parts."""

    make: Callable[[list[Document], InMemoryVectorStore], BaseRetriever]
    outermost: list[str]
    innermost: list[str]
    id_key: Any = None


PLACE = ("source", "page")
PATHS = {
    "in-memory vector store": Path(dense, ["d1", "d3", "d0"], ["d1", "d3", "d0"]),
    "BM25": Path(bm25, ["d1", "d3", "d0"], ["d1", "d3", "d0"]),
    "ensemble": Path(ensemble, ["d1", "d3", "d0"], ["d1", "d3", "d0"]),
    "multi-query": Path(multi_query, ["d3", "d2", "d1"], ["d3", "d2", "d1"]),
    "contextual compression": Path(compression, ["it:2", "fr:2"], ["fr:2", "it:2", "fr:1"], PLACE),
    "parent document": Path(parents, ["d1", "d3"], ["d1", "d3"]),
}


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Path:
    """Each of the retrievers."""
    return PATHS[request.param]


@pytest.fixture
def retriever(path: Path, documents: list[Document], store: InMemoryVectorStore) -> BaseRetriever:
    """The retriever of this path."""
    return path.make(documents, store)


def score(ids: list[str], references: list[str]) -> float | None:
    """Return the recall of these IDs without any framework."""
    result = IdRecall().score(retrieved_context_ids=ids, reference_context_ids=references)
    return result[Recall @ 2]


REFERENCES = ["d1", "d3", "d9", "fr:2", "it:1"]


def feedback_of(outcome: Any) -> Any:
    """Return the only feedback of an experiment's only row."""
    (row,) = outcome
    (feedback,) = row["evaluation_results"]["results"]
    return feedback


def test_it_is_captured(path: Path, retriever: BaseRetriever) -> None:
    """By callbacks, whole and in its parts, waiting and awaiting."""
    chain = RunnablePassthrough() | retriever | (lambda found: f"{len(found)} documents")
    for which, brought in (("outermost", path.outermost), ("innermost", path.innermost)):
        level: Any = which
        with capture_retrievals(id_key=path.id_key, which=level) as seen:
            chain.invoke(QUESTION)
        assert sorted(c.id or "" for c in seen.contexts() or ()) == sorted(brought)
        with capture_retrievals(id_key=path.id_key, which=level) as seen:
            asyncio.run(chain.ainvoke(QUESTION))
        assert sorted(c.id or "" for c in seen.contexts() or ()) == sorted(brought)
    with capture_retrievals(id_key=path.id_key) as seen:
        chain.invoke(QUESTION)
    # The parts of a composite may run in parallel: which of them comes first is no promise.
    assert [context.id for context in seen.contexts() or ()] == path.outermost


@pytest.mark.parametrize("kind", [RecallStringEvaluator])
def test_it_is_read_from_the_trace(
    kind: Any, path: Path, retriever: BaseRetriever, client: Client, example: Any
) -> None:
    """`evaluate` and `aevaluate`, whose targets return an answer only."""
    evaluator = kind(IdRecall(), Recall @ 2, id_key=path.id_key)
    row = example(QUESTION, reference_context_ids=REFERENCES)
    options: dict[str, Any] = {
        "data": [row], "evaluators": [evaluator], "client": client, "upload_results": False,
    }  # fmt: skip

    def target(inputs: dict[str, Any]) -> dict[str, str]:
        return {"answer": f"{len(retriever.invoke(inputs['question']))} documents"}

    async def atarget(inputs: dict[str, Any]) -> dict[str, str]:
        return {"answer": f"{len(await retriever.ainvoke(inputs['question']))} documents"}

    async def rows() -> list[Any]:
        return [found async for found in await aevaluate(atarget, **options)]

    expected = score(path.outermost, REFERENCES)
    assert expected
    assert feedback_of(evaluate(target, **options)).score == expected
    assert feedback_of(asyncio.run(rows())).score == expected


def test_it_is_read_from_what_is_returned(path: Path, retriever: BaseRetriever) -> None:
    """Handed over, or asked by the evaluator."""
    expected = score(path.outermost, REFERENCES)
    evaluator = RecallStringEvaluator(
        IdRecall(), Recall @ 2, id_key=path.id_key, retriever=retriever
    )
    arguments: dict[str, Any] = {"reference": REFERENCES, "input": QUESTION}
    found = retriever.invoke(QUESTION)
    assert evaluator.evaluate_strings(prediction=found, **arguments)["score"] == expected
    assert evaluator.evaluate_strings(**arguments)["score"] == expected
    asked = asyncio.run(evaluator.aevaluate_strings(**arguments))
    assert asked["score"] == expected


def test_a_stage_is_selected_in_a_trace(
    documents: list[Document], store: InMemoryVectorStore, client: Client, example: Any
) -> None:
    """By its name: what an ensemble's vector store brought, before it was merged."""
    retriever = ensemble(documents, store)
    row = example(QUESTION, reference_context_ids=["d1", "d3", "d9"])

    def recall(**fields: Any) -> Any:
        evaluator = RecallStringEvaluator(IdRecall(), **fields)
        target = RunnableLambda(lambda inputs: inputs["question"]) | retriever | len
        return feedback_of(
            evaluate(
                target.invoke,
                data=[row],
                evaluators=[evaluator],
                client=client,
                upload_results=False,
            )
        )

    assert recall(name="VectorStoreRetriever").comment.startswith("2 of 3 found in 3")
    missing = recall(name="Chroma")
    assert missing.score is None
    assert "no retriever is named 'Chroma'" in missing.comment
    assert "'EnsembleRetriever', 'VectorStoreRetriever', 'BM25'" in missing.comment


class TestAgent:
    """A LangGraph agent that searches twice through a tool, and then answers."""

    @pytest.fixture
    def agent(self, store: InMemoryVectorStore) -> Any:
        """The agent; its model is a script that starts anew with each conversation."""
        pytest.importorskip("langgraph", reason="langgraph is not installed: no agent to test")
        from langgraph.graph import END, START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode

        retriever = store.as_retriever(search_kwargs={"k": 1})
        tool = create_retriever_tool(retriever, "search", "Searches.")
        asks = ["The Seine flows through Paris.", "The Tiber flows through Rome."]

        def model(state: Any) -> dict[str, Any]:
            turn = len(state["messages"]) // 2
            if turn == len(asks):
                return {"messages": [AIMessage("Both do.")]}
            call: Any = {"name": "search", "args": {"query": asks[turn]}, "id": str(turn)}
            return {"messages": [AIMessage("", tool_calls=[call])]}

        def more(state: Any) -> str:
            return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END

        graph = StateGraph(MessagesState)
        graph.add_node("model", model)
        graph.add_node("tools", ToolNode([tool]))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", more)
        graph.add_edge("tools", "model")
        return graph.compile()

    ASKED = {"messages": [("user", "What flows through Paris and Rome?")]}  # noqa: RUF012

    def test_its_searches_are_read_from_the_trace(
        self, agent: Any, client: Client, example: Any
    ) -> None:
        """All of them."""
        evaluator = RecallStringEvaluator()
        row: Example = example("?", reference_context_ids=["d1", "d3"])
        options: dict[str, Any] = {
            "data": [row], "evaluators": [evaluator], "client": client, "upload_results": False,
        }  # fmt: skip

        def target(inputs: dict[str, Any]) -> dict[str, str]:
            return {"answer": agent.invoke(self.ASKED)["messages"][-1].content}

        async def atarget(inputs: dict[str, Any]) -> dict[str, str]:
            return {"answer": (await agent.ainvoke(self.ASKED))["messages"][-1].content}

        async def rows() -> list[Any]:
            return [found async for found in await aevaluate(atarget, **options)]

        assert feedback_of(evaluate(target, **options)).score == 1.0
        assert feedback_of(asyncio.run(rows())).score == 1.0

    def test_its_searches_are_captured(self, agent: Any) -> None:
        """Waiting, awaiting and streaming."""

        async def streamed() -> None:
            async for _ in agent.astream(self.ASKED):
                pass

        for ask in (
            lambda: agent.invoke(self.ASKED),
            lambda: list(agent.stream(self.ASKED)),
            lambda: asyncio.run(agent.ainvoke(self.ASKED)),
            lambda: asyncio.run(streamed()),
        ):
            with capture_retrievals() as seen:
                ask()
            assert [context.id for context in seen.contexts() or ()] == ["d1", "d3"]
