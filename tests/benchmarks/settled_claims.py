"""Measure what the first judges of a `Cascade` settle, and how often they are wrong.

    python tests/benchmarks/settled_claims.py LABELED.jsonl

needs SciPy beside fullrecall and its extra `embedded`. Each row of the file is
`{claim, contexts, label, dataset, source_id, question}`, label 1 where the contexts support the
claim. The embedded judges' probabilities are those of `train_embedded_judge.py`'s "left out"
protocol: each data set is judged by a model trained and calibrated on the others.

A claim is settled where a judge finds it supported at its threshold. "wrong" is the share of
those whose label says that the contexts do not support it; the interval is Wilson's, at 95%.
"""

from __future__ import annotations

import argparse
import json
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import train_embedded_judge as training

from fullrecall.judges.cascade import VerbatimJudge
from fullrecall.judges.flow import run
from fullrecall.judges.lexical import features, static_embeddings

VETOED = 0.3  # what the judges leave of the probability of a vetoed claim
THRESHOLDS = (0.5, 0.7, 0.8, 0.85, 0.9, 0.95)


def verbatim(pairs: list[dict[str, Any]]) -> Any:
    """Return 1.0 for each claim that stands word for word in a context, else 0.0."""
    judge = VerbatimJudge()
    found = []
    for pair in pairs:
        (verdict,), _ = run(judge.attribute([pair["claim"]], pair["contexts"]))
        found.append(float(verdict.label == "supported"))
    return np.array(found)


def probabilities(fit: training.Fit, rows: training.Rows) -> Any:
    """Return each row's probability by a model that has not seen its data set, and the vetoes."""
    judged = np.zeros(len(rows.labels))
    for name in np.unique(rows.datasets):
        held = rows.datasets == name
        rest = rows.where(~held)
        folds = training.source_folds(rest, 3)
        slope, shift = training.calibrate(rest, training.out_of_fold(fit, rest, folds))
        score = slope * fit(rest)(rows.measured[held]) + shift
        judged[held] = 1 / (1 + np.exp(-score))
    return np.where(rows.vetoed != "", VETOED * judged, judged)


def row(title: str, settled: Any, rows: training.Rows) -> str:
    """Return one row of the table."""
    count = int(settled.sum())
    wrong = int((rows.labels[settled] == 0).sum())
    if not count:
        return f"| {title} | 0.000 | 0 | - | - |"
    low, high = wilson(wrong, count)
    by_set = [
        (float((rows.labels[chosen] == 0).mean()), name)
        for name in np.unique(rows.datasets)
        if (chosen := settled & (rows.datasets == name)).any()
    ]
    worst, name = max(by_set)
    share = settled.mean()
    error = f"{wrong / count:.3f} ({low:.3f}-{high:.3f})"
    return f"| {title} | {share:.3f} | {count} | {error} | {worst:.2f} {name} |"


def wilson(hits: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    middle = (hits + z * z / 2) / (count + z * z)
    half = z / (count + z * z) * sqrt(hits * (count - hits) / count + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="labeled pairs, JSONL")
    options = parser.parse_args()
    measured, rows = training.read(options.data)
    print("| first judge | share settled | claims | wrong | worst data set |")
    print("| --- | ---: | ---: | ---: | --- |")
    pairs = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    print(row("VerbatimJudge()", verbatim(pairs) > 0, rows))
    tiers = {
        "LexicalJudge": features.SIGNS,
        "EmbeddedJudge": {**features.SIGNS, **static_embeddings.SIGNS},
    }
    for tier, signs in tiers.items():
        filled = rows._replace(measured=np.array([[one[n] for n in signs] for one in measured]))
        judged = probabilities(training.fit_signed(list(signs.values())), filled)
        for threshold in THRESHOLDS:
            print(row(f"{tier}(threshold={threshold})", judged >= threshold, rows))
        denied = judged <= 1 - THRESHOLDS[-1]
        print(f"{tier}: of {denied.sum()} at most {1 - THRESHOLDS[-1]:.2f}, "
              f"{rows.labels[denied].mean():.3f} are supported")  # fmt: skip


if __name__ == "__main__":
    main()
