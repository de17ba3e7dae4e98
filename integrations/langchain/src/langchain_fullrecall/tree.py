"""The runs of one call as a tree: who called whom, and what each returned, copied at that moment.

A recorder builds it while an application runs, `traces` from a LangSmith trace; whoever reads it
does not know which.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from fullrecall import Context
from fullrecall.errors import InputError
from langchain_fullrecall.documents import DocumentReader, is_document

_AS_THEY_ARE = DocumentReader()

SEQUENCE, CHILD = "seq:step:", "retriever_"
"""Tags by which LangChain numbers the steps of a sequence and the children of an ensemble."""

FALLBACKS = "RunnableWithFallbacks"


@dataclass(eq=False, slots=True)
class Node:
    """One run: of a retriever, a tool, a model or a chain, or a step that an observer saw.

    - `contexts`: what it returned, as copies with `Document.id` as the ID; None where it failed,
      goes on still, or returned no documents. `problem`: why that could not be read.
    - `query`: what a retriever or a tool was asked. `asked`: a chain's inputs.
    - `prompts`: what a model was sent, as texts.
    - `chunk_key`: where the chunks of a multi-vector retriever hold the ID of their document.
    - `began`, `over`: when, by any clock that all runs of a tree share; None where that is not
      known, and where the run has not ended.
    """

    name: str
    kind: str = "chain"
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    query: str | None = None
    asked: Any = None
    contexts: tuple[Context, ...] | None = None
    problem: str | None = None
    error: str | None = None
    response: str | None = None
    prompts: tuple[str, ...] = ()
    chunk_key: str | None = None
    ended: bool = False
    began: float | None = None
    over: float | None = None
    parent: Node | None = None
    outer: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether it raised."""
        return self.error is not None

    @property
    def maps(self) -> bool:
        """Whether this asks the same retriever one question after the other: `.map()`."""
        return self.name.startswith("RunnableEach") and isinstance(self.asked, list)

    def number(self, tag: str) -> int | None:
        """Return the number behind a tag of LangChain's, None where the run has no such tag."""
        numbers = (name.removeprefix(tag) for name in self.tags if name.startswith(tag))
        return next((int(number) for number in numbers if number.isdigit()), None)

    def step_of(self, above: Node) -> int | None:
        """Return which step of the sequence `above` this is, None where that is no sequence.

        A retriever in a sequence may hand its own tag on to what it asks.
        """
        return self.number(SEQUENCE) if above.kind == "chain" else None

    def stands_below(self, other: Node) -> bool:
        """Return whether this run was called by another one, however far above."""
        above = self.parent
        while above is not None and above is not other:
            above = above.parent
        return above is other

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def ordered(self) -> list[Node]:
        """Return the runs below this one in an order that does not depend on threads.

        That of their tags, of a graph's steps, or of the questions that `.map()` asks; those of
        one step of a graph by name and question; else that in which they started.
        """

        def place(item: tuple[int, Node]) -> tuple[Any, ...]:
            start, child = item
            numbers = (child.step_of(self), child.number(CHILD))
            asked = 0
            if self.maps and child.query in self.asked:
                asked = self.asked.index(child.query)
            elif self.maps and child.asked in self.asked:
                asked = self.asked.index(child.asked)
            number = next((n for n in numbers if n is not None), asked)
            step = child.metadata.get("langgraph_step")
            if isinstance(step, int):
                return number, step, child.name, _query(child), start
            return number, 0, "", "", start

        adopted = self._adopted()
        away = {id(one) for child in self.children for one in child._adopted()}  # noqa: SLF001
        own = [child for child in self.children if id(child) not in away]
        return [child for _, child in sorted(enumerate([*own, *adopted]), key=place)]

    def _adopted(self) -> list[Node]:
        """Return the runs that stand beside this one, and were called by it.

        What `with_config` wraps reports the caller's caller, and has the caller's own number as a
        step of its sequence: there a number is only one run's. What has fallbacks calls them by
        its own config, so that they report its caller too, with its tags.
        """
        if self.parent is None:
            return []
        if self.name == FALLBACKS:
            return [one for one in self.parent.children if one._fallback_of() is self]  # noqa: SLF001
        if self.kind != "retriever":
            return []
        number = self.step_of(self.parent)
        if number is None:
            return []
        same = [one for one in self.parent.children if one.step_of(self.parent) == number]
        return same[1:] if same[0] is self else []

    def _fallback_of(self) -> Node | None:
        """Return the run beside this one that it is a fallback of: the last one that goes on."""
        beside = () if self.parent is None else self.parent.children
        around = [one for one in beside if one.name == FALLBACKS and one._calls(self)]  # noqa: SLF001
        return around[-1] if around else None

    def _calls(self, other: Node) -> bool:
        """Return whether another run began while this one went on, with its tags and question."""
        if other is self or other.began is None or self.began is None:
            return False
        asked = other.query is None or self.query is None or other.query == self.query
        goes_on = self.began <= other.began and (self.over is None or other.began <= self.over)
        return asked and goes_on and set(self.tags) <= set(other.tags)


def _query(node: Node) -> str:
    queries = (one.query for one in node.walk() if one.query is not None)
    return next(queries, "")


def snapshot(documents: Any) -> tuple[tuple[Context, ...] | None, str | None]:
    """Return copies of documents, or what is wrong with them.

    Whoever shares a list of documents may reorder it, and change the documents, at any moment.
    """
    if documents is None:
        return None, None
    if not isinstance(documents, Sequence) or isinstance(documents, str):
        # To read a generator would be to use it up.
        return None, f"expected a list of documents, got {type(documents).__name__}"
    try:
        return tuple(_AS_THEY_ARE.contexts(documents)), None
    except InputError as error:
        return None, str(error)


def documents_of(output: Any, *, certain: Callable[[object], bool] = is_document) -> Any:
    """Return a list of nothing but documents; None for what is not beyond doubt one."""
    if not isinstance(output, (list, tuple)) or not all(map(certain, output)):
        return None
    return output or None


def tool_query(given: Any) -> str | None:
    """Return what a tool was asked: its only text, or the one that is called query."""
    if isinstance(given, str):
        try:
            read = ast.literal_eval(given)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return given
        return tool_query(read) if isinstance(read, Mapping) else given
    if not isinstance(given, Mapping):
        return None
    for name in ("query", "question", "input"):
        if isinstance(given.get(name), str):
            found: str = given[name]
            return tool_query(found) if len(given) == 1 else found
    texts = [value for value in given.values() if isinstance(value, str)]
    return texts[0] if len(texts) == 1 else None


_going_on: ContextVar[Node | None] = ContextVar("fullrecall_going_on", default=None)
# Observers are called with documents and nothing that would say by whom: only the context tells.


def enter(node: Node) -> None:
    """Note that a retriever run has started here: what observers see from now on belongs to it."""
    node.outer = going_on()
    _going_on.set(node)


def going_on() -> Node | None:
    """Return the innermost retriever run that goes on here, None for none."""
    node = _going_on.get()
    # LangChain may tell of an end in a task of its own, from where nothing could be set back.
    while node is not None and node.ended:
        node = node.outer
    return node
