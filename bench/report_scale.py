"""Measure CPU seconds and peak memory of each operation on growing reports, in its own process.

    python bench/report_scale.py [--lengths 200000 1000000] [--acts open summary] [--in FOLDER]

Two golden sets of the same samples, of ten retrieved and two reference IDs each, are written as
Parquet and scored by `evaluate(…, output=…)`; half of the targets are found before, some more
after. Then each operation reads the saved reports: `open` opens one, `summary` prints it, `gate`
checks a threshold, `missed` counts the missed targets and reads 100 of them, `compare` prints the
comparison of both. `--in` keeps the files in a folder, and uses existing ones. Time is CPU time
without the imports; memory is the peak of the process, and `import` is the operation that only
imports. Needs pyarrow and /proc/self/status.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from side_by_side import say, setting, table

LENGTHS = (200_000, 1_000_000)
ROWS_IN_A_GROUP = 100_000
RETRIEVED, REFERENCES = 10, 2
ACTS = ("import", "evaluate", "open", "summary", "gate", "missed", "compare")
_PROGRAM = """
import json, sys
from time import process_time

import numpy, pyarrow.parquet
from fullrecall import Gate, IdRecall, Report, compare, evaluate
from fullrecall.measures import Recall
from fullrecall.read import read

act, before, after = sys.argv[1:]
start = process_time()
if act == "evaluate":
    for path in (before, after):
        output = path.replace(".parquet", ".report.parquet")
        done = len(evaluate(read(path), IdRecall(), output=output, replace=True, progress=False))
elif act != "import":
    report = Report.open(before.replace(".parquet", ".report.parquet"))
    if act == "open":
        done = len(report)
    elif act == "summary":
        done = str(report.summary())
    elif act == "gate":
        done = str(Gate(Recall @ 10 >= 0.4).check(report))
    elif act == "missed":
        missed = report.missed(10)
        done = str((len(missed), missed[:100]))
    else:
        later = Report.open(after.replace(".parquet", ".report.parquet"))
        done = str(compare(report, later, Recall @ 5))
seconds = process_time() - start
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024
print(json.dumps([seconds, peak]))
"""


class Cost(NamedTuple):
    """The CPU seconds of an operation, and the peak of its process in MiB."""

    seconds: float
    peak: float


def write(path: Path, rows: int, *, hits: float) -> None:
    """Write samples in which each reference is retrieved with the chance `hits`."""
    rng = np.random.default_rng(7)
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("retrieved_context_ids", pa.list_(pa.string())),
            ("reference_context_ids", pa.list_(pa.string())),
        ]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, rows, ROWS_IN_A_GROUP):
            count = min(ROWS_IN_A_GROUP, rows - first)
            references = rng.integers(0, 10_000_000, (count, REFERENCES))
            retrieved = rng.integers(10_000_000, 20_000_000, (count, RETRIEVED))
            chances = rng.random((count, REFERENCES))
            ranks = rng.permuted(np.tile(np.arange(RETRIEVED), (count, 1)), axis=1)
            for nth in range(REFERENCES):
                found = np.flatnonzero(chances[:, nth] < hits)
                retrieved[found, ranks[found, nth]] = references[found, nth]
            ids = np.char.add("q", np.arange(first, first + count).astype(str))
            columns = [pa.array(ids.tolist()), _named(retrieved), _named(references)]
            writer.write_table(pa.table(columns, schema=schema))


def _named(numbers: np.ndarray) -> pa.Array:
    values = pa.array(numbers.ravel()).cast(pa.string())
    offsets = pa.array(np.arange(0, numbers.size + 1, numbers.shape[1], dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, values)


def cost(act: str, before: Path, after: Path) -> Cost:
    """Return the cost of an operation in a process of its own."""
    command = [sys.executable, "-c", _PROGRAM, act, str(before), str(after)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def measured(folder: Path, rows: int, acts: Sequence[str]) -> list[list[str]]:
    """Return a line for each operation on reports of so many rows."""
    before, after = (folder / f"{name}-{rows}.parquet" for name in ("before", "after"))
    if not after.exists():
        write(before, rows, hits=0.5)
        write(after, rows, hits=0.55)
    lines = []
    for act in acts:
        seconds, peak = cost(act, before, after)
        each = seconds / rows * 1e6 / (2 if act == "evaluate" else 1)
        lines.append([f"{rows:,}", act, f"{seconds:.2f}", f"{each:.2f}", f"{peak:.0f}"])
    return lines


def main() -> None:
    """Measure each length and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--acts", choices=ACTS, nargs="+", default=ACTS)
    parser.add_argument("--in", type=Path, dest="folder", help="folder that keeps the files")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        lines = [line for rows in asked.lengths for line in measured(folder, rows, asked.acts)]
    say(table(["rows", "act", "CPU s", "µs per row", "peak, MiB"], lines))
    say("\n" + setting("fullrecall", "pyarrow"))


if __name__ == "__main__":
    main()
