"""Rows of a stream of samples, with an event loop and without: two drivers of one engine.

Scores that ask no model are made one after another, as the samples come, without any loop. From
the first sample on that asks, all go through the engine.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from fullrecall.errors import RunStopped
from fullrecall.evaluation.asking import Asking
from fullrecall.evaluation.budget import opened
from fullrecall.evaluation.engine import Engine, Work, late, prepared
from fullrecall.evaluation.interrupting import Interruption
from fullrecall.evaluation.keeping import Keeper, open_keeper
from fullrecall.evaluation.limits import Limits
from fullrecall.evaluation.looping import Looping
from fullrecall.evaluation.run import as_sample_at
from fullrecall.evaluation.spending import Spending
from fullrecall.report.row import Row
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer

T = TypeVar("T")

_OWED = 0.25
_LONGEST_PAUSE = 0.05
"""What requests in flight get after reading held them up: a share of its time, at most so long."""

_AWAY_SECONDS = 0.02
"""How long samples are prepared away from a user's event loop before it gets their rows."""

_SLOW_SECONDS = 0.005
"""Reading a sample in less holds nothing up."""


def _silent() -> None:
    """Show nothing."""


@dataclass
class Run:
    """One run: what is scored how, within which limits, and what it has spent."""

    scorers: Sequence[Scorer]
    limits: Limits = field(default_factory=Limits)
    interruption: Interruption = field(default_factory=Interruption)
    beat: Callable[[], None] = _silent

    def __post_init__(self) -> None:
        self.account = opened(self.limits.budget, self.scorers)
        self.spending = Spending(cost_so_far=lambda: self.account.cost)

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, not below 0; None without one."""
        if self.limits.deadline is None:
            return None
        return max(0.0, self.limits.deadline - self.spending.seconds)

    def work(self, position: int, sample: Sample, keeper: Keeper) -> Work:
        """Return a sample prepared; one that comes after the deadline is not measured."""
        if self.seconds_left() == 0:
            return late(position, sample, self.scorers)
        return prepared(position, sample, self.scorers, keeper)


class _Reader:
    """Draws samples, counted from 1; an exception of theirs is kept until nothing is in flight."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.error: Exception | None = None
        self._samples = iter(samples)
        self._position = 0

    def draw(self) -> tuple[int, Sample] | None:
        """Return the next position and sample; None at the end, and after an exception."""
        try:
            sample = next(self._samples, None)
        except Exception as error:  # noqa: BLE001 - raised again by `_finish`
            self.error = error
            return None
        self._position += 1
        return None if sample is None else (self._position, sample)


def rows_of(samples: Iterable[Sample], run: Run) -> Iterator[Row]:
    """Yield each sample's row, in order.

    Raises `RunStopped` where a model answers nobody, `KeyboardInterrupt` where the run was asked
    to stop, and what `samples` raises: each after the rows of all samples that were read.
    """
    reader = _Reader(samples)
    with open_keeper(run.limits.store, run.spending) as keeper:
        while not run.interruption.asked and (drawn := reader.draw()) is not None:
            work = run.work(*drawn, keeper)
            if work.begun:
                yield from _side_by_side(work, reader, run, keeper)
                return
            yield work.row(run.scorers)
        _finish(run, reader.error)


def _side_by_side(first: Work, reader: _Reader, run: Run, keeper: Keeper) -> Iterator[Row]:
    with Looping() as looping:
        engine = looping.call(_engine(run, keeper))
        run.interruption.tell(lambda: looping.soon(engine.interrupt))
        try:
            yield from looping.call(engine.turn(first))
            while not engine.is_over:
                began = time.monotonic()
                if (drawn := reader.draw()) is None:
                    break
                work = run.work(*drawn, keeper)
                yield from looping.call(engine.turn(work, pause=_owed(began)))
            while rows := looping.call(engine.rest()):
                yield from rows
        finally:
            run.interruption.tell(None)
            looping.call(engine.close(connections=True))
        _finish(run, reader.error, engine.asking.stopped)


