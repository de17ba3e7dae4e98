"""Measure the time of checks of a large collection, and the memory of generation.

    python bench/testset_scale.py
    python bench/testset_scale.py --documents 1000 --documents 10000

Made-up documents of 400 words in files; a scripted model writes and checks. Memory is the largest
resident size of a process of its own, for each number of documents, as Linux reports it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from fullrecall.judge import ChatRequest
from fullrecall.samples import Sample
from fullrecall.testing import ScriptedChatModel
from fullrecall.testset import check, generate

WORDS = 400
VOCABULARY = 20_000


def write(folder: Path, count: int) -> None:
    """Write documents of random words, each with a fact of its own."""
    draw = random.Random(0)
    vocabulary = [f"w{draw.randrange(10**6)}" for _ in range(VOCABULARY)]
    for n in range(count):
        words = [vocabulary[int(draw.paretovariate(0.7)) % VOCABULARY] for _ in range(WORDS)]
        fact = f"The sluice number {n} was opened by engineer Name{n}. "
        parts = [" ".join(words[at : at + 100]) + "." for at in range(0, WORDS, 100)]
        (folder / f"{n}.txt").write_text(fact + "\n\n".join(parts), encoding="utf-8")


def answer(request: ChatRequest) -> str:
    """Write four questions about the first words of the passage, and confirm every check."""
    asked = request.messages[1].content
    block = asked.split("Documents:\n", 1)[1].split("\n\n", 1)[0]
    words = json.loads(block.split(" ", 1)[1]).split()
    if request.schema_name == "questions":
        quote = " ".join(words[:6])
        claim = {"claim": f"It is {words[2]}.", "document": 1, "quote": quote}
        return json.dumps({"questions": [
            {"kind": "one_fact", "question": f"Who or what has {words[n]} near {words[n + 4]}?",
             "answer": "that", "claims": [claim]}
            for n in (3, 4, 5, 6)
        ]})  # fmt: skip
    quote = " ".join(words[:6])
    questions = asked.split("Questions:\n", 1)[1].split("\n\n", 1)[0].splitlines()
    statements = re.findall(r"^(\d+) .* - quote: ", asked, re.MULTILINE)
    return json.dumps({
        "questions": [
            {"id": n, "stands_alone": True, "answerable": True, "answer": "that",
             "quotes": [{"document": 1, "quote": quote}], "several": False}
            for n in range(1, len(questions) + 1)
        ],
        "statements": [{"id": int(n), "supported": True, "documents": [1]} for n in statements],
    })  # fmt: skip


def checked(folder: Path, count: int) -> float:
    """Return the CPU seconds of a check of 500 questions."""
    samples = [
        Sample(
            id=f"q{n}",
            user_input=f"Who opened sluice {n}?",
            reference_context_ids=[f"{n}.txt"],
        )
        for n in range(min(500, count))
    ]
    began = time.process_time()
    audit = check(samples, folder)
    if audit.documents != count:
        raise ValueError(f"{audit.documents} documents were read, not {count}")
    return time.process_time() - began


def generated(folder: Path) -> tuple[int, float, float]:
    """Return this process's number of questions, its peak size in MB, its CPU seconds."""
    model = ScriptedChatModel(answer)
    made = generate(folder, model, 100, kinds=["one_fact"], progress=False)
    # `ru_maxrss` does not fit here: a process inherits it from its parent.
    (size,) = re.findall(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return len(made), int(size) / 1024, resource.getrusage(resource.RUSAGE_SELF).ru_utime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, action="append")
    parser.add_argument("--generate", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate is not None:
        print(json.dumps(generated(options.generate)))
        return
    print("| documents | check, CPU s | questions generated | generate, CPU s | generate, MB |")
    print("|---|---|---|---|---|")
    for count in options.documents or (1_000, 3_000, 10_000):
        with TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, count)
            seconds = checked(folder, count)
            out = subprocess.run(
                [sys.executable, __file__, "--generate", name],
                check=True, capture_output=True, text=True,
            ).stdout  # fmt: skip
            made, size, took = json.loads(out)
            print(f"| {count:,} | {seconds:.1f} | {made} | {took:.1f} | {size:.0f} |", flush=True)


if __name__ == "__main__":
    main()
