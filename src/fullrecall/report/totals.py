"""The sum of one measure over samples: exact, and so the same however the samples were parted.

A value is a float in [-1, 1]. It enters as a whole number of 2⁻⁶⁰, below which it is cut off,
and whole numbers add up to the same in any order: totals of parts, merged, are those of the whole
to the last bit. Samples that are not independent share a group; a group counts once, by the mean
of its samples, since only groups are independent of each other (`fullrecall.report.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fullrecall.report.bounds import Counts
from fullrecall.report.value_counts import ValueCounts

_UNIT = 2**60
_AS_FLOAT = float(_UNIT)

_MOST_NEW = 256
"""Distinct values that wait to be summed: most measures have few, and each is summed once."""


class Bracket(NamedTuple):
    """Values from below and from above; they differ where there are too many to keep apart."""

    low: Counts
    high: Counts


class Totals:
    """Running totals of one measure; their size grows with the groups alone.

    A sample that should have a value and has none is a gap: it is counted, and takes part in
    `counts` and `mean_with` where a value is given for it.
    """

    __slots__ = ("_closed", "_count", "_gaps", "_groups", "_new", "_total", "_values")

    def __init__(self) -> None:
        self._new: dict[float, int] = {}
        # Of the samples without a group: how many, their sum, their values, and the gaps.
        self._count = 0
        self._total = 0
        self._values = ValueCounts()
        self._gaps = 0
        # Of each group: how many values, their sum, and the gaps.
        self._groups: dict[str, list[int]] = {}
        # Of the groups that are closed: how many samples more than groups.
        self._closed = 0

    def add(self, value: float | None, group: str | None = None, times: int = 1) -> None:
        """Add a sample's value, or a gap if it is None; or those of so many equal samples."""
        if group is not None:
            sums = self._groups.setdefault(group, [0, 0, 0])
            if value is None:
                sums[2] += times
            else:
                sums[0] += times
                sums[1] += int(value * _AS_FLOAT) * times
        elif value is None:
            self._gaps += times
        else:
            new = self._new
            new[value] = new.get(value, 0) + times
            if len(new) > _MOST_NEW:
                self._sum_up()

    def close(self) -> None:
        """Let go of the groups: no more of their samples come.

        Of a group without gaps its mean is all that is needed; one with gaps is kept, since its
        mean depends on what they count as. Closed totals are read, and neither merged nor saved.
        """
        for group, (count, total, gaps) in list(self._groups.items()):
            if not gaps:
                self._values.add(total // count / _AS_FLOAT)
                self._count += 1
                self._total += total // count
                self._closed += count - 1
                del self._groups[group]

    def merge(self, other: Totals) -> None:
        """Add what another part has summed of the same measure."""
        self._sum_up()
        other._sum_up()
        self._count += other._count
        self._total += other._total
        self._gaps += other._gaps
        self._values.merge(other._values)
        for group, theirs in other._groups.items():
            ours = self._groups.get(group, (0, 0, 0))
            self._groups[group] = [a + b for a, b in zip(ours, theirs, strict=True)]

    @property
    def samples(self) -> int:
        """How many samples have a value."""
        self._sum_up()
        return self._count + self._closed + sum(count for count, _, _ in self._groups.values())

    @property
    def due(self) -> int:
        """How many samples should have a value: those that have one, and the gaps."""
        return self.samples + self._gaps + sum(gaps for _, _, gaps in self._groups.values())

    @property
    def independent(self) -> int:
        """How many groups have a value, a sample without a group being one."""
        self._sum_up()
        return self._count + sum(count > 0 for count, _, _ in self._groups.values())

    @property
    def mean(self) -> float | None:
        """The mean over groups; None without a value."""
        return self.mean_with(None)

    def mean_with(self, gap: float | None) -> float | None:
        """Return the mean over groups with every gap counting as `gap`, left out if it is None."""
        self._sum_up()
        filler, gaps = (0, 0) if gap is None else (int(gap * _AS_FLOAT), self._gaps)
        groups, total = self._count + gaps, self._total + filler * gaps
        for count, their_sum, their_gaps in self._groups.values():
            size = count + (0 if gap is None else their_gaps)
            if size:
                groups += 1
                total += (their_sum + filler * (size - count)) // size
        return total / (groups * _UNIT) if groups else None

    def counts(self, gap: float | None = None, *, least: float = 0.0, most: float = 1.0) -> Bracket:
        """Return the values to decide by, one for each group, every gap counting as `gap`.

        Gaps are left out if `gap` is None. Values are in [`least`, `most`].
        """
        self._sum_up()
        values = ValueCounts()
        values.merge(self._values)
        if gap is not None and self._gaps:
            values.add(gap, self._gaps)
        for count, total, gaps in self._groups.values():
            size = count + (0 if gap is None else gaps)
            if size:
                filled = total + int((gap or 0.0) * _AS_FLOAT) * (size - count)
                values.add(min(most, max(least, filled // size / _AS_FLOAT)))
        return Bracket(values.lower, values.upper)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back; the sums are whole numbers."""
        self._sum_up()
        return {
            "count": self._count,
            "total": self._total,
            "gaps": self._gaps,
            "values": self._values.to_dict(),
            "groups": self._groups,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Totals:
        """Return the totals that `to_dict` wrote."""
        totals = cls()
        totals._count, totals._total, totals._gaps = (plain[n] for n in ("count", "total", "gaps"))
        totals._values = ValueCounts.from_dict(plain["values"])
        totals._groups = {name: list(sums) for name, sums in plain["groups"].items()}
        return totals

    def _sum_up(self) -> None:
        """Sum the values that were added since the last time."""
        for value, times in self._new.items():
            self._values.add(value, times)
            self._total += int(value * _AS_FLOAT) * times
            self._count += times
        self._new.clear()


def totals_of(pairs: Iterable[tuple[float | None, str | None]]) -> Totals:
    """Return the totals of values, each with its group."""
    totals = Totals()
    for value, group in pairs:
        totals.add(value, group)
    return totals
