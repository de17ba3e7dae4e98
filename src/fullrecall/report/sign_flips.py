"""The sign-flip test of a mean difference and the interval that inverts it, from one set of flips.

If the groups' differences are symmetric around θ, flipping the sign of any of them, less θ, changes
nothing. Of S_g, the sum of a group's differences, and n_g, their number, flipping the groups of a
subset F puts the sum at least as far up as it was where Σ_F (S_g - θ n_g) <= 0, that is where
θ >= Σ_F S_g / Σ_F n_g. So the means of subsets are all that the test needs at every θ, and the
limits of the interval are order statistics of them. With M - 1 subsets, and b the smaller of
#{Σ_F S_g <= 0} and #{Σ_F S_g >= 0},

    p = min(1, 2 (b + 1) / M)
    interval from the r-th smallest to the r-th largest mean of subsets, r = floor(alpha M / 2)

and p <= alpha exactly where the interval leaves out 0. The p-value is that of "symmetric around 0":
valid under symmetry, and for many groups of like size; not where rare large losses balance many
small gains. There only `bounds` holds.

Sources: Fisher, "The Design of Experiments", 1935, §21; Hartigan, "Using subsample values as
typical values", JASA 64, 1969; Phipson and Smyth, "Permutation p-values should never be zero",
SAGMB 9(1), 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullrecall.errors import ParameterError
from fullrecall.results.bounds import CONFIDENCE, Interval, alpha_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

RESAMPLES = 9_999
"""How many subsets are drawn, by default, where there are too many to take them all."""

_ROUNDING = 1e-12
"""Means of differences below this are 0 but for rounding."""

_CELLS = 2_000_000
"""Members of subsets that are drawn at once, which bounds the memory of a test."""


@dataclass(frozen=True)
class SignFlips:
    """What flipping signs says of one mean difference.

    `p` is the two-sided p-value of no difference; `interval` leaves out 0 exactly where `p` is at
    most `alpha_of(interval.confidence)`, which `differs` says.
    """

    p: float
    interval: Interval

    @property
    def differs(self) -> bool:
        """Whether the mean differs from 0 at the interval's confidence."""
        return self.p <= alpha_of(self.interval.confidence)


def sign_flips(
    sums: Sequence[Sequence[float]],
    sizes: Sequence[float] | None = None,
    *,
    counts: Sequence[float] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[SignFlips]:
    """Return for each figure the p-value of no difference, and the interval of the difference.

    `sums` has a row for each independent group and a column for each figure: the sum of the
    group's differences, each in [-1, 1]. `sizes` says how many each group has (default: 1 each,
    where `sums` are means of groups or single differences), `counts` how many groups a row stands
    for (default: 1). Every subset is taken where there are no more than `resamples`, otherwise
    `resamples` are drawn by `seed`: of equal groups how many are in a subset, so that it does not
    take longer for millions of groups, and the order of the rows does not matter.

    Intervals stay in [-1, 1]. They are all of it where so few groups can show nothing (below 6 at
    95%), and where nothing changed at all. Raises `ParameterError` for arguments out of range.
    """
    import numpy as np

    rows = np.asarray(sums, dtype=np.float64)
    if not rows.size:
        return []
    columns = rows[:, None] if rows.ndim == 1 else rows
    weights = np.ones(len(columns)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    often = np.ones(len(columns), np.int64) if counts is None else np.asarray(counts, np.int64)
    _check(columns, weights, confidence, resamples)
    return [
        _of_figure(
            _subset_means(np.column_stack([figure, weights]), often, resamples, seed), confidence
        )
        for figure in columns.T
    ]


def _check(sums: Floats, sizes: Floats, confidence: float, resamples: int) -> None:
    import numpy as np

    if len(sums) != len(sizes):
        raise ParameterError(f"sizes must have one for each group, {len(sums)}, got {len(sizes)}")
    if not (sizes > 0).all():
        raise ParameterError("sizes must be above 0: leave out groups without differences")
    if not np.isfinite(sums).all():
        raise ParameterError("sums must be finite numbers: leave out what has no score")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be between 0 and 1, got {confidence!r}")
    if resamples < 1:
        raise ParameterError(f"resamples must be at least 1, got {resamples!r}")


def _of_figure(means: Floats, confidence: float) -> SignFlips:
    """Return what the means of all subsets say of one figure."""
    import numpy as np

    patterns = len(means) + 1  # the one that was seen flips nothing
    fewest = int(min((means <= 0).sum(), (means >= 0).sum()))
    p = min(1.0, 2 * (fewest + 1) / patterns)
    alpha = alpha_of(confidence)
    rank = int(alpha * patterns / 2) + 1
    while 2 * rank / patterns > alpha:  # as p is compared, in the same rounding
        rank -= 1
    if not rank or not means.any():
        return SignFlips(p, Interval(-1.0, 1.0, confidence))
    ordered = np.clip(np.partition(means, (rank - 1, len(means) - rank)), -1, 1)
    low, high = float(ordered[rank - 1]), float(ordered[len(means) - rank])
    return SignFlips(p, Interval(low, high, confidence))


def _subset_means(weighed: Floats, counts: Counts, resamples: int, seed: int) -> Floats:
    """Return Σ_F sums / Σ_F sizes of nonempty subsets F of the groups: `weighed` has both."""
    import numpy as np

    groups = int(counts.sum())
    if groups < resamples.bit_length() + 1 and 2**groups - 1 <= resamples:
        inside = np.arange(1, 2**groups)[:, None] >> np.arange(groups) & 1
        totals = inside.astype(np.float64) @ np.repeat(weighed, counts, axis=0)
    else:
        totals = _drawn_totals(weighed, counts, resamples, np.random.default_rng(seed))
    means: Floats = totals[:, 0] / totals[:, 1]
    means[np.abs(means) < _ROUNDING] = 0.0
    return means


def _drawn_totals(
    weighed: Floats, counts: Counts, resamples: int, rng: np.random.Generator
) -> Floats:
    """Return the sums of the groups over random subsets, each nonempty one as likely."""
    import numpy as np

    rows, where = np.unique(weighed, axis=0, return_inverse=True)
    often = np.bincount(where.ravel(), weights=counts).astype(np.int64)
    done: list[Floats] = []
    missing = resamples
    while missing:
        totals, members = np.zeros((missing, 2)), np.zeros(missing, np.int64)
        for row, count in zip(rows[often > 1], often[often > 1], strict=True):
            drawn = rng.binomial(count, 0.5, missing)
            totals += drawn[:, None] * row
            members += drawn
        _add_single(totals, members, rows[often == 1], rng)
        done.append(totals[members > 0])
        missing -= len(done[-1])
    return np.concatenate(done)


def _add_single(totals: Floats, members: Counts, weighed: Floats, rng: np.random.Generator) -> None:
    """Add random subsets of groups that no other equals: a bit for each says whether it is in."""
    import numpy as np

    groups, done = len(weighed), 0
    while groups and done < len(totals):
        count = min(len(totals) - done, max(1, _CELLS // groups))
        bits = np.frombuffer(rng.bytes(count * -(-groups // 8)), dtype=np.uint8)
        drawn = np.unpackbits(bits.reshape(count, -1), axis=1, count=groups)
        totals[done : done + count] += drawn.astype(np.float64) @ weighed
        members[done : done + count] += drawn.sum(axis=1, dtype=np.int64)
        done += count
