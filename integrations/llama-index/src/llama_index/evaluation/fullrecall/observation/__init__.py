"""What query engines, chat engines and retrievers retrieve while they run, without wrapping them.

LlamaIndex tells its instrumentation handlers of every retriever, postprocessor and synthesizer
that runs. One handler, installed once, notes this for the calls that somebody wants to see.
"""

from llama_index.evaluation.fullrecall.observation.attachment import (
    Attachment,
    attach,
    capture_of,
    capture_retrievals,
)
from llama_index.evaluation.fullrecall.observation.capture import Capture, read_capture
from llama_index.evaluation.fullrecall.observation.recording import unrecorded

__all__ = [
    "Attachment",
    "Capture",
    "attach",
    "capture_of",
    "capture_retrievals",
    "read_capture",
    "unrecorded",
]
