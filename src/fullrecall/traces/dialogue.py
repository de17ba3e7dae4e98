"""The question and the answer in what a span says of its input and its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fullrecall.sample import Sample

REDACTED = "__REDACTED__"
"""What OpenInference writes in place of a value that OPENINFERENCE_HIDE_* hides."""

_QUESTION_NAMES = ("user_input", *Sample.names()["user_input"], "query_str", "query_text", "text")
_ASKERS = ("human", "user")
_QUESTION_HOLDERS = ("query_bundle", "q", "data", "inputs", "kwargs", "args", "arguments")
_ANSWER_NAMES = ("response", *Sample.names()["response"], "result", "output_text", "replies")


def question_of(value: object) -> str | None:
    """Return the question in a span's input: a text, a mapping, or the last of a human's messages.

    None where it does not say beyond doubt.
    """
    if isinstance(value, str):
        return None if value == REDACTED else value or None
    if isinstance(value, Sequence):
        text = _last_said(value, _ASKERS)
        return question_of(value[0]) if text is None and len(value) == 1 else text
    return _question_in(value) if isinstance(value, Mapping) else None


def _question_in(value: Mapping[str, Any]) -> str | None:
    named = next(
        (value[each] for each in _QUESTION_NAMES if isinstance(value.get(each), str)), None
    )
    if named is not None:
        return question_of(named)
    if isinstance(value.get("messages"), list):
        return _last_said(value["messages"], _ASKERS)
    values = (
        value[each] for each in _QUESTION_HOLDERS if isinstance(value.get(each), (Mapping, list))
    )
    first_question = next(
        (question for each in values if (question := question_of(each)) is not None), None
    )
    if first_question is not None:
        return first_question
    # The components of a pipeline that were asked: each with the same question.
    several = {question_of(each) for each in value.values() if isinstance(each, (Mapping, str))}
    return several.pop() if len(several) == 1 else None


def answer_of(value: object) -> str | None:
    """Return the answer in a span's output: a text, a message, or what a mapping calls one."""
    if isinstance(value, str):
        return None if value in ("", REDACTED) else value
    if not isinstance(value, Mapping):
        return None
    if value.get("type") in ("ai", "AIMessageChunk"):
        return _content(value)
    for name in _ANSWER_NAMES:
        content = value.get(name)
        if isinstance(content, list) and len(content) == 1:
            content = content[0]
        if isinstance(content, (str, Mapping)):
            return answer_of(content)
    if isinstance(value.get("messages"), list):
        return _last_said(value["messages"], ("ai", "assistant"))
    return None


def _last_said(messages: Sequence[Any], roles: Sequence[str]) -> str | None:
    for message in reversed(messages):
        if isinstance(message, Sequence) and not isinstance(message, str):
            if len(message) == 2 and message[0] in roles and isinstance(message[1], str):  # noqa: PLR2004
                return str(message[1])
            text = _last_said(message, roles)
            if text is not None:
                return text
        elif isinstance(message, Mapping):
            fields = message.get("kwargs") if "kwargs" in message else message
            role = fields.get("type", fields.get("role")) if isinstance(fields, Mapping) else None
            if role in roles or message.get("role") in roles:
                return _content(message)
    return None


def _content(message: Mapping[str, Any]) -> str | None:
    for holder in (message, message.get("data"), message.get("kwargs")):
        content = holder.get("content") if isinstance(holder, Mapping) else None
        if isinstance(content, str):
            return content or None
        if isinstance(content, list):
            parts = [each.get("text") for each in content if isinstance(each, Mapping)]
            return "".join(part for part in parts if isinstance(part, str)) or None
    return None
