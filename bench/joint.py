"""Claims and verdicts in one request, in two, and ragas's one: requests, tokens and wall.

The endpoint is on loopback, in a process of its own. It answers after a fixed latency and as long
as its answer takes at so many tokens a second, so that one long answer costs what two short ones
do and the way to it is saved. Each reference is met for the first time, then once more with what
a second retriever brings. ragas is measured where it is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

from prompt_tokens import WORDS
from side_by_side import say, setting, table

SENTENCES = 5
_CHARACTERS = 4  # of a token


class Cost(NamedTuple):
    """What scoring all samples took."""

    requests: int
    prompt: int
    completion: int
    seconds: float


def samples(count: int, seed: int, *, again: int = 0) -> list[Any]:
    """Return samples with references of five sentences; `again` brings other contexts for them."""
    import random

    from fullrecall import Sample

    def text(rng: random.Random, words: int) -> str:
        return " ".join(rng.choices(WORDS, k=words))

    made = []
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        facts = [f"Site {number}-{n} holds {text(rng, 10)}." for n in range(SENTENCES)]
        brought = random.Random(f"{seed} {number} {again}")
        made.append(
            Sample(
                user_input=f"What do the sites {number} hold?",
                reference=" ".join(facts),
                retrieved_contexts=[f"{facts[n]} {text(brought, 150)}." for n in range(5)],
            )
        )
    return made


def answer(body: dict[str, Any]) -> str:
    """Return what a good model answers: each sentence is a claim, each claim is in a context."""
    words = "\n".join(str(message["content"]) for message in body["messages"])
    form = body.get("response_format", {}).get("json_schema", {}).get("name", "")
    if form == "verdicts":
        claims = [json.loads(f'"{one}"') for one in _CLAIM.findall(words.split("claims:\n")[1])]
        return json.dumps({"verdicts": _verdicts(claims)})
    (reference,) = _REFERENCE.findall(words)[-1:] or [""]
    claims = _SENTENCE.findall(reference)
    if form == "items":
        return json.dumps({"items": claims})
    if form == "joint":
        return json.dumps({"claims": claims, "verdicts": _verdicts(claims)})
    classified = [{"statement": c, "reason": f"Context {n} has it.", "attributed": 1}
                  for n, c in enumerate(claims, start=1)]  # fmt: skip
    return json.dumps({"classifications": classified})


_CLAIM = re.compile(r'^\d+ "(.*)"$', re.MULTILINE)
_REFERENCE = re.compile(r'(?:text|reference|"?answer"?): ?"(Site .*?)"\s*(?:$|[,}])', re.MULTILINE)
_SENTENCE = re.compile(r"Site [^.]*\.")


def _verdicts(claims: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "id": n, "begins": " ".join(claim.split()[:3]),
            "citations": [{"context": n, "quote": " ".join(claim.split()[:6])}],
            "together": False, "verdict": "supported",
        }
        for n, claim in enumerate(claims, start=1)
    ]  # fmt: skip


async def serve(latency: float, rate: float) -> None:
    """Answer requests; count them at `/counts`. Prints the port."""
    counts = [0, 0, 0]

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                asked = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", asked)
                content = await reader.readexactly(int(length[1]) if length else 0)
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                return
            payload = json.dumps(counts).encode()
            if asked.startswith(b"POST"):
                body = json.loads(content)
                said = answer(body)
                prompt = sum(len(str(m["content"])) for m in body["messages"]) // _CHARACTERS
                completion = len(said) // _CHARACTERS
                counts[0] += 1
                counts[1] += prompt
                counts[2] += completion
                await asyncio.sleep(latency + completion / rate)
                message = {"role": "assistant", "content": said}
                usage = {"prompt_tokens": prompt, "completion_tokens": completion,
                         "total_tokens": prompt + completion}  # fmt: skip
                choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
                payload = json.dumps(
                    {"id": "c", "object": "chat.completion", "created": 0, "model": "m",
                     "choices": choices, "usage": usage}
                ).encode()  # fmt: skip
            head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
            writer.write(f"{head}{len(payload)}\r\n\r\n".encode() + payload)

    server = await asyncio.start_server(serve_one, "127.0.0.1", 0, backlog=1024, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def by_fullrecall(base_url: str, split: Any, most: int) -> Callable[[list[Any]], None]:
    """Return what scores samples by one judge, which remembers its claims."""
    from fullrecall import ClaimRecall, LLMJudge, evaluate
    from fullrecall.models.openai import OpenAIChatModel

    scorer = ClaimRecall(
        judge=LLMJudge(OpenAIChatModel("m", base_url=base_url, api_key="none")), split=split
    )

    def score(asked: list[Any]) -> None:
        report = evaluate(asked, scorer, max_concurrency=most, progress=False)
        scores = {(row.results[0].score, len(row.results[0].findings)) for row in report}
        if scores != {(1.0, SENTENCES)}:
            raise ValueError(f"not every score is 1.0 over {SENTENCES} claims: {scores}")

    return score


def by_ragas(base_url: str, most: int) -> Callable[[list[Any]], None]:
    """Return what scores samples by ragas's `ContextRecall`, so many at a time."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import ContextRecall

    def score(asked: list[Any]) -> None:
        async def all_of_them() -> None:
            gate = asyncio.Semaphore(most)

            async def one(sample: Any, metric: Any) -> None:
                async with gate:
                    result = await metric.ascore(
                        user_input=sample.user_input,
                        retrieved_contexts=[c.text for c in sample.retrieved_contexts],
                        reference=sample.reference,
                    )
                if result.value != 1.0:
                    raise ValueError(f"ragas's score is {result.value}, expected 1.0")

            async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
                metric = ContextRecall(llm=llm_factory("m", client=client))
                await asyncio.gather(*(one(sample, metric) for sample in asked))

        asyncio.run(all_of_them())

    return score


