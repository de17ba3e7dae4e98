"""Copies of retrievers that return more documents, for `diagnose`."""

from __future__ import annotations

from typing import Any, TypeVar

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStoreRetriever
from pydantic import BaseModel

from fullrecall._util.parts import rebuilt
from fullrecall.errors import ParameterError

T = TypeVar("T")

_FIELDS = ("k", "top_k", "depth", "top_n")
"""The fields in which retrievers hold the number of documents that they return."""


def deeper(runnable: T, k: int) -> T:
    """Return a copy of a retriever or of a chain; each retriever in the copy returns `k` documents.

    A vector store's retriever gets `k` in its `search_kwargs`, any other retriever in its field
    `k`, `top_k`, `depth` or `top_n`. The original is not changed. Raises `ParameterError` if no
    retriever inside has such a field.
    """

    def exchange(value: Any) -> Any:
        if isinstance(value, VectorStoreRetriever):
            return _searching(value, k)
        fields = type(value).model_fields if isinstance(value, BaseRetriever) else {}
        name = next((name for name in _FIELDS if name in fields), None)
        return value if name is None else value.model_copy(update={name: k})

    copied = rebuilt(runnable, exchange, is_runnable)
    if copied is runnable:
        raise ParameterError(
            f"{type(runnable).__name__} has no field {' or '.join(_FIELDS)} for how many "
            "documents it returns: pass diagnose a function of a question and k"
        )
    return copied


def is_runnable(value: object) -> bool:
    """Return whether a value is a runnable with fields, which may contain other runnables."""
    return isinstance(value, Runnable) and isinstance(value, BaseModel)


def _searching(retriever: VectorStoreRetriever, k: int) -> VectorStoreRetriever:
    arguments = {**retriever.search_kwargs, "k": k}
    if retriever.search_type == "mmr":  # MMR chooses k of `fetch_k` documents.
        arguments["fetch_k"] = max(k, arguments.get("fetch_k", 0))
    return retriever.model_copy(update={"search_kwargs": arguments})
