"""fullrecall for LlamaIndex: context recall of what its retrievers and engines return."""

from llama_index.evaluation.fullrecall.attaching import (
    Attachment,
    Capture,
    attach,
    capture_of,
    capture_retrievals,
)
from llama_index.evaluation.fullrecall.chat_model import LlamaIndexChatModel
from llama_index.evaluation.fullrecall.evaluator import RecallEvaluator
from llama_index.evaluation.fullrecall.frames import results_frame, summary_frame
from llama_index.evaluation.fullrecall.metrics import (
    AllFoundAtK,
    AveragePrecisionAtK,
    HitAtK,
    MetricAtK,
    NDCGAtK,
    PrecisionAtK,
    RecallAtK,
    ReciprocalRankAtK,
    SpanRecallAtK,
    TextRecallAtK,
    register_metrics,
)
from llama_index.evaluation.fullrecall.nodes import contexts
from llama_index.evaluation.fullrecall.results import RecallEvaluationResult
from llama_index.evaluation.fullrecall.retrieval import (
    aanswered,
    aevaluate_query_engine,
    aevaluate_retriever,
    answered,
    aretrieved,
    evaluate_query_engine,
    evaluate_retriever,
    retrieved,
)
from llama_index.evaluation.fullrecall.searching import searcher

__all__ = [
    "AllFoundAtK",
    "Attachment",
    "AveragePrecisionAtK",
    "Capture",
    "HitAtK",
    "LlamaIndexChatModel",
    "MetricAtK",
    "NDCGAtK",
    "PrecisionAtK",
    "RecallAtK",
    "RecallEvaluationResult",
    "RecallEvaluator",
    "ReciprocalRankAtK",
    "SpanRecallAtK",
    "TextRecallAtK",
    "aanswered",
    "aevaluate_query_engine",
    "aevaluate_retriever",
    "answered",
    "aretrieved",
    "attach",
    "capture_of",
    "capture_retrievals",
    "contexts",
    "evaluate_query_engine",
    "evaluate_retriever",
    "register_metrics",
    "results_frame",
    "retrieved",
    "searcher",
    "summary_frame",
]
