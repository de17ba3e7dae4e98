"""Time the saving and loading of a report, alone or beside another version of fullrecall.

    python bench/report_files.py [--rows 10000] [--rounds 5] [--beside OTHER/src]

needs nothing beside fullrecall. Each round is a process of its own for each version, which scores
the same samples (10 contexts of 200 characters with metadata, by ID and by text), saves them and
loads them; the CPU seconds of the two are taken, and ratios within a round.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import process_time

from side_by_side import Ratio, say, setting, table

from fullrecall import Context, IdRecall, Report, Sample, TextRecall, evaluate

RETRIEVED = 10


def samples(rows: int) -> list[Sample]:
    """Return samples of random texts, the same ones each time."""
    rng = random.Random(1)
    texts = ["".join(rng.choices("abcdefgh ", k=200)) for _ in range(500)]
    made = []
    for row in range(rows):
        ids = rng.sample(range(500), RETRIEVED)
        contexts = [
            Context(texts[n], id=str(n), score=0.5, metadata={"page": n, "lang": "x"}) for n in ids
        ]
        made.append(
            Sample(
                id=str(row),
                user_input=f"question {row}?",
                retrieved_contexts=contexts,
                reference_context_ids=[str(n) for n in [*rng.sample(ids, 2), 500]],
                reference_contexts=[texts[ids[3]]],
            )
        )
    return made


def measure(rows: int, folder: Path) -> dict[str, float]:
    """Return the CPU seconds of one saving and one loading, and the size of the file in bytes."""
    report = evaluate(samples(rows), [IdRecall(), TextRecall()], progress=False)
    path = folder / "report.jsonl"
    gc.collect()
    start = process_time()
    report.save(path)
    saved = process_time()
    gc.collect()
    begin = process_time()
    loaded = Report.load(path)
    end = process_time()
    if list(loaded) != list(report):
        raise ValueError("the report that was loaded differs from the one that was saved")
    return {"save": saved - start, "load": end - begin, "bytes": path.stat().st_size}


def in_process(source: Path | None, rows: int) -> dict[str, float]:
    """Return the result of `measure` in a process that imports fullrecall from `source`."""
    given = {} if source is None else {"PYTHONPATH": str(source.absolute())}
    command = [sys.executable, __file__, "--rows", str(rows), "--once"]
    done = subprocess.run(
        command, env={**os.environ, **given}, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def report_of(rounds: dict[str, list[dict[str, float]]], rows: int) -> str:
    """Return a table: rows and MB a second, and the times as multiples of the last version's."""
    unit = list(rounds)[-1]
    lines = []
    for act in ("save", "load"):
        for name, measured in rounds.items():
            seconds = [one[act] for one in measured]
            each = median(seconds)
            ratio = Ratio.of(seconds, [one[act] for one in rounds[unit]])
            size = measured[0]["bytes"] / 1e6
            cells = [f"{rows / each:,.0f}", f"{size / each:.1f}", str(ratio)]
            lines.append([f"{act}, {name}", *cells])
    return table(["", "rows/s", "MB/s", f"time, {unit} = 1"], lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beside", type=Path, help="folder `src` of another version")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        with tempfile.TemporaryDirectory() as folder:
            say(json.dumps(measure(options.rows, Path(folder))))
        return
    sources = {"this version": None}
    if options.beside is not None:
        sources["the other"] = options.beside
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    for _ in range(options.rounds):
        for name, source in sources.items():
            rounds[name].append(in_process(source, options.rows))
    say(report_of(rounds, options.rows))
    say(f"\n{options.rows:,} rows, {options.rounds} rounds. {setting('fullrecall', 'pydantic')}")


if __name__ == "__main__":
    main()
