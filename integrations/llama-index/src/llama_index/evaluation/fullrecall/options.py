"""The options that the evaluator, `observed` and captures share: how nodes are read."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypedDict, get_args

from llama_index.core.schema import MetadataMode
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall.errors import ParameterError
from fullrecall.retrieval import FailedCalls
from llama_index.evaluation.fullrecall.nodes import IdKey, NodeReader
from llama_index.evaluation.fullrecall.record import Reading


class Options(TypedDict, total=False):
    """How retrieved nodes are read.

    - `id_key`, `metadata_mode`, `offsets`, `expand`: those of `contexts`.
    - `failed_calls`: "unscored" (default) leaves a sample unscored where a call failed and no
      retry succeeded; "score" scores what the other calls returned, and says so.
    - `other_tools`: names of tools that return text but retrieve nothing. A tool that returns a
      long text of which no node is known leaves a sample unscored otherwise.
    """

    id_key: IdKey
    metadata_mode: MetadataMode | str
    offsets: bool
    expand: BaseDocumentStore | None
    failed_calls: FailedCalls
    other_tools: Collection[str]


def reading_of(
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    failed_calls: FailedCalls = "unscored",
    other_tools: Collection[str] = (),
) -> Reading:
    """Return options as one value; raise `ParameterError`, naming the option, for a wrong one."""
    if failed_calls not in get_args(FailedCalls):
        raise ParameterError(f"failed_calls must be 'unscored' or 'score', got {failed_calls!r}")
    if isinstance(other_tools, str):
        raise ParameterError(f"other_tools must be several names, got {other_tools!r}: wrap it")
    reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)
    return Reading(reader, failed_calls, tuple(other_tools))
