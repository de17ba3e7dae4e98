"""Compare Gaffke's test K with the usual bounds: error rates, and questions needed.

    python bench/power.py

needs SciPy beside fullrecall. Errors and powers are exact: for laws on two or three values, every
possible count of the values is enumerated and weighed by its multinomial probability. Only the
power for thirds is simulated, by seed. The usual bounds are Wilson's for scores and Student's for
differences, with half a sample and one change added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, stdtrit, xlogy

from fullrecall.stats.bounds import Counts, mean_above, mean_below

ALPHA = 0.05


class Kind(NamedTuple):
    """Scores or differences of scores: their range and the usual bounds of their mean."""

    least: float
    most: float
    usual_bounds: Callable[[Any, Any, int], tuple[Any, Any]]


def wilson_bounds(mean: Any, variance: Any, n: int) -> tuple[Any, Any]:
    """Return the usual one-sided bounds of means of scores with these variances of the mean."""
    share = mean * (1 - mean)
    seen = (share > 0) & (variance > 0)
    padded = share / n * (variance * n * n + 0.5) / (share * n + 0.5)
    t = stdtrit(n - 1, 1 - ALPHA)
    a = t * t * np.maximum(padded, variance) / np.where(seen, share, 1)
    centre, half = mean + a / 2, np.sqrt(a * share + a * a / 4)
    off = 1 - ALPHA ** (1 / n)
    low = np.where(seen, (centre - half) / (1 + a), mean - off * mean)
    high = np.where(seen, (centre + half) / (1 + a), mean + off * (1 - mean))
    return low, high


def student_bounds(mean: Any, variance: Any, n: int) -> tuple[Any, Any]:
    """Return the usual one-sided bounds of mean differences with these variances of the mean."""
    half = stdtrit(n - 1, 1 - ALPHA) * np.sqrt(variance + 1 / n**2)
    off = 1 - ALPHA ** (1 / n)
    low = np.where(variance > 0, np.maximum(-1, mean - half), mean - off * (1 + mean))
    high = np.where(variance > 0, np.minimum(1, mean + half), mean + off * (1 - mean))
    return low, high


SCORES = Kind(0.0, 1.0, wilson_bounds)
DIFFERENCES = Kind(-1.0, 1.0, student_bounds)


@cache
def all_counts(n: int, points: int) -> Any:
    """Return every way to have `n` values on two or three points: a row of counts each."""
    if points == 2:
        last = np.arange(n + 1)
        return np.stack([n - last, last], axis=1)
    middle, last = np.meshgrid(np.arange(n + 1), np.arange(n + 1))
    rows = np.stack([n - middle - last, middle, last], axis=-1).reshape(-1, 3)
    return rows[rows[:, 0] >= 0]


def usual_decisions(
    kind: Kind, values: Sequence[float], n: int, threshold: float
) -> tuple[Any, Any]:
    """Return for every count whether the usual bounds PASS, and whether they FAIL."""
    counts = all_counts(n, len(values))
    mean = counts @ np.array(values) / n
    squares = (counts * (np.array(values) - mean[:, None]) ** 2).sum(axis=1)
    squares[counts.max(axis=1) == n] = 0  # Rounding errors are no variance.
    low, high = kind.usual_bounds(mean, squares / (n - 1) / n, n)
    return low >= threshold, high < threshold


def decisions(
    kind: Kind, values: Sequence[float], n: int, threshold: float, alpha: float = ALPHA
) -> tuple[Any, Any]:
    """Return for every count whether K passes it, and whether K fails it, each at `alpha`.

    K never rises when a value is raised. So for each number of largest values the passing counts
    are those with at least some number of middle values, and that border is followed.
    """

    def passes(row: tuple[int, ...]) -> bool:
        return mean_above(_counts(values, row), threshold, least=kind.least) <= alpha

    def fails(row: tuple[int, ...]) -> bool:
        return mean_below(_counts(values, row[::-1]), threshold, most=kind.most) <= alpha

    counts = all_counts(n, len(values))
    return _upward(counts, n, passes), _upward(counts[:, ::-1], n, fails)


def _counts(values: Sequence[float], row: Sequence[int]) -> Counts:
    return Counts.of(values, row)


def _upward(counts: Any, n: int, holds: Callable[[tuple[int, ...]], bool]) -> Any:
    """Return for which counts `holds` is true, given that moving a value up keeps it true."""
    if counts.shape[1] == 2:
        first = next((last for last in range(n + 1) if holds((n - last, last))), n + 1)
        return counts[:, 1] >= first
    border = np.full(n + 1, n + 1)
    middle = n
    for last in range(n + 1):
        middle = min(middle, n - last)
        while middle >= 0 and holds((n - middle - last, middle, last)):
            border[last] = middle
            middle -= 1
        middle = min(n, border[last])
    return counts[:, 1] >= border[counts[:, 2]]


def probability(chosen: Any, n: int, laws: Any) -> Any:
    """Return the probability of the chosen counts under each law, a row of probabilities."""
    counts = all_counts(n, laws.shape[1])[chosen]
    ways = gammaln(n + 1) - gammaln(counts + 1).sum(axis=1)
    total = np.zeros(len(laws))
    for at, law in enumerate(laws):
        total[at] = np.exp(ways + xlogy(counts, law).sum(axis=1)).sum()
    return total


def laws_of_mean(values: Sequence[float], mean: float, many: int = 41) -> Any:
    """Return laws on the points that have this mean: for three points, `many` between extremes."""
    low, high = values[0], values[-1]
    share = (mean - low) / (high - low)
    if len(values) == 2:
        return np.array([[1 - share, share]])
    between = (values[1] - low) / (high - low)
    middle = np.linspace(0, 1, many) * min(share / between, (1 - share) / (1 - between))
    last = share - middle * between
    return np.clip(np.stack([1 - middle - last, middle, last], axis=1), 0, 1)


class Case(NamedTuple):
    """A row of the table of errors: `values` and, for each, the sizes and thresholds tried."""

    title: str
    kind: Kind
    values: tuple[float, ...]
    tried: tuple[tuple[int, float], ...]

    def errors(self, decide: Callable[..., tuple[Any, Any]]) -> tuple[float, float]:
        """Return the worst rates of false PASS and false FAIL, with the mean at the threshold."""
        worst = [0.0, 0.0]
        for n, threshold in self.tried:
            laws = laws_of_mean(self.values, threshold)
            for side, chosen in enumerate(decide(self.kind, self.values, n, threshold)):
                worst[side] = max(worst[side], float(probability(chosen, n, laws).max()))
        return worst[0], worst[1]


def _grid(sizes: Sequence[int], thresholds: Sequence[float]) -> tuple[tuple[int, float], ...]:
    return tuple((n, threshold) for n in sizes for threshold in thresholds)


_SIZES, _THRESHOLDS = (10, 30, 100), (0.5, 0.8, 0.9, 0.95, 0.98)
_PAIRS, _MARGINS = (30, 120), (0, -0.02, -0.05)

CASES = (
    Case("differences 0 or -1, margin .05, n = 100", DIFFERENCES, (-1, 0), ((100, -0.05),)),
    Case("differences 0 or -1, margin .02, n = 400", DIFFERENCES, (-1, 0), ((400, -0.02),)),
    Case("0/1, threshold .99, n = 50", SCORES, (0, 1), ((50, 0.99),)),
    Case("0/1, threshold .9, n = 30", SCORES, (0, 1), ((30, 0.9),)),
    Case("0/1, threshold .95, n = 60", SCORES, (0, 1), ((60, 0.95),)),
    Case("worst law on 0, .5, 1", SCORES, (0, 0.5, 1), _grid(_SIZES, _THRESHOLDS)),
    Case("worst law on 0, .9, 1", SCORES, (0, 0.9, 1), _grid(_SIZES, _THRESHOLDS)),
    Case("worst law on -1, 0, .5", DIFFERENCES, (-1, 0, 0.5), _grid(_PAIRS, _MARGINS)),
    Case("worst law on -1, 0, 1", DIFFERENCES, (-1, 0, 1), _grid(_PAIRS, _MARGINS)),
)
"""The worst laws are sought at 10 to 100 samples and thresholds from .5 to .98, and at 30 and 120
pairs and margins of 0, .02, and .05."""


def six_rules(n: int, threshold: float) -> tuple[float, float]:
    """Return how often any of six rules FAILs, by the usual bounds and by Holm.

    Each mean is at its threshold. The six scores are 0/1 and independent. Holm rejects anything if
    the least p-value is at most a sixth of the level.
    """
    laws = laws_of_mean((0, 1), threshold)
    _, usual = usual_decisions(SCORES, (0, 1), n, threshold)
    _, held = decisions(SCORES, (0, 1), n, threshold, ALPHA / 6)
    once = [float(probability(chosen, n, laws)[0]) for chosen in (usual, held)]
    return 1 - (1 - once[0]) ** 6, 1 - (1 - once[1]) ** 6


def unscored(n: int, threshold: float, share: float) -> tuple[float, float]:
    """Return how often PASS is false where a `share` of the samples has no score and would be 0.

    The mean of all samples is the threshold. The usual way multiplies the coverage by the bound of
    the scored samples. K takes 0 for each sample without a score.
    """
    laws = np.array([[1 - threshold - share, share, threshold]])
    counts = all_counts(n, 3)
    passed = np.zeros(len(counts), dtype=bool)
    for without in range(n + 1):
        rows = counts[:, 1] == without
        found, scored = counts[rows, 2], n - without
        if scored < 2:
            continue
        mean = found / scored
        low, _ = wilson_bounds(mean, mean * (1 - mean) / (scored - 1), scored)
        passed[rows] = scored / n * low >= threshold
    as_zero, _ = decisions(SCORES, (0, 1), n, threshold)
    return (
        float(probability(passed, n, laws)[0]),
        float(probability(as_zero[counts[:, 2]], n, laws)[0]),
    )


class Law(NamedTuple):
    """Values with their probabilities."""

    title: str
    values: tuple[float, ...]
    shares: tuple[float, ...]


SCORE_LAWS = (
    Law("0/1", (0, 1), (0.05, 0.95)),
    Law("0, .5, 1 (2% lost)", (0, 0.5, 1), (0.02, 0.06, 0.92)),
    Law(".9 or 1", (0.9, 1), (0.5, 0.5)),
)
CHANGE_LAWS = (
    Law("2% lose .5, 2% gain .5", (-0.5, 0, 0.5), (0.02, 0.96, 0.02)),
    Law("3% lose all, 3% gain all", (-1, 0, 1), (0.03, 0.94, 0.03)),
)


def power(
    kind: Kind, law: Law, n: int, threshold: float, decide: Callable[..., tuple[Any, Any]]
) -> float:
    """Return how often `n` samples of this law PASS."""
    chosen, _ = decide(kind, law.values, n, threshold)
    return float(probability(chosen, n, np.array([law.shares]))[0])


def simulated_power(n: int, threshold: float, *, by_k: bool, runs: int = 4_000) -> float:
    """Return the power for means of three targets, each found in 95%, within .013 of the truth."""
    found = np.random.default_rng(n).binomial(3, 0.95, size=(runs, n))
    rows = np.stack([(found == number).sum(axis=1) for number in range(4)], axis=1)
    rows, times = np.unique(rows, axis=0, return_counts=True)
    if by_k:
        thirds = (0, 1 / 3, 2 / 3, 1)
        passed = [mean_above(_counts(thirds, row), threshold) <= ALPHA for row in rows.tolist()]
    else:
        mean = rows @ np.arange(4) / 3 / n
        squares = (rows * (np.arange(4) / 3 - mean[:, None]) ** 2).sum(axis=1)
        passed = wilson_bounds(mean, squares / (n - 1) / n, n)[0] >= threshold
    return float(times[np.array(passed)].sum() / runs)


def first(reached: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest n that `holds`, provided that larger ones hold too."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def samples_for(power_at: Callable[[int], float], most: int, tooth: int = 1) -> int:
    """Return the smallest n from which on the power is .8, for `tooth` sizes in a row.

    With few values the power rises like a saw, and falls between its teeth.
    """
    return first(lambda n: all(power_at(n + more) >= 0.8 for more in range(tooth)), 2, most)


def pairs_for(differences: Counts, margin: float) -> int:
    """Return how many pairs pass, all without a change except those in `differences`."""

    def passes(n: int) -> bool:
        changed = dict(zip(differences.values, differences.counts, strict=True))
        same = n - differences.size
        pairs = Counts.of([*changed, 0.0], [*changed.values(), same])
        return mean_above(pairs, -margin, least=-1.0) <= ALPHA

    return first(passes, int(differences.size), 10_000)


def usual_pairs_for(lost: int, margin: float) -> int:
    """Return how many pairs pass by the usual bounds, if `lost` pairs lost everything."""

    def passes(n: int) -> bool:
        mean = np.array([-lost / n])
        squares = np.array([lost - lost**2 / n])
        return bool(student_bounds(mean, squares / (n - 1) / n, n)[0][0] >= -margin)

    return first(passes, lost + 2, 10_000)


def print_errors() -> None:
    """Print the table of errors."""
    print("| case | usual: PASS / FAIL | K: PASS / FAIL |\n|---|---:|---:|")
    for case in CASES:
        pairs = [case.errors(decide) for decide in (usual_decisions, decisions)]
        shown = " | ".join(f"{100 * one:.1f} / {100 * two:.1f}" for one, two in pairs)
        print(f"| {case.title} | {shown} |")
    before, after = six_rules(100, 0.9)
    print(f"| six rules at the threshold .9, any FAIL, n = 100 | {before:.1%} | Holm {after:.1%} |")
    for n in (100, 400):
        before, after = unscored(n, 0.8, 0.1)
        print(f"| 10% unscored that would be 0, false PASS, n = {n} | {before:.1%} | {after:.1%} |")


def print_powers() -> None:
    """Print the tables of powers."""
    print("| scores, truth .95, threshold .9: samples for 80% PASS | usual | K |\n|---|---:|---:|")
    for law in SCORE_LAWS:
        tooth = 12 if len(law.values) == 2 else 1
        needed = [
            samples_for(lambda n, law=law, by=by: power(SCORES, law, n, 0.9, by), 400, tooth)
            for by in (usual_decisions, decisions)
        ]
        print(f"| {law.title} | {needed[0]:,} | {needed[1]:,} |")
    needed = [
        samples_for(lambda n, by_k=by_k: simulated_power(n, 0.9, by_k=by_k), 400)
        for by_k in (False, True)
    ]
    print(f"| three targets, each found in 95% (simulated) | {needed[0]:,} | {needed[1]:,} |")
    print("\n| pairs, margin .02 / .05 | usual | K |\n|---|---:|---:|")
    for title, lost in (("identical", 0), ("one lost", 1)):
        counts = Counts.of([-1.0] * lost)
        before = [usual_pairs_for(lost, margin) for margin in (0.02, 0.05)]
        after = [pairs_for(counts, margin) for margin in (0.02, 0.05)]
        print(f"| {title} | {before[0]:,} / {before[1]:,} | {after[0]:,} / {after[1]:,} |")
    for law in CHANGE_LAWS:
        row = [
            [
                samples_for(
                    lambda n, law=law, m=m, by=by: power(DIFFERENCES, law, n, -m, by), 1_400
                )
                for m in (0.02, 0.05)
            ]
            for by in (usual_decisions, decisions)
        ]
        shown = " | ".join(f"{small:,} / {large:,}" for small, large in row)
        print(f"| 80% power: {law.title} | {shown} |")


if __name__ == "__main__":
    print_errors()
    print()
    print_powers()
