"""What a scorer finds out: for each target, how much of it was retrieved, and at which ranks.

Every measure is computed from findings, and no measure knows which scorer made them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


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
        """The target as a human reads it: its ID or text, alternatives with a bar between them."""
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
    `judge` names the judge that settled it before the last of a cascade was asked, and is empty
    where none did. `unverified` is the credit, of all that was earned, that rests on quotes which
    were not verified, in [0, 1]; `contested` says why a verdict was judged apart from the others.
    """

    target: Target
    steps: tuple[Step, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdict: str = ""
    agreement: float | None = None
    judge: str = ""
    unverified: float = 0.0
    contested: str = ""

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
        if self.judge:
            plain["judge"] = self.judge
        if self.unverified:
            plain["unverified"] = self.unverified
        if self.contested:
            plain["contested"] = self.contested
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
            plain.get("judge", ""),
            plain.get("unverified", 0.0),
            plain.get("contested", ""),
        )


def unverified_share(findings: Iterable[Finding]) -> float | None:
    """Return the share of judged credit that rests on unverified quotes, in [0, 1].

    Credit is that earned over all ranks, weighted as recall is; None where no judge gave any.
    """
    credit = unverified = 0.0
    for finding in findings:
        if finding.verdict:
            credit += finding.target.weight * finding.credit_at()
            unverified += finding.target.weight * finding.unverified
    return unverified / credit if credit else None
