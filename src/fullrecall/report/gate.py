"""The gate: is recall high enough, and no worse than before, or can that not be told?

A verdict is drawn from bounds, not from the mean alone: a mean of 0.91 over 30 questions proves
neither that recall is above 0.9 nor that it is below. "Pass" is wrong with probability
1 - confidence at most, "fail" as well, and what lies between is "cannot tell".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from fullrecall.errors import ParameterError, ReportError
from fullrecall.report.choosing import place_of, scored
from fullrecall.report.comparison import Comparison, compare
from fullrecall.report.needed import pairs_needed, samples_needed
from fullrecall.report.report import Report
from fullrecall.report.statistics import (
    CONFIDENCE,
    Interval,
    Spread,
    check_share,
    decision_bounds,
    difference_bounds,
    unseen,
)
from fullrecall.report.totals import spread_of
from fullrecall.result import check_k


class Verdict(StrEnum):
    """What a gate says."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    CANNOT_TELL = "cannot_tell"

    @property
    def words(self) -> str:
        """The verdict as a sentence has it."""
        return self.value.replace("_", " ")


@dataclass(frozen=True)
class Check:
    """One rule of a gate and what came of it.

    `value` is the mean, or the mean difference from the baseline; `lower` and `upper` its
    one-sided bounds, with what is not covered at its worst and best. `samples` are those that it
    stands on, `coverage` their share of those that should have a score. `needed` is how many
    samples would tell, at the spread of these, where that is what is missing.
    """

    rule: str
    verdict: Verdict
    reason: str
    value: float | None
    lower: float | None
    upper: float | None
    samples: int
    coverage: float | None
    needed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "verdict": str(self.verdict)}


