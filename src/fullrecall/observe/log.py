"""The log in which a framework's adapter records retrieval steps as they happen."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from threading import Lock
from time import perf_counter
from typing import Any

from fullrecall.observe.messages import users_in
from fullrecall.observe.step import Step, StepKind
from fullrecall.observe.values import ValueReader

ROOT = "root"
"""The ID of the step for the whole call, if the framework has no step for it."""


_STEP = 1500
"""The measured size of a step in bytes, without its documents and texts."""

_JUST_BEFORE = 1 / 4096
"""How much earlier a step that received a stream begins than the first step that it called.

Events have whole numbers in their order, so any part of 1 will do.
"""


class StepLog:
    """The steps of one record; any number of threads may write to it.

    `reader` copies the documents and texts of a value during the event.
    """

    def __init__(self, reader: ValueReader) -> None:
        self.reader = reader
        self._steps: dict[Hashable, Step] = {}
        # A counter replaces a clock, which may give two events the same time.
        self._moments = count(1)
        self._lock = Lock()
        self._start: float | None = None
        self._called: dict[Hashable | None, list[Step]] = {}

    @property
    def steps(self) -> list[Step]:
        """The steps so far, in the order in which they began."""
        with self._lock:
            return list(self._steps.values())

    @property
    def partial(self) -> str | None:
        """The reason why this record is partial; None if it is complete."""
        if not self.reader.is_full:
            return None
        return "the record is partial: more text passed than a record may keep"

    def step(self, id: Hashable) -> Step | None:  # noqa: A002 - the field's name
        """Return the step of this ID; None if it did not begin."""
        return self._steps.get(id)

    def begin_call(self, given: Any) -> None:
        """Record the beginning of the whole call."""
        self.begin(ROOT, None, "chain", "call", given)

    def end_call(self, output: Any, error: str | None = None) -> None:
        """Record the output of the whole call, in any form, or the reason why it failed."""
        self.end(ROOT, output, error=error)

    def begin(
        self,
        id: Hashable,  # noqa: A002
        parent: Hashable | None,
        kind: StepKind,
        name: str,
        given: Any = None,
        *,
        prompt: Any = None,
        **details: Any,
    ) -> Step | None:
        """Record the beginning of a step, with the lists in its input, `given`.

        `prompt` is the input of a model: its texts are the step's prompt. `details` are further
        fields of `Step`. Returns None if a step with this ID has already begun.
        """
        with self._lock:
            if id in self._steps:
                return None
            if self._start is None:
                self._start = perf_counter()
            step = Step(id, parent, kind, name, began=next(self._moments), **details)
            self._steps[id] = step
            self.reader.spend(_STEP)
            self._called.setdefault(parent, []).append(step)
            # Values are read under the lock: the reader's caches have no lock of their own, and
            # frameworks call from many threads.
            if given is not None and type(given) is not str:  # A text contains no lists.
                step.given = self.reader.read(given).lists
            if prompt is not None:
                sent = self.reader.read(prompt)
                step.given += sent.lists
                step.prompt = sent.texts
                step.asked = users_in(prompt)
        return step

    def end(
        self,
        id: Hashable,  # noqa: A002
        output: Any = None,
        *,
        error: str | None = None,
        given: Any = None,
    ) -> Step | None:
        """Record the end of a step, with the lists and texts of its output, or why it failed.

        `given` is the input of a step that received its input as a stream, so that it is known only
        at the end. Such a step counts as begun when its input was complete: just before the first
        step that it called, or now if the step called none. Returns None if no step with this ID is
        open.
        """
        with self._lock:
            step = self._steps.get(id)
            if step is None or step.ended is not None:
                return None
            if given is not None:
                step.given = self.reader.read(given).lists
                now = next(self._moments)
                # Take the earliest of the called steps: the first one may have waited for a stream.
                step.began = min((s.began for s in self._called.get(id, ())), default=now)
                step.began -= _JUST_BEFORE
            step.ended = next(self._moments)
            step.seconds = perf_counter() - (self._start or 0.0)
            step.error = error
            if error is None and output is not None:
                ends_call = step.parent is None and not step.retrieves
                self.reader.end(step, output, ends_call=ends_call)
        return step

    def report(
        self,
        id: Hashable,  # noqa: A002
        parent: Hashable | None,
        documents: object,
        query: str | None,
    ) -> None:
        """Record documents that the application itself reports, as a retriever's output.

        Raises `InputError` for values that cannot be read as documents.
        """
        self.begin(id, parent, "retriever", "record", query=query)
        with self._lock:
            self._steps[id].returned = (self.reader.read_documents(documents),)
        self.end(id)
