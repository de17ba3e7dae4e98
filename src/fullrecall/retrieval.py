"""What was retrieved for a question, and how: written down while it happened.

A `Retrieval` is one or several `Call`s and the list that they ended with. Several calls that no
step merges are united without an invented order: a context's rank is its rank within its own
call, and the order in which the calls came changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import (
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    runtime_checkable,
)

from fullrecall.context import Context, ContextLike, as_context, as_number
from fullrecall.errors import ParameterError
from fullrecall.identifiers import as_list, shown

Read: TypeAlias = Literal["yes", "partly", "no"]
"""Whether the model's prompt had the text of a context: all of it, a part of it, none of it."""

View: TypeAlias = Literal["contexts", "retrieved", "read"]
"""Which list of a record is meant: what was kept, all that was retrieved, what the prompt had."""

T = TypeVar("T")

FailedCalls: TypeAlias = Literal["unscored", "score"]
"""What a failed call makes of its sample: unscored, or scored by what the other calls returned."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a retriever, or one step that made a list of another one; immutable.

    - `source`: what was called: the name of a retriever, a tool, an index, a reranker.
    - `query`: the text that it was asked.
    - `contexts`: what it returned, best first, copied at that moment; empty where it returned
      nothing, None where it failed or returned nothing that could be read as contexts.
    - `error`: why it failed.
    - `children`: the calls whose contexts it took: the stages before it.
    - `recovered`: it failed, and a retry or a fallback succeeded in its place. A failed call
      that was asked again, same `source` and `query`, with success, is recovered in any case.
    - `reorders`: its order serves the model's attention (LongContextReorder) and is no ranking:
      the rank of a context is that in the list that it took.

    Raises `ValueError` for values of another kind.
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
            raise ValueError(f"source must be a non-empty str, got {shown(self.source)}")
        for name in ("query", "error"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ValueError(f"{name} must be a str, got {shown(value)}")
        if self.error is not None and self.contexts is not None:
            raise ValueError(f"call {self.source!r} has contexts and an error: pass one")
        if self.contexts is not None:
            object.__setattr__(self, "contexts", as_contexts(self.contexts))
        object.__setattr__(self, "children", tuple(map(_as_call, self.children)))

    @property
    def ranked(self) -> tuple[Context, ...] | None:
        """The contexts in the order of their ranks: that before a step that only reorders."""
        if not self.reorders or self.contexts is None or len(self.children) != 1:
            return self.contexts
        before = self.children[0].ranked or ()
        place = {_identity(context): n for n, context in reversed(list(enumerate(before)))}
        return tuple(sorted(self.contexts, key=lambda one: place.get(_identity(one), len(before))))

    def walk(self) -> Iterator[Call]:
        """Yield this call and all below it, each after those whose contexts it took."""
        for child in self.children:
            yield from child.walk()
        yield self


class Stage(NamedTuple):
    """One call as a stage of a pipeline: its name among the sample's stages, and what it returned.

    `into` names the stage that took these contexts, None if the final list did.
    """

    name: str
    contexts: tuple[Context, ...]
    into: str | None = None


@dataclass(frozen=True, slots=True, init=False)
class Retrieval:
    """What was retrieved for one question: the calls, and the list they ended with; immutable.

    - `contexts`: the final list; empty where nothing was retrieved, None where no retrieval was
      observed. Its order is the rank, unless `ranks` says otherwise.
    - `calls`: the outermost calls, each with its stages; empty where only the list is known.
    - `ranks`: the 1-based rank of each context within its own call, ascending, where several
      calls were united; None where the list itself is ranked.
    - `response`: what the application answered.
    - `read`: of each final context, whether the model's prompt had it: "yes", "partly" or "no";
      None for one without text. None as a whole where no prompt was seen.
    - `error`: why this cannot be measured: the retriever failed, or one of several calls did.
    - `retrieved`: all that was retrieved, in the order of the calls, whether or not a later step
      dropped it; None where only the final list is known.
    - `call_numbers`: of each final context the 1-based number of the call that first returned it,
      failed calls included; None where that is unknown.
    - `seconds`: of each final context when that call ended, in seconds since the beginning; None
      where that is unknown, for one context or for all.
    - `other_ids`: of each final context the IDs that the same document had at other steps; None
      where each has one. A reference may name any of them.

    Raises `ValueError` for values of another kind.
    """

    contexts: tuple[Context, ...] | None
    calls: tuple[Call, ...]
    ranks: tuple[int, ...] | None
    response: str | None
    read: tuple[Read | None, ...] | None
    error: str | None
    retrieved: tuple[Context, ...] | None
    call_numbers: tuple[int, ...] | None
    seconds: tuple[float | None, ...] | None = field(compare=False)
    other_ids: tuple[tuple[str, ...], ...] | None

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
        other_ids: Iterable[Iterable[str]] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "contexts", None if contexts is None else as_contexts(contexts))
        put(self, "calls", tuple(map(_as_call, calls)))
        put(self, "ranks", None if ranks is None else _checked_ranks(ranks, self.contexts))
        put(self, "response", _optional_text(response, "response"))
        put(self, "read", None if read is None else _checked_read(read, self.contexts))
        put(self, "error", _optional_text(error, "error"))
        put(self, "retrieved", None if retrieved is None else as_contexts(tuple(retrieved)))
        numbers = None if call_numbers is None else _checked_numbers(call_numbers, self.contexts)
        put(self, "call_numbers", numbers)
        others = None if other_ids is None else tuple(map(tuple, other_ids))
        put(self, "other_ids", others)
        put(self, "seconds", None if seconds is None else _checked_seconds(seconds, self.contexts))

    @classmethod
    def of_calls(
        cls,
        calls: Iterable[Call],
        *,
        contexts: Iterable[ContextLike] | None = None,
        response: str | None = None,
        prompts: Sequence[str] | None = None,
        failed_calls: FailedCalls = "unscored",
    ) -> Retrieval:
        """Return the retrieval that these outermost calls make.

        - One call: its list, in the order of its ranks.
        - Several: their union. Each context counts once (same ID and text), at the best of its
          ranks within the calls. Contexts of one rank stand in an order that does not depend on
          that of the calls.
        - `contexts`: the list that the application made of them, where it made one.
        - `prompts`: what the model was sent, for `read`; None where no prompt was seen.
        - `failed_calls`: "unscored" gives a retrieval with an `error` where a call failed and was
          not recovered; "score" measures what the others returned. Where all failed there is
          nothing to measure.

        Raises `ParameterError` for another value of `failed_calls`.
        """
        if failed_calls not in get_args(FailedCalls):
            raise ParameterError(
                f"failed_calls must be 'unscored' or 'score', got {failed_calls!r}"
            )
        roots = tuple(calls)
        answered = [call for call in roots if call.contexts is not None]
        failed = failures(roots)
        final, ranks = None, None
        if contexts is not None:
            final = as_contexts(contexts)
        elif len(answered) == 1:
            final = answered[0].ranked
        elif answered:
            final, ranks = _united(answered)
        error = None
        if final is None:
            alone = len({call.source for call in roots}) == 1
            reasons = (call.error or "" if alone else _failure(call) for call in failed)
            error = "; ".join(dict.fromkeys(reasons)) or _nothing(roots)
        elif failed and failed_calls == "unscored":
            error = _some_failed(failed, roots)
        read = None if prompts is None or final is None else read_in(final, prompts)
        return cls(final, calls=roots, ranks=ranks, response=response, read=read, error=error)

    def named(self, wanted: Collection[str]) -> Retrieval:
        """Return the same record, documents under the IDs that are wanted where they have them."""
        names: dict[Hashable, Context] = {}
        for context, others in zip(self.contexts or (), self.other_ids or (), strict=True):
            own = next((other for other in others if other in wanted), None)
            if own is not None and context.id not in wanted:
                names[_identity(context)] = Context(**{**context.to_dict(), "id": own})
        if not names:
            return self

        def renamed(contexts: tuple[Context, ...] | None) -> tuple[Context, ...] | None:
            if contexts is None:
                return None
            return tuple(names.get(_identity(context), context) for context in contexts)

        def call(each: Call) -> Call:
            below = tuple(map(call, each.children))
            return replace(each, contexts=renamed(each.contexts), children=below)

        fields = {name: getattr(self, name) for name in ("ranks", "response", "read", "error")}
        return Retrieval(
            renamed(self.contexts),
            calls=map(call, self.calls),
            retrieved=renamed(self.retrieved),
            call_numbers=self.call_numbers,
            seconds=self.seconds,
            **fields,
        )

    def lasting(self, seconds: float) -> Retrieval:
        """Return the record with its contexts there after so many seconds; as it is where known."""
        if self.seconds is not None or not self.contexts:
            return self
        timed = copy(self)
        object.__setattr__(timed, "seconds", (round(seconds, 6),) * len(self.contexts))
        return timed

    def view(self, name: View) -> Retrieval | None:
        """Return the same record of another of its three lists; None where it is not known.

        - "contexts": the final list, as it is.
        - "retrieved": all that was retrieved, each context at its best rank within its call.
        - "read": the final contexts that the model's prompt had whole.

        Raises `ParameterError` for another name.
        """
        if name not in get_args(View):
            raise ParameterError(f"view must be one of {', '.join(get_args(View))}, got {name!r}")
        if name == "contexts":
            return self
        if name == "read":
            return self.in_prompt
        if self.retrieved is None:
            return None
        sources = [call for call in _calls(self.calls) if call.contexts and not call.children]
        best: dict[Hashable, int] = {}
        for call in sources:
            for rank, context in enumerate(call.contexts or (), start=1):
                best[_identity(context)] = min(rank, best.get(_identity(context), rank))
        placed = [(best.get(_identity(c), n), c) for n, c in enumerate(self.retrieved, start=1)]
        placed.sort(key=lambda pair: pair[0])
        ranks = None if len(sources) < 2 else [rank for rank, _ in placed]  # noqa: PLR2004
        return Retrieval([c for _, c in placed], ranks=ranks, error=self.error)

    def with_contexts(self, contexts: Iterable[ContextLike]) -> Retrieval:
        """Return the same record of another final list, in the order of its ranks."""
        return Retrieval(
            contexts,
            calls=self.calls,
            response=self.response,
            error=self.error,
            retrieved=self.retrieved,
        )

    @property
    def ranked(self) -> bool:
        """Whether the order of `contexts` is their rank."""
        return self.ranks is None

    @property
    def line(self) -> str:
        """What must be known beside a score, in one line; empty for one ranked list of one call.

        "union of 3 calls, 1 failed; 4 of 6 in the prompt".
        """
        parts = []
        failed = len(failures(self.calls))
        if self.ranks is not None and self.calls:
            answered = sum(call.contexts is not None for call in self.calls)
            whole = max(len(self.calls), answered)
            parts.append(f"union of {whole} calls" + (f", {failed} failed" if failed else ""))
        elif failed:
            steps = sum(1 for root in self.calls for _ in root.walk())
            parts.append(f"{failed} of {steps} calls failed")
        recovered = len(_failed(self.calls)) - failed
        if recovered:
            parts.append(f"{recovered} failed and recovered")
        reordered = dict.fromkeys(c.source for c in self.calls if c.reorders and c.children)
        if reordered and self.contexts is not None:
            parts.append(f"ranks before {', '.join(reordered)}")
        if self.read is not None:
            known = [one for one in self.read if one is not None]
            partly = known.count("partly")
            parts.append(
                f"{known.count('yes')} of {len(known)} in the prompt"
                + (f", {partly} in part" if partly else "")
            )
        return "; ".join(parts)

    @property
    def in_prompt(self) -> Retrieval | None:
        """The final contexts that the prompt had whole, with their ranks; None if none was seen.

        Contexts without a text cannot be looked up: they are left out.
        """
        if self.read is None or self.contexts is None:
            return None
        places = [place for place, one in enumerate(self.read) if one == "yes"]
        ranks = self.ranks or tuple(range(1, len(self.contexts) + 1))
        return Retrieval(
            [self.contexts[place] for place in places],
            ranks=[ranks[place] for place in places],
            error=self.error,
            call_numbers=_taken(self.call_numbers, places),
            seconds=_taken(self.seconds, places),
        )

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The calls as the stages of a pipeline, each before the one that took its contexts.

        A call that returned the final list is none. Several of one name are numbered from the
        second on: "search", "search 2".
        """
        nodes = self._nodes()
        return tuple(
            Stage(node.name, node.call.contexts or (), node.into) for node in nodes if node.name
        )

    def at_stage(self, name: str) -> tuple[Context, ...] | None:
        """Return what the stage of this name returned; None where no such call was made.

        Here the call that returned the final list has a name too: in other samples, a later step
        may have made another list of what it returned.
        """
        for node in self._nodes():
            if node.name == name or (node.is_final and node.call.source == name):
                return node.call.contexts
        return None

    def _nodes(self) -> list[_Node]:
        """Return all calls, each after those whose contexts it took, the stages with a name."""
        nodes: list[_Node] = []
        answered = [call for call in self.calls if call.contexts is not None]
        for call in self.calls:
            is_final = call in answered[:1] and len(answered) == 1
            is_final = is_final and self.contexts in (call.contexts, call.ranked)
            _follow(call, None, nodes, is_final=is_final)
        names: dict[str, int] = {}
        for node in nodes:
            if node.call.contexts is not None and not node.is_final:
                nth = names[node.call.source] = names.get(node.call.source, 0) + 1
                node.name = node.call.source if nth == 1 else f"{node.call.source} {nth}"
        return nodes

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back.

        `dropped` are the contexts that were retrieved and are not in the final list. Elsewhere a
        context is given by its 0-based position in the final list and those after it.
        """
        final = self.contexts or ()
        kept = {_identity(context) for context in final}
        dropped = [each for each in self.retrieved or () if _identity(each) not in kept]
        known = _Known((*final, *dropped))
        plain: dict[str, Any] = {}
        if self.contexts is not None:
            plain["contexts"] = [context.to_dict() for context in final]
        if dropped:
            plain["dropped"] = [context.to_dict() for context in dropped]
        if self.retrieved is not None:
            plain["retrieved"] = known.plain(self.retrieved)
        if self.calls:
            plain["calls"] = [_plain_call(call, known) for call in self.calls]
        for name in ("ranks", "read", "call_numbers", "seconds", "other_ids"):
            value = getattr(self, name)
            if value is not None:
                plain[name] = list(value)
        for name in ("response", "error"):
            if getattr(self, name) is not None:
                plain[name] = getattr(self, name)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Retrieval:
        """Return the retrieval that `to_dict` wrote; raises `ValueError` for anything else."""
        unknown = plain.keys() - set(_FIELDS)
        if unknown:
            raise ValueError(
                f"unknown field {min(unknown)!r}: a retrieval has {', '.join(_FIELDS)}"
            )
        contexts = plain.get("contexts")
        final = None if contexts is None else as_contexts(contexts)
        known = _Known((*(final or ()), *as_contexts(plain.get("dropped") or ())))
        calls = as_list(plain.get("calls") or (), ordered=True)
        retrieved = plain.get("retrieved")
        return cls(
            final,
            calls=[_call_of(call, known) for call in calls],
            ranks=plain.get("ranks"),
            response=plain.get("response"),
            read=plain.get("read"),
            error=plain.get("error"),
            retrieved=None if retrieved is None else known.contexts(retrieved),
            call_numbers=plain.get("call_numbers"),
            seconds=plain.get("seconds"),
            other_ids=plain.get("other_ids"),
        )


@runtime_checkable
class Retriever(Protocol):
    """What `evaluate`, `diagnose` and `testset` ask; a plain function of the question is one too.

    An object whose `retrieve` cannot be used, since all it has is asynchronous, says so by an
    attribute `asynchronous = True`: then only `aretrieve` is called, always in one event loop.
    """

    def retrieve(self, sample: Any, /) -> Retrieval:
        """Return what is retrieved for the sample's `user_input`."""
        ...

    async def aretrieve(self, sample: Any, /) -> Retrieval:
        """Return the same as `retrieve`, without blocking the event loop."""
        ...


