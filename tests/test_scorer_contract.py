"""All scorers keep one contract, and the contract is not empty: it rejects wrong scorers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import fullrecall
from fullrecall import (
    ClaimRecall,
    ContextPrecision,
    ContextUtilization,
    EntityRecall,
    IdRecall,
    PrecisionRecall,
    QuestionRecall,
    Sample,
    SpanRecall,
    TextRecall,
)
from fullrecall.finding import Finding, Step, Target
from fullrecall.result import Result, Status
from fullrecall.scorers import FindingScorer, Found
from fullrecall.testing import SCORER_CHECKS, ContainmentJudge

if TYPE_CHECKING:
    from collections.abc import Callable

RECALLS = (IdRecall, TextRecall, SpanRecall, EntityRecall, ClaimRecall)
HEADLINE_IS_NOT_RECALL = (ContextPrecision, PrecisionRecall)
NEED_NO_REFERENCE = (QuestionRecall, ContextUtilization)
"""Their tests are beside those of the judges: half of the contract is about references."""


def factory_of(scorer: type[FindingScorer]) -> Callable[..., FindingScorer]:
    """Return what makes the scorer, with a judge where it needs one."""
    if scorer in (ClaimRecall, PrecisionRecall):
        return partial(scorer, judge=ContainmentJudge())
    return scorer


@pytest.mark.parametrize("check", SCORER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("scorer", [*RECALLS, *HEADLINE_IS_NOT_RECALL])
def test_every_scorer_keeps_the_contract(
    scorer: type[FindingScorer], check: Callable[[Any], None]
) -> None:
    """One suite of promises holds for every scorer that the package exports."""
    check(factory_of(scorer))


def test_no_scorer_escapes_the_contract() -> None:
    """A scorer that is exported but not classified here fails, so that none goes untested."""
    exported = {
        value
        for value in vars(fullrecall).values()
        if isinstance(value, type) and issubclass(value, FindingScorer)
    }
    assert exported == {*RECALLS, *HEADLINE_IS_NOT_RECALL, *NEED_NO_REFERENCE}


class _Wrong(IdRecall):
    """Base of the wrong scorers below: each breaks one promise."""


class _CountsDuplicates(_Wrong):
    """Finds a target again at every duplicate, so that precision rises."""

    def _find(self, sample: Sample) -> Found:
        findings, retrieved, *_ = super()._find(sample)
        ids = sample.retrieved_context_ids or ()
        repeated = [
            finding._replace(
                ranks=tuple(r for r, i in enumerate(ids, 1) if i in finding.target.any_of)
            )
            for finding in findings
        ]
        return Found(repeated, retrieved)


class _MovesItsDenominator(_Wrong):
    """Forgets the targets that it did not find, as a judge that omits a claim does."""

    def _find(self, sample: Sample) -> Found:
        findings, retrieved, *_ = super()._find(sample)
        return Found([f for f in findings if f.rank] or findings, retrieved)


class _EmptyIsPerfect(_Wrong):
    """Gives 1.0 where there is nothing to find."""

    def score(self, sample: Sample | None = None, /, **fields: Any) -> Result:
        result = super().score(sample, **fields)
        if result.status is Status.UNDEFINED:
            done = Finding(Target(("nothing",)), (Step(1, 1.0),), (1,))
            return Result(self.method, Status.SCORED, (done,), 1)
        return result


class _FailureIsZero(_Wrong):
    """Turns what was not measured into 0.0."""

    def score(self, sample: Sample | None = None, /, **fields: Any) -> Result:
        result = super().score(sample, **fields)
        if result.status is Status.UNSCORED:
            return Result(self.method, Status.SCORED, (Finding(Target(("?",))),), 0)
        return result


class _SortsByScore(_Wrong):
    """Re-sorts the ranking by the retriever's scores."""

    def _find(self, sample: Sample) -> Found:
        contexts = sample.retrieved_contexts
        if contexts:
            sample = sample.with_retrieval(sorted(contexts, key=lambda c: -(c.score or 0.0)))
        return super()._find(sample)


class _IgnoresK(_Wrong):
    """Takes k and scores the whole list."""

    def score(self, sample: Sample | None = None, /, **fields: Any) -> Result:
        whole = IdRecall(zero_division=self.zero_division)
        return whole.score(sample, **fields)


@dataclass(frozen=True, kw_only=True)
class _TakesAnything(_Wrong):
    """Checks no parameter."""

    def __post_init__(self) -> None:
        pass


class _OrderMatters(_Wrong):
    """Gives the first reference twice the weight of the others."""

    def _find(self, sample: Sample) -> Found:
        findings, retrieved, *_ = super()._find(sample)
        first, *others = findings or [Finding(Target(("?",)))]
        doubled = first._replace(target=first.target._replace(weight=2.0))
        return Found([doubled, *others] if findings else [], retrieved)


@pytest.mark.parametrize("wrong", _Wrong.__subclasses__(), ids=lambda wrong: wrong.__name__)
def test_the_contract_rejects_a_wrong_scorer(wrong: type[FindingScorer]) -> None:
    """Each way of lying that this field knows is caught by at least one check."""
    broken = []
    for check in SCORER_CHECKS:
        try:
            check(wrong)
        except Exception:  # noqa: BLE001 - a wrong scorer may break in any way
            broken.append(check.__name__)
    assert broken
