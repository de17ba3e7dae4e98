"""Copies of retrievers that return k nodes, for `diagnose`."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever

from fullrecall._util.parts import rebuilt
from fullrecall.errors import ParameterError

_SIZES = ("similarity_top_k", "_similarity_top_k", "top_k", "_top_k")
"""The attributes that hold the number of nodes that a retriever returns."""


def deeper(retriever: BaseRetriever, k: int) -> BaseRetriever:
    """Return a copy of a retriever that returns `k` nodes.

    Each retriever inside, such as those of a fusion, also returns `k`. Raises `ParameterError` if
    no retriever inside has a `similarity_top_k`.
    """

    def exchange(value: Any) -> Any:
        name = next((each for each in _SIZES if _is_retriever(value) and each in vars(value)), None)
        if name is None:
            return value
        copied = copy(value)
        setattr(copied, name, min(k, _corpus_size(value) or k))
        return copied

    copied = rebuilt(retriever, exchange, _is_retriever)
    if copied is retriever:
        raise ParameterError(
            f"{type(retriever).__name__} has no similarity_top_k: pass the index, or a function of "
            "a question and k"
        )
    return copied


def _is_retriever(value: object) -> bool:
    return isinstance(value, BaseRetriever)


def _corpus_size(retriever: BaseRetriever) -> int | None:
    """Return the corpus size of a search that refuses a larger k, such as BM25; else None."""
    for holder in (retriever, *vars(retriever).values()):
        scores = getattr(holder, "scores", None)  # bm25s keeps the size here.
        counts = scores if isinstance(scores, Mapping) else {}
        size = counts.get("num_docs", getattr(holder, "corpus_size", None))
        if isinstance(size, int):
            return size
    return None
