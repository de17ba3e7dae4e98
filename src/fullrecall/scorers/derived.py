"""Compute saved findings again from their sample, by the scorer that the saved method names.

A scorer without a judge scores the sample again. A scorer with a judge also runs again, with the
verdicts that the saved findings record. Everything that follows from the verdicts is computed
again: the targets, whether a quote is in its context, the credit, the ranks, and whether the sample
is scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

from fullrecall import scorers
from fullrecall._util import lazy
from fullrecall._util.ports import plugged
from fullrecall._util.values import shown
from fullrecall.errors import FullrecallError, JudgeError, ReportError
from fullrecall.judge.flow import Done, advance
from fullrecall.judge.judge import LABELS, Citation, Flow, Verdict, compound
from fullrecall.judge.several import median
from fullrecall.measures.findings import Evidence, Finding, VerdictPart
from fullrecall.samples.fields import STALE
from fullrecall.samples.sample import Sample
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.scorers.scorer import BAD_ROW, INTERRUPTED, LATE, FindingScorer
from fullrecall.scorers.text import is_name

T = TypeVar("T")


@cache
def _kinds() -> Mapping[str, type[FindingScorer]]:
    """Return the scorers that this package exports, by kind, without base classes."""
    exported = (getattr(scorers, name) for name in lazy.exports(scorers.__name__))
    return {
        scorer.kind: scorer
        for scorer in exported
        if isinstance(scorer, type) and issubclass(scorer, FindingScorer) and "kind" in vars(scorer)
    }


def rebuilt(method: Method, judge: RecordedJudge | None = None) -> FindingScorer | None:
    """Return the scorer that a method describes; None for a user's own scorer.

    `judge` replaces the judge that the method names. Without it, the result is also None for a
    scorer that asks a judge.
    """
    make, parameters = _kinds().get(method.kind), {**method.parameters}
    if make is None:
        return None
    if parameters.get("judge") is not None:
        if judge is None:
            return None
        judge.name = parameters["judge"]
        judge.quotes_by_rules = method.quotes_by_rules
        parameters["judge"] = judge
    try:
        scorer = make(name=method.name, **parameters)
    except (FullrecallError, TypeError):
        return None
    # If the constructor changes a parameter, the scorer would compute other numbers under the saved
    # name.
    return scorer if scorer.method == method else None


def changed_parameters(method: Method) -> Mapping[str, Any]:
    """Return the parameters that differ from the scorer's defaults.

    The parameters of a user's own scorer are left out, since a saved report does not have its
    defaults.
    """
    make, built_in = _kinds().get(method.kind), plugged("judge")
    if make is None:
        return {}
    defaults = {each.name: each.default for each in fields(make)}
    if "judge" in defaults and built_in is not None:
        defaults["judge"] = built_in().name
    return {
        name: value
        for name, value in method.parameters.items()
        if name not in defaults or value != defaults[name]
    }


def _may_be_own(method: Method) -> bool:
    """Return whether a user may have written the scorer or its similarity function.

    This package cannot find such objects, since a report saves only their names.
    """
    similarity = method.parameters.get("similarity")
    is_function = isinstance(similarity, str) and not is_name(similarity)
    return method.kind not in _kinds() or is_function


class Derivation:
    """Derives the results of one score from their samples and saved verdicts."""

    def __init__(self, method: Method, *, held: bool) -> None:
        """Derive results of a method; `held` means that its run compared labels with a corpus.

        Raises `ReportError` for a method that no scorer of this package has.
        """
        self._judge = RecordedJudge()
        self._held = held
        self.scorer = rebuilt(method, self._judge)
        """The scorer; None for a user's own scorer, whose results cannot be derived."""
        if self.scorer is None and not _may_be_own(method):
            raise ReportError(
                f"{method.name}: no scorer of kind {method.kind!r} with headline "
                f"{method.headline.name} has the parameters {shown(dict(method.parameters))}: "
                "evaluate again"
            )
        self.alone = self.scorer if self._judge.name == "" else None
        """The scorer if its results follow from the sample alone; else None."""

    def result(self, sample: Sample, saved: Result) -> Result:
        """Return the sample's result, derived from the verdicts that `saved` records.

        Returns `saved` itself for a user's own scorer, or if the run, not the scorer, left the
        sample unscored.
        """
        if self.scorer is None or self._left_by_run(saved):
            return saved
        if self.alone is not None:
            return self.alone.score(sample)
        assert isinstance(self.scorer, JudgedScorer)  # noqa: S101 - no other takes a judge
        self._judge.replay(self.scorer, sample, saved)
        # Advance the flow directly: for each sample, `score` would create objects that send
        # requests.
        step = advance(self.scorer.flow(sample), None)
        assert isinstance(step, Done)  # noqa: S101 - this judge makes no requests
        result: Result = step.value
        return replace(result, usage=saved.usage).asked_of(sample)

    def _left_by_run(self, saved: Result) -> bool:
        """Return whether the run, and not the scorer, left the sample unscored."""
        if saved.status is not Status.UNSCORED or saved.findings:
            return False
        # A deadline, a bad row or a stale label is a fact of the run, not of the sample, so scoring
        # the sample again cannot confirm it.
        stale = self._held and saved.note.startswith(STALE)
        return stale or saved.note in (LATE, INTERRUPTED) or saved.note.startswith(BAD_ROW)


