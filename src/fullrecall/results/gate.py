"""The gate: is a measure high enough, and no worse than before, or is that undecided?

An outcome is decided by Gaffke's test and not by the mean alone: a mean of 0.91 over 30 questions
shows neither that recall is above 0.9 nor that it is below. PASS is wrong with probability
1 - confidence at most, FAIL as well, for every distribution of the scores; what lies between is
CANNOT TELL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

from fullrecall.counts import counted
from fullrecall.errors import ParameterError
from fullrecall.measures import Measure, Threshold
from fullrecall.parameters import Constructed, check_share
from fullrecall.report.report import Report, check_report
from fullrecall.results.bounds import CONFIDENCE
from fullrecall.results.comparison import Comparison
from fullrecall.results.comparisons import compare
from fullrecall.results.decision import Check, Outcome, Question, Side, Strictness
from fullrecall.results.named import index_of
from fullrecall.results.plain import plain_of
from fullrecall.results.slices import parted

Rule: TypeAlias = Threshold | Measure
"""A threshold such as `Recall @ 10 >= 0.9` or `Leak @ 10 <= 0.01`, or a measure to be compared with
the baseline's."""


@dataclass(frozen=True, init=False)
class Gate(Constructed):
    """What a report must reach: thresholds, or no drop from a baseline, or both.

        Gate(Recall @ 10 >= 0.9, RR >= 0.7).check(report)
        Gate(Recall @ 10, margin=0.02).check(report, baseline)
        Gate(Recall @ 10 >= 0.8, slices="kind").check(report)

    - `rules`: thresholds, and measures that are only compared with the baseline; with a margin
      alone, each score's headline is.
    - `margin`: largest drop of the mean from the baseline's that still passes, in [0, 1]; it
      holds for every measure that is named.
    - `scores`: names of scores that must each pass; may be left out where there is one, or one
      recall.
    - `slices`: a field of the samples, such as "kind" or "source": each rule must also hold within
      each of its values.
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
    slices: str | None
    confidence: float
    min_coverage: float | None
    point: bool

    def __init__(
        self,
        *rules: Rule,
        margin: float | None = None,
        scores: Sequence[str] = (),
        slices: str | None = None,
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
            raise ParameterError(
                f"scores must be a list of names, got {scores!r}: pass [{scores!r}]"
            )
        values = (tuple(rules), margin, tuple(scores), slices, confidence, min_coverage, point)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def check(self, report: Report, baseline: Report | None = None) -> GateResult:
        """Return what the gate decides of a report, compared with `baseline` where it has a margin.

        Raises `ParameterError` for a margin without a baseline and the other way round,
        `ReportError` for scores or measures that a report does not have, and for reports that
        cannot be compared. Where the baseline is of another corpus, another list (`Report.view`),
        or other references, each change says so, and one that fails is CANNOT TELL; so is a
        threshold where no ID matches and a rewrite makes them match.
        """
        check_report(report, "Gate.check")
        if baseline is not None:
            check_report(baseline, "Gate.check")
        if (self.margin is None) != (baseline is None):
            raise ParameterError("a baseline and a margin go together: pass both or none")
        indices = [index_of(report.methods, score) for score in self.scores or (None,)]
        questions = self._questions(report, baseline, indices, "")
        if self.slices is not None:
            rows, _ = parted(report.table, self.slices)
            for value in sorted(rows):
                part = report.selected(rows[value].tolist())
                before = baseline
                if baseline is not None:
                    others, _ = parted(baseline.table, self.slices, required=False)
                    before = baseline.selected(others.get(value, ()))
                questions += self._questions(part, before, indices, f" [{self.slices}={value}]")
        checks = Strictness(self.confidence, self.min_coverage, self.point).checks(questions)
        stopped = "; ".join(
            f"{which} does not have all of its samples ({run.stopped}): run it again to the end"
            for which, run in (("the report", report), ("the baseline", baseline))
            if run is not None and run.stopped is not None
        )
        if stopped:  # what is missing is not a sample of what is there
            checks = [
                replace(check, outcome=Outcome.CANNOT_TELL, reason=stopped, needed=None)
                for check in checks
            ]
        drifted = dict.fromkeys(question.drift for question in questions if question.drift)
        return GateResult(tuple(checks), tuple(drifted))

    def _questions(
        self, report: Report, baseline: Report | None, indices: Sequence[int], suffix: str
    ) -> list[Question]:
        """Return what is asked of a report, or of the samples that `suffix` names."""
        questions = [each for index in indices for each in self._thresholds(report, index)]
        if baseline is not None:
            measures = {each: None for index in indices for each in self._compared(report, index)}
            comparison = compare(baseline, report, *measures)
            questions += [each for index in indices for each in self._changes(comparison, index)]
        return [each._replace(label=f"{each.label}{suffix}") for each in questions]

    def _compared(self, report: Report, score_index: int) -> list[Measure]:
        """Return the measures of a score that are compared with the baseline's."""
        named = [rule.measure if isinstance(rule, Threshold) else rule for rule in self.rules]
        return list(dict.fromkeys(named)) or [report.methods[score_index].headline]

    def _thresholds(self, report: Report, score_index: int) -> Iterator[Question]:
        rules = [rule for rule in self.rules if isinstance(rule, Threshold)]
        if not rules:
            return
        summary = report.summary(*(rule.measure for rule in rules))[score_index]
        worst, best = (None, None) if self.min_coverage is not None else (0.0, 1.0)
        for rule in rules:
            totals = summary[rule.measure].totals
            yield Question(
                summary.method.label(rule.measure),
                rule.bound,
                0.0,
                totals,
                Side(totals.counts(worst).low, totals.mean_with(worst)),
                Side(totals.counts(best).high, totals.mean_with(best)),
                totals.samples / totals.due if totals.due else None,
                rule.at_most,
                "" if summary.rewrite is None else summary.rewrite.sentence,
            )

    def _changes(self, comparison: Comparison, score_index: int) -> Iterator[Question]:
        score = comparison[comparison.after.methods[score_index].name]
        for measure in self._compared(comparison.after, score_index):
            totals = score[measure].totals
            worst, best = totals, totals
            if self.min_coverage is None:
                worst, best = comparison.changes(score.name, measure)
            due = totals.samples + score.gaps
            margin = self.margin or 0.0
            yield Question(
                f"change of {score.method.label(measure)}",
                margin if measure.lower_is_better else -margin,
                -1.0,
                totals,
                Side(worst.counts(least=-1.0).low, worst.mean),
                Side(best.counts(least=-1.0).high, best.mean),
                totals.samples / due if due else None,
                measure.lower_is_better,
                "; ".join(comparison.drift),
            )


