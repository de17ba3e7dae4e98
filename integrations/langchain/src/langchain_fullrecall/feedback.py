"""A result as LangSmith and LangChain take one, so that nothing of it is lost on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langsmith.evaluation.evaluator import EvaluationResult

from fullrecall import Method, ParameterError, Result, Status
from fullrecall.measures import MEASURES
from fullrecall.result import check_k

if TYPE_CHECKING:
    from langchain_fullrecall.measurement import Measured

_MOST_ITEMS = 10
_LONGEST_ITEM = 80


def views(method: Method, ks: Sequence[int], measures: Sequence[str]) -> tuple[Method, ...]:
    """Return the ways to read one result: a score for each k and each measure that is asked for.

    The first is the scorer's own; its measure and each of `measures` come at the scorer's k, and
    at each of `ks`. Another measure is named after it: "id_recall.ndcg@5". All are read from the
    findings of one scoring. Raises `ParameterError` for a k below 1 and an unknown measure.
    """
    for what, given in (("ks", ks), ("measures", measures)):
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise ParameterError(f"{what} is a sequence, got {given!r}")
    for measure in measures:
        if measure not in MEASURES:
            raise ParameterError(f"no measure {measure!r}: there are {', '.join(MEASURES)}")
    cuts = [method.k, *(check_k(k, "ks") for k in ks)]
    readings = (
        replace(
            method,
            k=k,
            measure=measure,
            name=method.name if measure == method.measure else f"{method.name}.{measure}",
        )
        for measure in (method.measure, *measures)
        for k in cuts
    )
    return tuple({reading.label: reading for reading in readings}.values())


def seen_as(result: Result, view: Method) -> Result:
    """Return a result as one of its scorer's `views` reads it."""
    method = replace(result.method, name=view.name, measure=view.measure, k=view.k)
    return replace(result, method=method)


def feedback(measured: Measured) -> EvaluationResult:
    """Return a result as LangSmith's feedback, of which `metadata` stays in this process.

    Without a score `value` is empty too: where a score is missing LangSmith's tables show
    `value`, and a text there would keep the column from being averaged.
    """
    result = measured.result
    return EvaluationResult(
        key=result.method.label,
        score=result.score,
        comment=comment(measured),
        evaluator_info=evaluator_info(measured),
        metadata={"result": result.to_dict()},
    )


def evaluator_info(measured: Measured) -> dict[str, Any]:
    """Return what LangSmith is to keep beside the score, as plain JSON values."""
    result, seen = measured.result, measured.ids
    told: dict[str, Any] = {
        "status": str(result.status),
        "reason": result.reason,
        "method": result.method.to_dict(),
        "at": {str(k): value for k, value in result.at.items()},
        "missed": _listed(result.missed),
    }
    if seen is not None:
        told["without_id"] = seen.without_id
    return {"fullrecall": told}


def comment(measured: Measured) -> str:
    """Return the score's reason and what was missed, or why there is no score, for a human."""
    result = measured.result
    parts = [
        result.reason if result.status is Status.SCORED else f"{result.status}: {result.reason}"
    ]
    if result.status is Status.SCORED and result.missed:
        parts.append(f"missed: {', '.join(_listed(result.missed))}")
        if not result.recall and measured.retrieved:
            # Random IDs of a store, or those of chunks, show themselves.
            parts.append(f"retrieved: {', '.join(_listed(measured.retrieved))}")
    if measured.hint:
        parts.append(measured.hint)
    return "; ".join(parts)


def _listed(items: Sequence[str]) -> list[str]:
    shown = [
        item if len(item) <= _LONGEST_ITEM else f"{item[: _LONGEST_ITEM - 1]}…"
        for item in items[:_MOST_ITEMS]
    ]
    more = len(items) - len(shown)
    return [*shown, f"and {more} more"] if more else shown
