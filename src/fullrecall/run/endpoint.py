"""The endpoint of each model in a run: its limit of concurrent requests, and whether it answers.

Requests are limited in total and for each model. A model's own limit adapts as TCP does (additive
increase, multiplicative decrease; Chiu & Jain, 1989): a rate-limited reply halves it, once for all
requests in flight, and each round of answers raises it by one. With a fixed limit above the
endpoint's capacity, most requests would be rejected again and again. A `Retry-After` delays every
request to that model.

An "ask" is one question to a model, with the retries of its request. A model that does not answer
is not asked about every sample: several asks that failed for good in a row put the model in doubt.
New asks then wait for the open ones. If one is answered, the doubt ends; if all fail, the run ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fullrecall._util.counts import counted
from fullrecall.judge.flow import NotAsked
from fullrecall.judge.models.chat import Completion, Failure
from fullrecall.run.limits import Limits

_MOST_FAILURES_IN_A_ROW = 5
"""The number of failures in a row, without an answer between them, that put a model in doubt."""

_HOPELESS = frozenset({Failure.DENIED, Failure.UNKNOWN, Failure.CONNECTION, Failure.MOVED})
"""Failures that put a model in doubt at once if it has never answered: every request to it has the
same API key, model name and address, and would fail too.
"""


class Endpoint:
    """The state of one model's endpoint in one event loop: limit, pause, and failures.

    A turn is the permission to send one request; at most `limit` turns are taken at a time. During
    the pause after a `Retry-After`, no request is sent.
    """

    def __init__(self, name: str, limits: Limits, limit_of_all: asyncio.Semaphore) -> None:
        most = limits.in_flight
        self.name = name
        self.limit = float(most)
        self.stopped: str | None = None
        self._most = most
        self._retries = limits.retrying()
        self._limit_of_all = limit_of_all
        self._turns = asyncio.Semaphore(most)
        # The number of turns, free and taken. After the limit falls, a turn that is given back is
        # not granted again until the number is within the limit.
        self._turns_in_all = most
        self._rests_until = 0.0
        self._cut_at = float("-inf")
        self._open_asks = 0
        self._answered_at = float("-inf")
        self._failures_in_a_row = 0
        self._doubtful_reply: Completion | None = None
        self._unproven: list[Callable[[], object]] = []
        self._doubt_settled = asyncio.Event()

    async def enter(self) -> float:
        """Begin an ask (a request with its retries); return the time by the loop's clock.

        The ask lasts until `leave`. If recent asks failed, waits until one of the open asks is
        answered. Raises `NotAsked` once the run is over for this model.
        """
        while self._doubtful_reply is not None and self.stopped is None:
            await self._doubt_settled.wait()
        self.check()
        self._open_asks += 1
        return asyncio.get_running_loop().time()

    def leave(self) -> None:
        """End an ask that `enter` began."""
        self._open_asks -= 1
        self._stop_if_silent()

    async def acquire(self) -> float:
        """Wait until one more request may be sent; return the time by the loop's clock.

        Raises `NotAsked` once the run is over for this model.
        """
        loop = asyncio.get_running_loop()
        await self._turns.acquire()
        try:
            while loop.time() < self._rests_until:  # noqa: ASYNC110 - the pause may grow meanwhile
                await asyncio.sleep(self._rests_until - loop.time())
            self.check()
            await self._limit_of_all.acquire()
        except BaseException:
            self._give_back_turn()
            raise
        return loop.time()

    def release(self, reply: Completion | None, began: float) -> None:
        """End a request, for which `acquire` returned the time `began`.

        `reply` is None if the request was not sent.
        """
        if reply is not None:
            if reply.failure is None or reply.failure.is_reply:
                self._note_answer()
            elif not self._retries.gives_up(reply):
                self._slow_down(reply, began)
        self._limit_of_all.release()
        self._give_back_turn()

    def check(self) -> None:
        """Raise `NotAsked` once the run is over for this model."""
        if self.stopped is not None:
            raise NotAsked(self.stopped)

    def fails(self, completion: Completion, began: float, remember: Callable[[], object]) -> None:
        """Note that an ask (a request with all its retries) failed for good.

        `began` is the time at which the ask began. If the endpoint has answered a request since
        then, the failure does not count: only this ask may have hung. Several counted failures in a
        row put the model in doubt (see the module's docstring). One failure is enough in two cases:
        it counts, and its `Retry-After` is too long; or it is in `_HOPELESS`, and the model has
        never answered.

        `remember` notes that this ask failed. It is called only if the endpoint answers any other
        ask, before or after this one. If it answers none, the endpoint may be the cause.
        """
        is_counted = began >= self._answered_at
        self._failures_in_a_row += is_counted
        gives_up = is_counted and self._retries.gives_up(completion)
        is_hopeless = completion.failure in _HOPELESS and not self._has_answered
        if gives_up or is_hopeless or self._failures_in_a_row >= _MOST_FAILURES_IN_A_ROW:
            self._doubtful_reply = completion
        if self._has_answered:
            remember()
        else:
            self._unproven.append(remember)

    def _note_answer(self) -> None:
        """Note an answer: raise the limit a little, and wake the callers that wait in `enter`."""
        self._answered_at = asyncio.get_running_loop().time()
        self._failures_in_a_row = 0
        # Adding 1 / limit for each answer adds one for each round of answers.
        self.limit = min(float(self._most), self.limit + 1 / self.limit)
        self._doubtful_reply = None
        unproven, self._unproven = self._unproven, []
        for remember in unproven:
            remember()
        self._release_waiting()

    def _slow_down(self, reply: Completion, began: float) -> None:
        """Lower the limit after the endpoint rejected a request that was sent at `began`."""
        now = asyncio.get_running_loop().time()
        if reply.failure is Failure.RATE_LIMIT and began >= self._cut_at:
            # A request that was in flight when the limit was cut gives no evidence on the new
            # limit.
            self._cut_at = now
            self.limit = max(1.0, self.limit / 2)
        if reply.wait is not None:
            self._rests_until = max(self._rests_until, now + reply.wait)

    def _give_back_turn(self) -> None:
        self._turns_in_all -= 1
        while self._turns_in_all < int(self.limit):
            self._turns.release()
            self._turns_in_all += 1

    @property
    def _has_answered(self) -> bool:
        return self._answered_at > float("-inf")

    def _stop_if_silent(self) -> None:
        """End the run if the last requests to the model failed for good, and no request is open."""
        if self._doubtful_reply is None or self._open_asks or self.stopped is not None:
            return
        failures = f"{counted(self._failures_in_a_row, 'request')} in a row failed"
        if self._retries.gives_up(self._doubtful_reply):
            failures += f"; it asks to wait {self._doubtful_reply.wait:,.7g} seconds"
        self.stopped = f"{self.name} does not answer: {self._doubtful_reply.problem} ({failures})"
        self._release_waiting()

    def _release_waiting(self) -> None:
        """Wake the callers that wait in `enter`."""
        self._doubt_settled.set()
        self._doubt_settled = asyncio.Event()
