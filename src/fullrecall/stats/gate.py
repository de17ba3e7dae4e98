"""The gate: decide whether measures reach thresholds, and are no worse than before.

Gaffke's test decides an outcome, not the mean alone: a mean of 0.91 over 30 questions shows neither
that recall is above 0.9 nor that it is below. PASS and FAIL are each wrong with probability 1 -
confidence at most, for every distribution of the scores; else the outcome is CANNOT TELL.

PASS is tested without a correction for several rules: if one rule does not hold, the probability
that all rules pass is at most the probability that this rule passes. A single FAIL fails the gate,
so the p-values of FAIL are adjusted by Holm's method. Samples without a value count at their worst
for PASS, and at their best for FAIL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from fullrecall._util.counts import counted
from fullrecall._util.parameters import check_share
from fullrecall._util.truth import NoTruth
from fullrecall._util.values import shown as shown_value
from fullrecall.errors import ParameterError
from fullrecall.measures import Measure, Threshold, parse_threshold
from fullrecall.scorers.derived import changed_parameters
from fullrecall.scorers.result import Method
from fullrecall.show import markdown
from fullrecall.show.sheet import Cell, CellLike, Emphasis, Line, Section, Sheet
from fullrecall.show.text import from_to, outward, shown
from fullrecall.stats.bounds import CONFIDENCE, Bracket, Interval, alpha_of, holm
from fullrecall.stats.change import Direction
from fullrecall.stats.comparison import Comparison
from fullrecall.stats.evaluation import Evaluation, check_evaluation, sliced
from fullrecall.stats.named import index_of
from fullrecall.stats.plain import plain_of
from fullrecall.stats.totals import Totals


class Outcome(StrEnum):
    """The decision of a gate."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    CANNOT_TELL = "cannot_tell"

    @property
    def words(self) -> str:
        """The outcome in words, for a sentence."""
        return self.value.replace("_", " ").upper()


@dataclass(frozen=True)
class Check(NoTruth):
    """One rule of a gate and its outcome.

    `value` is the mean, or the mean difference from the baseline. `interval` is two-sided, at the
    gate's confidence. Its lower end counts unscored samples as 0, and its upper end counts them as
    1; the intervals of a summary or a comparison leave them out. `bound` is the one-sided bound
    that shows PASS or FAIL, at the same confidence; None for CANNOT TELL, and for a PASS that
    follows from the retrieved lists alone.
    `p_pass` is the p-value of "the rule does not hold". `p_fail` is that of "the rule holds",
    adjusted by Holm's method for all rules of the gate. `samples` counts the samples with a value,
    `coverage` is their share of those that should have one. `needed` is the number of samples with
    these values that would settle a CANNOT TELL, None if no number would.
    """

    rule: str
    outcome: Outcome = Outcome.CANNOT_TELL
    reason: str = ""
    value: float | None = None
    interval: Interval | None = None
    bound: float | None = None
    p_pass: float | None = None
    p_fail: float | None = None
    samples: int = 0
    coverage: float | None = None
    needed: int | None = None


