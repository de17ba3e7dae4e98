"""Context precision: do the contexts that help stand before those that do not?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.findings import Finding, Target
from fullrecall.judges.judge import Flow
from fullrecall.measures import ContextPrecision as ContextPrecisionMeasure
from fullrecall.measures import Measure
from fullrecall.sample import Sample
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.scorer import DeterministicScorer, Found, Unmeasured
from fullrecall.scorers.text import TextRecall


@dataclass(frozen=True, kw_only=True)
class ContextPrecision(JudgedScorer):
    """Of the contexts retrieved, are the relevant ones ranked first?

    Without a judge, a context is relevant where it supports a target of `IdRecall()`, or of
    `TextRecall()` where the sample has no `reference_context_ids`; the measure `ContextPrecision`
    asks the same of any other scorer. With a `judge`, it is relevant where the judge finds that it
    helps towards the reference answer, or to answer the question where there is none; targets are
    then the contexts themselves, and `missed` those that do not help.

    The score is the mean of precision@rank over the relevant ranks (ragas's context precision);
    `result[Precision]` is the plain share of relevant contexts.
    """

    kind: ClassVar[str] = "context_precision"
    headline: ClassVar[Measure] = ContextPrecisionMeasure
    always_judged: ClassVar[bool] = False

    def labels_read(self, sample: Sample) -> Collection[str]:
        """Return those of the scorer that decides what is relevant; a judge needs none."""
        return () if self.judge is not None else _finder(sample).labels

    def _judged(self, sample: Sample) -> Flow[Found]:
        if self.judge is None:
            return _finder(sample)._find(sample)  # noqa: SLF001 - a scorer asks a scorer
        contexts = self._contexts(sample)
        reference = sample.reference if (sample.reference or "").strip() else None
        if reference is None and not (sample.user_input or "").strip():
            raise Unmeasured("user_input and reference are missing")
        if not contexts.unique:
            # One target, or the sample would be undefined: an empty retrieval scores 0.0.
            missed = Finding(Target((reference or sample.user_input or "",)))
            return Found([missed], contexts.count)
        verdicts = yield from self._asked_judge.relevance(
            contexts.unique, question=sample.user_input, reference=reference
        )
        targets = [Target((text,)) for text in contexts.unique]
        return self._findings_of(targets, verdicts, contexts, "context")


def _finder(sample: Sample) -> DeterministicScorer:
    """Return what finds the relevant contexts of a sample where no judge does."""
    return TextRecall() if sample.reference_context_ids is None else IdRecall()
