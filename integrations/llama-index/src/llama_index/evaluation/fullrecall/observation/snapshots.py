"""Nodes as they were at one moment: postprocessors rewrite them in place later on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from llama_index.core.schema import BaseNode, NodeWithScore


class Snapshot:
    """One node, its text, metadata, relationships and score copied.

    Its embedding, and the object of an index node, are shared: large, and not what is judged.
    `compared` reads, in one step, what a node must have unchanged to be the same as before, and
    `before` is what it read then.
    """

    __slots__ = ("_kind", "_private", "_resource", "_state", "before", "compared", "id", "score")

    def __init__(self, item: NodeWithScore) -> None:
        node = item.node
        state = node.__dict__.copy()
        state["metadata"] = state["metadata"].copy()
        state["relationships"] = state["relationships"].copy()
        resource = state.get("text_resource")
        self.id: str = state["id_"]
        self.score = item.score
        self._kind = type(node)
        self._state = state
        self._private = node.__pydantic_private__
        self._resource = None if resource is None else resource.model_copy()
        self.compared = _compared(self._kind)
        self.before = self.compared(state)
        if resource is not None:
            self.before = (*self.before[:-1], self._resource)

    def item(self) -> NodeWithScore:
        """Return a new node, as it was."""
        state = dict(self._state)
        state["metadata"] = dict(state["metadata"])
        if self._resource is not None:
            state["text_resource"] = self._resource.model_copy()
        node: BaseNode = self._kind.__new__(self._kind)
        # As pydantic copies a model, without the cost of validating it again.
        for name, value in (
            ("__dict__", state),
            ("__pydantic_fields_set__", set(state)),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", self._private),
        ):
            object.__setattr__(node, name, value)
        return NodeWithScore(node=node, score=self.score)

    @property
    def text(self) -> str:
        """The text, without metadata."""
        text = self._state.get("text")
        return text if isinstance(text, str) else self.item().get_content()

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata."""
        metadata: dict[str, Any] = self._state["metadata"]
        return metadata


@lru_cache(maxsize=256)
def _compared(kind: type[BaseNode]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    fields = kind.model_fields
    content = [name for name in ("text", "text_resource") if name in fields]
    return itemgetter("id_", "metadata", "relationships", *content)


Known: TypeAlias = dict[int, tuple[NodeWithScore, BaseNode, Snapshot]]
"""The objects that a recording holds, by identity, with what they were when last seen.

An object that is held cannot give its identity to another one.
"""


class Nodes(NamedTuple):
    """A list of nodes as it was at one moment, and the objects that it held then.

    `objects`, the identities of what is `held`, keep two steps apart that run side by side: they
    may handle the same nodes, but never in the same objects. Both are emptied once nothing
    compares objects any more.
    """

    items: tuple[Snapshot, ...]
    objects: tuple[int, ...] = ()
    held: tuple[NodeWithScore, ...] = ()

    @classmethod
    def of(cls, nodes: Iterable[NodeWithScore], known: Known) -> Nodes:
        """Return the nodes as they are now; those that did not change since are not copied."""
        held = tuple(nodes)
        objects = tuple(map(id, held))
        items = []
        for own, item in zip(objects, held, strict=True):  # most of what a capture costs
            seen = known.get(own)
            if (
                seen is None
                or seen[1] is not item.node
                or seen[2].score != item.score
                or seen[2].before != seen[2].compared(seen[1].__dict__)
            ):
                seen = known[own] = (item, item.node, Snapshot(item))
            items.append(seen[2])
        return cls(tuple(items), objects, held)

    @property
    def ids(self) -> set[str]:
        """The IDs of the nodes."""
        return {item.id for item in self.items}

    @property
    def sequence(self) -> list[str]:
        """The IDs of the nodes in their order."""
        return [item.id for item in self.items]


def is_node_list(value: object) -> TypeGuard[list[NodeWithScore] | tuple[NodeWithScore, ...]]:
    """Return whether `value` is a list of retrieved nodes, or an empty list."""
    return isinstance(value, (list, tuple)) and all(
        issubclass(kind, NodeWithScore) for kind in set(map(type, value))
    )
