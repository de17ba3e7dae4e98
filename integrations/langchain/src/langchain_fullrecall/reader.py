"""Read LangChain's values: documents, messages, prompts, commands and tools' artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import getsizeof
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from fullrecall.observe import DocumentCopy, ValueReader
from fullrecall.observe.messages import text_of
from fullrecall.observe.values import COPY, Fields, are_equal
from langchain_fullrecall.documents import Original, is_document, parts_of

_NO_PLACE: dict[str, Any] = {}
_make: Any = tuple.__new__
"""Make a named tuple at half the cost of its class, once for each document read."""


class LangChainReader(ValueReader):
    """Copies documents with `Document.id` as their ID; `id_key` is applied to the record."""

    def document(self, value: Any) -> DocumentCopy | None:
        """Return a `Document`, or one that was dumped to a mapping, as a copy."""
        if isinstance(value, Document):
            metadata = dict(value.metadata)
            own_id = None if value.id is None else str(value.id)
            return DocumentCopy(0, own_id, value.page_content, Original(own_id, None, metadata, {}))
        if not (isinstance(value, Mapping) and is_document(value)):
            return None
        text, given_id, score, metadata, span = parts_of(value)
        own_id = None if given_id is None else str(given_id)
        return DocumentCopy(0, own_id, text or "", Original(given_id, score, metadata, span))

    def copies(self, items: Sequence[Any]) -> list[DocumentCopy | None]:
        """Return documents as copies; an unchanged document keeps its earlier copy."""
        if set(map(type, items)) != {Document}:
            return super().copies(items)
        known, size = self._copies, 0
        copied: list[DocumentCopy | None] = []
        for document in items:
            token, text = id(document), document.page_content
            own_id, metadata = document.id, document.metadata
            earlier = known.get(token)
            if earlier is not None:
                _, _, old_text, (old_id, _, old_metadata, _) = copy = earlier[1]
                if text is old_text and own_id == old_id and are_equal(metadata, old_metadata):
                    copied.append(copy)
                    continue
            detail = _make(Original, (own_id, None, dict(metadata), _NO_PLACE))
            copy = _make(DocumentCopy, (token, own_id, text, detail))
            known[token] = document, copy
            size += COPY + getsizeof(text)
            copied.append(copy)
        self.spend(size)
        return copied

    def message(self, value: Any) -> Fields | None:
        """Return the text of a message, and the artifact of a tool's message."""
        if not isinstance(value, BaseMessage):
            return None
        text = text_of(value.content)
        if not isinstance(value, ToolMessage):
            return (("content", text),)
        return (("content", text), ("artifact", value.artifact))

    def opened(self, value: Any) -> Fields | None:
        """Return the messages of a prompt, or the state that a command writes or sends.

        Runnables, models and vector stores are not data: they have no fields.
        """
        if isinstance(value, PromptValue):
            return (("messages", value.to_messages()),)
        if isinstance(value, (Runnable, BaseLanguageModel, VectorStore)):
            return ()
        if type(value).__module__.startswith("langgraph."):
            return _graph_state(value)
        return None


def _graph_state(value: Any) -> Fields:
    """Return the state that a `Command` or `Send` holds, by its keys; any other value is empty."""
    state = getattr(value, "update", None) or getattr(value, "arg", None)
    if callable(state) or state is None:
        return ()
    if isinstance(state, Mapping):
        return state.items()
    return (("update", state),)


_COMMAND_FIELDS = frozenset({"graph", "update", "resume", "goto"})


def stored_update(output: Any) -> Any:
    """Return the state that a stored `Command` writes, and any other output unchanged."""
    is_command = isinstance(output, Mapping) and output.keys() == _COMMAND_FIELDS
    return output["update"] if is_command else output
