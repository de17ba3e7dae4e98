"""A store shared by processes, threads and the workers of a job: each answer is paid once."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.run.ledgers import answers_in
from tests.run.paid import BOUND, Paid, exits, judge

from fullrecall import Budget, Report
from fullrecall.judge.models.retries import Retries
from fullrecall.run.account import spent_of
from fullrecall.run.address import Address
from fullrecall.run.ledger import LEASE_SECONDS
from fullrecall.run.sqlite import SQLiteLedger
from fullrecall.table.row import Row

posix = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals as on POSIX systems")


# --- two processes, three threads


@posix
def test_two_processes_pay_a_hundred_for_a_hundred(tmp_path: Path) -> None:
    """Two processes that send the same hundred requests at once pay for each once.

    No request is answered before each process has sent one: neither waits for the other to end.
    """
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PROGRAM.format(folder=str(root)), str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True)
        for seed in range(2)
    ]
    out = [process.communicate(timeout=BOUND)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert [told.strip() for told in out] == ["100", "100"]
    assert Paid(tmp_path / "paid.txt").paid() == Counter(range(100))


PROGRAM = """
import asyncio, random, sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from tests.run.paid import Paid, samples, scorer
from fullrecall import evaluate
folder, seed = Path(sys.argv[1]), int(sys.argv[2])

async def both_sending(_):
    (folder / f"sending{{seed}}").touch()
    while not all((folder / f"sending{{other}}").exists() for other in range(2)):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)

numbers = list(range(100))
random.Random(seed).shuffle(numbers)
model = Paid(folder / "paid.txt", both_sending)
report = evaluate(samples(numbers), scorer(model), store=folder / "s", progress=False)
print(sum(row.results[0].score == 0.0 for row in report))
"""


def test_three_threads_pay_a_hundred_for_a_hundred(tmp_path: Path) -> None:
    """Three threads, each with its own store on one file, pay for each answer once."""

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


def test_a_lease_ends_some_seconds_after_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One owner has a lease at a time, renewed while the owner lives, and expiring afterwards."""
    now = [1_000.0]
    monkeypatch.setattr("fullrecall.run.sqlite.seconds", lambda: now[0])
    with SQLiteLedger(tmp_path / "s") as owner, SQLiteLedger(tmp_path / "s") as other:

        def is_granted(ledger: SQLiteLedger, key: str = "an ask") -> bool:
            token, granted = ledger.lease(key)
            return granted.result(BOUND) and ledger.forget(key, token).result(BOUND) is None

        token, granted = owner.lease("an ask")
        assert granted.result(BOUND)
        for _ in range(3):
            now[0] += 0.9 * LEASE_SECONDS
            assert not is_granted(other)
            assert owner._lease("an ask", token), "renewed"
        now[0] += 1.1 * LEASE_SECONDS
        assert is_granted(other)
        assert owner._lease("an ask", token)
        now[0] -= 1e6
        assert is_granted(other), "the machine was started again"
        assert owner.lease("another")[1].result(BOUND)
        owner.put("another", "its answer").result(BOUND)
        assert not is_granted(other, "another"), "there is an answer"
        assert owner.lease("a third")[1].result(BOUND)
    with SQLiteLedger(tmp_path / "s") as other:
        assert is_granted(other, "a third"), "it ended with its ledger"


