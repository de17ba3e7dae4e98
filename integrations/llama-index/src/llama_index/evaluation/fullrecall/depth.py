"""A retriever that searches deeper: a copy of it that returns k nodes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.base import BaseIndex

from fullrecall.errors import ParameterError

_SIZES = ("similarity_top_k", "_similarity_top_k", "top_k", "_top_k")
"""The names under which retrievers hold how many nodes they return."""

_SIZE_LIMITS = ("corpus_size", "n_docs", "num_docs")
"""The names under which searches that refuse a larger k hold how many documents there are."""


def deeper(retriever: Any, k: int) -> Any:
    """Return a copy of a retriever, or a retriever over an index, that returns `k` nodes.

    Retrievers inside of it, such as those that are fused, return as many each. Raises
    `ParameterError` where none has a `similarity_top_k`.
    """
    if isinstance(retriever, BaseIndex):
        return retriever.as_retriever(similarity_top_k=k)
    copied, reached = _deeper(retriever, k, {})
    if not reached:
        raise ParameterError(
            f"{type(retriever).__name__} has no similarity_top_k: pass the index, or a function of "
            "a question and k"
        )
    return copied


def _deeper(retriever: BaseRetriever, k: int, copies: dict[int, Any]) -> tuple[Any, bool]:
    """Return the copy, and whether it or a part of it has a size; `done` has those of before."""
    if id(retriever) in copies:
        return copies[id(retriever)], True
    copied = copies[id(retriever)] = copy(retriever)
    reached = False
    for name, value in vars(retriever).items():
        if name in _SIZES:
            # A search over fewer documents may refuse more.
            most = next((n for each in _SIZE_LIMITS if (n := _limit(retriever, each))), k)
            setattr(copied, name, min(k, most))
            reached = True
            continue
        part, is_deeper = _parts(value, k, copies)
        if is_deeper:
            setattr(copied, name, part)
            reached = True
    return copied, reached


def _parts(value: Any, k: int, copies: dict[int, Any]) -> tuple[Any, bool]:
    """Return a retriever, or a list or mapping of retrievers, as deeper ones."""
    if isinstance(value, BaseRetriever):
        return _deeper(value, k, copies)
    if isinstance(value, (list, tuple)) and any(isinstance(each, BaseRetriever) for each in value):
        pairs = [_parts(each, k, copies) for each in value]
        return type(value)(each for each, _ in pairs), any(reached for _, reached in pairs)
    if isinstance(value, Mapping) and any(isinstance(o, BaseRetriever) for o in value.values()):
        copied = {name: _parts(each, k, copies) for name, each in value.items()}
        reached = any(reached for _, reached in copied.values())
        return {name: each for name, (each, _) in copied.items()}, reached
    return value, False


def _limit(retriever: object, name: str) -> int | None:
    for holder in (retriever, *vars(retriever).values()):
        size = getattr(holder, name, None)
        if isinstance(size, int) and not isinstance(size, bool):
            return size
        scores = getattr(holder, "scores", None)  # bm25s
        if isinstance(scores, Mapping) and isinstance(scores.get("num_docs"), int):
            return int(scores["num_docs"])
    return None
