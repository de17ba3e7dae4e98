"""Measure how often `compare` and `choose` err without a difference, and how often they see one.

    python bench/verdicts.py

needs nothing beside fullrecall and SciPy, and takes about a minute. All figures are simulated, by
seed, with 2,000 draws each: a rate near 5% has a standard error of at most .5%.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit
from sign_flips import sign_flip_p

from fullrecall.run.race import LOOKS
from fullrecall.stats.accounts import Accounts
from fullrecall.stats.bounds import Counts, mean_above, mean_below
from fullrecall.stats.change import FEWEST_LIKELY

ALPHA = 0.05

Draw = Callable[[Any, int, int], Any]
"""Of a generator, draws, and n: differences, one row for each draw."""


def points(values: Sequence[float], shares: Sequence[float]) -> Draw:
    """Return the law on these points."""
    return lambda rng, draws, n: rng.choice(np.array(values), p=shares, size=(draws, n))


def groups(rng: Any, draws: int, n: int) -> Any:
    """Return means of groups of 1 to 6, of which the large ones lose more; their mean is 0."""
    sizes = rng.integers(1, 7, size=(draws, n))
    lost = rng.binomial(sizes, sizes / 60)
    expected = 3.5 / 60
    return 0.9 * (expected - lost / sizes)


NULLS: Mapping[str, Draw] = {
    "skewed: +.1 for 90%, -.9 for 10%": points((0.1, -0.9), (0.9, 0.1)),
    "two-point: +.5 for 2/3, -1 for 1/3": points((0.5, -1), (2 / 3, 1 / 3)),
    "rare losses: +.02 for 98%, -.98 for 2%": points((0.02, -0.98), (0.98, 0.02)),
    "groups of 1 to 6, large ones lose more": groups,
    "even: 10% gain .5, 10% lose .5": points((0.5, -0.5, 0), (0.1, 0.1, 0.8)),
    "rare gains: -.05 for 95%, +.95 for 5%": points((-0.05, 0.95), (0.95, 0.05)),
    "thirds: 30% gain 1/3, 10% lose 1": points((1 / 3, -1, 0), (0.3, 0.1, 0.6)),
    "quarters: 40% gain .25, 8% lose .5, 6% lose 1": points(
        (0.25, -0.5, -1, 0), (0.4, 0.08, 0.06, 0.46)
    ),
}
"""Laws of differences whose mean is 0."""

GAINS: Mapping[str, Draw] = {
    "10% gain .5, 2% lose .5": points((0.5, -0.5, 0), (0.1, 0.02, 0.88)),
    "8% gain 1, 2% lose 1": points((1, -1, 0), (0.08, 0.02, 0.9)),
    "20% gain .5, 10% lose .5": points((0.5, -0.5, 0), (0.2, 0.1, 0.7)),
    "30% gain .1, 10% lose .1": points((0.1, -0.1, 0), (0.3, 0.1, 0.6)),
}
"""Laws of differences whose mean is above 0."""


class Rejected(NamedTuple):
    """The share of draws in which each rule says that the mean changed.

    `likely` is that of `Difference.likely`: the t-test, from 30 questions on, if K cannot tell.
    """

    k: float
    likely: float
    flips: float


def rejected(differences: Any) -> Rejected:
    """Return how often each rule rejects "the mean did not change", at 5%, two-sided."""
    answers: dict[bytes, tuple[bool, bool]] = {}
    said = []
    for row in np.round(np.sort(differences, axis=1), 3):
        key = row.tobytes()
        if key not in answers:
            counts = Counts.of(row.tolist())
            sides = mean_above(counts, 0.0, least=-1.0), mean_below(counts, 0.0)
            answers[key] = min(sides) <= ALPHA / 2, sign_flip_p(row) <= ALPHA
        said.append(answers[key])
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    n = differences.shape[1]
    t = np.abs(mean) > stdtrit(n - 1, 1 - ALPHA / 2) * spread / np.sqrt(n)
    sure, flips = np.array(said).T
    likely = t & ~sure & (n >= FEWEST_LIKELY)
    return Rejected(float(sure.mean()), float(likely.mean()), float(flips.mean()))


def values_of(law: str, rng: Any, shape: tuple[int, ...], means: Any) -> Any:
    """Return values in [0, 1] of retrievers in the last axis, with these means."""
    if law == "rare losses":
        return (rng.random(shape) < means).astype(float)
    if law == "skewed":  # Mostly all targets, else a small part.
        share = 1 - (1 - means) * 2
        return np.where(rng.random(shape) < share, 1.0, rng.random(shape))
    if law == "two-point":
        return (rng.random(shape) < means).astype(float)
    if law == "groups":
        sizes = rng.integers(1, 7, size=(*shape[:-1], 1))
        shift = (3.5 - sizes) * 0.03
        return rng.binomial(sizes, np.clip(means + shift, 0, 1), size=shape) / sizes
    # Recall of two targets, with the same hard questions for all retrievers: correlation .75.
    common = rng.normal(size=(*shape[:-1], 1, 2))
    own = rng.normal(size=(*shape, 2))
    found = ndtr(np.sqrt(0.75) * common + np.sqrt(0.25) * own) < np.asarray(means)[:, None]
    return found.mean(axis=-1)


class Raced(NamedTuple):
    """The results of many races: how often the best retriever, the first one, or another was named.

    `used` is the share of all questions times retrievers that were asked.
    """

    best: float
    worse: float
    used: float


def raced(law: str, means: Sequence[float], n: int, calls: int, draws: int = 2_000) -> Raced:
    """Return the outcomes of races over so many calls of n questions each."""
    rng = np.random.default_rng([n, calls, len(means), sum(map(ord, law))])
    accounts = Accounts.open(len(means), races=(draws,))
    step, asked = ceil(n / LOOKS), 0.0
    for _ in range(calls):
        accounts.begin()
        for position in range(1, n + 1):
            values = values_of(law, rng, (draws, len(means)), np.asarray(means))
            going = accounts.surviving.sum(axis=1) > 1
            asked += float((accounts.surviving.sum(axis=1) * going).sum() + (~going).sum())
            accounts.learn(values, values, n - position + 1)
            if position % step == 0 or position == n:
                # The only retriever left is not dropped, since its race is over.
                before = accounts.surviving.copy()
                accounts.drop()
                accounts.surviving[~going] = before[~going]
    named = accounts.surviving.sum(axis=1) == 1
    best = named & accounts.surviving[:, 0]
    return Raced(
        float(best.mean()),
        float((named & ~best).mean()),
        asked / (draws * len(means) * n * calls),
    )


RACES: Mapping[str, float] = {"two-point": 0.7, "skewed": 0.9, "rare losses": 0.98, "groups": 0.8}
"""Laws of values, with the mean that four retrievers share: one of them is declared the best."""

LEADS: Mapping[str, tuple[Sequence[float], int]] = {
    "2 retrievers, .70 .66, 200 questions": ((0.70, 0.66), 200),
    "4 retrievers, .70 .66 .62 .60, 200 questions": ((0.70, 0.66, 0.62, 0.60), 200),
    "4 retrievers, .80 .65 .60 .55, 60 questions": ((0.80, 0.65, 0.60, 0.55), 60),
    "8 retrievers, .70 .66 .62 .60 …, 1,000 questions": (
        (0.70, 0.66, 0.62, 0.60, 0.58, 0.56, 0.54, 0.52),
        1_000,
    ),
}


def print_compare(sizes: Sequence[int] = (10, 30, 100, 300), draws: int = 1_000) -> None:
    """Print how often each rule says that a mean changed."""
    heads = "| n | shown | likely | sign flips |"
    print(f"| no change of the mean {heads}\n|---|---:|---:|---:|---:|")
    for title, law in NULLS.items():
        for n in sizes:
            found = rejected(law(np.random.default_rng(n), draws, n))
            print(f"| {title} | {n} | {found.k:.1%} | {found.likely:.1%} | {found.flips:.1%} |")
    print(f"\n| a change {heads}\n|---|---:|---:|---:|---:|")
    for title, law in GAINS.items():
        for n in [size for size in sizes if size >= 100] or sizes:
            found = rejected(law(np.random.default_rng(n), draws, n))
            print(f"| {title} | {n} | {found.k:.0%} | {found.likely:.0%} | {found.flips:.0%} |")


def print_choose(sizes: Sequence[int] = (10, 30, 100, 300), draws: int = 2_000) -> None:
    """Print how often `choose` names a retriever that is not the best, and how often the best."""
    heads = "2, one call | 2, three calls | 4, one call | 4, three calls"
    print(f"| equally good, one declared the best | n | {heads} |\n|---|---:|---:|---:|---:|---:|")
    for law, mean in RACES.items():
        for n in sizes:
            worse = [
                f"{raced(law, [mean] * count, n, calls, draws).worse:.1%}"
                for count in (2, 4)
                for calls in (1, 3)
            ]
            print(f"| {law} | {n} | {' | '.join(worse)} |")
    print("\n| one is best | named | a worse one named | questions asked |\n|---|---:|---:|---:|")
    for title, (means, n) in LEADS.items():
        found = raced("typical", means, n, 1, draws // 4)
        print(f"| {title} | {found.best:.0%} | {found.worse:.1%} | {found.used:.0%} |")


LEVELS: Mapping[str, Callable[[Any, tuple[int, ...], float], Any]] = {
    "0 or 1": lambda rng, shape, mean: (rng.random(shape) < mean).astype(float),
    "0 or .95": lambda rng, shape, mean: np.where(rng.random(shape) < mean / 0.95, 0.95, 0.0),
    "beta(.1 m, .1 - .1 m)": lambda rng, shape, mean: rng.beta(0.1 * mean, 0.1 - 0.1 * mean, shape),
    "halves": lambda rng, shape, mean: (rng.random((*shape, 2)) < mean).mean(-1),
    "beta(8 m, 8 - 8 m)": lambda rng, shape, mean: rng.beta(8 * mean, 8 - 8 * mean, shape),
    "m, or .07 off": lambda rng, shape, mean: mean + 0.07 * rng.integers(-1, 2, shape),
    "thirds": lambda rng, shape, mean: (rng.random((*shape, 3)) < mean).mean(-1),
    "rare losses": lambda rng, shape, mean: np.where(rng.random(shape) < 0.03, 0.0, mean / 0.97),
}
"""Laws of values of a retriever with a mean m."""


def named_within(law: str, count: int, n: int, within: float, draws: int = 1_000) -> Any:
    """Return how often a retriever beyond the tolerance is named at any of 40 looks, and the best.

    The best has a mean of .93; each other one is worse by a hair more than the tolerance.
    """
    rng = np.random.default_rng([n, count, sum(map(ord, law))])
    accounts = Accounts.open(count, within=within, races=(draws,))
    means = [0.93, *[0.93 - within - 1e-6] * (count - 1)]
    wrong, best = np.zeros(draws, np.bool_), np.zeros(draws, np.bool_)
    for _ in range(2):  # Two calls of 20 looks.
        accounts.begin()
        for left in range(n // 2, 0, -1):
            values = np.stack([LEVELS[law](rng, (draws,), mean) for mean in means], axis=-1)
            accounts.learn(values, values, left)
            if left % (n // 40) == 0 or left == 1:
                accounts.drop()
                wrong |= accounts.named[:, 1:].any(axis=1)
                best |= accounts.named[:, 0]
    return wrong.mean(), best.mean()


def print_within(n: int = 200, draws: int = 1_000) -> None:
    """Print how often `choose(within=…)` names a retriever beyond the tolerance, and the best."""
    heads = [f"{count}, within {within:g}" for count in (2, 4) for within in (0.02, 0.05)]
    print(f"| values, {n} questions | {' | '.join(heads)} |\n|---|---:|---:|---:|---:|")
    for law in LEVELS:
        cells = [
            "{:.1%} / {:.0%}".format(*named_within(law, count, n, within, draws))
            for count in (2, 4)
            for within in (0.02, 0.05)
        ]
        print(f"| {law} | {' | '.join(cells)} |")


if __name__ == "__main__":
    print_compare()
    print()
    print_choose()
    print()
    print_within()
