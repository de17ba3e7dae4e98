"""fullrecall's measures for LlamaIndex's `RetrieverEvaluator`, cut at k.

LlamaIndex's own metrics have no k, raise where nothing was retrieved, and some exceed 1 where an
ID is retrieved twice. These ask fullrecall's scorers, and count nothing themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import Any, ClassVar

from llama_index.core.bridge.pydantic import create_model, field_validator
from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY
from llama_index.core.evaluation.retrieval.metrics_base import (
    BaseRetrievalMetric,
    RetrievalMetricResult,
)

from fullrecall import IdRecall, InputError, Result, SpanRecall, Status, TextRecall
from fullrecall.result import check_k
from fullrecall.scorers import DeterministicScorer


class MetricAtK(BaseRetrievalMetric):
    """Base of the metrics: what they share.

    - `k`: the first `k` retrieved count; None, all of them. The list is cut first, then the first
      of several equal IDs counts.
    - `name`: the metric's name where the usual one (`recall@5`, `recall@all`) is taken.

    `compute` returns a score in [0, 1]: 0.0 where nothing was retrieved, and NaN where there is
    nothing to recall (an empty list of expected IDs), since LlamaIndex's result takes no None and
    0 would be a lie. Pandas leaves NaN out of means, and `summary_frame` counts it. `metadata`
    has the `status`, the `reason` in words, and what was `missed`. IDs are compared as `str`.

    Raises `InputError` where a list that the metric needs was not given at all, and for a `str`
    where a list of IDs is meant.
    """

    k: int | None = None
    name: str | None = None

    label: ClassVar[str]
    measure: ClassVar[str] = "recall"

    @field_validator("k", mode="before")
    @classmethod
    def _check_k(cls, k: object) -> object:
        return None if k is None else check_k(k)

    @property
    def metric_name(self) -> str:  # type: ignore[override]
        """The metric's name with its k: LlamaIndex keys results by it, so no two may share one."""
        return self.name or f"{self.label}@{'all' if self.k is None else self.k}"

    def compute(
        self,
        query: str | None = None,
        expected_ids: Sequence[Any] | None = None,
        retrieved_ids: Sequence[Any] | None = None,
        expected_texts: Sequence[str] | None = None,
        retrieved_texts: Sequence[str] | None = None,
        **_: Any,
    ) -> RetrievalMetricResult:
        """Return the score of one query's retrieval, best first."""
        del query  # no metric asks what it was
        result = self._score(expected_ids, retrieved_ids, expected_texts, retrieved_texts)
        value = result.value(self.measure, self.k)
        return RetrievalMetricResult(
            score=nan if value is None else value,
            metadata={
                "status": str(result.status),
                "reason": result.reason,
                "missed": list(result.missed) if result.status is Status.SCORED else [],
            },
        )

    def _score(
        self,
        expected_ids: Any,
        retrieved_ids: Any,
        expected_texts: Any,  # noqa: ARG002 - for the metrics of texts
        retrieved_texts: Any,  # noqa: ARG002 - the same
    ) -> Result:
        return IdRecall(k=self.k).score(
            reference_context_ids=self._given("expected_ids", expected_ids),
            retrieved_context_ids=self._given("retrieved_ids", retrieved_ids),
        )

    def _given(self, name: str, value: object) -> Any:
        if value is None:
            raise InputError(
                f"{self.metric_name} compares {name.partition('_')[2]}, and {name} is missing: "
                f"give {name}=[…]",
                field=name,
            )
        return value


class RecallAtK(MetricAtK):
    """Of the expected IDs, the share that the first k hold."""

    label: ClassVar[str] = "recall"


class PrecisionAtK(MetricAtK):
    """Of the first k retrieved, the share that was expected."""

    label: ClassVar[str] = "precision"
    measure: ClassVar[str] = "precision"


class HitAtK(MetricAtK):
    """1.0 if the first k hold an expected ID, else 0.0."""

    label: ClassVar[str] = "hit"
    measure: ClassVar[str] = "hit"


class AllFoundAtK(MetricAtK):
    """1.0 if the first k hold every expected ID, else 0.0: what a multi-hop question needs."""

    label: ClassVar[str] = "all_found"
    measure: ClassVar[str] = "all_found"


class ReciprocalRankAtK(MetricAtK):
    """1 / rank of the first expected ID among the first k, else 0.0; its mean is the MRR."""

    label: ClassVar[str] = "reciprocal_rank"
    measure: ClassVar[str] = "reciprocal_rank"


class AveragePrecisionAtK(MetricAtK):
    """Mean over the expected IDs of the precision at the rank where each was found."""

    label: ClassVar[str] = "average_precision"
    measure: ClassVar[str] = "average_precision"


class NDCGAtK(MetricAtK):
    """Normalised discounted cumulative gain over the first k."""

    label: ClassVar[str] = "ndcg"
    measure: ClassVar[str] = "ndcg"


class _ByText(MetricAtK):
    """Base of the metrics of texts; they need `expected_texts`."""

    def model_post_init(self, context: Any, /) -> None:
        """Raise `ParameterError` at once for a parameter that the scorer does not take."""
        super().model_post_init(context)
        self._scorer()

    def _score(
        self, expected_ids: Any, retrieved_ids: Any, expected_texts: Any, retrieved_texts: Any
    ) -> Result:
        del expected_ids, retrieved_ids
        return self._scorer().score(
            reference_contexts=self._given("expected_texts", expected_texts),
            retrieved_contexts=self._given("retrieved_texts", retrieved_texts),
        )

    def _scorer(self) -> DeterministicScorer:
        return SpanRecall(k=self.k)


class SpanRecallAtK(_ByText):
    """Of the expected texts' characters, the share that the first k cover, however cut."""

    label: ClassVar[str] = "span_recall"


class TextRecallAtK(_ByText):
    """Of the expected texts, the share for which the first k hold a text similar enough.

    `similarity` and `threshold` are those of `fullrecall.TextRecall`.
    """

    similarity: Any = "levenshtein"
    threshold: float = 0.5

    label: ClassVar[str] = "text_recall"

    def _scorer(self) -> DeterministicScorer:
        return TextRecall(k=self.k, similarity=self.similarity, threshold=self.threshold)


METRICS: tuple[type[MetricAtK], ...] = (
    RecallAtK,
    PrecisionAtK,
    HitAtK,
    AllFoundAtK,
    ReciprocalRankAtK,
    AveragePrecisionAtK,
    NDCGAtK,
    SpanRecallAtK,
    TextRecallAtK,
)


def register_metrics(ks: Iterable[int] = (1, 3, 5, 10)) -> list[str]:
    """Make the metrics known to LlamaIndex by name, and return the names.

    `RetrieverEvaluator.from_metric_names(["recall@5", "ndcg@10"], retriever=…)` then finds them;
    those that end in `@all` have no cut-off. It is a call, and not done by the import, since the
    registry is the whole process's. Raises `ParameterError` for a k below 1.
    """
    cuts = [None, *(check_k(k, "ks") for k in ks)]
    presets = [_preset(metric, k) for metric in METRICS for k in cuts]
    named = {preset().metric_name: preset for preset in presets}
    METRIC_REGISTRY.update(named)
    return list(named)


def _preset(metric: type[MetricAtK], k: int | None) -> type[MetricAtK]:
    """Return `metric` with another default: LlamaIndex makes them without arguments."""
    if k is None:
        return metric
    made: type[MetricAtK] = create_model(
        f"{metric.__name__}{k}", __base__=metric, __doc__=metric.__doc__, k=(int | None, k)
    )
    return made
