"""The published table's rows of saved reports, and of the diagnosis of many samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import report_files
import report_scale
from figures import OURS
from page import report_of
from side_by_side import Contender
from task import Task

from fullrecall import IdRecall, Report, TextRecall, compare, diagnose, evaluate
from fullrecall.measures import Recall
from fullrecall.read import read

_HITS = {"before": 0.5, "after": 0.55}
"""Two retrievers, with the share of the reference IDs that each retrieves."""


def report_tasks(rows: int, loaded: int, diagnosed: int, folder: Path) -> list[Task]:
    """Return the rows, over reports of `rows` samples by ID, and of some with texts."""
    before, after = (_saved(folder, name, rows, hits) for name, hits in _HITS.items())
    few, texts = folder / "few.parquet", report_files.samples(loaded)
    report_scale.write(few, 10 * loaded, hits=_HITS["before"])
    by_id = evaluate(read(few), IdRecall(), progress=False)
    with_texts = evaluate(texts, [IdRecall(), TextRecall()], progress=False)
    return [
        Task(
            "compare two saved reports of 1M rows; reading both by pyarrow = 1",
            Contender("pyarrow", lambda: [_read(before), _read(after)]),
            [Contender(OURS, lambda: str(_compared(before, after, rows)))],
            goal="≤ 1.2 s",
        ),
        Task(
            "count the missed targets of a saved report of 1M rows, show 100; "
            "reading it by pyarrow = 1",
            Contender("pyarrow", lambda: _read(before)),
            [Contender(OURS, lambda: _missed(before))],
            goal="≤ 0.2 s",
        ),
        _loading("by ID", by_id, folder, "≤ 45 µs"),
        _loading("with texts", with_texts, folder),
        _diagnosis(diagnosed),
    ]


def _saved(folder: Path, name: str, rows: int, hits: float) -> Path:
    """Return the path of a report whose samples were read from Parquet."""
    samples, output = folder / f"{name}.parquet", folder / f"{name}.report.parquet"
    report_scale.write(samples, rows, hits=hits)
    evaluate(read(samples), IdRecall(), output=output, progress=False)
    return output


def _read(report: Path) -> list[Any]:
    return [pq.read_table(path, use_threads=False) for path in sorted(report.glob("part-*"))]


def _compared(before: Path, after: Path, rows: int) -> object:
    comparison = compare(Report.open(before), Report.open(after), Recall @ 5)
    if comparison[0].main.samples != rows:
        raise ValueError("not all rows are compared")
    return comparison


def _missed(report: Path) -> str:
    missed = Report.open(report).missed(10)
    return str((len(missed), missed[:100]))


def _loading(what: str, report: Report, folder: Path, goal: str = "") -> Task:
    """Return the row of loading a report as JSON Lines, beside its lines by `json.loads`."""
    path = folder / f"{len(report)}.{len(report.methods)}.jsonl"
    report.save(path)
    lines = path.read_text("utf-8").splitlines()
    return Task(
        f"load a report {what}, JSON Lines; its lines by json.loads = 1",
        Contender("json", lambda: list(map(json.loads, lines))),
        [Contender(OURS, lambda: Report.load(path))],
        goal=goal,
        per=len(report),
    )


def _diagnosis(samples: int) -> Task:
    """Return the row of diagnosing samples with texts, beside a set loop over their IDs."""
    report = report_of(samples, 2 * samples)
    ids = [
        (
            [context.id for context in sample.contexts or ()],
            [each.any_of[0] for each in sample.reference_context_ids or ()],
        )
        for sample in (row.sample for row in report)
    ]
    return Task(
        "diagnose a report of 10,000 samples; a set loop over their IDs = 1",
        Contender("set loop", lambda: [_recalls(*each) for each in ids]),
        [Contender(OURS, lambda: diagnose(report))],
        goal="≤ 2 s",
    )


def _recalls(retrieved: Any, reference: Any) -> list[float]:
    relevant = set(reference)
    return [len(relevant.intersection(retrieved[:k])) / len(relevant) for k in (1, 3, 5, 10, 20)]
