"""fullrecall for LangChain and LangSmith."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util.lazy import names

if TYPE_CHECKING:
    from langchain_fullrecall.capture import LangChainCapture, capture_retrievals
    from langchain_fullrecall.chat_model import LangChainChatModel
    from langchain_fullrecall.documents import contexts
    from langchain_fullrecall.evaluator import RecallStringEvaluator
    from langchain_fullrecall.experiment import report_of
    from langchain_fullrecall.offline import offline_client
    from langchain_fullrecall.retriever import ObservedLangChainRetriever, observed
    from langchain_fullrecall.summary import RecallSummary

__all__ = [
    "LangChainCapture",
    "LangChainChatModel",
    "ObservedLangChainRetriever",
    "RecallStringEvaluator",
    "RecallSummary",
    "capture_retrievals",
    "contexts",
    "observed",
    "offline_client",
    "report_of",
]

# Loaded when first used: LangChain's retrievers take a second to import.
_MODULES = {
    "LangChainCapture": "capture",
    "LangChainChatModel": "chat_model",
    "ObservedLangChainRetriever": "retriever",
    "RecallStringEvaluator": "evaluator",
    "RecallSummary": "summary",
    "capture_retrievals": "capture",
    "contexts": "documents",
    "observed": "retriever",
    "offline_client": "offline",
    "report_of": "experiment",
}


if not TYPE_CHECKING:
    __getattr__ = names(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
