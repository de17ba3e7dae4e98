"""Peak memory of `evaluate(…, keep="summary")` over files of growing length, of IDs or of texts.

Each file is scored in a process of its own, whose peak is read when it is done: `VmHWM` where
the system tells it, else `ru_maxrss`. The latter is no less than the parent's own peak on Linux,
where a child begins as its copy, and so hides what is below that.

`--keep rows` measures the default instead, which keeps every sample and grows. `--scores text`
measures `TextRecall` and `ClaimRecall` with the built-in judge, `--scores asked` a judge that
asks a model, here one that answers at once.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from side_by_side import say, setting, table

LENGTHS = (10_000, 100_000, 1_000_000)
RETRIEVED, REFERENCES = 10, 2
TEXTS, WORDS_IN_A_TEXT = 5, 60
_PROGRAM = """
import json, resource, sys
import fullrecall, fullrecall.datasets

class Model:
    name = "at once"

    def complete(self, request):
        raise NotImplementedError

    async def acomplete(self, request):
        from fullrecall.judges import Completion

        verdict = {"id": 1, "verdict": "supported", "citations": [{"context": 1, "quote": "word"}]}
        return Completion(json.dumps({"verdicts": [verdict]}))

samples = fullrecall.datasets.read(sys.argv[1])
scorers = {
    "id": lambda: [fullrecall.IdRecall()],
    "text": lambda: [fullrecall.TextRecall(), fullrecall.ClaimRecall()],
    "asked": lambda: [fullrecall.ClaimRecall(judge=fullrecall.LLMJudge(Model()))],
}[sys.argv[3]]()
report = fullrecall.evaluate(samples, scorers, keep=sys.argv[2], progress=False)
score = report.summary()[0]
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
except (OSError, StopIteration):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak //= 1024 if sys.platform == "darwin" else 1
print(json.dumps([score.scored, score.mean, peak / 1024]))
"""


class Run(NamedTuple):
    """What one process reports: samples scored, their mean recall, its peak, and how long."""

    scored: int
    mean: float
    peak_mib: float
    seconds: float


def write(path: Path, rows: int, seed: int = 7) -> float:
    """Write so many rows of random IDs as JSON Lines; return their mean recall."""
    rng = random.Random(seed)
    found = 0
    with path.open("w", encoding="utf-8") as file:
        for row in range(rows):
            retrieved = [f"doc_{rng.randrange(10_000_000)}" for _ in range(RETRIEVED)]
            hit = rng.random() < 0.5
            references = [rng.choice(retrieved) if hit else "doc_no_such", "doc_missing"]
            found += hit
            sample = {
                "id": f"q{row}",
                "retrieved_context_ids": retrieved,
                "reference_context_ids": references,
            }
            file.write(json.dumps(sample) + "\n")
    return found / rows / REFERENCES


def write_texts(path: Path, rows: int, seed: int = 7) -> float:
    """Write so many rows of random texts as JSON Lines; return their mean text recall."""
    rng = random.Random(seed)
    found = 0
    with path.open("w", encoding="utf-8") as file:
        for row in range(rows):
            texts = [
                " ".join(f"word{rng.randrange(10_000)}" for _ in range(WORDS_IN_A_TEXT))
                for _ in range(TEXTS)
            ]
            hit = rng.random() < 0.5
            found += hit
            sample = {
                "id": f"q{row}",
                "retrieved_contexts": texts,
                "reference_contexts": [texts[-1] if hit else "0" * 400],
                "reference_claims": [f"Row {row} is one."],
            }
            file.write(json.dumps(sample) + "\n")
    return found / rows


def measure(path: Path, keep: str = "summary", scores: str = "id") -> Run:
    """Score the file in a process of its own; return its numbers."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(path), keep, scores],
        capture_output=True,
        text=True,
        check=True,
    )
    return Run(*json.loads(done.stdout), time.perf_counter() - start)


def main() -> None:
    """Measure each length and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--keep", choices=("summary", "rows"), default="summary")
    parser.add_argument("--scores", choices=("id", "text", "asked"), default="id")
    asked = parser.parse_args()
    lengths = asked.lengths
    rows = []
    first = None
    with tempfile.TemporaryDirectory() as folder:
        for length in lengths:
            path = Path(folder, "samples.jsonl")
            mean = (write if asked.scores == "id" else write_texts)(path, length)
            mean = 1.0 if asked.scores == "asked" else mean
            run = measure(path, asked.keep, asked.scores)
            if run.scored != length or abs(run.mean - mean) > 1e-9:
                raise ValueError(f"{length} rows of mean {mean} gave {run}")
            first = first or run.peak_mib
            rows.append(
                [
                    f"{length:,}",
                    f"{path.stat().st_size / 2**20:,.1f}",
                    f"{run.peak_mib:.1f}",
                    f"{run.peak_mib / first:.2f}",
                    f"{run.seconds / length * 1e6:.0f}",
                ]
            )
    header = ["rows", "file, MiB", "peak, MiB", f"peak, {lengths[0]:,} rows = 1", "µs per row"]
    say(table(header, rows))
    say("\n" + setting("fullrecall"))


if __name__ == "__main__":
    main()
