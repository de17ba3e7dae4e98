"""The values of one measure over samples, added up: exact, and so the same in any order.

A value is a float in [-1, 1]. It enters as a whole number of 2⁻⁶⁰, below which it is cut off, and
whole numbers add up to the same in any order. Samples that are not independent share a group; a
group counts once, by the mean of its samples, since only groups are independent of each other
(`fullrecall.report.bounds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fullrecall.report.bounds import Counts

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

FINEST = 60
"""Values are multiples of 2⁻⁶⁰."""

MOST_VALUES = 4_096
"""More distinct values than these are not kept apart: they are rounded, and bracketed."""

_UNIT = 2**FINEST
_HALF = 30
"""Sums of groups are kept as two halves of so many bits, which overflow at 2³³ samples."""


class Bracket(NamedTuple):
    """Values from below and from above; they differ where there are too many to keep apart."""

    low: Counts
    high: Counts


@dataclass(frozen=True)
class Totals:
    """The values of a measure: distinct ones with their counts, and the sums of groups.

    A sample that should have a value and has none is a gap: it is counted, and takes part in
    `counts` and `mean_with` where a value is given for it.

    - `units`, `often`: the distinct values of the samples that stand for themselves, in units of
      2⁻⁶⁰, ascending, and how often each occurs. `gaps` counts those without a value.
    - `sizes`, `sums`, `missing`: of each group how many values, their sum in units, and the gaps.
    """

    units: Integers
    often: Integers
    gaps: int
    sizes: Integers
    sums: Sequence[int]
    missing: Integers

    @classmethod
    def of(
        cls, values: Floats, *, due: NDArray[np.bool_], groups: Integers | None = None
    ) -> Totals:
        """Return the totals of values, NaN where a sample has none.

        `due` says which samples should have a value; `groups` has the number of each one's group,
        -1 for one that stands for itself, or is None where all do.
        """
        known = ~np.isnan(values)
        units = np.zeros(len(values), np.int64)
        units[known] = (values[known] * float(_UNIT)).astype(np.int64)
        gaps = due & ~known
        codes = np.full(len(values), -1) if groups is None else groups
        alone = codes < 0
        distinct, often = np.unique(units[known & alone], return_counts=True)
        count = int(codes.max(initial=-1)) + 1
        sizes = np.bincount(codes[known & ~alone], minlength=count)
        high = np.zeros(count, np.int64)
        low = np.zeros(count, np.int64)
        grouped = known & ~alone
        np.add.at(high, codes[grouped], units[grouped] >> _HALF)
        np.add.at(low, codes[grouped], units[grouped] & ((1 << _HALF) - 1))
        sums = [(a << _HALF) + b for a, b in zip(high.tolist(), low.tolist(), strict=True)]
        missing = np.bincount(codes[gaps & ~alone], minlength=count)
        return cls(distinct, often, int((gaps & alone).sum()), sizes, sums, missing)

    @property
    def samples(self) -> int:
        """How many samples have a value."""
        return int(self.often.sum() + self.sizes.sum())

    @property
    def due(self) -> int:
        """How many samples should have a value: those that have one, and the gaps."""
        return self.samples + self.gaps + int(self.missing.sum())

    @property
    def independent(self) -> int:
        """How many groups have a value, a sample without a group being one."""
        return int(self.often.sum() + (self.sizes > 0).sum())

    @cached_property
    def mean(self) -> float | None:
        """The mean over groups; None without a value."""
        return self.mean_with(None)

    def mean_with(self, gap: float | None) -> float | None:
        """Return the mean over groups with every gap counting as `gap`, left out if it is None."""
        filler, gaps = (0, 0) if gap is None else (int(gap * _UNIT), self.gaps)
        groups = int(self.often.sum()) + gaps
        pairs = zip(self.units.tolist(), self.often.tolist(), strict=True)
        total = sum(units * often for units, often in pairs) + filler * gaps
        for size, their_sum, count in self._groups(gap):
            groups += 1
            total += (their_sum + filler * (size - count)) // size
        return total / (groups * _UNIT) if groups else None

    def counts(self, gap: float | None = None, *, least: float = 0.0, most: float = 1.0) -> Bracket:
        """Return the values to decide by, one for each group, every gap counting as `gap`.

        Gaps are left out if `gap` is None. Values are in [`least`, `most`].
        """
        units, often = [self.units], [self.often]
        if gap is not None and self.gaps:
            units.append(np.array([int(np.floor(gap * _UNIT))]))
            often.append(np.array([self.gaps]))
        means = [
            min(most, max(least, (their_sum / _UNIT + (gap or 0.0) * (size - count)) / size))
            for size, their_sum, count in self._groups(gap)
        ]
        units.append(np.floor(np.array(means) * float(_UNIT)).astype(np.int64))
        often.append(np.ones(len(means), np.int64))
        return _bracket(np.concatenate(units), np.concatenate(often))

    def _groups(self, gap: float | None) -> list[tuple[int, int, int]]:
        """Return of each group that counts: its size, its sum, and how many values it has."""
        sizes = self.sizes if gap is None else self.sizes + self.missing
        rows = zip(sizes.tolist(), self.sums, self.sizes.tolist(), strict=True)
        return [row for row in rows if row[0]]


def _bracket(units: Integers, often: Integers) -> Bracket:
    """Return values and their counts, at most `MOST_VALUES`, rounded down and up where they are more.

    They are rounded to multiples of 2⁻ˡ with the largest l that leaves so few, which depends on the
    set of values alone.
    """
    bits = FINEST
    distinct = np.unique(units)
    while len(distinct) > MOST_VALUES:
        bits -= 1
        distinct = np.unique(distinct >> 1)
    keys, which = np.unique(units >> (FINEST - bits), return_inverse=True)
    counts = np.bincount(which, often, len(keys)).astype(np.int64)
    if bits == FINEST:
        low = high = _counts(keys, counts, bits)
    else:
        low, high = _counts(keys, counts, bits), _counts(keys + 1, counts, bits)
    return Bracket(low, high)


def _counts(keys: Integers, counts: Integers, bits: int) -> Counts:
    end = 2**bits
    values: dict[float, int] = {}
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        value = min(key, end) / end
        values[value] = values.get(value, 0) + count
    return Counts.of(values)