_CONTEXT = {Context}


def as_contexts(value: object) -> tuple[Context, ...]:
    """Return a list of contexts; `ValueError` names the first item that is not one."""
    if type(value) is tuple and set(map(type, value)) <= _CONTEXT:
        return value
    found = []
    for position, item in enumerate(as_list(value, ordered=True)):
        try:
            found.append(as_context(item))
        except ValueError as error:
            raise ValueError(f"item {position}: {error}") from None
    return tuple(found)


def calls_of(
    stages: Iterable[Stage], contexts: Iterable[ContextLike] | None = None
) -> tuple[Call, ...]:
    """Return the calls that these stages were; each stands before the one that it goes into.

    With `contexts`, the final list, they are the stages of one call that returned it. Raises
    `ValueError` for a name that occurs twice, and for a stage into one that is not later.
    """
    given = list(stages)
    names = [stage.name for stage in given]
    calls: dict[str | None, list[Call]] = {}
    for position, (name, brought, into) in enumerate(given):
        if names.count(name) > 1:
            raise ValueError(f"two stages are named {name!r}: use unique names")
        if into is not None and into not in names[position + 1 :]:
            raise ValueError(f"stage {name!r} goes into {into!r}, which is not a later stage")
        made = Call(name, contexts=brought, children=tuple(calls.pop(name, ())))
        calls.setdefault(into, []).append(made)
    last = tuple(calls.get(None, ()))
    if contexts is None or not last:
        return last
    return (Call("retrieval", contexts=as_contexts(contexts), children=last),)


