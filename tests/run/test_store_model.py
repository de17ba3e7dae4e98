"""The store against a model of it: in any order of events, an answer is paid once.

`LedgerMachine` interleaves asks, canceled asks, deadlines, Ctrl-C, forks, kills and reopening on
one file. Each step ends within its bound, every written answer stays, and no answer is paid twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.run.paid import BOUND, Paid, exits, judge, samples, scorer

from fullrecall import aevaluate
from fullrecall.errors import Interrupted
from fullrecall.run.sqlite import SQLiteLedger

KEYS = st.lists(st.integers(0, 30), min_size=1, max_size=6)
posix = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals as on POSIX systems")


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Fail if a step takes longer than its bound: a hang gives a stack trace, not a stuck run."""
    import faulthandler

    LedgerMachine.taken[sys._getframe(2).f_code.co_name] += 1
    faulthandler.dump_traceback_later(BOUND, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def sigint_raises() -> Iterator[None]:
    """Handle Ctrl-C as Python does: a pytest in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class LedgerMachine(RuleBasedStateMachine):
    """One file, one open store, and every event that can happen to runs."""

    taken: ClassVar[Counter[str]] = Counter()
    """How often each kind of step was taken, by all machines."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "runs.sqlite"
        self.ledger = Path(self.folder.name) / "paid.txt"
        self.store = SQLiteLedger(self.path)
        self.answered: set[int] = set()
        self.lost: Counter[int] = Counter()

    def teardown(self) -> None:
        """Close the store, and delete its folder."""
        self.store.close()
        self.folder.cleanup()

    def model(self, before: Callable[[int], Any] = lambda _: None) -> Paid:
        """Return a model with this machine's ledger."""
        return Paid(self.ledger, before)

    @rule(numbers=KEYS, concurrency=st.integers(1, 8))
    def submit(self, numbers: list[int], concurrency: int) -> None:
        """A run sends its requests, and gets answers."""
        with bounded():
            report = judge(numbers, self.model(), self.store, max_concurrency=concurrency)
        assert [row.results[0].score for row in report] == [0.0] * len(numbers)
        self.answered |= set(numbers)

    @rule(numbers=KEYS, at=st.integers(1, 4), turns=st.integers(0, 6))
    def cancel(self, numbers: list[int], at: int, turns: int) -> None:
        """A task is canceled, some turns of the loop after a request was sent."""

        async def main() -> None:
            model = self.model()
            coroutine = aevaluate(samples(numbers), scorer(model), store=self.store, progress=False)
            running = asyncio.create_task(coroutine)
            while model.sent < at and not running.done():  # noqa: ASYNC110 - it counts turns
                await asyncio.sleep(0)
            for _ in range(turns):
                await asyncio.sleep(0)
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

        with bounded():
            asyncio.run(main())

    @rule(numbers=KEYS, late=st.integers(1, 4))
    def deadline(self, numbers: list[int], late: int) -> None:
        """A deadline passes while a request is in flight."""
        model = self.model(lambda sent: asyncio.sleep(30.0) if sent >= late else None)
        with bounded():
            judge(numbers, model, self.store, deadline=0.05)

    @rule(numbers=KEYS, at=st.integers(1, 4))
    def ctrl_c(self, numbers: list[int], at: int) -> None:
        """Ctrl-C is pressed while requests are in flight."""

        def press(sent: int) -> None:
            if sent == at:
                os.kill(os.getpid(), signal.SIGINT)

        with bounded(), sigint_raises(), contextlib.suppress(Interrupted):
            judge(numbers, self.model(press), self.store)

    @rule(numbers=KEYS, at=st.integers(1, 4))
    def cancel_a_shared_ask(self, numbers: list[int], at: int) -> None:
        """Two runs in one loop share a store; one of them is canceled."""

        async def main() -> None:
            model = self.model()
            runs = [
                asyncio.create_task(
                    aevaluate(samples(numbers), scorer(model), store=self.store, progress=False)
                )
                for _ in range(2)
            ]
            while model.sent < at and not all(run.done() for run in runs):  # noqa: ASYNC110
                await asyncio.sleep(0)
            runs[0].cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await runs[0]
            assert all(row.results[0].score == 0.0 for row in await runs[1])

        with bounded():
            asyncio.run(main())
        self.answered |= set(numbers)

    @rule(numbers=KEYS)
    def two_threads(self, numbers: list[int]) -> None:
        """Two threads ask the same, one by the open store and one by its path."""

        def one(store: SQLiteLedger | Path) -> None:
            judge(numbers, self.model(), store)

        threads = [threading.Thread(target=one, args=(store,)) for store in (self.store, self.path)]
        with bounded():
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.answered |= set(numbers)

    @rule(numbers=KEYS)
    def fork(self, numbers: list[int]) -> None:
        """A child asks by the store that its parent opened; the parent goes on."""

        def child() -> None:
            judge(numbers, self.model(), self.store)

        with bounded():
            assert exits(child) == 0
        self.answered |= set(numbers)

    @rule(numbers=KEYS, at=st.integers(1, 4), turns=st.integers(0, 8))
    def kill(self, numbers: list[int], at: int, turns: int) -> None:
        """A child is killed while it asks; the answers that it had written stay."""

        def child() -> None:
            async def dies(sent: int) -> None:
                for _ in range(turns):
                    await asyncio.sleep(0)
                if sent == at:
                    os.kill(os.getpid(), signal.SIGKILL)

            model = self.model(dies)
            judge(numbers, model, self.store)

        before = self.paid()
        with bounded():
            assert exits(child) in (0, -signal.SIGKILL)
        # The kill may lose only requests that were paid and not yet written: those in flight.
        self.lost += Counter({n: 1 for n in self.paid() - before if not self.kept(n)})

    @rule(numbers=KEYS)
    def kill_the_holder(self, numbers: list[int]) -> None:
        """A child is killed with leases that a run of its parent waits for, until they expire.

        They expire.
        """
        ready = self.ledger.with_name("ready")
        ready.unlink(missing_ok=True)

        def child() -> None:
            def hang(_: int) -> Any:
                ready.touch()
                return asyncio.sleep(BOUND)

            judge(numbers, self.model(hang), self.store)

        process = multiprocessing.get_context("fork").Process(target=child)
        with bounded(), pytest.MonkeyPatch.context() as patch:
            patch.setattr("fullrecall.run.ledger.LEASE_SECONDS", 0.1)
            process.start()
            while process.is_alive() and not ready.exists():
                process.join(0.001)
            killing = threading.Timer(0.01, process.kill)
            killing.start()
            report = judge(numbers, self.model(), self.store)
            killing.join()
            process.join()
        assert [row.results[0].score for row in report] == [0.0] * len(numbers)
        self.answered |= set(numbers)

    @rule()
    def reopen(self) -> None:
        """The store is closed and opened again."""
        with bounded():
            self.store.close()
            self.store = SQLiteLedger(self.path)

    @precondition(lambda self: self.answered)
    @rule()
    def ask_again(self) -> None:
        """Claims with an answer are never asked again."""
        model = self.model()
        with bounded():
            judge(sorted(self.answered), model, self.store)
        assert model.sent == 0

    @invariant()
    def nothing_is_paid_twice(self) -> None:
        """No answer is paid twice, except those that a kill cut off between payment and disk."""
        assert not self.store.problem
        for number, count in self.paid().items():
            assert count <= 1 + self.lost[number], number

    @invariant()
    def nothing_that_was_written_is_lost(self) -> None:
        """Every answer that any process paid for is stored, except those lost in a kill."""
        self.store.forget("", "").result(BOUND)  # Earlier answers are written by then.
        missing = [n for n in self.paid() if not self.kept(n)]
        assert all(self.lost[number] for number in missing)

    def paid(self) -> Counter[int]:
        """Return how often any process paid for each claim."""
        return self.model().paid()

    def kept(self, number: int) -> bool:
        """Return whether a new run would find an answer to this claim in the store."""
        from fullrecall.run.request import completion_key

        (ask,) = next(scorer(self.model()).flow(samples([number])[0]))
        return self.store.get(completion_key(ask)) is not None


STEPS = int(os.environ.get("FULLRECALL_STORE_STEPS", "160"))
"""Steps of the machine in total; `.ci/run` takes 2,000, about a minute of CPU."""

LedgerMachine.TestCase.settings = settings(
    max_examples=max(1, STEPS // 40),
    stateful_step_count=40,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@posix
class TestLedger(LedgerMachine.TestCase):  # type: ignore[name-defined,misc]
    """Random histories of `FULLRECALL_STORE_STEPS` steps hold the rules of the store."""

    def runTest(self) -> None:  # noqa: N802 - unittest's name for it
        """Take the steps, with another seed if too few were taken."""
        kinds = {"submit", "cancel", "cancel_a_shared_ask", "deadline", "ctrl_c", "two_threads",
                 "fork", "kill", "kill_the_holder", "reopen", "ask_again"}  # fmt: skip
        before = Counter(LedgerMachine.taken)
        taken: Counter[str] = Counter()
        for number in range(5):
            seed(number)(LedgerMachine)
            super().runTest()
            taken = LedgerMachine.taken - before
            is_enough = taken.total() >= STEPS * 0.8 and min(taken.values()) >= STEPS / 100
            if set(taken) == kinds and is_enough:
                break
        assert set(taken) == kinds
        assert min(taken.values()) >= STEPS / 100, taken
        assert taken.total() >= STEPS * 0.8, taken


@posix
@pytest.mark.parametrize("how", ["cancelled", "ctrl-c", "deadline"])
def test_the_next_run_on_the_same_store_goes_on(tmp_path: Path, how: str) -> None:
    """Eight runs that end in the middle of a write leave the store intact."""
    machine = LedgerMachine()
    chance = random.Random(how)
    try:
        for _ in range(8):
            numbers = [chance.randrange(31) for _ in range(6)]
            if how == "cancelled":
                machine.cancel(numbers, chance.randint(1, 4), chance.randint(0, 6))
            elif how == "ctrl-c":
                machine.ctrl_c(numbers, chance.randint(1, 4))
            else:
                machine.deadline(numbers, chance.randint(1, 4))
            machine.submit(numbers, 8)
            machine.nothing_is_paid_twice()
    finally:
        machine.teardown()
