"""The sum of one measure over samples: exact, and so the same however the samples were parted.

A value is a float in [-1, 1]. It enters as a whole number of 2⁻⁶⁰, below which it is cut off,
and whole numbers add up to the same in any order: totals of parts, merged, are those of the whole
to the last bit. Samples that are not independent share a group; a group counts once, by the mean
of its samples, since only groups are independent of each other (`fullrecall.report.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fullrecall.report.bounds import Counts
from fullrecall.report.value_counts import ValueCounts

_UNIT = 2**60
_AS_FLOAT = float(_UNIT)


class Totals:
    """Running totals of one measure; their size grows with the groups alone.

    A sample that should have a value and has none is a gap: it is counted, and takes part in
    `counts` where a value is given for it.
    """

    __slots__ = ("count", "gaps", "groups", "total", "values")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.gaps = 0
        self.values = ValueCounts()
        self.groups: dict[str, list[int]] = {}
        """For each group the number of its values, their sum, and its gaps. The attributes above
        are of the samples without a group."""

    def add(self, value: float | None, group: str | None = None) -> None:
        """Add one sample's value, or a gap if it is None."""
        if group is not None:
            sums = self.groups.setdefault(group, [0, 0, 0])
            if value is None:
                sums[2] += 1
            else:
                sums[0] += 1
                sums[1] += int(value * _AS_FLOAT)
        elif value is None:
            self.gaps += 1
        else:
            self.count += 1
            self.total += int(value * _AS_FLOAT)
            self.values.add(value)

    def merge(self, other: Totals) -> None:
        """Add what another part has summed of the same measure."""
        self.count += other.count
        self.total += other.total
        self.gaps += other.gaps
        self.values.merge(other.values)
        for group, theirs in other.groups.items():
            ours = self.groups.get(group, (0, 0, 0))
            self.groups[group] = [a + b for a, b in zip(ours, theirs, strict=True)]

    @property
    def samples(self) -> int:
        """How many samples have a value."""
        return self.count + sum(count for count, _, _ in self.groups.values())

    @property
    def independent(self) -> int:
        """How many groups have a value, a sample without a group being one."""
        return self.count + sum(count > 0 for count, _, _ in self.groups.values())

    @property
    def mean(self) -> float | None:
        """The mean over groups; None without a value."""
        groups = self.independent
        if not groups:
            return None
        means = sum(total // count for count, total, _ in self.groups.values() if count)
        return (self.total + means) / (groups * _UNIT)

    def counts(self, gap: float | None = None, *, low: float = 0.0, high: float = 1.0) -> Bounded:
        """Return the values to decide by, one for each group, every gap counting as `gap`.

        Gaps are left out if `gap` is None. Values are in [`low`, `high`].
        """
        whole = ValueCounts()
        whole.merge(self.values)
        if gap is not None and self.gaps:
            whole.add(gap, self.gaps)
        for count, total, gaps in self.groups.values():
            more = 0 if gap is None else gaps
            if count + more:
                mean = (total / _AS_FLOAT + (gap or 0.0) * more) / (count + more)
                whole.add(min(high, max(low, mean)))
        return whole.lower, whole.upper

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back; the sums are whole numbers."""
        return {
            "count": self.count,
            "total": self.total,
            "gaps": self.gaps,
            "values": self.values.to_dict(),
            "groups": self.groups,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Totals:
        """Return the totals that `to_dict` wrote."""
        totals = cls()
        totals.count, totals.total, totals.gaps = (plain[n] for n in ("count", "total", "gaps"))
        totals.values = ValueCounts.from_dict(plain["values"])
        totals.groups = {name: list(sums) for name, sums in plain["groups"].items()}
        return totals


Bounded = tuple[Counts, Counts]
"""Values from below and from above, which differ where there are too many to keep them apart."""


def totals_of(pairs: Iterable[tuple[float | None, str | None]]) -> Totals:
    """Return the totals of values, each with its group."""
    totals = Totals()
    for value, group in pairs:
        totals.add(value, group)
    return totals
