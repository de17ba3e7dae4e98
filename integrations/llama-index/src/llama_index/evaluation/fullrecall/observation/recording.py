"""What was noted of one call, by whichever threads and tasks it ran in."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from llama_index.evaluation.fullrecall.observation.selection import choosers
from llama_index.evaluation.fullrecall.observation.snapshots import Known
from llama_index.evaluation.fullrecall.observation.steps import Prompt, Step
from llama_index.evaluation.fullrecall.observation.strays import Claim, Problem, Stray, with_strays
from llama_index.evaluation.fullrecall.observation.trace import Evidence, Trace

_MOST_STRAYS = 1000
"""A block that is left open for long, beside an application, does not hold all of its nodes."""


class Recording:
    """The steps seen between its opening and its end.

    `root` is the attached object, None for a block; `thread` is where it was opened. `strays` are
    the recordings of what ran beside it, in threads and tasks without its context; they do not end
    before it, and are a part of it where it took over the nodes that they returned. `beside` counts
    the recordings that a stray one is beside.

    While it is open it holds every object that it has seen, so that identities stay what they
    are. It ends with the identities alone; what they tell is worked out when it is first asked.
    """

    def __init__(
        self, root: Any = None, question: str | None = None, *, is_stray: bool = False
    ) -> None:
        self.root = root
        self.question = question
        self.thread = threading.get_ident()
        self.answer: str | None = None
        self.error: str | None = None
        self.ended = False
        self.steps: dict[str, Step] = {}
        self.prompts: list[Prompt] = []
        self.problems: list[str] = []
        self.strays: list[Recording] = []
        self.claim = Claim()
        self.beside = 0
        self.known = Known()
        self._instances: dict[int, Any] = {}
        self._evidence: Evidence | None = None
        self._trace: Trace | None = None
        if is_stray:
            return
        key = id(self)
        _ongoing[key] = weakref.ref(self, lambda _: _ongoing.pop(key, None))

    def add(self, step: Step, instance: object = None) -> None:
        """Note a step of `instance`, which its `owner` identifies."""
        self.steps[step.key] = step
        if step.owner is not None:
            self._instances[step.owner] = instance

    @property
    def gap(self) -> str | None:
        """Why something that may belong to it is not recorded, None where all is."""
        problems = [text for claim, text in self.trace.problems if not claim.made]
        return next(iter([*self.problems, *problems]), None)

    def add_stray(self, stray: Recording) -> None:
        """Note what runs beside it, and may belong to it."""
        stray.beside += 1
        if len(self.strays) < _MOST_STRAYS:
            self.strays.append(stray)
        else:
            self.problems.append("too much was asked in threads or tasks without its context")

    def take_over(self, other: Recording) -> None:
        """Add the steps of a recording that has not ended, in the order in which they began."""
        steps = [*self.steps.values(), *other.steps.values()]
        self.steps = {step.key: step for step in sorted(steps, key=lambda step: step.began)}
        self._instances |= other._instances
        self.known.hold(other.known)

    @property
    def trace(self) -> Trace:
        """What is known: worked out once, after the recording has ended, and anew before."""
        # One field after the other, for whoever asks at the same time in another thread.
        evidence = self._evidence
        if self._trace is not None:
            return self._trace
        if evidence is None:
            gathered = self._gathered()
            return self.trace if self.ended else Trace(gathered)
        self._trace = Trace(evidence)
        self._evidence = None
        return self._trace

    def end(self) -> None:
        """Add nothing any more, and let go of all objects."""
        if self.ended:
            return
        self._evidence = self._gathered()
        self.ended = True
        _ongoing.pop(id(self), None)
        self.root = None
        self.steps, self.prompts, self.known, self._instances = {}, [], Known(), {}
        self.strays = []

    def _gathered(self) -> Evidence:
        steps = [step.fixed() for step in list(self.steps.values())]
        prompts, instances = list(self.prompts), list(self._instances.values())
        problems: tuple[Problem, ...] = ()
        if self.strays:
            beside = []
            for one in list(self.strays):
                fixed = [step.fixed() for step in list(one.steps.values())]
                beside.append(Stray(fixed, one.claim, one.beside == 1))
                prompts += list(one.prompts)
                instances += list(one._instances.values())  # noqa: SLF001 - of its own class
                self.problems += one.problems
            steps, problems = with_strays(steps, beside)
        root = None if self.root is None else id(self.root)
        return Evidence(steps, prompts, choosers(instances), root, problems)


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


def is_any_open() -> bool:
    """Return whether there is a recording that has not ended, of whichever context."""
    return bool(_ongoing)


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