def _replied(value: T) -> Flow[T]:
    """Return a flow that ends at once with this value."""
    yield from ()
    return value


class RecordedJudge:
    """Replays the verdicts that saved findings record."""

    def __init__(self) -> None:
        self.name = ""
        self.quotes_by_rules = False
        self._saved: Result | None = None
        self._findings: dict[str, Finding] = {}
        self._unmeasured: dict[str, str] = {}
        self._index_of_rank: dict[int, int] = {}

    def replay(self, scorer: JudgedScorer, sample: Sample, saved: Result) -> None:
        """Set the sample and the saved findings whose verdicts are replayed from now on."""
        self._saved = saved
        self._findings = {finding.target.label: finding for finding in saved.findings}
        self._unmeasured = dict(saved.unmeasured)
        self._index_of_rank = scorer.index_of_rank(sample)

    def split(self, text: str, **_: object) -> Flow[Sequence[str]]:  # noqa: ARG002 - protocol
        """Return the targets of the saved result."""
        self._check_answered()
        return _replied([*self._findings, *self._unmeasured])

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],  # noqa: ARG002 - protocol
        **_: object,
    ) -> Flow[Sequence[Verdict]]:
        """Return the verdict on each target."""
        return _replied(self._verdicts(targets))

    def relevance(self, contexts: Sequence[str], **_: object) -> Flow[Sequence[Verdict]]:
        """Return the verdict on each context."""
        return _replied(self._verdicts(contexts))

    def _verdicts(self, targets: Sequence[str]) -> list[Verdict]:
        self._check_answered()
        return [self._verdict(target) for target in targets]

    def _check_answered(self) -> None:
        """Raise `JudgeError` if a failure left the sample without any judged target."""
        saved = self._saved
        nothing = not self._findings and not self._unmeasured
        if nothing and saved is not None and saved.status is Status.UNSCORED:
            raise JudgeError(saved.note)

    def _verdict(self, target: str) -> Verdict:
        finding = self._findings.get(target)
        if finding is None:
            return Verdict(None, problem=self._unmeasured.get(target, "no verdict was saved"))
        parts = finding.parts or (
            VerdictPart(finding.verdict, tuple(range(len(finding.evidence)))),
        )
        by_fact: dict[str, list[VerdictPart]] = {}
        for part in parts:
            by_fact.setdefault(part.fact, []).append(part)
        verdicts = {fact: self._of_votes(own, finding) for fact, own in by_fact.items()}
        verdict = (
            compound([replace(verdict, fact=fact) for fact, verdict in verdicts.items()])
            if parts[0].fact
            else verdicts[""]
        )
        contested, support, referred = finding.contested, finding.support, finding.referred
        # Call `replace` only if needed: it takes a tenth of the time of a derivation.
        if contested or referred or support is not None:
            return replace(verdict, contested=contested, support=support, referred=referred)
        return verdict

    def _of_votes(self, parts: Sequence[VerdictPart], finding: Finding) -> Verdict:
        """Return the verdict from its parts.

        It is the verdict of one judge, or the median of a panel's votes.
        """
        by_vote: dict[int, list[Verdict]] = {}
        for part in parts:
            by_vote.setdefault(part.vote, []).append(self._of_part(part, finding.evidence))
        votes = [
            replace(first, others=tuple(others)) if others else first
            for first, *others in by_vote.values()
        ]
        # The votes of a panel are numbered from 1 (`_kept_parts` in `judged`); 0 means a single
        # judge.
        return votes[0] if parts[0].vote == 0 else median(votes)

    def _of_part(self, part: VerdictPart, evidence: Sequence[Evidence]) -> Verdict:
        """Return one verdict; the citation of a rank that has no context gets the index -1."""
        # The scorer refuses a verdict with index -1, as it refuses every unknown index.
        cited = [evidence[index] for index in part.evidence if index < len(evidence)]
        citations = [
            Citation(self._index_of_rank.get(item.rank, -1), item.quote or "") for item in cited
        ]
        label: Any = part.label if part.label in LABELS else None
        return Verdict(
            label, tuple(citations), together=part.together, verified=self._verified(cited)
        )

    def _verified(self, cited: Sequence[Evidence]) -> bool | None:
        """Return whether the judge verified the quotes; None if rules must decide this.

        Rules must decide if they alone decided in the run, if no quote was located, or if the
        quotes have different saved values.
        """
        if self.quotes_by_rules:
            return None
        flags = {item.verified for item in cited if item.start is not None}
        return flags.pop() if len(flags) == 1 else None
