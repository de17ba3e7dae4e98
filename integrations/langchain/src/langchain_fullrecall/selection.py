"""Which of the retriever calls of a run count as its retrieval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from fullrecall import Context, InputError, ParameterError
from langchain_fullrecall.calls import RetrieverCall
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.retrieval import Retrieval

Level: TypeAlias = Literal["outermost", "innermost"]
"""Which of nested retriever calls counts: the one that a chain made, whose documents are merged
or reranked already, or those that made no further one."""

Take: TypeAlias = Literal["union", "first", "last"]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which retriever calls count, of nested ones and of several.

    - `name`, `tag`: only calls of this name, with this tag; or of one of several.
    - `where`: only calls for which it returns true; it is handed the `RetrieverCall`.
    - `level`: of nested calls that are left, the "outermost" or the "innermost" ones.
    - `take`: of several calls that did not fail the "first", the "last", or the "union" of all:
      their documents in the order in which the calls started, before any cut at k. A document
      that an earlier call brought comes once: the same ID, or the same ID and text where
      `id_key` names what several documents may share.

    Raises `ParameterError`, naming the parameter, for values out of range.
    """

    level: Level = "outermost"
    take: Take = "union"
    name: str | Sequence[str] | None = None
    tag: str | Sequence[str] | None = None
    where: Callable[[RetrieverCall], bool] | None = None

    def __post_init__(self) -> None:
        for parameter, allowed in (("level", get_args(Level)), ("take", get_args(Take))):
            value = getattr(self, parameter)
            if value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ParameterError(f"{parameter} is one of {listed}, got {value!r}")
        for parameter in ("name", "tag"):
            wanted = getattr(self, parameter)
            if wanted is None:
                continue
            names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
            if not names or not all(isinstance(one, str) and one for one in names):
                raise ParameterError(f"{parameter} is a str or several, got {wanted!r}")
            object.__setattr__(self, parameter, names)
        if self.where is not None and not callable(self.where):
            raise ParameterError(f"where is a callable, got {self.where!r}")

    @property
    def filters(self) -> bool:
        """Whether it names the calls that it wants."""
        return any(wanted is not None for wanted in (self.name, self.tag, self.where))

    def calls(self, calls: Sequence[RetrieverCall]) -> list[RetrieverCall]:
        """Return the calls that are meant, failed ones included, in the order they started in."""
        return [found for call in calls for found in self._within(call)]

    def retrieval(self, calls: Sequence[RetrieverCall], reader: DocumentReader) -> Retrieval:
        """Return what the calls that are meant brought, or why that is not known.

        No call, only failed ones, and one that brought nothing give three different answers.
        Raises `InputError`, naming the retriever, for what cannot be read as documents.
        """
        chosen = self.calls(calls)
        if not chosen:
            return Retrieval(unseen=self._none_of(calls))
        worked = [call for call in chosen if call.error is None]
        if not worked:
            return Retrieval(error="; ".join(dict.fromkeys(call.error or "" for call in chosen)))
        if self.take != "union":
            worked = [worked[0 if self.take == "first" else -1]]
        return _union(worked, reader)

    def _within(self, call: RetrieverCall) -> list[RetrieverCall]:
        meant = self._means(call)
        if meant and self.level == "outermost":
            return [call]
        return self.calls(call.children) or ([call] if meant else [])

    def _means(self, call: RetrieverCall) -> bool:
        return (
            (self.name is None or call.name in self.name)
            and (self.tag is None or any(tag in self.tag for tag in call.tags))
            and (self.where is None or bool(self.where(call)))
        )

    def _none_of(self, calls: Sequence[RetrieverCall]) -> str:
        if not calls:
            return "no retriever was called"
        wanted = ", ".join(
            f"{parameter}={getattr(self, parameter)!r}"
            for parameter in ("name", "tag", "where")
            if getattr(self, parameter) is not None
        )
        every = Selection(level="innermost").calls(calls)
        there = dict.fromkeys([call.name for call in (*calls, *every)])
        return f"no retriever call fits {wanted}: there were {', '.join(map(repr, there))}"


OUTERMOST = Selection()


def as_selection(which: Level | Selection) -> Selection:
    """Return a selection, or the one of a level; raise `ParameterError` for anything else."""
    if isinstance(which, Selection):
        return which
    if which not in get_args(Level):
        raise ParameterError(f'which is "outermost", "innermost" or a Selection, got {which!r}')
    return Selection(level=which)


def _union(calls: Sequence[RetrieverCall], reader: DocumentReader) -> Retrieval:
    joined: list[Context] = []
    brought: set[tuple[str | None, str | None]] = set()
    for call in calls:
        if call.problem is not None:
            raise InputError(
                f"retriever run {call.name!r}: {call.problem}", field="retrieved_contexts"
            )
        if call.contexts is None:
            return Retrieval(unseen=f"the retriever run {call.name!r} has no documents")
        read = _read(call, reader)
        joined += [context for context in read if _identity(context, reader) not in brought]
        brought.update(_identity(context, reader) for context in read)
    return Retrieval(reader.collapsed(joined))


def _read(call: RetrieverCall, reader: DocumentReader) -> list[Context]:
    try:
        return reader.read(call.contexts or ())
    except InputError as error:
        raise InputError(f"retriever run {call.name!r}: {error}", field=error.field) from None


def _identity(context: Context, reader: DocumentReader) -> tuple[str | None, str | None]:
    alone = context.id is not None and reader.id_key is None
    return context.id, None if alone else context.text
