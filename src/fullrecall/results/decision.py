"""How the rules of a gate are decided: by Gaffke's test, with gaps at their worst and their best.

PASS of all rules needs each at the full level: if one of them does not hold, the chance that it
passes is the chance that all do, or less. FAIL is any rule's, so that its p-values are adjusted by
Holm's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import ceil, floor
from typing import Any, NamedTuple

from fullrecall.counts import counted
from fullrecall.results.bounds import (
    Counts,
    alpha_of,
    groups_needed,
    lower_bound,
    mean_above,
    mean_below,
    upper_bound,
)
from fullrecall.results.multiplicity import holm
from fullrecall.results.totals import Totals

_ROUNDING = 1e-9
"""A mean that misses its threshold by less misses it by rounding."""


class Outcome(StrEnum):
    """What a gate decides."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    CANNOT_TELL = "cannot_tell"

    @property
    def words(self) -> str:
        """The outcome as a sentence has it."""
        return self.value.replace("_", " ").upper()


@dataclass(frozen=True)
class Check:
    """One rule of a gate and what came of it.

    `value` is the mean, or the mean difference from the baseline; `lower` and `upper` are its
    one-sided bounds, each at the gate's confidence, with what is not measured at its worst and at
    its best. `p_pass` is the p-value of "the mean is below the threshold", `p_fail` that of "it
    reaches it", `p_fail_adjusted` the same by Holm's method for all rules of the gate; None under
    `point`. `samples` are those that the value stands on, `coverage` their share of those that
    should have one. `needed` is how many samples would settle it, at the values of these, where
    that is what is missing.
    """

    rule: str
    outcome: Outcome
    reason: str
    value: float | None
    lower: float | None
    upper: float | None
    p_pass: float | None
    p_fail: float | None
    p_fail_adjusted: float | None
    samples: int
    coverage: float | None
    needed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "outcome": str(self.outcome)}


class Scale(NamedTuple):
    """What a mean is of: the range of the values, and how they and their threshold are shown."""

    least: float
    most: float
    form: str
    required: str

    def shown(self, value: float) -> str:
        """Return a value with three decimals."""
        return format(value, self.form)


SCORES = Scale(0.0, 1.0, ".3f", "required")
CHANGES = Scale(-1.0, 1.0, "+.3f", "allowed")


class Question(NamedTuple):
    """One rule: is the mean of what `label` names at least, or `at_most`, `threshold`?

    `measured` are the totals without gaps, `worst` and `best` with a value for each, `coverage`
    the share of samples without a gap; None where there is no sample. `drift` says what else than
    the retriever may have changed it: then it is not failed.
    """

    label: str
    threshold: float
    scale: Scale
    measured: Totals
    worst: Side
    best: Side
    coverage: float | None
    at_most: bool = False
    drift: str = ""

    @property
    def rule(self) -> str:
        """The rule as it is written."""
        return f"{self.label} {'<=' if self.at_most else '>='} {self.threshold:g}"

    @property
    def bounded(self) -> str:
        """What the threshold is called."""
        return "allowed" if self.at_most else self.scale.required


class Side(NamedTuple):
    """The values with every gap filled in, and their mean, which rounds nothing."""

    counts: Counts
    mean: float | None


