"""Nodes as they were at one moment: postprocessors rewrite them in place later on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from llama_index.core.schema import BaseNode, NodeWithScore

_STATE, _PRIVATE = attrgetter("__dict__"), attrgetter("__pydantic_private__")
_NODE, _SCORE = itemgetter("node"), itemgetter("score")
_RESOURCE = "text_resource"

_State: TypeAlias = dict[str, Any]
_Content: TypeAlias = tuple[Any, ...]
"""What of a node must be unchanged for it to be the same as before; compared by value."""

_Columns: TypeAlias = tuple[tuple[BaseNode, ...], tuple[float | None, ...], tuple[_Content, ...]]
_Row: TypeAlias = "tuple[BaseNode, float | None, _Content, Snapshot]"


class Snapshot(tuple[_State, float | None, type[BaseNode], Any]):
    """One node as it was: its fields, its score, its class, and its private attributes.

    Text, metadata and relationships are copied. Its embedding, and the object of an index node,
    are shared: large, and not what is judged. Two snapshots are equal if they are one.
    """

    __slots__ = ()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same snapshot."""
        return self is other

    def __ne__(self, other: object) -> bool:
        """Return whether this is another snapshot."""
        return self is not other

    @property
    def id(self) -> str:
        """The node's ID."""
        own: str = self[0]["id_"]
        return own

    @property
    def score(self) -> float | None:
        """The score."""
        return self[1]

    @property
    def text(self) -> str:
        """The text, without metadata."""
        text = self[0].get("text")
        return text if isinstance(text, str) else self.item().get_content()

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata."""
        metadata: dict[str, Any] = self[0]["metadata"]
        return metadata

    def item(self) -> NodeWithScore:
        """Return a new node, as it was."""
        before, score, kind, private = self
        state = dict(before)
        state["metadata"] = dict(state["metadata"])
        if state.get(_RESOURCE) is not None:
            state[_RESOURCE] = state[_RESOURCE].model_copy()
        node: BaseNode = kind.__new__(kind)
        # As pydantic copies a model, without the cost of validating it again.
        for name, value in (
            ("__dict__", state),
            ("__pydantic_fields_set__", set(state)),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", private),
        ):
            object.__setattr__(node, name, value)
        return NodeWithScore(node=node, score=score)


class Known:
    """The nodes that a recording has seen, by the identity of the objects that they came in.

    It holds those objects: one that is held cannot give its identity to another one.

    Most of what a capture costs is spent here. So lists are read, compared and copied whole, where
    they can be, without a step of Python for each node.
    """

    __slots__ = ("_held", "_lists", "_rows")

    def __init__(self) -> None:
        self._held: list[Any] = []
        self._lists: dict[tuple[int, ...], tuple[_Columns, Nodes]] = {}
        self._rows: dict[int, _Row] = {}

    def hold(self, things: object) -> None:
        """Keep objects alive, and so their identities theirs."""
        self._held.append(things)

    def nodes(self, items: Iterable[NodeWithScore]) -> Nodes:
        """Return the nodes as they are now; those that did not change since are not copied."""
        held = tuple(items)
        if not held:
            return _NONE
        objects = tuple(map(id, held))
        states = list(map(_STATE, held))
        nodes, scores = tuple(map(_NODE, states)), tuple(map(_SCORE, states))
        rows = self._rows
        if rows.keys().isdisjoint(objects):
            rows.update(zip(objects, _copies(nodes, scores), strict=True))
        else:
            now = nodes, scores, _contents(map(_STATE, nodes), nodes)
            last = self._lists.get(objects)
            if last is not None and _equal(now, last[0]):
                return last[1]
            places = [
                place
                for place, (own, *one) in enumerate(zip(objects, *now, strict=True))
                if own not in rows or not _equal(tuple(one), rows[own][:3])
            ]
            if places:
                copies = _copies([nodes[one] for one in places], [scores[one] for one in places])
                rows.update(zip([objects[one] for one in places], copies, strict=True))
        self._held.append((held, nodes))
        nodes, scores, contents, snapshots = zip(*map(rows.__getitem__, objects), strict=True)
        found = Nodes(snapshots, objects)
        self._lists[objects] = (nodes, scores, contents), found
        return found


def _copies(nodes: Sequence[BaseNode], scores: Sequence[float | None]) -> Iterator[_Row]:
    states: list[_State] = list(map(dict.copy, map(_STATE, nodes)))
    for state in states:
        state["metadata"] = state["metadata"].copy()
        state["relationships"] = state["relationships"].copy()
        if _RESOURCE in state and state[_RESOURCE] is not None:
            state[_RESOURCE] = state[_RESOURCE].model_copy()
    parts = zip(states, scores, map(type, nodes), map(_PRIVATE, nodes), strict=True)
    return zip(nodes, scores, _contents(states, nodes), map(Snapshot, parts), strict=True)


def _contents(states: Iterable[_State], nodes: Sequence[BaseNode]) -> tuple[_Content, ...]:
    kinds = set(map(type, nodes))
    if len(kinds) == 1:
        return tuple(map(_reading(kinds.pop()), states))
    return tuple(_reading(type(node))(state) for node, state in zip(nodes, states, strict=True))


@lru_cache(maxsize=256)
def _reading(kind: Any) -> Callable[[_State], _Content]:
    """Return what reads a node's content, in one step."""
    content = [name for name in ("text", _RESOURCE) if name in kind.model_fields]
    return itemgetter("id_", "metadata", "relationships", *content)


def _equal(one: object, other: object) -> bool:
    """Return whether two values are equal; those that cannot be compared are not."""
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - metadata may hold arrays, and objects of any class
        return False


class Nodes(NamedTuple):
    """A list of nodes as it was at one moment, and the identities of the objects that it held.

    They keep two steps apart that run side by side: they may handle the same nodes, but never in
    the same objects. What recorded the steps held the objects meanwhile, so that each identity is
    of one object.
    """

    items: tuple[Snapshot, ...]
    objects: tuple[int, ...] = ()

    @property
    def ids(self) -> set[str]:
        """The IDs of the nodes."""
        return {item.id for item in self.items}

    @property
    def sequence(self) -> list[str]:
        """The IDs of the nodes in their order."""
        return [item.id for item in self.items]


_NONE = Nodes(())


def is_node_list(value: object) -> TypeGuard[list[NodeWithScore] | tuple[NodeWithScore, ...]]:
    """Return whether `value` is a list of retrieved nodes, or an empty list."""
    return isinstance(value, (list, tuple)) and all(
        issubclass(kind, NodeWithScore) for kind in set(map(type, value))
    )
