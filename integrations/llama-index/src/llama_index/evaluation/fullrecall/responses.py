"""Read the nodes and text of the responses of query engines and chat engines, but no streams.

Responses are recognized by `isinstance`: a `PydanticResponse` claims to have every attribute.
"""

from __future__ import annotations

from typing import TypeAlias, TypeGuard, get_args

from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse

AnyResponse: TypeAlias = (
    Response
    | PydanticResponse
    | StreamingResponse
    | AsyncStreamingResponse
    | AgentChatResponse
    | StreamingAgentChatResponse
)
"""A response of a query engine or a chat engine."""

RESPONSE_TYPES: tuple[type, ...] = get_args(AnyResponse)


def is_response(value: object) -> TypeGuard[AnyResponse]:
    """Return whether `value` is a response of a query engine or a chat engine."""
    return isinstance(value, RESPONSE_TYPES)


_NOTHING = "Empty Response"
"""The default answer of LlamaIndex's synthesizers without nodes."""

_NOTHING_STREAMED = ("_empty_response_generator", "_empty_response_agenerator")
"""The names of the generators that stream the default answer."""

_RETRIEVER = "retriever"
"""The name of the source in which chat engines keep the nodes of their retriever."""


def says_that_nothing_was_retrieved(response: AnyResponse) -> bool:
    """Return whether an empty list of source nodes means an empty retrieval.

    It does if the answer is the default that LlamaIndex gives without nodes, or if a chat engine
    names its retriever as a source. Otherwise, the list may be empty after any retrieval.
    """
    if isinstance(response, (AgentChatResponse, StreamingAgentChatResponse)):
        answers = [
            source.raw_output for source in response.sources if is_response(source.raw_output)
        ]
        return any(source.tool_name == _RETRIEVER for source in response.sources) or (
            bool(answers) and all(map(says_that_nothing_was_retrieved, answers))
        )
    if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
        stream = getattr(response.response_gen, "__name__", None)
        return stream in _NOTHING_STREAMED or response.response_txt == _NOTHING
    return response.response == _NOTHING


def response_text(response: AnyResponse) -> str | None:
    """Return the text of the answer, or None if it is not written yet.

    Never reads a stream: its text is known when its consumer has read it to the end.
    """
    if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
        return response.response_txt
    if isinstance(response, StreamingAgentChatResponse):
        return response.response or None
    if isinstance(response, PydanticResponse):
        return None if response.response is None else response.response.model_dump_json()
    return response.response
