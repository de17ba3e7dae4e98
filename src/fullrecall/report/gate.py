"""The gate: is a measure high enough, and no worse than before, or can that not be told?

An outcome is decided by Gaffke's test and not by the mean alone: a mean of 0.91 over 30 questions
shows neither that recall is above 0.9 nor that it is below. PASS is wrong with probability
1 - confidence at most, FAIL as well, for every distribution of the scores; what lies between is
CANNOT TELL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import ceil, floor
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fullrecall.errors import ParameterError
from fullrecall.measures import Measure, Threshold
from fullrecall.parameters import check_share
from fullrecall.report.bounds import (
    CONFIDENCE,
    groups_needed,
    lower_bound,
    mean_above,
    mean_below,
    upper_bound,
)
from fullrecall.report.choice import place_of
from fullrecall.report.comparison import Comparison, compare
from fullrecall.report.multiplicity import holm
from fullrecall.report.report import Report
from fullrecall.report.sign_flips import alpha_of
from fullrecall.report.totals import Totals

Rule: TypeAlias = Threshold | Measure
"""A threshold such as `Recall @ 10 >= 0.9`, or a measure to be compared with the baseline's."""


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


@dataclass(frozen=True)
class GateResult:
    """What a gate decides of a report; prints one line for each rule."""

    checks: tuple[Check, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst of all checks: fail, then cannot tell, then pass."""
        outcomes = {check.outcome for check in self.checks}
        for worst in (Outcome.FAIL, Outcome.CANNOT_TELL):
            if worst in outcomes:
                return worst
        return Outcome.PASS

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "outcome": str(self.outcome),
            "checks": [check.to_dict() for check in self.checks],
        }

    def to_markdown(self) -> str:
        """Return a table in GitHub's Markdown."""
        from fullrecall.report import markdown

        return markdown.of_gate(self)

    def to_junit(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, JUnit's XML: one test case for each rule.

        CANNOT TELL is an error there, as a test that could not be run.
        """
        from fullrecall.report import exports, junit

        return exports.written(junit.of_gate(self), path)

    def __str__(self) -> str:
        return "\n".join(f"{check.outcome.words}: {check.reason}" for check in self.checks)


@dataclass(frozen=True, init=False)
class Gate:
    """What a report must reach: thresholds, or no drop from a baseline, or both.

        Gate(Recall @ 10 >= 0.9, RR >= 0.7).check(report)
        Gate(Recall @ 10, margin=0.02).check(report, baseline)

    - `rules`: thresholds, and measures that are only compared with the baseline; with a margin
      alone, each score's headline is.
    - `margin`: largest drop of the mean from the baseline's that still passes, in [0, 1]; it
      holds for every measure that is named.
    - `scores`: names of scores that must each pass; may be left out where there is one.
    - `confidence`: PASS and FAIL are each wrong with probability 1 - confidence at most.
    - `min_coverage`: required share of scored samples; only these count then. None: unscored
      samples count as 0 for PASS and as 1 for FAIL.
    - `point`: compare the mean only, without bounds: what passes may be luck. Right where the
      questions are all that matter, and not a sample of many more.

    PASS of all rules needs each at the full confidence; FAIL of any is corrected for how many
    there are. Both hold for one look at the data, not for looking again while samples come in.

    Raises `ParameterError` for a value out of range, and without any rule.
    """

    rules: tuple[Rule, ...]
    margin: float | None
    scores: tuple[str, ...]
    confidence: float
    min_coverage: float | None
    point: bool

    def __init__(
        self,
        *rules: Rule,
        margin: float | None = None,
        scores: Sequence[str] = (),
        confidence: float = CONFIDENCE,
        min_coverage: float | None = None,
        point: bool = False,
    ) -> None:
        if not rules and margin is None:
            raise ParameterError("a gate needs a rule: Recall @ 10 >= 0.9, or margin=0.02, or both")
        for rule in rules:
            _check_rule(rule, margin)
        for name, share in (("margin", margin), ("min_coverage", min_coverage)):
            if share is not None:
                check_share(share, name)
        check_share(confidence, "confidence", whole=False)
        if isinstance(scores, str):
            raise ParameterError(f"scores must be a list of names, got {scores!r}: pass [{scores!r}]")
        given = (tuple(rules), margin, tuple(scores), confidence, min_coverage, point)
        for name, value in zip(self.__dataclass_fields__, given, strict=True):
            object.__setattr__(self, name, value)

    def check(self, report: Report, baseline: Report | None = None) -> GateResult:
        """Return what the gate decides of a report, compared with `baseline` where it has a margin.

        Raises `ParameterError` for a margin without a baseline and the other way round,
        `ReportError` for scores or measures that a report does not have, and for reports that
        cannot be compared.
        """
        if (self.margin is None) != (baseline is None):
            raise ParameterError("a baseline and a margin go together: pass both or none")
        names = [report.methods[place_of(report, score)].name for score in self.scores or (None,)]
        questions = [q for name in names for q in self._thresholds(report, name)]
        if baseline is not None:
            comparison = compare(baseline, report, *self._compared(report))
            questions += [q for name in names for q in self._changes(comparison, name)]
        checks = self._decided(questions)
        stopped = [
            f"{which} does not have all of its samples ({one.stopped}): run it again to the end"
            for which, one in (("the report", report), ("the baseline", baseline))
            if one is not None and one.stopped is not None
        ]
        if stopped:  # what is missing is not a sample of what is there
            reason = "; ".join(stopped)
            checks = [
                replace(check, outcome=Outcome.CANNOT_TELL, reason=reason, needed=None)
                for check in checks
            ]
        return GateResult(tuple(checks))

    def _compared(self, report: Report) -> list[Measure]:
        named = [rule.measure if isinstance(rule, Threshold) else rule for rule in self.rules]
        return named or list(dict.fromkeys(method.headline for method in report.methods))

    def _thresholds(self, report: Report, name: str) -> Iterator[_Question]:
        rules = [rule for rule in self.rules if isinstance(rule, Threshold)]
        if not rules:
            return
        summary = report.summary(*(rule.measure for rule in rules))[name]
        for measure, least in rules:
            estimate = summary[measure]
            due = estimate.samples + summary.unscored
            coverage = estimate.samples / due if due else None
            label = summary.method.label(measure)
            totals = estimate.totals
            yield _Question(
                label, least, estimate.mean, estimate.samples, coverage, (totals, totals), totals, _MEAN
            )

    def _changes(self, comparison: Comparison, name: str) -> Iterator[_Question]:
        if self.margin is None:
            return
        score = comparison[name]
        for measure in self._compared(comparison.after):
            one = score[measure]
            label = f"change of {score.method.label(measure)}"
            sides = (
                comparison.changes(name, measure)
                if self.min_coverage is None
                else (one.totals, one.totals)
            )
            yield _Question(
                label,
                -self.margin,
                one.difference,
                one.samples,
                score.coverage,
                sides,
                one.totals,
                _CHANGE,
            )

    def _decided(self, questions: Sequence[_Question]) -> list[Check]:
        answers = [self._answer(question) for question in questions]
        adjusted = iter(holm([a.p_fail for a in answers if a.p_fail is not None]))
        return [
            self._check(
                question,
                answer,
                None if answer.p_fail is None else next(adjusted),
                rules=len(questions),
            )
            for question, answer in zip(questions, answers, strict=True)
        ]

    def _answer(self, question: _Question) -> _Answer:
        """Return what the values say of a rule, with gaps at their worst and at their best."""
        kind, alpha = question.kind, alpha_of(self.confidence)
        gaps = (None, None) if self.min_coverage is not None else (kind.low, kind.high)
        low = question.totals[0].counts(gaps[0], low=kind.low, high=kind.high)[0]
        high = question.totals[1].counts(gaps[1], low=kind.low, high=kind.high)[1]
        if self._problem(question):
            return _Answer(None, None, None, None)
        if self.point:
            return _Answer(low.mean, high.mean, None, None)
        return _Answer(
            lower_bound(low, alpha, least=kind.low),
            upper_bound(high, alpha, most=kind.high),
            mean_above(low, question.least, least=kind.low) if question.least > kind.low else 0.0,
            mean_below(high, question.least, most=kind.high),
        )

    def _check(
        self, question: _Question, answer: _Answer, p_fail: float | None, *, rules: int
    ) -> Check:
        kind, alpha = question.kind, alpha_of(self.confidence)
        lower, upper = answer.lower, answer.upper
        required = f"{kind.required}: {kind.shown(question.least)}"
        needed = None
        if lower is None or upper is None:
            outcome, said = Outcome.CANNOT_TELL, self._problem(question)
        else:
            sure = f"{question.samples:,} samples"
            if self.point:
                passes, fails = lower >= question.least, upper < question.least
            else:
                sure = f"{100 * self.confidence:g}% confidence, {sure}"
                passes, fails = (answer.p_pass or 0.0) <= alpha, (p_fail or 0.0) <= alpha
            if passes:
                outcome, said = Outcome.PASS, f"is {kind.at_least(lower, self)} ({sure}); {required}"
            elif fails:
                outcome, said = Outcome.FAIL, f"is {kind.at_most(upper, self)} ({sure}); {required}"
            else:
                outcome = Outcome.CANNOT_TELL
                needed, why = self._shortage(question, rules)
                said = (
                    f"is from {kind.shown(lower)} to {kind.shown(upper)} ({sure}); {required}; {why}"
                )
        return Check(
            question.rule,
            outcome,
            f"{question.label} {said}",
            question.value,
            lower,
            upper,
            answer.p_pass,
            answer.p_fail,
            p_fail,
            question.samples,
            question.coverage,
            needed,
        )

    def _shortage(self, question: _Question, rules: int) -> tuple[int | None, str]:
        """Return how many samples would settle one of `rules`, and what is missing."""
        kind, alpha = question.kind, alpha_of(self.confidence)
        if (question.value or 0.0) < question.least:
            alpha /= rules  # Holm's method takes no less for the first of them
        totals = question.measured
        low, high = totals.counts(low=kind.low, high=kind.high)
        scored = min(
            mean_above(low, question.least, least=kind.low),
            mean_below(high, question.least, most=kind.high),
        )
        if question.coverage is not None and question.coverage < 1 and (
            self.point or scored <= alpha
        ):
            return None, (
                f"the {1 - question.coverage:.1%} of samples without a value decide it: score "
                "them, or set min_coverage"
            )
        groups = groups_needed(low, question.least, alpha, least=kind.low, most=kind.high)
        if groups is None:
            return None, "more samples with this mean would not settle it"
        needed = -(-groups * question.samples // totals.independent)
        return needed, f"about {needed:,} samples with these values would settle it"

    def _problem(self, question: _Question) -> str:
        """Return why nothing can be decided at all; "" where that is not so."""
        if question.value is None or question.coverage is None:
            return "has no sample with a value"
        if self.min_coverage is not None and question.coverage < self.min_coverage:
            return (
                f"covers {question.coverage:.1%} of the samples that should have a value; "
                f"required: {self.min_coverage:.1%}"
            )
        return ""


class _Kind(NamedTuple):
    """Means of scores, or means of changes: the range of a value, and how it is shown."""

    low: float
    high: float
    form: str
    required: str

    def shown(self, value: float) -> str:
        """Return a value with three decimals."""
        return format(value, self.form)

    def at_least(self, value: float, gate: Gate) -> str:
        """Return a lower bound, rounded down: it must not look better than it is."""
        return f"{'' if gate.point else 'at least '}{self.shown(floor(value * 1000) / 1000)}"

    def at_most(self, value: float, gate: Gate) -> str:
        """Return an upper bound, rounded up."""
        return f"{'' if gate.point else 'at most '}{self.shown(ceil(value * 1000) / 1000)}"


class _Question(NamedTuple):
    """One rule with what it goes by: the totals for PASS and those for FAIL."""

    label: str
    least: float
    value: float | None
    samples: int
    coverage: float | None
    totals: tuple[Totals, Totals]
    measured: Totals
    kind: _Kind

    @property
    def rule(self) -> str:
        return f"{self.label} >= {self.least:g}"


class _Answer(NamedTuple):
    """Bounds and p-values of one rule; without p-values the bounds are means."""

    lower: float | None
    upper: float | None
    p_pass: float | None
    p_fail: float | None


_MEAN = _Kind(0.0, 1.0, ".3f", "required")
_CHANGE = _Kind(-1.0, 1.0, "+.3f", "allowed")


def _check_rule(rule: object, margin: float | None) -> None:
    if isinstance(rule, Threshold):
        return
    if not isinstance(rule, Measure):
        raise ParameterError(f"a rule must be such as Recall @ 10 >= 0.9, got {rule!r}")
    if margin is None:
        raise ParameterError(
            f"{rule!r} needs a threshold, such as {rule!r} >= 0.9, or a margin to the baseline"
        )