@dataclass(frozen=True, repr=False)
class GateResult(NoTruth):
    """The decision of a gate about a report; prints one line for each rule.

    `drift` has sentences on differences from the baseline besides the retriever (in the corpus, the
    list or the references), and on IDs that match only after a rewrite. `parameters` has a text for
    each scorer with parameters that differ from the defaults: "text_recall(threshold=0.05)".
    """

    checks: tuple[Check, ...]
    drift: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The outcome, with the first rule that has it; for PASS, with the number of rules."""
        outcome = self.outcome
        deciding = [check for check in self.checks if check.outcome is outcome]
        if outcome is Outcome.PASS:
            rules = f"PASS: {counted(len(deciding), 'rule')} at the required confidence"
            return "; but ".join([rules, *self.drift])
        more = f" (and {len(deciding) - 1:,} more)" if len(deciding) > 1 else ""
        return f"{outcome.words}: {deciding[0].reason}{more}"

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of all checks: FAIL, else CANNOT TELL, else PASS."""
        worst_first = [Outcome.FAIL, Outcome.CANNOT_TELL, Outcome.PASS]
        return min((check.outcome for check in self.checks), key=worst_first.index)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain_of(self, "outcome", "sentence", "drift", "parameters", "checks")

    def to_markdown(self) -> str:
        """Return a table in GitHub's Markdown."""
        lines = []
        for check in self.checks:
            sign, emphasis = LOOKS[check.outcome]
            cells: list[CellLike] = [
                Cell(f"{sign} {check.outcome.words}", emphasis),
                shown(check.value),
                from_to(check.interval),
                f"{check.samples:,}",
                "" if check.coverage is None else f"{check.coverage:.1%}",
                check.reason,
            ]
            lines.append(Line(check.rule, cells))
        heads = ["", "value", "interval", "samples", "coverage", "why"]
        section = Section("", lines)
        sheet = Sheet(heads, [section], corner="rule", sides="llrrrrt", notes=self.notes)
        title = f"{LOOKS[self.outcome][0]} Recall gate: {markdown.escaped(self.sentence)}"
        return markdown.text_of(title, sheet)

    def __repr__(self) -> str:
        return f"GateResult({self.outcome.words}, {counted(len(self.checks), 'rule')})\n{self}"

    def __str__(self) -> str:
        checks = [f"{check.outcome.words}: {check.reason}" for check in self.checks]
        return "\n".join([*checks, *self.notes])

    @property
    def notes(self) -> list[str]:
        """A list of one line, with the parameters that are not default; [] if all are default."""
        named = ", ".join(self.parameters)
        return [f"Parameters that differ from the defaults: {named}."] if named else []


LOOKS: Mapping[str, tuple[str, Emphasis]] = {
    "pass": ("✅", "good"),
    "fail": ("❌", "bad"),
    "cannot_tell": ("⚠️", "unsure"),
}
"""For each outcome, its sign in Markdown and its emphasis."""


Rule: TypeAlias = Threshold | Measure
"""A threshold, such as `Recall @ 10 >= 0.9`, or a measure that is compared with the baseline."""


class Question(NamedTuple):
    """One rule: is the mean of the measure `label` at least, or `at_most`, `threshold`?

    `due` counts the samples that should have a value. `measured` has the totals of the samples that
    have a value. In `values`, samples without a value count at their worst and at their best.
    `drift` names a cause of the result besides the retriever, or is ""; if there is such a cause,
    the rule cannot FAIL. `fact` is the reason why the retrieved lists alone show that the mean is
    not worse than the baseline's, or "".
    """

    label: str
    threshold: float
    measured: Totals
    values: Bracket
    due: int
    at_most: bool = False
    drift: str = ""
    fact: str = ""
    missing: str = ""
    """In a comparison with a baseline: why samples have no value, with their numbers; else ""."""

    @property
    def rule(self) -> str:
        """The rule as users write it."""
        return f"{self.label} {'<=' if self.at_most else '>='} {self.threshold:g}"

    def shown(self, value: float) -> str:
        """Return a value with three decimals; a change has a sign."""
        return format(value, "+.3f" if self.values.least < 0 else ".3f")

    def p_values(self) -> tuple[float, float]:
        """Return the p-values of "the rule does not hold" and of "the rule holds"."""
        p_above = self.values.p_above(self.threshold)
        p_below = self.values.p_below(self.threshold)
        if self.at_most:
            return 0.0 if self.threshold >= 1 else p_below, p_above
        return 0.0 if self.threshold <= self.values.least else p_above, p_below


