"""Peak memory of `evaluate(…, keep="summary")` over files of growing length.

Each file is scored in a process of its own, whose peak is read when it is done: `VmHWM` where
the system tells it, else `ru_maxrss`. The latter is no less than the parent's own peak on Linux,
where a child begins as its copy, and so hides what is below that.

`--keep rows` measures the default instead, which keeps every sample and grows.
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
_PROGRAM = """
import json, resource, sys
import fullrecall, fullrecall.datasets

samples = fullrecall.datasets.read(sys.argv[1])
report = fullrecall.evaluate(samples, fullrecall.IdRecall(), keep=sys.argv[2], progress=False)
score = report.summary()["id_recall"]
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


def measure(path: Path, keep: str = "summary") -> Run:
    """Score the file in a process of its own; return its numbers."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(path), keep],
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
    asked = parser.parse_args()
    lengths = asked.lengths
    rows = []
    first = None
    with tempfile.TemporaryDirectory() as folder:
        for length in lengths:
            path = Path(folder, "samples.jsonl")
            mean = write(path, length)
            run = measure(path, asked.keep)
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
