"""Blocking calls in threads: a program ends without them, and a forked one has its own."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait

import pytest

from fullrecall import IdRecall, Sample, aevaluate
from fullrecall.run.threads import Threads, in_thread


def test_no_thread_holds_up_the_end_of_a_program() -> None:
    """A canceled run gives up samples whose reading hangs, and so does the end of the program."""
    began, released = threading.Event(), threading.Event()

    def hanging() -> Iterator[Sample]:
        began.set()
        released.wait(60)
        yield Sample()

    async def main() -> None:
        running = asyncio.create_task(aevaluate(hanging(), IdRecall(), progress=False))
        await asyncio.to_thread(began.wait, 30)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    before = set(threading.enumerate())
    try:
        asyncio.run(main())
        left = set(threading.enumerate()) - before
        assert left
        assert all(thread.daemon for thread in left)
    finally:
        released.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """A client that was called before a fork can be called in the child."""

    async def called() -> int:
        return await asyncio.wait_for(in_thread(lambda: 7), 10)

    assert asyncio.run(called()) == 7
    child = os.fork()
    if not child:
        try:
            os._exit(asyncio.run(called()))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_threads_are_as_many_as_calls_and_at_most_as_allowed() -> None:
    """A call behind others waits for a thread; an idle thread takes the next call."""
    threads, going, began = Threads(2), threading.Event(), threading.Semaphore(0)
    names: list[str] = []

    def call() -> None:
        names.append(threading.current_thread().name)
        began.release()
        going.wait(10)

    calls = [threads.start(call) for _ in range(5)]
    assert began.acquire(timeout=10)
    assert began.acquire(timeout=10)
    assert not calls[4].running()
    assert calls[3].cancel()
    going.set()
    wait([calls[n] for n in (0, 1, 2, 4)], timeout=10)
    for _ in range(20):
        threads.start(call).result(10)
    threads.close()
    assert len(names) == 24
    assert threads._count == 2
    unbounded = Threads()
    for _ in range(20):
        unbounded.start(int).result(10)
        time.sleep(0.001)  # The thread becomes idle.
    unbounded.close()
    assert unbounded._count < 20
