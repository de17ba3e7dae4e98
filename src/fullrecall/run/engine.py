"""Samples side by side: many in flight, their rows in the order in which they came.

The engine is fed one prepared sample after another and gives back the rows that are ready. It
reads nothing itself, so that whoever feeds it may do so with or without an event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from fullrecall.judges.flow import NotAsked, Tally, arun
from fullrecall.run.request import Door
from fullrecall.run.work import Begun, Work, raised, unscored
from fullrecall.scorers.scorer import Scorer
from fullrecall.table.row import Row
from fullrecall.usage import Usage

_AHEAD = 64
"""How many samples per request in flight may be finished before one that they wait behind."""


class Engine:
    """Runs the flows of many samples; lives in one event loop.

    `compute`, if given, runs a function away from the loop.
    """

    def __init__(
        self,
        scorers: Sequence[Scorer],
        door: Door,
        max_concurrency: int,
        compute: Callable[..., Awaitable[Any]] | None = None,
    ) -> None:
        self.door = door
        self._scorers = scorers
        self._most = max_concurrency
        self._compute = compute
        self._works: deque[Work] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._interrupted = False

    @property
    def is_over(self) -> bool:
        """Whether no more samples are to be taken."""
        return self._interrupted or self.door.stopped is not None

    def interrupt(self) -> None:
        """Give up what is in flight; the next turn returns all rows there are."""
        self._interrupted = True
        for task in self._running:
            task.cancel()
        self._changed.set()

    @property
    def room(self) -> int:
        """How many samples more may be in flight."""
        return self._most - len(self._running)

    async def turn(self, works: Sequence[Work]) -> list[Row]:
        """Take more samples; return the rows that are ready, once there is room for another."""
        self._works.extend(works)
        for work in works:
            if work.begun and not self._interrupted:
                alone = len(work.begun) == 1
                judging = self._judge(work, work.begun[0]) if alone else self._all(work)
                work.task = asyncio.create_task(judging)
                self._running.add(work.task)
                work.task.add_done_callback(self._finished)
        rows = self._ready()
        while not self._interrupted and not self._has_room:
            await self._change()
            rows += self._ready()
        return rows

    async def rest(self) -> list[Row]:
        """Return the next rows once there are no more samples; none when all are returned."""
        while self._works and not _is_done(self._works[0]) and not self._interrupted:
            await self._change()
        if not self._interrupted:
            return self._ready()
        await self._ended()
        works, self._works = self._works, deque()
        return [work.row(self._scorers) for work in works]

    async def close(self, *, connections: bool) -> None:
        """Give up what is still in flight; close what models opened in this loop, if asked to."""
        self.interrupt()
        await self._ended()
        await self.door.close(connections=connections)

    async def _ended(self) -> None:
        if self._running:
            await asyncio.wait(self._running)

    @property
    def _has_room(self) -> bool:
        return self.room > 0 and len(self._works) < self._most * _AHEAD

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _ready(self) -> list[Row]:
        rows = []
        while self._works and _is_done(self._works[0]):
            rows.append(self._works.popleft().row(self._scorers))
        return rows

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._changed.set()

    async def _all(self, work: Work) -> None:
        await asyncio.gather(*(self._judge(work, begun) for begun in work.begun))

    async def _judge(self, work: Work, begun: Begun) -> None:
        """Run one flow to its end; its result has the usage of all that was sent for it."""
        scorer, tally = begun.scorer, Tally()
        try:
            result, _ = await arun(
                begun.flow,
                self.door.answer,
                step=begun.asked,
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


def _is_done(work: Work) -> bool:
    """Return whether all results of a sample are there."""
    return work.task.done() if work.task is not None else not work.begun
