"""What completing the references changes: recall, false misses, what is unjudged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from fullrecall.corpus import origin_of, texts_in
from fullrecall.findings import Finding, Step, Target
from fullrecall.measures import Recall
from fullrecall.sample import Sample
from fullrecall.testset.assessment import Judged
from fullrecall.testset.completeness import Share
from fullrecall.testset.pool import Pair, Pool, Targets

WARN, REFUSE = 0.1, 0.2
"""Shares of unjudged contexts above which recall is doubtful, and not to be compared."""


class RecallAtK(NamedTuple):
    """One retriever's recall at k, over all targets of all questions together.

    `before` by the references as they were, `after` with what was added: an upper bound where
    additions are targets of their own, for what nobody found is missing from it. `corrected`
    counts that too, with its interval; None where completeness cannot be said.
    """

    retriever: str
    k: int
    before: float
    after: float
    corrected: Share | None


class FalseMiss(NamedTuple):
    """A target that a retriever seemed to miss within k, and the context that has it.

    `target` is the claim, or empty where the context is a target of its own; `rank` is 1-based.
    """

    sample: str
    question: str
    retriever: str
    target: str
    rank: int
    context: str


def recall_of(
    pool: Pool, accepted: Sequence[Judged], which: int, k: int
) -> tuple[float, float] | None:
    """Return one retriever's recall at k before and after; None where there is no target."""
    before: list[Finding] = []
    after: list[Finding] = []
    by_question: defaultdict[int, list[Judged]] = defaultdict(list)
    for candidate in accepted:
        by_question[candidate.pair.question].append(candidate)
    for number, targets in enumerate(pool.targets):
        ranks: list[list[int]] = [[] for _ in range(targets.count)]
        for pair in pool.pairs[number]:
            rank = pair.ranks[which]
            for target in pair.named if rank is not None else ():
                ranks[target].append(rank)  # type: ignore[arg-type]
        before += [_finding(str(n), at) for n, at in enumerate(ranks)]
        own: defaultdict[int, list[int]] = defaultdict(list)
        for candidate in by_question[number]:
            rank = candidate.pair.ranks[which]
            there = [] if rank is None else [rank]
            joined = targets.joined_by(candidate.pair, candidate.verdict.claims)
            for target in joined:
                ranks[target] += there
            if not joined:
                own[id(candidate) if candidate.pair.twin is None else -candidate.pair.twin] += there
        after += [_finding(f"own {key}", at) for key, at in own.items()]
        after += [_finding(str(n), at) for n, at in enumerate(ranks)]
    measure = Recall @ k
    return (measure.of(before, k) or 0.0, measure.of(after, k) or 0.0) if before else None


def _finding(name: str, ranks: Iterable[int]) -> Finding:
    there = tuple(sorted(ranks))
    return Finding(Target((name,)), (Step(there[0], 1.0),) if there else (), there)


def false_misses(
    samples: Sequence[Sample], pool: Pool, accepted: Sequence[Judged], names: Sequence[str], k: int
) -> list[FalseMiss]:
    """Return what each retriever seemed to miss within k and did not."""
    gains = []
    for candidate in accepted:
        number = candidate.pair.question
        targets, sample = pool.targets[number], samples[number]
        for which, rank in enumerate(candidate.pair.ranks):
            if rank is None or rank > k:
                continue
            named = _named_within(pool.pairs[number], which, k)
            missed = sorted(targets.joined_by(candidate.pair, candidate.verdict.claims) - named)
            if not targets.are_claims and not missed:
                missed = [-1] if len(named) < targets.count else []
            gains += [
                FalseMiss(
                    sample.id or f"#{number + 1}",
                    sample.user_input or "",
                    names[which],
                    targets.claims[target] if targets.are_claims else "",
                    rank,
                    candidate.pair.context.id or candidate.pair.context.label,
                )
                for target in missed
            ]
    return gains


def _named_within(pairs: Sequence[Pair], which: int, k: int) -> frozenset[int]:
    near = (pair.named for pair in pairs if (pair.ranks[which] or k + 1) <= k)
    return frozenset[int]().union(*near)


def unjudged_share(pool: Pool, labeled: AbstractSet[int], which: int, k: int) -> float:
    """Return the share of one retriever's first k that nobody labeled or judged.

    `known` are the identities of the pairs that somebody did.
    """
    near = [p for pairs in pool.pairs for p in pairs if (p.ranks[which] or k + 1) <= k]
    return sum(not p.named and id(p) not in labeled for p in near) / len(near) if near else 0.0


class Unjudged(NamedTuple):
    """How much of the first k of a retrieval nobody ever labeled or judged.

    `share` is in [0, 1], of `contexts` in `samples` samples that were completed.
    """

    k: int
    share: float
    contexts: int
    samples: int

    @property
    def is_comparable(self) -> bool:
        """Whether recall at k may be compared with another's: at most 20 % are unjudged."""
        return self.share <= REFUSE

    def __str__(self) -> str:
        said = f"{self.share:.1%} of the first {self.k} were never judged"
        if self.share > REFUSE:
            return f"{said}: do not compare this recall, complete with this retriever"
        return f"{said}: recall may be higher" if self.share > WARN else said


def unjudged(samples: Iterable[Sample], k: int) -> Unjudged:
    """Return how much of the first `k` retrieved nobody judged, of samples that were completed.

    The contexts that `complete` judged are in the samples' metadata; what the references name is
    judged too. Samples that were never completed, or have no retrieval, are left out.
    """
    first = holes = count = 0
    for sample in samples:
        origin = origin_of(sample)
        if "judged" not in origin or sample.retrieved_contexts is None:
            continue
        count += 1
        judged, targets = set(texts_in(origin, "judged")), Targets(sample)
        for context in sample.retrieved_contexts[:k]:
            first += 1
            is_known = (context.id or context.text) in judged or context.text in judged
            holes += not is_known and not targets.named_by(context)
    return Unjudged(k, holes / first if first else 0.0, first, count)
