"""Measure the built-in judge on labeled claims, as `ClaimRecall` asks it, and a cascade.

    python bench/cascade.py LABELED.jsonl [--check]

Each row of the file is `{claim, contexts, label, dataset, source_id}`, label 1 if the contexts
support the claim. Compound claims are judged fact by fact. Figures are means over the data sets.

The second judge is *simulated*: it is right on a stated share of claims, drawn by a digest of the
claim, independent of its difficulty. A real model errs more often on claims for which words leave
the built-in judge unsure, so the gain is an upper estimate. `--check` compares the tables with
docs/judges.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from local_judge import auc, balanced_accuracy, calibration_error

from fullrecall.judge.flow import run
from fullrecall.lexical import LexicalJudge

BANDS = ((0.4, 0.6), (0.3, 0.65), (0.2, 0.8), (0.0, 1.0))
SECOND = (0.75, 0.85)


class Claims(NamedTuple):
    """Judged claims, as parallel arrays; `luck` decides whether the second judge is right."""

    support: Any
    found: Any
    labels: Any
    datasets: Any
    luck: Any


def judged(rows: list[dict[str, Any]]) -> Claims:
    """Return the rows that the built-in judge scores."""
    judge, kept = LexicalJudge(), []
    for row in rows:
        claim = row["claim"].replace("</s>", "").strip()
        (verdict,), _ = run(judge.attribute([claim], row["contexts"], question=row.get("question")))
        if verdict.support is not None:
            digest = hashlib.sha256((row["dataset"] + claim).encode()).digest()
            luck = int.from_bytes(digest[:6]) / 2**48
            found = verdict.label == "supported"
            kept.append((verdict.support, found, row["label"], row["dataset"], luck))
    return Claims(*map(np.array, zip(*kept, strict=True)))


def mean_over_sets(claims: Claims, found: Any) -> float:
    """Return the balanced accuracy, as the mean over data sets."""
    own = [claims.datasets == name for name in np.unique(claims.datasets)]
    return float(np.mean([balanced_accuracy(claims.labels[at], found[at], 0.5) for at in own]))


def tables(claims: Claims) -> Iterator[str]:
    """Yield the lines of the docs."""
    own = [claims.datasets == name for name in np.unique(claims.datasets)]
    area = np.mean([auc(claims.labels[at], claims.support[at]) for at in own])
    error = calibration_error(claims.labels, claims.support)
    alone = f"{mean_over_sets(claims, claims.found):.3f}"
    yield "| claims | balanced accuracy | AUC | calibration error |"
    yield "|---|---|---|---|"
    yield f"| {len(claims.labels):,} of {len(own)} data sets | {alone} | {area:.3f} | {error:.3f} |"
    yield ""
    yield "| unsure | claims referred | second judge right on 75% | on 85% |"
    yield "|---|---|---|---|"
    yield f"| nothing | 0% | {alone} | {alone} |"
    for low, high in BANDS:
        referred = (claims.support >= low) & (claims.support <= high)
        cells = [f"{low:g} to {high:g}", f"{referred.mean():.0%}"]
        for right in SECOND:
            second = np.where(claims.luck < right, claims.labels, 1 - claims.labels)
            found = np.where(referred, second, claims.found)
            cells.append(f"{mean_over_sets(claims, found):.3f}")
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the tables; with `--check` fail if the docs differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--check", action="store_true", help="fail if docs/judges.md says otherwise"
    )
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.data.read_text("utf-8").splitlines()]
    lines = list(tables(judged(rows)))
    print("\n".join(lines))
    page = (Path(__file__).parents[1] / "docs" / "judges.md").read_text("utf-8")
    missing = [line for line in lines if line not in page]
    if options.check and missing:
        raise SystemExit("\n".join(["not in docs/judges.md:", *missing]))


if __name__ == "__main__":
    main()
