"""Counts of values in bounded memory: the same whatever the order in which they were merged.

A value is a whole number of 2⁻⁶⁰, as in `totals`. Where more than 4,096 distinct ones occur, all
are rounded down to multiples of 2⁻ˡ, with the largest l that leaves at most 4,096. That l depends
on the set of values alone: to round down twice is to round down once to the coarser grid, and a
part never needs a coarser grid than the whole. So counts of parts, merged in any order, are those
of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from math import floor
from typing import Any, TypeVar

from fullrecall.errors import ParameterError, ReportError
from fullrecall.results.bounds import Counts

FINEST = 60
"""Values are multiples of 2⁻⁶⁰ at first."""

MOST_VALUES = 4_096
"""More distinct values than these are not kept apart."""

_UNIT = float(2**FINEST)

_Value = TypeVar("_Value", int, float)


class ValueCounts:
    """How often each value occurs, for values in [-1, 1]; at most 4,096 values are told apart.

    `lower` and `upper` bracket what was added: exact until the values are rounded, then 2⁻ˡ apart,
    where l is `bits`. Adding takes constant time on average.
    """

    __slots__ = ("_counts", "bits")

    def __init__(self) -> None:
        self.bits = FINEST
        self._counts: dict[int, int] = {}

    def add(self, value: float, times: int = 1) -> None:
        """Add a value, `times` over; raises `ParameterError` for one outside of [-1, 1]."""
        if not -1 <= value <= 1:
            raise ParameterError(f"value must be from -1 to 1, got {value!r}")
        units = floor(value * _UNIT) >> (FINEST - self.bits)
        self._counts[units] = self._counts.get(units, 0) + times
        if len(self._counts) > MOST_VALUES:
            self._coarsen()

    def merge(self, other: ValueCounts) -> None:
        """Add all that `other` has counted; `other` stays as it is."""
        bits = min(self.bits, other.bits)
        merged = Counter(_rounded(self._counts, self.bits - bits))
        merged.update(_rounded(other._counts, other.bits - bits))
        self.bits, self._counts = bits, dict(merged)
        self._coarsen()

    @property
    def size(self) -> int:
        """How many values were added."""
        return sum(self._counts.values())

    @property
    def lower(self) -> Counts:
        """Counts of values that are nowhere above those that were added: for lower bounds."""
        return self._bracket(0)

    @property
    def upper(self) -> Counts:
        """Counts of values that are nowhere below those that were added: for upper bounds."""
        return self._bracket(0 if self.bits == FINEST else 1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back: values ascend, in units of 2⁻ˡ."""
        values = sorted(self._counts)
        counts = [self._counts[value] for value in values]
        return {"bits": self.bits, "values": values, "counts": counts}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ValueCounts:
        """Return the counts that `to_dict` wrote; raises `ReportError` for what it cannot write."""
        try:
            bits, values, counts = plain["bits"], plain["values"], plain["counts"]
            valid = _is_possible(bits, values, counts)
        except (KeyError, TypeError):
            valid = False
        if not valid:
            raise ReportError("counts of values are damaged: save the report again")
        loaded = cls()
        loaded.bits, loaded._counts = bits, dict(zip(values, counts, strict=True))
        return loaded

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueCounts):
            return NotImplemented
        return (self.bits, self._counts) == (other.bits, other._counts)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"<ValueCounts of {self.size:,}: {len(self._counts):,} values, bits={self.bits}>"

    def _coarsen(self) -> None:
        while len(self._counts) > MOST_VALUES:
            self.bits -= 1
            self._counts = _rounded(self._counts, 1)

    def _bracket(self, up: int) -> Counts:
        end = 2**self.bits
        return Counts.of(_summed((min(key + up, end) / end, n) for key, n in self._counts.items()))


def _is_possible(bits: int, values: list[int], counts: list[int]) -> bool:
    """Return whether a run can have given these."""
    return (
        all(type(number) is int for number in (bits, *values, *counts))
        and 0 <= bits <= FINEST
        and len(values) == len(counts) <= MOST_VALUES
        and all(-(2**bits) <= value <= 2**bits for value in values)
        and all(value < following for value, following in pairwise(values))
        and all(count > 0 for count in counts)
    )


def _rounded(counts: dict[int, int], bits: int) -> dict[int, int]:
    """Return the counts of the values without their last `bits`, rounded down."""
    return _summed((value >> bits, count) for value, count in counts.items()) if bits else counts


def _summed(counts: Iterable[tuple[_Value, int]]) -> dict[_Value, int]:
    """Return the counts of pairs of value and count, equal values together."""
    summed: dict[_Value, int] = {}
    for value, count in counts:
        summed[value] = summed.get(value, 0) + count
    return summed
