"""Compare `evaluate`, with a judge that asks a model, with the bare official client.

The endpoint is on loopback, in a process of its own, and answers each request after a fixed
latency. The client sends the same requests, as many at once as a semaphore allows, and ignores the
answers. It is called as its users call it, by `chat.completions.create`, which processes all
arguments and makes objects of the answer; fullrecall passes the body to the same client's `post`.
The bytes on the wire are the same. Both make their own client within the clock.

The floor is `ceil(requests / concurrency) x latency`; CPU is that of this process alone.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from prompt_tokens import WORDS
from side_by_side import say, setting, table

SAMPLES = 200
LATENCY = 0.3
CONCURRENCY = (1, 16, 64, 200)
AT_ONE = 20
"""Samples at concurrency 1: each takes the whole latency."""

_ANSWER = {
    "verdicts": [
        {
            "id": number, "begins": f"Claim {number}",
            "verdict": "supported" if number % 2 else "not_supported",
            "together": False,
            "citations": [{"context": 1, "quote": "the of and to in"}] if number % 2 else [],
        }
        for number in range(1, 6)
    ]
}  # fmt: skip


class Cost(NamedTuple):
    """The cost of one run: wall seconds and CPU seconds."""

    wall: float
    cpu: float


def samples(count: int, contexts: int = 5, claims: int = 5, seed: int = 7) -> list[Any]:
    """Return samples whose claims are known, so that each takes one request.

    Another seed gives other texts, so that a store has no answers to them.
    """
    import random

    from fullrecall import Sample

    rng = random.Random(seed)

    def text(words: int) -> str:
        return " ".join(["the of and to in", *rng.choices(WORDS, k=words)]) + "."

    return [
        Sample(
            user_input=f"Question {number}?",
            retrieved_contexts=[text(200) for _ in range(contexts)],
            reference_claims=[f"Claim {n}: {text(12)}" for n in range(1, claims + 1)],
        )
        for number in range(count)
    ]


def body() -> bytes:
    """Return the endpoint's answer to every request."""
    message = {"role": "assistant", "content": json.dumps(_ANSWER)}
    return json.dumps(
        {
            "id": "c", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1155, "completion_tokens": 120, "total_tokens": 1275},
        }
    ).encode()  # fmt: skip


async def serve(latency: float) -> None:
    """Answer every request after `latency` seconds, with the same verdicts; print the port."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    reply = f"{head}{len(body())}\r\n\r\n".encode() + body()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                asked = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", asked)
                await reader.readexactly(int(length[1]) if length else 0)
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                return
            await asyncio.sleep(latency)
            writer.write(reply)

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def by_fullrecall(asked: list[Any], base_url: str, concurrency: int) -> None:
    """Score the samples with `evaluate`."""
    from fullrecall import ClaimRecall, LLMJudge, evaluate
    from fullrecall.judge import OpenAIChatModel

    model = OpenAIChatModel("m", base_url=base_url, api_key="none")
    scorer = ClaimRecall(judge=LLMJudge(model))
    report = evaluate(asked, scorer, max_concurrency=concurrency, progress=False)
    if [row.results[0].score for row in report] != [0.6] * len(asked):
        raise ValueError(f"not every score is 0.6:\n{report}")


def by_client(requests: list[dict[str, Any]], base_url: str, concurrency: int) -> None:
    """Send the same requests with the official client alone."""
    from openai import AsyncOpenAI

    async def all_of_them() -> None:
        gate = asyncio.Semaphore(concurrency)
        async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:

            async def one(request: dict[str, Any]) -> None:
                async with gate:
                    await client.chat.completions.create(**request)

            await asyncio.gather(*map(one, requests))

    asyncio.run(all_of_them())


def requests_of(asked: list[Any]) -> list[dict[str, Any]]:
    """Return the requests of `evaluate` for the samples, as the client's arguments."""
    from fullrecall import ClaimRecall, LLMJudge
    from fullrecall.judge import OpenAIChatModel
    from fullrecall.testing import ScriptedChatModel

    seen = ScriptedChatModel([json.dumps(_ANSWER)])
    scorer = ClaimRecall(judge=LLMJudge(seen))
    for sample in asked:
        scorer.score(sample)
    model = OpenAIChatModel("m", base_url="http://127.0.0.1/v1", api_key="none")
    return [model._post(request)["body"] for request in seen.requests]


def measured(run: Callable[[], None]) -> Cost:
    """Run once; return its cost."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def main() -> None:
    """Measure each concurrency and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--latency", type=float, default=LATENCY)
    parser.add_argument("--concurrency", type=int, nargs="+", default=CONCURRENCY)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        asyncio.run(serve(asked.latency))
        return
    command = [sys.executable, __file__, "--serve", "--latency", str(asked.latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            base_url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
            compare(asked, base_url)
        finally:
            server.terminate()


def compare(asked: argparse.Namespace, base_url: str) -> None:
    """Print a row for each concurrency: both contenders, in turn, in each round."""
    rows = []
    warm = samples(2)
    by_client(requests_of(warm), base_url, 2)
    by_fullrecall(warm, base_url, 2)
    for concurrency in asked.concurrency:
        count = min(asked.samples, AT_ONE) if concurrency == 1 else asked.samples
        floor = math.ceil(count / concurrency) * asked.latency
        pairs = []
        for seed in range(asked.rounds):
            ours = samples(count, seed=seed)
            theirs = requests_of(samples(count, seed=-1 - seed))
            pairs.append(
                (
                    measured(partial(by_client, theirs, base_url, concurrency)),
                    measured(partial(by_fullrecall, ours, base_url, concurrency)),
                )
            )
        bare, own = zip(*pairs, strict=True)
        rows.append(
            [
                str(concurrency),
                str(count),
                f"{_median(cost.wall / floor for cost in own):.2f}",
                f"{_median(cost.wall / floor for cost in bare):.2f}",
                f"{_median(mine.wall / its.wall for its, mine in pairs):.2f}",
                f"{_median(cost.cpu / count for cost in own) * 1e3:.1f}",
                f"{_median(cost.cpu / count for cost in bare) * 1e3:.1f}",
                f"{_median(mine.cpu / its.cpu for its, mine in pairs):.2f}",
            ]
        )
    header = [
        "concurrency", "samples", "wall / floor", "client", "wall, client = 1",
        "CPU, ms per sample", "client", "CPU, client = 1",
    ]  # fmt: skip
    say(table(header, rows))
    say("\n" + setting("fullrecall", "openai", "httpx"))


def _median(values: Any) -> float:
    return statistics.median(values)


if __name__ == "__main__":
    main()
