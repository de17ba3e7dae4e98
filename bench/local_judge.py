"""Train the built-in judge's weights; print how well they agree on data sets left out.

    python bench/local_judge.py LABELED.jsonl [--write --ablation --details --speed]

needs NumPy and SciPy beside fullrecall. Each row of the file is
`{claim, contexts, label, dataset, source_id}`, label 1 if the contexts support the claim.
`--write` replaces the shipped `weights.json`.

The model is a logistic regression whose weights are held to the signs that the features declare
(L-BFGS-B with bounds), with an L2 penalty. Each data set and label counts the same. Each data set
has an intercept of its own in training, so that the weights are learned from differences within a
data set, and not from its share of true claims; the mean of the intercepts is kept. Claims with one
detail made false are not training data.

Printed per data set, *left out*: trained on the other data sets, and calibrated on them too, on
scores of models that had not seen the row (three random folds).

- `--ablation`: each feature taken out, all rules, and the baseline of one feature. Every lever
  is shown on two halves of the data sets: "chosen" and "shown". Intervals are of the paired
  difference, rows drawn anew within each data set.
- `--details`: true claims with one detail made false: the share still supported, by kind.
- `--speed`: pairs judged per second of CPU.

Probabilities are calibrated by Platt's sigmoid (1999) on the left-out scores, with each data set
and label at equal weight. So the threshold is 0.5, and needs no tuning of its own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata

from fullrecall.judge.flow import run
from fullrecall.lexical import LexicalJudge, falsified
from fullrecall.lexical.features import differing_detail, features
from fullrecall.lexical.support import matched

SIGNS = {
    "coverage": 1,
    "coverage_region": 1,
    "rarest_three_region": 1,
    "names_missing": -1,
    "close": 1,
}
"""The sign that a feature's weight may have: +1 speaks for support, -1 against it."""

PENALTY = 500.0
VETOED = 100.0

_DENIED = 0.3  # The judge counts in the same way.
_BINS = 10
_SAMPLES = 4
_CLAIMS, _CHARACTERS = 8, 600
_CONTEXTS = (5, 20, 80)


class Rows(NamedTuple):
    """Measured pairs, as parallel arrays."""

    measured: Any
    labels: Any
    datasets: Any
    sources: Any
    vetoed: Any  # Whether a detail denies support, overriding the regression.

    def where(self, chosen: Any) -> Rows:
        """Return the chosen rows."""
        return Rows(*(column[chosen] for column in self))


Model = Callable[[Any], Any]
Fit = Callable[[Rows], Model]
Table = dict[str, dict[str, float]]


class Linear:
    """A linear score over standardized features."""

    def __init__(self, mean: Any, scale: Any, weights: Any, intercept: float) -> None:
        self.mean, self.scale, self.weights, self.intercept = mean, scale, weights, intercept

    def __call__(self, measured: Any) -> Any:
        """Return the score of each row."""
        return ((measured - self.mean) / self.scale) @ self.weights + self.intercept


def row_weights(rows: Rows) -> Any:
    """Return weights by which each data set and label counts the same."""
    weights = np.zeros(len(rows.labels))
    for name in np.unique(rows.datasets):
        for label in (0, 1):
            chosen = (rows.datasets == name) & (rows.labels == label)
            if chosen.any():
                weights[chosen] = 1 / float(chosen.sum())
    return weights / weights.mean()