@dataclass(frozen=True)
class GateResult:
    """What a gate says of a report; prints one line for each rule."""

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of all checks: fail, then cannot tell, then pass."""
        verdicts = {check.verdict for check in self.checks}
        for worst in (Verdict.FAIL, Verdict.CANNOT_TELL):
            if worst in verdicts:
                return worst
        return Verdict.PASS

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "verdict": str(self.verdict),
            "checks": [check.to_dict() for check in self.checks],
        }

    def to_markdown(self) -> str:
        """Return a table in GitHub's Markdown."""
        from fullrecall.report import markdown

        return markdown.of_gate(self)

    def to_junit(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, JUnit's XML: one test case for each rule.

        "Cannot tell" is an error there, as a test that could not be run.
        """
        from fullrecall.report import exports, junit

        return exports.written(junit.of_gate(self), path)

    def __str__(self) -> str:
        return "\n".join(f"{check.verdict.words}: {check.reason}" for check in self.checks)


@dataclass(frozen=True)
class Gate:
    """What a report must reach: a least mean, or not to be worse than a baseline, or both.

    - `min_recall`: the least mean score, in [0, 1].
    - `margin`: how much lower than the baseline's the mean may be, in [0, 1].
    - `at`: the k at which both are read; the scorer's own if it is None.
    - `scores`: names of scores that must each pass; may be left out where there is one.
    - `confidence`: of each one-sided bound.
    - `min_coverage`: the share of samples that must have a score; the verdict then goes by those
      that have. None: the verdict must hold whatever the unscored ones would have scored.
    - `point`: compare the mean itself, without bounds: what passes may be luck. Right where the
      questions are all that matter, and not a sample of many more.

    Where all samples agree, as in two reports that are the same, the bounds still allow for
    questions of which none shows anything: 58 of them cannot rule out that one in twenty others
    lost everything (see `statistics.unseen`). The reason then says so.

    Raises `ParameterError` for a value out of range, and without any rule.
    """

    min_recall: float | None = None
    margin: float | None = None
    at: int | None = None
    scores: Sequence[str] = ()
    confidence: float = CONFIDENCE
    min_coverage: float | None = None
    point: bool = False

    def __post_init__(self) -> None:
        if self.min_recall is None and self.margin is None:
            raise ParameterError("a gate needs a rule: min_recall=0.9, or margin=0.02, or both")
        for name in ("min_recall", "margin", "min_coverage"):
            if getattr(self, name) is not None:
                check_share(getattr(self, name), name)
        check_share(self.confidence, "confidence", whole=False)
        if self.at is not None:
            check_k(self.at, "at")
        if isinstance(self.scores, str):
            raise ParameterError(f"scores is a list of names, got {self.scores!r}: use a list")
        object.__setattr__(self, "scores", tuple(self.scores))

    def check(self, report: Report, baseline: Report | None = None) -> GateResult:
        """Return what the gate says of a report, compared with `baseline` where it has a margin.

        Raises `ParameterError` for a margin without a baseline and the other way round,
        `ReportError` for scores or a k that a report does not have, and for reports that cannot
        be compared, `MissingExtraError` without SciPy.
        """
        if (self.margin is None) != (baseline is None):
            raise ParameterError("a baseline and a margin go together: give both or none")
        checks = []
        places = [place_of(report, score) for score in self.scores or (None,)]
        names = [report.methods[place].name for place in places]
        stopped = [
            f"{which} has not all of its samples ({one.stopped}): run it again to the end"
            for which, one in (("the report", report), ("the baseline", baseline))
            if one is not None and one.stopped is not None
        ]
        if self.min_recall is not None:
            checks += [self._of_mean(report, name, self.min_recall) for name in names]
        if baseline is not None and self.margin is not None:
            comparison = compare(baseline, report, confidence=self.confidence)
            checks += [self._of_change(comparison, name, self.margin) for name in names]
        if stopped:  # what is missing is not a sample of what is there
            reason = "; ".join(stopped)
            checks = [
                replace(check, verdict=Verdict.CANNOT_TELL, reason=reason, needed=None)
                for check in checks
            ]
        return GateResult(tuple(checks))

    def _of_mean(self, report: Report, name: str, least: float) -> Check:
        summary = report.summary()[name]
        spread = _spread_at(report, name, self.at)
        what = _label(report, name, self.at)
        evidence = _Evidence(
            f"{what} >= {least:g}", what, spread, summary.scored, summary.coverage, _MEAN
        )
        return self._checked(evidence, least)

    def _of_change(self, comparison: Comparison, name: str, margin: float) -> Check:
        score = comparison[name]
        spread = spread_of(*comparison.changes(name, self.at))
        what = f"the change of {_label(comparison.after, name, self.at)}"
        evidence = _Evidence(
            f"{what} >= {-margin:g}", what, spread, score.samples, score.coverage, _CHANGE
        )
        return self._checked(evidence, -margin)

    def _checked(self, evidence: _Evidence, least: float) -> Check:
        spread, kind, coverage = evidence.spread, evidence.kind, evidence.coverage

        def check(
            verdict: Verdict, reason: str, at: Interval | None, needed: int | None = None
        ) -> Check:
            return Check(
                evidence.rule,
                verdict,
                f"{evidence.what} {reason}",
                None if spread is None else spread.mean,
                None if at is None else at.low,
                None if at is None else at.high,
                evidence.samples,
                coverage,
                needed,
            )

        value = None if spread is None else Interval(spread.mean, spread.mean, self.confidence)
        seen = value if self.point else kind.bounds(spread, self.confidence)
        problem = self._problem(evidence)
        if spread is None or coverage is None or seen is None or problem:
            return check(Verdict.CANNOT_TELL, problem, seen)
        bounds = seen if self.min_coverage is not None else _at_worst(seen, coverage, kind)
        sure = "is" if self.point else f"is, {100 * self.confidence:g}% sure,"
        asked = f"{kind.shown(least)} is asked for ({evidence.samples:,} samples)"
        if bounds.low >= least:
            amount = kind.shown(bounds.low)
            least_is = "" if self.point and coverage == 1 else "at least "
            return check(Verdict.PASS, f"{sure} {least_is}{amount}; {asked}", bounds)
        if bounds.high < least:
            amount = kind.shown(bounds.high)
            most_is = "" if self.point and coverage == 1 else "at most "
            return check(Verdict.FAIL, f"{sure} {most_is}{amount}; {asked}", bounds)
        between = (
            f"{sure} between {kind.shown(bounds.low)} and {kind.shown(bounds.high)}, and "
            f"{kind.shown(least)} is asked for"
        )
        if seen.low >= least or seen.high < least:
            reason = (
                f"{between}: {1 - coverage:.1%} of the samples have no score and might decide "
                "it; score them, or accept that by min_coverage"
            )
            return check(Verdict.CANNOT_TELL, reason, bounds)
        needed = kind.needed(spread, evidence.samples, least, self.confidence)
        enough = (
            "no number of samples would tell at this mean"
            if needed is None
            else f"about {needed:,} would tell at this mean and spread"
        )
        reason = f"{between}: {evidence.samples:,} samples are too few, {enough}"
        if not spread.variance:
            share = unseen(spread.groups, self.confidence, tails=1)
            reason += (
                f"; all of these agree, and yet up to {share:.1%} of all questions may not (a "
                "point comparison goes by these alone)"
            )
        return check(Verdict.CANNOT_TELL, reason, bounds, needed)

    def _problem(self, evidence: _Evidence) -> str:
        """Return why nothing can be told at all; "" where that is not so."""
        if evidence.spread is None or evidence.coverage is None:
            return "has no sample with a score"
        if not self.point and not evidence.spread.df:
            return "stands on one independent sample alone"
        if self.min_coverage is not None and evidence.coverage < self.min_coverage:
            return (
                f"covers {evidence.coverage:.1%} of the samples that should have a score; "
                f"{self.min_coverage:.1%} are asked for"
            )
        return ""


class _Kind(NamedTuple):
    """Means of scores, or means of changes: the range of one, its bounds, how it is shown."""

    least: float
    most: float
    bounds: Callable[[Spread | None, float], Interval | None]
    needed: Callable[[Spread | None, int, float, float], int | None]
    shown: Callable[[float], str]


class _Evidence(NamedTuple):
    """What a rule goes by."""

    rule: str
    what: str
    spread: Spread | None
    samples: int
    coverage: float | None
    kind: _Kind


_MEAN = _Kind(0.0, 1.0, decision_bounds, samples_needed, lambda value: f"{value:.3f}")
_CHANGE = _Kind(-1.0, 1.0, difference_bounds, pairs_needed, lambda value: f"{value:+.3f}")


def _at_worst(seen: Interval, coverage: float, kind: _Kind) -> Interval:
    """Return the bounds if all that is not covered were at one end of the range."""
    gap = 1 - coverage
    return Interval(
        coverage * seen.low + gap * kind.least,
        coverage * seen.high + gap * kind.most,
        seen.confidence,
    )


def _spread_at(report: Report, name: str, at: int | None) -> Spread | None:
    summary = report.summary()[name]
    if at is None or at == summary.method.k:
        spread: Spread | None = summary.spread
        return spread
    if at in summary.at_spreads:
        return summary.at_spreads[at]
    if not report.keeps_rows:
        raise ReportError(
            f"the report keeps no rows and {name} has no k = {at}: give the scorer "
            f'ks=(…, {at}), or evaluate with keep="rows"'
        )
    return scored(report, name).spread(summary.method.measure, at)


def _label(report: Report, name: str, at: int | None) -> str:
    return report.methods[place_of(report, name)].label if at is None else f"{name}@{at}"
