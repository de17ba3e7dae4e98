"""The two drivers of flows: one algorithm, run with or without an event loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fullrecall.judges.protocols import Ask, Completion, Failure, Flow
from fullrecall.usage import Usage

T = TypeVar("T")


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


def run(flow: Flow[T]) -> tuple[T, Usage]:
    """Run a flow to its end, one request after another; return its value and what it cost."""
    usage = Usage()
    try:
        batch = next(flow)
        while True:
            completions = [_complete(ask) for ask in batch]
            usage = usage.plus(_cost(completions))
            batch = flow.send(completions)
    except StopIteration as end:
        return end.value, usage
    finally:
        flow.close()


async def arun(flow: Flow[T], *, max_concurrency: int = 16) -> tuple[T, Usage]:
    """Run a flow to its end, the requests of a batch side by side, at most `max_concurrency`."""
    import asyncio

    usage = Usage()
    gate = asyncio.Semaphore(max_concurrency)

    async def complete(ask: Ask) -> Completion:
        async with gate:
            return await _acomplete(ask)

    try:
        batch = next(flow)
        while True:
            completions = await asyncio.gather(*map(complete, batch))
            usage = usage.plus(_cost(completions))
            batch = flow.send(completions)
    except StopIteration as end:
        return end.value, usage
    finally:
        flow.close()


def _complete(ask: Ask) -> Completion:
    try:
        return ask.model.complete(ask.request)
    except Exception as error:  # noqa: BLE001 - whatever a client raises is a failed request
        return _failed(error)


async def _acomplete(ask: Ask) -> Completion:
    try:
        return await ask.model.acomplete(ask.request)
    except Exception as error:  # noqa: BLE001 - whatever a client raises is a failed request
        return _failed(error)


def _failed(error: Exception) -> Completion:
    return Completion("", failure=Failure.TRANSPORT, detail=f"{type(error).__name__}: {error}")


def _cost(completions: Sequence[Completion]) -> Usage:
    return Usage(
        len(completions),
        sum(completion.prompt_tokens or 0 for completion in completions),
        sum(completion.completion_tokens or 0 for completion in completions),
    )
