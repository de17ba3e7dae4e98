"""The sign-flip test of the hypothesis that before and after are exchangeable.

If the same system answered both times, each group's difference is as likely to have the other sign.
The p-value is the probability that the sum of the differences with random signs is at least as far
from 0 as the observed sum:

    p = P( |Σ ±d_i| >= |Σ d_i| )

It is exact for the null hypothesis "before and after are exchangeable". It does not test the mean:
if rare large losses balance many small gains, the mean does not change but p is small, because the
systems differ. `fullrecall.stats.change` decides on the mean.

Sources: Fisher, "The Design of Experiments", 1935, §21; Phipson and Smyth, "Permutation p-values
should never be zero", SAGMB 9(1), 2010, for the p-value where patterns are drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DIGITS = 9
"""Differences, and sums of them, are equal if they agree to this many decimals."""

_MOST_SUMS = 2_000_000
"""As many sums are enumerated; where there are more, patterns of signs are drawn."""

_MOST_SIZES = 1_024
"""More distinct sizes of differences are rounded to multiples of 1 / 1,024, signs apart."""

_NEGLIGIBLE = 1e-18
"""Less probable numbers of equal differences that keep their sign are left out."""

_DRAWS = 9_999
"""Patterns of signs that are drawn, by a fixed seed, where they are too many to enumerate."""

_CELLS = 2_000_000
"""Signs that are drawn at once, which bounds the memory of a test."""


def sign_flip_p(differences: Floats, counts: Floats | None = None) -> float:
    """Return the two-sided p-value of "before and after are exchangeable", in (0, 1].

    `differences` has one value for each independent group, `counts` how many groups have it
    (default: 1 each). All patterns of signs count if their sums can be enumerated, as for any
    number of groups whose differences are multiples of a common fraction. Otherwise patterns are
    drawn by a fixed seed. The order of the differences does not matter.
    """
    import numpy as np

    values = np.asarray(differences, dtype=np.float64)
    frequencies = np.ones(len(values)) if counts is None else np.asarray(counts, dtype=np.float64)
    if len(np.unique(np.round(np.abs(values), _DIGITS))) > _MOST_SIZES:
        values = np.round(values * _MOST_SIZES) / _MOST_SIZES
    _, first, position = np.unique(
        np.round(np.abs(values), _DIGITS), return_index=True, return_inverse=True
    )
    sizes = np.abs(values[first])
    groups = np.bincount(position.ravel(), weights=frequencies, minlength=len(sizes)).astype(
        np.int64
    )
    least = abs(float(values @ frequencies)) - 10.0**-_DIGITS * max(1, groups.sum())
    if least <= 0:
        return 1.0
    sizes, groups = sizes[sizes > 0], groups[sizes > 0]
    exact = _distribution(sizes, groups)
    if exact is not None:
        sums, weights = exact
        return min(1.0, float(weights[np.abs(sums) >= least].sum()))
    extreme = int((np.abs(_drawn_sums(sizes, groups)) >= least).sum())
    return (extreme + 1) / (_DRAWS + 1)


def _distribution(sizes: Floats, frequencies: NDArray[np.int64]) -> tuple[Floats, Floats] | None:
    """Return every sum of signed differences with its probability; None if they are too many."""
    import numpy as np

    sums: Floats = np.zeros(1)
    weights: Floats = np.ones(1)
    for size, count in zip(sizes.tolist(), frequencies.tolist(), strict=True):
        positive, odds = _half_binomial(count)
        if len(sums) * len(positive) > _MOST_SUMS:
            return None
        every: Floats = np.round(np.add.outer(sums, size * (2 * positive - count)).ravel(), _DIGITS)
        sums, at = np.unique(every, return_inverse=True)
        products: Floats = np.outer(weights, odds).ravel()
        weights = np.bincount(at.ravel(), weights=products).astype(np.float64)
    return sums, weights


def _half_binomial(count: int) -> tuple[Floats, Floats]:
    """Return the possible numbers of positive signs among `count`, and their probabilities."""
    import numpy as np

    positive = np.arange(count + 1, dtype=np.float64)
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    shares = np.exp(logarithms[-1] - logarithms - logarithms[::-1] - count * np.log(2))
    likely = shares >= _NEGLIGIBLE
    return positive[likely], shares[likely]


def _drawn_sums(sizes: Floats, frequencies: NDArray[np.int64]) -> Floats:
    """Return the sums of differences whose signs are drawn."""
    import numpy as np

    generator = np.random.default_rng(0)
    single, many = sizes[frequencies == 1], frequencies > 1
    sums: list[Floats] = []
    block = max(1, _CELLS // len(sizes))
    for first in range(0, _DRAWS, block):
        draws = min(block, _DRAWS - first)
        positive = generator.binomial(frequencies[many], 0.5, (draws, int(many.sum())))
        kept = generator.integers(0, 2, (draws, len(single)), dtype=np.int8)
        sums.append((2 * positive - frequencies[many]) @ sizes[many] + (2 * kept - 1) @ single)
    return np.concatenate(sums)
