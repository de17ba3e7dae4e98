"""One call of a retriever or reranker, with the calls whose contexts it received."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fullrecall._util.value_object import ValueObject
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.samples.context import Context, as_contexts
from fullrecall.samples.identifiers import as_list


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(ValueObject):
    """One call of a retriever, or of a step that makes a list from another list; immutable.

    - `source`: the name of the retriever, tool, index, or reranker that was called.
    - `query`: the text with which it was called.
    - `contexts`: the returned contexts, best first, copied when the call returned. Empty if it
      returned none; None if it failed, or if its result cannot be read as contexts.
    - `error`: the reason why the call failed; a failed call has no contexts.
    - `children`: the calls whose contexts this call received: the stages before it.
    - `recovered`: whether the call failed, and a retry or a fallback succeeded in its place.
    - `reorders`: whether the call only reorders contexts for the model's attention
      (LongContextReorder); ranks are then those in the list that the call received.

    Raises `InputError` for values of another kind.
    """

    source: str
    query: str | None = None
    contexts: tuple[Context, ...] | None = None
    error: str | None = None
    children: tuple[Call, ...] = ()
    recovered: bool = False
    reorders: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise InputError(f"source must be a non-empty str, got {shown(self.source)}")
        optional_text(self.query, "query")
        optional_text(self.error, "error")
        if self.error is not None and self.contexts is not None:
            raise InputError(f"call {self.source!r} has contexts and an error: pass one")
        for name in ("recovered", "reorders"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false, got {shown(getattr(self, name))}")
        if self.contexts is not None:
            object.__setattr__(self, "contexts", as_contexts(self.contexts))
        if self.children != ():
            children = as_list(self.children, ordered=True)
            object.__setattr__(self, "children", tuple(map(call_of, children)))

    @property
    def ranked(self) -> tuple[Context, ...] | None:
        """The contexts by rank, or None; a step that only reorders keeps the ranks of its input."""
        if not self.reorders or self.contexts is None or len(self.children) != 1:
            return self.contexts
        before = self.children[0].ranked or ()
        # Reversed, so that the first of equal contexts counts.
        index_by_identity = {
            identity(context): index for index, context in reversed(list(enumerate(before)))
        }
        return tuple(
            sorted(self.contexts, key=lambda c: index_by_identity.get(identity(c), len(before)))
        )

    def walk(self) -> Iterator[Call]:
        """Yield this call and every call below it; each call follows its children."""
        for child in self.children:
            yield from child.walk()
        yield self


class Stage(NamedTuple):
    """One call as a stage of a pipeline: its name, unique in the sample, and its contexts.

    `into` is the name of the stage that received these contexts; None for the final list.
    """

    name: str
    contexts: tuple[Context, ...]
    into: str | None = None


def failures(calls: Iterable[Call]) -> list[Call]:
    """Return the failed calls that were not recovered and are not below another failed call."""
    return [call for call in failed_calls(calls) if not call.recovered]


def failed_calls(calls: Iterable[Call]) -> list[Call]:
    """Return the failed calls that are not below another failed call."""
    failed = []
    for call in calls:
        failed += [call] if call.error is not None else failed_calls(call.children)
    return failed


@dataclass(slots=True, eq=False, repr=False)
class StageNode:
    """A call, and its place in the pipeline.

    `above` is the call that received the contexts of this call, if there is one. `name` is the name
    of the stage; "" if this call is not a stage. `is_final` is True if the call returned the final
    list.
    """

    call: Call
    above: StageNode | None
    name: str = ""
    is_final: bool = False

    @property
    def into(self) -> str | None:
        """The name of the next stage that received the call's contexts, or None."""
        return None if self.above is None else self.above.name or self.above.into


def stage_nodes(calls: Sequence[Call], contexts: tuple[Context, ...] | None) -> list[StageNode]:
    """Return the calls as nodes, each after its children; the calls that are stages have names.

    A call is a stage if it returned contexts, but not the final list, which is `contexts`. Attempts
    that failed and were recovered are left out, with the calls below them.
    """
    nodes = [node for call in calls for node in _nodes(call, None)]
    answered = [call for call in calls if call.contexts]
    answered = answered or [call for call in calls if call.contexts is not None]
    names: dict[str, int] = {}
    for node in nodes:
        call = node.call
        is_only = node.above is None and answered == [call]
        node.is_final = is_only and contexts in (call.contexts, call.ranked)
        if node.call.contexts is not None and not node.is_final:
            nth = names[node.call.source] = names.get(node.call.source, 0) + 1
            node.name = node.call.source if nth == 1 else f"{node.call.source} {nth}"
    return nodes


def _nodes(call: Call, above: StageNode | None) -> Iterator[StageNode]:
    if call.recovered:
        return  # its contexts were discarded, so it is not a stage
    node = StageNode(call, above)
    for child in call.children:
        yield from _nodes(child, node)
    yield node


def optional_text(value: object, name: str) -> str | None:
    """Return a text or None; raise `InputError`, naming the field, for any other value."""
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} must be a str, got {shown(value)}")
    return value


class KnownContexts:
    """The contexts that a saved record stores in full; elsewhere it stores only their positions."""

    def __init__(self, contexts: Sequence[Context]) -> None:
        self._contexts = contexts
        self._positions = {identity(context): index for index, context in enumerate(contexts)}

    def plain(self, contexts: Iterable[Context]) -> list[object]:
        """Return the position of each known context, and the fields of each unknown one."""
        return [self._plain(context) for context in contexts]

    def _plain(self, context: Context) -> object:
        index = self._positions.get(identity(context))
        if index is not None and self._contexts[index] == context:
            return index
        return context.to_dict()

    def contexts(self, value: object) -> tuple[Context, ...]:
        """Return the contexts that `plain` wrote."""
        return as_contexts([self._at(item) for item in as_list(value, ordered=True)])

    def _at(self, item: object) -> object:
        if type(item) is not int:
            return item
        if not 0 <= item < len(self._contexts):
            raise InputError(f"no context {item} in the final list of {len(self._contexts)}")
        return self._contexts[item]


_NO_CONTEXTS = KnownContexts(())


def plain_call(call: Call, known_contexts: KnownContexts) -> dict[str, Any]:
    """Return a call as plain JSON values; a position replaces each known context."""
    fields = {
        "source": call.source,
        "query": call.query,
        "contexts": None if call.contexts is None else known_contexts.plain(call.contexts),
        "error": call.error,
        "children": [plain_call(child, known_contexts) for child in call.children] or None,
        "recovered": call.recovered or None,
        "reorders": call.reorders or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def call_of(value: object, known_contexts: KnownContexts = _NO_CONTEXTS) -> Call:
    """Return a `Call` unchanged; convert a mapping that `plain_call` made to a `Call`.

    Raises `InputError` for other values.
    """
    if isinstance(value, Call):
        return value
    names = Call.__slots__
    if not isinstance(value, Mapping) or "source" not in value or value.keys() - set(names):
        raise InputError(
            f"expected a Call, or a mapping with source and any of {', '.join(names[1:])}, "
            f"got {shown(value)}"
        )
    fields = dict(value)
    if fields.get("contexts") is not None:
        fields["contexts"] = known_contexts.contexts(fields["contexts"])
    children = as_list(fields.get("children") or (), ordered=True)
    fields["children"] = tuple(call_of(child, known_contexts) for child in children)
    return Call(**fields)


def identity(context: Context) -> tuple[str | None, str | None]:
    """Return the ID and the text, by which equal contexts are recognized.

    The ID alone is not enough, since chunks may have the ID of their document.
    """
    return context.id, context.text
