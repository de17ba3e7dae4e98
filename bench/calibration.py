"""Measure how often calibrated intervals cover the truth, with people's labels on real claims.

    python bench/calibration.py LABELED.jsonl

Each row of the file is `{claim, contexts, label, dataset, source_id, question}`, label 1 if the
contexts support the claim. `LexicalJudge` judges the English rows, and the mean of their labels is
the truth. In each round `--samples` rows are drawn with replacement for a report (0: all rows,
unchanged), `--labels` of its claims are labeled, and the judged mean and the corrected one are
compared with the truth. Rows that share a question share a group.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fullrecall import ClaimRecall, Label, Report, Sample, calibrate, evaluate
from fullrecall.calibration import Calibration
from fullrecall.lexical import LexicalJudge
from fullrecall.report import Row

WORDS = ("not_supported", "supported")


class Tried(NamedTuple):
    """An interval that one method gave: its mean, and its ends."""

    value: float
    low: float
    high: float


def judged(
    rows: Iterable[Mapping[str, Any]], threshold: float = 0.5
) -> tuple[Report, dict[str, int]]:
    """Return the report of the built-in judge, and the label of each sample's claim.

    Claims that the judge leaves out (in another language, or too short) are in neither.
    """
    samples, labels = [], {}
    for at, row in enumerate(rows):
        question = row["question"]
        labels[f"row {at}"] = int(row["label"])
        samples.append(
            Sample(
                id=f"row {at}",
                user_input=question,
                retrieved_contexts=row["contexts"],
                reference_claims=[row["claim"]],
                group=f"{row['dataset']}: {question}" if question else None,
            )
        )
    scorer = ClaimRecall(judge=LexicalJudge(threshold=threshold))
    report = evaluate(samples, scorer, progress=False)
    rows_scored = [row for row in report if row.results[0].score is not None]
    return Report.of(report.methods, rows_scored), {
        row.label: labels[row.label] for row in rows_scored
    }


def redrawn(report: Report, labels: Mapping[str, int], samples: int, rng: Any) -> Any:
    """Return a report of rows drawn with replacement, whole groups at a time, and its labels."""
    groups: dict[str, list[Row]] = {}
    for row in report:
        groups.setdefault(row.sample.group or row.label, []).append(row)
    every = list(groups.values())
    rows: list[Row] = []
    own: dict[str, int] = {}
    while len(rows) < samples:
        turn = len(own)
        for row in every[int(rng.integers(len(every)))]:
            label = f"{turn} {row.label}"
            own[label] = labels[row.label]
            group = None if row.sample.group is None else f"{turn} {row.sample.group}"
            sample = Sample(
                id=label,
                user_input=row.sample.user_input,
                retrieved_contexts=row.sample.retrieved_contexts,
                group=group,
            )
            rows.append(replace(row, position=len(rows) + 1, sample=sample))
    return Report.of(report.methods, rows), own


def drawn(report: Report, labels: Mapping[str, int], n: int, seed: int) -> Calibration:
    """Return the calibration by labels of claims that `Report.to_label` draws."""
    return calibrate(
        report,
        [
            Label(one.sample, one.claim, WORDS[labels[one.sample]], one.probability, one.item)
            for one in report.to_label(n, seed=seed)
        ],
    )


def simple(report: Report, labels: Mapping[str, int], n: int, rng: Any) -> Calibration:
    """Return the calibration by labels of a simple random sample."""
    rows = [report.rows[at] for at in rng.choice(len(report), n, replace=False)]
    return calibrate(
        report,
        {
            (row.label, row.results[0].findings[0].target.label): WORDS[labels[row.label]]
            for row in rows
        },
    )


def measured(
    report: Report, labels: Mapping[str, int], *, samples: int, n: int, rounds: int
) -> dict[str, list[Tried]]:
    """Return the intervals of all rounds, by the way in which they were made."""
    found: dict[str, list[Tried]] = {}
    for turn in range(rounds):
        rng = np.random.default_rng(turn)
        of, own = redrawn(report, labels, samples, rng) if samples else (report, labels)
        one, other = drawn(of, own, n, turn), simple(of, own, n, rng)
        tried: dict[str, Any] = {
            "judged, as it is": (one.judged, one.judged_interval),
            "prediction-powered, drawn by verdict": one.corrected,
            "prediction-powered, simple random sample": other.corrected,
        }
        for title, estimate in tried.items():
            if estimate is not None and estimate[1] is not None:
                value, interval = estimate[:2]
                found.setdefault(title, []).append(Tried(value, interval.low, interval.high))
    return found


def table(found: Mapping[str, Sequence[Tried]], truth: float) -> str:
    """Return the table: how often each covers the truth, its mean error and its mean width."""
    lines = [
        "| mean | rounds | covers the truth | mean error | standard deviation | mean width |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, tries in found.items():
        values = np.array([one.value for one in tries])
        covers = np.mean([one.low <= truth <= one.high for one in tries])
        width = np.mean([one.high - one.low for one in tries])
        lines.append(
            f"| {title} | {len(tries)} | {covers:.3f} | {values.mean() - truth:+.3f} "
            f"| {values.std():.3f} | {width:.3f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="labeled pairs, JSONL")
    parser.add_argument("--samples", type=int, default=500, help="rows of a report; 0: all")
    parser.add_argument("--threshold", type=float, default=0.5, help="the judge's")
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    report, labels = judged(rows, options.threshold)
    truth = float(np.mean(list(labels.values())))
    print(f"{len(report):,} claims, {truth:.3f} of them supported by people's labels\n")
    found = measured(
        report, labels, samples=options.samples, n=options.labels, rounds=options.rounds
    )
    print(table(found, truth))


if __name__ == "__main__":
    main()
