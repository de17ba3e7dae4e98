"""What ran in a thread or a task without its call's context, and whether the call used it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from fullrecall.steps import Step


class Claim:
    """Whether a record is known that a stray is a part of; all that may be share it."""

    is_claimed = False


Problem: TypeAlias = tuple[Claim, str]
"""Why a record may be partial, unless the stray turns out to be a part of another one."""


def with_strays(
    steps: Sequence[Step], strays: Mapping[str, Claim]
) -> tuple[list[Step], tuple[Problem, ...]]:
    """Return the steps of a call, and why its record may be partial.

    A stray is a part of the call if the call handled the very nodes that it returned. Any other
    one may be a part, or somebody else's.
    """
    if not strays:
        return list(steps), ()
    outermost: dict[Hashable, Hashable] = {}
    for step in steps:
        if step.id in strays:
            outermost[step.id] = step.id
        elif step.parent in outermost:
            outermost[step.id] = outermost[step.parent]
    own_steps = [step for step in steps if step.id not in outermost]
    left = [step for step in steps if step.id in strays and step.ended is not None]
    adopted = True
    while adopted:  # a stray may have its nodes taken over by another one
        adopted = False
        for stray in list(left):
            users = [step for step in own_steps if _uses(step, stray)]
            if users:
                below = [s for s in steps if outermost.get(s.id) == stray.id]
                parent = _caller(stray, users)
                own_steps += [replace(s, parent=parent) if s is stray else s for s in below]
                left.remove(stray)
                strays[str(stray.id)].is_claimed = True
                adopted = True
    return own_steps, tuple((strays[str(stray.id)], _problem(stray)) for stray in left)


def _uses(step: Step, stray: Step) -> bool:
    own = {copy.token for each in stray.returned for copy in each.documents} - {0}
    used = {copy.token for each in (*step.given, *step.returned) for copy in each.documents}
    return not own.isdisjoint(used)


def _caller(stray: Step, users: Sequence[Step]) -> Hashable:
    """Return the innermost step during which a stray ran and that used it, or one beside it."""
    around = [
        step
        for step in users
        if step.began < stray.began and (step.ended is None or step.ended > (stray.ended or 0))
    ]
    return around[-1].id if around else users[0].parent


def _problem(stray: Step) -> str:
    return (
        f"the call was not recorded completely: {stray.name} was asked in a thread without the "
        "call's context, or in a task without it, which cannot be recorded: start a thread with "
        "contextvars.copy_context().run or asyncio.to_thread, start the task inside the call, and "
        "let one task alone advance a generator that holds a block open"
    )