def failures(calls: Iterable[Call]) -> list[Call]:
    """Return the outermost calls that failed and were not recovered; why is below them."""
    roots = tuple(calls)
    again = {(c.source, c.query) for c in _calls(roots) if c.contexts is not None}
    return [
        call
        for call in _failed(roots)
        if not call.recovered and (call.source, call.query) not in again
    ]


def read_in(contexts: Iterable[Context], prompts: Iterable[str]) -> tuple[Read | None, ...]:
    """Return of each context whether the prompts have its text; None for one without text.

    White space does not count, nor whether a prompt has the text as it is or escaped, as in JSON.
    "yes": a prompt has all of it, or several prompts have it in parts that leave nothing out, as
    a synthesizer sends what is too long for one; each part of at least 32 characters, but the
    last. "partly": some 32 consecutive characters of it, counted from its beginning in steps of
    16, stand in a prompt; a shorter text is there or is not.
    """
    folded = [_forms(prompt) for prompt in prompts]
    return tuple(
        None if context.text is None else _read_of(_squeezed(context.text), folded)
        for context in contexts
    )


_RUN = 32
"""Characters in common that are no chance; `SpanRecall` has the same."""


def _read_of(text: str, prompts: Sequence[Sequence[str]]) -> Read:
    if not text or any(text in form for forms in prompts for form in forms):
        return "yes"
    parts = (text[at : at + _RUN] for at in range(0, len(text) - _RUN + 1, _RUN // 2))
    if not any(part in form for part in parts for forms in prompts for form in forms):
        return "no"
    return "yes" if _is_in_parts(text, prompts) else "partly"


def _is_in_parts(text: str, prompts: Sequence[Sequence[str]]) -> bool:
    """Return whether each part of a text stands in another prompt than the part before it."""
    at, last = 0, None
    while at < len(text):
        longest, where = 0, None
        for number, forms in enumerate(prompts):
            if number == last:
                continue
            for form in forms:
                length = _in_common(text, at, form, longest)
                if length > longest:
                    longest, where = length, number
        if longest < min(_RUN, len(text) - at):
            return False
        at, last = at + longest, where
    return True


def _in_common(text: str, at: int, prompt: str, least: int) -> int:
    """Return how many characters from `at` on stand in a prompt, if more than `least`, else 0."""
    low, high = least, len(text) - at
    if low >= high or text[at : at + low + 1] not in prompt:
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        if text[at : at + middle] in prompt:
            low = middle
        else:
            high = middle - 1
    return low


def _forms(prompt: str) -> list[str]:
    """Return a prompt without white space: as it is, and with escapes undone once and twice."""
    return [_squeezed(prompt), *map(_squeezed, unescaped(prompt))]


def unescaped(text: str) -> Iterator[str]:
    """Yield a text with its escapes undone once and twice, as long as there are any."""
    for _ in range(2):
        if "\\" not in text:
            break
        text = _ESCAPE.sub(_character, text)
        if _SURROGATES.search(text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        yield text


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udfff]")


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return chr(int(code, 16))
    return " " if match[3] in "nrtfbv" else match[3]


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _taken(values: Sequence[T] | None, places: Sequence[int]) -> list[T] | None:
    return None if values is None else [values[place] for place in places]


def _united(calls: Sequence[Call]) -> tuple[tuple[Context, ...], tuple[int, ...]]:
    """Return the contexts of several calls and their ranks, whatever the order of the calls."""
    placed = [
        (rank, _order(call), context)
        for call in calls
        for rank, context in enumerate(call.ranked or (), start=1)
    ]
    placed.sort(key=lambda one: one[:2])
    first: dict[Hashable, tuple[int, Context]] = {}
    for rank, _, context in placed:
        first.setdefault(_identity(context), (rank, context))
    kept = list(first.values())
    return tuple(context for _, context in kept), tuple(rank for rank, _ in kept)


def _order(call: Call) -> tuple[Any, ...]:
    """Return what tells calls apart, when they came aside."""
    contents = tuple((c.id or "", c.text or "") for c in call.contexts or ())
    return call.source, call.query or "", contents


def _identity(context: Context) -> tuple[str | None, str | None]:
    return context.id, context.text


def _calls(calls: Iterable[Call]) -> list[Call]:
    return [each for call in calls for each in call.walk()]


def _failed(calls: Iterable[Call]) -> list[Call]:
    """Return the failed calls that stand below no other failed one."""
    found = []
    for call in calls:
        found += [call] if call.error is not None else _failed(call.children)
    return found


def _failure(call: Call) -> str:
    return f"{call.source}: {call.error}"


def _nothing(roots: Sequence[Call]) -> str | None:
    """Return why calls that did not fail left no list."""
    if not roots:
        return None
    return f"{roots[0].source} returned nothing that can be read as contexts"


def _some_failed(failed: Sequence[Call], roots: Sequence[Call]) -> str:
    every = len(_calls(roots))
    reasons = "; ".join(dict.fromkeys(map(_failure, failed)))
    return (
        f"{len(failed)} of {every} calls failed ({reasons}): failed_calls='score' scores what "
        "the others returned"
    )


@dataclass(slots=True, eq=False)
class _Node:
    """A call on its way to a stage."""

    call: Call
    above: _Node | None
    is_final: bool
    name: str = ""

    @property
    def into(self) -> str | None:
        """The name of the next stage that took its contexts."""
        above = self.above
        while above is not None and not above.name:
            above = above.above
        return None if above is None else above.name


def _follow(call: Call, above: _Node | None, nodes: list[_Node], *, is_final: bool) -> None:
    if call.recovered:
        return  # what a failed try retrieved went into nothing
    node = _Node(call, above, is_final)
    for child in call.children:
        _follow(child, node, nodes, is_final=False)
    nodes.append(node)


def _optional_text(value: object, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} must be a str, got {shown(value)}")
    return value


def _checked_ranks(ranks: Iterable[int], contexts: tuple[Context, ...] | None) -> tuple[int, ...]:
    given = tuple(as_list(ranks, ordered=True))
    if len(given) != len(contexts or ()):
        raise ValueError(f"{len(contexts or ())} contexts but {len(given)} ranks: pass one each")
    if any(type(rank) is not int or rank < 1 for rank in given):
        raise ValueError(f"ranks must be whole numbers >= 1, got {shown(list(given))}")
    if any(later < earlier for earlier, later in pairwise(given)):  # type: ignore[operator]
        raise ValueError(f"ranks must be ascending, got {shown(list(given))}")
    return given  # type: ignore[return-value]


def _checked_read(
    read: Iterable[Read | None], contexts: tuple[Context, ...] | None
) -> tuple[Read | None, ...]:
    given = tuple(as_list(read, ordered=True))
    if len(given) != len(contexts or ()):
        raise ValueError(f"{len(contexts or ())} contexts but {len(given)} read: pass one each")
    allowed = (*get_args(Read), None)
    for one in given:
        if one not in allowed:
            raise ValueError(f"read must be 'yes', 'partly', 'no' or None, got {shown(one)}")
    return given  # type: ignore[return-value]


def _checked_numbers(
    numbers: Iterable[int], contexts: tuple[Context, ...] | None
) -> tuple[int, ...]:
    given = tuple(as_list(numbers, ordered=True))
    if len(given) != len(contexts or ()) or any(type(n) is not int or n < 1 for n in given):
        raise ValueError(
            f"call_numbers must be whole numbers >= 1, one for each of {len(contexts or ())} "
            f"contexts, got {shown(list(given))}"
        )
    return given  # type: ignore[return-value]


def _checked_seconds(
    seconds: Iterable[float | None], contexts: tuple[Context, ...] | None
) -> tuple[float | None, ...]:
    given = [
        None if value is None else as_number(value, "seconds")
        for value in as_list(seconds, ordered=True)
    ]
    if len(given) != len(contexts or ()):
        raise ValueError(f"{len(contexts or ())} contexts but {len(given)} seconds: pass one each")
    return tuple(given)


def _as_call(value: object) -> Call:
    if isinstance(value, Call):
        return value
    return _call_of(value, _Known(()))


_FIELDS = (
    "contexts", "calls", "ranks", "read", "response", "error", "retrieved", "dropped",
    "call_numbers", "seconds", "other_ids",
)  # fmt: skip


class _Known:
    """Contexts that are written once: elsewhere their position stands for them."""

    def __init__(self, contexts: Sequence[Context]) -> None:
        self._contexts = contexts
        self._places = {_identity(context): place for place, context in enumerate(contexts)}

    def plain(self, contexts: Iterable[Context]) -> list[object]:
        return [self._plain(context) for context in contexts]

    def _plain(self, context: Context) -> object:
        place = self._places.get(_identity(context))
        if place is not None and self._contexts[place] == context:
            return place
        return context.to_dict()

    def contexts(self, plain: object) -> tuple[Context, ...]:
        return as_contexts([self._at(item) for item in as_list(plain, ordered=True)])

    def _at(self, item: object) -> object:
        if type(item) is not int:
            return item
        if not 0 <= item < len(self._contexts):
            raise ValueError(f"no context {item} in the final list of {len(self._contexts)}")
        return self._contexts[item]


def _plain_call(call: Call, known: _Known) -> dict[str, Any]:
    plain: dict[str, Any] = {"source": call.source}
    if call.query is not None:
        plain["query"] = call.query
    if call.contexts is not None:
        plain["contexts"] = known.plain(call.contexts)
    if call.error is not None:
        plain["error"] = call.error
    if call.children:
        plain["children"] = [_plain_call(child, known) for child in call.children]
    for name in ("recovered", "reorders"):
        if getattr(call, name):
            plain[name] = True
    return plain


def _call_of(plain: object, known: _Known) -> Call:
    if isinstance(plain, Call):
        return plain
    fields = ("source", "query", "contexts", "error", "children", "recovered", "reorders")
    if not isinstance(plain, Mapping) or "source" not in plain or plain.keys() - set(fields):
        raise ValueError(
            f"expected a Call, or a mapping with source and any of {', '.join(fields[1:])}, "
            f"got {shown(plain)}"
        )
    contexts = plain.get("contexts")
    if contexts is not None:
        contexts = known.contexts(contexts)
    flags = {name: plain.get(name, False) for name in ("recovered", "reorders")}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise ValueError(f"{name} must be true or false, got {shown(flag)}")
    return Call(
        plain["source"],
        plain.get("query"),
        contexts,
        plain.get("error"),
        tuple(
            _call_of(child, known) for child in as_list(plain.get("children") or (), ordered=True)
        ),
        **flags,
    )
