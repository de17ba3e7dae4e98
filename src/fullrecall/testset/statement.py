"""What a completion says, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from fullrecall.testset.completeness import Share
from fullrecall.testset.gain import REFUSE, WARN, recalls, unjudged_share
from fullrecall.testset.judgments import Judgments

_K = 10


def statement(completion: Judgments) -> str:
    """Return what a completion found, each figure with what it stands on."""
    return "\n".join(_lines(completion))


def _lines(completion: Judgments) -> Iterator[str]:
    questions, failed = len(completion.given), len(completion.pool.problems)
    yield (
        f"{questions:,} questions, {len(completion.names)} retrievers: "
        f"{len(completion.judged):,} unlabeled contexts judged"
    )
    if failed:
        yield f"  {failed:,} questions left out, since a retriever failed on them"
    for why, count in completion.problems.items():
        yield f"  {count:,} contexts without a verdict: {why}"
    yield _complete(completion)
    yield from _added(completion)
    k = min(_K, completion.depth)
    for one in recalls(completion, k):
        line = f"  {one.retriever}: recall@{k} per target {one.before:.3f} → {one.after:.3f}"
        if one.corrected is not None:
            line += f" → {one.corrected.value:.3f} {_range(one.corrected)} corrected"
        elif completion.accepted and any(not t.are_claims for t in completion.pool.targets):
            line += ", at most"
        yield line
    for which, name in enumerate(completion.names):
        share = unjudged_share(completion.pool, completion.judged, which, k)
        if share > WARN:
            advice = "do not compare its recall" if share > REFUSE else "its recall may be higher"
            yield f"  {name}: {share:.0%} of the first {k} never judged: {advice}"
    seeds = completion.seeds_in_pool
    if seeds is not None:
        yield f"  references in the pool: {seeds:.0%} (a check, no estimate)"


def _complete(completion: Judgments) -> str:
    estimate = completion.estimate
    frame = f"among each retriever's first {completion.frame}"
    if estimate.complete is None:
        return f"  completeness: not known: {estimate.refused}"
    share = estimate.complete
    if estimate.lower_only:
        said = f"at least {share.low:.0%} complete {frame}"
        if estimate.needed:
            said += f"; tail={estimate.needed:,} may show more"
    elif estimate.at_most:
        said = f"at most {share.value:.0%} complete {frame}: label the whole tail for an interval"
    else:
        said = f"{share.value:.0%} complete {_range(share)} {frame}"
    return f"  references {said}" + (" by the judge alone" if estimate.by_judge else "")


def _added(completion: Judgments) -> Iterator[str]:
    finds = sum(bool(one.verdict.relevant) for one in completion.judged)
    right = completion.estimate.right
    if not completion.labels:
        yield f"  {finds:,} found relevant by the judge alone: nothing is added without labels"
        return
    confirmed = sum(one.item in completion.labels for one in completion.accepted)
    yield f"  {len(completion.accepted):,} added, {confirmed:,} of them confirmed by people"
    if right is not None:
        said = f"  {right.value:.0%} {_range(right)} of the judge's finds are right"
        few = confirmed == len(completion.accepted) < finds
        yield said + (": only confirmed ones are added" if few else "")


def _range(share: Share) -> str:
    return f"[{share.low:.0%}, {share.high:.0%}]"
