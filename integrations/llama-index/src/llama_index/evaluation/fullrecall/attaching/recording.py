"""What was noted of one call, by whichever threads and tasks it ran in."""

from __future__ import annotations

from contextvars import ContextVar

from llama_index.evaluation.fullrecall.attaching.spans import Span


class Recording:
    """The steps seen between its opening and its end; `owner` is the attached object's identity.

    It is only ever added to, by single operations on dictionaries and lists, and so needs no
    lock.
    """

    def __init__(self, owner: int | None = None, question: str | None = None) -> None:
        self.owner = owner
        self.question = question
        self.answer: str | None = None
        self.error: str | None = None
        self.ended = False
        self.spans: dict[str, Span] = {}
        self.problems: list[str] = []


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