def fit_signed(signs: Sequence[int]) -> Fit:
    """Return a trainer of the signed logistic regression."""

    def fit(rows: Rows) -> Linear:
        mean, scale = rows.measured.mean(0), rows.measured.std(0) + 1e-9
        standard, target = (rows.measured - mean) / scale, 2 * rows.labels - 1
        weights, size = row_weights(rows), len(signs)
        names, of = np.unique(rows.datasets, return_inverse=True)
        penalty = PENALTY / len(target)

        def loss(point: Any) -> tuple[float, Any]:
            margin = target * (standard @ point[:size] + point[size:][of])
            pull = -target * weights / (1 + np.exp(np.clip(margin, -50, 50)))
            value = (weights * np.logaddexp(0, -margin)).mean()
            slope = standard.T @ pull / len(target) + penalty * point[:size]
            shifts = np.bincount(of, pull, len(names)) / len(target)
            return value + penalty / 2 * (point[:size] ** 2).sum(), np.append(slope, shifts)

        bounds: list[tuple[float | None, float | None]] = [
            (0, None) if sign > 0 else (None, 0) if sign < 0 else (None, None) for sign in signs
        ]
        point = minimize(
            loss,
            np.zeros(size + len(names)),
            jac=True,
            method="L-BFGS-B",
            bounds=[*bounds, *[(None, None)] * len(names)],
            options={"maxiter": 1000, "ftol": 1e-10},
        ).x
        return Linear(mean, scale, point[:size], float(point[size:].mean()))

    return fit


def single(column: int) -> Fit:
    """Return a "trainer" of the one-feature baseline."""
    return lambda _: lambda measured: measured[:, column]


def balanced_accuracy(labels: Any, scores: Any, threshold: float) -> float:
    """Return the mean of sensitivity and specificity."""
    yes = scores >= threshold
    return float((yes[labels == 1].mean() + (~yes)[labels == 0].mean()) / 2)


def auc(labels: Any, scores: Any) -> float:
    """Return how often a supported claim scores higher than another one; ties count half."""
    ranks, positive = rankdata(scores), labels == 1
    count, others = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others))


def calibrate(rows: Rows, scores: Any) -> tuple[float, float]:
    """Return slope and intercept of Platt's sigmoid."""
    weights, target = row_weights(rows), 2 * rows.labels - 1

    def loss(point: Any) -> float:
        margin = target * (point[0] * scores + point[1])
        return float((weights * np.logaddexp(0, -margin)).mean())

    slope, intercept = minimize(loss, np.array([1.0, 0.0])).x
    return float(slope), float(intercept)


def out_of_fold(fit: Fit, rows: Rows, folds: Any) -> Any:
    """Return the score of each row by a model that was trained without the row's fold."""
    scores = np.zeros(len(rows.labels))
    for fold in np.unique(folds):
        scores[folds == fold] = fit(rows.where(folds != fold))(rows.measured[folds == fold])
    return scores


def source_folds(rows: Rows, count: int) -> Any:
    """Return a random fold for each row, the same for rows of one source."""
    names = np.unique(rows.sources)
    chance = np.random.RandomState(0).randint(0, count, len(names))
    fold_of = dict(zip(names, chance, strict=True))
    return np.array([fold_of[source] for source in rows.sources])


def fit_with_threshold(fit: Fit, rows: Rows) -> tuple[Model, float]:
    """Return a model, and the score that is calibrated to a probability of one half."""
    folds = source_folds(rows, 3)
    slope, intercept = calibrate(rows, out_of_fold(fit, rows, folds))
    return fit(rows), -intercept / slope


def left_out_scores(fit: Fit, rows: Rows) -> Any:
    """Return the score of each row, above 0 for support, trained on the other data sets."""
    scores = np.zeros(len(rows.labels))
    for name in np.unique(rows.datasets):
        held = rows.datasets == name
        judge, threshold = fit_with_threshold(fit, rows.where(~held))
        scores[held] = judge(rows.measured[held]) - threshold
    return scores


def left_out_support(fit: Fit, rows: Rows) -> Any:
    """Return the support of each row, trained and calibrated on the other data sets."""
    support = np.zeros(len(rows.labels))
    for name in np.unique(rows.datasets):
        held, others = rows.datasets == name, rows.where(rows.datasets != name)
        slope, shift = calibrate(others, out_of_fold(fit, others, source_folds(others, 3)))
        logit = slope * fit(others)(rows.measured[held]) + shift
        support[held] = np.where(rows.vetoed[held], _DENIED, 1) / (1 + np.exp(-logit))
    return support


