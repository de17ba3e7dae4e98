"""Measure time per row and peak memory of ID recall, as files of each kind and lists grow.

Every file, of 10 retrieved and 2 reference IDs a row, is scored in a process of its own by
`evaluate(…, output=…)` into a Parquet report; lists by `evaluate`. Time is CPU time from the first
row to the summary; the scored rows are compared with the written ones. Memory is the peak of the
process. For lists, it is the peak above the memory of the lists alone; for Parquet, the memory of
importing pyarrow.parquet is shown beside it.

`--write` fills the table of docs/benchmarks.md. Needs /proc/self/status.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import memory
from side_by_side import say, setting, table

KINDS = ("jsonl", "csv", "parquet", "run", "lists")
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
NAMES = {
    "jsonl": "JSON Lines",
    "csv": "CSV",
    "parquet": "Parquet",
    "run": "TREC run and qrels",
    "lists": "lists in memory",
}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- growth -->", "<!-- end of growth -->"
_PROGRAM = """
import json, sys
from time import process_time

def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024

import fullrecall, fullrecall.read
from fullrecall.read import read, read_trec

path, kind = sys.argv[1:]
before = 0
if kind == "lists":
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    retrieved = [row["retrieved_context_ids"] for row in rows]
    references = [row["reference_context_ids"] for row in rows]
    del rows
    before = memory("VmRSS:")
    start = process_time()
    samples = ({"retrieved_ids": r, "expected_ids": e} for r, e in zip(retrieved, references))
    score = fullrecall.evaluate(samples, fullrecall.IdRecall(), progress=False).summary()[0]
else:
    start = process_time()
    samples = read_trec(path + ".qrels", path) if kind == "run" else read(path)
    scorer, output = fullrecall.IdRecall(), path + ".report.parquet"
    report = fullrecall.evaluate(samples, scorer, output=output, progress=False)
    score = report.summary()[0]
scored, mean = score.scored, score.mean
seconds = process_time() - start
print(json.dumps([scored, mean, seconds, memory("VmHWM:") - before]))
"""
_OWN = """
import pyarrow.parquet
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024)
"""


class Point(NamedTuple):
    """One file: seconds of CPU, and the peak of memory in MiB."""

    rows: int
    seconds: float
    peak: float


def write(path: Path, kind: str, rows: int) -> float:
    """Write so many rows as a file of this kind; return their mean recall."""
    if kind in ("jsonl", "parquet", "lists"):
        return memory.write(path, memory.ids(rows))
    recalls: list[float] = []

    def counted() -> Iterator[dict[str, Any]]:
        for row in memory.ids(rows):
            # A run names each document once.
            row["retrieved_context_ids"] = list(dict.fromkeys(row["retrieved_context_ids"]))
            recalls.append(memory.recall(row))
            yield row

    if kind == "csv":
        _write_csv(path, counted())
    else:
        _write_run(path, counted())
    return sum(recalls) / len(recalls)


def _write_csv(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        to = csv.writer(file)
        to.writerow(["id", "retrieved_context_ids", "reference_context_ids"])
        for row in rows:
            lists = (row["retrieved_context_ids"], row["reference_context_ids"])
            to.writerow([row["id"], *map(json.dumps, lists)])


def _write_run(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w") as run, Path(f"{path}.qrels").open("w") as qrels:
        for row in rows:
            for place, document in enumerate(row["retrieved_context_ids"]):
                run.write(f"{row['id']} Q0 {document} {place + 1} {100 - place} x\n")
            qrels.writelines(f"{row['id']} 0 {d} 1\n" for d in row["reference_context_ids"])


def measure(path: Path, kind: str, rows: int) -> Point:
    """Write a file, score it in a process of its own, and check the result."""
    mean = write(path, kind, rows)
    shutil.rmtree(f"{path}.report.parquet", ignore_errors=True)
    scored, found, seconds, peak = json.loads(_run(_PROGRAM, str(path), kind))
    if scored != rows or abs(found - mean) > 1e-9:
        raise ValueError(f"{rows} rows of mean {mean} gave {scored} of {found}: {kind}")
    return Point(rows, seconds, peak)


def own_of_pyarrow() -> float:
    """Return the memory of a process, in MiB, that only imports pyarrow.parquet."""
    return float(_run(_OWN))


def _run(program: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    ).stdout


def shown(points: dict[str, list[Point]]) -> str:
    """Return the table: a line for each kind of file, a column for each length."""
    lengths = [point.rows for point in next(iter(points.values()))]
    header = ["input", *(f"{rows:,} rows" for rows in lengths)]
    lines = [
        [NAMES[kind], *(f"{one.seconds / one.rows * 1e6:.0f} µs, {one.peak:.0f} MiB" for one in at)]
        for kind, at in points.items()
    ]
    return table(header, lines)


def main() -> None:
    """Measure each kind at each length; print the table, and write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("--write", action="store_true", help="fill the table of the page")
    asked = parser.parse_args()
    points: dict[str, list[Point]] = {}
    for kind in asked.kinds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"samples.{'jsonl' if kind == 'lists' else kind}")
            points[kind] = [measure(path, kind, rows) for rows in asked.lengths]
    note = f"pyarrow.parquet, imported: {own_of_pyarrow():.0f} MiB. " if "parquet" in points else ""
    text = f"{shown(points)}\n\n{note}{setting('fullrecall', 'pyarrow')}"
    say(text)
    if asked.write:
        page = PAGE.read_text("utf-8")
        filled = re.sub(f"(?s){BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page)
        PAGE.write_text(filled, "utf-8")


if __name__ == "__main__":
    main()
