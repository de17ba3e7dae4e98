"""fullrecall for LangChain and LangSmith."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_fullrecall.documents import contexts
from langchain_fullrecall.retrievers import evaluate_retriever, retrieved

if TYPE_CHECKING:
    from langchain_fullrecall.chat_model import LangChainChatModel
    from langchain_fullrecall.run_evaluator import RecallRunEvaluator
    from langchain_fullrecall.string_evaluator import RecallStringEvaluator

__all__ = [
    "LangChainChatModel",
    "RecallRunEvaluator",
    "RecallStringEvaluator",
    "contexts",
    "evaluate_retriever",
    "retrieved",
]

# Loaded when first used: langchain_classic alone takes two seconds to import.
_MODULES = {
    "LangChainChatModel": "langchain_fullrecall.chat_model",
    "RecallRunEvaluator": "langchain_fullrecall.run_evaluator",
    "RecallStringEvaluator": "langchain_fullrecall.string_evaluator",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
