"""fullrecall's measures for LlamaIndex's `RetrieverEvaluator`.

LlamaIndex's own metrics have no k and raise for an empty retrieval, and some exceed 1 if an ID is
retrieved twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

from llama_index.core.bridge.pydantic import (
    ConfigDict,
    create_model,
    field_serializer,
    field_validator,
)
from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY
from llama_index.core.evaluation.retrieval.metrics_base import (
    BaseRetrievalMetric,
    RetrievalMetricResult,
)

from fullrecall import IdRecall
from fullrecall.errors import InputError
from fullrecall.measures import DEFAULT_KS, MEASURES, Measure, Recall, parse
from fullrecall.scorers import DeterministicScorer, Result, Status
from llama_index.evaluation.fullrecall.reader import NO_DOCUMENTS, is_composed

_TEXTS = ("reference_contexts", "retrieved_contexts")
_IDS = ("reference_context_ids", "retrieved_context_ids")


class RecallMetric(BaseRetrievalMetric):
    """A measure of the nodes that a retriever returned, for `RetrieverEvaluator`.

        RetrieverEvaluator(metrics=[RecallMetric(measure=Recall @ 5)], retriever=retriever)

    - `measure`: a measure or its text form; `RetrieverEvaluator.from_metric_names` knows names
      such as "recall@5" and "ndcg@10", and `register` adds further names.
    - `scorer`: `IdRecall()` by default. One that compares texts, such as `TextRecall()`, needs
      `expected_texts`.
    - `name`: the metric's name; needed if another metric already has the measure's name.

    `compute` returns the measure's value, in [0, 1] unless the measure is a count; recall is 0.0
    for an empty retrieval. The value is NaN if the sample is unscored or undefined, as with an
    empty list of expected IDs: LlamaIndex's result does not take None, and 0 would be wrong. Pandas
    leaves NaN out of means. `metadata` has the `status`, the `reason` in words, and the `missed`
    targets. IDs are compared as `str`.

    Raises `InputError` for a missing list that the metric needs, and for a `str` instead of a list
    of IDs.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    measure: Measure = Recall
    scorer: Any = None
    name: str | None = None

    def __init__(
        self,
        *,
        measure: Measure | str | None = None,
        scorer: DeterministicScorer | None = None,
        name: str | None = None,
    ) -> None:
        given = {"measure": measure, "scorer": scorer, "name": name}
        super().__init__(**{field: value for field, value in given.items() if value is not None})

    @field_validator("measure", mode="before")
    @classmethod
    def _read_measure(cls, value: object) -> object:
        return parse(value) if isinstance(value, str) else value

    @field_serializer("measure")
    def _write_measure(self, value: Measure) -> str:
        return value.name

    @field_validator("scorer")
    @classmethod
    def _check_scorer(cls, value: object) -> object:
        if value is not None and not isinstance(value, DeterministicScorer):
            raise ValueError(f"scorer must be one that asks no model, got {value!r}")
        return value

    @property
    def metric_name(self) -> str:  # type: ignore[override]
        """The metric's name: LlamaIndex keys results by it, so no two may share one."""
        if self.name or self.scorer is None:
            return self.name or self.measure.name
        label: str = self.scorer.method.label(self.measure)
        return label

    @classmethod
    def register(cls, *measures: Measure) -> list[str]:
        """Register measures for `RetrieverEvaluator.from_metric_names`; return their names."""
        for measure in measures:
            preset: type[RecallMetric] = create_model(
                cls.__name__, __base__=cls, __doc__=cls.__doc__, measure=(Measure, measure)
            )
            METRIC_REGISTRY[measure.name] = preset
        return [measure.name for measure in measures]

    def compute(
        self,
        query: str | None = None,
        expected_ids: Sequence[Any] | None = None,
        retrieved_ids: Sequence[Any] | None = None,
        expected_texts: Sequence[str] | None = None,
        retrieved_texts: Sequence[str] | None = None,
        **_: Any,
    ) -> RetrievalMetricResult:
        """Return the score of one query's retrieval; the best ID or text is listed first."""
        del query  # No measure needs the question.
        scorer = self.scorer or IdRecall()
        if retrieved_ids and retrieved_texts and all(map(is_composed, retrieved_texts)):
            return RetrievalMetricResult(
                score=nan, metadata={"status": "unscored", "reason": NO_DOCUMENTS, "missed": []}
            )
        if isinstance(scorer, IdRecall):
            self._check(expected_ids=expected_ids, retrieved_ids=retrieved_ids)
            fields = dict(zip(_IDS, (expected_ids, retrieved_ids), strict=True))
        else:
            self._check(expected_texts=expected_texts, retrieved_texts=retrieved_texts)
            fields = dict(zip(_TEXTS, (expected_texts, retrieved_texts), strict=True))
        result: Result = scorer.score(**fields)
        value = result[self.measure]
        # LlamaIndex passes only the last IDs. If a step gave new IDs to nodes, their targets count
        # as missed although they were retrieved.
        reasons = [result.reason, "compared by the last IDs, not recorded" if result.missed else ""]
        return RetrievalMetricResult(
            score=nan if value is None else value,
            metadata={
                "status": str(result.status),
                "reason": "; ".join(filter(None, reasons)),
                "missed": list(result.missed) if result.status is Status.SCORED else [],
            },
        )

    def _check(self, **lists: object) -> None:
        for name, value in lists.items():
            if value is None:
                raise InputError(f"{self.metric_name} needs {name}: pass {name}=[…]", field=name)


RecallMetric.register(*(measure @ k for measure in MEASURES.values() for k in DEFAULT_KS))
