"""A program whose steps are recorded as a translator would, with contexts as documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fullrecall import Context, Retrieval
from fullrecall.observe import Step, StepKind, StepLog, StepReading, ValueReader


class Running:
    """An open step, whose output is set before the block ends."""

    def __init__(self, step: Step) -> None:
        self.id = step.id
        self.output: Any = None
        self.error: str | None = None

    def returns(self, output: Any) -> Any:
        """Set the step's output."""
        self.output = output
        return output


class Program:
    """Steps inside of steps, as `with` blocks."""

    def __init__(self, reader: ValueReader | None = None) -> None:
        self.log = StepLog(reader or ValueReader())
        self._open: list[Any] = []
        self._number = 0
        self.root: Any = None

    @contextmanager
    def step(
        self, kind: StepKind, name: str = "", given: Any = None, **fields: Any
    ) -> Iterator[Running]:
        """Run a step below the innermost open one; an exception inside fails it and propagates."""
        self._number += 1
        number = self._number
        parent = fields.pop("parent", self._open[-1] if self._open else None)
        step = self.log.begin(number, parent, kind, name or kind, given, **fields)
        assert step is not None
        self._open.append(number)
        running = Running(step)
        try:
            yield running
        except Exception as error:
            self.log.end(number, error=f"{type(error).__name__}: {error}")
            raise
        else:
            self.log.end(number, running.output, error=running.error)
        finally:
            self._open.remove(number)

    @contextmanager
    def call(self, given: Any = None, **fields: Any) -> Iterator[Running]:
        """Run the step that is the call itself."""
        with self.step("chain", "call", given, **fields) as running:
            self.root = running.id
            yield running

    def retrieve(
        self, *documents: Any, name: str = "search", query: str = "q", **fields: Any
    ) -> list[Any]:
        """Run a retriever that returns a new list of these documents."""
        found = list(documents)
        with self.step("retriever", name, query=query, **fields) as running:
            running.returns(found)
        return found

    def fail(
        self, name: str = "search", query: str = "q", kind: StepKind = "retriever", **fields: Any
    ) -> None:
        """Run a step that fails, and swallow its exception."""
        with self.step(kind, name, query=query, **fields) as running:
            running.error = "TimeoutError: down"

    def function(
        self, name: str, given: Any, output: Any, kind: StepKind = "chain", **fields: Any
    ) -> Any:
        """Run a step that turns its input into this output."""
        with self.step(kind, name, given, **fields) as running:
            running.returns(output)
        return output

    def ask(self, *messages: str, answer: str = "an answer", **fields: Any) -> str:
        """Run a model that is sent these messages."""
        with self.step("llm", "model", prompt=list(messages), **fields) as running:
            running.returns(answer)
        return answer

    def retrieval(
        self, *, response: str | None = None, partial: str | None = None, **options: Any
    ) -> Retrieval:
        """Return the retrieval of the program."""
        reading, steps = StepReading(**options), self.log.steps
        return reading.record_of(steps, root=self.root, response=response, partial=partial)

    def ids(self, **options: Any) -> list[str | None] | None:
        """Return the IDs of the final list, or None for a program that cannot be scored."""
        found = self.retrieval(**options)
        if found.error is not None or found.contexts is None:
            return None
        return [context.id for context in found.contexts]


@pytest.fixture
def program() -> Program:
    """Return a program without steps."""
    return Program()


TEXTS = {
    "a": "Alpha rays are stopped by a single sheet of ordinary writing paper on any day.",
    "b": "Bravo company crossed the river before dawn while the bridges were still burning.",
    "c": "Charlie chaplin filmed the boxing scene in one long take without any music at all.",
    "d": "Delta sediments settle slowly wherever the current of the river loses its force.",
    "e": "Echo sounders measure the depth of water by the time that a pulse needs to return.",
}


@pytest.fixture
def doc() -> Callable[[str], Context]:
    """Make a document by its letter: each call a new object."""

    def document(letter: str) -> Context:
        return Context(TEXTS[letter], id=letter)

    return document


@pytest.fixture
def docs(doc: Any) -> dict[str, Context]:
    """Return a document for each letter."""
    return {letter: doc(letter) for letter in "abcde"}
