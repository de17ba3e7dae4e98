"""fullrecall for LlamaIndex: context recall of its retrievers, engines and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture as LlamaIndexCapture
    from llama_index.evaluation.fullrecall.capture import capture_retrievals as capture_retrievals
    from llama_index.evaluation.fullrecall.chat_model import (
        LlamaIndexChatModel as LlamaIndexChatModel,
    )
    from llama_index.evaluation.fullrecall.evaluator import RecallEvaluator as RecallEvaluator
    from llama_index.evaluation.fullrecall.metric import RecallMetric as RecallMetric
    from llama_index.evaluation.fullrecall.nodes import contexts as contexts
    from llama_index.evaluation.fullrecall.results import (
        RecallEvaluationResult as RecallEvaluationResult,
    )
    from llama_index.evaluation.fullrecall.results import report_of as report_of
    from llama_index.evaluation.fullrecall.retriever import (
        ObservedLlamaIndexRetriever as ObservedLlamaIndexRetriever,
    )
    from llama_index.evaluation.fullrecall.retriever import observed as observed
else:
    __getattr__ = lazy.names(__name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *lazy.exports(__name__)})
