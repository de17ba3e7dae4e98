"""The names that tracing tools give to the attributes of a span.

If tools have different names for one attribute, a tuple lists them, and the first name with a value
counts. The order of tools is: OpenInference (Arize's, which Phoenix reads), MLflow, Langfuse,
Weave, and the GenAI conventions of OpenTelemetry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fullrecall.observe import StepKind

KIND = (
    "openinference.span.kind",
    "mlflow.spanType",
    "langfuse.observation.type",
    "weave.kind",
    "gen_ai.operation.name",
)
KINDS: Mapping[str, StepKind] = {
    "retriever": "retriever",
    "search": "retriever",  # Weave
    "retrieval": "retriever",  # GenAI
    "reranker": "reranker",
    "tool": "tool",
    "execute_tool": "tool",
    "llm": "llm",
    "chat_model": "llm",  # MLflow
    "generation": "llm",  # Langfuse
    "chat": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
    "agent": "agent",
    "invoke_agent": "agent",
}
"""The kind of a step for each value of an attribute in `KIND`, in lower case; default: "chain"."""

INPUT = (
    "input.value",
    "mlflow.spanInputs",
    "langfuse.observation.input",
    "weave.inputs",
)
OUTPUT = (
    "output.value",
    "mlflow.spanOutputs",
    "langfuse.observation.output",
)
QUERY = ("reranker.query", "gen_ai.retrieval.query.text")
TOOL = ("tool.name", "gen_ai.tool.name")

DOCUMENTS = {"retriever": "retrieval.documents", "reranker": "reranker.output_documents"}
GIVEN_DOCUMENTS = {"reranker": "reranker.input_documents"}
"""By kind, the prefix of the attributes of a step's input documents: `PREFIX.0.document.id`.

`DOCUMENTS` has those of its output documents.
"""

DOCUMENT_LIST = "gen_ai.retrieval.documents"

INPUT_MESSAGES = "llm.input_messages"
MESSAGES = {
    INPUT_MESSAGES: ("message.content", "message_content.text"),
    "llm.prompts": ("prompt.text",),
}
"""The prefixes and suffixes of the attributes of each message in a model's prompt."""

PROMPTS = ("llm.prompts", "gen_ai.system_instructions", "gen_ai.input.messages")
"""Attributes that each hold a whole list of messages of a prompt."""

ANSWERED = frozenset({"text_chunks"})
"""Input keys under which LlamaIndex's synthesizers receive the texts that they answer from."""

FALLBACKS = "RunnableWithFallbacks"
"""LangChain's name of a run with fallbacks; a renamed run cannot be recognized."""

REORDERINGS = frozenset({"LongContextReorder", "LostInTheMiddleRanker"})
"""Names of steps that reorder contexts for the model's attention."""


def number_of_task(path: object) -> str:
    """Return the number of a task that LangGraph ran in parallel; "" for any other task.

    The number is padded with zeros, so that sorting the texts sorts the numbers. `path` is the
    task's `langgraph_path` in LangGraph's metadata.
    """
    if not isinstance(path, Sequence) or not path or path[0] != "__pregel_push":
        return ""
    number = next((part for part in path[1:3] if type(part) is int), None)
    return "" if number is None else f"{number:09}"


SAMPLE_ID = "fullrecall.sample_id"
"""The attribute, or the key of OpenInference's `metadata`, that has the sample's ID for a trace."""

REFERENCE = re.compile(
    r"<NodeWithScore\(node=\w+\(id_=(.{1,500}?)\), score=[^()]{1,100}\)>"
    r"|Document\(id=([^,]{1,500}), "
)
"""The printed form of LlamaIndex's nodes and Haystack's documents in spans, with their IDs."""
