"""Measure the shipped embedded judge: agreement with labels, and pairs judged per second.

    python tests/benchmarks/embedded_judge.py LABELED.jsonl [--only-speed]

Each row of the file is `{claim, contexts, label, dataset, …}`, label 1 where the contexts support
the claim. The thresholds are the shipped ones: nothing is tuned here. Agreement needs
SciPy (for the AUC). Speed is that of 8 claims against 5, 20 and 80 contexts of 600
characters, made of the file's own texts, alone and together as the judges do, one process. With
`--details`, the file's true claims with one detail made false: the share still supported.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from fullrecall.judges.falsification import falsified
from fullrecall.judges.flow import run
from fullrecall.judges.lexical import EmbeddedJudge, LexicalJudge
from fullrecall.judges.lexical.regression import EmbeddedModel, LexicalModel

_SAMPLES = 4
_CLAIMS, _CHARACTERS = 8, 600
_CONTEXTS = (5, 20, 80)


def agreement(judge: LexicalModel, pairs: list[dict[str, Any]]) -> None:
    """Print balanced accuracy and AUC per data set, and their means."""
    import numpy as np
    from train_embedded_judge import auc, balanced_accuracy

    by_dataset: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for pair in pairs:
        support = judge.support_together(
            pair["claim"], pair["contexts"], question=pair.get("question") or None
        )
        by_dataset[pair["dataset"]].append((pair["label"], support.probability))
    print(f"\n{judge!r}\n{'':28}{'rows':>6}{'balanced accuracy':>19}{'AUC':>7}")
    rows = []
    for name, judged in sorted(by_dataset.items()):
        labels, scores = zip(*judged, strict=True)
        told, given = np.array(labels), np.array(scores)
        rows.append((balanced_accuracy(told, given, judge.threshold), auc(told, given)))
        print(f"{name:28}{len(judged):6}{rows[-1][0]:19.3f}{rows[-1][1]:7.3f}")
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    print(f"{'mean':28}{len(pairs):6}{means[0]:19.3f}{means[1]:7.3f}")


def speed(judge: LexicalJudge, pairs: list[dict[str, Any]]) -> None:
    """Print claim-context pairs per second of CPU, reading of the contexts included."""
    text = "\n".join(context for pair in pairs for context in pair["contexts"])
    claims = [pair["claim"] for pair in pairs]
    for count in _CONTEXTS:
        started = time.process_time()
        for sample in range(_SAMPLES):
            offset = sample * max(_CONTEXTS) * _CHARACTERS
            contexts = [
                text[offset + number * _CHARACTERS : offset + (number + 1) * _CHARACTERS]
                for number in range(count)
            ]
            run(judge.attribute(claims[sample * _CLAIMS : (sample + 1) * _CLAIMS], contexts))
        elapsed = time.process_time() - started
        judged = _SAMPLES * _CLAIMS * count
        name = type(judge).__name__
        print(f"{name}, {count} contexts: {judged / elapsed:,.0f} pairs per second")


def details(judge: LexicalJudge, pairs: list[dict[str, Any]]) -> None:
    """Print how many of the true claims are still supported with one detail made false."""
    true = [(pair["claim"], pair["contexts"]) for pair in pairs if pair["label"] == 1]
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in falsified(true):
        (verdict,), _ = run(judge.attribute([one.false], one.contexts))
        counts[one.detail][0] += 1
        counts[one.detail][1] += verdict.label == "supported"
    for detail, (count, wrong) in counts.items():
        print(f"{type(judge).__name__}, {detail}: {wrong / count:.3f} of {count:,} supported")


def main() -> None:
    """Measure both models."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="labeled pairs, JSONL")
    parser.add_argument("--only-speed", action="store_true")
    parser.add_argument("--details", action="store_true")
    options = parser.parse_args()
    pairs = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    for judge, model in ((LexicalJudge(), LexicalModel()), (EmbeddedJudge(), EmbeddedModel())):
        speed(judge, pairs)
        if options.details:
            details(judge, pairs)
        if not options.only_speed:
            agreement(model, pairs)


if __name__ == "__main__":
    main()