@dataclass(frozen=True)
class Strictness:
    """What an outcome takes; see `fullrecall.results.gate.Gate` for the fields."""

    confidence: float
    min_coverage: float | None
    point: bool

    def checks(self, questions: Sequence[Question]) -> list[Check]:
        """Return what comes of each rule of one gate."""
        answers = [self._answer(question) for question in questions]
        adjusted = iter(holm([each.p_fail for each in answers if each.p_fail is not None]))
        return [
            self._check(
                question, answer, None if answer.p_fail is None else next(adjusted), len(questions)
            )
            for question, answer in zip(questions, answers, strict=True)
        ]

    def _answer(self, question: Question) -> _Answer:
        (low, low_mean), (high, high_mean) = question.worst, question.best
        least, most = question.scale[:2]
        if self._problem(question):
            return _Answer(None, None, None, None)
        if self.point:
            return _Answer(low_mean, high_mean, None, None)
        threshold, alpha = question.threshold, alpha_of(self.confidence)
        p_above = mean_above(low, threshold, least=least)
        p_below = mean_below(high, threshold, most=most)
        if question.at_most:
            p_pass, p_fail = 0.0 if threshold >= most else p_below, p_above
        else:
            p_pass, p_fail = 0.0 if threshold <= least else p_above, p_below
        return _Answer(
            lower_bound(low, alpha, least=least),
            upper_bound(high, alpha, most=most),
            p_pass,
            p_fail,
        )

    def _check(
        self, question: Question, answer: _Answer, p_fail: float | None, rules: int
    ) -> Check:
        outcome = self._outcome(question, answer, p_fail)
        needed, missing = None, ""
        if outcome is Outcome.CANNOT_TELL:
            needed, missing = self._missing(question, rules)
        return Check(
            question.rule,
            outcome,
            self._sentence(question, answer, outcome, missing),
            question.measured.mean,
            answer.lower,
            answer.upper,
            answer.p_pass,
            answer.p_fail,
            p_fail,
            question.measured.samples,
            question.coverage,
            needed,
        )

    def _outcome(self, question: Question, answer: _Answer, p_fail: float | None) -> Outcome:
        alpha = alpha_of(self.confidence)
        if answer.lower is None or answer.upper is None:
            passes = fails = False
        elif answer.p_pass is None or p_fail is None:
            passes, fails = _by_means(question, answer.lower, answer.upper)
        else:
            passes, fails = answer.p_pass <= alpha, p_fail <= alpha
        fails = fails and not question.drift
        return Outcome.PASS if passes else Outcome.FAIL if fails else Outcome.CANNOT_TELL

    def _sentence(self, question: Question, answer: _Answer, outcome: Outcome, missing: str) -> str:
        scale, (lower, upper) = question.scale, answer[:2]
        if lower is None or upper is None:
            return f"{question.label} {missing}"
        # Bounds are rounded outwards: they must not look better than they are.
        at_least, at_most = ("", "") if self.point else ("at least ", "at most ")
        low, high = scale.shown(rounded_down(lower)), scale.shown(-rounded_down(-upper))
        if outcome is Outcome.CANNOT_TELL:
            bounds = f"from {low} to {high}"
        else:
            is_high = (outcome is Outcome.PASS) != question.at_most
            bounds = f"{at_least}{low}" if is_high else f"{at_most}{high}"
        sure = "" if self.point else f"{100 * self.confidence:g}% confidence, "
        return (
            f"{question.label} is {bounds} ({sure}{counted(question.measured.samples, 'sample')}); "
            f"{question.bounded}: {scale.shown(question.threshold)}"
            f"{missing and f'; {missing}'}{question.drift and f'; but {question.drift}'}"
        )

    def _missing(self, question: Question, rules: int) -> tuple[int | None, str]:
        """Return how many samples would settle one of `rules`, and what is missing."""
        if problem := self._problem(question):
            return None, problem
        if question.drift:
            return None, "it does not fail while that is so"
        threshold, (least, most) = question.threshold, question.scale[:2]
        measured, coverage = question.measured, question.coverage or 0.0
        above = (measured.mean or 0.0) >= threshold
        side, mean = question.worst if above else question.best
        # Holm's method takes the full level for one rule, and no less than this for any.
        alpha = alpha_of(self.confidence) / (1 if above != question.at_most else rules)
        if coverage < 1 and (
            self.point
            or ((mean or 0.0) >= threshold) != above
            or _p(measured, question, above=above) <= alpha
        ):
            return None, (
                f"the {1 - coverage:.1%} of samples without a value decide it: score them, or "
                "set min_coverage"
            )
        groups = groups_needed(side, threshold, alpha, least=least, most=most)
        if groups is None:
            return None, "more samples with this mean would not settle it"
        needed = ceil(groups * round(measured.samples / coverage) / side.size)
        return needed, f"about {counted(needed, 'sample')} with these values would settle it"

    def _problem(self, question: Question) -> str:
        """Return why nothing can be decided at all; "" where that is not so."""
        if question.measured.mean is None or question.coverage is None:
            return "has no sample with a value"
        if self.min_coverage is not None and question.coverage < self.min_coverage:
            return (
                f"covers {question.coverage:.1%} of the samples that should have a value; "
                f"required: {self.min_coverage:.1%}"
            )
        return ""


class _Answer(NamedTuple):
    """Bounds and p-values of one rule; without p-values the bounds are means."""

    lower: float | None
    upper: float | None
    p_pass: float | None
    p_fail: float | None


def _by_means(question: Question, lower: float, upper: float) -> tuple[bool, bool]:
    """Return whether means alone pass the rule, and whether they fail it."""
    if question.at_most:
        most = question.threshold + _ROUNDING
        return upper <= most, lower > most
    least = question.threshold - _ROUNDING
    return lower >= least, upper < least


def _p(measured: Totals, question: Question, *, above: bool) -> float:
    least, most = question.scale[:2]
    low, high = measured.counts(least=least, most=most)
    if above:
        return mean_above(low, question.threshold, least=least)
    return mean_below(high, question.threshold, most=most)


def rounded_down(value: float) -> float:
    """Return a bound rounded down to three decimals, but for what is rounding itself."""
    return floor(value * 1000 + 1e-6) / 1000
