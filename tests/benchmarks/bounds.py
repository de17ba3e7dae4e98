"""Time a decision and a bound by Gaffke's test, and counting the values that they need.

    python tests/benchmarks/bounds.py [--samples 100000] [--rounds 5]

needs nothing beside fullrecall. A decision is one p-value; a bound is the root of some; "needed" is
the number of samples that would decide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from fullrecall.report.value_counts import ValueCounts

from fullrecall.results.bounds import groups_needed, interval, lower_bound, mean_above
from fullrecall.results.sign_flips import sign_flips


def score_sets(samples: int) -> dict[str, list[float]]:
    """Return scores of three kinds: few distinct values, some thousands, and as many as samples."""
    rng = np.random.default_rng(0)
    smooth = rng.beta(9, 1, samples)
    return {
        "0, .5, 1": rng.choice([0.0, 0.5, 1.0], samples, p=[0.02, 0.06, 0.92]).tolist(),
        "multiples of 2^-11": (np.floor(smooth * 2**11) / 2**11).tolist(),
        "all distinct, spread evenly": rng.random(samples).tolist(),
    }


def counted(scores: list[float]) -> ValueCounts:
    """Return the counts of the scores."""
    counts = ValueCounts()
    for score in scores:
        counts.add(score)
    return counts


def milliseconds(work: Callable[[], Any], rounds: int) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(rounds):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return 1_000 * median(times)


def row(title: str, scores: list[float], rounds: int) -> str:
    """Return one row of the table."""
    lower = counted(scores).lower
    near = lower.mean - 0.002
    timed = [
        milliseconds(work, rounds)
        for work in (
            lambda: counted(scores),
            lambda: mean_above(lower, near),
            lambda: lower_bound(lower, 0.05),
            lambda: interval(lower),
            lambda: groups_needed(lower, near, 0.05),
        )
    ]
    return f"| {title} | {len(lower.values):,} | " + " | ".join(f"{t:,.1f}" for t in timed) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| scores | values kept | counting, ms | decision | bound | interval | needed |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for title, scores in score_sets(options.samples).items():
        print(row(title, scores, options.rounds))
    for groups in (12, 200, options.samples):
        changes = np.random.default_rng(1).choice([-1, 0, 0.5], (groups, 5)).tolist()
        spent = milliseconds(lambda changes=changes: sign_flips(changes), options.rounds)
        print(f"\nSign flips of five figures, {groups:,} groups: {spent:,.0f} ms.")


if __name__ == "__main__":
    main()
