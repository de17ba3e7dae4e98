"""A result as LangSmith and LangChain take one, so that nothing of it is lost on the way."""

from __future__ import annotations

from typing import Any

from langsmith.evaluation.evaluator import EvaluationResult

from fullrecall import Result, Sample, Status

_MOST_ITEMS = 10
_LONGEST_ITEM = 80


def feedback(result: Result, hint: str = "") -> EvaluationResult:
    """Return a result as LangSmith's feedback, of which `metadata` stays in this process.

    Without a score `value` is empty too: where a score is missing LangSmith's tables show
    `value`, and a text there would keep the column from being averaged.
    """
    return EvaluationResult(
        key=result.method.label,
        score=result.score,
        comment=comment(result, hint),
        evaluator_info=evaluator_info(result),
        metadata={"result": result.to_dict()},
    )


def evaluator_info(result: Result) -> dict[str, Any]:
    """Return what LangSmith is to keep beside the score, as plain JSON values."""
    return {
        "fullrecall": {
            "status": str(result.status),
            "reason": result.reason,
            "method": result.method.to_dict(),
            "at": {str(k): value for k, value in result.at.items()},
            "missed": _listed(result.missed),
        }
    }


def comment(result: Result, hint: str = "") -> str:
    """Return the score's reason and what was missed, or why there is no score, for a human."""
    if result.status is not Status.SCORED:
        text = f"{result.status}: {result.reason}"
    elif result.missed:
        text = f"{result.reason}; missed: {', '.join(_listed(result.missed))}"
    else:
        text = result.reason
    return f"{text}; {hint}" if hint else text


def id_hint(result: Result, sample: Sample) -> str:
    """Return what helps when IDs do not meet: where they may stand, and which were seen.

    Stores make up random IDs where none are given, and rerankers drop them: this is the most
    common reason for a recall of 0.
    """
    contexts = sample.retrieved_contexts or ()
    if not contexts or result.recall:
        return ""
    if all(context.id is None for context in contexts):
        keys = dict.fromkeys(key for context in contexts for key in context.metadata)
        there = f"the documents' metadata has {', '.join(map(repr, keys))}" if keys else ""
        return f"id_key= says where the ID stands; {there}" if there else ""
    if result.status is not Status.SCORED or not result.missed:
        return ""
    return f"retrieved: {', '.join(_listed([context.id or '(no ID)' for context in contexts]))}"


def _listed(items: Any) -> list[str]:
    shown = [
        item if len(item) <= _LONGEST_ITEM else f"{item[: _LONGEST_ITEM - 1]}…"
        for item in items[:_MOST_ITEMS]
    ]
    more = len(items) - len(shown)
    return [*shown, f"and {more} more"] if more else shown
