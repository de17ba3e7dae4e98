"""How the rules of a gate are decided: by Gaffke's test, with gaps at their worst and their best.

PASS of all rules needs each at the full level: if one of them does not hold, the chance that it
passes is the chance that all do, or less. FAIL is any rule's, so that its p-values are adjusted by
Holm's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, floor
from typing import Any, NamedTuple

from fullrecall.counts import counted
from fullrecall.results.bounds import (
    Counts,
    alpha_of,
    groups_needed,
    holm,
    lower_bound,
    mean_above,
    mean_below,
    upper_bound,
)
from fullrecall.results.plain import plain_of
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
    outcome: Outcome = Outcome.CANNOT_TELL
    reason: str = ""
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    p_pass: float | None = None
    p_fail: float | None = None
    p_fail_adjusted: float | None = None
    samples: int = 0
    coverage: float | None = None
    needed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain_of(self)


class Side(NamedTuple):
    """The values with every gap filled in, and their mean, which rounds nothing."""

    counts: Counts
    mean: float | None


class Question(NamedTuple):
    """One rule: is the mean of what `label` names at least, or `at_most`, `threshold`?

    Values are from `least`, -1 for changes, to 1. `measured` are the totals without gaps, `worst`
    and `best` with a value for each, `coverage` the share of samples without a gap; None where
    there is no sample. `drift` says what else than the retriever may have changed it: then it is
    not failed.
    """

    label: str
    threshold: float
    least: float
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

    def shown(self, value: float) -> str:
        """Return a value with three decimals, a change with its sign."""
        return format(value, "+.3f" if self.least < 0 else ".3f")

    def p(self, counts: Counts, *, above: bool) -> float:
        """Return the p-value that shows the mean above, or below, the threshold."""
        if above:
            return mean_above(counts, self.threshold, least=self.least)
        return mean_below(counts, self.threshold)


@dataclass(frozen=True)
class Strictness:
    """What an outcome takes; see `fullrecall.results.gate.Gate` for the fields."""

    confidence: float
    min_coverage: float | None
    point: bool

    def checks(self, questions: Sequence[Question]) -> list[Check]:
        """Return what comes of each rule of one gate."""
        tested = [self._tested(question) for question in questions]
        adjusted = iter(holm([each.p_fail for each in tested if each.p_fail is not None]))
        return [
            self._decided(
                question,
                check if check.p_fail is None else replace(check, p_fail_adjusted=next(adjusted)),
                len(questions),
            )
            for question, check in zip(questions, tested, strict=True)
        ]

    def _tested(self, question: Question) -> Check:
        """Return a check with its bounds and p-values, where anything can be decided."""
        check = Check(
            question.rule,
            value=question.measured.mean,
            samples=question.measured.samples,
            coverage=question.coverage,
        )
        if self._problem(question):
            return check
        (low, low_mean), (high, high_mean) = question.worst, question.best
        if self.point:
            return replace(check, lower=low_mean, upper=high_mean)
        alpha = alpha_of(self.confidence)
        p_above, p_below = question.p(low, above=True), question.p(high, above=False)
        if question.at_most:
            p_pass, p_fail = 0.0 if question.threshold >= 1 else p_below, p_above
        else:
            p_pass, p_fail = 0.0 if question.threshold <= question.least else p_above, p_below
        return replace(
            check,
            lower=lower_bound(low, alpha, least=question.least),
            upper=upper_bound(high, alpha),
            p_pass=p_pass,
            p_fail=p_fail,
        )

    def _decided(self, question: Question, check: Check, rules: int) -> Check:
        """Return a check with its outcome, and with why."""
        alpha = alpha_of(self.confidence)
        if check.lower is None or check.upper is None:
            passes = fails = False
        elif check.p_pass is None or check.p_fail_adjusted is None:
            most = question.threshold + _ROUNDING * (1 if question.at_most else -1)
            passes, fails = check.lower >= most, check.upper < most
            if question.at_most:
                passes, fails = check.upper <= most, check.lower > most
        else:
            passes, fails = check.p_pass <= alpha, check.p_fail_adjusted <= alpha
        if passes:
            check = replace(check, outcome=Outcome.PASS)
        elif fails and not question.drift:
            check = replace(check, outcome=Outcome.FAIL)
        needed, missing = None, ""
        if check.outcome is Outcome.CANNOT_TELL:
            needed, missing = self._missing(question, rules)
        return replace(check, reason=self._sentence(question, check, missing), needed=needed)

    def _sentence(self, question: Question, check: Check, missing: str) -> str:
        if check.lower is None or check.upper is None:
            return f"{question.label} {missing}"
        # Bounds are rounded outwards: they must not look better than they are.
        low = question.shown(rounded_down(check.lower))
        high = question.shown(-rounded_down(-check.upper))
        if check.outcome is Outcome.CANNOT_TELL:
            bounds = f"from {low} to {high}"
        else:
            is_high = (check.outcome is Outcome.PASS) != question.at_most
            side = "" if self.point else "at least " if is_high else "at most "
            bounds = f"{side}{low if is_high else high}"
        sure = "" if self.point else f"{100 * self.confidence:g}% confidence, "
        bounded = "allowed" if question.at_most or question.least < 0 else "required"
        return (
            f"{question.label} is {bounds} ({sure}{counted(check.samples, 'sample')}); "
            f"{bounded}: {question.shown(question.threshold)}"
            f"{missing and f'; {missing}'}{question.drift and f'; but {question.drift}'}"
        )

    def _missing(self, question: Question, rules: int) -> tuple[int | None, str]:
        """Return how many samples would settle one of `rules`, and what is missing."""
        if problem := self._problem(question):
            return None, problem
        if question.drift:
            return None, "it does not fail while that is so"
        measured, threshold = question.measured, question.threshold
        coverage = question.coverage or 0.0
        above = (measured.mean or 0.0) >= threshold
        side, mean = question.worst if above else question.best
        # Holm's method takes the full level for one rule, and no less than this for any.
        alpha = alpha_of(self.confidence) / (1 if above != question.at_most else rules)
        low, high = measured.counts(least=question.least)
        if coverage < 1 and (
            self.point
            or ((mean or 0.0) >= threshold) != above
            or question.p(low if above else high, above=above) <= alpha
        ):
            return None, (
                f"the {1 - coverage:.1%} of samples without a value decide it: score them, or "
                "set min_coverage"
            )
        groups = groups_needed(side, threshold, alpha, least=question.least)
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


def rounded_down(value: float) -> float:
    """Return a bound rounded down to three decimals, but for what is rounding itself."""
    return floor(value * 1000 + 1e-6) / 1000
