"""Context precision: whether the relevant contexts rank before the irrelevant ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.judge.judge import Flow
from fullrecall.measures import MeanPrecision, Measure
from fullrecall.measures.findings import Finding, Target
from fullrecall.samples.sample import Sample
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.scorer import Found, Unmeasured


@dataclass(frozen=True, kw_only=True)
class ContextPrecision(JudgedScorer):
    """The degree to which relevant contexts rank before irrelevant ones: 1.0 if all do.

    A context is relevant if the judge finds that it helps to write the reference answer or, without
    a reference, to answer the question. Targets are the contexts themselves, and `missed` has those
    that do not help. To compare IDs or texts, read the measure from another scorer's result:
    `IdRecall().score(…)[fullrecall.measures.MeanPrecision]`.

    The score is the mean of precision@rank over the relevant ranks (ragas's context precision);
    `result[Precision]` is the plain share of relevant contexts.
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
            # One target: without any, the sample would be undefined, but an empty retrieval scores
            # 0.0.
            missed = Finding(Target((reference or sample.user_input or "",)))
            return Found([missed], contexts.count)
        verdicts = yield from self._asked_judge.relevance(
            contexts.unique, question=sample.user_input, reference=reference
        )
        targets = [Target((text,)) for text in contexts.unique]
        return self._findings_of(targets, verdicts, contexts, "context")
