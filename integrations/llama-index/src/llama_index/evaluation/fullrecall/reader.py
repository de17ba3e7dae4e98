"""What stands in LlamaIndex's values: nodes, messages, responses, tool outputs, events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.schema import BaseComponent, BaseNode, NodeWithScore, QueryBundle
from llama_index.core.tools import ToolOutput
from llama_index.core.workflow import Context, Event, Workflow

from fullrecall.observe import Contents, DocumentCopy, ValueReader
from fullrecall.observe.values import Fields, are_equal
from llama_index.evaluation.fullrecall.nodes import content_of
from llama_index.evaluation.fullrecall.responses import (
    is_response,
    response_text,
    says_that_nothing_was_retrieved,
)


class NodeCopy(NamedTuple):
    """A node as it was at one event, and its score."""

    node: BaseNode
    score: float | None


class NodeValueReader(ValueReader):
    """Copies nodes with `node_id` as their ID; `id_key` is applied to the record."""

    def read(self, value: object) -> Contents:
        """Return what stands in a value; a response, or a tool's output, is its nodes."""
        if type(value) in (str, list, dict):
            return super().read(value)
        if isinstance(value, ToolOutput):
            return Contents(self.read(value.raw_output).lists, super().read(value.content).texts)
        if not is_response(value):
            return super().read(value)
        texts = super().read(response_text(value)).texts
        nodes = value.source_nodes
        # An engine that names no sources has an empty list too.
        if not nodes and not says_that_nothing_was_retrieved(value):
            return Contents((), texts)
        return Contents(super().read(list(nodes)).lists, texts)

    def document(self, value: Any) -> DocumentCopy | None:
        """Return a node, scored or not, as a copy; what is looked up as a tool is none."""
        if isinstance(value, NodeWithScore):
            node, score = value.node, value.score
        elif isinstance(value, BaseNode):
            node, score = value, None
        else:
            return None
        content = content_of(node)
        text = _without_number(content)
        if stands_for_object(node, text):
            return None
        # A source that is numbered for citation has an ID of its own in some versions.
        own_id = node.node_id if text is content else None
        return DocumentCopy(0, own_id, text, NodeCopy(_copied(node), score))

    def is_unchanged(self, value: Any, copy: DocumentCopy) -> bool:
        """Return whether a node has the text, ID, metadata and score that were copied."""
        own = copy.detail
        if not isinstance(own, NodeCopy):
            return super().is_unchanged(value, copy)
        scored = isinstance(value, NodeWithScore)
        node = value.node if scored else value
        return (
            _text(node) == copy.text
            and (copy.id is None or node.node_id == copy.id)
            and (not scored or value.score == own.score)
            and are_equal(node.metadata, own.node.metadata)
        )

    def message(self, value: Any) -> Fields | None:
        """Return the text of a chat message."""
        return (("content", value.content or ""),) if isinstance(value, ChatMessage) else None

    def opened(self, value: Any) -> Fields | None:
        """Return what a response, a tool's output or an event holds; nothing of what acts."""
        if is_response(value):
            return (("response", response_text(value)), ("source_nodes", value.source_nodes))
        if isinstance(value, ToolOutput):
            return (("raw_output", value.raw_output), ("content", value.content))
        if isinstance(value, Event):
            return _event_fields(value)
        if isinstance(value, QueryBundle):
            return (("query_str", value.query_str),)
        # Nodes that stand for tools among them: others are documents.
        closed = (BaseNode, NodeWithScore, BaseComponent, BaseMemory, Workflow, Context)
        return () if isinstance(value, closed) else None


def _event_fields(event: Event) -> Fields:
    fields = {name: getattr(event, name, None) for name in type(event).model_fields}
    fields |= {name: value for name, value in event.items() if name not in fields}
    result = getattr(event, "result", None)
    return {**fields, "result": result}.items() if result is not None else fields.items()


_NUMBER = re.compile(r"\ASource \d+:\n")
"""What `CitationQueryEngine` puts before each of its sources."""


def _without_number(content: str) -> str:
    """Return the text of a source without its number; the very same text if it has none."""
    is_numbered = content.startswith("Source ") and _NUMBER.match(content)
    return _NUMBER.sub("", content).strip() if is_numbered else content


def _text(node: BaseNode) -> str:
    return _without_number(content_of(node))


def _copied(node: BaseNode) -> BaseNode:
    """Return a node whose fields later changes of the original do not reach."""
    fields = dict(vars(node))
    fields["metadata"] = dict(node.metadata)
    fields["relationships"] = dict(node.relationships)
    resource = fields.get("text_resource")
    if resource is not None:
        fields["text_resource"] = resource.model_copy()
    # What `model_copy` does, at a quarter of its cost, which each node that passes pays.
    own = type(node).__new__(type(node))
    extra, private, put = node.__pydantic_extra__, node.__pydantic_private__, object.__setattr__
    put(own, "__dict__", fields)
    put(own, "__pydantic_fields_set__", node.__pydantic_fields_set__.copy())
    put(own, "__pydantic_extra__", None if extra is None else extra.copy())
    put(own, "__pydantic_private__", None if private is None else private.copy())
    return own


def stand_for_objects(value: object) -> bool:
    """Return whether a value is a list of nodes that are no contexts."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(each, NodeWithScore) and stands_for_object(each.node, _text(each.node))
            for each in value
        )
    )


def stands_for_object(node: BaseNode, text: str) -> bool:
    """Return whether a node is LlamaIndex's form of a tool, an object or a chat message."""
    metadata = node.metadata
    name = metadata.get("name")
    if name is not None and text.startswith(f"Tool name: {name}\nTool description: "):
        return True
    if "session_id" in metadata and text.startswith("<message role='"):
        return True  # VectorMemoryBlock
    messages = metadata.get("sub_dicts")  # VectorMemory
    if isinstance(messages, list) and all(
        isinstance(each, Mapping) and "role" in each for each in messages
    ):
        return True
    # Any other object stands as its text, under the hash of that.
    return node.node_id == str(hash(text))
