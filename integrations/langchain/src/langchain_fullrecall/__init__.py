"""fullrecall for LangChain and LangSmith."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_fullrecall.capture import capture_retrievals
    from langchain_fullrecall.chat_model import LangChainChatModel
    from langchain_fullrecall.documents import contexts
    from langchain_fullrecall.evaluator import RecallStringEvaluator
    from langchain_fullrecall.experiment import report_of
    from langchain_fullrecall.ids import IdLevelWarning
    from langchain_fullrecall.offline import offline_client
    from langchain_fullrecall.retriever import observed
    from langchain_fullrecall.selection import Selection

__all__ = [
    "IdLevelWarning",
    "LangChainChatModel",
    "RecallStringEvaluator",
    "Selection",
    "capture_retrievals",
    "contexts",
    "observed",
    "offline_client",
    "report_of",
]

# Loaded when first used: LangChain's retrievers take a second to import.
_MODULES = {
    "IdLevelWarning": "ids",
    "LangChainChatModel": "chat_model",
    "RecallStringEvaluator": "evaluator",
    "Selection": "selection",
    "capture_retrievals": "capture",
    "contexts": "documents",
    "observed": "retriever",
    "offline_client": "offline",
    "report_of": "experiment",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
