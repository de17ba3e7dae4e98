"""The causes of a miss, and the fix that each suggests."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Cause(StrEnum):
    """Why a target was missed, from the nearest miss to the farthest."""

    JUDGED_UNSUPPORTED = "judged_unsupported"
    """What supports it was retrieved, and the judge said no or quoted what is not there."""
    CONTRADICTED = "contradicted"
    """What was retrieved states the opposite: a source or the reference is wrong."""
    WRONG_ID_LEVEL = "wrong_id_level"
    """It was retrieved under an ID of another level: chunks where documents are expected."""
    DROPPED_BY_STAGE = "dropped_by_stage"
    """An earlier stage had it, and a later one (a reranker, a filter) left it out."""
    NOT_IN_PROMPT = "not_in_prompt"
    """The final list has it, and the model's prompt had not."""
    NEAR_DUPLICATE = "near_duplicate"
    """A text that is nearly its own was retrieved instead of it."""
    SPLIT_ACROSS_CHUNKS = "split_across_chunks"
    """No chunk holds it whole: its parts stand in several."""
    BEYOND_K = "beyond_k"
    """It can be retrieved, at a rank beyond k."""
    NOT_IN_CORPUS = "not_in_corpus"
    """The corpus does not have it: no retriever could bring it."""
    UNKNOWN = "unknown"
    """What was given does not tell; the detail says what would."""


FIXES: Mapping[Cause, str] = {
    Cause.JUDGED_UNSUPPORTED: "Read the verdicts: either the judge errs (calibrate it, or take a "
    "stronger one), or the claim says more than its sources.",
    Cause.CONTRADICTED: "Find out which is wrong: correct or remove the source (it may be "
    "outdated), or correct the reference.",
    Cause.WRONG_ID_LEVEL: "Compare IDs of one level: the adapters' id_key= or rename the "
    "references.",
    Cause.DROPPED_BY_STAGE: "Let the stage that lost it keep more (top_n, a lower cut-off), or "
    "change its model.",
    Cause.NOT_IN_PROMPT: "Put more of the list into the prompt: a longer context, or shorter "
    "chunks.",
    Cause.NEAR_DUPLICATE: "Accept the twins as one any-of group in the references, or remove the "
    "duplicates from the corpus.",
    Cause.SPLIT_ACROSS_CHUNKS: "Use larger chunks, more overlap, or split at the borders of "
    "sections; score by SpanRecall, which is blind to them.",
    Cause.BEYOND_K: "Retrieve more and rerank, or bring the question nearer to the text (hybrid "
    "search, query rewriting, another embedding).",
    Cause.NOT_IN_CORPUS: "Index it: the ingestion dropped it, or the references name what was "
    "never there.",
    Cause.UNKNOWN: "Give diagnose more to look at: corpus=, retriever=, scorers=.",
}
"""What each cause suggests to do."""


class Diagnosed(NamedTuple):
    """One missed target with its cause.

    `sample` is the row's label, `score` the scorer's name with its cut-off. `detail` is one
    sentence with what the cause was told by. `rank` is where the item stands beyond k, in the
    list itself or in the deeper one, and for other causes the rank of the context that tells.
    """

    sample: str
    question: str | None
    score: str
    target: str
    cause: Cause
    detail: str
    rank: int | None = None
