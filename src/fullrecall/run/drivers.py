"""Two drivers of the engine, which take samples and yield rows: `rows_of` and `arows_of`.

`rows_of` needs no event loop. It computes scores without a model one after another, as the samples
arrive. From the first sample that needs a request on, all samples go through the engine, which is
loaded only then. `arows_of` runs in the caller's event loop; all its samples go through the engine.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fullrecall.errors import RunStopped
from fullrecall.run.limits import Limits
from fullrecall.run.work import Overdue, Run, Work
from fullrecall.samples.sample import Sample
from fullrecall.table.row import Row

if TYPE_CHECKING:
    from fullrecall.run.engine import Engine
    from fullrecall.run.ledger import Ledger
    from fullrecall.run.retrievers import RetrieverLike

T = TypeVar("T")

_READING_SECONDS = 0.02
"""The seconds for which samples are prepared; then the engine takes those that are prepared."""

_GRACE_SECONDS = 5.0
"""The seconds that a loop has to end; a call that blocks it for longer ends with the program."""


class _SampleReader:
    """Reads samples with their positions; keeps an exception until no sample is in flight."""

    def __init__(self, samples: Iterable[Sample], run: Run) -> None:
        self.error: Exception | None = None
        self._run = run
        self._samples = enumerate(run.interruption.reading(samples), start=run.first)
        self.prepared: list[Work] = []
        """The samples that the last call of `works` has prepared; the call may still go on."""

    def draw(self) -> tuple[int, Sample] | None:
        """Return the next position and sample; None at the end, and after an exception."""
        try:
            return next(self._samples, None)
        except KeyboardInterrupt:
            interruption = self._run.interruption
            if interruption.is_repeated or not (interruption.is_asked or interruption.is_late):
                raise
            self.error = Overdue()
        except Exception as error:  # noqa: BLE001 - raised again by `_finish`
            self.error = error
        return None

    def works(self, room: int = 1) -> list[Work]:
        """Prepare and return the next samples, until `room` of them make requests.

        Stops early after `_READING_SECONDS`, and after an exception.
        """
        began = time.monotonic()
        self.prepared = works = []
        while room > 0 and (drawn := self.draw()) is not None:
            works.append(self._run.work(*drawn))
            room -= works[-1].asks
            if time.monotonic() - began > _READING_SECONDS:
                break
        return works


def rows_of(samples: Iterable[Sample], run: Run) -> Generator[Row]:
    """Yield each sample's row, in order.

    Raises `RunStopped` if a model does not answer, `KeyboardInterrupt` after Ctrl-C, `Overdue` if
    reading took longer than the deadline, and any exception of `samples`. Each is raised after the
    rows of all samples that were read.
    """
    from fullrecall.run.address import opened

    reader = _SampleReader(samples, run)
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
    """Yield the rows of `first`, the first sample that makes a request, and of all later samples.

    A loop in another thread sends requests. This thread reads the samples, and calls a retriever
    that is bound to the thread in which it was created.
    """
    from asyncio import Task, wrap_future
    from concurrent.futures import Future
    from queue import SimpleQueue

    from fullrecall.judge.models.transport import Portal
    from fullrecall.run.engine import Engine
    from fullrecall.run.threads import ThreadCall

    portal = Portal()
    jobs: SimpleQueue[Row | ThreadCall[Any] | Task[None]] = SimpleQueue()

    async def here(function: Callable[[], T]) -> T:
        call = ThreadCall(function, Future())
        jobs.put(call)
        return await wrap_future(call.future)

    async def read() -> list[Work]:
        return await here(partial(reader.works, engine.room))

    async def pump() -> None:
        async for row in _rows([first], read, reader, engine):
            jobs.put(row)

    try:
        # Run the loop in its own thread: Ctrl-C then interrupts the main thread, never asyncio.
        engine = Engine(run, ledger, to_caller=here)
        try:
            run.interruption.listener = lambda: portal.soon(engine.interrupt)
            portal.begin(pump, jobs.put)
            if run.interruption.is_asked:  # interrupted before the listener was set
                portal.soon(engine.interrupt)
            while not isinstance(job := jobs.get(), Task):
                if isinstance(job, Row):
                    yield job
                else:
                    job.make()  # An exception ends the run here.
            job.result()
        finally:
            # Close connections in the loop that opened them.
            portal.call(partial(engine.close, connections=True))
    finally:
        portal.close(_GRACE_SECONDS)
    _finish(run, reader.error, engine.door.stopped)


async def _rows(
    works: list[Work],
    read: Callable[[], Awaitable[list[Work]]],
    reader: _SampleReader,
    engine: Engine,
) -> AsyncGenerator[Row]:
    """Yield the rows of `works` and of all that `read` returns, until it returns an empty list."""
    while works:
        for row in await engine.turn(works):
            yield row
        works = [] if engine.is_over or reader.error else await read()
    while rows := await engine.rest():
        for row in rows:
            yield row


async def arows_of(samples: Iterable[Sample], run: Run) -> AsyncGenerator[Row]:
    """Yield each sample's row, in order, in a running event loop that is never blocked.

    One thread reads the samples, and another one computes. Connections that models open in this
    loop stay open. Raises the exceptions of `rows_of`.
    """
    import asyncio

    from fullrecall.run.address import opened
    from fullrecall.run.engine import Engine
    from fullrecall.run.threads import Threads

    # Computing has its own thread, since the user's iterator may hang. Only one thread reads, since
    # two threads must not be in an iterator at the same time.
    threads = [Threads(1) for _ in range(2)]

    async def away(function: Callable[..., T], *arguments: object, nth: int = 0) -> T:
        return await asyncio.wrap_future(threads[nth].start(partial(function, *arguments)))

    async def read() -> list[Work]:
        works = asyncio.ensure_future(away(reader.works, nth=1))
        try:
            if (await asyncio.wait([works], timeout=run.reading_seconds))[0]:
                return works.result()
            reader.error = Overdue()
            return list(reader.prepared)
        finally:
            # Reading was canceled or is late: abandon the task; its thread may continue.
            works.cancel()

    reader = _SampleReader(samples, run)
    opening = opened(run.limits.store)
    try:
        # Open the ledger in a thread, since opening and closing wait for the disk.
        engine = Engine(run, await away(opening.__enter__), away)
        try:
            async for row in _rows(await read(), read, reader, engine):
                yield row
        finally:
            run.is_given_up = True  # This ends a long comparison in the computing thread.
            await engine.close(connections=False)
            # A canceled run, too, waits until the store has written the answers that were paid for.
            await asyncio.shield(away(opening.__exit__, None, None, None))
        _finish(run, reader.error, engine.door.stopped)
    finally:
        # Do not wait for the threads: the user's iterator may hang, and this is the user's loop.
        for thread in threads:
            thread.close()


def _finish(run: Run, error: Exception | None, stopped: str | None = None) -> None:
    """Raise the exception that ended the run early, if any."""
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
    """Yield samples, in order, each with its retrieved contexts; `Limits` describes the options."""
    from fullrecall.run.retrievers import as_retriever

    limits = Limits(max_concurrency, timeout)
    run = Run((), limits, retriever=as_retriever(retriever, k=k))
    with closing(rows_of(samples, run)) as rows:
        for row in rows:
            yield row.sample
