"""Rows of a stream of samples, with an event loop and without: two drivers of one engine.

Scores that ask no model are made one after another, as the samples come, without any loop. From
the first sample on that asks, all go through the engine. What asks is loaded where something does.
"""

from __future__ import annotations

import contextvars
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fullrecall.errors import RunStopped
from fullrecall.run.limits import Limits
from fullrecall.run.work import Run, Work
from fullrecall.samples.sample import Sample
from fullrecall.table.row import Row

if TYPE_CHECKING:
    from fullrecall.run.engine import Engine
    from fullrecall.run.ledger import Ledger
    from fullrecall.run.retrievers import RetrieverLike
    from fullrecall.samples.retrieval import Retrieval

T = TypeVar("T")

_READING_SECONDS = 0.02
"""How long samples are prepared before they are in flight, and rows are returned."""


_GRACE_SECONDS = 5.0
"""What a loop gets to end: something that blocks it ends with the program."""


class _SampleReader:
    """Draws samples with their positions; keeps an exception of theirs until none is in flight."""

    def __init__(self, samples: Iterable[Sample], first: int) -> None:
        self.error: Exception | None = None
        self._samples = enumerate(samples, start=first)

    def draw(self) -> tuple[int, Sample] | None:
        """Return the next position and sample; None at the end, and after an exception."""
        try:
            return next(self._samples, None)
        except Exception as error:  # noqa: BLE001 - raised again by `_finish`
            self.error = error
            return None

    def works(self, run: Run, room: int = 1) -> list[Work]:
        """Return the next samples prepared, until `room` of them ask or a moment has passed."""
        began = time.monotonic()
        works: list[Work] = []
        while room > 0 and (drawn := self.draw()) is not None:
            works.append(run.work(*drawn))
            room -= works[-1].asks
            if time.monotonic() - began > _READING_SECONDS:
                break
        return works


def rows_of(samples: Iterable[Sample], run: Run) -> Generator[Row]:
    """Yield each sample's row, in order.

    Raises `RunStopped` where a model answers nobody, `KeyboardInterrupt` where the run was asked
    to stop, and what `samples` raises: each after the rows of all samples that were read.
    """
    from fullrecall.run.address import opened

    reader = _SampleReader(samples, run.first)
    with opened(run.limits.store) as ledger:
        while not run.interruption.is_asked and (drawn := reader.draw()) is not None:
            work = run.work(*drawn)
            if work.asks:
                yield from _side_by_side(work, reader, run, ledger)
                return
            yield work.row(run.scorers)
        _finish(run, reader.error)


def _side_by_side(
    first: Work, reader: _SampleReader, run: Run, ledger: Ledger | None
) -> Iterator[Row]:
    """Yield the rows from the first sample on that asks: requests go on in a loop beside this."""
    from fullrecall.judge.models.transport import Portal

    portal = Portal()
    try:
        # The loop has a thread of its own: Ctrl-C strikes in the main thread, never inside asyncio.
        engine = portal.call(_engine, run, ledger)
        works = [first]
        try:
            with run.interruption.heard_by(lambda: portal.soon(engine.interrupt)):
                while works:
                    yield from portal.call(engine.turn, works)
                    while _made_calls(run, engine):
                        yield from portal.call(engine.turn, [])
                    works = [] if engine.is_over else reader.works(run, engine.room)
                while not engine.is_empty:
                    yield from portal.call(engine.rest)
                    _made_calls(run, engine)
        finally:
            # Connections end with the loop that opened them.
            portal.call(partial(engine.close, connections=True))
    finally:
        portal.close(_GRACE_SECONDS)
    _finish(run, reader.error, engine.door.stopped)


def _made_calls(run: Run, engine: Engine) -> bool:
    """Make the calls that only this thread can make; return whether there were any."""
    # Those that are there now: the loop's thread adds others meanwhile, for the next turn.
    calls = list(engine.callers_calls)
    for call in calls:
        engine.callers_calls.popleft()
        if not run.interruption.is_asked:
            call.made()()  # what it raises beyond an error ends the run here, where it is called
    return bool(calls)


async def arows_of(samples: Iterable[Sample], run: Run) -> AsyncGenerator[Row]:
    """Yield each sample's row, in order, in a running event loop that is never blocked.

    What computes, and what reads samples, does so in one thread beside the loop. Connections that
    models open in the loop stay open. Raises what `rows_of` raises.
    """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from fullrecall.run.address import opened

    loop = asyncio.get_running_loop()
    # One thread: an iterator of the user's must not be entered by two.
    thread = ThreadPoolExecutor(1, thread_name_prefix="fullrecall")

    async def away(function: Callable[..., T], *arguments: object) -> T:
        called = partial(contextvars.copy_context().run, function, *arguments)
        return await loop.run_in_executor(thread, called)

    reader = _SampleReader(samples, run.first)
    opening = opened(run.limits.store)
    try:
        # Away from the loop: opening and closing a ledger wait for the disk.
        engine = await _engine(run, await away(opening.__enter__), away)
        try:
            while not engine.is_over and (works := await away(reader.works, run)):
                for row in await engine.turn(works):
                    yield row
            while rows := await engine.rest():
                for row in rows:
                    yield row
        finally:
            run.is_given_up = True  # the thread may be at a long comparison
            await engine.close(connections=False)
            # A cancelled run still writes what was paid for.
            await asyncio.shield(away(opening.__exit__, None, None, None))
        _finish(run, reader.error, engine.door.stopped)
    finally:
        # Without waiting: what reads samples may hang, and this is the user's loop.
        thread.shutdown(wait=False)


async def _engine(
    run: Run, ledger: Ledger | None, compute: Callable[..., Awaitable[Any]] | None = None
) -> Engine:
    """Return an engine for this event loop."""
    from fullrecall.run.engine import Engine

    return Engine(run, ledger, compute)


def _finish(run: Run, error: Exception | None, stopped: str | None = None) -> None:
    """Raise what ended the run early, if anything did."""
    if run.interruption.is_asked:
        raise KeyboardInterrupt
    if stopped is not None:
        raise RunStopped(stopped)
    if error is not None:
        raise error


def retrieved(
    samples: Iterable[Sample],
    retriever: RetrieverLike,
    k: int | None = None,
    max_concurrency: int = 16,
    timeout: float | None = 60.0,
) -> Generator[Sample]:
    """Yield samples, in order, with what a retriever returns for each, within these `Limits`."""
    from fullrecall.run.retrievers import as_retriever

    limits = Limits(max_concurrency, timeout)
    run = Run((), limits, retriever=as_retriever(retriever, k=k))
    with closing(rows_of(samples, run)) as rows:
        for row in rows:
            yield row.sample


class Inquiry:
    """Asks a retriever for `k` contexts at a time, in the way in which `evaluate` asks it.

    What it takes is what `evaluate(retriever=…)` takes. Raises `ParameterError` for anything else.
    """

    def __init__(self, retriever: RetrieverLike, k: int | None = None) -> None:
        self._waiting: deque[Sample] = deque()
        # Each is drawn when it is asked, never ahead.
        samples = iter(self._waiting.popleft, None)
        self._answered = retrieved(samples, retriever, k, max_concurrency=1, timeout=None)

    def ask(self, sample: Sample) -> Retrieval:
        """Return what is retrieved for a sample, or an error that says why nothing is."""
        self._waiting.append(sample)
        retrieval = next(self._answered).retrieval
        assert retrieval is not None  # noqa: S101 - each sample comes back with one
        return retrieval

    def close(self) -> None:
        """End what the retriever was asked in."""
        self._answered.close()
