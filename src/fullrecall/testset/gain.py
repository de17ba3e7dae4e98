"""What completing the references changes: recall, false misses, what is unjudged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, inf, log, sqrt
from typing import Any, NamedTuple

from fullrecall.findings import Finding, Step, Target
from fullrecall.measures import Recall
from fullrecall.sample import Sample
from fullrecall.testset.assessment import Judged
from fullrecall.testset.completeness import Share
from fullrecall.testset.estimate import RIGHT
from fullrecall.testset.judgments import Judgments
from fullrecall.testset.pool import Pool, Targets

WARN, REFUSE = 0.1, 0.2
"""Shares of unjudged contexts above which recall is doubtful, and not to be compared."""

_DEVIATES = 1.959963984540054


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


class _Found(NamedTuple):
    """Of one question: the findings before and after."""

    before: list[Finding]
    after: list[Finding]


def recalls(completion: Judgments, k: int) -> list[RecallAtK]:
    """Return each retriever's recall at k before and after, and corrected."""
    results = []
    for which, name in enumerate(completion.names):
        rows = _rows(completion, which)
        before = [finding for row in rows for finding in row.before]
        after = [finding for row in rows for finding in row.after]
        if before:
            results.append(
                RecallAtK(
                    name,
                    k,
                    _recall(before, k),
                    _recall(after, k),
                    _corrected(completion, which, k),
                )
            )
    return results


def _recall(findings: Sequence[Finding], k: int) -> float:
    return (Recall @ k).of(findings, k) or 0.0


def _rows(completion: Judgments, which: int) -> list[_Found]:
    by_question: dict[int, list[Judged]] = {}
    for one in completion.accepted:
        by_question.setdefault(one.pair.question, []).append(one)
    pool = completion.pool
    return [
        _found(completion, number, which, by_question.get(number, []))
        for number in range(len(completion.given))
        if number not in pool.problems
    ]


def _found(completion: Judgments, number: int, which: int, added: Sequence[Judged]) -> _Found:
    targets = completion.pool.targets[number]
    ranks: list[list[int]] = [[] for _ in range(targets.count)]
    for pair in completion.pool.pairs[number]:
        rank = pair.ranks[which]
        if rank is not None:
            for target in pair.named:
                ranks[target].append(rank)
    before = [_finding(str(n), at) for n, at in enumerate(ranks)]
    own: list[Finding] = []
    for one in added:
        rank = one.pair.ranks[which]
        if not targets.are_claims:
            own.append(_finding(one.item, [] if rank is None else [rank]))
        elif rank is not None:
            for claim in completion.claims_of(one):
                ranks[claim].append(rank)
    after = [_finding(str(n), at) for n, at in enumerate(ranks)]
    return _Found(before, after + own)


def _finding(name: str, ranks: Iterable[int]) -> Finding:
    there = tuple(sorted(ranks))
    return Finding(Target((name,)), (Step(there[0], 1.0),) if there else (), there)


def _corrected(completion: Judgments, which: int, k: int) -> Share | None:
    """Return relevant pairs within k / relevant pairs of the frame, estimated from people's labels.

    A pair of the pool that nobody labeled counts as far as its verdict is right. The interval
    joins the questions' spread with that of completeness, on the logarithm (MOVER). None where
    additions join claims, for then nothing is missing from the targets; and where the judge is
    wrong too often for its verdicts to stand for labels.
    """
    estimate, pool = completion.estimate, completion.pool
    share, relevant = estimate.complete, estimate.relevant
    if share is None or not relevant or estimate.by_judge or estimate.at_most:
        return None
    if any(targets.are_claims for targets in pool.targets):
        return None
    if estimate.right is None or estimate.right.value < RIGHT:
        return None
    weights = _weights(completion)
    found, wanted = [], []
    for number, pairs in enumerate(pool.pairs):
        if number not in pool.problems:
            worth = [(p.ranks[which], 1.0 if p.named else weights.get(id(p), 0.0)) for p in pairs]
            found.append(sum(w for rank, w in worth if rank is not None and rank <= k))
            wanted.append(sum(w for _, w in worth))
    hits, total, count = sum(found), sum(wanted), len(found)
    if not hits or count < 2:  # noqa: PLR2004 - one question has no spread
        return Share(hits / relevant, 0.0, 1.0)
    part = hits / total
    squares = sum((f - part * w) ** 2 for f, w in zip(found, wanted, strict=True))
    of_questions = _DEVIATES * sqrt(count / (count - 1) * squares) / total / part
    down, up = log(share.value / share.low) if share.low else inf, log(share.high / share.value)
    value = hits / relevant
    low = value * exp(-sqrt(of_questions**2 + down**2))
    return Share(value, low, min(1.0, value * exp(sqrt(of_questions**2 + up**2))))


def _weights(completion: Judgments) -> dict[int, float]:
    """Return how likely each judged pair is relevant: by its label, else by its verdict's."""
    estimate = completion.estimate
    right = estimate.right.value if estimate.right is not None else 0.0
    return {
        id(one.pair): float(
            completion.labels.get(
                one.item,
                0.0 if one.stratum is not None or one.verdict.relevant is None
                else right if one.verdict.relevant else estimate.overlooked,
            )
        )
        for one in completion.judged
    }  # fmt: skip


def false_misses(completion: Judgments, k: int) -> list[FalseMiss]:
    """Return what each retriever seemed to miss within k and did not."""
    found = []
    for one in completion.accepted:
        targets = completion.pool.targets[one.pair.question]
        sample = completion.given[one.pair.question]
        pairs = completion.pool.pairs[one.pair.question]
        for which, rank in enumerate(one.pair.ranks):
            if rank is None or rank > k:
                continue
            named = _named_within(pairs, which, k)
            missed = (
                sorted(completion.claims_of(one) - named)
                if targets.are_claims
                else ([-1] if len(named) < targets.count else [])
            )
            found += [
                FalseMiss(
                    sample.id or f"#{one.pair.question + 1}",
                    sample.user_input or "",
                    completion.names[which],
                    targets.claims[target] if target >= 0 else "",
                    rank,
                    one.pair.context.id or one.pair.context.label,
                )
                for target in missed
            ]
    return found


def _named_within(pairs: Sequence[Any], which: int, k: int) -> frozenset[int]:
    near = (
        pair.named for pair in pairs if pair.ranks[which] is not None and pair.ranks[which] <= k
    )
    return frozenset[int]().union(*near)


def unjudged_share(pool: Pool, judged: Sequence[Judged], which: int, k: int) -> float:
    """Return the share of one retriever's first k that is neither labeled nor judged."""
    known = {(one.pair.question, id(one.pair)) for one in judged if one.verdict[0] is not None}
    first = holes = 0
    for number, pairs in enumerate(pool.pairs):
        for pair in pairs:
            rank = pair.ranks[which]
            if rank is not None and rank <= k:
                first += 1
                holes += not pair.named and (number, id(pair)) not in known
    return holes / first if first else 0.0


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
        made = sample.metadata.get("testset", {})
        if "judged" not in made or sample.retrieved_contexts is None:
            continue
        count += 1
        seen, targets = set(made["judged"]), Targets(sample)
        for context in sample.retrieved_contexts[:k]:
            first += 1
            known = (context.id or context.text) in seen or context.text in seen
            holes += not known and not targets.named_by(context)
    return Unjudged(k, holes / first if first else 0.0, first, count)
