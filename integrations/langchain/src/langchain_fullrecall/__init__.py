"""fullrecall for LangChain and LangSmith."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_fullrecall.calls import RetrieverCall
from langchain_fullrecall.documents import contexts
from langchain_fullrecall.ids import IdLevelWarning
from langchain_fullrecall.retrievers import (
    aevaluate_retriever,
    aretrieved,
    evaluate_retriever,
    retrieved,
)
from langchain_fullrecall.selection import Selection

if TYPE_CHECKING:
    from langchain_fullrecall.capture import RetrievalHandler, capture_retrievals
    from langchain_fullrecall.chat_model import LangChainChatModel
    from langchain_fullrecall.offline import offline_client
    from langchain_fullrecall.run_evaluator import RecallRunEvaluator
    from langchain_fullrecall.searching import searcher
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

# Loaded when first used: langchain_classic alone takes two seconds to import.
_MODULES = {
    "offline_client": "langchain_fullrecall.offline",
    "LangChainChatModel": "langchain_fullrecall.chat_model",
    "RecallRunEvaluator": "langchain_fullrecall.run_evaluator",
    "RecallStringEvaluator": "langchain_fullrecall.string_evaluator",
    "RetrievalHandler": "langchain_fullrecall.capture",
    "capture_retrievals": "langchain_fullrecall.capture",
    "searcher": "langchain_fullrecall.searching",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
