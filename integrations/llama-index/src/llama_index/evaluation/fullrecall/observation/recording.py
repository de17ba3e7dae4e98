"""What was noted of one call, by whichever threads and tasks it ran in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from llama_index.evaluation.fullrecall.observation.snapshots import Known
from llama_index.evaluation.fullrecall.observation.steps import Prompt, Step
from llama_index.evaluation.fullrecall.observation.trace import Trace


class Recording:
    """The steps seen between its opening and its end; `root` is the attached object.

    While it is open it holds every object that it has seen, so that identities stay what they
    are. At its end the steps become a `Trace`, which holds none.
    """

    def __init__(self, root: Any = None, question: str | None = None) -> None:
        self.root = root
        self.question = question
        self.answer: str | None = None
        self.error: str | None = None
        self.ended = False
        self.steps: dict[str, Step] = {}
        self.prompts: list[Prompt] = []
        self.problems: list[str] = []
        self.known: Known = {}
        self._trace: Trace | None = None

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
        self.root = None
        self.steps, self.prompts, self.known = {}, [], {}


recordings: ContextVar[tuple[Recording, ...]] = ContextVar("fullrecall_recordings", default=())
"""The recordings that the current call belongs to, outermost first.

LlamaIndex hands context variables on to its own threads, tasks and workflow steps, so that calls
that run at the same time keep apart.
"""


def open_recordings() -> list[Recording]:
    """Return the recordings of the current call that have not ended.

    A task that a call started may outlive it: what it does later is none of the call's.
    """
    return [recording for recording in recordings.get() if not recording.ended]


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record nothing in the block: a judge's requests are none of the application's."""
    token = recordings.set(())
    try:
        yield
    finally:
        recordings.reset(token)
