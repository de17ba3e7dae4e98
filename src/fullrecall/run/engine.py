"""The engine: many samples in flight, with their rows in the order of the samples.

The engine takes samples one by one and returns the rows that are ready. It does not read samples
itself, so that drivers can read them with or without an event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

from fullrecall._util.pieces import watch
from fullrecall.judge.flow import NotAsked, Tally, arun
from fullrecall.judge.usage import Usage
from fullrecall.run.asker import Asker
from fullrecall.run.ledger import Ledger
from fullrecall.run.request import Door
from fullrecall.run.work import Begun, Run, Work, raised, unscored
from fullrecall.table.row import Row

_GRACE_SECONDS = 5.0
"""The seconds that canceled requests and calls have to end."""

_AHEAD = 64
"""The most samples that the engine keeps, for each request that may be in flight. A finished sample
is kept until the rows of all earlier samples are ready."""


class Engine:
    """Asks the retriever and runs the flows of many samples, in one event loop.

    If the loop belongs to the caller, `compute` runs a function outside the loop. Otherwise,
    `to_caller` runs a function in the caller's thread.
    """

    def __init__(
        self,
        run: Run,
        ledger: Ledger | None,
        compute: Callable[..., Awaitable[Any]] | None = None,
        to_caller: Callable[[Callable[[], Any]], Awaitable[Any]] | None = None,
    ) -> None:
        self.door = Door(run, ledger)
        self._run = run
        self._most = run.limits.in_flight
        # Samples are read before there is room for them, so that one begins at once when another
        # ends. Otherwise connections would be idle, and threads would switch more often.
        self._ahead = self._most // 2
        self._compute = compute
        self._asker = None if run.retriever is None else Asker(run.retriever, run, to_caller)
        self._works: deque[Work] = deque()
        self._waiting: deque[Work] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._interrupted = False
        self._error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        """Whether the engine takes no more samples."""
        return self._interrupted or self.door.stopped is not None

    def interrupt(self) -> None:
        """Cancel the samples in flight; `rest` then returns the remaining rows."""
        self._interrupted = True
        for task in self._running:
            task.cancel()
        self._changed.set()

    @property
    def room(self) -> int:
        """The number of samples that may be added, either to be in flight or to wait."""
        return self._most + self._ahead - len(self._running) - len(self._waiting)

    async def turn(self, works: Sequence[Work]) -> list[Row]:
        """Take more samples; once there is room for another one, return the ready rows."""
        self._works.extend(works)
        self._waiting.extend(work for work in works if work.asks)
        self._begin_waiting()
        rows = self._ready()
        while not self._interrupted and not self._has_room:
            await self._change()
            rows += self._ready()
        return rows

    async def rest(self) -> list[Row]:
        """Return the next rows after all samples have been taken; an empty list if none is left."""
        while not self._interrupted and self._works and not self._works[0].is_done:
            await self._change()
        if not self._interrupted:
            return self._ready()
        await self._ended()
        # Rows come in order, so no row may follow a sample that has no retrieval yet.
        retrieved = takewhile(lambda work: work.is_retrieved, self._works)
        rows = [work.row(self._run.scorers) for work in retrieved]
        self._works.clear()
        return rows

    async def close(self, *, connections: bool) -> None:
        """Cancel the samples in flight; if `connections`, close the models' connections too."""
        self.interrupt()
        await self._ended()
        if self._asker is not None:
            self._asker.close()
        await self.door.close(connections=connections)

    async def _ended(self) -> None:
        for work in self._waiting:
            for begun in work.begun:
                begun.flow.close()
        if self._running:
            await asyncio.wait(self._running, timeout=_GRACE_SECONDS)

    @property
    def _has_room(self) -> bool:
        return self.room > self._ahead // 2 and len(self._works) < self._most * _AHEAD

    async def _change(self) -> None:
        # If a task has already failed, raise its exception without waiting for another event.
        if self._error is None:
            self._changed.clear()
            await self._changed.wait()
        if self._error is not None:
            raise self._error

    def _ready(self) -> list[Row]:
        rows = []
        while self._works and self._works[0].is_done:
            rows.append(self._works.popleft().row(self._run.scorers))
        return rows

    def _begin_waiting(self) -> None:
        is_over = self._interrupted or self._error is not None
        while self._waiting and len(self._running) < self._most and not is_over:
            work = self._waiting.popleft()
            work.task = asyncio.create_task(self._carried_out(work))
            self._running.add(work.task)
            work.task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            self._error = self._error or task.exception()
        self._begin_waiting()
        self._changed.set()

    async def _carried_out(self, work: Work) -> None:
        """Retrieve for a sample, if there is a retriever, and run its flows."""
        watch(self._run.check)
        if not work.is_retrieved and self._asker is not None:
            sample = await self._asker.ask(work.sample)
            prepare = partial(self._run.prepared, work.position, sample)
            prepared = await self._compute(prepare) if self._compute else prepare()
            work.take(prepared)
        # `gather` creates a task for each flow; a single flow runs in the current task.
        if len(work.begun) == 1:
            await self._judge(work, work.begun[0])
        else:
            await asyncio.gather(*(self._judge(work, begun) for begun in work.begun))

    async def _judge(self, work: Work, begun: Begun) -> None:
        """Run one flow to its end; add the usage of its requests to its result."""
        scorer, tally = begun.scorer, Tally()
        try:
            result, _ = await arun(
                begun.flow,
                self.door.answer,
                step=begun.asks,
                compute=self._compute,
                tally=tally,
            )
            result = replace(result, usage=tally.usage)
        except NotAsked as why:
            usage = tally.usage.plus(Usage(why.requests))
            result = replace(unscored(scorer, str(why)), usage=usage)
        except Exception as error:  # noqa: BLE001 - whatever a user's judge or scorer raises
            result = replace(raised(scorer, error), usage=tally.usage)
        work.results[begun.index] = result
