"""Measure the peak memory of `evaluate(…, output=…)` over growing files of IDs or of texts.

Files are JSON Lines or, with `--format parquet`, Parquet with 100,000 rows in each of its groups.

Each file is scored in a process of its own, whose peak is read at its end: `VmHWM` if the system
reports it, else `ru_maxrss`. On Linux, where a child begins as a copy of its parent, the latter is
at least the parent's own peak, and so hides a smaller one.

`--keep` measures the default instead, which keeps every sample in memory and grows. `--scores text`
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
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from side_by_side import say, setting, table

LENGTHS = (10_000, 100_000, 1_000_000)
ROWS_IN_A_GROUP = 100_000
RETRIEVED, REFERENCES = 10, 2
TEXTS, WORDS_IN_A_TEXT = 5, 60
_PROGRAM = """
import json, resource, sys
import fullrecall, fullrecall.read

class Model:
    name = "at once"

    def complete(self, request):
        raise NotImplementedError

    async def acomplete(self, request):
        from fullrecall.judge.models import Completion

        verdict = {"id": 1, "verdict": "supported", "citations": [{"context": 1, "quote": "word"}]}
        return Completion(json.dumps({"verdicts": [verdict]}))

samples = fullrecall.read.read(sys.argv[1])
scorers = {
    "id": lambda: [fullrecall.IdRecall()],
    "text": lambda: [fullrecall.TextRecall(), fullrecall.ClaimRecall()],
    "asked": lambda: [fullrecall.ClaimRecall(judge=fullrecall.LLMJudge(Model()))],
}[sys.argv[3]]()
report = fullrecall.evaluate(samples, scorers, output=sys.argv[2] or None, progress=False)
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
    """The figures of one process: samples scored, mean recall, peak memory, and duration."""

    scored: int
    mean: float
    peak_mib: float
    seconds: float


def ids(rows: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Yield so many samples of random IDs; half of them have one of their two references."""
    rng = random.Random(seed)
    for row in range(rows):
        retrieved = [f"doc_{rng.randrange(10_000_000)}" for _ in range(RETRIEVED)]
        found = rng.choice(retrieved) if rng.random() < 0.5 else "doc_no_such"
        yield {
            "id": f"q{row}",
            "retrieved_context_ids": retrieved,
            "reference_context_ids": [found, "doc_missing"],
        }


def texts(rows: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Yield so many samples of random texts; half of them have their only reference."""
    rng = random.Random(seed)
    for row in range(rows):
        brought = [
            " ".join(f"word{rng.randrange(10_000)}" for _ in range(WORDS_IN_A_TEXT))
            for _ in range(TEXTS)
        ]
        yield {
            "id": f"q{row}",
            "retrieved_contexts": brought,
            "reference_contexts": [brought[-1] if rng.random() < 0.5 else "0" * 400],
            "reference_claims": [f"Row {row} is one."],
        }


def recall(sample: dict[str, Any]) -> float:
    """Return the share of the references that are, unchanged, in the retrieved texts."""
    kind = "contexts" if "reference_contexts" in sample else "context_ids"
    retrieved, references = sample[f"retrieved_{kind}"], sample[f"reference_{kind}"]
    return sum(reference in retrieved for reference in references) / len(references)


def write(path: Path, samples: Iterable[dict[str, Any]]) -> float:
    """Write samples as JSON Lines or Parquet, by the name's ending; return their mean recall."""
    recalls: list[float] = []

    def counted() -> Iterator[dict[str, Any]]:
        for sample in samples:
            recalls.append(recall(sample))
            yield sample

    if path.suffix == ".parquet":
        _write_parquet(path, counted())
    else:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(sample) + "\n" for sample in counted())
    return sum(recalls) / len(recalls)


def _write_parquet(path: Path, samples: Iterator[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(list(islice(samples, ROWS_IN_A_GROUP)))
    with pq.ParquetWriter(path, table.schema) as writer:
        while table.num_rows:
            writer.write_table(table, row_group_size=ROWS_IN_A_GROUP)
            rows = list(islice(samples, ROWS_IN_A_GROUP))
            table = pa.Table.from_pylist(rows, schema=table.schema)


def measure(path: Path, *, keep: bool = False, scores: str = "id") -> Run:
    """Score the file in a process of its own; return its numbers."""
    output = "" if keep else f"{path}.{random.randrange(10**9)}.report.parquet"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(path), output, scores],
        capture_output=True,
        text=True,
        check=True,
    )
    return Run(*json.loads(done.stdout), time.perf_counter() - start)


def main() -> None:
    """Measure each length and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--keep", action="store_true", help="keep all rows in memory")
    parser.add_argument("--scores", choices=("id", "text", "asked"), default="id")
    parser.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl")
    asked = parser.parse_args()
    lengths = asked.lengths
    rows = []
    first = None
    with tempfile.TemporaryDirectory() as folder:
        for length in lengths:
            path = Path(folder, f"samples.{asked.format}")
            mean = write(path, (ids if asked.scores == "id" else texts)(length))
            mean = 1.0 if asked.scores == "asked" else mean
            run = measure(path, keep=asked.keep, scores=asked.scores)
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
