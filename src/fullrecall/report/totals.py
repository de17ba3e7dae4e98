"""Sums of figures over samples: exact, and so the same however the samples were parted.

A figure is a float in [-1, 1]. It enters as a whole number of 2⁻⁶⁰, below which it is cut off,
and whole numbers add up to the same in any order: totals of parts, merged, are those of the whole
to the last bit. What a mean's interval needs is summed too: squares where a sample stands for
itself, and one sum for each group of samples that share `Sample.group`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from fullrecall.report.statistics import Spread

_UNIT = 2**60
_AS_FLOAT = float(_UNIT)


def exact(value: float) -> int:
    """Return a figure as a whole number of units; those of [2⁻⁸, 1] lose nothing."""
    return int(value * _AS_FLOAT)


def ratio(total: int, count: int) -> float:
    """Return the mean of `count` figures whose `exact` values add up to `total`."""
    return total / (count * _UNIT)


class Totals:
    """Sums of several figures at once over samples; its size grows with the groups alone."""

    __slots__ = ("count", "groups", "squares", "sums")

    def __init__(self, figures: int) -> None:
        self.count = 0
        self.sums = [0] * figures
        self.squares = [0] * figures
        self.groups: dict[str, list[int]] = {}
        """For each group the number of its samples, then their sum for each figure. The three
        attributes above are of the samples without a group."""

    def add(self, values: Sequence[float], group: str | None = None) -> None:
        """Add one sample: one value for each figure."""
        if group is not None:
            sums = self.groups.get(group)
            if sums is None:
                sums = self.groups[group] = [0] * (len(self.sums) + 1)
            sums[0] += 1
            for position, value in enumerate(values, start=1):
                sums[position] += int(value * _AS_FLOAT)
            return
        self.count += 1
        sums, squares = self.sums, self.squares
        for position, value in enumerate(values):
            scaled = int(value * _AS_FLOAT)
            sums[position] += scaled
            squares[position] += scaled * scaled

    def merge(self, other: Totals) -> None:
        """Add what another part has summed of the same figures."""
        self.count += other.count
        for position, (more, square) in enumerate(zip(other.sums, other.squares, strict=True)):
            self.sums[position] += more
            self.squares[position] += square
        for group, theirs in other.groups.items():
            ours = self.groups.get(group, [0] * len(theirs))
            self.groups[group] = [a + b for a, b in zip(ours, theirs, strict=True)]

    @property
    def samples(self) -> int:
        """How many samples were added, with and without a group."""
        return self.count + sum(group[0] for group in self.groups.values())

    def mean(self, figure: int) -> float | None:
        """Return the mean of the figure at this position; None without samples."""
        count = self.samples
        return ratio(self._sum(figure), count) if count else None

    def spread(self, figure: int) -> Spread | None:
        """Return the mean with its variance, None without samples.

        The variance is the cluster-robust CR2 (Bell and McCaffrey, "Bias reduction in standard
        errors for linear regression with multi-stage samples", Survey Methodology 28(2), 2002)
        with Satterthwaite's degrees of freedom, for a mean. With every sample for itself, both
        are the usual s²/n and n - 1. Of one group alone the variance is not known: infinite.
        """
        n = self.samples
        if not n:
            return None
        total = self._sum(figure)
        sizes = {1: self.count} if self.count else {}
        # Σ (n·x - Σx)² over the groups of each size; exact, so that equal values give 0.
        squared = {
            1: n * n * self.squares[figure]
            - 2 * n * total * self.sums[figure]
            + self.count * total * total
        }
        for group in self.groups.values():
            size = group[0]
            off = n * group[figure + 1] - size * total
            sizes[size] = sizes.get(size, 0) + 1
            squared[size] = squared.get(size, 0) + off * off
        mean, independent = total / (n * _UNIT), sum(sizes.values())
        if independent < 2:  # noqa: PLR2004 - one group has no spread
            return Spread(mean, inf, 0.0, independent)
        scale = n**4 * _UNIT**2
        variance = sum(squared[size] / scale / (1 - size / n) for size in sorted(sizes))
        return Spread(mean, variance, _satterthwaite(sizes, n), independent)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back; the sums are whole numbers."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Totals:
        """Return the totals that `to_dict` wrote."""
        totals = cls(len(plain["sums"]))
        totals.count = plain["count"]
        totals.sums = list(plain["sums"])
        totals.squares = list(plain["squares"])
        totals.groups = {name: list(sums) for name, sums in plain["groups"].items()}
        return totals

    def _sum(self, figure: int) -> int:
        return self.sums[figure] + sum(group[figure + 1] for group in self.groups.values())


def spread_of(values: Sequence[float], groups: Sequence[str | None] | None = None) -> Spread | None:
    """Return the spread of the mean of `values`, each in [-1, 1]; None if there are none.

    `groups` names the group of each value, None for one that stands for itself.
    """
    totals = Totals(1)
    for position, value in enumerate(values):
        totals.add((value,), groups[position] if groups is not None else None)
    return totals.spread(0)


def _satterthwaite(sizes: dict[int, int], n: int) -> float:
    """Return the degrees of freedom of CR2 for groups of these sizes; `sizes` counts them.

    n² / (Σ m² + Σ_{g≠h} b_g b_h) with b = m² / (n - m): what the general formula comes to where
    the only regressor is the constant. Equal groups give their number less one.
    """
    squares = sum(count * m * m for m, count in sizes.items())
    parts = [(m * m / (n - m), count) for m, count in sorted(sizes.items())]
    together = sum(b * count for b, count in parts)
    apart = sum(b * b * count for b, count in parts)
    return n * n / (squares + together * together - apart)
