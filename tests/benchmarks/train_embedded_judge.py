"""Train the embedded judge's weights, and print how well they agree on data sets left out.

    python tests/benchmarks/train_embedded_judge.py LABELLED.jsonl [--write] [--edited WEIGHT]

needs scikit-learn beside fullrecall and its extra `embedded`. Each row of the file is
`{claim, contexts, label, dataset, source_id, question}`, label 1 where the contexts support the
claim. `--write` replaces the shipped `weights.json`.

The model is a logistic regression whose weights are held to the signs that the features declare
(L-BFGS-B with bounds), with an L2 penalty. Each data set and label counts in proportion to
n^0.3 of its rows, so that no large data set decides. Claims that are supported are also learned
from in an edited form, as unsupported: one number, name, opposite, rival or negation is changed
(`edit`). They are one more data set, of weight `--edited` (0 leaves them out); they are never
measured on, and follow their original into and out of every fold.

Printed per data set:

- *left out*: trained on the other data sets, and calibrated on them too, on scores of models
  that had not seen the row (three random folds). This is the honest one.
- *grouped*: five folds of all rows, rows of one source kept together.
- plain baselines, weighted coverage of the claim's words, under the first protocol.

Probabilities are calibrated by Platt's sigmoid (1999) on the left-out scores, with each data set
and label at equal weight. So the threshold is 0.5, and needs no tuning of its own: picking the
point of best balanced accuracy instead did no better on data sets left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from fullrecall.judges.lexical import features, regression, static_embeddings
from fullrecall.judges.lexical.opposites import OPPOSITES
from fullrecall.judges.lexical.rivals import rivals
from fullrecall.judges.lexical.words import read_words

PENALTY = 1 / 0.003
BALANCE = 0.7
EDITED = "edited"
NAME_WEIGHT = 0.8
AUXILIARIES = frozenset("is was are were has have can will".split())


class Rows(NamedTuple):
    """Measured pairs, as parallel arrays."""

    measured: Any
    labels: Any
    datasets: Any
    sources: Any
    kinds: Any  # the data set, or EDITED

    def where(self, chosen: Any) -> Rows:
        """Return the chosen rows."""
        return Rows(*(column[chosen] for column in self))

    def real(self) -> Rows:
        """Return the rows that people labelled."""
        return self.where(self.kinds != EDITED)


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


def edit(pair: Mapping[str, Any], chance: random.Random) -> str | None:
    """Return the pair's claim with one detail changed, or None where there is none to change."""
    claim: str = pair["claim"]
    words = list(read_words(claim))
    context = [word for text in pair["contexts"] for word in read_words(text[:5_000])]
    claimed = {word.key for word in words}
    options = []
    for position, word in enumerate(words):
        if word.is_number and word.written[0].isdigit():
            others = [w for w in context if w.is_number and w.written[0].isdigit()]
            others = [w for w in others if w.key != word.key]
            digits = re.sub(r"\d", lambda _: str(chance.randint(1, 9)), word.written)
            there = bool(others) and chance.random() < 0.5
            options.append((word, chance.choice(others).written if there else digits))
        elif word.is_capitalised and position > 0 and word.weight > NAME_WEIGHT:
            names = [w for w in context if w.is_capitalised and w.key not in claimed]
            names = [w for w in names if w.weight > 2 * NAME_WEIGHT]
            if names:
                options.append((word, chance.choice(names).written.capitalize()))
        elif word.key in OPPOSITES:
            options.append((word, chance.choice(sorted(OPPOSITES[word.key]))))
        elif word.key in rivals():
            options.append((word, chance.choice(sorted(rivals()[word.key]))))
        elif word.written in AUXILIARIES:
            options.append((word, f"{word.written} not"))
    if not options:
        return None
    word, replacement = chance.choice(options)
    return claim[: word.start] + replacement + claim[word.end :]


def row_weights(rows: Rows, balance: float, edited: float = 1.0) -> Any:
    """Return weights by which each data set and label counts n^(1 - balance)."""
    weights = np.zeros(len(rows.labels))
    for kind in np.unique(rows.kinds):
        for label in (0, 1):
            chosen = (rows.kinds == kind) & (rows.labels == label)
            if chosen.any():
                share = edited if kind == EDITED else 1.0
                weights[chosen] = share * float(chosen.sum()) ** -balance
    return weights / weights.mean()


def fit_signed(signs: Sequence[int], edited: float) -> Fit:
    """Return a trainer of the signed logistic regression."""

    def fit(rows: Rows) -> Linear:
        if not edited:
            rows = rows.real()
        mean, scale = rows.measured.mean(0), rows.measured.std(0) + 1e-9
        standard, target = (rows.measured - mean) / scale, 2 * rows.labels - 1
        weights = row_weights(rows, BALANCE, edited)
        penalty = PENALTY / len(target)

        def loss(point: Any) -> tuple[float, Any]:
            margin = target * (standard @ point[:-1] + point[-1])
            pull = -target * weights / (1 + np.exp(np.clip(margin, -50, 50)))
            value = (weights * np.logaddexp(0, -margin)).mean()
            slope = standard.T @ pull / len(target) + penalty * point[:-1]
            return value + penalty / 2 * (point[:-1] ** 2).sum(), np.append(slope, pull.mean())

        bounds: list[tuple[float | None, float | None]] = [
            (0, None) if sign > 0 else (None, 0) if sign < 0 else (None, None) for sign in signs
        ]
        point = minimize(
            loss,
            np.zeros(len(signs) + 1),
            jac=True,
            method="L-BFGS-B",
            bounds=[*bounds, (None, None)],
            options={"maxiter": 1000, "ftol": 1e-10},
        ).x
        return Linear(mean, scale, point[:-1], float(point[-1]))

    return fit


