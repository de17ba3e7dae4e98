"""What a scorer finds out: for each target, how much of it was retrieved, and at which ranks.

Every measure is computed from findings, and no measure knows which scorer made them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, overload

from fullrecall.sample import Reference


class Target(NamedTuple):
    """One thing that must be found: a reference ID, a reference context, a claim, an entity.

    `any_of` names it, more than once where alternatives serve. `weight` is its share in recall,
    `grade` its gain in nDCG; both are 1.0 unless the references are graded or weighted.
    """

    any_of: tuple[str, ...]
    weight: float = 1.0
    grade: float = 1.0

    @property
    def label(self) -> str:
        """The target as a human reads it: its ID or text, alternatives joined by ` | `."""
        return " | ".join(self.any_of)


class Evidence(NamedTuple):
    """Where a context supports a target.

    `rank` is 1-based. `start`, `end` are offsets in the context's text, `target_start`,
    `target_end` in the target's, half-open, None where the scorer has none. `similarity` is in
    [0, 1]. `quote` is what a judge says the context says, `verified` whether it was found there;
    None without a judge.
    """

    rank: int
    start: int | None = None
    end: int | None = None
    target_start: int | None = None
    target_end: int | None = None
    similarity: float | None = None
    quote: str | None = None
    verified: bool | None = None


class Step(NamedTuple):
    """From this 1-based `rank` on, a target has this cumulative `credit`, in (0, 1]."""

    rank: int
    credit: float


class Finding(NamedTuple):
    """How one target was found.

    `steps` is the cumulative credit by rank, both strictly increasing; empty when nothing was
    found. `ranks` are the 1-based ranks of all contexts that support the target, ascending,
    which may be more than those that raised its credit. `evidence` is in rank order. `verdict`
    is a judge's label, `agreement` the share of a panel that gave it; empty and None without.
    """

    target: Target
    steps: tuple[Step, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdict: str = ""
    agreement: float | None = None

    def credit_at(self, k: int | None = None) -> float:
        """Return the credit earned within the first `k` ranks, in [0, 1]; None: within all."""
        credit = 0.0
        for rank, reached in self.steps:
            if k is not None and rank > k:
                break
            credit = reached
        return credit

    @property
    def rank(self) -> int | None:
        """The rank at which the target is found in full; None if it never is."""
        return self.steps[-1].rank if self.steps and self.steps[-1].credit >= 1.0 else None

    def found_at(self, k: int | None = None) -> bool:
        """Return whether the target is found in full within the first `k` ranks."""
        return self.rank is not None and (k is None or self.rank <= k)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        plain: dict[str, Any] = {"target": list(self.target.any_of)}
        if self.target.weight != 1.0:
            plain["weight"] = self.target.weight
        if self.target.grade != 1.0:
            plain["grade"] = self.target.grade
        plain["steps"] = [list(step) for step in self.steps]
        plain["ranks"] = list(self.ranks)
        if self.evidence:
            plain["evidence"] = [
                {name: value for name, value in item._asdict().items() if value is not None}
                for item in self.evidence
            ]
        if self.verdict:
            plain["verdict"] = self.verdict
        if self.agreement is not None:
            plain["agreement"] = self.agreement
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Finding:
        """Return the finding that `to_dict` wrote."""
        return cls(
            Target(tuple(plain["target"]), plain.get("weight", 1.0), plain.get("grade", 1.0)),
            tuple(Step(rank, credit) for rank, credit in plain["steps"]),
            tuple(plain["ranks"]),
            tuple(Evidence(**item) for item in plain.get("evidence", ())),
            plain.get("verdict", ""),
            plain.get("agreement"),
        )


class WholeFindings(Sequence[Finding]):
    """Findings of targets that one context finds in full, kept as columns until they are read.

    `ranks[i]` holds the ranks that support `references[i]`, ascending; `weights[i]` its weight.
    A run over ten thousand queries reads the scores of all and the findings of few: a `Finding`
    is made when it is asked for, and measures read the columns.
    """

    __slots__ = ("_relevant", "ranks", "references", "weights")

    def __init__(
        self,
        references: Sequence[Reference],
        ranks: Sequence[tuple[int, ...]],
        weights: Sequence[float] | None = None,
    ) -> None:
        self.references = references
        self.ranks = ranks
        self.weights = weights
        self._relevant: list[int] | None = None

    @property
    def first_ranks(self) -> list[int]:
        """The rank at which each target that was found is found, in no order."""
        return [ranks[0] for ranks in self.ranks if ranks]

    @property
    def relevant_ranks(self) -> list[int]:
        """The ranks that support any target, ascending, each once."""
        if self._relevant is None:
            self._relevant = sorted(set().union(*self.ranks))
        return self._relevant

    def __len__(self) -> int:
        return len(self.references)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        reference, ranks = self.references[index], self.ranks[index]
        weight = 1.0 if self.weights is None else self.weights[index]
        return Finding(
            Target(reference.any_of, weight, reference.grade),
            (Step(ranks[0], 1.0),) if ranks else (),
            ranks,
        )

    def __iter__(self) -> Iterator[Finding]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class LateFindings(Sequence[Finding]):
    """Findings of which the first ranks are known, and the rest is worked out when it is read.

    Recall needs no more than the first rank of each target; precision and evidence need to look
    at every context. `firsts[i]` is the rank at which target i is found whole, None if it is not;
    `make(i)` returns its finding, must not raise, and is asked once. Pickles as a plain tuple.
    """

    __slots__ = ("_firsts", "_made", "_make")

    weights: ClassVar[None] = None

    def __init__(self, firsts: Sequence[int | None], make: Callable[[int], Finding]) -> None:
        self._firsts = firsts
        self._make = make
        self._made: dict[int, Finding] = {}

    @property
    def first_ranks(self) -> list[int]:
        """The rank at which each target that was found is found, in no order."""
        return [first for first in self._firsts if first is not None]

    def __len__(self) -> int:
        return len(self._firsts)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        position = range(len(self))[index]
        if position not in self._made:
            self._made[position] = self._make(position)
        return self._made[position]

    def __iter__(self) -> Iterator[Finding]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[Finding, ...]]]:
        return tuple, (tuple(self),)
