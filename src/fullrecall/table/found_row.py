"""Where the targets of one sample are found, in Python's own numbers.

A measure of one result reads a `FoundRow`, of many `fullrecall.table.found.FoundColumns`: both
count the same under the same names, a number or an array, so that each measure has one formula.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, starmap
from math import fsum, log2
from operator import length_hint
from typing import Any, NamedTuple, overload

from fullrecall.findings import Finding, Findings


@dataclass(eq=False)
class FoundRow:
    """One scorer's findings over one sample; the fields are those of `FoundColumns`.

    - `retrieved`: how many contexts there are.
    - `first`: for each target the position from which on it is found in full, 0 if never.
    - `supports`: for each target the positions that support it; None: `first` alone does.
    - `steps`: for each target its credit by position; None: 0 before `first` and 1 from there on.
    - `grade`, `size`: of each target; None: all are 1.0.
    - `ranks`: the rank of each position; None: the position is the rank.
    """

    retrieved: int
    first: Sequence[int]
    supports: Sequence[Sequence[int]] | None = None
    steps: Sequence[Sequence[tuple[int, float]]] | None = None
    grade: Sequence[float] | None = None
    size: Sequence[float] | None = None
    ranks: Sequence[int] | None = None

    def __post_init__(self) -> None:
        self.targets = len(self.first)
        self._in_full = sorted(filter(None, self.first))  # where targets are found, ascending

    @classmethod
    def of(cls, findings: Findings, retrieved: int, ranks: Sequence[int] | None = None) -> FoundRow:
        """Return the row of findings."""
        if isinstance(findings, LateFindings):
            return findings.row if ranks is None else replace(findings.row, ranks=ranks)
        return cls(
            retrieved,
            [_first(finding) for finding in findings],
            [finding.ranks for finding in findings],
            [finding.steps for finding in findings],
            [finding.target.grade for finding in findings],
            [finding.target.size for finding in findings],
            ranks,
        )

    def graded(self, min_grade: float) -> FoundRow:
        """Return the row of the targets whose grade is at least `min_grade`."""
        grades = self.grade or [1.0] * self.targets
        kept = [grade >= min_grade for grade in grades]
        return FoundRow(
            self.retrieved,
            _kept(self.first, kept) or [],
            _kept(self.supports, kept),
            _kept(self.steps, kept),
            _kept(self.grade, kept),
            _kept(self.size, kept),
            self.ranks,
        )

    @cached_property
    def supporting(self) -> Sequence[Sequence[int]]:
        """The positions that support each target."""
        if self.supports is not None:
            return self.supports
        return [(position,) if position else () for position in self.first]

    @cached_property
    def rising(self) -> Sequence[Sequence[tuple[int, float]]]:
        """The credit of each target by position."""
        if self.steps is not None:
            return self.steps
        return [((position, 1.0),) if position else () for position in self.first]

    @cached_property
    def relevant(self) -> list[int]:
        """The positions that support any target, ascending, each once."""
        return sorted({position for positions in self.supporting for position in positions})

    @cached_property
    def first_relevant(self) -> int:
        """The rank of the first context that supports a target, 0 if there is none."""
        return self.rank_of(self.relevant[0]) if self.relevant else 0

    @cached_property
    def lists(self) -> int:
        """How many lists were united: the most contexts that share a rank, at least 1."""
        return max(Counter(self.ranks).values(), default=1) if self.ranks else 1

    def cut(self, k: int | None) -> int:
        """Return how many positions are within the first `k` ranks; None: all of them."""
        if k is None:
            return _EVERYWHERE
        return k if self.ranks is None else bisect_right(self.ranks, k)

    def rank_of(self, position: int) -> int:
        """Return the rank of a position."""
        return self.ranks[position - 1] if self.ranks else position

    def level(self, position: int) -> int:
        """Return the last position of the same rank: how many contexts rank as high or higher."""
        return bisect_right(self.ranks, self.ranks[position - 1]) if self.ranks else position

    def contexts_within(self, k: int | None) -> int:
        """Return how many contexts are within the first `k` ranks."""
        return min(self.retrieved, self.cut(k))

    def relevant_within(self, k: int | None) -> int:
        """Return how many contexts within the first `k` ranks support a target."""
        return bisect_right(self.relevant, self.cut(k))

    def found_within(self, k: int | None) -> int:
        """Return how many targets are found in full within the first `k` ranks."""
        return bisect_right(self._in_full, self.cut(k))

    def credit_sums(self, k: int | None, weights: Sequence[float] | None = None) -> float:
        """Return the credit within the first `k` ranks, targets by their weights."""
        if weights is None and (self.steps is None or self._is_whole):
            return bisect_right(self._in_full, self.cut(k))
        cut = self.cut(k)
        credits_ = [_credit(steps, cut) for steps in self.rising]
        if weights is None:
            return fsum(credits_)
        return fsum(credit * weight for credit, weight in zip(credits_, weights, strict=True))

    def sums(self, weights: Sequence[float]) -> float:
        """Return the sum over the targets."""
        return fsum(weights)

    def share(self, part: float, whole: float) -> float:
        """Return `part / whole`, at most 1.0, and 0.0 where the whole is 0."""
        if not whole:
            return 0.0
        share = part / whole
        return min(share, 1.0)  # faster than min(share, 1.0)

    def least(self, value: float, other: float) -> float:
        """Return the smaller number."""
        return min(value, other)

    def each(self, count: Callable[[int, int], float]) -> float:
        """Return what is counted of the row, of its number 0 and of how many were retrieved."""
        return count(0, self.retrieved) if self.targets else 0.0

    def defined(self, value: float, otherwise: float | None) -> float | None:
        """Return the value, `otherwise` where there is no target."""
        return value if self.targets else otherwise

    def precisions(self, k: int | None) -> RowTerms:
        """Return of each relevant context within `k` the relevant ones down to it, and all."""
        relevant = self.relevant[: self.relevant_within(k)]
        return RowTerms([self._above(position) for position in relevant])

    def rises(self, k: int | None) -> RowTerms:
        """Return of each rise of a target's credit within `k` by how much, and the same as above.

        Of several steps at one rank the last one counts.
        """
        cut, terms = self.cut(k), []
        for steps in self.rising:
            by_level = {self.level(position): credit for position, credit in steps}
            for level, rise in _rises(by_level.items()):
                if level <= cut:
                    terms.append((rise, *self._above(level)))
        return RowTerms(terms)

    def gains(self, k: int | None, worth: Callable[[float], float]) -> tuple[RowTerms, RowTerms]:
        """Return what each context within `k` adds with the discount of its rank, and the ideal.

        That is the best order: largest first, what is missing at a rank of its own.
        """
        gains = self._gains(worth)
        earned = (steps[-1][1] if steps else 0.0 for steps in self.rising)
        missing = [
            gain * (1.0 - credit) for gain, credit in zip(self._worths(worth), earned, strict=True)
        ]
        ideal = sorted([*missing, *gains.values()], reverse=True)
        if k is not None:
            ideal = ideal[: k * self.lists]
        cut = self.cut(k)
        return (
            RowTerms(
                [
                    (gain, log2(self.rank_of(position) + 1))
                    for position, gain in gains.items()
                    if position <= cut
                ]
            ),
            RowTerms([(gain, log2(nth // self.lists + 2)) for nth, gain in enumerate(ideal)]),
        )

    @cached_property
    def _is_whole(self) -> bool:
        """Whether credit is all or nothing."""
        return all(not steps or steps[0][1] >= 1.0 for steps in self.rising)

    def _above(self, position: int) -> tuple[int, int]:
        level = self.level(position)
        return bisect_right(self.relevant, level), level

    def _worths(self, worth: Callable[[float], float]) -> list[float]:
        return list(map(worth, self.grade)) if self.grade else [worth(1.0)] * self.targets

    def _gains(self, worth: Callable[[float], float]) -> dict[int, float]:
        """Return what each context adds, in the order of the targets."""
        gains: dict[int, float] = {}
        for value, rises in zip(self._worths(worth), self._rises, strict=True):
            for position, rise in rises:
                gains[position] = gains.get(position, 0.0) + value * rise
        return gains

    @cached_property
    def _rises(self) -> Sequence[Sequence[tuple[int, float]]]:
        """By how much each target's credit rises, by position."""
        return self.rising if self.steps is None else list(map(_rises, self.steps))


class RowTerms(NamedTuple):
    """What a measure adds up of one row."""

    terms: Sequence[tuple[float, ...]]

    @property
    def counts(self) -> int:
        """How many terms there are."""
        return len(self.terms)

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


_EVERYWHERE = 2**31 - 1
"""A cut beyond all positions."""


def _first(finding: Finding) -> int:
    return finding.rank or 0


def _credit(steps: Sequence[tuple[int, float]], cut: int) -> float:
    return max((credit for position, credit in steps if position <= cut), default=0.0)


def _rises(steps: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return each position with how much its credit is above the one before."""
    before, rises = 0.0, []
    for position, credit in steps:
        rises.append((position, credit - before))
        before = credit
    return rises


def _kept(values: Sequence[Any] | None, kept: Sequence[bool]) -> list[Any] | None:
    return None if values is None else list(compress(values, kept))
