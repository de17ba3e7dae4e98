"""The scorers that ask a judge about claims, sub-questions, or contexts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from fullrecall._util.parameters import check_choice
from fullrecall.judge.judge import Flow
from fullrecall.judge.language import language
from fullrecall.measures import MeanPrecision, Measure
from fullrecall.measures.findings import Finding, Target
from fullrecall.samples.sample import Claim, Sample
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.scorer import Found, Unmeasured, require, require_retrieval

Split = Literal["judge", "sentences"]

_SHOWN = 40  # the shown characters of a part of the reference that is not a claim
_MOST_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class ClaimRecall(JudgedScorer):
    """The share of the reference answer's claims that the retrieved contexts support.

    Targets are the sample's `reference_claims`; without them, `reference` is split: `split="judge"`
    asks the judge for atomic claims, "sentences" takes the sentences. The claims are fixed before
    any is judged. The judge must return one verdict for each claim. It is asked again about a claim
    without a verdict; if it still gives none, the claim is unmeasured.

    A vital claim has grade 1, and an "okay" claim (`Claim(text, vital=False)`) has grade 0.5. So
    `Recall(min_grade=1)` counts only the vital claims. TREC RAG has the same scores (Pradeep et
    al., "The Great Nugget Recall", SIGIR 2025): `Recall` is its score of all nuggets, and
    `Recall(min_grade=1)` its score of the vital nuggets. `partial_credit=0.0` gives its strict
    scores, 0.5 its partial ones. If no context was retrieved, the score is 0.0; no judge is asked.
    """

    split: Split = "judge"

    kind: ClassVar[str] = "claim_recall"
    labels: ClassVar[Collection[str]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.split, "split", get_args(Split))

    def _judged(self, sample: Sample) -> Flow[Found]:
        require_retrieval(sample)
        claims = yield from self._claims(sample)
        targets = [Target((claim.text,), grade=1.0 if claim.vital else 0.5) for claim in claims]
        judged = yield from self._attributed(targets, sample, question=sample.user_input)
        note = "; ".join(filter(None, (judged.note, self._omitted(sample))))
        return judged._replace(note=note)

    def _omitted(self, sample: Sample) -> str:
        """Return a note on parts of the reference that are not claims, such as headings, or ""."""
        is_split_by_form = self.split == "sentences" or self.judge is None
        if sample.reference_claims is not None or not is_split_by_form:
            return ""
        parts = language().omitted(sample.reference or "")
        shown = [f"{part.role} {part.text[:_SHOWN]!r}" for part in parts[:_MOST_SHOWN]]
        more = len(parts) - len(shown)
        if more:
            shown.append(f"{more} more")
        return f"not claims: {', '.join(shown)}" if shown else ""

    def _claims(self, sample: Sample) -> Flow[Sequence[Claim]]:
        if sample.reference_claims is not None:
            return sample.reference_claims
        reference = require(sample.reference, "reference_claims or reference")
        if not reference.strip():
            return ()
        # Without a context the score is 0.0 for any claims, so do not ask a model for the claims.
        if self.split == "sentences" or not self._contexts(sample).unique:
            parts: Sequence[str] = language().statements(reference)
        else:
            parts = yield from self._asked_judge.split(
                reference, kind="claims", question=sample.user_input
            )
        # A claim that the judge lists twice must not weigh twice.
        return [Claim(part) for part in dict.fromkeys(parts)]


@dataclass(frozen=True, kw_only=True)
class ContextPrecision(JudgedScorer):
    """How well relevant contexts rank before irrelevant ones: 1.0 if all of them do, at least 0.0.

    A context is relevant if the judge finds that it helps to write the reference answer or, without
    a reference, to answer the question. Targets are the contexts themselves, and `missed` has those
    that do not help. To compare IDs or texts, read the measure from another scorer's result:
    `IdRecall().score(…)[fullrecall.measures.MeanPrecision]`. The score is the mean of
    precision@rank over the relevant ranks (ragas's context precision); `result[Precision]` is the
    plain share of relevant contexts.
    """

    kind: ClassVar[str] = "context_precision"
    headline: ClassVar[Measure] = MeanPrecision
    labels: ClassVar[Collection[str]] = ()

    def _judged(self, sample: Sample) -> Flow[Found]:
        contexts = self._contexts(sample)
        reference = sample.reference if (sample.reference or "").strip() else None
        if reference is None and not (sample.user_input or "").strip():
            raise Unmeasured("user_input and reference are missing")
        if not contexts.unique:
            # Return a missed target, so that an empty retrieval scores 0.0. Without any target, the
            # score would be undefined.
            missed = Finding(Target((reference or sample.user_input or "",)))
            return Found([missed], contexts.count)
        verdicts = yield from self._asked_judge.relevance(
            contexts.unique, question=sample.user_input, reference=reference
        )
        targets = [Target((text,)) for text in contexts.unique]
        return self._findings_of(targets, verdicts, contexts, "context")


@dataclass(frozen=True, kw_only=True)
class QuestionRecall(JudgedScorer):
    """The share of the question's sub-questions that the retrieved contexts can answer.

    The judge splits `user_input` once, then decides for each sub-question whether the contexts
    answer it. No reference is needed or compared: the score measures whether the contexts *have* an
    answer, not whether it is the right one.
    """

    kind: ClassVar[str] = "question_recall"
    labels: ClassVar[Collection[str]] = ()

    def _judged(self, sample: Sample) -> Flow[Found]:
        require_retrieval(sample)
        question = require(sample.user_input, "user_input")
        if not question.strip():
            return Found((), 0)
        if self._contexts(sample).unique:
            parts = yield from self._asked_judge.split(question, kind="questions")
        else:
            parts = (question,)
        targets = [Target((part,)) for part in dict.fromkeys(parts)]
        return (yield from self._attributed(targets, sample, relation="question"))
