"""The steps of a call that say something of what was retrieved, and copies of their nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeGuard

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import BaseNode, Node, NodeWithScore
from llama_index.core.tools.types import BaseTool


class Kind(StrEnum):
    """What a step does."""

    RETRIEVAL = "retrieval"
    POSTPROCESSING = "postprocessing"
    SYNTHESIS = "synthesis"
    ENGINE = "engine"
    TOOL = "tool"
    OTHER = "other"


_METHODS: tuple[tuple[type, frozenset[str], Kind], ...] = (
    (BaseRetriever, frozenset({"retrieve", "aretrieve"}), Kind.RETRIEVAL),
    (
        BaseNodePostprocessor,
        frozenset({"_postprocess_nodes", "_apostprocess_nodes"}),
        Kind.POSTPROCESSING,
    ),
    (BaseSynthesizer, frozenset({"synthesize", "asynthesize"}), Kind.SYNTHESIS),
    # A retrying engine calls the private methods of the engine that it retries.
    (BaseQueryEngine, frozenset({"query", "aquery", "_query", "_aquery"}), Kind.ENGINE),
    (BaseChatEngine, frozenset({"chat", "achat", "stream_chat", "astream_chat"}), Kind.ENGINE),
    (BaseTool, frozenset({"__call__", "call", "acall"}), Kind.TOOL),
)


class Nodes(NamedTuple):
    """Nodes as they were at one moment, and which objects held them then.

    `holders` are the identities of the `NodeWithScore` objects: two steps that run side by side
    may handle the same nodes, but never in the same objects.
    """

    items: tuple[NodeWithScore, ...]
    holders: frozenset[int]

    @property
    def ids(self) -> set[str]:
        """The IDs of the nodes themselves."""
        return {item.node.node_id for item in self.items}


@dataclass(slots=True, eq=False)
class Span:
    """One step of a call, and what is known of it.

    - `key`, `parent`: of the step itself, and of the one that it is part of.
    - `name`, `owner`: the class, and the identity, of the object whose step it is.
    - `given`, `handed`: the nodes that it got, and those that it handed on (an engine's source
      nodes); None where it has none of the kind, has not ended, or failed.
    - `answer`: the text that an engine returned. `cites`: whether the engine numbers its sources.
    - `selects`: whether it finds tools, engines or earlier messages, and no contexts.
    """

    kind: Kind
    key: str
    parent: str | None
    name: str
    owner: int
    question: str | None = None
    given: Nodes | None = None
    handed: Nodes | None = None
    answer: str | None = None
    error: str | None = None
    cites: bool = False
    selects: bool = False


def kind_of(key: str, instance: object) -> Kind:
    """Return what the span `key`, "Class.method-uuid", of `instance` does."""
    method = key.partition("-")[0].rpartition(".")[2]
    for base, methods, kind in _METHODS:
        if method in methods and isinstance(instance, base):
            return kind
    return Kind.OTHER


def is_attachable(thing: object) -> bool:
    """Return whether `thing` is a query engine, a chat engine or a retriever."""
    return isinstance(thing, (BaseQueryEngine, BaseChatEngine, BaseRetriever))


def is_node_list(value: object) -> TypeGuard[list[NodeWithScore] | tuple[NodeWithScore, ...]]:
    """Return whether `value` is a list of retrieved nodes, or an empty list."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(item, NodeWithScore) for item in value
    )


def copied(nodes: Iterable[NodeWithScore]) -> Nodes:
    """Return nodes as they are now: postprocessors rewrite them in place later on."""
    held = list(nodes)
    items = tuple(item.model_copy(update={"node": _copied(item.node)}) for item in held)
    return Nodes(items, frozenset(map(id, held)))


def _copied(node: BaseNode) -> BaseNode:
    # The embedding and the object of an index node are shared: large, and not what is judged.
    changed: dict[str, Any] = {
        "metadata": dict(node.metadata),
        "relationships": dict(node.relationships),
    }
    if isinstance(node, Node) and node.text_resource is not None:
        changed["text_resource"] = node.text_resource.model_copy()
    return node.model_copy(update=changed)
