"""The nodes that each of LlamaIndex's engines retrieves, and those that reach a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest
from known_engines import asked, finals
from known_engines import retrieved as retrieved_by
from known_steps import Answering, Asks, LastTwoFirst
from llama_index.core import SummaryIndex, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import AsyncStreamingResponse
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.indices.query.query_transform.base import StepDecomposeQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer, VectorMemory
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.objects import ObjectIndex
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    MultiStepQueryEngine,
    RetrieverQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool

from fullrecall import IdRecall
from fullrecall.samples import Call
from llama_index.evaluation.fullrecall import capture_retrievals
from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture, capture_in

TOWER = "Where in Paris does the Eiffel Tower stand?"
TOWER_IDS = ["place", "height", "capital"]
FRUIT = "What do bananas hold?"

Lists: TypeAlias = tuple[list[str], list[str]]


def ids(nodes: Sequence[NodeWithScore]) -> list[str]:
    """Return the IDs of nodes."""
    return [str(getattr(item, "id", None) or item.node.node_id) for item in nodes]


def lists(capture: LlamaIndexCapture | None) -> Lists:
    """Return the retrieved IDs, and the IDs that reached the model."""
    assert capture is not None
    return ids(retrieved_by(capture)), finals(capture)


def calls(capture: LlamaIndexCapture | None) -> str:
    """Return the record of a call: each list after its source, with the lists it was made of."""
    assert capture is not None
    return " + ".join(map(tree, capture.retrieval().calls))


def tree(call: Call) -> str:
    """Return one call as text, `Rerank: b a (Search: a b c)`."""
    source = call.source.replace("VectorIndexRetriever", "Vectors")
    found = call.error or " ".join(str(context.id) for context in call.contexts or ())
    parts = f" ({' + '.join(map(tree, call.children))})" if call.children else ""
    return f"{source}: {found}{parts}"


class LastTwoFirstAwaited(LastTwoFirst):
    """The same reranker with its own async method, as LLM rerankers have, which has no span."""

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        await asyncio.sleep(0)
        return nodes[::-1][:2]


@pytest.fixture
def towers(index: VectorStoreIndex) -> BaseRetriever:
    """Return a retriever of three nodes."""
    return index.as_retriever(similarity_top_k=3)


@pytest.fixture
def fruits(index: VectorStoreIndex) -> BaseRetriever:
    """Return a retriever of one node."""
    return index.as_retriever(similarity_top_k=1)


def engine_over(retriever: BaseRetriever, llm: Any, *postprocessors: Any) -> BaseQueryEngine:
    """Return an engine over a retriever, with postprocessors."""
    return RetrieverQueryEngine.from_args(
        retriever, llm=llm, node_postprocessors=list(postprocessors)
    )


def tools(towers: BaseRetriever, fruits: BaseRetriever, llm: Any) -> list[QueryEngineTool]:
    """Return two engines as tools, the first with a reranker."""
    return [
        QueryEngineTool.from_defaults(
            engine_over(towers, llm, LastTwoFirst()), name="towers", description="t"
        ),
        QueryEngineTool.from_defaults(engine_over(fruits, llm), name="fruits", description="f"),
    ]


def ask(
    engine: BaseQueryEngine, question: str, *, awaited: bool = False
) -> LlamaIndexCapture | None:
    """Return the capture that the response of an attached engine carries."""
    with capture_retrievals() as block:
        if awaited:
            response: Any = asyncio.run(engine.aquery(question))
        else:
            response = engine.query(question)
    capture = capture_in(response)
    assert capture is not None
    assert list(block.calls) == [capture]
    assert capture.question == question
    return capture


@pytest.mark.parametrize("awaited", [False, True], ids=["query", "aquery"])
@pytest.mark.parametrize("kind", ["compact", "no_text", "streaming"])
def test_retriever_engine(towers: BaseRetriever, llm: MockLLM, kind: str, *, awaited: bool) -> None:
    """Nodes before the postprocessor are the retrieved ones, and those after it the final ones."""
    synthesizer = get_response_synthesizer(llm=llm, streaming=kind == "streaming")
    engine = RetrieverQueryEngine(
        towers,
        NoText(llm=llm) if kind == "no_text" else synthesizer,
        node_postprocessors=[LastTwoFirst()],
    )
    capture = ask(engine, TOWER, awaited=awaited)
    assert lists(capture) == (TOWER_IDS, ["capital", "height"])
    assert calls(capture) == "LastTwoFirst: capital height (Vectors: place height capital)"


def test_a_stream_is_captured_before_its_first_word_and_not_read(
    towers: BaseRetriever, llm: MockLLM
) -> None:
    """A stream's capture is complete before its first word, and no token is consumed."""
    engine = RetrieverQueryEngine.from_args(towers, llm=llm, streaming=True)
    with capture_retrievals():
        response: Any = engine.query(TOWER)
        assert lists(capture_in(response)) == (TOWER_IDS, TOWER_IDS)
        assert "".join(response.response_gen).split() == ["text"] * 5

        async def read() -> list[str]:
            answer = await engine.aquery(TOWER)
            assert isinstance(answer, AsyncStreamingResponse)
            assert lists(capture_in(answer)) == (TOWER_IDS, TOWER_IDS)
            return "".join([word async for word in answer.async_response_gen()]).split()

        assert asyncio.run(read()) == ["text"] * 5


