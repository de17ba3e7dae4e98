"""A model's limit falls and rises with its replies, and a model that never answers is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fullrecall.judge.flow import NotAsked
from fullrecall.judge.models import Completion, Failure
from fullrecall.judge.models.retries import Retries
from fullrecall.run.endpoint import Endpoint
from fullrecall.run.limits import Limits

ANSWER = Completion("yes")
REFUSAL = Completion("", failure=Failure.REFUSED)
LIMITED = Completion("", failure=Failure.RATE_LIMIT)
DOWN = Completion("", failure=Failure.SERVER)
DENIED = Completion("", failure=Failure.DENIED)
MUCH_LATER = Completion("", failure=Failure.RATE_LIMIT, wait=61.0)


SILENT = "model does not answer"


class Clock:
    """An endpoint of eight requests at a time, and the time of its loop."""

    def __init__(self, most: int = 8) -> None:
        self.now = 0.0
        asyncio.get_running_loop().time = lambda: self.now  # type: ignore[method-assign]
        limits = Limits(max_concurrency=most, retries=Retries(longest_wait=60.0))
        self.endpoint = Endpoint("model", limits, asyncio.Semaphore(most))
        self.remembered: list[str] = []

    async def sends(self, reply: Completion | None, *, began: float | None = None) -> None:
        """Send a request that gets this reply a second later."""
        before = await self.endpoint.acquire()
        self.now += 1.0
        self.endpoint.release(reply, before if began is None else began)

    async def fails(self, completion: Completion, *, began: float | None = None) -> None:
        """Make an ask whose requests failed for good."""
        entered = await self.endpoint.enter()
        remember = lambda: self.remembered.append(str(completion.failure))  # noqa: E731
        self.endpoint.fails(completion, entered if began is None else began, remember)
        self.endpoint.leave()

    async def free(self) -> int:
        """Return how many requests may be sent now."""
        taken = 0
        while not self.endpoint._turns.locked():
            await self.endpoint._turns.acquire()
            taken += 1
        for _ in range(taken):
            self.endpoint._turns.release()
        return taken


def on_a_clock(test: Callable[[Clock], Awaitable[Any]], most: int = 8) -> None:
    """Run a test in an event loop of its own."""

    async def run() -> None:
        await test(Clock(most))

    asyncio.run(run())


@pytest.mark.parametrize(
    ("replies", "limit", "free"),
    [
        ([ANSWER], 8.0, 8),
        ([LIMITED], 4.0, 7),
        ([LIMITED, LIMITED], 2.0, 6),
        ([LIMITED] * 7, 1.0, 1),
        ([DOWN], 8.0, 8),
        ([None], 8.0, 8),
        ([LIMITED, ANSWER], 4.25, 6),
        ([LIMITED, REFUSAL], 4.25, 6),
        ([LIMITED, *[ANSWER] * 4], 4.9206, 4),
        ([LIMITED, *[ANSWER] * 5], 5.1239, 5),
        ([LIMITED, *[ANSWER] * 40], 8.0, 8),
        ([MUCH_LATER], 8.0, 8),
    ],
)
def test_the_limit_of_a_model(replies: list[Completion | None], limit: float, free: int) -> None:
    """A rate limit halves it, a round of answers adds one; surplus turns end when they return."""

    async def test(clock: Clock) -> None:
        for reply in replies:
            await clock.sends(reply)
        assert clock.endpoint.limit == pytest.approx(limit, abs=1e-4)
        assert await clock.free() == free

    on_a_clock(test)


def test_requests_in_flight_halve_the_limit_once() -> None:
    """A rejected request that was sent before the cut says nothing about the new limit."""

    async def test(clock: Clock) -> None:
        await clock.sends(LIMITED)  # the cut is at 1.0
        await clock.sends(LIMITED, began=0.9)
        assert clock.endpoint.limit == 4.0
        await clock.sends(LIMITED, began=1.0)
        assert clock.endpoint.limit == 2.0

    on_a_clock(test)


def test_a_wait_holds_back_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest wait that was asked for counts, and any failure may ask for one."""

    async def test(clock: Clock) -> None:
        async def sleep(seconds: float) -> None:
            clock.now += seconds

        monkeypatch.setattr(asyncio, "sleep", sleep)
        began = [await clock.endpoint.acquire() for _ in range(2)]
        for before, wait in zip(began, (30.0, 5.0), strict=True):
            clock.now += 1.0
            clock.endpoint.release(Completion("", failure=Failure.SERVER, wait=wait), before)
        assert await clock.endpoint.acquire() == 31.0
        assert clock.endpoint.limit == 8.0

    on_a_clock(test)


@pytest.mark.parametrize(
    ("failures", "stopped"),
    [
        ([DOWN] * 4, None),
        ([DOWN] * 5, "model does not answer: the endpoint failed (5 requests in a row failed)"),
        ([DENIED], "model does not answer: the endpoint denied access (1 request in a row failed)"),
        (
            [MUCH_LATER],
            f"{SILENT}: {LIMITED.problem} (1 request in a row failed; it asks to wait 61 seconds)",
        ),
    ],
)
def test_a_model_that_never_answers(failures: list[Completion], stopped: str | None) -> None:
    """Five failures in a row, a hopeless one, or too long a wait end the run for a model."""

    async def test(clock: Clock) -> None:
        for failure in failures:
            await clock.fails(failure)
        assert clock.endpoint.stopped == stopped
        if stopped is not None:
            for action in (clock.endpoint.enter, clock.endpoint.acquire):
                with pytest.raises(NotAsked):
                    await action()
            assert await clock.free() == 8
        assert clock.remembered == []

    on_a_clock(test)


def test_a_model_that_has_answered() -> None:
    """After an answer, failures are counted anew, and denied access is one failure of five."""

    async def test(clock: Clock) -> None:
        for _ in range(4):
            await clock.fails(DOWN)
        await clock.sends(ANSWER)
        assert clock.remembered == [str(Failure.SERVER)] * 4
        for _ in range(4):
            await clock.fails(DENIED)
        assert clock.endpoint.stopped is None
        assert clock.remembered[4:] == [str(Failure.DENIED)] * 4
        await clock.fails(DENIED)
        assert clock.endpoint.stopped is not None

    on_a_clock(test)


def test_a_failure_that_began_before_an_answer_does_not_count() -> None:
    """An ask that hangs ends after all other asks: the endpoint has answered since it began."""

    async def test(clock: Clock) -> None:
        await clock.sends(ANSWER)  # answered at 1.0
        for _ in range(9):
            await clock.fails(DOWN, began=0.9)
            await clock.fails(MUCH_LATER, began=0.9)
        assert clock.endpoint.stopped is None
        for _ in range(5):
            await clock.fails(DOWN, began=1.0)
        assert clock.endpoint.stopped is not None

    on_a_clock(test)


@pytest.mark.parametrize("reply", [ANSWER, DOWN])
def test_asks_in_flight_decide_on_a_model_in_doubt(reply: Completion) -> None:
    """New asks wait until an ask in flight was answered, or all of them have failed."""

    async def test(clock: Clock) -> None:
        endpoint = clock.endpoint
        await endpoint.enter()
        await clock.fails(DENIED)
        assert endpoint.stopped is None
        waiting = asyncio.ensure_future(endpoint.enter())
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiting.done()
        await clock.sends(reply)
        endpoint.leave()
        if reply is ANSWER:
            await waiting
            assert endpoint.stopped is None
        else:
            with pytest.raises(NotAsked, match="model does not answer"):
                await waiting

    on_a_clock(test)
