"""A judge's verdicts on contexts that nobody labeled: which claims does each support by itself?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fullrecall.judges.flow import side_by_side
from fullrecall.judges.judge import Flow, Judge, Verdict
from fullrecall.sample import Sample
from fullrecall.testset.completeness import Kind
from fullrecall.testset.pool import Pair


class Assessed(NamedTuple):
    """The verdict on one context: whether it is relevant, None without a verdict.

    `claims` are the 0-based numbers of the claims that it supports by itself.
    """

    relevant: bool | None
    claims: frozenset[int] = frozenset()
    problem: str = ""


class Judged(NamedTuple):
    """A pair that nobody had labeled, with the judge's verdict; `item` identifies it.

    A pair without a text is never judged.
    """

    pair: Pair
    verdict: Assessed
    item: str

    @property
    def kind(self) -> Kind | None:
        """What the judge said; None of a pair without a text."""
        if not self.pair.context.text:
            return None
        if self.verdict.relevant is None:
            return "no verdict"
        return "yes" if self.verdict.relevant else "no"


def assessed(
    judge: Judge, sample: Sample, claims: Sequence[str], texts: Sequence[str]
) -> Flow[list[Assessed]]:
    """Return the verdict on each text.

    All texts are judged by their relevance first, together. Where the question has claims, each
    text that may be relevant is then judged alone: it counts if it supports a whole claim.
    """
    reference = sample.reference or " ".join(claims) or None
    question = sample.user_input
    screened = yield from judge.relevance(texts, question=question, reference=reference)
    if not claims:
        return [_of_relevance(verdict) for verdict in screened]
    near = [at for at, verdict in enumerate(screened) if verdict.helps]
    attributed = yield from side_by_side(
        [judge.attribute(claims, [texts[at]], question=question) for at in near]
    )
    by_text = dict(zip(near, attributed, strict=True))
    return [
        _of_claims(by_text[at]) if at in by_text else _of_relevance(verdict)
        for at, verdict in enumerate(screened)
    ]


def _of_relevance(verdict: Verdict) -> Assessed:
    if verdict.label is None:
        return Assessed(None, problem=verdict.problem)
    return Assessed(verdict.label == "supported")


def _of_claims(verdicts: Sequence[Verdict]) -> Assessed:
    supported = frozenset(n for n, verdict in enumerate(verdicts) if verdict.label == "supported")
    unjudged = [verdict.problem for verdict in verdicts if verdict.label is None]
    if unjudged and not supported:
        return Assessed(None, problem=unjudged[0])
    return Assessed(bool(supported), supported)
