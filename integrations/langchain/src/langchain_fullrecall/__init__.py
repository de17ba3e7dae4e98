"""fullrecall for LangChain and LangSmith."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_fullrecall.calls import RetrieverCall
    from langchain_fullrecall.capture import RetrievalHandler, capture_retrievals
    from langchain_fullrecall.chat_model import LangChainChatModel
    from langchain_fullrecall.documents import contexts
    from langchain_fullrecall.ids import IdLevelWarning
    from langchain_fullrecall.offline import offline_client
    from langchain_fullrecall.retrievers import (
        aevaluate_retriever,
        aretrieved,
        evaluate_retriever,
        retrieved,
    )
    from langchain_fullrecall.run_evaluator import RecallRunEvaluator
    from langchain_fullrecall.searching import searcher
    from langchain_fullrecall.selection import Selection
    from langchain_fullrecall.string_evaluator import RecallStringEvaluator

__all__ = [
    "IdLevelWarning",
    "LangChainChatModel",
    "RecallRunEvaluator",
    "RecallStringEvaluator",
    "RetrievalHandler",
    "RetrieverCall",
    "Selection",
    "aevaluate_retriever",
    "aretrieved",
    "capture_retrievals",
    "contexts",
    "evaluate_retriever",
    "offline_client",
    "retrieved",
    "searcher",
]

# Loaded when first used: LangChain's retrievers take a second to import, langchain_classic two.
_MODULES = {
    "IdLevelWarning": "ids",
    "LangChainChatModel": "chat_model",
    "RecallRunEvaluator": "run_evaluator",
    "RecallStringEvaluator": "string_evaluator",
    "RetrievalHandler": "capture",
    "RetrieverCall": "calls",
    "Selection": "selection",
    "aevaluate_retriever": "retrievers",
    "aretrieved": "retrievers",
    "capture_retrievals": "capture",
    "contexts": "documents",
    "evaluate_retriever": "retrievers",
    "offline_client": "offline",
    "retrieved": "retrievers",
    "searcher": "searching",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
