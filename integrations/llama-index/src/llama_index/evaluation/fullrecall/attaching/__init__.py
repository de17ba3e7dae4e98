"""What query engines, chat engines and retrievers retrieve while they run, without wrapping them.

LlamaIndex tells its instrumentation handlers of every retriever, postprocessor and synthesizer
that runs. One handler, installed once, notes this for the calls that somebody wants to see.
"""

from llama_index.evaluation.fullrecall.attaching.attachment import (
    Attachment,
    attach,
    capture_of,
    capture_retrievals,
)
from llama_index.evaluation.fullrecall.attaching.capture import Brought, Capture, Retrieval, Which

__all__ = [
    "Attachment",
    "Brought",
    "Capture",
    "Retrieval",
    "Which",
    "attach",
    "capture_of",
    "capture_retrievals",
]
