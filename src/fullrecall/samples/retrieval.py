"""The record of a retrieval: the calls for a question, and their contexts.

A `Retrieval` has one or more `Call`s, and their final list. If no step merges the lists of several
calls, the final list has the contexts of all calls. The rank of a context is then its rank within
its own call, so ranks do not depend on the order of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from fullrecall._util.parameters import check_choice
from fullrecall._util.value_object import ValueObject
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.samples.calls import (
    Call,
    KnownContexts,
    Stage,
    call_of,
    failed_calls,
    failures,
    identity,
    optional_text,
    plain_call,
    stage_nodes,
)
from fullrecall.samples.context import Context, ContextLike, as_contexts, as_number
from fullrecall.samples.identifiers import as_list
from fullrecall.samples.prompts import Read

View: TypeAlias = Literal["contexts", "retrieved", "read"]
"""One of a record's three lists: the kept contexts, all retrieved ones, or those in the prompt."""

FailedCalls: TypeAlias = Literal["unscored", "score"]
"""Whether a sample with a failed call is unscored, or scored by the other calls' contexts."""


def by_id(contexts: Iterable[Context]) -> list[Context]:
    """Join the contexts that share an ID, such as chunks, at the rank of the first."""
    groups: dict[object, list[Context]] = {}
    for position, context in enumerate(contexts):
        own = position if context.id is None else context.id  # an ID is a str, never an int
        groups.setdefault(own, []).append(context)
    return [group[0] if len(group) == 1 else _joined(group) for group in groups.values()]


