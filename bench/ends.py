"""Measure the seconds until a deadline, a timeout, and Ctrl-C end a run on very long inputs.

    python bench/ends.py [--after 1.0] [--kinds "one row of a million IDs" …]

Each run is a process of its own. It is told to end after a second; the table shows the seconds
after that, and how the run ended. A timeout is for a request, so it applies only to kinds with a
judge or retriever.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from side_by_side import say, table

from fullrecall import ClaimRecall, IdRecall, LLMJudge, Sample, TextRecall, evaluate
from fullrecall.read import read

ENDS = ("deadline", "Ctrl-C", "timeout")
ASKING = ("a judge that never answers", "a retriever that never answers")
_ROW = {"user_input": "q", "reference_context_ids": ["a"], "retrieved_context_ids": ["b", "a"]}
_ENGLISH = "The tower {} was built in 1889 by an engineer of Lyon. "


def texts(reference: str, context: str) -> Any:
    """Compare two texts."""
    row = Sample(user_input="q", reference_contexts=[reference], retrieved_contexts=[context])
    return [row] * 3, TextRecall(), {}


def claims(answer: str) -> Any:
    """Split an answer into claims."""
    row = Sample(user_input="q", reference=answer, retrieved_contexts=[_ENGLISH.format(1)])
    return [row] * 3, ClaimRecall(), {}


def many(count: int) -> Any:
    """Compare many IDs."""
    ids = [f"doc-{number}" for number in range(count)]
    row = {"user_input": "q", "reference_context_ids": ids, "retrieved_context_ids": ids[::-1]}
    return [row] * 3, IdRecall(), {}


def groups() -> Any:
    """Compare groups of IDs."""
    pairs = [[f"{number}", f"{number}b"] for number in range(60_000)]
    ids = [f"{number}b" for number in range(60_000)]
    row = Sample(user_input="q", reference_context_ids=pairs, retrieved_context_ids=ids)
    return [row] * 20, IdRecall(), {}


def references() -> Any:
    """Compare many texts with many."""
    lists = [[_ENGLISH.format(number + odd) for number in range(3_000)] for odd in (0, 0.5)]
    row = Sample(user_input="q", reference_contexts=lists[0], retrieved_contexts=lists[1])
    return [row] * 3, TextRecall(), {}


def file() -> Any:
    """Read a large file."""
    path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    ids = ", ".join(f'"doc-{number}"' for number in range(30))
    line = f'{{"user_input": "q", "reference_context_ids": ["a"], "retrieved_ids": [{ids}]}}\n'
    path.write_text(line * 1_000_000)
    return read(path), IdRecall(), {}


def waiting() -> Iterator[dict[str, Any]]:
    """Yield one row, and wait."""
    yield _ROW
    time.sleep(600)


def endless() -> Iterator[dict[str, Any]]:
    """Yield rows without end."""
    while True:
        yield dict(_ROW)


def judge() -> Any:
    """Ask a judge that never answers."""

    class Silent:
        name = "silent"

        async def acomplete(self, request: object) -> Any:
            import asyncio

            await asyncio.sleep(600)

        complete = acomplete

    row = Sample(user_input="q", reference_claims=["A."], retrieved_contexts=["b"])
    return [row] * 3, ClaimRecall(judge=LLMJudge(Silent())), {"retries": 0}


def retriever() -> Any:
    """Ask a retriever that never answers."""
    rows = [{"user_input": f"q{n}", "reference_context_ids": ["a"]} for n in range(3)]
    return rows, IdRecall(), {"retriever": lambda _: time.sleep(600)}


_A, _B = "abcdefgh " * 66_000, "hgfedcba " * 66_000
INPUTS: Mapping[str, Any] = {
    "equal texts of 600,000 characters": lambda: texts(_A, _A),
    "texts of 600,000 characters": lambda: texts(_A, _B),
    "3,000 references, 3,000 contexts": references,
    "one row of a million IDs": lambda: many(1_000_000),
    "60,000 groups of IDs": groups,
    "an answer of a million characters": lambda: claims(_ENGLISH.format(2) * 18_000),
    "a Chinese answer of 900,000": lambda: claims("埃菲尔铁塔建于一八八九年。" * 70_000),
    "900,000 quotation marks": lambda: claims("“" * 900_000),
    "a file of a million rows": file,
    "an iterator that waits": lambda: (waiting(), IdRecall(), {}),
    "an iterator without an end": lambda: (endless(), IdRecall(), {}),
    ASKING[0]: judge,
    ASKING[1]: retriever,
}
"""For each kind of input, a function that makes the samples, the scorer, and the options."""


def one(kind: str, end: str, after: float) -> None:
    """Run one kind of input to its end; print the seconds since it was due, and how it ended."""
    samples, scorer, options = INPUTS[kind]()
    if end != "Ctrl-C":
        options[end] = after
    press = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    press.daemon = True
    began = time.monotonic()
    if end == "Ctrl-C":
        press.start()
    try:
        report = evaluate(samples, scorer, progress=False, **options)
    except KeyboardInterrupt as error:
        report, how = getattr(error, "report", []), "interrupted"
    else:
        how = "incomplete" if report.stopped else "complete"
    took = time.monotonic() - began
    if how == "complete" and took < after:
        print(f"done in {took:.2f} s")
    else:
        print(f"{max(0.0, took - after):.2f} s, {how}")
    sys.stdout.flush()
    os._exit(0)  # The process exits without waiting for threads that still sleep.


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--after", type=float, default=1.0)
    parser.add_argument("--kinds", nargs="+", default=list(INPUTS))
    parser.add_argument("--end", choices=ENDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.end is not None:
        one(options.kinds[0], options.end, options.after)
    rows = []
    for kind in options.kinds:
        cells = [kind]
        for end in ENDS:
            if end == "timeout" and kind not in ASKING:
                cells.append("no request")
                continue
            command = [sys.executable, __file__, "--after", str(options.after), "--end", end]
            ended = subprocess.run(
                [*command, "--kinds", kind], capture_output=True, text=True, timeout=300, check=True
            )
            cells.append(ended.stdout.strip())
        rows.append(cells)
    say(table(["input", *ENDS], rows))


if __name__ == "__main__":
    main()
