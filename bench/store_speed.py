"""Measure the store: completions written and looked up per second, and their cost to a run.

    python bench/store_speed.py [--calls 2000] [--in-flight 16]

Each completion is synced to the disk before it counts as written. The run asks a model that answers
at once, so that nothing but the engine and the store takes time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path

from fullrecall import ClaimRecall, LLMJudge, Sample, evaluate
from fullrecall.judge import Ask, ChatRequest, Completion, Message
from fullrecall.run import SQLiteLedger
from fullrecall.run.request import completion_key, completion_of, text_of
from fullrecall.testing import ScriptedChatModel

_TEXT = "A claim that is supported, with its citation and a quote of some words. " * 8
_VERDICTS = json.dumps(
    {"verdicts": [{"id": 1, "verdict": "not_supported", "citations": [], "together": False}]}
)


def kept(path: Path, calls: int, in_flight: int) -> tuple[float, float, float]:
    """Return completions written and looked up per second, and the longest pause of the loop."""
    stalls = []

    async def keep(store: SQLiteLedger) -> None:
        gate = asyncio.Semaphore(in_flight)

        async def one(number: int) -> None:
            async with gate:
                done = store.put(f"{number}", text_of(Completion(_TEXT, 900, 90)))
                await asyncio.wrap_future(done)

        async def watch() -> None:
            while True:
                began = time.perf_counter()
                await asyncio.sleep(0.001)
                stalls.append(time.perf_counter() - began - 0.001)

        watching = asyncio.create_task(watch())
        await asyncio.gather(*map(one, range(calls)))
        watching.cancel()

    with SQLiteLedger(path) as store:
        began = time.perf_counter()
        asyncio.run(keep(store))
        writing = time.perf_counter() - began
        began = time.perf_counter()
        for number in range(calls):
            completion_of(store.get(f"{number}") or "")
        reading = time.perf_counter() - began
    return calls / writing, calls / reading, sorted(stalls)[int(len(stalls) * 0.99)]


def keys(calls: int) -> float:
    """Return microseconds for one key of a request of ten contexts."""
    request = ChatRequest((Message("system", _TEXT), Message("user", _TEXT * 20)), {"a": {"b": 1}})
    ask = Ask(ScriptedChatModel([""]), request)
    began = time.perf_counter()
    for _ in range(calls):
        completion_key(ask)
    return (time.perf_counter() - began) / calls * 1e6


def run(path: Path | None, calls: int, in_flight: int) -> float:
    """Return milliseconds for a sample with one judging."""
    samples = [
        Sample(user_input=f"q{n}", reference_claims=["A."], retrieved_contexts=[f"{_TEXT} {n}"])
        for n in range(calls)
    ]
    scorer = ClaimRecall(judge=LLMJudge(ScriptedChatModel([_VERDICTS])))
    began = time.perf_counter()
    evaluate(samples, scorer, store=path, max_concurrency=in_flight, progress=False)
    return (time.perf_counter() - began) / calls * 1e3


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--in-flight", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        writes, reads, stall = kept(Path(folder) / "a", options.calls, options.in_flight)
        print(f"kept, synced: {writes:,.0f}/s; loop stalled (99th of 100): {stall * 1e3:.2f} ms")
        print(f"looked up: {reads:,.0f}/s; a key: {keys(options.calls):.0f} µs")
        file = Path(folder) / "b"
        for title, path in (("memory", None), ("new", file), ("full", file)):
            took = run(path, options.calls, options.in_flight)
            print(f"a sample, store {title}: {took:.2f} ms")


if __name__ == "__main__":
    main()
