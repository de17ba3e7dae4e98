"""What retrievers find that is no context: tools, the engine to ask, earlier messages.

They are told apart by what they are: by the object that asks, where it is known, and by the form
in which LlamaIndex writes tools, objects and chat messages as nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from llama_index.core.objects import ObjectRetriever
from llama_index.core.query_engine import RetrieverRouterQueryEngine

from llama_index.evaluation.fullrecall.observation.snapshots import Snapshot


def choosers(instances: Iterable[Any]) -> frozenset[int]:
    """Return the identities of the retrievers that find tools, engines or other objects for these.

    That is by what an engine, an agent or a workflow holds, under whatever name.
    """
    found: list[Any] = []
    for instance in instances:
        fields = getattr(instance, "__dict__", {})
        if any(map(_finds_objects, set(map(type, fields.values())))):
            held = [value for value in fields.values() if isinstance(value, ObjectRetriever)]
            found += [one.retriever for one in held]
        kind: Any = type(instance)
        if _finds_an_engine(kind):
            found.append(fields.get("_retriever"))
    return frozenset(map(id, found))


@lru_cache(maxsize=4096)
def _finds_objects(kind: Any) -> bool:
    return issubclass(kind, ObjectRetriever)


@lru_cache(maxsize=4096)
def _finds_an_engine(kind: Any) -> bool:
    return issubclass(kind, RetrieverRouterQueryEngine)


def are_no_contexts(nodes: Sequence[Snapshot]) -> bool:
    """Return whether these are tools, objects or messages; an empty list may be of anything."""
    return bool(nodes) and all(_is_tool(one) or _is_message(one) for one in nodes)


def _is_tool(node: Snapshot) -> bool:
    name = node.metadata.get("name")
    if name is not None:
        return node.text.startswith(f"Tool name: {name}\nTool description: ")
    # Any other object stands as its text, under the hash of that.
    return node.id == str(hash(node.text))


def _is_message(node: Snapshot) -> bool:
    if "session_id" in node.metadata:  # VectorMemoryBlock
        return node.text.startswith("<message role='")
    messages = node.metadata.get("sub_dicts")  # VectorMemory
    return isinstance(messages, list) and all("role" in one for one in messages)
