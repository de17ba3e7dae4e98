"""Samples, reports, and directories of them: small ones, with all that large ones have."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fullrecall import Context, IdRecall, Report, Sample, TextRecall, evaluate
from fullrecall.distributed.parquet import manifest
from fullrecall.errors import ReportError
from fullrecall.findings import Evidence, Finding, Findings, Step, Target
from fullrecall.measures import AP, Measure, Recall, nDCG
from fullrecall.result import Method, Result, Status
from fullrecall.retrieval import Call, Retrieval
from fullrecall.table.row import Row
from fullrecall.usage import Usage

pytest.importorskip("pyarrow", reason="needs the parquet extra")

RUNS = int(os.environ.get("FULLRECALL_RUNS", "1"))
MEASURES = (Recall @ 3, nDCG @ 5, AP, Recall(min_grade=2))


class FirstLetter(Measure):
    """A measure that reads the names of targets."""

    text = "first_letter"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the share of targets of which the name ends in 1."""
        del retrieved
        return sum(one.target.label.endswith("1") for one in findings) / len(findings)


def samples(rng: random.Random, size: int, *, repeats: float, groups: float) -> list[Sample]:
    """Return samples with and without lists, references, grades, texts, groups, repeated IDs."""
    made = []
    for n in range(size):
        ids = [f"d{rng.randrange(40)}" for _ in range(rng.randrange(8))]
        references = [f"d{rng.randrange(40)}" for _ in range(rng.randrange(4))]
        given: dict[str, Any] = {
            "id": f"q{rng.randrange(size) if rng.random() < repeats else n}",
            "user_input": f"what {n}?",
            "metadata": {"kind": rng.choice("abc"), "deep": {"er": rng.choice([1, True])}},
            "reference_context_ids": references
            if rng.random() < 0.5
            else {one: rng.choice([1, 2.5]) for one in references},
        }
        if rng.random() < 0.9:
            given["retrieved_context_ids"] = ids
        elif rng.random() < 0.5:
            given["retrieved_contexts"] = [Context(f"text {one}", id=one) for one in ids]
        if rng.random() < groups:
            given["group"] = f"g{rng.randrange(size // 3)}"
        made.append(Sample(**given))
    return made


def again(rng: random.Random, given: Sample, *, other_targets: float) -> Sample:
    """Return a sample as another run has it."""
    plain = given.to_dict()
    plain.pop("retrieved_contexts", None)
    if rng.random() < 0.7:
        plain["retrieved_context_ids"] = [f"d{rng.randrange(40)}" for _ in range(rng.randrange(8))]
    if rng.random() < other_targets:
        plain["reference_context_ids"] = [f"d{rng.randrange(40)}" for _ in range(rng.randrange(4))]
    return Sample(**plain)


def run(given: list[Sample]) -> Report:
    """Return the report of some samples."""
    return evaluate(given, [IdRecall(), TextRecall()], progress=False)


def stored(report: Report, path: Path) -> Report:
    """Return a report as it is opened from a directory."""
    report.save(path)
    return Report.open(path)


def said(act: Callable[..., Any], *given: Any) -> str:
    """Return what an act returns, or the error that it raises."""
    try:
        return str(act(*given).to_dict())
    except ReportError as error:
        return str(error)


def odd_rows() -> tuple[list[Method], list[Row]]:
    """Return rows with all that a result can hold."""
    methods = [Method("judged", {"judge": "x"}), Method("a.b_score"), Method("a.b")]
    finding = Finding(
        Target(("a claim", "another"), 2.0, 3.5),
        (Step(1, 0.25), Step(3, 1.0)),
        (1, 2, 3),
        (Evidence(1, 0, 4, quote="text", verified=True), Evidence(3, similarity=0.5)),
        "supported",
        0.75,
        "nli",
        0.25,
        "asked apart",
    )
    calls = tuple(
        Call(source=name, contexts=[Context(f"{name}{n}") for n in range(2)]) for name in "xy"
    )
    united = Sample(id="1", user_input="half \ud83d an emoji", retrieval=Retrieval.of_calls(calls))
    judged = Result(
        methods[0], Status.SCORED, (finding,), 4, "cut at 3", (("lost", "no reply"),),
        Usage(1, 20, 3), (1, 1, 2, 2),
    )  # fmt: skip
    plain = Result(
        methods[1], Status.SCORED, (Finding(Target(("x",)), (), ()),), 4, "half \ud83d a note"
    )
    none = Result(methods[2], Status.UNSCORED, (), 0, "a reason")
    undefined = Result(methods[2], Status.UNDEFINED, (), 0, "no targets")
    lists = Sample(
        id="2", retrieved_context_ids=["a", None], reference_context_ids=["z", "", "z"],
        reference_claims=["c"], metadata={"n": [1, {"m": None}]},
    )  # fmt: skip
    derived = Result(
        methods[1], Status.SCORED, (Finding(Target(("z",)), (Step(2, 1.0),), (2,)),), 2
    )
    rows = [
        Row(1, united, (judged, plain, none)),
        Row(2, lists, (replace(judged, findings=(finding._replace(steps=(), ranks=(),
            evidence=()),), retrieved=2, ranks=None), derived, undefined)),
    ]  # fmt: skip
    return methods, rows


def replace_id(sample: Sample, name: str | None) -> Sample:
    """Return a sample under another ID."""
    return Sample(**{**sample.to_dict(), "id": name})


def parts_of(folder: Path) -> list[Path]:
    """Return the parts of a report, in their order."""
    return [folder / one.file for one in manifest.read(folder).parts]