@dataclass(frozen=True, repr=False)
class GateResult:
    """What a gate decides of a report; prints one line for each rule.

    `drift` says what has changed beside the retriever: the corpus, the list, the references.
    """

    checks: tuple[Check, ...]
    drift: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The outcome, with the first rule that decides it and how many others do."""
        outcome = self.outcome
        deciding = [check for check in self.checks if check.outcome is outcome]
        if outcome is Outcome.PASS:
            rules = f"PASS: {counted(len(deciding), 'rule')} at the required confidence"
            return "; but ".join([rules, *self.drift])
        more = f" (and {len(deciding) - 1:,} more)" if len(deciding) > 1 else ""
        return f"{outcome.words}: {deciding[0].reason}{more}"

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
        return plain_of(self, "outcome", "sentence", "drift", "checks")

    def to_markdown(self) -> str:
        """Return a table in GitHub's Markdown."""
        from fullrecall.views.gates import gate_markdown

        return gate_markdown(self)

    def to_junit(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, JUnit's XML: one test case for each rule.

        CANNOT TELL is an error there, as a test that could not be run.
        """
        from fullrecall.views import exports, junit

        return exports.written(junit.of_gate(self), path)

    def __repr__(self) -> str:
        return f"GateResult({self.outcome.words}, {counted(len(self.checks), 'rule')})\n{self}"

    def __str__(self) -> str:
        return "\n".join(f"{check.outcome.words}: {check.reason}" for check in self.checks)


def _check_rule(rule: object, margin: float | None) -> None:
    if isinstance(rule, Threshold):
        return
    if not isinstance(rule, Measure):
        raise ParameterError(f"a rule must be such as Recall @ 10 >= 0.9, got {rule!r}")
    if margin is None:
        raise ParameterError(
            f"{rule!r} needs a threshold, such as {rule!r} >= 0.9, or a margin to the baseline"
        )
