"""The base of the scorers that ask a judge: they convert its verdicts to findings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall._util.parameters import check_share
from fullrecall._util.ports import plugged
from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judge.flow import arun, run
from fullrecall.judge.judge import LABELS, Citation, Flow, Judge, Verdict
from fullrecall.judge.language import Aim, language
from fullrecall.judge.models.chat import ChatModel
from fullrecall.judge.quotes import Quotes
from fullrecall.judge.several import requiring_quotes
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target, VerdictPart
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result
from fullrecall.scorers.scorer import (
    NOT_JUDGED,
    FindingScorer,
    Found,
    Unanswerable,
    Unmeasured,
    as_sample,
    first_ranks,
    require_answerable,
    retrieved_texts,
)

if TYPE_CHECKING:
    from fullrecall.judge.judge import Relation


@dataclass(frozen=True, kw_only=True)
class JudgedScorer(FindingScorer):
    """Base of the scorers that ask a judge; subclasses define the questions.

    - `judge`: returns the verdicts; None selects the built-in `LexicalJudge`, which needs no model.
    - `partial_credit`: the credit of a target supported in part, in [0, 1]; 0.0 is strict.
    - `require_evidence`: give credit only for verified quotes. If a quote is not verified, the
      judge is asked for it once more; if that fails, the target is unmeasured.
    - `min_measured`: the least share of targets with a valid verdict; below it, the sample is
      unscored. At 1.0, the default, all targets need a verdict. At a lower value, the score is over
      the measured targets, and `result.unmeasured` names the others.
    """

    judge: Judge | None = None
    partial_credit: float = 0.0
    require_evidence: bool = False
    min_measured: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.partial_credit, "partial_credit")
        check_share(self.min_measured, "min_measured")
        if self.judge is not None:
            _check_judge(self.judge)

    def score(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the result for a sample, which may also be given by its fields' names.

        Blocks while models answer, even in a running event loop. Raises `InputError` for fields
        that do not make a sample. A sample that cannot be judged is "unscored", with the reason.
        """
        sample = as_sample(sample, sample_fields)
        result, usage = run(self.flow(sample))
        return replace(result, usage=usage).asked_of(sample)

    async def ascore(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the same as `score`, with the model's requests sent concurrently if possible."""
        sample = as_sample(sample, sample_fields)
        result, usage = await arun(self.flow(sample))
        return replace(result, usage=usage).asked_of(sample)

    def flow(self, sample: Sample) -> Flow[Result]:
        """Return a generator that scores a sample; its driver answers the requests to models.

        The result has no usage yet: only the driver knows the cost of the answers.
        """
        try:
            require_answerable(sample)
            judged = yield from self._judged(sample)
        except (Unmeasured, Unanswerable, JudgeError) as reason:
            return self._without_score(reason, sample)
        total = len(judged.findings) + len(judged.unmeasured)
        measured = len(judged.findings)
        # `not measured`: with min_measured=0.0, a sample without any verdict would score 0 of 0.
        if judged.unmeasured and (not measured or measured / total < self.min_measured):
            reasons = "; ".join(sorted({why for _, why in judged.unmeasured}))
            return replace(
                self._unscored(
                    Unmeasured(f"{len(judged.unmeasured)} of {total} {NOT_JUDGED}: {reasons}")
                ),
                findings=tuple(judged.findings),
                retrieved=judged.retrieved,
                unmeasured=judged.unmeasured,
            )
        return self._outcome(judged, sample)

    @abstractmethod
    def _judged(self, sample: Sample) -> Flow[Found]:
        """Return the findings; raises `Unmeasured` for a sample that cannot be measured."""

    @cached_property
    def _method(self) -> Method:
        """The method of this scorer, which names the built-in judge if no judge is given."""
        method = super()._method
        by_rules = getattr(self._asked_judge, "quotes_by_rules", False)
        own = {} if self.judge is not None else {"judge": self._asked_judge.name}
        return replace(
            method, parameters={**method.parameters, **own}, quotes_by_rules=bool(by_rules)
        )

    @cached_property
    def _asked_judge(self) -> Judge:
        """The judge, by default the built-in one.

        If evidence is required, a given judge is asked again for quotes that are not verified.
        """
        if self.judge is None:
            built_in: Callable[[], Judge] | None = plugged("judge")
            if built_in is None:
                raise ParameterError("judge is required: this fullrecall has no built-in judge")
            return built_in()
        return requiring_quotes(self.judge) if self.require_evidence else self.judge

    def _attributed(
        self,
        targets: Sequence[Target],
        sample: Sample,
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Found]:
        """Return the findings of `targets` in the sample's retrieved contexts."""
        contexts = self._contexts(sample)
        # An empty retrieval scores 0.0 and costs no request.
        if not targets or not contexts.unique:
            return Found([Finding(target) for target in targets], contexts.count)
        verdicts = yield from self._asked_judge.attribute(
            [target.label for target in targets],
            contexts.unique,
            question=question,
            relation=relation,
        )
        return self._findings_of(targets, verdicts, contexts, relation)

    def index_of_rank(self, sample: Sample) -> dict[int, int]:
        """Return, for the rank of each context, the index by which the judge cites the context."""
        try:
            contexts = self._contexts(sample)
        except Unmeasured:
            return {}
        return {rank: index for index, rank in enumerate(contexts.ranks)}

    def _contexts(self, sample: Sample) -> Contexts:
        """Return the contexts for the judge."""
        return Contexts(retrieved_texts(sample))

    def _findings_of(
        self,
        targets: Sequence[Target],
        verdicts: Sequence[Verdict],
        contexts: Contexts,
        aim: Aim,
    ) -> Found:
        """Return the findings of targets with a valid verdict, and why other targets have none."""
        # Verdicts belong to targets by order: if one were missing, all later ones would be shifted.
        if len(verdicts) != len(targets):
            raise JudgeError(
                f"the judge {self._asked_judge.name} returned {len(verdicts)} verdicts, expected "
                f"{len(targets)}, one per target in order"
            )
        findings = []
        unmeasured = []
        for target, verdict in zip(targets, verdicts, strict=True):
            problem = verdict.problem if verdict.label is None else contexts.problem_of(verdict)
            if verdict.label is None or problem:
                unmeasured.append((target.label, problem or "the judge gave no verdict"))
                continue
            finding = self._finding(target, verdict, contexts, aim)
            # The judge found support, but no quote proves it. A miss would claim that there is no
            # support, so the target is unmeasured.
            if self.require_evidence and self._credit(verdict) and not finding.steps:
                unmeasured.append((target.label, _UNVERIFIED))
            else:
                findings.append(finding)
        contested = [finding.contested for finding in findings if finding.contested]
        notes = [
            f"{len(unmeasured)} {NOT_JUDGED}" if unmeasured else "",
            f"{len(contested)} contested: {'; '.join(sorted(set(contested)))}" if contested else "",
        ]
        return Found(findings, contexts.count, "; ".join(filter(None, notes)), tuple(unmeasured))

    def _finding(self, target: Target, verdict: Verdict, contexts: Contexts, aim: Aim) -> Finding:
        """Return the finding of a target; each vote of a panel gives credit at its own ranks."""
        if verdict.facts:
            return self._compound(target, verdict, contexts, aim)
        cited = [
            [(part, contexts.evidence(part, target, aim)) for part in (vote, *vote.others)]
            for vote in verdict.votes or (verdict,)
        ]
        cited_evidence = [piece for vote in cited for _, pieces in vote for piece in pieces]
        # A quote that is verified in one verdict counts for every verdict that cites the same
        # context. The other verdict may come from another judge of a panel, or from another request
        # to the same judge, which had other contexts (a window).
        verified = {piece.rank for piece in cited_evidence if piece.verified}
        votes = [
            [
                self._part(part, items, verified, contexts.enough(part, target, aim))
                for part, items in vote
            ]
            for vote in cited
        ]
        proven = _steps(votes, strict=True)
        rests_on_quotes = self.require_evidence or all(
            part.found_at == part.proven_at for vote in votes for part in vote
        )
        steps = proven if rests_on_quotes else _steps(votes, strict=False)
        evidence = sorted(dict.fromkeys(cited_evidence), key=lambda piece: piece.rank)
        credit = steps[-1].credit if steps else 0.0
        ranks = {rank for vote in votes for part in vote for rank in part.ranks} if steps else ()
        return Finding(
            target,
            steps,
            tuple(sorted(ranks)),
            tuple(evidence),
            verdict.label or "",
            verdict.agreement,
            credit - (proven[-1].credit if proven else 0.0),
            verdict.contested,
            _kept_parts(verdict, evidence, cited),
            verdict.support,
            verdict.referred,
        )

    def _compound(self, target: Target, verdict: Verdict, contexts: Contexts, aim: Aim) -> Finding:
        """Return the finding of a claim of several facts; its credit is the mean over the facts."""
        facts = [
            self._finding(target._replace(any_of=(fact.fact,)), fact, contexts, aim)
            for fact in verdict.facts
        ]
        rises = sorted({step.rank for finding in facts for step in finding.steps})
        steps = tuple(
            CreditStep(rank, sum(finding.credit_at(rank) for finding in facts) / len(facts))
            for rank in rises
        )
        pieces = dict.fromkeys(piece for finding in facts for piece in finding.evidence)
        evidence = sorted(pieces, key=lambda piece: piece.rank)
        parts = [
            part._replace(
                fact=fact.fact,
                evidence=tuple(evidence.index(finding.evidence[index]) for index in part.evidence),
            )
            for fact, finding in zip(verdict.facts, facts, strict=True)
            for part in finding.parts
            or (VerdictPart(finding.verdict, tuple(range(len(finding.evidence)))),)
        ]
        return Finding(
            target,
            steps,
            tuple(sorted({rank for finding in facts for rank in finding.ranks})),
            tuple(evidence),
            verdict.label or "",
            verdict.agreement,
            sum(finding.unverified for finding in facts) / len(facts),
            verdict.contested,
            tuple(parts),
            verdict.support,
            verdict.referred,
        )

    def _credit(self, verdict: Verdict) -> float:
        return {"supported": 1.0, "partial": self.partial_credit}.get(verdict.label or "", 0.0)

    def _part(
        self,
        part: Verdict,
        cited: Sequence[Evidence],
        verified: AbstractSet[int],
        enough: AbstractSet[int],
    ) -> _VerdictCredit:
        """Return the credit of one verdict, and the ranks at which it supports its target.

        `verified` has the ranks of contexts with a verified quote from any judge or window.
        `enough` has the ranks of cited contexts that support the target on their own. If the
        verdict does not need its contexts `together`, the first context in both sets gives the
        credit. In all other cases, the credit is earned at the last cited rank.
        """
        credit = self._credit(part)
        if not cited or not credit:
            return _VerdictCredit()
        cited_ranks = {piece.rank for piece in cited}
        counted = tuple(sorted(cited_ranks & verified if self.require_evidence else cited_ranks))
        if len(cited_ranks) > 1 and not part.together:
            alone = cited_ranks & verified & enough
            if alone:
                # The first such context gives the whole credit; later ones add nothing.
                return _VerdictCredit(credit, min(alone), min(alone), counted)
        last = max(cited_ranks)
        return _VerdictCredit(credit, last, last if cited_ranks <= verified else None, counted)


_UNVERIFIED = "the judge's quote is not evidence, or is not in a context that it cites"


class _VerdictCredit(NamedTuple):
    """The credit of one verdict, and the ranks of its contexts."""

    credit: float = 0.0
    found_at: int | None = None  # from this rank on, contexts support the target; None for never
    proven_at: int | None = None  # from this rank on, verified quotes do; None for never
    ranks: tuple[int, ...] = ()  # all ranks that support the target


def _steps(votes: Sequence[Sequence[_VerdictCredit]], *, strict: bool) -> tuple[CreditStep, ...]:
    """Return the cumulative credit by rank; for a panel, the median of its judges' credits.

    `votes` has the verdicts of each judge. For an even number of judges, the median is the lower of
    the two middle credits, so that more than half of the judges give at least as much. With
    `strict`, only credit for verified quotes counts.
    """
    earned: list[dict[int, float]] = []
    for vote in votes:
        earned.append({})
        for part in vote:
            rank = part.proven_at if strict else part.found_at
            if rank is not None:
                earned[-1][rank] = max(part.credit, earned[-1].get(rank, 0.0))
    steps: list[CreditStep] = []
    for rank in sorted({rank for ranks in earned for rank in ranks}):
        by_judge = sorted(
            max((credit for own_rank, credit in ranks.items() if own_rank <= rank), default=0.0)
            for ranks in earned
        )
        # The mean would be wrong: a divided panel would give a credit that none of its judges gave.
        credit = by_judge[(len(by_judge) - 1) // 2]
        if credit > (steps[-1].credit if steps else 0.0):
            steps.append(CreditStep(rank, credit))
    return tuple(steps)


def _kept_parts(
    verdict: Verdict,
    evidence: Sequence[Evidence],
    cited: Sequence[Sequence[tuple[Verdict, Sequence[Evidence]]]],
) -> tuple[VerdictPart, ...]:
    """Return the verdicts that make up `verdict`, from which the finding can be derived again."""
    together = verdict.together and len(verdict.citations) > 1
    if not (verdict.votes or verdict.others or together):
        return ()
    return tuple(
        VerdictPart(part.label or "", tuple(map(evidence.index, items)), part.together, number)
        # Number a panel's votes from 1: in a loaded report, 0 means the verdict of one judge.
        for number, vote in enumerate(cited, start=bool(verdict.votes))
        for part, items in vote
    )


def _check_judge(judge: object) -> None:
    if isinstance(judge, ChatModel) and not isinstance(judge, type):
        raise ParameterError(
            f"a chat model is not a judge: wrap it, LLMJudge({type(judge).__name__}…)"
        )
    methods = [getattr(judge, name, None) for name in ("split", "attribute", "relevance")]
    if isinstance(judge, (type, str)) or not all(map(callable, methods)):
        raise ParameterError(
            "must be an instance with split, attribute, and relevance, as LLMJudge(model) "
            f"is, got {judge!r}",
            "judge",
        )


class Contexts:
    """The retrieved texts that a judge sees: distinct, not blank, each at its first rank."""

    def __init__(self, texts: Sequence[str]) -> None:
        first = {text: rank for text, rank in first_ranks(texts).items() if text.strip()}
        self.count = len(texts)
        self.unique = list(first)
        self.ranks = list(first.values())

    @cached_property
    def _quotes(self) -> Quotes:
        """The contexts prepared to look up quotes; created when the first quote is looked up."""
        return Quotes(dict(enumerate(self.unique)))

    def problem_of(self, verdict: Verdict) -> str:
        """Return the reason why a verdict is not valid, such as an unknown label, or ""."""
        for part in (verdict, *verdict.others, *verdict.votes, *verdict.facts):
            # Allow a vote without a label: a panel continues without a judge that failed.
            if part.label is None and part in verdict.votes:
                continue
            if part.label not in LABELS:
                return f"the judge's verdict {part.label!r} is none of {LABELS}"
            if part.label == "supported" and not part.citations:
                return "the judge cites no context for its verdict"
            for index, _ in part.citations:
                if not 0 <= index < len(self.unique):
                    return f"the judge cites context {index}, which is not there"
        return ""

    def enough(self, verdict: Verdict, target: Target, aim: Aim) -> set[int]:
        """Return the ranks of the cited contexts that support the target on their own."""
        # Only a claim with several citations is checked.
        cited = sorted({index for index, _ in verdict.citations})
        if aim != "claim" or len(cited) <= 1:
            return {self.ranks[index] for index in cited}
        alone = language().stand_alone(target.label, [self.unique[index] for index in cited])
        return {self.ranks[index] for index in compress(cited, alone)}

    def evidence(self, verdict: Verdict, target: Target, aim: Aim) -> list[Evidence]:
        """Return a verdict's evidence: its quotes, and whether each is verified.

        A verified quote is in its context and bears on the target. Whether it bears on the target
        is decided by a model that was shown only the quotes (`verdict.verified`), or else by rules.
        """
        return [self._looked_up(citation, verdict, target, aim) for citation in verdict.citations]

    def _looked_up(
        self, citation: Citation, verdict: Verdict, target: Target, aim: Aim
    ) -> Evidence:
        rank, quote = self.ranks[citation.context], citation.quote
        parts = self._quotes.located(citation)
        if not parts:
            return Evidence(rank, quote=quote, verified=False)
        verified = verdict.verified
        if verified is None:
            verified = not self._quotes.objection(citation, verdict, target.label, aim)
        return Evidence(rank, parts[0].start, parts[-1].end, quote=quote, verified=verified)
