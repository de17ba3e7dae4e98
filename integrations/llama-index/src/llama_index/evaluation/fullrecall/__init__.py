"""fullrecall for LlamaIndex: context recall of what its retrievers and engines return."""

from llama_index.evaluation.fullrecall.chat_model import LlamaIndexChatModel
from llama_index.evaluation.fullrecall.evaluator import RecallEvaluator
from llama_index.evaluation.fullrecall.nodes import contexts
from llama_index.evaluation.fullrecall.results import RecallEvaluationResult
from llama_index.evaluation.fullrecall.retrieval import (
    answered,
    evaluate_query_engine,
    evaluate_retriever,
    retrieved,
)

__all__ = [
    "LlamaIndexChatModel",
    "RecallEvaluationResult",
    "RecallEvaluator",
    "answered",
    "contexts",
    "evaluate_query_engine",
    "evaluate_retriever",
    "retrieved",
]