def calibration_error(labels: Any, support: Any) -> float:
    """Return the mean distance between support and the share of true claims, over ten bins."""
    bins = np.minimum((support * _BINS).astype(int), _BINS - 1)
    return float(sum(abs((labels - support)[bins == n].sum()) for n in range(_BINS)) / len(labels))


def left_out(fit: Fit, rows: Rows) -> Table:
    """Return balanced accuracy and AUC on each data set, trained on the rest."""
    return by_dataset(rows, left_out_scores(fit, rows))


def by_dataset(rows: Rows, scores: Any) -> Table:
    """Return balanced accuracy and AUC on each data set, and their means."""
    return with_mean(
        {
            str(name): measures(rows.where(rows.datasets == name), scores[rows.datasets == name])
            for name in np.unique(rows.datasets)
        }
    )


def measures(held: Rows, scores: Any) -> dict[str, float]:
    """Return both measures of one data set, by scores that support a claim from 0 on.

    No score supports a vetoed claim, which counts among the lowest.
    """
    judged = np.where(held.vetoed, scores - VETOED, scores)
    return {
        "balanced_accuracy": round(balanced_accuracy(held.labels, judged, 0.0), 4),
        "auc": round(auc(held.labels, judged), 4),
    }


def with_mean(table: Table) -> Table:
    """Add the mean over data sets."""
    mean = {
        measure: round(float(np.mean([row[measure] for row in table.values()])), 3)
        for measure in ("balanced_accuracy", "auc")
    }
    return {**table, "mean": mean}


def show(title: str, table: Table) -> None:
    """Print one line per data set."""
    print(f"\n{title}\n{'':24}{'balanced accuracy':>18}{'AUC':>8}")
    for name, row in table.items():
        print(f"{name:24}{row['balanced_accuracy']:18.3f}{row['auc']:8.3f}")


def trained(rows: Rows) -> dict[str, Any]:
    """Return the content of `weights.json`."""
    fit = fit_signed(list(SIGNS.values()))
    slope, shift = calibrate(rows, out_of_fold(fit, rows, rows.datasets))
    linear = fit(rows)
    if not isinstance(linear, Linear):
        raise TypeError(linear)
    entries = zip(SIGNS, linear.mean, linear.scale, linear.weights * slope, strict=True)
    return {
        "intercept": round(slope * linear.intercept + shift, 6),
        "features": {
            name: {"weight": round(w, 5), "mean": round(m, 5), "scale": round(s, 5)}
            for name, m, s, w in entries
        },
        "agreement": left_out(fit, rows),
    }


def ablation(rows: Rows) -> None:
    """Print the gain of each feature and of all rules, on two halves of the data sets."""
    names = list(SIGNS)
    base = left_out_scores(fit_signed(list(SIGNS.values())), rows)
    variants: dict[str, tuple[Rows, Any]] = {"all": (rows, base)}
    for name in names:
        kept = [n for n in names if n != name]
        thin = rows._replace(measured=rows.measured[:, [names.index(n) for n in kept]])
        variants[f"without {name}"] = (
            thin,
            left_out_scores(fit_signed([SIGNS[n] for n in kept]), thin),
        )
    bare = rows._replace(vetoed=np.zeros(len(rows.labels), np.bool_))
    variants["without rules"] = (bare, base)
    single_one = bare._replace(measured=bare.measured[:, [names.index("coverage")]])
    variants["coverage alone"] = (single_one, left_out_scores(single(0), single_one))
    print(f"\n{'':32}{'BA':>7}{'AUC':>7}  {'difference of BA [95%]':26}{'A':>8}{'B':>8}")
    half = np.isin(rows.datasets, np.unique(rows.datasets)[::2])
    for title, (of, scores) in variants.items():
        mean = by_dataset(of, scores)["mean"]
        low, high = paired(rows, base, of, scores)
        parts = [by_dataset(of.where(p), scores[p])["mean"]["balanced_accuracy"]
                 - by_dataset(rows.where(p), base[p])["mean"]["balanced_accuracy"]
                 for p in (half, ~half)]  # fmt: skip
        change = mean["balanced_accuracy"] - by_dataset(rows, base)["mean"]["balanced_accuracy"]
        told = f"{change:+.4f} [{low:+.4f}, {high:+.4f}]"
        print(f"{title:32}{mean['balanced_accuracy']:7.4f}{mean['auc']:7.4f}  {told:26}"
              f"{parts[0]:+8.4f}{parts[1]:+8.4f}")  # fmt: skip


