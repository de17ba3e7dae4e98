"""The store against a model of it: whatever happens in whatever order, an answer is paid once.

`LedgerMachine` interleaves asks, cancelled asks, deadlines, Ctrl-C, forks, kills and reopening on
one file. Each step ends within its bound, whatever was written stays, and nothing is paid twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.run.ledgers import answers_in
from tests.run.paid import Paid, samples, scorer

from fullrecall import Budget, Report, aevaluate, evaluate
from fullrecall.errors import Interrupted
from fullrecall.run.account import spent_of
from fullrecall.run.address import Address
from fullrecall.run.sqlite import SQLiteLedger

BOUND = 60.0
"""Seconds after which a step hangs: each takes milliseconds, on a busy machine too."""

KEYS = st.lists(st.integers(0, 30), min_size=1, max_size=6)
posix = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals as on POSIX systems")


Store = SQLiteLedger | Path | Address


def judge(numbers: list[int], model: Any, store: Store, **options: Any) -> Report:
    """Return the report of samples that a model judged, kept in a store."""
    return evaluate(samples(numbers), scorer(model), store=store, progress=False, **options)


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Fail where a step takes longer than its bound: a hang is a stack trace, no stuck run."""
    import faulthandler

    LedgerMachine.taken[sys._getframe(2).f_code.co_name] += 1
    faulthandler.dump_traceback_later(BOUND, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def exits(child: Callable[[], None]) -> int:
    """Fork, run a function in the child, and return its exit code."""
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(BOUND)
    if process.is_alive():
        process.kill()
        process.join()
    assert process.exitcode is not None
    return process.exitcode


@contextlib.contextmanager
def sigint_raises() -> Iterator[None]:
    """Handle Ctrl-C as Python does: started in the background, pytest inherits that it is not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class LedgerMachine(RuleBasedStateMachine):
    """One file, one open store, and everything that happens to runs."""

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
        """Close what is open."""
        self.store.close()
        self.folder.cleanup()

    def model(self, before: Callable[[int], Any] = lambda _: None) -> Paid:
        """Return a model with this machine's ledger."""
        return Paid(self.ledger, before)

    @rule(numbers=KEYS, concurrency=st.integers(1, 8))
    def submit(self, numbers: list[int], concurrency: int) -> None:
        """A run asks, and is answered."""
        with bounded():
            report = judge(numbers, self.model(), self.store, max_concurrency=concurrency)
        assert [row.results[0].score for row in report] == [0.0] * len(numbers)
        self.answered |= set(numbers)

    @rule(numbers=KEYS, at=st.integers(1, 4), turns=st.integers(0, 6))
    def cancel(self, numbers: list[int], at: int, turns: int) -> None:
        """A task is cancelled, some turns of the loop after a request went out."""

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
        """A deadline passes while a request is on its way."""
        model = self.model(lambda sent: asyncio.sleep(30.0) if sent >= late else None)
        with bounded():
            judge(numbers, model, self.store, deadline=0.05)

    @rule(numbers=KEYS, at=st.integers(1, 4))
    def ctrl_c(self, numbers: list[int], at: int) -> None:
        """Ctrl-C is pressed while requests are on their way."""

        def press(sent: int) -> None:
            if sent == at:
                os.kill(os.getpid(), signal.SIGINT)

        with bounded(), sigint_raises(), contextlib.suppress(Interrupted):
            judge(numbers, self.model(press), self.store)

    @rule(numbers=KEYS, at=st.integers(1, 4))
    def cancel_a_shared_ask(self, numbers: list[int], at: int) -> None:
        """Two runs in one loop share a store; one of them is cancelled."""

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
        """A child is killed while it asks: what it had written stays."""

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
        # Paid in the moment of the kill, and not written: of those that were in flight.
        self.lost += Counter({n: 1 for n in self.paid() - before if not self.kept(n)})

    @rule(numbers=KEYS)
    def kill_the_holder(self, numbers: list[int]) -> None:
        """A child is killed while it holds the leases that a run of its parent waits for."""
        ready = self.ledger.with_name("ready")
        ready.unlink(missing_ok=True)

        def child() -> None:
            def hang(_: int) -> Any:
                ready.touch()
                return asyncio.sleep(BOUND)

            judge(numbers, self.model(hang), self.store)

        process = multiprocessing.get_context("fork").Process(target=child)
        with bounded():
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
        """What was answered is never asked again."""
        model = self.model()
        with bounded():
            judge(sorted(self.answered), model, self.store)
        assert model.sent == 0

    @invariant()
    def nothing_is_paid_twice(self) -> None:
        """But what a kill cut off between its payment and the disk."""
        assert not self.store.problem
        for number, count in self.paid().items():
            assert count <= 1 + self.lost[number], number

    @invariant()
    def nothing_that_was_written_is_lost(self) -> None:
        """Every answer that any process was paid for is there, but those of a kill."""
        self.store.forget("", "").result(BOUND)  # what was handed over before is written by then
        missing = [n for n in self.paid() if not self.kept(n)]
        assert all(self.lost[number] for number in missing)

    def paid(self) -> Counter[int]:
        """Return what was paid, by whomever."""
        return self.model().paid()

    def kept(self, number: int) -> bool:
        """Whether the store has an answer to this claim, as a new run sees it."""
        from fullrecall.run.request import completion_key

        (ask,) = next(scorer(self.model()).flow(samples([number])[0]))
        return self.store.get(completion_key(ask)).value is not None


STEPS = int(os.environ.get("FULLRECALL_STORE_STEPS", "160"))
"""Steps of the machine in all; `.ci/run` takes 2,000, which is about a minute of CPU."""

LedgerMachine.TestCase.settings = settings(
    max_examples=max(1, STEPS // 40),
    stateful_step_count=40,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@posix
class TestLedger(LedgerMachine.TestCase):  # type: ignore[name-defined,misc]
    """`FULLRECALL_STORE_STEPS` says how many steps are taken."""

    def runTest(self) -> None:  # noqa: N802 - unittest's name for it
        """Take the steps, again with another seed where too few were taken; each is bounded."""
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


# --- two processes, three threads


@posix
def test_two_processes_pay_a_hundred_for_a_hundred(tmp_path: Path) -> None:
    """Both ask the same hundred at the same time, sixteen at a time: each is paid once."""
    program = Path(__file__)
    command = [sys.executable, "-c", PROGRAM.format(folder=str(program.parent)), str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True)
        for seed in range(2)
    ]
    out = [process.communicate(timeout=BOUND)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert [told.split()[0] for told in out] == ["100", "100"]
    assert Paid(tmp_path / "paid.txt").paid() == Counter(range(100))
    assert all(int(told.split()[1]) > 0 for told in out), "neither waited for the other to end"


PROGRAM = """
import asyncio, random, sys, time
from pathlib import Path
sys.path.insert(0, {folder!r})
from test_store_model import Paid, evaluate, samples, scorer
folder, seed = Path(sys.argv[1]), int(sys.argv[2])
(folder / f"ready{{seed}}").touch()
while not all((folder / f"ready{{other}}").exists() for other in range(2)):
    time.sleep(0.001)
numbers = list(range(100))
random.Random(seed).shuffle(numbers)
model = Paid(folder / "paid.txt", lambda _: asyncio.sleep(0.01))
report = evaluate(samples(numbers), scorer(model), store=folder / "s", progress=False)
print(sum(row.results[0].score == 0.0 for row in report), model.sent)
"""


def test_three_threads_pay_a_hundred_for_a_hundred(tmp_path: Path) -> None:
    """Each with a store of its own on one file."""

    def one(seed: int) -> None:
        numbers = list(range(100))
        random.Random(seed).shuffle(numbers)
        model = Paid(tmp_path / "paid.txt", lambda _: asyncio.sleep(0.002))
        judge(numbers, model, tmp_path / "s")

    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert Paid(tmp_path / "paid.txt").paid() == Counter(range(100))


@posix
@pytest.mark.parametrize("how", ["cancelled", "ctrl-c", "deadline"])
def test_the_next_run_on_the_same_store_goes_on(tmp_path: Path, how: str) -> None:
    """Eight times: a run that is ended in the middle of a write leaves the store as it was."""
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


def test_a_lease_ends_with_its_owner(tmp_path: Path) -> None:
    """One of a process that is dead is free at once, one that was not renewed when it is due."""
    from fullrecall.run.ledger import LEASE_SECONDS, Lease, process_scope

    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    now = time.time()
    soon = now + LEASE_SECONDS
    with SQLiteLedger(tmp_path / "store") as ledger:
        token, granted = ledger.lease("an ask")
        assert granted.result()
        assert Lease(token, process_scope(), os.getpid(), soon).is_held(now)
        assert not Lease(token, process_scope(), os.getpid(), now - 1).is_held(now)
        assert not Lease(token, process_scope(), os.getpid(), soon + 1e6).is_held(now), "set back"
        ledger.forget("an ask", token).result()
        assert not Lease(token, process_scope(), os.getpid(), soon).is_held(now), "it has ended"
    assert Lease("t", "another machine", 1, soon).is_held(now)
    if os.name == "posix":
        assert not Lease("t", process_scope(), int(ended.stdout), soon).is_held(now)
    if Path("/proc/self/stat").exists():
        with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as unasked:
            assert unasked.stdout is not None
            unasked.stdout.read()
            os.waitid(os.P_PID, unasked.pid, os.WEXITED | os.WNOWAIT)
            assert not Lease("t", process_scope(), unasked.pid, soon).is_held(now), (
                "dead, not yet buried"
            )


@posix
def test_a_child_that_forks_in_the_middle_of_a_run_waits_for_nobody(tmp_path: Path) -> None:
    """A pool that is made in a callback has children whose store works."""
    codes = []
    with SQLiteLedger(tmp_path / "s") as store:

        def child() -> None:
            judge([7, 8], Paid(tmp_path / "p"), store)

        def fork(_: Any) -> None:
            if not codes:
                codes.append(exits(child))

        judge([1, 2, 3], Paid(tmp_path / "p"), store, sink=fork)
        assert codes == [0]
        assert not store.problem
    assert len(answers_in(tmp_path / "s")) == 5


# --- what the workers of a machine share


def shares(address: Address, budget: Budget, numbers: list[int], paid: Path) -> Report:
    """Evaluate as one worker of a job."""
    return judge(numbers, Paid(paid), address, budget=budget, max_concurrency=4)


def opened(path: Path, budget: Budget) -> Address:
    """Return the address of a new job whose account is open."""
    address = Address(str(path), "job")
    with address.open() as ledger:
        ledger.open_account(budget.owner)
    return address


@posix
@pytest.mark.parametrize("budget", [Budget(calls=25), Budget(tokens=375)], ids=["calls", "tokens"])
def test_the_processes_of_a_machine_share_a_budget(tmp_path: Path, budget: Budget) -> None:
    """Four of them, one of which is killed: what was paid is within it, and all of it is used."""
    address, paid = opened(tmp_path / "s", budget), tmp_path / "p"
    context = multiprocessing.get_context("fork")

    def work(seed: int) -> None:
        numbers = list(range(20 * seed, 20 * seed + 20))
        shares(address, budget, numbers, paid)

    def dies() -> None:
        def die(sent: int) -> None:
            if sent == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        judge([90, 91, 92], Paid(paid, die), address, budget=budget, max_concurrency=1)

    workers = [context.Process(target=work, args=(seed,)) for seed in range(3)]
    workers.append(context.Process(target=dies))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(BOUND)
    assert [worker.exitcode for worker in workers[:3]] == [0, 0, 0]
    count = Paid(paid).paid().total()
    assert count <= 25 + (budget.tokens is not None)
    if budget.calls is not None:
        with address.open() as ledger:
            assert spent_of(ledger, budget).calls == 25
        assert count >= 24, "the killed one's is counted, and was not paid"


def test_the_threads_of_a_machine_share_a_rate(tmp_path: Path) -> None:
    """Requests of two workers take turns: none comes before its time."""
    budget = Budget(rate=100.0)
    address, came = opened(tmp_path / "s", budget), []

    def work(first: int) -> None:
        model = Paid(tmp_path / "p", lambda _: came.append(time.monotonic()))
        judge(list(range(first, first + 10)), model, address, budget=budget)

    began = time.monotonic()
    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert len(came) == 20
    assert max(came) - began >= 0.9 * 19 / 100


def test_an_account_that_is_gone_or_anothers_ends_the_job(tmp_path: Path) -> None:
    """Nothing is sent: nobody knows what was spent. The message says what happened."""
    budget = Budget(calls=5)
    address, paid = opened(tmp_path / "s", budget), tmp_path / "p"
    others = Budget(calls=6)
    for given, at, why in (
        (others, address, "is another's"),
        (budget, Address(str(tmp_path / "s"), "no job"), "is gone"),
    ):
        report = shares(at, given, [1, 2], paid)
        assert [why in (row.results[0].reason or "") for row in report] == [True, True]
    assert not paid.exists()
    assert {row.results[0].score for row in shares(address, budget, [1, 2], paid)} == {0.0}
    for file in tmp_path.glob("s*"):
        file.unlink()
    report = shares(address, budget, [3], paid)
    assert "is gone" in (report.rows[0].results[0].reason or "")
    assert Paid(paid).paid().total() == 2
