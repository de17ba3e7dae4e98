"""Time and memory of a report as a directory of Parquet files: save, open, summary, compare, page.

    python tests/benchmarks/report_parts.py [--rows 10000000] [--folder FOLDER] [--shuffle]
    python tests/benchmarks/report_parts.py --small 100000

needs pyarrow. The rows of the first are made by columns: 10 retrieved and 1 to 3 reference IDs of
1,000,000 documents, as `IdRecall` scores them, which is checked against `evaluate`. The second
report is of the same samples, with another list for one in five, and with --shuffle in an order
that is random throughout. The second command saves a report that `evaluate` made as one file and as
a directory, and asks both the same. Each act is a process of its own, which opens the report first;
memory is the most that it had at a time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
from fullrecall.distributed.parquet.columns import schema
from fullrecall.distributed.parquet.directory import Writer
from side_by_side import say, setting, table

from fullrecall import Gate, IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall, nDCG

RETRIEVED = 10
MOST_TARGETS = 3
DOCUMENTS = 1_000_000
BATCH = 100_000
METHODS = [IdRecall().method]


def columns(first: int, rows: int, changed: float) -> pa.Table:
    """Return rows as the columns of a part: the same targets whatever share has `changed`."""
    rng = np.random.default_rng(first)
    sizes = rng.integers(1, MOST_TARGETS + 1, rows)
    steps = rng.integers(1, 5_000, (rows, 2)) * 2
    starts = rng.integers(0, DOCUMENTS // 2, (rows, 2)) * 2
    lists = (starts[:, :1] + steps[:, :1] * np.arange(RETRIEVED)) % DOCUMENTS  # even numbers
    references = (starts[:, 1:] + steps[:, 1:] * np.arange(MOST_TARGETS)) % DOCUMENTS + 1  # odd
    ranks = _ranks(rng, rows)
    if changed:
        other = np.random.default_rng((first, 1))
        again = other.random(rows) < changed
        ranks[again] = _ranks(other, rows)[again]
    ranks[np.arange(MOST_TARGETS) >= sizes[:, None]] = 0
    for target in range(MOST_TARGETS):
        there = ranks[:, target] > 0
        lists[there, ranks[there, target] - 1] = references[there, target]
    return _table(first, sizes, lists, references, ranks)


def _ranks(rng: Any, rows: int) -> Any:
    """Return a rank for each target, all different; 0 for one that was not retrieved."""
    ranks = np.argsort(rng.random((rows, 2 * RETRIEVED)), axis=1)[:, :MOST_TARGETS] + 1
    ranks[ranks > RETRIEVED] = 0
    return ranks


def _table(first: int, sizes: Any, lists: Any, references: Any, ranks: Any) -> pa.Table:
    rows, found = len(sizes), (ranks > 0).sum(axis=1)
    texts, codes = _found(sizes, ranks)
    inside = np.arange(MOST_TARGETS) < sizes[:, None]
    wanted = _lists(references[inside], np.concatenate([[0], np.cumsum(sizes)]))
    scores = found / sizes
    made = {
        "id": pa.array([f"q{first + n:08}" for n in range(rows)]),
        "retrieved_context_ids": _lists(lists.ravel(), np.arange(rows + 1) * RETRIEVED),
        "reference_context_ids": wanted,
        "id_recall_status": pa.array(["scored"]).take(pa.array(np.zeros(rows, np.int64))),
        "id_recall_score": pa.array(scores),
        "id_recall_found": pa.array(texts).take(pa.array(codes)),
        "id_recall_targets": pa.array([_digest(ids) for ids in wanted.to_pylist()], pa.uint64()),
    }
    expected = schema(METHODS)
    arrays = [made.get(field.name, pa.nulls(rows, field.type)) for field in expected]
    return pa.Table.from_arrays(arrays, schema=expected)


def _lists(numbers: Any, bounds: Any) -> pa.Array:
    digits = pa.array(numbers).cast(pa.string())
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), digits)


def _found(sizes: Any, ranks: Any) -> tuple[list[str], Any]:
    keys = np.column_stack([sizes, ranks]) @ [1_000_000, 10_000, 100, 1]
    _, firsts, codes = np.unique(keys, return_index=True, return_inverse=True)
    texts = []
    for row in firsts:
        own = [[int(rank)] if rank else [] for rank in ranks[row, : sizes[row]]]
        texts.append(json.dumps([RETRIEVED, None, own], separators=(",", ":")))
    return texts, codes


def _digest(ids: list[str]) -> int:
    """Return what identifies the targets, as `Result.digest` does."""
    known = sorted(((one,), 1.0, 1.0) for one in ids)
    return int(sha256(repr((known, [])).encode()).hexdigest()[:16], 16)


def check(folder: Path) -> None:
    """Raise unless the columns are the rows that `evaluate` makes of the same IDs."""
    with Writer(folder, METHODS) as writer:
        writer.write_table(columns(0, 1_000, 0.2))
    loaded = Report.load(folder)
    samples = [Sample(**row.sample.to_dict()) for row in loaded]
    if list(evaluate(samples, IdRecall(), progress=False)) != list(loaded):
        raise ValueError("the columns are not what evaluate makes of their IDs")


def made(path: str, rows: int, changed: float, *, shuffle: bool) -> dict[str, Any]:
    """Write a report of so many rows and return the CPU seconds of making and of writing it."""
    making = writing = 0.0
    with TemporaryDirectory() as folder, Writer(path, METHODS) as writer:
        batches = (columns(n, min(BATCH, rows - n), changed) for n in range(0, rows, BATCH))
        batches = shuffled(batches, Path(folder), -(-rows // BATCH)) if shuffle else batches
        begin = process_time()
        for batch in batches:
            between = process_time()
            writer.write_table(batch)
            end = process_time()
            making, writing, begin = making + between - begin, writing + end - between, end
    return {"making": making, "writing": writing}


def shuffled(batches: Iterator[pa.Table], folder: Path, files: int) -> Iterator[pa.Table]:
    """Yield the rows of all batches in random order: drawn into files, and shuffled in each."""
    rng = np.random.default_rng(3)
    with ExitStack() as opened:
        writers = [
            opened.enter_context(pa.ipc.new_stream(str(folder / str(n)), schema(METHODS)))
            for n in range(files)
        ]
        for batch in batches:
            drawn = rng.integers(files, size=batch.num_rows)
            for n, writer in enumerate(writers):
                writer.write_table(batch.filter(pa.array(drawn == n)).combine_chunks())
    for n in range(files):
        with pa.OSFile(str(folder / str(n))) as file, pa.ipc.open_stream(file) as stream:
            table = stream.read_all()
        yield table.take(pa.array(rng.permutation(table.num_rows)))


def act(  # noqa: C901 - a case for each
    name: str, before: str, after: str, rows: int, *, shuffle: bool
) -> dict[str, Any]:
    """Do one act; return its CPU seconds, its peak memory in MB, and some of what it said."""
    begin, said = process_time(), ""
    match name:
        case "save":
            parts = made(before, rows, 0.0, shuffle=False)
            said = f"columns made in {parts['making']:.0f} s, written in {parts['writing']:.0f} s"
        case "save the second":
            made(after, rows, 0.2, shuffle=shuffle)
        case "open":
            said = f"{len(Report.open(before)):,} samples"
        case "summary":
            said = f"{Report.open(before).summary()['id_recall'].mean:.6f}"
        case "gate":
            said = str(Gate(Recall @ 5 >= 0.3, nDCG @ 10 >= 0.2).check(Report.open(before)))
        case "compare":
            score = compare(Report.open(before), Report.open(after))["id_recall"]
            said = f"{score.main.difference:+.6f}, p = {score.main.p:.4f}, {score.main.samples:,}"
        case "gate against a baseline":
            gate = Gate(Recall @ 5, margin=0.01)
            said = str(gate.check(Report.open(after), Report.open(before)))
        case "smallest_k":
            said = str(Report.open(before).smallest_k(0.3))
        case "slices":
            said = f"{len(Report.open(before).slices(_size).slices)} slices"
        case "page":
            page = Report.open(before).to_html(f"{before}.html")
            said = f"{len(page.encode()) / 1e6:.1f} MB"
        case "page of the comparison":
            page = compare(Report.open(before), Report.open(after)).to_html(f"{before}.html")
            said = f"{len(page.encode()) / 1e6:.1f} MB"
        case "missed: the first 1,000,000":
            missed = iter(Report.open(before).missed())
            said = f"{sum(1 for _, _ in zip(range(1_000_000), missed, strict=False)):,}"
    seconds = process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak": peak, "said": said}


ACTS = (
    "save",
    "save the second",
    "open",
    "summary",
    "gate",
    "smallest_k",
    "compare",
    "gate against a baseline",
    "page",
    "page of the comparison",
    "missed: the first 1,000,000",
)


FORMS = ("file", "directory")
ASKED = ("summary", "by ID", "missed", "compare", "rows")


def _size(row: Any) -> str:
    return str(len(row.results[0].findings))


def small(name: str, path: str, other: str, rows: int) -> dict[str, Any]:
    """Save a report that was evaluated, or ask one that is a file or a directory."""
    said: Any = ""
    if name.startswith("save"):
        for place, changed in ((path, 0.0), (other, 0.2)):
            plain = columns(0, rows, changed).select(["id", *_LISTS]).to_pylist()
            report = evaluate((Sample(**row) for row in plain), IdRecall(), progress=False)
            begin = process_time()
            report.save(place)
            seconds = process_time() - begin
        there = [*Path(path).iterdir()] if Path(path).is_dir() else [Path(path)]
        said = f"{sum(one.stat().st_size for one in there) / 1e6:.1f} MB"
        return {"seconds": seconds, "peak": 0, "said": said}
    begin = process_time()
    report = Report.load(path) if name.startswith("load") else Report.open(path)
    match name.rsplit(", ", maxsplit=1)[-1]:
        case "summary":
            said = f"{report.summary()['id_recall'].mean:.6f}"
        case "rows":
            said = f"{sum(1 for _ in report):,}"
        case "by ID":
            said = report[f"q{rows // 2:08}"].label
        case "missed":
            said = len(report.missed()[:10])
        case "compare":
            said = f"{compare(report, Report.open(other))['id_recall'].main.difference:+.6f}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": process_time() - begin, "peak": peak, "said": said}


_LISTS = ("retrieved_context_ids", "reference_context_ids")


def in_process(*arguments: str) -> dict[str, Any]:
    """Return what one act gives, done in a process of its own."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--small", type=int)
    parser.add_argument("--acts", default=",".join(ACTS).replace("first 1,000,000", "first"))
    parser.add_argument("--once", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        before, after = str(folder / "before.parquet"), str(folder / "after.parquet")
        if options.once and options.small:
            ending = "parquet" if "directory" in options.once else "jsonl"
            paths = (str(folder / f"{name}.{ending}") for name in ("before", "after"))
            say(json.dumps(small(options.once, *paths, options.small)))
            return
        if options.once:
            given = act(options.once, before, after, options.rows, shuffle=options.shuffle)
            say(json.dumps(given))
            return
        same = ["--folder", str(folder), "--rows", str(options.rows)]
        same += ["--shuffle"] * options.shuffle
        if options.small:
            same += ["--small", str(options.small)]
            asked = ["", *(f", {what}" for what in ASKED)]
            names = [f"{act} {form}" for form in FORMS for act in ("save", "load")]
            names += [f"open {form}{what}" for form in FORMS for what in asked]

        else:
            check(Path(temporary) / "check.parquet")
            names = [name for name in ACTS if name.split(":")[0] in options.acts]
        lines = []
        for name in names:
            found = in_process(*same, "--once", name)
            peak = f"{found['peak']:,.0f}" if found["peak"] else ""
            lines.append([name, f"{found['seconds']:.1f}", peak, str(found["said"])])
            say(" | ".join(lines[-1]))
        say(table(["", "CPU seconds", "peak MB", ""], lines))
        say(f"\n{options.small or options.rows:,} rows. {setting('fullrecall', 'pyarrow')}")


if __name__ == "__main__":
    main()
