"""Read LangChain's values: documents, messages, prompts, commands and tools' artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from fullrecall.observe import DocumentCopy, ValueReader
from fullrecall.observe.messages import text_of
from fullrecall.observe.step import copied
from fullrecall.observe.values import Fields, are_equal
from langchain_fullrecall.documents import Original, is_document, parts_of


class LangChainReader(ValueReader):
    """Copies documents with `Document.id` as their ID; `id_key` is applied to the copies later."""

    def document(self, value: Any) -> DocumentCopy | None:
        """Return a copy of a `Document`, or of one that was dumped to a mapping; otherwise None."""
        if isinstance(value, Document):
            own_id = None if value.id is None else str(value.id)
            original = Original(own_id, metadata=dict(value.metadata))
            return copied((id(value), own_id, value.page_content, original))
        if not (isinstance(value, Mapping) and is_document(value)):
            return None
        text, own = parts_of(value)
        return DocumentCopy(id(value), None if own.id is None else str(own.id), text or "", own)

    def is_unchanged(self, value: Any, copy: DocumentCopy) -> bool:
        """Return whether a document still has the copied text, ID and metadata."""
        own = copy.detail
        return super().is_unchanged(value, copy) and (
            not (isinstance(value, Document) and isinstance(own, Original))
            or are_equal(value.metadata, own.metadata)
        )

    def message(self, value: Any) -> Fields | None:
        """Return the text of a message, and a tool's artifact; None for any other value."""
        if not isinstance(value, BaseMessage):
            return None
        text = text_of(value.content)
        if not isinstance(value, ToolMessage):
            return (("content", text),)
        return (("content", text), ("artifact", value.artifact))

    def opened(self, value: Any) -> Fields | None:
        """Return the messages of a prompt, or the state that a command writes or sends.

        Runnables, models and vector stores are not data: they have no fields. Returns None for any
        other value.
        """
        if isinstance(value, PromptValue):
            return (("messages", value.to_messages()),)
        if isinstance(value, (Runnable, BaseLanguageModel, VectorStore)):
            return ()
        if type(value).__module__.startswith("langgraph."):
            return _graph_state(value)
        return None


def _graph_state(value: Any) -> Fields:
    """Return the state in a `Command` or a `Send`, by key; () for any other value."""
    state = getattr(value, "update", None) or getattr(value, "arg", None)
    if callable(state) or state is None:
        return ()
    if isinstance(state, Mapping):
        return state.items()
    return (("update", state),)
