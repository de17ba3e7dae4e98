"""All scorers keep one contract, which rejects wrong scorers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.containment_judge import ContainmentJudge
from tests.precision_by_id import PrecisionById

import fullrecall
from fullrecall import (
    ClaimRecall,
    ContextPrecision,
    EntityRecall,
    IdRecall,
    QuestionRecall,
    Sample,
    SpanRecall,
    TextRecall,
)
from fullrecall.errors import ReportError
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.scorers import FindingScorer, Found
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.testing import SCORER_CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable

RECALLS = (IdRecall, TextRecall, SpanRecall, EntityRecall, ClaimRecall)
NEED_NO_REFERENCE = (QuestionRecall, ContextPrecision)
"""Their tests are beside those of the judges: half of the contract is about references."""

OF_ANY_TARGETS = [
    check
    for check in SCORER_CHECKS
    if check.__name__
    in (
        "check_findings_are_well_formed",
        "check_name",
        "check_duplicates_never_raise",
        "check_async_agrees",
        "check_values_are_plain",
        "check_results_are_saved_whole",
    )
]
"""The part of the contract for scorers whose targets are the contexts themselves."""


def factory_of(scorer: type[FindingScorer]) -> Callable[..., FindingScorer]:
    """Return a factory of the scorer, with a judge if it needs one."""
    if scorer is ClaimRecall:
        return partial(scorer, judge=ContainmentJudge())
    return scorer


@pytest.mark.parametrize("check", SCORER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("scorer", [*RECALLS, PrecisionById])
def test_every_scorer_keeps_the_contract(
    scorer: type[FindingScorer], check: Callable[[Any], None]
) -> None:
    """One suite of promises holds for every scorer that the package exports."""
    check(factory_of(scorer))


@pytest.mark.parametrize("check", OF_ANY_TARGETS, ids=lambda check: check.__name__)
def test_context_precision_keeps_what_is_not_about_references(
    check: Callable[[Any], None],
) -> None:
    """Context precision keeps the promises that do not concern references."""
    check(ContextPrecision)


def test_no_scorer_escapes_the_contract() -> None:
    """Every exported scorer is classified here, so that none goes untested."""
    exported = {
        value
        for value in (getattr(fullrecall, name) for name in fullrecall.__all__)
        if isinstance(value, type) and issubclass(value, FindingScorer)
    }
    assert exported == {*RECALLS, *NEED_NO_REFERENCE}


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
            done = Finding(Target(("nothing",)), (CreditStep(1, 1.0),), (1,))
            return Result(self.method, Status.SCORED, (done,), 1)
        return result


class _FailureIsZero(_Wrong):
    """Turns an unscored sample into a score of 0.0."""

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


class _CutsTheList(_Wrong):
    """Looks at the first two contexts only, as a scorer with a k of its own would."""

    def _find(self, sample: Sample) -> Found:
        if sample.retrieved_contexts:
            sample = sample.with_retrieval(sample.retrieved_contexts[:2])
        return super()._find(sample)


class _CountsFromZero(_Wrong):
    """Gives ranks that count from 0."""

    def _find(self, sample: Sample) -> Found:
        found = super()._find(sample)
        lower = [
            finding._replace(
                ranks=tuple(rank - 1 for rank in finding.ranks),
                steps=tuple(step._replace(rank=step.rank - 1) for step in finding.steps),
            )
            for finding in found.findings
        ]
        return Found(lower, found.retrieved)


class _EarnsTooMuch(_Wrong):
    """Gives credit above 1, which recall hides by cutting it."""

    def _find(self, sample: Sample) -> Found:
        found = super()._find(sample)
        much = [
            f._replace(steps=tuple(step._replace(credit=1.5) for step in f.steps))
            for f in found.findings
        ]
        return Found(much, found.retrieved)


class _EvidenceElsewhere(_Wrong):
    """Cites a context that does not support the target."""

    def _find(self, sample: Sample) -> Found:
        found = super()._find(sample)
        return Found(
            [f._replace(evidence=(Evidence(found.retrieved),)) for f in found.findings],
            found.retrieved,
        )


class _HidesItsName(_Wrong):
    """Takes a name and keeps its kind."""

    @property
    def method(self) -> Method:
        return replace(super().method, name=self.kind)


class _TargetsByRank(_Wrong):
    """Names its targets by where they were found, so that two retrievals never meet."""

    def _find(self, sample: Sample) -> Found:
        found = super()._find(sample)
        named = [
            f._replace(target=Target((f"{f.target.label} at {f.rank}",))) for f in found.findings
        ]
        return Found(named, found.retrieved)


class _AsyncDiffers(_Wrong):
    """Gives another result from `ascore`."""

    async def ascore(self, sample: Sample | None = None, /, **fields: Any) -> Result:
        return replace(self.score(sample, **fields), note="later")


class _CannotBeSaved(_Wrong):
    """Notes an unmeasured target that a file cannot store."""

    def score(self, sample: Sample | None = None, /, **fields: Any) -> Result:
        return replace(super().score(sample, **fields), unmeasured=(("target", 7),))  # type: ignore[arg-type]


class _CanBeChanged(_Wrong):
    """Lets its name be changed, which reports rely on."""

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


class _UnpicklesAsAnother(_Wrong):
    """Loses its class in another process."""

    def __reduce__(self) -> Any:
        return IdRecall, ()


class _OrderMatters(_Wrong):
    """Gives the first reference twice the weight of any other."""

    def _find(self, sample: Sample) -> Found:
        findings, retrieved, *_ = super()._find(sample)
        first, *others = findings or [Finding(Target(("?",)))]
        doubled = first._replace(target=first.target._replace(grade=2.0))
        return Found([doubled, *others] if findings else [], retrieved)


CAUGHT_BY: dict[type[_Wrong], str] = {
    _CountsDuplicates: "check_duplicates_never_raise",
    _MovesItsDenominator: "check_one_finding_per_target",
    _EmptyIsPerfect: "check_degenerate_samples",
    _FailureIsZero: "check_degenerate_samples",
    _SortsByScore: "check_order_is_rank",
    _CutsTheList: "check_one_finding_per_target",
    _CountsFromZero: "check_findings_are_well_formed",
    _EarnsTooMuch: "check_findings_are_well_formed",
    _EvidenceElsewhere: "check_findings_are_well_formed",
    _HidesItsName: "check_name",
    _TargetsByRank: "check_identity_of_targets",
    _AsyncDiffers: "check_async_agrees",
    _CannotBeSaved: "check_results_are_saved_whole",
    _CanBeChanged: "check_values_are_plain",
    _UnpicklesAsAnother: "check_values_are_plain",
    _OrderMatters: "check_reference_order_and_duplicates",
}


@pytest.mark.parametrize("wrong", _Wrong.__subclasses__(), ids=lambda wrong: wrong.__name__)
def test_the_contract_rejects_a_wrong_scorer(wrong: type[_Wrong]) -> None:
    """Each known fault of a scorer is caught by the check that is meant for it."""
    (check,) = (check for check in SCORER_CHECKS if check.__name__ == CAUGHT_BY[wrong])
    with pytest.raises((AssertionError, ReportError)):
        check(wrong)


class _Said:
    """A result of which some attributes say something else."""

    def __init__(self, result: Result, said: dict[str, Any]) -> None:
        self._result, self._said = result, said

    def __getattr__(self, name: str) -> Any:
        return self._said[name] if name in self._said else getattr(self._result, name)

    def __getitem__(self, measure: Any) -> Any:
        return self._said["values"] if "values" in self._said else self._result[measure]


def lying(at: int, said: dict[str, Any]) -> type[IdRecall]:
    """Return a right scorer whose result of call `at`, from 0, says something else."""
    calls = iter(range(10**6))

    class Lying(IdRecall):
        def score(self, sample: Sample | None = None, /, **fields: Any) -> Any:
            result = super().score(sample, **fields)
            return _Said(result, said) if next(calls) == at else result

    return Lying


FOUND = Finding(Target(("a",)), (CreditStep(1, 1.0),), (1,), (Evidence(1),))
LIES: list[tuple[str, int, dict[str, Any], str]] = [
    ("perfect_and_nothing", 0, {"score": 0.9}, "score 0.9, not 1.0"),
    ("perfect_and_nothing", 0, {"missed": (Target(("a",)),)}, "but missed is"),
    ("perfect_and_nothing", 1, {"score": 0.1}, "score 0.1, not 0.0"),
    ("perfect_and_nothing", 1, {"missed": ("a", "b")}, "no target of 3 retrieved"),
    ("perfect_and_nothing", 1, {"missed": ("a", "b", "c", "d")}, "no target of 3 retrieved"),
    ("one_finding_per_target", 0, {"findings": (FOUND,)}, "a at rank 2, b at 4"),
    ("one_finding_per_target", 0, {"retrieved": 3}, "4 contexts, but retrieved is 3"),
    ("one_finding_per_target", 0, {"retrieved": 5}, "4 contexts, but retrieved is 5"),
    *(
        ("findings_are_well_formed", 0, {"findings": (FOUND._replace(**said),)}, message)
        for said, message in (
            ({"ranks": (0,)}, "ranks do not rise"),
            ({"ranks": (4,)}, "ranks do not rise"),
            ({"ranks": (2, 1)}, "ranks do not rise"),
            ({"ranks": (1, 1)}, "ranks do not rise"),
            ({"steps": (CreditStep(2, 1.0),)}, "among the ranks"),
            ({"evidence": (Evidence(2),)}, "among the ranks"),
            ({"steps": (CreditStep(1, 0.5), CreditStep(1, 1.0))}, "steps do not rise"),
            (
                {"ranks": (1, 2), "steps": (CreditStep(1, 0.5), CreditStep(2, 0.5))},
                "steps do not rise",
            ),
            ({"target": SimpleNamespace(any_of=(), grade=1.0, size=1)}, "no name, grade, or size"),
            ({"target": SimpleNamespace(any_of=("a",), grade=0.0, size=1)}, "no name, grade"),
            ({"target": SimpleNamespace(any_of=("a",), grade=1.0, size=0)}, "no name, grade"),
            ({"steps": (CreditStep(1, 0.0),)}, "not in"),
            ({"steps": (CreditStep(1, 1.1),)}, "not in"),
        )
    ),
    *(
        ("degenerate_samples", case, said, message)
        for case in range(7)
        for said, message in (
            ({"status": "scored?"}, "status scored"),
            ({"score": 0.5}, "score 0.5, not"),
            ({"reason": ""}, "no reason given"),
            *([({"values": 0.0}, "measures are not None")] if case else ()),
        )
    ),
    ("degenerate_samples", 7, {"reason": "it failed"}, "error is not in the reason"),
    ("name", 0, {"method": None}, "another method"),
    ("duplicates_never_raise", 0, {"values": 0.0}, "rises from 0.0"),
    ("duplicates_never_raise", 1, {"values": 2.0}, "to 2.0"),
    ("strangers_change_no_recall", 1, {"values": 0.1}, "moves"),
    ("strangers_change_no_recall", 7, {"values": 0.1}, "moves"),
    ("reference_order_and_duplicates", 1, {"values": 0.1}, "depends on the references' order"),
    ("order_is_rank", 0, {"findings": (FOUND,)}, "the target is at rank 2"),
    ("identity_of_targets", 1, {"targets": ("a",)}, "differ between retrievals"),
    ("identity_of_targets", 2, {"targets": (Target(("a",)), Target(("b",)))}, "the same targets"),
]


@pytest.mark.parametrize(
    ("check", "at", "said", "message"),
    LIES,
    ids=[f"{name}-{at}-{n}" for n, (name, at, *_) in enumerate(LIES)],
)
def test_each_promise_is_checked(check: str, at: int, said: dict[str, Any], message: str) -> None:
    """One wrong answer among right ones breaks the promise that the message names."""
    (checked,) = (each for each in SCORER_CHECKS if each.__name__ == f"check_{check}")
    with pytest.raises((AssertionError, AttributeError, TypeError), match=message):
        checked(lying(at, said))


class _Odd:
    """A result that is pickled or copied as something else, or can be changed."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.note = ""

    def __reduce__(self) -> Any:
        return (_Odd, ("another" if self.fault == "pickle" else self.fault,))

    def __deepcopy__(self, _: object) -> Any:
        return _Odd("another" if self.fault == "copy" else self.fault)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Odd) and self.fault == other.fault

    def __hash__(self) -> int:
        return hash(self.fault)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("pickle", "the result does not pickle"),
        ("copy", "the result does not copy"),
        ("none", r"_Odd\.note can be changed"),
    ],
)
def test_a_result_is_a_plain_value(fault: str, message: str) -> None:
    """A result is pickled and copied as itself, and cannot be changed."""

    class Scorer(IdRecall):
        def score(self, sample: Sample | None = None, /, **fields: Any) -> Any:
            return _Odd(fault)

        def __reduce__(self) -> Any:
            return IdRecall, ()

        def __eq__(self, other: object) -> bool:
            return isinstance(other, IdRecall)

        def __hash__(self) -> int:
            return 0

    (check,) = (each for each in SCORER_CHECKS if each.__name__ == "check_values_are_plain")
    with pytest.raises(AssertionError, match=message):
        check(Scorer)
