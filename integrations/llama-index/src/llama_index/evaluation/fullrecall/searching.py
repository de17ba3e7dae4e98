"""A retriever or an index as a function of the question and k, for `diagnose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeAlias

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.base import BaseIndex
from llama_index.core.schema import MetadataMode
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall import Context, ParameterError
from llama_index.evaluation.fullrecall.nodes import IdKey, NodeLike, NodeReader
from llama_index.evaluation.fullrecall.refusing import got

Search: TypeAlias = Callable[[str, int], list[Context]]
"""Takes a question and how many contexts to bring, and returns them, best first."""

_ATTRIBUTES = ("similarity_top_k", "_similarity_top_k", "top_k", "_top_k")
"""The names under which retrievers hold how many nodes they bring."""


def searcher(
    retriever: BaseRetriever | BaseIndex[Any] | Callable[[str, int], Sequence[NodeLike]],
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
) -> Search:
    """Return a function of a question and k that searches as deep as it is asked to.

    It is what `diagnose(report, retriever=…)` takes. An index is asked through its
    `as_retriever(similarity_top_k=k)`, a retriever as a copy with another `similarity_top_k`. A
    function of a question and k is asked as it is. The other parameters are those of `contexts`.

    Raises `ParameterError` for a retriever without a `similarity_top_k`.
    """
    reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)
    search = _search(retriever)
    return lambda question, k: reader.contexts(search(question, k))


def _search(retriever: object) -> Callable[[str, int], Sequence[NodeLike]]:
    if isinstance(retriever, BaseIndex):
        return lambda question, k: retriever.as_retriever(similarity_top_k=k).retrieve(question)
    if isinstance(retriever, BaseRetriever):
        name = next((name for name in _ATTRIBUTES if hasattr(retriever, name)), None)
        if name is None:
            raise ParameterError(
                f"{type(retriever).__name__} has no similarity_top_k: give the index, or a "
                "function of a question and k"
            )
        return lambda question, k: _deeper(retriever, name, k).retrieve(question)
    if callable(retriever) and not isinstance(retriever, type):
        return retriever
    raise ParameterError(
        f"retriever is a retriever, an index or a function of a question and k, {got(retriever)}"
    )


def _deeper(retriever: BaseRetriever, name: str, k: int) -> BaseRetriever:
    deeper = copy(retriever)
    setattr(deeper, name, k)
    return deeper