def single(column: int) -> Fit:
    """Return a "trainer" of the baseline that is one feature."""
    return lambda _: lambda measured: measured[:, column]


def balanced_accuracy(labels: Any, scores: Any, threshold: float) -> float:
    """Return the mean of sensitivity and specificity."""
    yes = scores >= threshold
    return float((yes[labels == 1].mean() + (~yes)[labels == 0].mean()) / 2)


def calibrate(rows: Rows, scores: Any) -> tuple[float, float]:
    """Return slope and intercept of Platt's sigmoid."""
    weights, target = row_weights(rows, 1.0), 2 * rows.labels - 1

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


def fit_with_threshold(fit: Fit, rows: Rows) -> tuple[Model, float]:
    """Return a model, and the score that is calibrated to a probability of one half."""
    # An edited claim has its original's source, and so its fold.
    names = np.unique(rows.sources)
    fold_of = dict(zip(names, np.random.RandomState(0).randint(0, 3, len(names)), strict=True))
    folds = np.array([fold_of[source] for source in rows.sources])
    people = rows.kinds != EDITED
    scores = out_of_fold(fit, rows, folds)[people]
    slope, intercept = calibrate(rows.real(), scores)
    return fit(rows), -intercept / slope


def left_out(fit: Fit, rows: Rows) -> Table:
    """Return balanced accuracy and AUC on each data set, trained on the others."""
    table: Table = {}
    for name in np.unique(rows.datasets):
        judge, threshold = fit_with_threshold(fit, rows.where(rows.datasets != name))
        held = rows.where(rows.datasets == name).real()
        table[str(name)] = measures(held.labels, judge(held.measured), threshold)
    return with_mean(table)


def grouped(fit: Fit, rows: Rows) -> Table:
    """Return the same by five folds of all rows, rows of one source kept together."""
    decided = np.zeros(len(rows.labels))
    splits = GroupKFold(5, shuffle=True, random_state=0)
    for rest, held in splits.split(rows.measured, groups=rows.sources):
        judge, threshold = fit_with_threshold(fit, rows.where(rest))
        decided[held] = judge(rows.measured[held]) - threshold
    people = rows.kinds != EDITED
    return with_mean(
        {
            str(name): measures(
                rows.labels[people & (rows.datasets == name)],
                decided[people & (rows.datasets == name)],
                0.0,
            )
            for name in np.unique(rows.datasets)
        }
    )


def measures(labels: Any, scores: Any, threshold: float) -> dict[str, float]:
    """Return both measures of one data set."""
    return {
        "balanced_accuracy": round(balanced_accuracy(labels, scores, threshold), 3),
        "auc": round(float(roc_auc_score(labels, scores)), 3),
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


def trained(signs: Mapping[str, int], rows: Rows, edited: float) -> dict[str, Any]:
    """Return the entry of `weights.json` for one model."""
    fit = fit_signed(list(signs.values()), edited)
    people = rows.kinds != EDITED
    scores = out_of_fold(fit, rows, rows.datasets)[people]
    slope, shift = calibrate(rows.real(), scores)
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
    """Return the features of each pair and of each edited one, and rows yet without them."""
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for pair in pairs:
        pair["kind"] = pair["dataset"]
    chance = random.Random(0)
    for pair in [pair for pair in pairs if pair["label"] == 1]:
        claim = edit(pair, chance)
        if claim is not None and claim != pair["claim"]:
            pairs.append({**pair, "kind": EDITED})
            pairs.append({**pair, "kind": EDITED, "claim": claim, "label": 0})
    judge = regression.EmbeddedModel()
    measured = [
        judge.measure(pair["claim"], pair["contexts"], question=pair["question"]) for pair in pairs
    ]
    columns = [
        np.array([pair[field] for pair in pairs])
        for field in ("label", "dataset", "source_id", "kind")
    ]
    return measured, Rows(np.zeros((len(pairs), 0)), *columns)


def main() -> None:
    """Train, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="labelled pairs, JSONL")
    parser.add_argument("--write", action="store_true", help="replace the shipped weights.json")
    parser.add_argument("--edited", type=float, default=1.0, help="weight of edited claims")
    options = parser.parse_args()
    measured, rows = read(options.data)
    written: dict[str, Any] = {}
    tiers = {
        "lexical": features.SIGNS,
        "embedded": {**features.SIGNS, **static_embeddings.SIGNS},
    }
    for tier, signs in tiers.items():
        filled = rows._replace(measured=np.array([[row[n] for n in signs] for row in measured]))
        written[tier] = trained(signs, filled, options.edited)
        show(f"{tier}, data set left out", written[tier]["agreement"])
        fit = fit_signed(list(signs.values()), options.edited)
        show(f"{tier}, grouped folds", grouped(fit, filled))
    for name in ("coverage", "coverage_3", "soft_coverage", "soft_coverage_3"):
        filled = rows._replace(measured=np.array([[row[name]] for row in measured]))
        show(f"baseline {name}, data set left out", left_out(single(0), filled))
    if options.write:
        shipped = files("fullrecall.judges.lexical").joinpath("weights.json")
        Path(str(shipped)).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
