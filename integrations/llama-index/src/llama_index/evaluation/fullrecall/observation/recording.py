"""What was noted of one call, by whichever threads and tasks it ran in."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from llama_index.evaluation.fullrecall.observation.snapshots import Known
from llama_index.evaluation.fullrecall.observation.steps import Prompt, Step
from llama_index.evaluation.fullrecall.observation.trace import Trace


class Recording:
    """The steps seen between its opening and its end.

    `root` is the attached object, None for a block; `thread` is where it was opened.

    While it is open it holds every object that it has seen, so that identities stay what they
    are. At its end the steps become a `Trace`, which holds none.
    """

    def __init__(self, root: Any = None, question: str | None = None) -> None:
        self.root = root
        self.question = question
        self.thread = threading.get_ident()
        self.answer: str | None = None
        self.error: str | None = None
        self.ended = False
        self.steps: dict[str, Step] = {}
        self.prompts: list[Prompt] = []
        self.problems: list[str] = []
        self.known: Known = {}
        self._trace: Trace | None = None
        key = id(self)
        _ongoing[key] = weakref.ref(self, lambda _: _ongoing.pop(key, None))

    @property
    def trace(self) -> Trace:
        """What is known: built once the recording has ended, and anew each time before."""
        if self._trace is not None:
            return self._trace
        return Trace(list(self.steps.values()), list(self.prompts), self.root)

    def end(self) -> None:
        """Add nothing any more: build the trace, and let go of all objects."""
        if self.ended:
            return
        self._trace = self.trace
        self.ended = True
        _ongoing.pop(id(self), None)
        self.root = None
        self.steps, self.prompts, self.known = {}, [], {}


_ongoing: dict[int, weakref.ref[Recording]] = {}
"""The recordings of this process that have not ended, by identity."""

recordings: ContextVar[tuple[Recording, ...] | None] = ContextVar(
    "fullrecall_recordings", default=None
)
"""The recordings that the current call belongs to, outermost first; None in a context that never
had any, as in a new thread.

LlamaIndex hands context variables on to its own threads, tasks and workflow steps, so that calls
that run at the same time keep apart.
"""


def open_recordings() -> list[Recording]:
    """Return the recordings of the current call that have not ended.

    A task that a call started may outlive it: what it does later is none of the call's.
    """
    return [recording for recording in recordings.get() or () if not recording.ended]


def is_anyones() -> bool:
    """Return whether this may be a step of a recording of another context: this one had none."""
    return bool(_ongoing) and recordings.get() is None


def ongoing() -> list[Recording]:
    """Return the recordings that have not ended, of whichever context."""
    found = [held() for held in list(_ongoing.values())]
    return [recording for recording in found if recording is not None]


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record nothing in the block: a judge's requests are none of the application's."""
    token = recordings.set(())
    try:
        yield
    finally:
        recordings.reset(token)