async def arows_of(
    samples: Iterable[Sample] | AsyncIterable[object], run: Run
) -> AsyncIterator[Row]:
    """Yield each sample's row, in order, in a running event loop that is never blocked.

    What computes, and what reads an iterable, does so in one thread beside the loop. Connections
    that models open in the loop stay open. Raises what `rows_of` raises.
    """
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix="fullrecall")

    async def away(function: Callable[..., T], *arguments: object) -> T:
        called = partial(contextvars.copy_context().run, function, *arguments)
        return await loop.run_in_executor(thread, called)

    try:
        with open_keeper(run.limits.store, run.spending) as keeper:
            source = _Source(samples, run, keeper, away)
            engine = await _engine(run, keeper, away)
            try:
                while not engine.is_over and (works := await source.draw()):
                    for work in works:
                        for row in await engine.turn(work):
                            yield row
                while rows := await engine.rest():
                    for row in rows:
                        yield row
            finally:
                await engine.close(connections=False)
            _finish(run, source.error, engine.asking.stopped)
    finally:
        thread.shutdown(wait=False)


class _Source:
    """Draws samples for an event loop, prepared beside it."""

    def __init__(
        self,
        samples: Iterable[Sample] | AsyncIterable[object],
        run: Run,
        keeper: Keeper,
        away: Callable[..., Awaitable[Any]],
    ) -> None:
        self._run = run
        self._keeper = keeper
        self._away = away
        self._error: Exception | None = None
        self._position = 0
        self._reader: _Reader | None = None
        if isinstance(samples, AsyncIterable):
            self._items = aiter(samples)
        else:
            self._reader = _Reader(samples)

    @property
    def error(self) -> Exception | None:
        """The exception of the samples, None where they raised none so far."""
        return self._error if self._reader is None else self._reader.error

    async def draw(self) -> list[Work]:
        """Return the next samples; none at the end, and after an exception."""
        if self._reader is not None:
            some: list[Work] = await self._away(self._some, self._reader)
            return some
        self._position += 1
        try:
            sample = as_sample_at(await anext(self._items), self._position)
        except StopAsyncIteration:
            return []
        except Exception as error:  # noqa: BLE001 - raised again by `_finish`
            self._error = error
            return []
        return [await self._away(self._run.work, self._position, sample, self._keeper)]

    def _some(self, reader: _Reader) -> list[Work]:
        """Return samples up to the first that asks, as many as can be prepared in a moment."""
        began = time.monotonic()
        works: list[Work] = []
        while (drawn := reader.draw()) is not None:
            works.append(self._run.work(*drawn, self._keeper))
            if works[-1].begun or time.monotonic() - began > _AWAY_SECONDS:
                break
        return works


async def _engine(
    run: Run, keeper: Keeper, compute: Callable[..., Awaitable[Any]] | None = None
) -> Engine:
    """Return an engine for this event loop."""
    limits = run.limits
    asking = Asking(
        max_concurrency=limits.max_concurrency,
        timeout=limits.timeout,
        retries=limits.retrying(),
        spending=run.spending,
        keeper=keeper,
        account=run.account,
        seconds_left=run.seconds_left,
    )
    return Engine(
        run.scorers,
        asking,
        keeper,
        max_concurrency=limits.max_concurrency,
        beat=run.beat,
        compute=compute,
    )


def _owed(began: float) -> float:
    """Return how long requests in flight may go on after reading since `began`."""
    took = time.monotonic() - began
    return min(_OWED * took, _LONGEST_PAUSE) if took > _SLOW_SECONDS else 0.0


def _finish(run: Run, error: Exception | None, stopped: str | None = None) -> None:
    """Raise what ended the run early, if anything did."""
    if run.interruption.asked:
        raise KeyboardInterrupt
    if stopped is not None:
        raise RunStopped(stopped)
    if error is not None:
        raise error
