"""The judgments of a pool, the judge's and people's, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fullrecall.sample import Sample
from fullrecall.testset.assessment import Judged
from fullrecall.testset.estimate import RIGHT, Estimate, estimated
from fullrecall.testset.pool import Pool
from fullrecall.usage import Spent


@dataclass(frozen=True)
class Judgments:
    """What was judged in a pool and below it, and what people say of it.

    `strata` are the sizes of the tail's strata; empty without a tail. `labels` are people's, by
    the items of what was judged: True for relevant.
    """

    given: Sequence[Sample]
    pool: Pool
    judged: Sequence[Judged]
    strata: Sequence[int]
    depth: int
    frame: int
    names: Sequence[str]
    seed: int = 0
    labels: Mapping[str, bool] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)
    problems: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def estimate(self) -> Estimate:
        """How complete the references are, or why that cannot be said."""
        return estimated(self.judged, self.strata, self.labels, self._known)

    @cached_property
    def accepted(self) -> list[Judged]:
        """What is added: nothing without labels; else what people or a judge that is right say."""
        if not self.labels:
            return []
        share = self.estimate.right
        trusted = share is not None and share.value >= RIGHT
        return [
            one
            for one in self.judged
            if self.labels.get(one.item, trusted and one.stratum is None and one.verdict[0])
            and self._has_place(one)
        ]

    def claims_of(self, one: Judged) -> frozenset[int]:
        """Return the claims that a pair supports; the only one, where people say so."""
        targets = self.pool.targets[one.pair.question]
        return one.verdict.claims or frozenset(range(targets.count if targets.count == 1 else 0))

    @property
    def seeds_in_pool(self) -> float | None:
        """The share of targets that some retriever has within `depth`: a check, no estimate."""
        found = total = 0
        for number, pairs in enumerate(self.pool.pairs):
            if number not in self.pool.problems:
                total += self.pool.targets[number].count
                near = (pair.named for pair in pairs if pair.best <= self.depth)
                found += len(frozenset[int]().union(*near))
        return found / total if total else None

    def _has_place(self, one: Judged) -> bool:
        """Whether it is known which claim the pair supports, where targets are claims."""
        return self._is_own_target(one) or bool(self.claims_of(one))

    @cached_property
    def _known(self) -> int:
        return sum(bool(pair.named) for pairs in self.pool.pairs for pair in pairs)

    def _is_own_target(self, one: Judged) -> bool:
        return not self.pool.targets[one.pair.question].are_claims
