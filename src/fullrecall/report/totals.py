"""The sum of one measure over samples: exact, and so the same however the samples were parted.

A value is a float in [-1, 1]. It enters as a whole number of 2⁻⁶⁰, below which it is cut off,
and whole numbers add up to the same in any order: totals of parts, merged, are those of the whole
to the last bit. Samples that are not independent share a group; a group counts once, by the mean
of its samples, since only groups are independent of each other (`fullrecall.results.bounds`).

Sums of groups are kept by name until all of a group is there. `fold` then makes one value of each
group, and their names go: millions of groups take the room of their distinct values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fullrecall.errors import ReportError
from fullrecall.report.value_counts import ValueCounts
from fullrecall.results.bounds import Counts

_UNIT = 2**60
_AS_FLOAT = float(_UNIT)

_MOST_NEW = 256
"""Distinct values that wait to be summed: most measures have few, and each is summed once."""


class Bracket(NamedTuple):
    """Values from below and from above; they differ where there are too many to keep apart."""

    low: Counts
    high: Counts


GAPS: tuple[float | None, ...] = (None, 0.0, 1.0)
"""What a gap may count as once groups are folded: left out, the worst, and the best."""


class _Sum:
    """How many groups, what their means add up to, and their values."""

    __slots__ = ("groups", "total", "values")

    def __init__(self, groups: int = 0, total: int = 0, values: ValueCounts | None = None) -> None:
        self.groups = groups
        self.total = total
        self.values = values or ValueCounts()

    def merge(self, other: _Sum) -> None:
        self.groups += other.groups
        self.total += other.total
        self.values.merge(other.values)


class _Folded:
    """Whole groups without their names, for each of `GAPS` that a gap may count as."""

    __slots__ = ("gaps", "samples", "sums")

    def __init__(self) -> None:
        self.samples = 0
        self.gaps = 0
        self.sums = {gap: _Sum() for gap in GAPS}

    def add(self, count: int, total: int, gaps: int) -> None:
        self.samples += count
        self.gaps += gaps
        for gap, one in self.sums.items():
            size = count + (0 if gap is None else gaps)
            if size:
                one.groups += 1
                one.total += _mean_units(count, total, size, gap)
                one.values.add(min(1.0, max(-1.0, _mean(count, total, size, gap))))

    def merge(self, other: _Folded) -> None:
        self.samples += other.samples
        self.gaps += other.gaps
        for gap, one in self.sums.items():
            one.merge(other.sums[gap])

    def of(self, gap: float | None) -> _Sum:
        if gap not in self.sums:
            raise ReportError(
                f"groups were merged for gaps of 0 and of 1, got {gap!r}: this needs the rows"
            )
        return self.sums[gap]

    def to_dict(self) -> dict[str, Any]:
        return {
            "samples": self.samples,
            "gaps": self.gaps,
            "sums": [
                {"groups": one.groups, "total": one.total, "values": one.values.to_dict()}
                for one in self.sums.values()
            ],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> _Folded:
        folded = cls()
        folded.samples, folded.gaps = plain["samples"], plain["gaps"]
        folded.sums = {
            gap: _Sum(one["groups"], one["total"], ValueCounts.from_dict(one["values"]))
            for gap, one in zip(GAPS, plain["sums"], strict=True)
        }
        return folded


class Totals:
    """Running totals of one measure; their size grows with the groups alone.

    A sample that should have a value and has none is a gap: it is counted, and takes part in
    `counts` and `mean_with` where a value is given for it.
    """

    __slots__ = ("_count", "_folded", "_gaps", "_groups", "_new", "_total", "_values")

    def __init__(self) -> None:
        self._new: dict[float, int] = {}
        # Of the samples without a group: how many, their sum, their values, and the gaps.
        self._count = 0
        self._total = 0
        self._values = ValueCounts()
        self._gaps = 0
        # Of each group: how many values, their sum, and the gaps.
        self._groups: dict[str, list[int]] = {}
        self._folded: _Folded | None = None

    def add(self, value: float | None, group: str | None = None, *, times: int = 1) -> None:
        """Add one sample's value, or a gap if it is None; or those of `times` samples."""
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
        if other._folded is not None:
            self._folded = self._folded or _Folded()
            self._folded.merge(other._folded)

    def take_groups(self) -> dict[str, list[int]]:
        """Take the sums of groups out, and return them: of each how many, their sum, the gaps."""
        taken, self._groups = self._groups, {}
        return taken

    def put_group(self, group: str, count: int, total: int, gaps: int) -> None:
        """Add the sums of a group, or of a part of one."""
        ours = self._groups.get(group, (0, 0, 0))
        self._groups[group] = [ours[0] + count, ours[1] + total, ours[2] + gaps]

    def fold(self) -> None:
        """Make one value of each group, of which all samples must be there; forget the names."""
        if not self._groups:
            return
        folded = self._folded = self._folded or _Folded()
        for sums in self.take_groups().values():
            folded.add(*sums)

    @property
    def samples(self) -> int:
        """How many samples have a value."""
        self._sum_up()
        folded = 0 if self._folded is None else self._folded.samples
        return self._count + folded + sum(count for count, _, _ in self._groups.values())

    @property
    def due(self) -> int:
        """How many samples should have a value: those that have one, and the gaps."""
        folded = 0 if self._folded is None else self._folded.gaps
        gaps = self._gaps + folded + sum(gaps for _, _, gaps in self._groups.values())
        return self.samples + gaps

    @property
    def independent(self) -> int:
        """How many groups have a value, a sample without a group being one."""
        self._sum_up()
        folded = 0 if self._folded is None else self._folded.of(None).groups
        return self._count + folded + sum(count > 0 for count, _, _ in self._groups.values())

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
                total += _mean_units(count, their_sum, size, gap)
        if self._folded is not None:
            folded = self._folded.of(gap)
            groups += folded.groups
            total += folded.total
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
                values.add(min(most, max(least, _mean(count, total, size, gap))))
        if self._folded is not None:
            values.merge(self._folded.of(gap).values)
        return Bracket(values.lower, values.upper)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back; the sums are whole numbers."""
        self._sum_up()
        plain = {
            "count": self._count,
            "total": self._total,
            "gaps": self._gaps,
            "values": self._values.to_dict(),
            "groups": self._groups,
        }
        return plain if self._folded is None else {**plain, "folded": self._folded.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Totals:
        """Return the totals that `to_dict` wrote."""
        totals = cls()
        totals._count, totals._total, totals._gaps = (plain[n] for n in ("count", "total", "gaps"))
        totals._values = ValueCounts.from_dict(plain["values"])
        totals._groups = {name: list(sums) for name, sums in plain["groups"].items()}
        if plain.get("folded") is not None:
            totals._folded = _Folded.from_dict(plain["folded"])
        return totals

    def _sum_up(self) -> None:
        """Sum the values that were added since the last time."""
        for value, times in self._new.items():
            self._values.add(value, times)
            self._total += int(value * _AS_FLOAT) * times
            self._count += times
        self._new.clear()


def _mean_units(count: int, total: int, size: int, gap: float | None) -> int:
    """Return the mean of a group in units of 2⁻⁶⁰, its gaps counting as `gap`."""
    filler = 0 if gap is None else int(gap * _AS_FLOAT)
    return (total + filler * (size - count)) // size


def _mean(count: int, total: int, size: int, gap: float | None) -> float:
    """Return the mean of a group, its gaps counting as `gap`."""
    return (total / _AS_FLOAT + (gap or 0.0) * (size - count)) / size


def totals_of(pairs: Iterable[tuple[float | None, str | None]]) -> Totals:
    """Return the totals of values, each with its group."""
    totals = Totals()
    for value, group in pairs:
        totals.add(value, group)
    return totals
