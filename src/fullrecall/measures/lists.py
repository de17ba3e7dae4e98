"""Lists of numbers, one for each row, as two arrays: all values, and the offsets of the lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# These equal `NDArray[...]`, and are written out because `numpy.typing` takes time to load.
Floats: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
Integers: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.signedinteger[Any]]]


class Lists(NamedTuple):
    """Lists of numbers: row i has `values[offsets[i]:offsets[i + 1]]`."""

    values: NDArray[Any]
    offsets: Integers

    @classmethod
    def of(cls, lists: Sequence[Sequence[Any]], dtype: Any = np.int32) -> Lists:
        """Return the lists of Python sequences of numbers, or of tuples of numbers."""
        return cls(np.fromiter(chain.from_iterable(lists), dtype), offsets_of(map(len, lists)))

    @classmethod
    def empty(cls, rows: int) -> Lists:
        """Return lists without values."""
        return cls(np.zeros(0, np.int32), np.zeros(rows + 1, np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Lists]) -> Lists:
        """Return the rows of several parts, one after another."""
        if len(parts) == 1:
            return parts[0]
        counts = np.concatenate([part.counts for part in parts])
        return cls(np.concatenate([part.values for part in parts]), offsets_of(counts))

    @property
    def counts(self) -> Integers:
        """The number of values of each row."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Integers:
        """The row of each value."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    @property
    def nth(self) -> Integers:
        """The 1-based position of each value in its row."""
        return np.arange(1, len(self.values) + 1) - self.offsets[self.rows]

    @property
    def sums(self) -> Floats:
        """The sum of each row's values, rounded once."""
        return row_sums(self.values, self.offsets)

    @property
    def maxima(self) -> NDArray[Any]:
        """The largest value of each row, 0 for an empty row."""
        return row_maxima(self.values, self.offsets)

    @property
    def passed(self) -> Floats:
        """For each value, the product of 1 - v over the values v before it in its row."""
        products, passed = np.ones(len(self.values)), np.ones(len(self.offsets) - 1)
        for nth in range(int(self.counts.max(initial=0))):
            rows = np.flatnonzero(self.counts > nth)
            index = self.offsets[rows] + nth
            products[index] = passed[rows]
            passed[rows] *= 1 - self.values[index]
        return products

    def up_to(self, rows: Integers, numbers: Integers) -> Integers:
        """Return how many values of row `rows[i]` are at most `numbers[i]`, for each i.

        The values of each row must ascend.
        """
        # Encode each pair of row and number as one number, because NumPy compares pairs slowly,
        # with a call for each.
        width = int(max(self.values.max(initial=0), numbers.max(initial=0))) + 1
        keys = self.rows * width + self.values
        ends: Integers = np.searchsorted(keys, rows * width + numbers, side="right")
        return ends - self.offsets[rows]

    def selected(self, rows: Integers) -> Lists:
        """Return the lists of these rows, in the order given."""
        counts = self.counts[rows]
        offsets = offsets_of(counts)
        indices = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], counts)
        return Lists(self.values[indices], offsets)

    def kept(self, mask: NDArray[np.bool_]) -> Lists:
        """Return the lists without the values where `mask` is false."""
        return Lists(self.values[mask], np.concatenate([[0], np.cumsum(mask)])[self.offsets])

    def of_row(self, row: int) -> list[Any]:
        """Return the list of one row as Python values."""
        values: list[Any] = self.values[self.offsets[row] : self.offsets[row + 1]].tolist()
        return values


def offsets_of(counts: Iterable[int] | Integers) -> Integers:
    """Return the offsets of lists with these lengths.

    The offsets are the start of each list, and the end of the last one.
    """
    lengths = counts if isinstance(counts, np.ndarray) else np.fromiter(counts, np.int64)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return narrow(offsets)


def narrow(numbers: Integers) -> Integers:
    """Return whole numbers as 4-byte integers if they fit."""
    fit = not len(numbers) or int(numbers.max()) < 2**31
    return numbers.astype(np.int32) if fit else numbers


def count_sums(flags: NDArray[Any], offsets: Integers, kind: Any = np.int64) -> NDArray[Any]:
    """Return the sum of each row's whole numbers, or the number of its true flags."""
    # Allocating memory takes longer than adding, so use one array, of 4-byte counts if they fit.
    is_small = flags.dtype == np.bool_ and len(flags) < 2**31
    sums = np.zeros(len(flags) + 1, np.int32 if is_small else kind)
    np.cumsum(flags, out=sums[1:])
    return np.diff(sums[offsets]).astype(kind, copy=False)


def row_sums(values: Floats, offsets: Integers) -> Floats:
    """Return the sum of each row's values as `math.fsum` rounds it.

    The rounding errors of the additions are summed separately and added at the end (Neumaier, ZAMM
    54, 1974). The result is the exact sum, rounded once, unless that sum lies within 1e-30 of the
    middle between two floats.
    """
    counts = np.diff(offsets)
    sums = np.zeros(len(counts))
    rows = np.flatnonzero(counts)
    total, lost = values[offsets[rows]].astype(np.float64), np.zeros(len(rows))
    for nth in range(1, int(counts.max(initial=0))):
        longer = counts[rows] > nth
        done = ~longer
        sums[rows[done]] = total[done] + lost[done]
        rows, before, lost = rows[longer], total[longer], lost[longer]
        value = values[offsets[rows] + nth]
        total = before + value
        larger = np.abs(before) >= np.abs(value)
        lost += np.where(larger, (before - total) + value, (value - total) + before)
    sums[rows] = total + lost
    return sums


def distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct numbers, ascending; this is fast if most of them already ascend."""
    ascending = np.sort(numbers, kind="stable")
    new = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return ascending[new]


def row_maxima(values: NDArray[Any], offsets: Integers, empty: float = 0) -> NDArray[Any]:
    """Return the largest value of each row, `empty` for a row without values."""
    maxima = np.full(len(offsets) - 1, empty, values.dtype)
    filled = np.diff(offsets) > 0
    if len(values):
        maxima[filled] = np.maximum.reduceat(values, offsets[:-1][filled])
    return maxima


def discounts(ranks: Integers) -> Floats:
    """Return log2(rank + 1) of each rank."""
    return by_rank(ranks, lambda rank: log2(rank + 1))


def by_rank(ranks: Integers, weight: Callable[[int], float]) -> Floats:
    """Return the weight of each rank, bit for bit equal to Python's value."""
    # Use a table of Python's values: NumPy's last bit may differ between processors.
    table = np.fromiter(map(weight, range(1, int(ranks.max(initial=0)) + 1)), np.float64)
    return table[ranks - 1] if len(ranks) else np.zeros(0)


def powers(exponents: Floats) -> Floats:
    """Return 2 to the power of each number, bit for bit equal to Python's value."""
    numbers, which = np.unique(exponents, return_inverse=True)
    return np.fromiter((2.0**number for number in numbers.tolist()), np.float64)[which]


def rises_of(targets: Integers, credits_: Floats) -> Floats:
    """Return the rise of each credit over the target's previous credit; the first rises from 0."""
    rises = credits_.copy()
    same = targets[1:] == targets[:-1]
    rises[1:][same] -= credits_[:-1][same]
    return rises
