"""Nodes and doubles that several tests of the evaluator use."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.schema import NodeWithScore

from fullrecall import Sample
from fullrecall.scorers import Method, Result, Status

QUESTION = "Where in Paris does the Eiffel Tower stand?"

PLACE = "The Eiffel Tower stands in Paris."

Nodes: TypeAlias = Callable[..., list[NodeWithScore]]


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        asyncio.run(test(*arguments, **fixtures))  # type: ignore[arg-type]

    return run


class OnlyScore:
    """A user's own scorer with only the protocol's members, which may raise."""

    method = Method("own")

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls = 0
        self.threads: set[int] = set()

    def score(self, sample: Sample) -> Result:
        """Count the call and the thread, then raise or answer."""
        self.calls += 1
        self.threads.add(threading.get_ident())
        if self.error is not None:
            raise self.error
        return Result(self.method, Status.UNDEFINED, note="scored by the user's own")


class Answer(BaseModel):
    """A structured answer with a field of its own that is named like the response's."""

    city: str
    source_nodes: tuple[str, ...] = ()


async def tokens() -> Any:
    """Stream an answer."""
    yield "Paris"
