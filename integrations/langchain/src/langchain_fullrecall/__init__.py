"""fullrecall for LangChain and LangSmith."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from langchain_fullrecall.capture import LangChainCapture as LangChainCapture
    from langchain_fullrecall.capture import capture_retrievals as capture_retrievals
    from langchain_fullrecall.chat_model import LangChainChatModel as LangChainChatModel
    from langchain_fullrecall.documents import contexts as contexts
    from langchain_fullrecall.evaluator import RecallStringEvaluator as RecallStringEvaluator
    from langchain_fullrecall.experiment import report_of as report_of
    from langchain_fullrecall.offline import offline_client as offline_client
    from langchain_fullrecall.retriever import (
        ObservedLangChainRetriever as ObservedLangChainRetriever,
    )
    from langchain_fullrecall.retriever import observed as observed
    from langchain_fullrecall.summary import RecallSummary as RecallSummary
else:
    # Loaded when first used: LangChain's retrievers take a second to import.
    __getattr__ = lazy.names(__name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *lazy.exports(__name__)})
