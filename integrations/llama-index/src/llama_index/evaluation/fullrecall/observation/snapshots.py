"""Nodes as they were at one moment: postprocessors rewrite them in place later on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from llama_index.core.schema import BaseNode, NodeWithScore


class Snapshot:
    """One node, its text, metadata, relationships and score copied.

    Its embedding, and the object of an index node, are shared: large, and not what is judged.
    """

    __slots__ = ("_kind", "_private", "_resource", "_state", "id", "score")

    def __init__(self, item: NodeWithScore) -> None:
        node = item.node
        state = dict(node.__dict__)
        state["metadata"] = dict(state["metadata"])
        state["relationships"] = dict(state["relationships"])
        resource = state.get("text_resource")
        self.id = node.node_id
        self.score = item.score
        self._kind = type(node)
        self._state = state
        self._private = node.__pydantic_private__
        self._resource = None if resource is None else resource.model_copy()

    def is_of(self, item: NodeWithScore) -> bool:
        """Return whether a node has not changed since."""
        now, then = item.node.__dict__, self._state
        return (
            item.score == self.score
            and now["metadata"] == then["metadata"]
            and now["id_"] == then["id_"]
            and now.get("text") == then.get("text")
            and (self._resource is None or now["text_resource"] == self._resource)
        )

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


Known: TypeAlias = dict[int, tuple[NodeWithScore, BaseNode, Snapshot]]
"""The objects that a recording holds, by identity, with what they were when last seen.

An object that is held cannot give its identity to another one.
"""


class Nodes(NamedTuple):
    """A list of nodes as it was at one moment, and the objects that it held then.

    `held` keeps two steps apart that run side by side: they may handle the same nodes, but never
    in the same objects. It is emptied once nothing compares objects any more.
    """

    items: tuple[Snapshot, ...]
    held: tuple[NodeWithScore, ...] = ()

    @classmethod
    def of(cls, nodes: Iterable[NodeWithScore], known: Known) -> Nodes:
        """Return the nodes as they are now; those that did not change since are not copied."""
        held = tuple(nodes)
        items = []
        for item in held:  # one loop without calls but `is_of`: it is most of what a capture costs
            seen = known.get(id(item))
            if seen is None or seen[1] is not item.node or not seen[2].is_of(item):
                seen = known[id(item)] = (item, item.node, Snapshot(item))
            items.append(seen[2])
        return cls(tuple(items), held)

    @property
    def ids(self) -> set[str]:
        """The IDs of the nodes."""
        return {item.id for item in self.items}

    @property
    def sequence(self) -> list[str]:
        """The IDs of the nodes in their order."""
        return [item.id for item in self.items]

    @property
    def objects(self) -> set[int]:
        """The identities of the objects that are held."""
        return set(map(id, self.held))


def is_node_list(value: object) -> TypeGuard[list[NodeWithScore] | tuple[NodeWithScore, ...]]:
    """Return whether `value` is a list of retrieved nodes, or an empty list."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(item, NodeWithScore) for item in value
    )
