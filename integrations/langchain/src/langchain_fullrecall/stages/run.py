"""The runs of one call of a retriever, as callbacks and observers tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from fullrecall import Context


@dataclass(eq=False)
class Run:
    """One run of the framework, or one step that an observer saw inside of it.

    `contexts` are what it returned, as neutral snapshots (the ID is `Document.id`); None where it
    failed, goes on still, or returned something else. `asked` is its input. `chunk_key` is where
    the chunks of a multi-vector retriever hold the ID of their document. `outer` is the retriever
    run that went on when this one started.
    """

    name: str
    tags: Sequence[str] = ()
    kind: str = "chain"
    children: list[Run] = field(default_factory=list)
    contexts: Sequence[Context] | None = None
    failed: bool = False
    chunk_key: str | None = None
    asked: Any = None
    parent: Run | None = None
    outer: Run | None = None
    ended: bool = False

    @property
    def maps(self) -> bool:
        """Whether this asks the same retriever one question after the other: `.map()`."""
        return self.name.startswith("RunnableEach") and isinstance(self.asked, list)

    def stands_below(self, other: Run) -> bool:
        """Return whether this run was called by another one, however far above."""
        above = self.parent
        while above is not None and above is not other:
            above = above.parent
        return above is other

    def number(self, tag: str) -> int | None:
        """Return the number behind a tag of LangChain's, None where the run has no such tag."""
        numbers = (name.removeprefix(tag) for name in self.tags if name.startswith(tag))
        return next((int(number) for number in numbers if number.isdigit()), None)


_started_last: ContextVar[Run | None] = ContextVar("fullrecall_started_last", default=None)
# Observers are called with documents and nothing that would say by whom: only the context tells.


def enter(run: Run) -> None:
    """Note that a retriever run has started here: what observers see from now on belongs to it."""
    run.outer = going_on()
    _started_last.set(run)


def going_on() -> Run | None:
    """Return the innermost retriever run that goes on here, None for none."""
    run = _started_last.get()
    # LangChain may tell of an end in a task of its own, from where nothing could be set back.
    while run is not None and run.ended:
        run = run.outer
    return run
