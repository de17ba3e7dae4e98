"""Parts of the applications: a small collection, retrievers with known answers, mock models."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any
from zlib import crc32

from known_steps import Answering
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import (
    ImageNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.tools import QueryEngineTool

ANSWER = "It was finished in 1892, and admission costs four crowns."

TEXTS: dict[str, tuple[str, str]] = {
    "tower": (
        "building",
        "The lighthouse tower was finished in 1892 by the engineer Ada Brandt. It is of granite.",
    ),
    "lamp": (
        "building",
        "The lamp burned rapeseed oil until 1931. Since then a bulb turns every eight seconds.",
    ),
    "keeper": (
        "building",
        "The keeper's house has five rooms and a walled garden. The last keeper left it in 1974.",
    ),
    "fees": (
        "visit",
        "Admission costs four crowns for adults. Children under twelve may enter for free.",
    ),
    "ferry": (
        "visit",
        "The ferry to the island leaves at nine and at four. Bicycles travel at no extra charge.",
    ),
    "hours": (
        "visit",
        "Visitors may climb the stairs from ten until five. On Mondays the museum stays closed.",
    ),
    "puffins": (
        "nature",
        "Puffins nest on the northern cliffs from April to July. Rangers count them every spring.",
    ),
    "seals": (
        "nature",
        "Grey seals rest on the sandbanks at low tide. Boats must keep a distance of fifty meters.",
    ),
}
"""Node ID: the ID of its document, and its text."""


def node(name: str) -> TextNode:
    """Return a new node of the collection."""
    document, text = TEXTS[name]
    return TextNode(
        id_=name,
        text=text,
        metadata={"topic": document},
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
    )


def nodes(names: str) -> list[TextNode]:
    """Return new nodes of the collection, named in words."""
    return [node(name) for name in names.split()]


def scored(names: str) -> list[NodeWithScore]:
    """Return new nodes as a retriever returns them, best first."""
    return [
        NodeWithScore(node=each, score=1 / rank) for rank, each in enumerate(nodes(names), start=1)
    ]


ALL = " ".join(TEXTS)


def picture(name: str) -> ImageNode:
    """Return a new node of a picture, which has no text: its data identify it."""
    data = b64encode(b"\x89PNG\r\n\x1a\n" + name.encode()).decode()
    return ImageNode(id_=name, image=data, image_mimetype="image/png")


# Retrievers and indexes


READS_PICTURES = "multimodal" in signature(get_response_synthesizer).parameters
"""Whether this version of LlamaIndex hands pictures to models: 0.14.20 does not."""


class Finds(BaseRetriever):
    """A store that finds the same nodes for any question."""

    def __init__(self, names: str) -> None:
        self.names = names
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return scored(self.names)


class FindsFor(BaseRetriever):
    """A store with known results: the first known words in a question decide."""

    def __init__(self, **names: str) -> None:
        self.names = names
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        asked = query_bundle.query_str.lower()
        return scored(next((found for word, found in self.names.items() if word in asked), ""))


class Words(BaseEmbedding):
    """Embeddings that count hashed words of four letters or more."""

    def _get_text_embedding(self, text: str) -> list[float]:
        vector = [0.0] * 509
        for word in re.findall(r"\w{4,}", text.lower()):
            vector[crc32(word.encode()) % len(vector)] += 1.0
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def vector_index(of: Sequence[Any] | None = None, **fields: Any) -> VectorStoreIndex:
    """Return a vector index of nodes; by default, of the whole collection."""
    return VectorStoreIndex(nodes(ALL) if of is None else of, embed_model=Words(), **fields)


# Models


def model(reply: str | Callable[[str], str] = ANSWER, **fields: Any) -> Answering:
    """Return a model that completes any prompt by this text, or by this function of the prompt."""
    return Answering(reply=reply if callable(reply) else lambda _: reply, **fields)


def by_words(otherwise: str = ANSWER, **replies: str) -> Answering:
    """Return a model that replies by the first of these words that the prompt has."""

    def reply(prompt: str) -> str:
        return next((text for word, text in replies.items() if word in prompt.lower()), otherwise)

    return model(reply)


def calling(*turns: Iterable[tuple[str, dict[str, Any]]], answer: str = ANSWER) -> Any:
    """Return a model that calls these tools, turn by turn, and then answers."""

    def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        done = sum(message.role == MessageRole.TOOL for message in messages)
        for position, turn in enumerate(turns):
            calls = list(turn)
            if done == 0:
                blocks = [
                    ToolCallBlock(
                        tool_call_id=f"{position} {number}", tool_name=name, tool_kwargs=given
                    )
                    for number, (name, given) in enumerate(calls)
                ]
                return ChatMessage(role="assistant", blocks=[TextBlock(text=""), *blocks])
            done -= len(calls)
        return ChatMessage(role="assistant", content=answer)

    return MockFunctionCallingLLM(response_generator=reply, is_chat_model=True)


@contextmanager
def mock_settings() -> Iterator[None]:
    """Make LlamaIndex's `Settings` return mock models in the block."""
    before = Settings._llm, Settings._embed_model
    Settings._llm, Settings._embed_model = model(), Words()
    try:
        yield
    finally:
        Settings._llm, Settings._embed_model = before


# Engines


def engine_of(retriever: BaseRetriever, *postprocessors: Any, **fields: Any) -> Any:
    """Return an engine that answers from the nodes of a retriever."""
    return RetrieverQueryEngine.from_args(
        retriever, **{"llm": model(), **fields}, node_postprocessors=list(postprocessors)
    )


def tool_of(engine: Any, name: str) -> QueryEngineTool:
    """Return an engine as a tool."""
    return QueryEngineTool.from_defaults(engine, name=name, description=f"Knows about {name}.")


def answered(found: list[NodeWithScore], **fields: Any) -> Any:
    """Return the response that a synthesizer writes from nodes."""
    synthesizer = get_response_synthesizer(**{"llm": model(), **fields})
    return synthesizer.synthesize("a question", found)


def chat_model(answer: str = ANSWER) -> Any:
    """Return a chat model that calls no tool and gives this answer."""
    return calling(answer=answer)