def paired(rows: Rows, base: Any, other: Rows, scores: Any, draws: int = 1000) -> tuple[Any, Any]:
    """Return the 95% interval of a difference in balanced accuracy, rows drawn within data sets."""
    right = [
        (np.where(of.vetoed, s - VETOED, s) >= 0) == (of.labels == 1)
        for of, s in ((rows, base), (other, scores))
    ]
    gain = right[1].astype(float) - right[0]
    chance = np.random.default_rng(0)
    means = np.zeros(draws)
    cells = [
        np.flatnonzero((rows.datasets == name) & (rows.labels == label))
        for name in np.unique(rows.datasets)
        for label in (0, 1)
    ]
    for cell in cells:
        means += gain[chance.choice(cell, (draws, len(cell)))].mean(1) / len(cells)
    return tuple(np.quantile(means, (0.025, 0.975)))  # type: ignore[return-value]


def details(pairs: list[dict[str, Any]]) -> None:
    """Print how many of the true claims are still supported with one detail made false."""
    judge = LexicalJudge()
    true = [(pair["claim"], pair["contexts"]) for pair in pairs if pair["label"] == 1]
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for claim, contexts in true:
        (verdict,), _ = run(judge.attribute([claim], contexts))
        counts["(true)"][0] += 1
        counts["(true)"][1] += verdict.label == "supported"
    for one in falsified(true):
        (verdict,), _ = run(judge.attribute([one.false], one.contexts))
        counts[one.detail][0] += 1
        counts[one.detail][1] += verdict.label == "supported"
    for detail, (count, wrong) in counts.items():
        print(f"{detail:20} {wrong / count:.3f} of {count:,} supported")


def speed(pairs: list[dict[str, Any]]) -> None:
    """Print claim-context pairs per second of CPU, reading of the contexts included."""
    judge = LexicalJudge()
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
        print(f"{count} contexts: {judged / elapsed:,.0f} pairs per second")


def measured_rows(pairs: list[dict[str, Any]]) -> Rows:
    """Return the features of each pair, and the detail in which it differs."""
    read = [matched(pair["claim"], pair["contexts"]) for pair in pairs]
    columns = [
        np.array([pair[field] for pair in pairs]) for field in ("label", "dataset", "source_id")
    ]
    values_of = [features(claim, match) for claim, _, match in read]
    values = np.array([[measured[name] for name in SIGNS] for measured in values_of])
    return Rows(values, *columns, np.array([differing_detail(*matches) for matches in read]))


def main() -> None:
    """Train, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="labeled pairs, JSONL")
    parser.add_argument("--write", action="store_true", help="replace the shipped weights.json")
    for name in ("ablation", "details", "speed"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    pairs = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    rows = measured_rows(pairs)
    written = trained(rows)
    show("data set left out", written["agreement"])
    if options.write:
        shipped = files("fullrecall.lexical").joinpath("weights.json")
        Path(str(shipped)).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    support = left_out_support(fit_signed(list(SIGNS.values())), rows)
    print(f"\ncalibration error of left-out support: {calibration_error(rows.labels, support):.3f}")
    if options.ablation:
        ablation(rows)
    if options.details:
        details(pairs)
    if options.speed:
        speed(pairs)


if __name__ == "__main__":
    main()