@pytest.mark.parametrize("awaited", [False, True], ids=["query", "aquery"])
def test_a_reranker_without_a_span_is_seen_by_what_the_model_got(
    towers: BaseRetriever, llm: MockLLM, *, awaited: bool
) -> None:
    """An async reranker has no span: the final list is right, and the stage is missing."""
    capture = ask(engine_over(towers, llm, LastTwoFirstAwaited()), TOWER, awaited=awaited)
    assert lists(capture) == (TOWER_IDS, ["capital", "height"])
    name = "CompactAndRefine" if awaited else "LastTwoFirstAwaited"
    assert calls(capture) == f"{name}: capital height (Vectors: place height capital)"


def test_a_sub_question_that_fails_leaves_the_others(towers: BaseRetriever, llm: MockLLM) -> None:
    """A failed sub-question, which the engine swallows, leaves the others scored, with a note."""

    class Fails(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise TimeoutError("no answer")

    engine = SubQuestionQueryEngine.from_defaults(
        tools(towers, Fails(), llm),
        question_gen=Asks(towers=TOWER, fruits=FRUIT),
        llm=llm,
        response_synthesizer=get_response_synthesizer(llm=llm),
        use_async=False,
        verbose=False,
    )
    capture = ask(engine, "q")
    assert lists(capture) == (TOWER_IDS, ["capital", "height"])
    assert capture is not None
    assert [each.error for each in asked(capture)] == [None, "TimeoutError: no answer"]
    assert capture.error is None


@pytest.mark.parametrize("awaited", [False, True], ids=["query", "aquery"])
def test_multi_step_engine(towers: BaseRetriever, llm: MockLLM, *, awaited: bool) -> None:
    """Each step retrieves for its own question, and the steps' answers are no contexts."""
    steps = iter([TOWER, FRUIT])
    engine = MultiStepQueryEngine(
        engine_over(towers, llm, LastTwoFirst()),
        StepDecomposeQueryTransform(llm=Answering(reply=lambda _: next(steps))),
        response_synthesizer=get_response_synthesizer(llm=llm),
        num_steps=2,
    )
    with capture_retrievals():
        response: Any = asyncio.run(engine.aquery("q")) if awaited else engine.query("q")
    assert "Question: " in response.source_nodes[0].text
    capture = capture_in(response)
    retrieved, final = lists(capture)
    assert retrieved[:3] == TOWER_IDS
    assert retrieved[3] == "banana"
    assert {"capital", "height"} <= set(final) <= set(retrieved)
    assert capture is not None
    assert [each.question for each in asked(capture)] == [TOWER, FRUIT]


@pytest.mark.parametrize("awaited", [False, True], ids=["query", "aquery"])
@pytest.mark.parametrize(
    "reranker", [None, LastTwoFirst(), LastTwoFirstAwaited()], ids=["none", "seen", "awaited"]
)
def test_citation_engine(
    towers: BaseRetriever, llm: MockLLM, reranker: Any, *, awaited: bool
) -> None:
    """Numbered sources, which have new IDs since 0.14.24, count as their nodes."""
    engine = CitationQueryEngine(
        towers,
        llm=llm,
        text_splitter=TokenTextSplitter(chunk_size=20, chunk_overlap=0),
        node_postprocessors=[] if reranker is None else [reranker],
    )
    with capture_retrievals():
        response: Any = asyncio.run(engine.aquery(TOWER)) if awaited else engine.query(TOWER)
    assert response.source_nodes[0].text.startswith("Source 1:\n")
    capture = capture_in(response)
    assert lists(capture) == (TOWER_IDS, TOWER_IDS if reranker is None else ["capital", "height"])
    assert capture is not None
    assert "Source" not in (capture.contexts() or ())[0].text


def test_index_nodes_with_objects(towers: BaseRetriever, llm: MockLLM) -> None:
    """An index over retrievers returns the nodes of the retriever that it found."""
    link = IndexNode(id_="link", text="towers", index_id="towers", obj=towers)
    retriever = SummaryIndex(objects=[link]).as_retriever()
    capture = ask(engine_over(retriever, llm), TOWER)
    assert lists(capture) == (TOWER_IDS, TOWER_IDS)
    assert calls(capture) == (
        "SummaryIndexRetriever: place height capital (Vectors: place height capital)"
    )


def test_sentence_windows(llm: MockLLM) -> None:
    """The sentence was retrieved, and its window reached the model, under one ID."""
    node = TextNode(id_="s", text="Sentence.", metadata={"window": "Before. Sentence. After."})
    engine = engine_over(
        SummaryIndex([node]).as_retriever(), llm, MetadataReplacementPostProcessor("window")
    )
    capture = ask(engine, "q")
    assert capture is not None
    assert [item.text for item in retrieved_by(capture)] == ["Sentence."]
    assert [item.text for item in capture.contexts() or ()] == ["Before. Sentence. After."]
    sample = capture.sample()
    assert sample.retrieved_contexts is not None
    assert sample.retrieved_contexts[0].text == "Before. Sentence. After."
    assert sample.at_stage("SummaryIndexRetriever").retrieved_contexts[0].text == "Sentence."  # type: ignore[index]


CHATS: dict[str, Callable[[Any, Any], Any]] = {
    "context": lambda retriever, llm: ContextChatEngine.from_defaults(
        retriever,
        llm=llm,
        memory=ChatMemoryBuffer.from_defaults(llm=llm),
        node_postprocessors=[LastTwoFirst()],
    ),
    "condense_plus_context": lambda retriever, llm: CondensePlusContextChatEngine.from_defaults(
        retriever,
        llm=llm,
        memory=ChatMemoryBuffer.from_defaults(llm=llm),
        node_postprocessors=[LastTwoFirst()],
    ),
    "condense_question": lambda retriever, llm: CondenseQuestionChatEngine.from_defaults(
        engine_over(retriever, llm, LastTwoFirst()),
        llm=llm,
        memory=ChatMemoryBuffer.from_defaults(llm=llm),
    ),
}


@pytest.mark.parametrize("way", ["chat", "stream_chat", "achat", "astream_chat"])
@pytest.mark.parametrize("name", CHATS)
def test_chat_engines(towers: BaseRetriever, name: str, way: str) -> None:
    """Each kind of chat engine has a capture, even if the question was condensed."""
    llm = Answering(reply=lambda prompt: TOWER if "tandalone" in prompt else "an answer")
    chat = CHATS[name](towers, llm)
    history = [
        ChatMessage(role="user", content="Paris?"),
        ChatMessage(role="assistant", content="!"),
    ]

    async def awaited() -> Any:
        response = await getattr(chat, way)("And the tower in Paris?", history)
        if way == "astream_chat":
            assert "".join([word async for word in response.async_response_gen()]) == "an answer"
        return response

    with capture_retrievals() as block:
        if way.startswith("a"):
            response = asyncio.run(awaited())
        else:
            response = getattr(chat, way)("And the tower in Paris?", history)
            if way == "stream_chat":
                assert "".join(response.response_gen) == "an answer"
    capture = capture_in(response)
    assert len(block.calls) == 1
    retrieved, final = lists(capture)
    assert final == retrieved[::-1][:2]
    assert capture is not None
    assert capture.question == "And the tower in Paris?"
    if name != "context":
        assert retrieved == TOWER_IDS
        assert [each.question for each in asked(capture)] == [TOWER]


# Retrievals of something else than contexts


def test_tools_that_a_fusion_looks_up_are_no_contexts(towers: BaseRetriever, llm: MockLLM) -> None:
    """Tools and candidates that a retriever of tools looks up are no contexts."""
    objects = ObjectIndex.from_objects(tools(towers, towers, llm), index_cls=SummaryIndex)
    fused = QueryFusionRetriever(
        [objects.as_node_retriever()], llm=llm, num_queries=1, use_async=True
    )
    with capture_retrievals() as capture:
        found = type(objects.as_retriever())(fused, objects.object_node_mapping).retrieve(TOWER)
        assert len(found) == 2
        towers.retrieve(TOWER)
    assert lists(capture) == (TOWER_IDS, TOWER_IDS)
    assert calls(capture) == "Vectors: place height capital"


@pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")
def test_earlier_messages_that_are_looked_up_are_no_contexts(
    index: VectorStoreIndex, llm: MockLLM
) -> None:
    """Messages that a memory's vector index retrieves are no contexts."""
    memory = VectorMemory.from_defaults(embed_model=index._embed_model)
    memory.put(ChatMessage(role="user", content="The Eiffel Tower stands where?"))
    chat = ContextChatEngine.from_defaults(
        index.as_retriever(similarity_top_k=3), llm=llm, memory=memory
    )
    with capture_retrievals():
        capture = capture_in(chat.chat(TOWER))
    assert lists(capture) == (TOWER_IDS, TOWER_IDS)
    assert capture is not None
    assert IdRecall().score(capture.sample({"expected_ids": TOWER_IDS})).score == 1.0
