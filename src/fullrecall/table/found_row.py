"""Where the targets of one sample are found, in Python's own numbers.

Most measures of one result read a `FoundRow`, those of many `fullrecall.table.found.FoundColumns`:
both count the same under the same names, a number or an array, so that each measure has one
formula. One row as columns takes NumPy ten times as long.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from math import fsum, log2
from operator import length_hint
from typing import Any, NamedTuple, overload

from fullrecall.findings import Finding, Findings


@dataclass(eq=False)
class FoundRow:
    """One scorer's findings over one sample, of one list, each target found whole or not at all.

    The fields are those of `FoundColumns`.

    - `retrieved`: how many contexts there are.
    - `first`: for each target the rank at which it is found, 0 if never.
    - `supports`: for each target the ranks that support it; None: `first` alone does.
    - `grade`, `size`: of each target; None: all are 1.0.
    """

    retrieved: int
    first: Sequence[int]
    supports: Sequence[Sequence[int]] | None = None
    grade: Sequence[float] | None = None
    size: Sequence[float] | None = None

    lists = 1
    """How many lists were united."""

    def __post_init__(self) -> None:
        self.targets = len(self.first)
        self._found = sorted(filter(None, self.first))  # where targets are found, ascending

    @classmethod
    def of(cls, findings: Findings, retrieved: int) -> FoundRow | None:
        """Return the row of findings by rank; None where one has partial credit."""
        if isinstance(findings, LateFindings):
            return findings.row
        if any(finding.steps and finding.steps[0].credit < 1.0 for finding in findings):
            return None
        return cls(
            retrieved,
            [finding.rank or 0 for finding in findings],
            [finding.ranks for finding in findings],
            [finding.target.grade for finding in findings],
            [finding.target.size for finding in findings],
        )

    @cached_property
    def relevant(self) -> list[int]:
        """The ranks that support any target, ascending, each once."""
        if self.supports is None:
            return sorted(set(self._found))
        return sorted({rank for ranks in self.supports for rank in ranks})

    @property
    def first_relevant(self) -> int:
        """The rank of the first context that supports a target, 0 if there is none."""
        return self.relevant[0] if self.relevant else 0

    def contexts_within(self, k: int | None) -> int:
        """Return how many contexts are within the first `k` ranks."""
        return self.retrieved if k is None else min(self.retrieved, k)

    def relevant_within(self, k: int | None) -> int:
        """Return how many contexts within the first `k` ranks support a target."""
        return len(self.relevant) if k is None else bisect_right(self.relevant, k)

    def found_within(self, k: int | None) -> int:
        """Return how many targets are found within the first `k` ranks."""
        return len(self._found) if k is None else bisect_right(self._found, k)

    def credit_sums(self, k: int | None, weights: Sequence[float] | None = None) -> float:
        """Return the credit within the first `k` ranks, targets by their weights."""
        if weights is None:
            return self.found_within(k)
        pairs = zip(self.first, weights, strict=True)
        return fsum(weight for rank, weight in pairs if rank and (k is None or rank <= k))

    def sums(self, weights: Sequence[float]) -> float:
        """Return the sum over the targets."""
        return fsum(weights)

    def share(self, part: float, whole: float) -> float:
        """Return `part / whole`, at most 1.0, and 0.0 where the whole is 0."""
        return min(part / whole, 1.0) if whole else 0.0

    def least(self, value: float, other: float) -> float:
        """Return the smaller number."""
        return min(value, other)

    def each(self, count: Callable[[int, int], float]) -> float:
        """Return what is counted of the row, of its number 0 and of how many were retrieved."""
        return count(0, self.retrieved) if self.targets else 0.0

    def defined(self, value: float, otherwise: float | None) -> float | None:
        """Return the value, `otherwise` where there is no target."""
        return value if self.targets else otherwise

    def gains(self, k: int | None, worth: Callable[[float], float]) -> tuple[RowTerms, RowTerms]:
        """Return what each context within `k` adds with the discount of its rank, and the ideal.

        That is the best order: largest first, what is missing at a rank of its own.
        """
        worths = list(map(worth, self.grade)) if self.grade else [worth(1.0)] * self.targets
        gains: dict[int, float] = {}
        missing = []
        for rank, value in zip(self.first, worths, strict=True):
            if rank:
                gains[rank] = gains.get(rank, 0.0) + value
            else:
                missing.append(value)
        ideal = sorted([*missing, *gains.values()], reverse=True)[:k]
        within = [(gain, log2(rank + 1)) for rank, gain in gains.items() if k is None or rank <= k]
        return RowTerms(within), RowTerms([(gain, log2(n)) for n, gain in enumerate(ideal, 2)])


class RowTerms(NamedTuple):
    """What a measure adds up of one row."""

    terms: Sequence[tuple[float, ...]]

    def sums(self, formula: Callable[..., float]) -> float:
        """Return the sum of a formula of each term, rounded once."""
        return fsum(starmap(formula, self.terms))


class LateFindings(Sequence[Finding]):
    """Findings that are made when somebody looks at one; measures read `row` alone."""

    __slots__ = ("_findings", "_make", "row")

    def __init__(self, row: FoundRow, make: Callable[[], Findings]) -> None:
        self.row = row
        self._make = make
        self._findings: tuple[Finding, ...] | None = None

    def __len__(self) -> int:
        return self.row.targets

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        return self.all[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.all)

    @property
    def all(self) -> tuple[Finding, ...]:
        """All findings."""
        if self._findings is None:
            self._findings = tuple(self._make())
        return self._findings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.all == tuple(other)

    def __hash__(self) -> int:
        return hash(self.all)

    def __repr__(self) -> str:
        return repr(self.all)

    def __reduce__(self) -> tuple[type, tuple[tuple[Finding, ...]]]:
        return tuple, (self.all,)


def first_ranks_of(row: Sequence[Any], names: Iterable[Any]) -> dict[Any, int]:
    """Return the 1-based position of each name in a row, where it is first; 0 where it is not."""
    place_of = dict.fromkeys(names, 0)
    # Most of a row is not looked for, and is passed over without a step of Python. The iterator
    # of a list or a tuple knows how much is left, and so where it stands.
    size, rest = len(row), iter(row)
    for name in filter(place_of.__contains__, rest):
        if not place_of[name]:
            place_of[name] = size - length_hint(rest)
    return place_of
