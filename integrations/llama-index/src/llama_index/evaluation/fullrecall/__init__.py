"""fullrecall for LlamaIndex: context recall of its retrievers, engines and agents."""

from fullrecall._util.parameters import all_public
from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture, capture_retrievals
from llama_index.evaluation.fullrecall.chat_model import LlamaIndexChatModel
from llama_index.evaluation.fullrecall.evaluator import RecallEvaluator
from llama_index.evaluation.fullrecall.metric import RecallMetric
from llama_index.evaluation.fullrecall.nodes import contexts
from llama_index.evaluation.fullrecall.results import RecallEvaluationResult, report_of
from llama_index.evaluation.fullrecall.retriever import ObservedLlamaIndexRetriever, observed

__all__ = [
    "LlamaIndexCapture",
    "LlamaIndexChatModel",
    "ObservedLlamaIndexRetriever",
    "RecallEvaluationResult",
    "RecallEvaluator",
    "RecallMetric",
    "capture_retrievals",
    "contexts",
    "observed",
    "report_of",
]

all_public(__name__)
