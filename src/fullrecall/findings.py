"""Findings that are kept as columns and made when they are read.

A run over ten thousand samples reads the scores of all and the findings of few. Measures read the
columns; a `Finding` is made for whoever asks for it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from fullrecall.finding import Finding, Step, Target
from fullrecall.sample import Reference


class ColumnFindings(Sequence[Finding]):
    """Base of both: a sequence of findings that equals, prints and pickles as a tuple of them."""

    __slots__ = ()

    weights: Sequence[float] | None

    @property
    @abstractmethod
    def first_ranks(self) -> list[int]:
        """The rank at which each target that was found is found whole, in no order."""

    @abstractmethod
    def _finding(self, position: int) -> Finding:
        """Return the finding of one target."""

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        positions = range(len(self))[index]
        if isinstance(positions, range):
            return tuple(map(self._finding, positions))
        return self._finding(positions)

    def __iter__(self) -> Iterator[Finding]:
        return map(self._finding, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[Finding, ...]]]:
        return tuple, (tuple(self),)


class WholeFindings(ColumnFindings):
    """Findings of targets that one context finds in full.

    `ranks[i]` holds the ranks that support `references[i]`, ascending; `weights[i]` its weight,
    1.0 for all if None.
    """

    __slots__ = ("_relevant", "ranks", "references", "weights")

    def __init__(
        self,
        references: Sequence[Reference],
        ranks: Sequence[tuple[int, ...]],
        weights: Sequence[float] | None = None,
    ) -> None:
        self.references = references
        self.ranks = tuple(ranks)
        self.weights = weights
        self._relevant: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.references)

    @property
    def first_ranks(self) -> list[int]:
        """The rank at which each target that was found is found, in no order."""
        return [ranks[0] for ranks in self.ranks if ranks]

    @property
    def relevant_ranks(self) -> Sequence[int]:
        """The ranks that support any target, ascending, each once."""
        if self._relevant is None:
            self._relevant = tuple(sorted(set().union(*self.ranks)))
        return self._relevant

    def _finding(self, position: int) -> Finding:
        reference, ranks = self.references[position], self.ranks[position]
        weight = 1.0 if self.weights is None else self.weights[position]
        return Finding(
            Target(reference.any_of, weight, reference.grade),
            (Step(ranks[0], 1.0),) if ranks else (),
            ranks,
        )


class LateFindings(ColumnFindings):
    """Findings of which the first ranks are known, and the rest is worked out when it is read.

    Recall needs no more than the first rank of each target; precision and evidence need to look
    at every context. `firsts[i]` is the rank at which target i is found whole, None if it is not;
    `make(i)` returns its finding, must not raise, and is asked once.
    """

    __slots__ = ("_firsts", "_made", "_make", "weights")

    def __init__(self, firsts: Sequence[int | None], make: Callable[[int], Finding]) -> None:
        self.weights = None
        self._firsts = firsts
        self._make = make
        self._made: dict[int, Finding] = {}

    def __len__(self) -> int:
        return len(self._firsts)

    @property
    def first_ranks(self) -> list[int]:
        """The rank at which each target that was found is found, in no order."""
        return [first for first in self._firsts if first is not None]

    def _finding(self, position: int) -> Finding:
        if position not in self._made:
            self._made[position] = self._make(position)
        return self._made[position]
