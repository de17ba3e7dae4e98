"""Train the embedded judge's weights, and print how well they agree on data sets left out.

    python tests/benchmarks/train_embedded_judge.py LABELED.jsonl [--write]

needs SciPy beside fullrecall and its extra `embedded`. Each row of the file is
`{claim, contexts, label, dataset, source_id, question}`, label 1 where the contexts support the
claim. `--write` replaces the shipped `weights.json`.

The model is a logistic regression whose weights are held to the signs that the features declare
(L-BFGS-B with bounds), with an L2 penalty. Each data set and label counts the same. Each data set
has an intercept of its own in training, so that the weights are learned from what tells claims of
one data set apart, and not from how many of each are true; their mean is kept. Claims with one
detail made false are not learned from: the vetoes see those.

Printed per data set:

- *left out*: trained on the other data sets, and calibrated on them too, on scores of models
  that had not seen the row (three random folds), with the vetoes, whose few thresholds were set on
  all of them. This is the honest one.
- *grouped*: five folds of all rows, rows of one source kept together.
- plain baselines, weighted coverage of the claim's words, under the first protocol.

`--curve` prints how the agreement grows with the data sets and rows that are learned from, and
`--vetoes` what each veto denies.

Probabilities are calibrated by Platt's sigmoid (1999) on the left-out scores, with each data set
and label at equal weight. So the threshold is 0.5, and needs no tuning of its own: picking the
point of best balanced accuracy instead did no better on data sets left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata

from fullrecall.judges.lexical import features, regression, static_embeddings

PENALTY = 500.0
VETOED = 100.0
DRAWN = 3  # sets of data sets, and of rows, for one point of the curve


class Rows(NamedTuple):
    """Measured pairs, as parallel arrays."""

    measured: Any
    labels: Any
    datasets: Any
    sources: Any
    vetoed: Any  # the detail that denies support, whatever the regression says; empty for none

    def where(self, chosen: Any) -> Rows:
        """Return the chosen rows."""
        return Rows(*(column[chosen] for column in self))


Model = Callable[[Any], Any]
Fit = Callable[[Rows], Model]
Table = dict[str, dict[str, float]]


class Linear:
    """A linear score over standardised features."""

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
    """Return a "trainer" of the baseline that is one feature."""
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


def left_out(fit: Fit, rows: Rows) -> Table:
    """Return balanced accuracy and AUC on each data set, trained on the others."""
    return by_dataset(rows, left_out_scores(fit, rows))


def by_dataset(rows: Rows, scores: Any) -> Table:
    """Return balanced accuracy and AUC on each data set, and their means."""
    return with_mean(
        {
            str(name): measures(rows.where(rows.datasets == name), scores[rows.datasets == name])
            for name in np.unique(rows.datasets)
        }
    )


def grouped(fit: Fit, rows: Rows) -> Table:
    """Return the same by five folds of all rows, rows of one source kept together."""
    decided = np.zeros(len(rows.labels))
    folds = source_folds(rows, 5)
    for fold in np.unique(folds):
        held = folds == fold
        judge, threshold = fit_with_threshold(fit, rows.where(~held))
        decided[held] = judge(rows.measured[held]) - threshold
    return by_dataset(rows, decided)


def curve(title: str, fit: Fit, rows: Rows) -> None:
    """Print the mean agreement on data sets left out by how many others are learned from."""
    names = np.unique(rows.datasets)
    chance = np.random.RandomState(0)
    for count in (1, 2, 3, 5, len(names) - 1):
        found = []
        for name in names:
            held, others = rows.where(rows.datasets == name), names[names != name]
            for _ in range(1 if count == len(others) else DRAWN):
                chosen = chance.choice(others, count, replace=False)
                judge, threshold = fit_with_threshold(
                    fit, rows.where(np.isin(rows.datasets, chosen))
                )
                found.append(measures(held, judge(held.measured) - threshold))
        means = [np.mean([one[m] for one in found]) for m in ("balanced_accuracy", "auc")]
        print(f"{title}, {count} data sets: {means[0]:.3f}, AUC {means[1]:.3f}")
    for share in (0.1, 0.25, 0.5):
        thin = [rows.where(chance.rand(len(rows.labels)) < share) for _ in range(DRAWN)]
        found = [measures(rows.where(rows.datasets == name),
                          judge(rows.measured[rows.datasets == name]) - threshold)
                 for some in thin for name in names
                 for judge, threshold in [fit_with_threshold(fit, some.where(
                     some.datasets != name))]]  # fmt: skip
        means = [np.mean([one[m] for one in found]) for m in ("balanced_accuracy", "auc")]
        print(f"{title}, {share:.0%} of the rows: {means[0]:.3f}, AUC {means[1]:.3f}")


def vetoed(title: str, fit: Fit, rows: Rows) -> None:
    """Print what each veto denies of what the regression alone supports, and what it is worth."""
    scores = left_out_scores(fit, rows)
    without = rows._replace(vetoed=np.full(len(rows.labels), ""))
    show(f"{title} without vetoes, data set left out", by_dataset(without, scores))
    for kind in np.unique(rows.vetoed[rows.vetoed != ""]):
        denied = rows.where((rows.vetoed == kind) & (scores >= 0))
        names = np.unique(denied.datasets)
        sets = ", ".join(f"{name} {(denied.datasets == name).sum()}" for name in names)
        true = denied.labels.mean() if len(names) else 0.0
        print(f"{title}, {kind}: {len(denied.labels)} denied, {true:.2f} of them true ({sets})")


def measures(held: Rows, scores: Any) -> dict[str, float]:
    """Return both measures of one data set, by scores that support a claim from 0 on.

    What is vetoed is supported by no score: it counts among the lowest.
    """
    judged = np.where(held.vetoed != "", scores - VETOED, scores)
    return {
        "balanced_accuracy": round(balanced_accuracy(held.labels, judged, 0.0), 3),
        "auc": round(auc(held.labels, judged), 3),
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


def trained(signs: Mapping[str, int], rows: Rows) -> dict[str, Any]:
    """Return the entry of `weights.json` for one model."""
    fit = fit_signed(list(signs.values()))
    slope, shift = calibrate(rows, out_of_fold(fit, rows, rows.datasets))
    linear = fit(rows)
    if not isinstance(linear, Linear):
        raise TypeError(linear)
    entries = zip(signs, linear.mean, linear.scale, linear.weights * slope, strict=True)
    return {
        "threshold": 0.5,
        "intercept": round(slope * linear.intercept + shift, 6),
        "features": {
            name: {"weight": round(w, 5), "mean": round(m, 5), "scale": round(s, 5)}
            for name, m, s, w in entries
            if abs(w) >= 5e-4
        },
        "agreement": left_out(fit, rows),
    }


def read(path: Path) -> tuple[list[dict[str, float]], Rows]:
    """Return the features of each pair, and rows yet without them."""
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    judge = regression.EmbeddedModel()
    measured = []
    for pair in pairs:
        claim, contexts = pair["claim"], pair["contexts"]
        measured.append(judge.measure(claim, contexts, question=pair["question"]))
        pair["vetoed"] = judge.veto(claim, contexts)
    columns = [
        np.array([pair[field] for pair in pairs])
        for field in ("label", "dataset", "source_id", "vetoed")
    ]
    return measured, Rows(np.zeros((len(pairs), 0)), *columns)


def main() -> None:
    """Train, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="labeled pairs, JSONL")
    parser.add_argument("--write", action="store_true", help="replace the shipped weights.json")
    parser.add_argument("--curve", action="store_true", help="print the learning curves")
    parser.add_argument("--vetoes", action="store_true", help="print what each veto denies")
    options = parser.parse_args()
    measured, rows = read(options.data)
    written: dict[str, Any] = {}
    tiers = {
        "lexical": features.SIGNS,
        "embedded": {**features.SIGNS, **static_embeddings.SIGNS},
    }
    for tier, signs in tiers.items():
        filled = rows._replace(measured=np.array([[row[n] for n in signs] for row in measured]))
        written[tier] = trained(signs, filled)
        show(f"{tier}, data set left out", written[tier]["agreement"])
        fit = fit_signed(list(signs.values()))
        show(f"{tier}, grouped folds", grouped(fit, filled))
        if options.vetoes:
            vetoed(tier, fit, filled)
        if options.curve:
            curve(tier, fit, filled)
    for name in ("coverage", "coverage_3", "soft_coverage", "soft_coverage_3"):
        filled = rows._replace(measured=np.array([[row[name]] for row in measured]))
        show(f"baseline {name}, data set left out", left_out(single(0), filled))
    if options.write:
        shipped = files("fullrecall.judges.lexical").joinpath("weights.json")
        Path(str(shipped)).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