def test_renewals_do_not_pile_up_on_a_slow_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease is renewed again only after its last renewal, however long that takes."""
    monkeypatch.setattr("fullrecall.run.ledger.LEASE_SECONDS", 0.004)
    turns, begun, go_on = threading.Semaphore(0), threading.Semaphore(0), threading.Event()
    with SQLiteLedger(tmp_path / "s") as ledger:
        lease, pool = ledger._lease, ledger._pool

        def slow(key: str, token: str) -> bool:
            begun.release()
            return go_on.wait(BOUND) and lease(key, token)

        assert ledger.lease("an ask")[1].result(BOUND)
        monkeypatch.setattr(ledger, "_lease", slow)
        try:
            assert begun.acquire(timeout=BOUND)
            monkeypatch.setattr(ledger, "save_again", turns.release)
            assert all(turns.acquire(timeout=BOUND) for _ in range(20))
            assert not begun.acquire(blocking=False)
            assert pool._work_queue.qsize() == 0
        finally:
            go_on.set()


@posix
def test_a_child_that_forks_in_the_middle_of_a_run_waits_for_nobody(tmp_path: Path) -> None:
    """The store works in child processes that a callback forks during a run."""
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


def forks_in_a_run(folder: Path, chance: random.Random) -> int:
    """Return the number of forks in a run; parent and children send the same requests."""
    folder.mkdir()
    model, numbers, codes = Paid(folder / "p", lambda _: asyncio.sleep(0.01)), list(range(12)), []
    moments = chance.sample(range(1, 13), 3)
    with SQLiteLedger(folder / "s") as store:

        def child() -> None:
            mine = [*chance.sample(numbers, 12), 12 + chance.randrange(5)]
            report = judge(mine, model, store)
            assert [row.results[0].score for row in report] == [0.0] * 13

        def fork(row: Row) -> None:
            if row.position in moments:
                codes.append(exits(child))

        report = judge(numbers, model, store, max_concurrency=4, sink=fork)
        assert [row.results[0].score for row in report] == [0.0] * 12
        assert (codes, store.problem) == ([0, 0, 0], "")
    paid = model.paid()
    assert paid.keys() >= set(numbers)
    assert set(paid.values()) == {1}
    return len(codes)


@posix
@pytest.mark.long
def test_two_hundred_forks_pay_nothing_twice(tmp_path: Path) -> None:
    """Forks at random moments of runs, with requests in flight, pay for no answer twice."""
    chance = random.Random(51)
    assert sum(forks_in_a_run(tmp_path / str(number), chance) for number in range(67)) > 200


# --- the budget that the workers of a machine share


def shares(address: Address, budget: Budget, numbers: list[int], paid: Path) -> Report:
    """Evaluate as one worker of a job."""
    return judge(numbers, Paid(paid), address, budget=budget, max_concurrency=4)


def opened(path: Path) -> Address:
    """Return the address of a new job whose account is open."""
    address = Address(str(path), "job")
    with address.open() as ledger:
        ledger.open_account()
    return address


@posix
@pytest.mark.parametrize("budget", [Budget(calls=25), Budget(tokens=375)], ids=["calls", "tokens"])
def test_the_processes_of_a_machine_share_a_budget(tmp_path: Path, budget: Budget) -> None:
    """Four processes, one of them killed, use the whole budget and do not exceed it."""
    address, paid = opened(tmp_path / "s"), tmp_path / "p"
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


def test_the_workers_of_a_job_share_an_account_without_bounds(tmp_path: Path) -> None:
    """With prices alone the account has the calls, retries, tokens and cost of all workers."""
    budget, address = Budget(prices={"paid": (1.0, 2.0)}), opened(tmp_path / "s")

    def fails_first(sent: int) -> None:
        if sent == 1:
            raise ConnectionError

    for first in (0, 3):
        model = Paid(tmp_path / "p", fails_first)
        retries = Retries(first_wait=0.0)
        judge([*range(first, first + 3)], model, address, budget=budget, retries=retries)
    with address.open() as ledger:
        spent = spent_of(ledger, budget)
    assert (spent.calls, spent.retries, spent.tokens) == (6 + 2, 2, 6 * 15)
    assert spent.cost == pytest.approx(6 * 20 / 1e6)


def test_the_threads_of_a_machine_share_a_rate(tmp_path: Path) -> None:
    """Requests of two workers take turns by the rate, and none is sent early."""
    budget = Budget(rate=100.0)
    address, came = opened(tmp_path / "s"), []

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


def test_an_account_that_is_gone_ends_the_job(tmp_path: Path) -> None:
    """A missing account ends the job without a request, and the message says why."""
    budget = Budget(calls=5)
    address, paid = opened(tmp_path / "s"), tmp_path / "p"
    report = shares(Address(str(tmp_path / "s"), "no job"), budget, [1, 2], paid)
    assert ["is gone" in (row.results[0].reason or "") for row in report] == [True, True]
    assert not paid.exists()
    assert {row.results[0].score for row in shares(address, budget, [1, 2], paid)} == {0.0}
    for file in tmp_path.glob("s*"):
        file.unlink()
    report = shares(address, budget, [3], paid)
    assert "is gone" in (report.rows[0].results[0].reason or "")
    assert Paid(paid).paid().total() == 2