def _joined(chunks: Sequence[Context]) -> Context:
    first = chunks[0]
    texts = dict.fromkeys(chunk.text for chunk in chunks if chunk.text is not None)
    text = "\n\n".join(texts) if texts else None
    return Context(text, id=first.id, score=first.score, metadata=first.metadata)


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Retrieval(ValueObject):
    """The record of one question's retrieval: the calls, and their final list; immutable.

    - `contexts`: the final list; empty if no context was retrieved, None if no retrieval was
      observed. Its order is the rank, unless `ranks` is given.
    - `calls`: the outermost calls, each with its stages; empty if only the list is known.
    - `ranks`: the 1-based rank of each context within its own call, ascending, if the lists of
      several calls were merged; None if the list itself is ranked.
    - `response`: the application's answer.
    - `read`: for each final context, whether the model's prompt had it: "yes", "partly" or "no";
      None for a context without text; None for all if no prompt was observed.
    - `error`: the reason why the retrieval cannot be measured, such as a failed call.
    - `retrieved`: all retrieved contexts, in the order of the calls, whether or not a later step
      dropped them; None if only the final list is known.
    - `call_numbers`: for each final context the 1-based number of the call that first returned it,
      failed calls included; None if that is unknown.
    - `seconds`: for each final context, the seconds from the beginning of the retrieval to the end
      of the call that first returned it; None if they are unknown, for one context or for all.
    - `other_ids`: by the ID of a context, the IDs that the same document had at other steps. A
      reference may name any of them.
    - `part_ids`: by the ID of a context, the IDs of the documents that a step merged into it. A
      reference may name one of these IDs, or the ID of the merged context.

    Raises `InputError` for values of another kind.
    """

    contexts: tuple[Context, ...] | None
    calls: tuple[Call, ...]
    ranks: tuple[int, ...] | None
    response: str | None
    read: tuple[Read | None, ...] | None
    error: str | None
    retrieved: tuple[Context, ...] | None
    call_numbers: tuple[int, ...] | None
    # Retrievals of the same contexts are equal, however long they took.
    seconds: tuple[float | None, ...] | None = field(compare=False)
    other_ids: Mapping[str, tuple[str, ...]]
    part_ids: Mapping[str, tuple[str, ...]]

    def __init__(
        self,
        contexts: Iterable[ContextLike] | None = None,
        *,
        calls: Iterable[Call | Mapping[str, Any]] = (),
        ranks: Iterable[int] | None = None,
        response: str | None = None,
        read: Iterable[Read | None] | None = None,
        error: str | None = None,
        retrieved: Iterable[ContextLike] | None = None,
        call_numbers: Iterable[int] | None = None,
        seconds: Iterable[float | None] | None = None,
        other_ids: Mapping[str, Iterable[str]] | None = None,
        part_ids: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "contexts", None if contexts is None else as_contexts(contexts))
        put(self, "calls", tuple(map(call_of, as_list(calls, ordered=True))))
        put(self, "ranks", _one_each(ranks, "ranks", self.contexts, _whole_number))
        if self.ranks and any(later < earlier for earlier, later in pairwise(self.ranks)):
            raise InputError(
                f"ranks must be ascending, got {shown(list(self.ranks or ()))}: "
                "Retrieval.of_calls((query, found), …) unites the lists of several searches"
            )
        put(self, "response", optional_text(response, "response"))
        put(self, "read", _one_each(read, "read", self.contexts, _read_state))
        put(self, "error", optional_text(error, "error"))
        put(self, "retrieved", None if retrieved is None else as_contexts(retrieved))
        numbers = _one_each(call_numbers, "call_numbers", self.contexts, _whole_number)
        put(self, "call_numbers", numbers)
        put(self, "other_ids", _ids_by_id(other_ids, "other_ids"))
        put(self, "part_ids", _ids_by_id(part_ids, "part_ids"))
        put(self, "seconds", _one_each(seconds, "seconds", self.contexts, _seconds))

    @classmethod
    def of_calls(
        cls, *searches: tuple[str, Any], tool: str = "search", response: str | None = None
    ) -> Retrieval:
        """Return the record of an agent's searches, each given as a query and a list, in order.

            Retrieval.of_calls(("oslo", ["d7", "d1"]), ("oslo opera", ["d2"]))

        A list may be any result of a retriever; texts that look like IDs are IDs. A context gets
        its best rank within a call, and the number of the first call that returned it. Raises
        `InputError` for a list that cannot be read, and for other arguments.
        """
        from fullrecall.samples.hits import contexts_of

        for search in searches:
            if not isinstance(search, tuple) or [*map(type, search[:1]), len(search)] != [str, 2]:
                raise InputError(f"expected a pair (query, found), got {shown(search)}")
        calls = [
            Call(tool, query, contexts_of(found, strings_are_ids=True)) for query, found in searches
        ]
        first: dict[Hashable, int] = {}
        best: dict[Hashable, tuple[int, Context]] = {}
        for number, call in enumerate(calls, start=1):
            for rank, context in enumerate(call.contexts or (), start=1):
                key = identity(context)
                first.setdefault(key, number)
                if key not in best or rank < best[key][0]:
                    best[key] = rank, context
        ordered = sorted(best, key=lambda key: best[key][0])  # equal ranks keep the calls' order
        return cls(
            [best[key][1] for key in ordered],
            calls=calls,
            ranks=[best[key][0] for key in ordered],
            response=response,
            retrieved=[context for _, context in best.values()],
            call_numbers=[first[key] for key in ordered],
        )

    def named(self, wanted: Collection[str]) -> Retrieval:
        """Return the same record, with each context renamed to the wanted ID of its document.

        `wanted` has the sample's reference IDs and forbidden IDs. A context keeps its own ID if its
        document has no wanted ID. A merged context becomes one for each wanted ID of its parts.
        """
        names: dict[str | None, tuple[str, ...]] = {}
        for own_id, other_ids in self.other_ids.items():
            if own_id not in wanted:
                names[own_id] = tuple(name for name in other_ids if name in wanted)[:1]
        for own_id, part_ids in self.part_ids.items():
            own_name = names.get(own_id) or (own_id,) * (own_id in wanted)
            names[own_id] = (*own_name, *(name for name in part_ids if name in wanted))
        names = {own_id: wanted_ids for own_id, wanted_ids in names.items() if wanted_ids}
        if not names:
            return self

        def renamed(contexts: Iterable[Context]) -> tuple[Context, ...]:
            return tuple(
                context if name == context.id else replace(context, id=name)
                for context in contexts
                for name in names.get(context.id, (context.id,))
            )

        final = self.contexts or ()
        indices = [n for n, each in enumerate(final) for _ in names.get(each.id, (None,))]
        # Merged contexts share a rank, as contexts of parallel calls do.
        is_whole = len(indices) == len(final) or self.ranks is not None
        ranked = self if is_whole else replace(self, ranks=tuple(range(1, len(final) + 1)))
        values = {name: getattr(ranked, name) for name in _EACH_ONE}
        fields = {name: of and [of[index] for index in indices] for name, of in values.items()}
        return self._changed(renamed, **fields, other_ids=None, part_ids=None)

    def changed(self, change: Callable[[Context], Context]) -> Retrieval:
        """Return the same record, with `change` applied to each of its contexts."""
        return self._changed(lambda contexts: tuple(map(change, contexts)))

    def _changed(
        self, change: Callable[[Iterable[Context]], tuple[Context, ...]], **fields: Any
    ) -> Retrieval:
        """Return the same record with `change` applied to each list, and these fields replaced."""

        def all_changed(contexts: tuple[Context, ...] | None) -> tuple[Context, ...] | None:
            return None if contexts is None else change(contexts)

        def changed_call(call: Call) -> Call:
            children = tuple(map(changed_call, call.children))
            return replace(call, contexts=all_changed(call.contexts), children=children)

        return replace(
            self,
            contexts=all_changed(self.contexts),
            calls=tuple(map(changed_call, self.calls)),
            retrieved=all_changed(self.retrieved),
            **fields,
        )

    def lasting(self, seconds: float) -> Retrieval:
        """Return the record with these `seconds` for each context, unless it has seconds."""
        if self.seconds is not None or not self.contexts:
            return self
        return replace(self, seconds=(round(seconds, 6),) * len(self.contexts))

    def view(self, name: View) -> Retrieval | None:
        """Return the record with the named list as its final list; None if it lacks that list.

        - "contexts": the final list, as it is.
        - "retrieved": all retrieved contexts, each at its best rank within its call.
        - "read": the final contexts whose whole text was in the model's prompt, with their ranks;
          contexts without a text are left out.

        Raises `ParameterError` for another name.
        """
        check_choice(name, "view", get_args(View))
        if name == "contexts":
            return self
        if name == "read":
            if self.read is None or self.contexts is None:
                return None
            left_out: dict[str, Any] = dict.fromkeys(("retrieved", "response", "read"))
            rank_of_each = self.ranks or tuple(range(1, len(self.contexts) + 1))
            final = replace(self, ranks=rank_of_each, calls=(), **left_out)
            return final.at([index for index, each in enumerate(self.read) if each == "yes"])
        if self.retrieved is None:
            return None
        every_call = (call for root in self.calls for call in root.walk())
        sources = [call for call in every_call if call.contexts and not call.children]
        best: dict[Hashable, int] = {}
        for call in sources:
            for rank, context in enumerate(call.contexts or (), start=1):
                best[identity(context)] = min(rank, best.get(identity(context), rank))
        ranked = [
            (best.get(identity(context), position), context)
            for position, context in enumerate(self.retrieved, start=1)
        ]
        # Sort by rank alone, so that equal ranks keep their order.
        ranked.sort(key=lambda pair: pair[0])
        ranks = None if len(sources) < 2 else [rank for rank, _ in ranked]  # noqa: PLR2004
        return Retrieval(
            [context for _, context in ranked],
            ranks=ranks,
            error=self.error,
            other_ids=self.other_ids,
            part_ids=self.part_ids,
        )

    @property
    def line(self) -> str:
        """A note on the calls, such as "union of 3 calls, 1 failed"; "" for one ranked list."""
        parts = []
        failed = len(failures(self.calls))
        count = len(self.calls)
        if self.ranks is not None and count > 1:
            parts.append(f"union of {count} calls" + (f", {failed} failed" if failed else ""))
        elif failed:
            steps = sum(1 for root in self.calls for _ in root.walk())
            parts.append(f"{failed} of {steps} calls failed")
        recovered = len(failed_calls(self.calls)) - failed
        if recovered:
            parts.append(f"{recovered} failed and recovered")
        reordered = dict.fromkeys(c.source for c in self.calls if c.reorders and c.children)
        if reordered and self.contexts is not None:
            parts.append(f"ranks before {', '.join(reordered)}")
        if self.read is not None:
            read_states = [each for each in self.read if each is not None]
            partly = read_states.count("partly")
            parts.append(
                f"{read_states.count('yes')} of {len(read_states)} in the prompt"
                + (f", {partly} in part" if partly else "")
            )
        return "; ".join(parts)

    def at(self, indices: Sequence[int]) -> Retrieval:
        """Return the same record with only the final contexts at these 0-based positions."""
        values = {name: getattr(self, name) for name in ("contexts", *_EACH_ONE)}
        fields: dict[str, Any] = {
            name: None if of is None else [of[index] for index in indices]
            for name, of in values.items()
        }
        return replace(self, **fields)

    def collapsed(self) -> Retrieval:
        """Return the record; final contexts that share an ID become one, ranked like the first."""
        first: dict[object, int] = {}
        for position, context in enumerate(self.contexts or ()):
            first.setdefault(position if context.id is None else context.id, position)
        contexts = by_id(self.contexts or ())
        if len(contexts) == len(self.contexts or ()):
            return self
        return replace(self.at([*first.values()]), contexts=tuple(contexts))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The calls as the stages of a pipeline.

        Each stage precedes the stage that received its contexts. A call that returned the final
        list is not a stage. Later stages of the same name get a number: "search", "search 2".
        """
        nodes = stage_nodes(self.calls, self.contexts)
        return tuple(
            Stage(node.name, node.call.contexts or (), node.into) for node in nodes if node.name
        )

    def at_stage(self, name: str) -> tuple[Context, ...] | None:
        """Return the contexts of the stage with this name; None if no call has it.

        The call that returned the final list is found by its name, too. In other samples, a later
        step may make the final list, so the same call is a stage there.
        """
        for node in stage_nodes(self.calls, self.contexts):
            if node.name == name or (node.is_final and node.call.source == name):
                return node.call.contexts
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, from which `from_dict` restores the record.

        `dropped` has the retrieved contexts that are not in the final list. Elsewhere a number
        replaces a context: its 0-based position in the final list followed by `dropped`.
        """
        final = self.contexts or ()
        kept = {identity(context) for context in final}
        dropped = [each for each in self.retrieved or () if identity(each) not in kept]
        known_contexts = KnownContexts((*final, *dropped))
        fields: dict[str, Any] = {}
        if self.contexts is not None:
            fields["contexts"] = [context.to_dict() for context in final]
        if dropped:
            fields["dropped"] = [context.to_dict() for context in dropped]
        if self.retrieved is not None:
            fields["retrieved"] = known_contexts.plain(self.retrieved)
        if self.calls:
            fields["calls"] = [plain_call(call, known_contexts) for call in self.calls]
        for name in (*_EACH_ONE, "response", "error"):
            value = getattr(self, name)
            if value is not None:
                fields[name] = list(value) if name in _EACH_ONE else value
        for name in _BY_ID:
            if getattr(self, name):
                fields[name] = {own: list(ids) for own, ids in getattr(self, name).items()}
        return fields

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Retrieval:
        """Restore the retrieval that `to_dict` wrote; raise `InputError` for any other value."""
        unknown = plain.keys() - set(_FIELDS)
        if unknown:
            raise InputError(
                f"unknown field {min(unknown)!r}: a retrieval has {', '.join(_FIELDS)}"
            )
        contexts = plain.get("contexts")
        final = None if contexts is None else as_contexts(contexts)
        known_contexts = KnownContexts((*(final or ()), *as_contexts(plain.get("dropped") or ())))
        calls = as_list(plain.get("calls") or (), ordered=True)
        retrieved = plain.get("retrieved")
        return cls(
            final,
            calls=[call_of(call, known_contexts) for call in calls],
            retrieved=None if retrieved is None else known_contexts.contexts(retrieved),
            **{name: plain.get(name) for name in (*_EACH_ONE, *_BY_ID, "response", "error")},
        )


