"""The attributes in which each tool writes down what a span did: a class for each convention."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from fullrecall.steps import Kind
from fullrecall.traces.span import Span


class Convention:
    """What one tool calls things; empty where it writes no such thing.

    - `kind`: the attribute of the kind of a span, and `kinds`: its values, in lower case.
    - `input`, `output`, `query`: the attributes of what went in, came out, and was asked.
    - `documents`, `given_documents`: by kind, the prefix of attributes for each single document:
      `PREFIX.0.document.id`.
    - `document_list`: the attribute that holds all documents.
    - `messages`: the prefix and the ends of attributes for each message that a model was sent.
    - `prompts`: attributes that hold all of them.
    - `tool`: the attribute of a tool's name.
    - `answered`: keys of an input under which a step has the very texts that it answers from.
    - `attempts`: names of constructs whose calls are alternatives.
    - `reorderings`: names of steps that serve the model's attention.
    """

    kind: ClassVar[str] = ""
    kinds: ClassVar[Mapping[str, Kind]] = {}
    input: ClassVar[str] = ""
    output: ClassVar[str] = ""
    query: ClassVar[str] = ""
    documents: ClassVar[Mapping[str, str]] = {}
    given_documents: ClassVar[Mapping[str, str]] = {}
    document_list: ClassVar[str] = ""
    messages: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    prompts: ClassVar[tuple[str, ...]] = ()
    tool: ClassVar[str] = ""
    answered: ClassVar[frozenset[str]] = frozenset()
    attempts: ClassVar[frozenset[str]] = frozenset()
    reorderings: ClassVar[frozenset[str]] = frozenset()

    def kind_of(self, span: Span) -> Kind | None:
        """Return what kind of step a span is; None if it does not say."""
        value = parsed(span.attributes.get(self.kind))
        return self.kinds.get(value.lower()) if isinstance(value, str) else None

    def list_in(self, span: Span) -> Any:
        """Return the list of documents that a span has in one piece; None if it has none."""
        return parsed(span.attributes.get(self.document_list))


class OpenInference(Convention):
    """Arize's, which Phoenix reads: LangChain, LlamaIndex, Haystack, DSPy and many more."""

    kind = "openinference.span.kind"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "retriever": "retriever",
        "reranker": "reranker",
        "tool": "tool",
        "llm": "llm",
        "agent": "agent",
    }
    input = "input.value"
    output = "output.value"
    query = "reranker.query"
    documents: ClassVar[Mapping[str, str]] = {
        "retriever": "retrieval.documents",
        "reranker": "reranker.output_documents",
    }
    given_documents: ClassVar[Mapping[str, str]] = {"reranker": "reranker.input_documents"}
    messages: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "llm.input_messages": ("message.content", "message_content.text"),
        "llm.prompts": ("prompt.text",),
    }
    prompts = ("llm.prompts",)
    tool = "tool.name"
    answered = frozenset({"text_chunks"})  # LlamaIndex's synthesizers
    attempts = frozenset({"RunnableWithFallbacks"})  # LangChain's
    reorderings = frozenset({"LongContextReorder", "LostInTheMiddleRanker"})


class GenAI(Convention):
    """The semantic conventions of OpenTelemetry."""

    kind = "gen_ai.operation.name"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "retrieval": "retriever",
        "execute_tool": "tool",
        "chat": "llm",
        "text_completion": "llm",
        "generate_content": "llm",
        "invoke_agent": "agent",
    }
    query = "gen_ai.retrieval.query.text"
    document_list = "gen_ai.retrieval.documents"
    prompts = ("gen_ai.system_instructions", "gen_ai.input.messages")
    tool = "gen_ai.tool.name"


class OpenLLMetry(Convention):
    """Traceloop's; its vector stores write an event for each document."""

    kind = "traceloop.span.kind"
    kinds: ClassVar[Mapping[str, Kind]] = {"tool": "tool", "agent": "agent"}
    input = "traceloop.entity.input"
    output = "traceloop.entity.output"
    messages: ClassVar[Mapping[str, tuple[str, ...]]] = {"gen_ai.prompt": ("content",)}
    _event: ClassVar[str] = "db.query.result"

    def kind_of(self, span: Span) -> Kind | None:
        """Return the kind; a query of a vector store retrieves."""
        queried = any(name == self._event for name, _ in span.events)
        return "retriever" if queried else super().kind_of(span)

    def list_in(self, span: Span) -> Any:
        """Return the documents of the events. A distance is no score: the smaller is the better."""
        events = [fields for name, fields in span.events if name == self._event]
        return [self._document(fields) for fields in events] or None

    def _document(self, event: Mapping[str, Any]) -> dict[str, Any]:
        fields = dict(below(event, self._event))
        return {
            "id": fields.get("id"),
            "text": fields.get("document"),
            "metadata": parsed(fields.get("metadata")),
        }


class MLflow(Convention):
    """MLflow's: values are JSON, the kind too."""

    kind = "mlflow.spanType"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "retriever": "retriever",
        "reranker": "reranker",
        "tool": "tool",
        "llm": "llm",
        "chat_model": "llm",
        "agent": "agent",
    }
    input = "mlflow.spanInputs"
    output = "mlflow.spanOutputs"


class Langfuse(Convention):
    """Langfuse's, in OpenTelemetry; its observations are put into these attributes."""

    kind = "langfuse.observation.type"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "retriever": "retriever",
        "tool": "tool",
        "generation": "llm",
        "agent": "agent",
    }
    input = "langfuse.observation.input"
    output = "langfuse.observation.output"


class Weave(Convention):
    """Weave's; its calls are put into these attributes."""

    kind = "weave.kind"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "search": "retriever",
        "tool": "tool",
        "llm": "llm",
        "agent": "agent",
    }
    input = "weave.inputs"
    output = "weave.output"


CONVENTIONS = (OpenInference(), MLflow(), Langfuse(), OpenLLMetry(), Weave(), GenAI())
"""One span may have several: what the first says goes before what the next one does."""

SAMPLE_ID = "fullrecall.sample_id"
"""The attribute, or the key of OpenInference's `metadata`, that names the sample of a trace."""

REFERENCE = re.compile(
    r"<NodeWithScore\(node=\w+\(id_=(.{1,500}?)\), score=[^()]{1,100}\)>"
    r"|Document\(id=([^,]{1,500}), "
)
"""How LlamaIndex's nodes and Haystack's documents stand in other spans: by their IDs."""


def parsed(value: object) -> Any:
    """Return what a text of JSON holds; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def below(attributes: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the attributes whose names begin with a prefix and a dot, by the rest of the name."""
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            yield name[len(start) :], value
