"""The two drivers of flows: one algorithm, run with or without an event loop.

A driver gets its answers from a function of an `Ask`. Those at the end of this module ask the
model and try again; `fullrecall.evaluation` has one that also limits, stores and counts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from fullrecall.judges.protocols import Ask, Completion, Flow
from fullrecall.judges.retrying import Attempt, Retries
from fullrecall.usage import Usage

T = TypeVar("T")

Answer: TypeAlias = Callable[[Ask], Awaitable[Completion]]
"""What gets a completion for an ask. It raises nothing but `NotAsked`."""

_SIDE_BY_SIDE = 16
"""How many requests of one batch `ascore` sends at a time."""


class NotAsked(Exception):  # noqa: N818 - a signal from whoever answers to the driver, no error
    """No request was sent, and why: what was to rest on it is not measured in this run."""


class Done(NamedTuple, Generic[T]):
    """A flow has come to its end, with this value."""

    value: T


def side_by_side(flows: Sequence[Flow[T]]) -> Flow[list[T]]:
    """Return one flow that runs several in step, so that their requests share batches."""
    values: dict[int, T] = {}
    waiting: dict[int, Sequence[Ask]] = {}

    def advance(position: int, answers: Sequence[Completion] | None) -> None:
        flow = flows[position]
        try:
            waiting[position] = next(flow) if answers is None else flow.send(answers)
        except StopIteration as end:
            values[position] = end.value

    try:
        for position in range(len(flows)):
            advance(position, None)
        while waiting:
            asked, waiting = waiting, {}
            completions = iter((yield [ask for batch in asked.values() for ask in batch]))
            for position, batch in asked.items():
                advance(position, [next(completions) for _ in batch])
    finally:
        for flow in flows:
            flow.close()
    return [values[position] for position in range(len(flows))]


def advance(flow: Flow[T], answers: Sequence[Completion] | None) -> Sequence[Ask] | Done[T]:
    """Send a flow its answers, None to begin; return what it asks next, or its value."""
    try:
        return next(flow) if answers is None else flow.send(answers)
    except StopIteration as end:
        return Done(end.value)


def run(flow: Flow[T], *, retries: Retries | None = None) -> tuple[T, Usage]:
    """Run a flow to its end, one request after another; return its value and its usage.

    What fails for the moment is sent again, as `Retries()` says unless others are given.
    """
    retries = retries or Retries()
    usage = Usage()
    try:
        step = advance(flow, None)
        while not isinstance(step, Done):
            answers = [ask.known or retries.tried(partial(_tried, ask)).completion for ask in step]
            usage = usage.plus(usage_of(answers))
            step = advance(flow, answers)
        return step.value, usage
    finally:
        flow.close()


async def arun(
    flow: Flow[T],
    answer: Answer | None = None,
    *,
    step: Sequence[Ask] | Done[T] | None = None,
    compute: Callable[..., Awaitable[Sequence[Ask] | Done[T]]] | None = None,
) -> tuple[T, Usage]:
    """Run a flow to its end, the requests of a batch side by side; return what `run` does.

    `answer` gets the completions, by default from the model, with `Retries()`. `step` is where
    the flow stands if it was begun. `compute` runs a function away from the event loop; by
    default the flow computes in it.
    """
    answer = answer or _limited(_SIDE_BY_SIDE)
    usage = Usage()
    try:
        step = step if step is not None else advance(flow, None)
        while not isinstance(step, Done):
            answers = await _answers(step, answer)
            usage = usage.plus(usage_of(answers))
            step = await compute(advance, flow, answers) if compute else advance(flow, answers)
        return step.value, usage
    finally:
        flow.close()


def usage_of(completions: Sequence[Completion]) -> Usage:
    """Return what completions cost when they were made."""
    return Usage(
        len(completions),
        sum(completion.prompt_tokens or 0 for completion in completions),
        sum(completion.completion_tokens or 0 for completion in completions),
    )


async def _answers(batch: Sequence[Ask], answer: Answer) -> list[Completion]:
    if len(batch) == 1:
        return [await answer(batch[0])]
    import asyncio

    async def one(ask: Ask) -> Completion | NotAsked:
        try:
            return await answer(ask)
        except NotAsked as why:
            # The others are on their way and may be paid for: they are to arrive.
            return why

    answers = []
    for each in await asyncio.gather(*map(one, batch)):
        if isinstance(each, NotAsked):
            raise each
        answers.append(each)
    return answers


def _limited(side_by_side: int) -> Answer:
    import asyncio

    gate = asyncio.Semaphore(side_by_side)
    retries = Retries()

    async def answer(ask: Ask) -> Completion:
        if ask.known is not None:
            return ask.known

        async def once() -> Attempt:
            async with gate:
                return await _atried(ask)

        return (await retries.atried(once)).completion

    return answer


def _tried(ask: Ask) -> Attempt:
    try:
        return Attempt.of(ask.model.complete(ask.request))
    except Exception as error:  # noqa: BLE001 - whatever a client raises is a failed request
        return Attempt.failed(error)


async def _atried(ask: Ask) -> Attempt:
    try:
        return Attempt.of(await ask.model.acomplete(ask.request))
    except Exception as error:  # noqa: BLE001 - whatever a client raises is a failed request
        return Attempt.failed(error)
