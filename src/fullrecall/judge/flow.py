"""The drivers of flows: `run` without an event loop, `arun` in one.

A driver takes the requests of a flow, has a function answer each `Ask`, and sends the flow the
completions. The functions at the end of this module ask the model and retry; the function in
`fullrecall.run` also limits, stores and counts requests.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from fullrecall.judge.judge import Ask, Flow
from fullrecall.judge.models.chat import Completion
from fullrecall.judge.models.failures import failed
from fullrecall.judge.models.retries import Retries, sound
from fullrecall.judge.usage import Usage

T = TypeVar("T")

Completer: TypeAlias = Callable[[Ask], Awaitable[Completion]]
"""Returns the completion for an `Ask` (a request to a model); raises only `NotAsked`."""

_SIDE_BY_SIDE = 16
"""The most requests that `ascore` sends at the same time."""


class NotAsked(Exception):  # noqa: N818 - a signal to the driver, not an error
    """Raised in place of an answer if no more requests may be sent; the score stays unmeasured.

    Its message is the reason. `requests` is the number of requests already sent for this answer.
    """

    def __init__(self, why: str, requests: int = 0) -> None:
        super().__init__(why)
        self.requests = requests


class Tally:
    """The usage of a flow's completions so far."""

    def __init__(self) -> None:
        self.usage = Usage()

    def add(self, completion: Completion) -> Completion:
        """Count a completion and return it."""
        own = completion.requests, completion.prompt_tokens, completion.completion_tokens
        self.usage = self.usage.plus(Usage(*own))
        return completion


class Done(NamedTuple, Generic[T]):
    """The end of a flow, with the value that it returned."""

    value: T


def side_by_side(flows: Sequence[Flow[T]]) -> Flow[list[T]]:
    """Merge several flows into one that runs them in step, so that their requests share batches."""
    steps: list[Sequence[Ask] | Done[T]] = []
    try:
        steps += [advance(flow, None) for flow in flows]
        while batch_of := {n: step for n, step in enumerate(steps) if not isinstance(step, Done)}:
            answers = iter((yield [ask for batch in batch_of.values() for ask in batch]))
            for number, batch in batch_of.items():
                steps[number] = advance(flows[number], [next(answers) for _ in batch])
    finally:
        # Close all flows now; otherwise the garbage collector would run their `finally` blocks at
        # any time.
        for flow in flows:
            flow.close()
    return [step.value for step in steps if isinstance(step, Done)]


def advance(flow: Flow[T], answers: Sequence[Completion] | None) -> Sequence[Ask] | Done[T]:
    """Send a flow its answers (None to begin); return its next requests, or its value as `Done`."""
    try:
        return next(flow) if answers is None else flow.send(answers)
    except StopIteration as end:
        return Done(end.value)


def run(flow: Flow[T]) -> tuple[T, Usage]:
    """Run a flow to its end, one request after another; return its value and its usage.

    Requests with a temporary failure are sent again, as `Retries()` says.
    """
    retries, tally = Retries(), Tally()
    try:
        step = advance(flow, None)
        while not isinstance(step, Done):
            step = advance(flow, [tally.add(ask.known or _completed(ask, retries)) for ask in step])
        return step.value, tally.usage
    finally:
        flow.close()


async def arun(
    flow: Flow[T],
    answer: Completer | None = None,
    *,
    step: Sequence[Ask] | Done[T] | None = None,
    compute: Callable[..., Awaitable[Sequence[Ask] | Done[T]]] | None = None,
    tally: Tally | None = None,
) -> tuple[T, Usage]:
    """Run a flow to its end, each batch concurrently; return its value and its usage.

    `answer` returns the completion of an `Ask`; by default it asks the model, with `Retries()`.
    `step` is the current batch of a flow that has already begun. `compute` runs a function outside
    the event loop; by default the flow runs inside the loop. `tally` counts the completions, even
    if this function raises.
    """
    answer = answer or _limited_answer()
    tally = tally or Tally()
    try:
        step = step if step is not None else advance(flow, None)
        while not isinstance(step, Done):
            if len(step) == 1:  # most batches: one request needs no task
                answers = [tally.add(await answer(step[0]))]
            else:
                answers = await _batch(step, answer, tally)
            step = await compute(advance, flow, answers) if compute else advance(flow, answers)
        return step.value, tally.usage
    finally:
        flow.close()


async def _batch(batch: Sequence[Ask], answer: Completer, tally: Tally) -> list[Completion]:
    import asyncio

    async def outcome(ask: Ask) -> Completion | NotAsked:
        try:
            return tally.add(await answer(ask))
        except NotAsked as refusal:
            # The other requests were sent and may be charged, so wait for their answers.
            return refusal

    answers = await asyncio.gather(*map(outcome, batch))
    refusals = [answer for answer in answers if isinstance(answer, NotAsked)]
    if refusals:
        raise NotAsked(str(refusals[0]), sum(refusal.requests for refusal in refusals))
    return [answer for answer in answers if not isinstance(answer, NotAsked)]


def _limited_answer() -> Completer:
    """Return a completer that retries temporary failures and limits concurrent requests."""
    import asyncio

    slots = asyncio.Semaphore(_SIDE_BY_SIDE)
    retries = Retries()

    async def answer(ask: Ask) -> Completion:
        if ask.known is not None:
            return ask.known
        for sent in count(1):
            # Leave the slot free during the wait, so that a pause of one endpoint delays no other.
            async with slots:
                try:
                    completion = sound(await ask.model.acomplete(ask.request))
                except Exception as error:  # noqa: BLE001 - any exception is a failure
                    completion = failed(error)
            wait = retries.wait(sent, completion)
            if wait is None:
                break
            await asyncio.sleep(wait)
        return counted(completion, sent)

    return answer


def _completed(ask: Ask, retries: Retries) -> Completion:
    for sent in count(1):
        try:
            completion = sound(ask.model.complete(ask.request))
        except Exception as error:  # noqa: BLE001 - any exception is a failed request
            completion = failed(error)
        wait = retries.wait(sent, completion)
        if wait is None:
            break
        time.sleep(wait)
    return counted(completion, sent)


def counted(completion: Completion, sent: int) -> Completion:
    """Return the last completion, with the number of requests sent for it."""
    return completion if sent == 1 else replace(completion, requests=sent)