@runtime_checkable
class Retriever(Protocol):
    """A retriever for `evaluate`, `diagnose` and `testset`, which also accept a plain function.

    An asynchronous object without a usable `retrieve` sets `asynchronous = True`; then only
    `aretrieve` is called, always in one event loop.
    """

    def retrieve(self, sample: Any, /) -> Retrieval:
        """Return the retrieval for the sample's `user_input`."""
        ...

    async def aretrieve(self, sample: Any, /) -> Retrieval:
        """Return the same as `retrieve`, without blocking the event loop."""
        ...


def _one_each(
    values: Iterable[Any] | None,
    name: str,
    contexts: tuple[Context, ...] | None,
    check: Callable[[Any, str], Any],
) -> tuple[Any, ...] | None:
    """Return one checked value for each context; None if `values` is None.

    A value that all contexts share is checked only once.
    """
    if values is None:
        return None
    listed = as_list(values, ordered=True)
    if len(listed) != len(contexts or ()):
        raise InputError(f"{len(contexts or ())} contexts but {len(listed)} {name}: pass one each")
    if len(set(map(id, listed))) == 1:
        return (check(listed[0], name),) * len(listed)
    return tuple([check(value, name) for value in listed])


def _ids_by_id(value: object, name: str) -> dict[str, tuple[str, ...]]:
    """Return a mapping of IDs to lists of IDs, with each ID as a `str`; {} for None.

    Raises `InputError` for any other value that is not a mapping of lists.
    """
    if value is not None and not isinstance(value, Mapping):
        raise InputError(f"{name} must be a mapping of IDs, got {shown(value)}")
    return {
        str(own): tuple(map(str, as_list(ids, ordered=True))) for own, ids in (value or {}).items()
    }


def _whole_number(value: object, name: str) -> int:
    if type(value) is not int or value < 1:
        raise InputError(f"{name} must be whole numbers >= 1, got {shown(value)}")
    return value


def _read_state(value: object, name: str) -> Read | None:
    if value not in (*get_args(Read), None):
        raise InputError(f"{name} must be 'yes', 'partly', 'no' or None, got {shown(value)}")
    return value  # type: ignore[return-value]


def _seconds(value: object, name: str) -> float | None:
    return None if value is None else as_number(value, name)


_EACH_ONE = ("ranks", "read", "call_numbers", "seconds")
"""The fields that have a value for each final context."""

_BY_ID = ("other_ids", "part_ids")
"""The fields that map the ID of a context to other IDs."""

_FIELDS = (*Retrieval.__slots__, "dropped")
