"""The options that the evaluator, `observed` and captures share: how nodes are read."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, TypedDict, get_args

from llama_index.core.schema import MetadataMode
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall.errors import ParameterError
from fullrecall.retrieval import FailedCalls
from llama_index.evaluation.fullrecall.nodes import IdKey, NodeReader

ScoredList: TypeAlias = Literal["final", "retrieved"]
"""The list that is scored: what the answer was made from, or what was retrieved at first."""


class Options(TypedDict, total=False):
    """How retrieved nodes are read.

    - `id_key`, `metadata_mode`, `offsets`, `expand`: those of `contexts`.
    - `scored`: "final" (default) is what the answer was made from, after reranking and filtering;
      "retrieved" is what the retrievers returned before.
    - `failed_calls`: "unscored" (default) leaves a sample unscored where a call failed and no
      retry succeeded; "score" scores what the other calls returned, and says so.
    """

    id_key: IdKey
    metadata_mode: MetadataMode | str
    offsets: bool
    expand: BaseDocumentStore | None
    scored: ScoredList
    failed_calls: FailedCalls


class Reading(NamedTuple):
    """Options, checked."""

    reader: NodeReader
    scored: ScoredList = "final"
    failed_calls: FailedCalls = "unscored"


def reading_of(
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    scored: ScoredList = "final",
    failed_calls: FailedCalls = "unscored",
) -> Reading:
    """Return options as one value; raise `ParameterError`, naming the option, for a wrong one."""
    if scored not in get_args(ScoredList):
        raise ParameterError(f"scored must be 'final' or 'retrieved', got {scored!r}")
    if failed_calls not in get_args(FailedCalls):
        raise ParameterError(f"failed_calls must be 'unscored' or 'score', got {failed_calls!r}")
    reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)
    return Reading(reader, scored, failed_calls)
