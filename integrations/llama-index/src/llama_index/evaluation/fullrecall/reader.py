"""Read LlamaIndex's values: nodes, messages, responses, tool outputs and events."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from copy import copy
from hashlib import sha256
from typing import Any, NamedTuple

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.schema import BaseComponent, BaseNode, NodeWithScore, QueryBundle
from llama_index.core.tools import ToolOutput
from llama_index.core.workflow import Context, Event, StopEvent, Workflow

from fullrecall.observe import Contents, DocumentCopy, ValueReader
from fullrecall.observe.step import copied
from fullrecall.observe.values import Fields, are_equal
from llama_index.evaluation.fullrecall.nodes import NodeLike, content_of, node_and_score
from llama_index.evaluation.fullrecall.responses import (
    is_response,
    response_text,
    says_that_nothing_was_retrieved,
)


class NodeCopy(NamedTuple):
    """A node as it was at one event: its score, text and metadata, and all fields of the object.

    `node` makes a new node on request: making one costs more than the retrieval, and few readers
    need it.
    """

    original: BaseNode
    score: float | None
    content: str
    metadata: dict[str, Any]
    fields: dict[str, Any]

    @classmethod
    def of(cls, node: BaseNode, score: float | None, content: str | None = None) -> NodeCopy:
        """Return a copy of a node, whose text without metadata is `content`."""
        fields = {**vars(node)}
        metadata = fields["metadata"] = {**node.metadata}
        fields["relationships"] = {**node.relationships}
        text = content_of(node) if content is None else content
        return cls._make((node, score, text, metadata, fields))

    @property
    def node(self) -> BaseNode:
        """A new node with these fields, independent of the original."""
        own = copy(self.original)
        vars(own).clear()
        vars(own).update(self.fields)
        if content_of(own) != self.content:
            # The text is in an inner object, which was changed after the node was copied.
            own.set_content(self.content)
        return own


class NodeValueReader(ValueReader):
    """Reads LlamaIndex's values and copies their nodes.

    Copies have `node_id` as their ID; the user's `id_key` is applied when the record is made from
    them. `answers` has the engines' answers, with the source nodes of each: a node with the text of
    an answer is not a document. `first_copies` has the first node of each text.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, Sequence[NodeWithScore]] = {}
        self.first_copies: dict[str, DocumentCopy] = {}

    def read(self, value: object) -> Contents:
        """Return the documents and texts in a value.

        Of a response, these are the source nodes and the response text; of a tool's output, the
        documents in `raw_output` and the text of `content`.
        """
        if type(value) in (str, list, dict):
            return super().read(value)
        if isinstance(value, StopEvent) and is_response(value.result):
            return self.read(value.result)
        if isinstance(value, ToolOutput):
            return Contents(self.read(value.raw_output).lists, super().read(value.content).texts)
        if not is_response(value):
            return super().read(value)
        texts = super().read(response_text(value)).texts
        nodes = value.source_nodes
        # An empty list proves nothing: an engine that does not report sources has one, too.
        if not nodes and not says_that_nothing_was_retrieved(value):
            return Contents((), texts)
        return Contents(super().read(list(nodes)).lists, texts)

    def result_of(self, output: Any) -> Any:
        """Return the raw output of a tool."""
        return output.raw_output if isinstance(output, ToolOutput) else output

    def listed(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return the items of a list; an answer among other nodes is replaced by its source nodes.

        If all items are answers, the list is returned unchanged.
        """
        sources = [self._sources(item) for item in items] if self.answers else []
        if not any(sources) or all(sources):
            return items
        known = {each.node_id for each in items if isinstance(each, NodeWithScore)}
        listed: list[Any] = []
        for item, own in zip(items, sources, strict=True):
            new = [each for each in own if each.node_id not in known]
            known.update(each.node_id for each in new)
            listed += new or [item]
        return listed

    def _sources(self, item: object) -> Sequence[NodeWithScore]:
        if not isinstance(item, NodeWithScore) or self.document(item) is not None:
            return ()
        text = content_of(item.node).strip()
        return self.answers.get(text) or self.answers.get(_COMPOSED.sub("", text), ())

    def document(self, value: Any) -> DocumentCopy | None:
        """Return a copy of a node, scored or not; None if it is not a document (`is_document`)."""
        node, score = node_and_score(value)
        if not isinstance(node, BaseNode):
            return None
        content = content_of(node)
        text = _text(node, content)
        if not is_document(node, text, self.answers):
            return None
        own_id = None if _is_numbered(content) else node.node_id
        copy = copied((id(value), own_id, text, NodeCopy.of(node, score, content)))
        self.first_copies.setdefault(text, copy)
        return copy

    def is_unchanged(self, value: Any, copy: DocumentCopy) -> bool:
        """Return whether a node still has the copied text, ID, metadata and score."""
        own = copy.detail
        if not isinstance(own, NodeCopy):
            return super().is_unchanged(value, copy)
        node, score = node_and_score(value)
        return (
            _text(node, content_of(node)) == copy.text
            and (copy.id is None or node.node_id == copy.id)
            and (node is value or score == own.score)
            and are_equal(node.metadata, own.metadata)
        )

    def message(self, value: Any) -> Fields | None:
        """Return the text of a chat message."""
        return (("content", value.content or ""),) if isinstance(value, ChatMessage) else None

    def opened(self, value: Any) -> Fields | None:
        """Return the fields of a response, tool output, event or question.

        Nodes, components, memories and workflows have no fields to open.
        """
        if is_response(value):
            return (("response", response_text(value)), ("source_nodes", value.source_nodes))
        if isinstance(value, ToolOutput):
            return (("raw_output", value.raw_output), ("content", value.content))
        if isinstance(value, Event):
            return _event_fields(value)
        if isinstance(value, QueryBundle):
            return (("query_str", value.query_str),)
        # Documents were read before. Any other node, such as a tool, has no fields to open.
        closed = (BaseNode, NodeWithScore, BaseComponent, BaseMemory, Workflow, Context)
        return () if isinstance(value, closed) else None


def _event_fields(event: Event) -> Fields:
    fields = {name: getattr(event, name, None) for name in type(event).model_fields}
    fields |= {name: value for name, value in event.items() if name not in fields}
    result = getattr(event, "result", None)
    return {**fields, "result": result}.items() if result is not None else fields.items()


_NUMBER = re.compile(r"\ASource \d+:\n")
"""The number that `CitationQueryEngine` puts before each of its sources."""


def _is_numbered(content: str) -> bool:
    """Return whether a citation engine numbered a text; its node then has a new ID."""
    return content.startswith("Source ") and _NUMBER.match(content) is not None


def _text(node: BaseNode, content: str) -> str:
    """Return a node's text without its citation number; without a text, its picture's hash."""
    if _is_numbered(content):
        content = _NUMBER.sub("", content).strip()
    return content or _picture(node)


def _picture(node: BaseNode) -> str:
    """Return a hash of a picture's data, path or address; "" for a node without a picture."""
    fields = vars(node)
    resource = fields.get("image_resource")
    parts = [getattr(resource, name, None) for name in ("data", "path", "url")]
    parts += [fields.get(name) for name in ("image", "image_path", "image_url")]
    part = next((each for each in parts if each), None)
    if part is None:
        return ""
    data = part if isinstance(part, bytes) else str(part).encode()
    return f"picture {sha256(data).hexdigest()}"


def has_number_and_new_id(item: NodeLike) -> bool:
    """Return whether a citation engine made a node; its ID is then not that of its source."""
    node, _ = node_and_score(item)
    return _is_numbered(content_of(node)) and _MADE.fullmatch(node.node_id) is not None


def documents_among(nodes: Iterable[NodeLike]) -> list[NodeLike]:
    """Return the nodes that are documents."""
    reader = NodeValueReader()
    return [each for each in nodes if reader.document(each) is not None]


_COMPOSED = re.compile(
    r"\A\s*+(Sub question: .*\nResponse: |Question: .*\nAnswer: |Query: .*\nResponse: )", re.DOTALL
)
"""The beginning of a node that an engine makes of its answer to a part of the question."""


def is_document(node: BaseNode, text: str, answers: Container[str] = ()) -> bool:
    """Return whether a node is a document, not a tool, message, answer or row of a database.

    `answers` has the engines' known answers, which are not documents.
    """
    if is_text_of_object(node, text) or {"sql_query", "result"} <= node.metadata.keys():
        return False
    if not _MADE.fullmatch(node.node_id) or node.ref_doc_id is not None:
        return True
    return text.strip() not in answers and not is_composed(text)


def is_composed(text: str) -> bool:
    """Return whether an engine composed a text from a sub-question and its answer."""
    return _COMPOSED.match(text) is not None


def replaces_documents(item: NodeWithScore) -> bool:
    """Return whether a node was made by a recursive retriever in place of documents."""
    return is_composed(content_of(item.node)) and content_of(item.node).startswith("Query: ")


NO_DOCUMENTS = "the nodes are answers or rows of a database, not documents"


_MADE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""An ID that LlamaIndex generates for a node without one."""


def is_text_of_object(node: BaseNode, text: str) -> bool:
    """Return whether a node is LlamaIndex's form of a tool, an object or a chat message."""
    metadata = node.metadata
    name = metadata.get("name")
    if name is not None and text.startswith(f"Tool name: {name}\nTool description: "):
        return True
    if "session_id" in metadata and text.startswith("<message role='"):
        return True  # This is the form of VectorMemoryBlock.
    messages = metadata.get("sub_dicts")  # This is the form of VectorMemory.
    if isinstance(messages, list) and all(
        isinstance(each, Mapping) and "role" in each for each in messages
    ):
        return True
    # LlamaIndex indexes any other object as its text, with the hash of the text as the ID.
    return node.node_id == str(hash(text))
