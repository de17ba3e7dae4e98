"""Chat engines, with and without a history."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.multi_modal_context import MultiModalContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_apps.application import chat
from llama_apps.parts import Finds, FindsFor, by_words, chat_model, model, node, picture

_HISTORY = [
    ChatMessage(role="user", content="What is on the island?"),
    ChatMessage(role="assistant", content="A lighthouse, and many birds."),
]


def _memory(*, told: bool = False) -> ChatMemoryBuffer:
    # The default memory is a database in a thread, which may outlive the test.
    return ChatMemoryBuffer.from_defaults(
        token_limit=9999, chat_history=list(_HISTORY) if told else []
    )


@chat(expects="tower fees", recall=0.0, first=0.0)
def context_chat_without_nodes() -> Any:
    """A chat engine's search finds no nodes."""
    return ContextChatEngine.from_defaults(retriever=Finds(""), llm=model(), memory=_memory())


_ALONE = "each question is observed in a conversation of its own, without this history"


@chat(
    expects="tower fees",
    recall=0.5,
    first=0.0,
    skips={"observed": _ALONE, "observed async": _ALONE},
)
def condensing_context_chat() -> Any:
    """A model condenses the history and the question into one, for a retriever."""
    search = FindsFor(granite="ferry tower", lighthouse="seals")
    return CondensePlusContextChatEngine.from_defaults(
        retriever=search, llm=by_words(standalone="Of granite?"), memory=_memory(told=True)
    )


@chat(expects="tower fees", recall=None, unscorable="the engine asks a model and no search")
def simple_chat() -> Any:
    """A chat engine without a search."""
    return SimpleChatEngine.from_defaults(llm=model(), memory=_memory())


class FindsPicture(BaseRetriever):
    """A retriever that returns a text and a picture."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = [node("tower"), picture("map")]
        return [NodeWithScore(node=each, score=1 / rank) for rank, each in enumerate(found, 1)]


@chat(expects="tower map", recall=1.0, first=0.5)
def chat_with_pictures() -> Any:
    """A chat whose model reads pictures."""
    return MultiModalContextChatEngine.from_defaults(
        retriever=FindsPicture(), multi_modal_llm=chat_model(), memory=_memory()
    )
