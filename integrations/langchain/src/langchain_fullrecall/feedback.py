"""Write a whole result as the feedback of LangSmith and LangChain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fullrecall import Context, Sample
from fullrecall.errors import FullrecallError
from fullrecall.files.reports import records
from fullrecall.files.reports.records import MethodRecord, plain_method, plain_row
from fullrecall.measures import Measure, Recall
from fullrecall.scorers import Status
from fullrecall.show.text import first_of
from langchain_fullrecall.measurement import Measured

_LISTED = 10, 80, ", "
"""The most items that a comment lists, the most characters of each, and the text between them."""


def evaluator_info(measured: Measured, *, whole: bool = True) -> dict[str, Any]:
    """Return the values that LangSmith keeps beside the score, as plain JSON.

    If `whole`, they include the sample and its findings, which `measured_in` reads.
    """
    result = measured.result
    info: dict[str, Any] = {
        "status": str(result.status),
        "reason": result.reason,
        "method": plain_method(result.method),
        "missed": list(result.missed[:10]),
    }
    if whole:
        info["row"] = plain_row(_kept(measured), [result], default=str)
    return {"fullrecall": info}


def _kept(measured: Measured) -> Sample:
    """Return the sample to keep beside a score, without texts if only IDs were compared.

    The run itself has the texts. A context without an ID keeps its text.
    """
    sample = measured.sample
    if not measured.by_id or sample.retrieval is None or sample.retrieval.contexts is None:
        return sample
    by_id = sample.retrieval.changed(lambda each: each if each.id is None else Context(id=each.id))
    return sample.with_retrieval(replace(by_id, response=None))


def measured_in(info: object) -> Measured | None:
    """Return the sample and the result in `evaluator_info`, or None without them."""
    own = info.get("fullrecall") if isinstance(info, Mapping) else None
    if not isinstance(own, Mapping) or "row" not in own:
        return None
    try:
        method = MethodRecord.read(own["method"]).method
        sample, (result,) = records.row_of(own["row"], [method])
    except FullrecallError:
        return None  # the info is of another version, or was changed, so the run is scored again
    return Measured(sample, result)


def comment(measured: Measured, measure: Measure) -> str:
    """Return the score's reason and the missed targets, or the reason why there is no score.

    If no target was found by its ID, the retrieved IDs follow. A hint about IDs comes last.
    """
    result = measured.result
    if result.status is not Status.SCORED:
        parts = [f"{result.status}: {result.reason}"]
    else:
        parts = [result.reason_within(measure)]
        findings = result.paid(measure)
        missed = [each.target.label for each in findings if not each.found_at(measure.top)]
        if missed:
            parts.append(f"missed: {first_of(missed, *_LISTED)}")
        ids = [own or "(no ID)" for own in measured.sample.retrieved_context_ids or ()]
        if measured.by_id and ids and not result[Recall]:
            # If no target was found, list the retrieved IDs: readers then see whether they are
            # random IDs, or IDs of chunks.
            parts.append(f"retrieved: {first_of(ids, *_LISTED)}")
    if measured.hint:
        parts.append(measured.hint)
    return "; ".join(parts)
