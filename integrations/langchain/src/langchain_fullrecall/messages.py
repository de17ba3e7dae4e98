"""Agents speak in messages: the question, the tools' documents and the answer of the last turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from fullrecall.steps import brief

_ROLES = {
    "human": "human",
    "user": "human",
    "HumanMessage": "human",
    "HumanMessageChunk": "human",
    "ai": "ai",
    "assistant": "ai",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "tool": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
}
_OTHERS = ("system", "developer", "function", "chat", "remove")


class Message(NamedTuple):
    """One message as far as it matters here; `role` is "human", "ai", "tool" or ""."""

    role: str
    text: str
    artifact: Any = None
    name: str | None = None
    call_id: str | None = None
    failed: bool = False
    calls: tuple[Mapping[str, Any], ...] = ()

    @property
    def failure(self) -> str | None:
        """Why the tool failed that says so here instead of raising; None if it did not."""
        return (brief(self.text) or "the tool failed") if self.failed else None


class Turn(NamedTuple):
    """The last turn of a conversation; `messages` are those after the question."""

    question: str | None
    answer: str | None
    messages: tuple[Message, ...]


def turn_of(state: object) -> Turn | None:
    """Return the last turn of an agent's state or list of messages; None for anything else."""
    if isinstance(state, (str, BaseMessage)):
        return None
    listed = state.get("messages") if isinstance(state, Mapping) else state
    messages = messages_of(listed)
    if messages is None:
        return None
    start = max((n for n, each in enumerate(messages) if each.role == "human"), default=None)
    turn = messages if start is None else messages[start + 1 :]
    answer = next((each.text for each in reversed(turn) if each.role == "ai" and each.text), None)
    return Turn(None if start is None else messages[start].text, answer, tuple(turn))


def messages_of(value: object) -> list[Message] | None:
    """Return a list of messages, in whatever form each is; None where it is not one."""
    if isinstance(value, (str, BaseMessage)):
        return [message_of(value) or Message("human", str(value))]
    if not isinstance(value, Sequence) or isinstance(value, (bytes, bytearray)) or not value:
        return None
    messages = [message_of(item) for item in value]
    return None if None in messages else [each for each in messages if each is not None]


def message_of(item: object) -> Message | None:
    """Return one message: an object, `(role, text)`, a mapping, or one that LangSmith stored."""
    if isinstance(item, BaseMessage):
        return _message(item.type, {name: getattr(item, name, None) for name in _FIELDS})
    if isinstance(item, (tuple, list)) and len(item) == 2:  # noqa: PLR2004 - a pair
        role, text = item
        is_message = isinstance(text, str) and (role in _ROLES or role in _OTHERS)
        return _message(role, {"content": text}) if is_message else None
    if not isinstance(item, Mapping):
        return None
    if isinstance(item.get("kwargs"), Mapping) and isinstance(item.get("id"), list):
        kind = str(item["id"][-1])
        return _message(kind, item["kwargs"]) if "Message" in kind else None
    if isinstance(item.get("data"), Mapping) and "type" in item:
        return _message(item["type"], item["data"])
    role = item.get("role", item.get("type"))
    is_message = role in _ROLES or role in _OTHERS
    return _message(role, item) if is_message and "content" in item else None


_FIELDS = ("content", "artifact", "name", "tool_call_id", "status", "tool_calls")


def text_of(content: object) -> str:
    """Return the text of a message's content: of blocks those of type text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable) or isinstance(content, Mapping):
        return ""
    blocks = (
        block if isinstance(block, str) else block.get("text", "")
        for block in content
        if isinstance(block, str) or (isinstance(block, Mapping) and block.get("type") == "text")
    )
    return "".join(text for text in blocks if isinstance(text, str))


def _message(role: object, fields: Mapping[str, Any]) -> Message:
    calls = fields.get("tool_calls") or ()
    return Message(
        _ROLES.get(str(role), ""),
        text_of(fields.get("content")),
        fields.get("artifact"),
        fields.get("name"),
        fields.get("tool_call_id"),
        fields.get("status") == "error",
        tuple(call for call in calls if isinstance(call, Mapping)),
    )
