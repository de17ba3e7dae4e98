"""The options that the evaluator, `observed` and captures share: how documents are read."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypedDict, get_args

from fullrecall.errors import ParameterError
from fullrecall.retrieval import FailedCalls
from langchain_fullrecall.documents import DocumentReader, IdKey
from langchain_fullrecall.record import Reading
from langchain_fullrecall.selection import Level, Selection, as_selection


class Options(TypedDict, total=False):
    """How retrieved documents are read.

    - `id_key`: where a document's ID stands: `Document.id` by default, a metadata key, several of
      them, or a function of the document. `source_key`, `collapse`: those of `contexts`.
    - `which`: of nested and of several retriever calls, those that count: "outermost" (default),
      whose documents are merged or reranked already; "innermost", their parts; or a `Selection`.
    - `failed_calls`: "unscored" (default) leaves a sample unscored where a call failed and no
      retry or fallback succeeded; "score" scores what the other calls returned, and says so.
    - `other_tools`: names of tools that return text but retrieve nothing. A tool that returns a
      long text of which no document is known leaves a sample unscored otherwise.
    """

    id_key: IdKey
    source_key: str | None
    collapse: bool
    which: Level | Selection
    failed_calls: FailedCalls
    other_tools: Collection[str]


def reading_of(
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    which: Level | Selection = "outermost",
    failed_calls: FailedCalls = "unscored",
    other_tools: Collection[str] = (),
    documents_key: str | None = None,
) -> Reading:
    """Return options as one value; raise `ParameterError`, naming the option, for a wrong one."""
    if failed_calls not in get_args(FailedCalls):
        raise ParameterError(f"failed_calls must be 'unscored' or 'score', got {failed_calls!r}")
    reader = DocumentReader(id_key, source_key, collapse)
    if isinstance(other_tools, str):
        raise ParameterError(f"other_tools must be several names, got {other_tools!r}: wrap it")
    return Reading(reader, as_selection(which), failed_calls, tuple(other_tools), documents_key)