@dataclass(frozen=True, init=False)
class Gate:
    """The requirements on a report: thresholds, a limit on drops from a baseline, or both.

        Gate(Recall @ 10 >= 0.9, RR >= 0.7).check(report)
        Gate(Recall @ 10, margin=0.02).check(report, baseline)
        Gate(Recall @ 10 >= 0.8, slices="kind").check(report)

    - `rules`: thresholds, and measures that are only compared with the baseline. With a margin and
      no rules, each score's headline is compared.
    - `margin`: largest drop of the mean from the baseline's that still passes, in [0, 1]; it
      applies to the measure of every rule. If lower values of a measure are better, it is the
      largest rise that still passes.
    - `scores`: names of scores that must each pass; may be left out with only one score or recall.
    - `slices`: a field of the samples, such as "kind" or "source": each rule must also hold for
      each value.
    - `confidence`: PASS and FAIL are each wrong with probability 1 - confidence at most.

    Unscored samples count at their worst for PASS (0 with `>=`, 1 with `<=`), at their best for
    FAIL. For PASS, each rule is tested at the full confidence; the tests for FAIL are corrected for
    the number of rules. Both are valid for one test of the data, not for several while samples come
    in. Raises `ParameterError` for a value out of range, and without any rule.
    """

    rules: tuple[Rule, ...]
    margin: float | None
    scores: tuple[str, ...]
    slices: str | None
    confidence: float

    def __init__(
        self,
        *rules: Rule,
        margin: float | None = None,
        scores: Sequence[str] = (),
        slices: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> None:
        if not rules and margin is None:
            raise ParameterError("a gate needs a rule: Recall @ 10 >= 0.9, or margin=0.02, or both")
        for rule in rules:
            _check_rule(rule, margin)
        if margin is not None:
            check_share(margin, "margin")
        check_share(confidence, "confidence", whole=False)
        if isinstance(scores, str):
            raise ParameterError(
                f"must be a list of names, got {scores!r}: pass [{scores!r}]", "scores"
            )
        values = (tuple(rules), margin, tuple(scores), slices, confidence)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def check(self, report: Evaluation, baseline: Evaluation | None = None) -> GateResult:
        """Return the result for a report, compared with `baseline` if the gate has a margin.

        Raises `ParameterError` for a margin without a baseline and for a baseline without a margin;
        raises `ReportError` for scores or measures that a report does not have, and for reports
        that cannot be compared. A comparison with the baseline gives CANNOT TELL in place of FAIL,
        with the reason, if the baseline has another corpus or other references, or if another list
        of its records was scored (`Report.view`). A threshold gives CANNOT TELL in place of FAIL if
        no ID matches, but IDs would match after a rewrite. Every outcome is CANNOT TELL if a report
        lacks samples of its run.
        """
        check_evaluation(report, "Gate.check")
        if baseline is not None:
            check_evaluation(baseline, "Gate.check")
        if (self.margin is None) != (baseline is None):
            raise ParameterError("a baseline and a margin go together: pass both or none")
        indices = [index_of(report.methods, score) for score in self.scores or (None,)]
        questions = self._questions(report, baseline, indices, "")
        if self.slices is not None:
            compared = [report] if baseline is None else [report, baseline]
            for value, (part, *before) in sliced(compared, self.slices).items():
                suffix = f" [{self.slices}={value}]"
                questions += self._questions(part, next(iter(before), None), indices, suffix)
        checks = self._checks(questions)
        stopped = "; ".join(
            f"{which} does not have all of its samples ({run.stopped}): run it again to the end"
            for which, run in (("the report", report), ("the baseline", baseline))
            if run is not None and run.stopped is not None
        )
        if stopped:  # The missing samples may differ from the scored ones, so decide nothing.
            checks = [
                replace(check, outcome=Outcome.CANNOT_TELL, reason=stopped, needed=None)
                for check in checks
            ]
        drifted = dict.fromkeys(question.drift for question in questions if question.drift)
        parameters = filter(None, (_changed(report.methods[index]) for index in indices))
        return GateResult(tuple(checks), tuple(drifted), tuple(parameters))

    def _questions(
        self, report: Evaluation, baseline: Evaluation | None, indices: Sequence[int], suffix: str
    ) -> list[Question]:
        """Return the questions about a report, or about the slice that `suffix` names."""
        questions = [each for index in indices for each in self._thresholds(report, index)]
        if baseline is not None:
            measures = {each: None for index in indices for each in self._compared(report, index)}
            comparison = Comparison(baseline, report, *measures)
            questions += [each for index in indices for each in self._changes(comparison, index)]
        return [each._replace(label=f"{each.label}{suffix}") for each in questions]

    def _compared(self, report: Evaluation, score_index: int) -> list[Measure]:
        """Return the measures of a score that are compared with the baseline's."""
        named = [rule.measure if isinstance(rule, Threshold) else rule for rule in self.rules]
        return list(dict.fromkeys(named)) or [report.methods[score_index].headline]

    def _thresholds(self, report: Evaluation, score_index: int) -> Iterator[Question]:
        rules = [rule for rule in self.rules if isinstance(rule, Threshold)]
        if not rules:
            return
        summary = report.summary(*(rule.measure for rule in rules))[score_index]
        rewrite = summary.rewrite
        for rule in rules:
            totals = summary[rule.measure].totals
            yield Question(
                summary.method.label(rule.measure),
                rule.bound,
                totals,
                totals.worst_and_best,
                totals.due,
                rule.at_most,
                rewrite.sentence if rewrite is not None and rewrite.gain is not None else "",
            )

    def _changes(self, comparison: Comparison, score_index: int) -> Iterator[Question]:
        score = comparison[comparison.after.methods[score_index].name]
        for measure in self._compared(comparison.after, score_index):
            totals, margin = score[measure].totals, self.margin or 0.0
            # A drop by the margin is allowed, so the threshold of the change is -margin.
            yield Question(
                f"change of {score.method.label(measure)}",
                margin if measure.lower_is_better else -margin,
                totals,
                score[measure].pairs.worst_and_best(measure),
                totals.samples + score.uncompared,
                measure.lower_is_better,
                "; ".join(comparison.drift),
                _FACTS.get(score[measure].outcome, ""),
                score.unpaired_reasons,
            )

    def _checks(self, questions: Sequence[Question]) -> list[Check]:
        """Return the check of each rule."""
        p_values = {
            number: question.p_values()
            for number, question in enumerate(questions)
            if question.measured.samples
        }
        # Only FAIL needs Holm's correction, since the FAIL of one rule fails the gate: with six
        # rules, each exactly at its threshold, a false FAIL would occur in 21.6% of runs without
        # it, and occurs in 2.6% with it.
        adjusted = holm([p_fail for _, p_fail in p_values.values()])
        p_fails = dict(zip(p_values, adjusted, strict=True))
        return [
            self._checked(question, p_values[number][0], p_fails[number], rules=len(questions))
            if number in p_values
            else Check(
                question.rule,
                reason=f"{question.label} has no sample with a value"
                f"{question.missing and f': {question.missing}'}",
                coverage=0.0 if question.due else None,
            )
            for number, question in enumerate(questions)
        ]

    def _checked(self, question: Question, p_pass: float, p_fail: float, *, rules: int) -> Check:
        """Return the check of a rule, with its outcome and reason."""
        alpha, change = alpha_of(self.confidence), question.measured.mean or 0.0
        if question.fact and (p_pass > alpha or not change):
            samples = question.measured.samples
            lists = f"all lists of {counted(samples, 'sample')} {question.fact}"
            reason = f"{question.label} is {question.shown(change) if change else 0}: {lists}"
            reason += question.drift and f"; but {question.drift}"
            return Check(question.rule, Outcome.PASS, reason, change, samples=samples, coverage=1.0)
        outcome, needed, missing = Outcome.PASS, None, ""
        if p_pass > alpha:
            fails = p_fail <= alpha and not question.drift
            outcome = Outcome.FAIL if fails else Outcome.CANNOT_TELL
        if outcome is Outcome.CANNOT_TELL:
            needed, missing = self._missing(question, rules)
        bound = None
        if outcome is not Outcome.CANNOT_TELL:
            is_low = (outcome is Outcome.PASS) != question.at_most
            bound = question.values.lower(alpha) if is_low else question.values.upper(alpha)
        samples = question.measured.samples
        check = Check(
            question.rule,
            outcome,
            "",
            question.measured.mean,
            question.values.interval(self.confidence),
            bound,
            p_pass,
            p_fail,
            samples,
            samples / question.due,
            needed,
        )
        return replace(check, reason=self._sentence(question, check, missing))

    def _sentence(self, question: Question, check: Check, missing: str) -> str:
        sure = f"{100 * self.confidence:g}%"
        if check.bound is None:
            assert check.interval is not None  # noqa: S101 - the rule has samples
            bounds = "from {} to {}".format(*map(question.shown, outward(check.interval)))
            sure += " interval"
        else:
            low, high = map(question.shown, outward((check.bound, check.bound)))
            is_high = (check.outcome is Outcome.PASS) != question.at_most
            bounds = f"at least {low}" if is_high else f"at most {high}"
            sure = f"one-sided, {sure} confidence"
        bounded = "allowed" if question.at_most or question.values.least < 0 else "required"
        return (
            f"{question.label} is {bounds} ({sure}, {counted(check.samples, 'sample')}); "
            f"{bounded}: {question.shown(question.threshold)}"
            f"{missing and f'; {missing}'}{question.drift and f'; but {question.drift}'}"
        )

    def _missing(self, question: Question, rules: int) -> tuple[int | None, str]:
        """Return how many samples would settle a rule, and a sentence on that.

        The number is None if no such number is known. `rules` is the number of rules of the gate.
        """
        if question.drift:
            return None, "it does not fail while that is so"
        measured, threshold = question.measured, question.threshold
        above = (measured.mean or 0.0) >= threshold
        side = question.values.low if above else question.values.high
        # PASS is tested at the full level. For FAIL, Holm's method divides the level by the number
        # of rules in the worst case.
        alpha = alpha_of(self.confidence) / (1 if above != question.at_most else rules)
        known = measured.counts(least=question.values.least)
        p = known.p_above(threshold) if above else known.p_below(threshold)
        without = question.due - measured.samples
        if without and ((side.mean >= threshold) != above or p <= alpha):
            share = without / question.due
            return None, f"the {share:.1%} of samples without a value decide it: score them"
        needed = question.values.needed(threshold, alpha, question.due, above=above)
        if needed is None:
            return None, "more samples with this mean would not settle it"
        return needed, f"about {counted(needed, 'sample')} with these values would settle it"


_FACTS: Mapping[Direction, str] = {
    Direction.SAME: "are the same",
    Direction.NOT_WORSE: "begin with the baseline's",
}
"""For each outcome that follows from the lists alone, its reason: how "all lists …" goes on."""


def _check_rule(rule: object, margin: float | None) -> None:
    if isinstance(rule, Threshold):
        return
    if isinstance(rule, str):
        try:
            way = repr(parse_threshold(rule))
        except ParameterError:
            way = "Recall @ 10 >= 0.9"
        raise ParameterError(f"a rule must be a threshold, got the text {rule!r}: pass {way}")
    if not isinstance(rule, Measure):
        raise ParameterError(f"a rule must be such as Recall @ 10 >= 0.9, got {rule!r}")
    if margin is None:
        raise ParameterError(
            f"{rule!r} needs a threshold, such as {rule!r} >= 0.9, or a margin to the baseline"
        )


def _changed(method: Method) -> str:
    """Return the scorer with its changed parameters, such as "text_recall(threshold=0.05)".

    Returns "" if all parameters are default.
    """
    changed = changed_parameters(method)
    named = ", ".join(f"{name}={shown_value(value)}" for name, value in changed.items())
    return f"{method.name}({named})" if named else ""
