"""The causes of a miss, and the fix that each suggests."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Cause(StrEnum):
    """The cause of a miss, ordered from the nearest miss to the farthest.

    In the descriptions, "it" is the missed item.
    """

    JUDGED_UNSUPPORTED = "judged_unsupported"
    """Support was retrieved, but the judge denied it, or its quotes were not verified."""
    PARTLY_SUPPORTED = "partly_supported"
    """The judge found a part of it supported."""
    CONTRADICTED = "contradicted"
    """A retrieved context states the opposite, so a source or the reference is wrong."""
    REFERENCE_ABSTAINS = "reference_abstains"
    """The reference states that there is no answer, which no context can support."""
    ID_MISMATCH = "id_mismatch"
    """It was retrieved under another spelling of its ID, or has its ID in another field."""
    WRONG_ID_LEVEL = "wrong_id_level"
    """It was retrieved under an ID of another level, such as a chunk's instead of a document's."""
    CROWDED_OUT = "crowded_out"
    """It ranks beyond k, and duplicates rank within k."""
    DEMOTED_BY_STAGE = "demoted_by_stage"
    """An earlier stage had it within k, and a later one (a reranker) moved it beyond k."""
    DROPPED_BY_STAGE = "dropped_by_stage"
    """An earlier stage had it, and a later one (a reranker, a filter) dropped it."""
    TEXT_DIFFERS = "text_differs"
    """Its ID was retrieved, or is indexed, with another text, which is truncated or another
    version.
    """
    NEAR_DUPLICATE = "near_duplicate"
    """A nearly identical text was retrieved instead."""
    SPLIT_ACROSS_CHUNKS = "split_across_chunks"
    """No chunk has the whole of it, but several chunks have its parts."""
    BEYOND_K = "beyond_k"
    """It can be retrieved, at a known rank beyond k."""
    FAILED_CALL = "failed_call"
    """A call of the retriever failed, and the other calls did not return it."""
    NOTHING_RETRIEVED = "nothing_retrieved"
    """The retriever returned an empty list."""
    LOOKALIKE = "lookalike"
    """A similar text with another number, name or negation was retrieved instead."""
    NOT_SEARCHED = "not_searched"
    """The corpus has it, but no list has anything of its document or folder."""
    NEVER_RETRIEVED = "never_retrieved"
    """The corpus has it, but none of the inspected lists does."""
    NOT_IN_CORPUS = "not_in_corpus"
    """The corpus does not have it, so no retriever could return it."""
    UNKNOWN = "unknown"
    """The cause is unknown; the detail tells how to find it."""


FIXES: Mapping[Cause, str] = {
    Cause.JUDGED_UNSUPPORTED: "Read the verdicts: either the judge is wrong (calibrate it, or use "
    "a stronger one), or the claim says more than its sources.",
    Cause.PARTLY_SUPPORTED: "Split the claim into its facts, to see which one is missing.",
    Cause.CONTRADICTED: "Find out which is wrong: correct or remove the source (it may be "
    "outdated), or correct the reference.",
    Cause.REFERENCE_ABSTAINS: "Remove the claim: mark the question as unanswerable and score the "
    "response in place of recall.",
    Cause.ID_MISMATCH: "Write IDs in one way on both sides (an index that is filled again must "
    "keep them), or read them from the field that has them: {id_key}.",
    Cause.WRONG_ID_LEVEL: "Compare IDs of one level: read them from another field, {id_key}, or "
    "name others in the references.",
    Cause.CROWDED_OUT: "Drop duplicates before the list is cut, or remove them from the index.",
    Cause.DEMOTED_BY_STAGE: "Check the stage on these questions: another model, fusion with the "
    "stage before it, or none. Sample.at_stage gives the samples to score a stage by.",
    Cause.DROPPED_BY_STAGE: "Let the stage that dropped it keep more (top_n, a lower threshold), "
    "or change its model. Sample.at_stage gives the samples to score a stage by.",
    Cause.TEXT_DIFFERS: "Index the document again in full, or update the reference to its present "
    "version.",
    Cause.NEAR_DUPLICATE: "Accept either text as one any-of group in the references, or remove "
    "the duplicates from the corpus.",
    Cause.SPLIT_ACROSS_CHUNKS: "Use larger chunks, more overlap, or split at the borders of "
    "sections; score by SpanRecall, which is blind to them.",
    Cause.BEYOND_K: "Raise k, or retrieve more and rerank.",
    Cause.FAILED_CALL: "Retry or mend the call that failed, then measure again.",
    Cause.NOTHING_RETRIEVED: "Check filters, score thresholds, and the index that is asked.",
    Cause.LOOKALIKE: "Tell versions apart: put date, product, or version into the text or a "
    "metadata filter. Do not accept one for the other.",
    Cause.NOT_SEARCHED: "Index these documents again, or drop the filter that leaves them out.",
    Cause.NEVER_RETRIEVED: "Bring question and text nearer: hybrid search, query rewriting, "
    "another embedding, or context in the chunk. A larger k alone may not help.",
    Cause.NOT_IN_CORPUS: "Index it: the ingestion dropped it, or the references name what was "
    "never there.",
    Cause.UNKNOWN: "Add {corpus}, with IDs and texts, or {retriever} to find more causes.",
}
"""The fix for each cause, with parameters in braces."""


class Explained(NamedTuple):
    """A cause, with a sentence on its evidence; see `Diagnosed`."""

    cause: Cause
    detail: str
    rank: int | None = None


class Diagnosed(NamedTuple):
    """One missed target with its cause.

    `sample` is the row's label, `score` the scorer's name with its k. `detail` is one sentence on
    the evidence of the cause. `rank` is the rank of the target itself, if it ranks beyond k in the
    recorded list or in the deeper list that the retriever returned. Otherwise, it is the rank of
    the context that shows the cause, or None.
    """

    sample: str
    question: str | None
    score: str
    target: str
    cause: Cause
    detail: str
    rank: int | None = None
