"""The store, budget and rate of a server against a model: each answer is paid once.

`ServedMachine` interleaves runs of several clients, canceled runs, kills, leases that end, budgets
that are used up, a server that is killed and started again, and connections that break before an
answer comes. `FULLRECALL_RUNS` sets the number of histories.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.batches.dropping import Dropping
from tests.batches.redis_server import RedisServer
from tests.run.paid import Paid, samples, scorer

from fullrecall import Report, aevaluate, evaluate
from fullrecall.batches import redis
from fullrecall.batches.redis import name_of
from fullrecall.judge.usage import Spent
from fullrecall.run import account, ledger
from fullrecall.run.account import spent_of
from fullrecall.run.address import Address
from fullrecall.run.budget import Budget
from fullrecall.run.ledger import AccountLostError
from fullrecall.run.request import completion_key
from fullrecall.scorers.result import Status

pytestmark = pytest.mark.engines

RUNS = int(os.environ.get("FULLRECALL_RUNS", "4"))
STEPS = 15
CALLS = 12
"""The calls in the budget of a job."""

TOKENS = 15
"""The tokens of one request."""

BOUND = 120.0
KEYS = st.lists(st.integers(0, 20), min_size=1, max_size=5)
ABOUT = [None, b":account", b"settled", b"{answer:"]
"""Parts of the commands whose answers get lost: any, a turn, a settlement, a lease or answer."""

_FORK = multiprocessing.get_context("fork")


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Fail if a step takes longer than its bound: a hang gives a stack trace, not a stuck run."""
    import faulthandler

    faulthandler.dump_traceback_later(BOUND, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


class ServedMachine(RuleBasedStateMachine):
    """One server, many clients, and every event that can happen to them."""

    server: ClassVar[RedisServer]
    taken: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Path(self.folder.name) / "paid.txt"
        self.way, self.hasty_way = Dropping(self.server.port), Dropping(self.server.port)
        self.lost: Counter[int] = Counter()
        with self.server.client() as client:
            client.flushall()
        self.begin()

    def teardown(self) -> None:
        """Close the connections, and delete the folder."""
        self.way.__exit__()
        self.hasty_way.__exit__()
        self.folder.cleanup()

    def begin(self, **bounds: Any) -> None:
        """Begin a job with a new budget."""
        bounds = bounds or {"calls": CALLS}
        self.budget = Budget(**bounds, rate=2_000.0)
        self.address = Address(self.way.url)
        with self.address.open() as opened:
            opened.open_account()
        self.paid_before = self.paid().total()

    def spent(self) -> Spent:
        """Return the spending of all clients of the job."""
        with self.address.open() as opened:
            return spent_of(opened, self.budget)

    def run(
        self,
        numbers: list[int],
        before: Callable[[int], Any] = lambda _: None,
        address: Address | None = None,
    ) -> Report:
        """Run in this process, as a client of the server."""
        with bounded(), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return evaluate(
                samples(numbers),
                scorer(Paid(self.ledger, before)),
                progress=False,
                store=address or self.address,
                budget=self.budget,
                max_concurrency=3,
            )

    def check(self, report: Report) -> None:
        """Fail unless each sample is scored, or the budget is used up."""
        for row in report:
            result = row.results[0]
            if result.status is not Status.SCORED:
                assert "is used up" in (result.reason or ""), result.reason
                spent = self.spent()
                if self.budget.calls:
                    assert spent.calls == self.budget.calls
            else:
                assert result.score == 0.0

    def took(self, what: str) -> None:
        """Count that a step of this name ran."""
        type(self).taken[what] += 1

    @rule(numbers=KEYS)
    def submit(self, numbers: list[int]) -> None:
        """A client sends its requests, and gets answers."""
        self.took("submit")
        self.check(self.run(numbers))

    @rule(numbers=KEYS, others=KEYS)
    def two_clients(self, numbers: list[int], others: list[int]) -> None:
        """Two clients ask at the same time, partly the same claims."""
        self.took("two_clients")
        reports: list[Report] = []
        threads = [
            threading.Thread(target=lambda some=some: reports.append(self.run(some)))
            for some in (numbers, others)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND)
        assert len(reports) == 2
        for report in reports:
            self.check(report)

    @rule(numbers=KEYS, at=st.integers(1, 3), turns=st.integers(0, 12))
    def cancel(self, numbers: list[int], at: int, turns: int) -> None:
        """A client cancels a task before its request is sent, or some loop turns after it."""
        self.took("cancel")

        calls, model = self.spent().calls, Paid(self.ledger)

        async def main() -> None:
            running = asyncio.create_task(
                aevaluate(
                    samples(numbers),
                    scorer(model),
                    progress=False,
                    store=self.address,
                    budget=self.budget,
                )
            )
            while model.sent < at and turns and not running.done():  # noqa: ASYNC110 - it watches
                await asyncio.sleep(0.001)
            for _ in range(turns):
                await asyncio.sleep(0)
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

        with bounded():
            asyncio.run(main())
        assert self.spent().calls - calls == model.sent

    @rule(numbers=KEYS, at=st.integers(1, 4), wait=st.sampled_from([False, False, False, True]))
    def kill(self, numbers: list[int], at: int, *, wait: bool) -> None:
        """A client is killed while it asks; its leases expire, or are ended at once."""
        self.took("kill")

        def die(sent: int) -> None:
            if sent == at:
                os.kill(os.getpid(), signal.SIGKILL)

        before = self.paid()
        process = _FORK.Process(target=lambda: self.run(numbers, die))
        process.start()
        process.join(BOUND)
        assert process.exitcode in (0, -signal.SIGKILL)
        # The kill may lose only requests that were paid and not yet written: those in flight.
        self.lost += Counter({n: 1 for n in self.paid() - before if not self.kept(n)})
        if not wait:
            with self.server.client() as client:
                for key in client.keys("fullrecall:*:lease"):
                    client.delete(key)

    @rule(numbers=KEYS, at=st.integers(1, 3))
    def lose(self, numbers: list[int], at: int) -> None:
        """The server is killed for good while a client asks: the run ends with the reason."""
        self.took("lose")
        before = self.paid()

        def stop(sent: int) -> None:
            if sent == at:
                self.server.stop()

        hasty = replace(self.address, url=self.hasty_way.url)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(redis, "_RETRIES", 1)
            report = self.run(numbers, stop, hasty)
        self.server.stop()
        self.server.start()
        for row in report:
            result = row.results[0]
            reason = result.reason or ""
            assert (
                result.status is Status.SCORED
                or "cannot be counted" in reason
                or "used up" in reason
            )
        # The report at least has the paid answers.
        scored = {
            n
            for n, row in zip(numbers, report, strict=True)
            if row.results[0].status is Status.SCORED
        }
        paid = self.paid() - before
        assert set(paid) <= scored
        self.lost += Counter({n: 1 for n in paid if not self.kept(n)})

    @rule(numbers=KEYS, at=st.integers(1, 3), about=st.sampled_from(ABOUT), drops=st.integers(1, 3))
    def interrupt(self, numbers: list[int], at: int, about: bytes | None, drops: int) -> None:
        """The server is killed and started again, or answers get lost: runs are unaffected."""
        self.took("drop" if about else "restart")
        calls, paid = self.spent().calls, self.paid().total()

        def again(sent: int) -> None:
            if sent == at:
                self.server.stop()
                self.server.start()

        if about:
            self.way.drop(drops, about)
            self.check(self.run(numbers))
            self.way.calm()
        else:
            self.check(self.run(numbers, again))
        assert self.spent().calls - calls == self.paid().total() - paid

    @rule(numbers=KEYS, at=st.integers(1, 3), how=st.sampled_from(["evicted", "rolled back"]))
    def lose_the_account(self, numbers: list[int], at: int, how: str) -> None:
        """The account is evicted, or an older one after a restart: the job ends with the reason.

        Answers are evicted too, and paid again by the next job.
        """
        self.took(how)
        with self.address.open() as opened:
            key = name_of(opened.account_key)
        with self.server.client() as client:
            before = client.dump(key)
        sent_at = []

        def lose(sent: int) -> None:
            if sent == at:
                sent_at.append(self.paid().total())
                with self.server.client() as client:
                    if how == "evicted":
                        client.delete(*client.keys("fullrecall:*"))
                        return
                    client.restore(key, 0, before, replace=True)
                    client.config_set("appendfsync", "everysec")
                self.server.stop()
                self.server.start("everysec")

        report = self.run(numbers, lose)
        paid = self.paid()
        if sent_at:
            assert paid.total() - sent_at[0] <= 3, "what was on its way, and no more"
            with self.address.open() as opened, pytest.raises(AccountLostError):
                spent_of(opened, self.budget)
            assert {row.results[0].status for row in self.run([21, 22])} == {Status.UNSCORED}
            assert self.paid() == paid, "nothing is sent any more"
            self.server.stop()
            self.server.start()
        for row in report:
            result = row.results[0]
            reasons = ("is gone", "may have lost", "used up")
            assert result.score == 0.0 or any(why in (result.reason or "") for why in reasons)
        assert paid.total() - self.paid_before <= CALLS
        self.lost += Counter({n: 1 for n in paid if not self.kept(n)})
        self.begin()

    @rule(tokens=st.booleans())
    def new_job(self, *, tokens: bool) -> None:
        """A job begins, with a budget of requests or of tokens; earlier answers are kept.

        The step does nothing before half of the budget is spent, which depends on how fast clients
        were cut off. As a precondition, this check would make the same draws mean another history
        each time.
        """
        if self.paid().total() - self.paid_before < CALLS // 2:
            self.took("too_early")
            return
        self.took("new_job")
        self.begin(**({"tokens": 4_000} if tokens else {}))

    @invariant()
    def nothing_is_paid_twice(self) -> None:
        """No answer is paid twice, except those that a kill cut off between payment and server."""
        for number, count in self.paid().items():
            assert count <= 1 + self.lost[number], number

    @invariant()
    def nothing_that_was_written_is_lost(self) -> None:
        """Every answer that any process paid for is stored, except those lost in a kill."""
        missing = [n for n in self.paid() if not self.kept(n)]
        assert all(self.lost[number] for number in missing), missing

    @invariant()
    def the_budget_is_kept(self) -> None:
        """The server counts the job's paid requests, and they stay within the budget."""
        spent, paid = self.spent(), self.paid().total() - self.paid_before
        assert paid <= spent.calls
        if self.budget.calls is not None:
            assert spent.calls <= self.budget.calls
        if self.budget.tokens is not None:
            assert TOKENS * paid <= self.budget.tokens + TOKENS

    def paid(self) -> Counter[int]:
        """Return how often any process paid for each claim."""
        if not self.ledger.exists():
            return Counter()
        return Counter(map(int, self.ledger.read_text().split()))

    def kept(self, number: int) -> bool:
        """Return whether the server has an answer to this claim."""
        (ask,) = next(scorer(Paid(self.ledger)).flow(samples([number])[0]))
        with self.server.client() as client:
            return bool(client.exists(name_of(completion_key(ask))))


ServedMachine.TestCase.settings = settings(
    max_examples=RUNS,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module", autouse=True)
def durable(
    installed: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Start a durable server, and make leases end soon."""
    installed("redis", "fullrecall[redis]")
    server = ServedMachine.server = RedisServer(tmp_path_factory.mktemp("redis"), durable=True)
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "LEASE_SECONDS", 3.0)
        patch.setattr(redis, "_RETRIES", 30)  # a busy machine takes seconds to restart a server
        patch.setattr(account, "HOLD_SECONDS", (3.0 - 60.0, 3.0))  # after a timeout of 60 s
        yield
    server.stop()


class TestServed(ServedMachine.TestCase):  # type: ignore[name-defined,misc]
    """The rules of a server's store hold in random histories of the server and its clients."""

    def runTest(self) -> None:  # noqa: N802 - unittest's name for it
        """Run the histories; each kind of step must occur."""
        before = Counter(ServedMachine.taken)
        super().runTest()
        taken = ServedMachine.taken - before
        kinds = {"submit", "two_clients", "cancel", "kill", "restart", "lose", "drop", "new_job",
                 "evicted", "rolled back"}  # fmt: skip
        assert taken.keys() <= {*kinds, "too_early"}
        assert taken.total() >= 0.7 * RUNS * STEPS, taken
        if RUNS >= 20:
            assert min(taken[kind] for kind in kinds) >= RUNS / 20, taken
