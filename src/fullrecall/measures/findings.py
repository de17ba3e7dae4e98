"""The findings of a scorer: for each target, how much of it was retrieved, and at which ranks.

Every measure is computed from findings, whatever scorer made them. Measures read findings as
columns (`fullrecall.measures.found`); a `Finding` object is created only when a caller reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class Target(NamedTuple):
    """One thing that must be found: a reference ID, a reference context, a claim, an entity.

    `any_of` has its ID or text, or those of its alternatives. `grade` is its relevance, above 0,
    from which nDCG computes its gain; it is 1.0 unless the references are graded. `size` is the
    number of characters of a passage, else 1.0.
    """

    any_of: tuple[str, ...]
    grade: float = 1.0
    size: float = 1.0

    @property
    def label(self) -> str:
        """The target for a person to read: its ID or text, with bars between alternatives."""
        return " | ".join(self.any_of)


class Evidence(NamedTuple):
    """One place where a context supports a target.

    `rank` is 1-based. `start` and `end` are half-open offsets in the context's text, `target_start`
    and `target_end` those in the target's text; all are None if the scorer gives none. `similarity`
    is in [0, 1]. `quote` is a judge's quote from the context. `verified` says whether the quote is
    in the context and bears on the target. Both are None without a judge.
    """

    rank: int
    start: int | None = None
    end: int | None = None
    target_start: int | None = None
    target_end: int | None = None
    similarity: float | None = None
    quote: str | None = None
    verified: bool | None = None


class CreditStep(NamedTuple):
    """A rise of a target's credit: from the 1-based `rank` on, it is `credit`, in (0, 1]."""

    rank: int
    credit: float


class VerdictPart(NamedTuple):
    """One of several verdicts on a target: for a window or a fact, or by a judge of a panel.

    `label` is the verdict's label, or "". `evidence` has the indices, in the finding's evidence, of
    the items that the verdict cites; `together` is True if it needs all of them. `vote` is the
    1-based number of the judge in a panel; 0 for a single judge. `fact` is the judged fact of a
    compound target, empty for a verdict on the whole target.
    """

    label: str
    evidence: tuple[int, ...] = ()
    together: bool = False
    vote: int = 0
    fact: str = ""


class Finding(NamedTuple):
    """The ranks, credit, and evidence of one target.

    `steps` is the cumulative credit by rank; both increase strictly. It is empty for a missed
    target. `ranks` are the 1-based ranks of all contexts that support the target, ascending.
    `steps` may have fewer ranks: those at which the credit rises. `evidence` is in rank order.
    `verdict` is a judge's label, empty without a judge; `agreement` is the share of a panel that
    gave it, or None. `unverified` is the part of the credit that rests on quotes that were not
    verified, in [0, 1]. `contested` is the reason why the verdict is in doubt, such as contexts
    that manipulate the judge, or "". `parts` are the verdicts from which `verdict` was combined.
    They are empty if there was only one verdict, unless it needs several contexts together.
    `support` is the probability that the contexts support the target, if the judge estimates one;
    `referred` is True if the second judge of a cascade decided.
    """

    target: Target
    steps: tuple[CreditStep, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdict: str = ""
    agreement: float | None = None
    unverified: float = 0.0
    contested: str = ""
    parts: tuple[VerdictPart, ...] = ()
    support: float | None = None
    referred: bool = False

    def credit_at(self, k: int | None = None) -> float:
        """Return the credit earned within the first `k` ranks (None: all ranks), in [0, 1]."""
        credit = 0.0
        for rank, reached in self.steps:
            if k is not None and rank > k:
                break
            credit = reached
        return credit

    @property
    def rank(self) -> int | None:
        """The rank at which the target is found in full; None if it is not found in full."""
        return self.steps[-1].rank if self.steps and self.steps[-1].credit >= 1.0 else None

    def found_at(self, k: int | None = None) -> bool:
        """Return whether the target is found in full within the first `k` ranks (None: all)."""
        return self.rank is not None and (k is None or self.rank <= k)


Findings: TypeAlias = Sequence[Finding]


def found_at_once(target: Target, position: int) -> Finding:
    """Return the finding of a target that one context supports in full; position 0 means a miss."""
    if not position:
        return Finding(target)
    return Finding(target, (CreditStep(position, 1.0),), (position,))


def by_rank(findings: Findings, ranks: Sequence[int]) -> Findings:
    """Convert findings by position in a merged list to findings by rank.

    `ranks[i]` is the rank, in its own list, of the context at position i + 1; ranks ascend, and
    several contexts may share one.
    """
    ranked = []
    for finding in findings:
        credit = {ranks[position - 1]: reached for position, reached in finding.steps}
        steps = tuple(CreditStep(rank, reached) for rank, reached in credit.items())
        supporting = tuple(dict.fromkeys(ranks[position - 1] for position in finding.ranks))
        evidence = tuple(each._replace(rank=ranks[each.rank - 1]) for each in finding.evidence)
        ranked.append(finding._replace(steps=steps, ranks=supporting, evidence=evidence))
    return tuple(ranked)
