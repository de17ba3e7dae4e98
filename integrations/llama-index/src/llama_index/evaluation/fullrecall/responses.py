"""What query engines and chat engines answer with: its nodes and its text, streams untouched.

Responses are told apart by `isinstance`: a `PydanticResponse` claims to have every attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard, get_args

from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.schema import NodeWithScore

AnyResponse: TypeAlias = (
    Response
    | PydanticResponse
    | StreamingResponse
    | AsyncStreamingResponse
    | AgentChatResponse
    | StreamingAgentChatResponse
)
"""What a query engine or a chat engine returns."""

RESPONSE_TYPES: tuple[type, ...] = get_args(AnyResponse)


def is_response(value: object) -> TypeGuard[AnyResponse]:
    """Return whether `value` is what a query engine or a chat engine returns."""
    return isinstance(value, RESPONSE_TYPES)


def source_nodes(response: AnyResponse) -> Sequence[NodeWithScore] | None:
    """Return the nodes that the response was made from, None where it does not carry any list."""
    nodes: Sequence[NodeWithScore] | None = response.source_nodes
    return nodes


def response_text(response: AnyResponse) -> str | None:
    """Return the text of the answer, None for one that is not written yet.

    A stream is never read: its text is here once its consumer has read it to the end.
    """
    if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
        return response.response_txt
    if isinstance(response, StreamingAgentChatResponse):
        return response.response or None
    if isinstance(response, PydanticResponse):
        return None if response.response is None else response.response.model_dump_json()
    return response.response
