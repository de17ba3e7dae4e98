"""A retriever or a vector store as a function of the question and k, for `diagnose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from fullrecall import Context, ParameterError
from fullrecall.identifiers import shown
from langchain_fullrecall.documents import DocumentReader, IdKey

Search: TypeAlias = Callable[[str, int], list[Context]]
"""Takes a question and how many contexts to bring, and returns them, best first."""

_FIELDS = ("k", "top_k", "depth")
"""The names under which retrievers hold how many documents they bring."""


def searcher(
    retriever: BaseRetriever | VectorStore | Callable[[str, int], Sequence[Document]],
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    k_field: str | None = None,
) -> Search:
    """Return a function of a question and k that searches as deep as it is asked to.

    It is what `diagnose(report, retriever=…)` takes. A vector store is asked by
    `similarity_search`; its retriever with another `k` in its `search_kwargs`; another retriever
    as a copy with another value in `k_field`: by default its field `k`, `top_k` or `depth`. A
    function of a question and k is asked as it is. The other parameters are those of `contexts`.

    Raises `ParameterError` for a retriever without such a field.
    """
    reader = DocumentReader(id_key, source_key, collapse)
    search = _search(retriever, k_field)
    return lambda question, k: reader.contexts(search(question, k))


def _search(retriever: object, k_field: str | None) -> Callable[[str, int], Sequence[Document]]:
    if isinstance(retriever, VectorStore):
        return lambda question, k: retriever.similarity_search(question, k=k)
    if isinstance(retriever, VectorStoreRetriever) and k_field is None:
        return lambda question, k: _deeper(retriever, k).invoke(question)
    if isinstance(retriever, BaseRetriever):
        field = _field(retriever, k_field)
        return lambda question, k: retriever.model_copy(update={field: k}).invoke(question)
    if callable(retriever) and not isinstance(retriever, type):
        return retriever
    raise ParameterError(
        "retriever is a BaseRetriever, a VectorStore or a function of a question and k, got "
        f"{shown(retriever)}"
    )


def _deeper(retriever: VectorStoreRetriever, k: int) -> VectorStoreRetriever:
    arguments = {**retriever.search_kwargs, "k": k}
    if retriever.search_type == "mmr":  # it chooses k of these
        arguments["fetch_k"] = max(k, arguments.get("fetch_k", 0))
    return retriever.model_copy(update={"search_kwargs": arguments})


def _field(retriever: BaseRetriever, k_field: str | None) -> str:
    names = _FIELDS if k_field is None else (k_field,)
    for name in names:
        if name in type(retriever).model_fields:
            return name
    raise ParameterError(
        f"{type(retriever).__name__} has no field {' or '.join(names)} for how many documents it "
        "brings: name the field with k_field=, or give a function of a question and k"
    )
