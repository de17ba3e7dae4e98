"""Steps that ran beside a call, in threads and tasks that do not know that they belong to it.

A thread starts with an empty context, and a task with that of whoever started it, which may have
been before the call. What they retrieve is in no recording, and a record without it would look
complete. So it has one of its own, a stray one, which the recordings that it may
belong to hold: it is a part of those whose steps took over the very objects that it returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import NamedTuple, TypeAlias

from llama_index.evaluation.fullrecall.observation.steps import Kind, Step


class Claim:
    """Whether a recording is known that a stray one is a part of."""

    made = False


class Stray(NamedTuple):
    """The steps of a stray recording, the outermost first.

    `is_alone` says that only one recording was under way that it may be a part of.
    """

    steps: Sequence[Step]
    claim: Claim
    is_alone: bool


Problem: TypeAlias = tuple[Claim, str]
"""What makes a record incomplete, unless the stray turns out to be a part of another one."""


def with_strays(
    steps: Sequence[Step], strays: Iterable[Stray]
) -> tuple[list[Step], tuple[Problem, ...]]:
    """Return steps with those of the strays that are a part of them, and a problem of each other.

    That is where a tool returned nodes that the stray had returned, or a step was given them. A
    stray that found nothing, and may belong to nobody else, is a part of a tool that returned an
    empty list meanwhile. One that has not ended yet is none: nobody has had its nodes.
    """
    known, before = list(steps), -1
    left = [one for one in strays if one.steps and one.steps[0].ended is not None]
    while len(left) != before:  # one may have its nodes taken over by another one
        before = len(left)
        for stray in list(left):
            taker = _taker(stray, known)
            if taker is None:
                continue
            stray.claim.made = True
            left.remove(stray)
            parent = taker.key if taker.kind is Kind.TOOL else taker.parent
            keys = {step.key for step in stray.steps}
            known += [
                step if step.parent in keys else _inside(step, parent) for step in stray.steps
            ]
    known.sort(key=lambda step: step.began)
    return known, tuple(_problem(stray, known) for stray in left)


def _taker(stray: Stray, known: Sequence[Step]) -> Step | None:
    """Return the step, if any, that took over what a stray had returned."""
    objects = {
        own for step in stray.steps if step.handed is not None for own in step.handed.objects
    }
    first = stray.steps[0]
    is_empty = not objects and stray.is_alone and _found_nothing(first)
    for step in known:
        if step.kind is Kind.TOOL:
            if not objects.isdisjoint(step.returned) or (is_empty and _found_nothing(step, first)):
                return step
        elif step.given is not None and not objects.isdisjoint(step.given.objects):
            return step
    return None


def _found_nothing(step: Step, during: Step | None = None) -> bool:
    """Return whether a step returned an empty list, at a time that another one is within."""
    if step.handed is None or step.handed.items or step.ended is None:
        return False
    return during is None or (
        during.ended is not None and step.began < during.began and during.ended < step.ended
    )


def _inside(step: Step, parent: str | None) -> Step:
    inside = copy(step)
    inside.parent = parent
    return inside


def _problem(stray: Stray, steps: Sequence[Step]) -> Problem:
    first = stray.steps[0]
    text = (
        f"{first.name} was asked in a thread without the call's context, or in a task without it, "
        "which cannot be recorded: start a thread with contextvars.copy_context().run or "
        "asyncio.to_thread, start the task inside the call, and let one task alone advance a "
        "generator that holds a block open"
    )
    tools = {
        step.name
        for step in steps
        if step.kind is Kind.TOOL and step.began < first.began
        if step.ended is None or first.began < step.ended
    }
    if tools:
        text += (
            "; LlamaIndex before 0.14.22 starts the plain function of a tool "
            f"({', '.join(sorted(tools))}) without it: declare it with async def, or let it return "
            "the nodes and ask one question at a time"
        )
    return stray.claim, text