def counts(base_url: str) -> list[int]:
    """Return what the endpoint counted so far."""
    from urllib.request import urlopen

    with urlopen(base_url.replace("/v1", "/counts")) as reply:  # noqa: S310 - of this script
        counted: list[int] = json.load(reply)
    return counted


def cost(score: Callable[[list[Any]], None], asked: list[Any], base_url: str) -> Cost:
    """Score samples; return what it took."""
    before, began = counts(base_url), time.perf_counter()
    score(asked)
    took = time.perf_counter() - began
    more = [after - first for after, first in zip(counts(base_url), before, strict=True)]
    return Cost(more[0], more[1], more[2], took)


def main() -> None:
    """Print what each way takes at first sight, and for a second retriever."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--rate", type=float, default=200.0, help="tokens of an answer per second")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        asyncio.run(serve(asked.latency, asked.rate))
        return
    command = [sys.executable, __file__, "--serve", "--latency", str(asked.latency)]
    command += ["--rate", str(asked.rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            compare(asked, f"http://127.0.0.1:{server.stdout.readline().strip()}/v1")
        finally:
            server.terminate()


def compare(asked: argparse.Namespace, base_url: str) -> None:
    """Print a row for each way, medians of the rounds; each in turn in each round."""
    ways: dict[str, Callable[[], Callable[[list[Any]], None]]] = {
        'split="judge"': lambda: by_fullrecall(base_url, "judge", asked.concurrency),
        'split="joint"': lambda: by_fullrecall(base_url, "joint", asked.concurrency),
    }
    if find_spec("ragas") is not None:
        ways["ragas, ContextRecall"] = lambda: by_ragas(base_url, asked.concurrency)
    took: dict[tuple[str, str], list[Cost]] = {}
    for seed in range(asked.rounds):
        for name, make in ways.items():
            score = make()
            for again, sight in enumerate(("first sight", "second retriever")):
                made = samples(asked.samples, seed, again=again)
                took.setdefault((name, sight), []).append(cost(score, made, base_url))
    rows = []
    for (name, sight), costs in took.items():
        middle = sorted(costs, key=lambda one: one.seconds)[len(costs) // 2]
        per_sample = [f"{part / asked.samples:,.2f}" for part in middle[:1]]
        per_sample += [f"{part / asked.samples:,.0f}" for part in middle[1:3]]
        rows.append([name, sight, *per_sample, f"{middle.seconds:.2f}"])
    header = ["way", "reference", "requests", "prompt tokens", "answer tokens", "wall, s"]
    say(table(header, rows))
    say("\nPer sample but for the wall. " + setting("fullrecall", "ragas", "openai"))


if __name__ == "__main__":
    main()
