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
        said = _last_said(value, _ASKERS)
        return question_of(value[0]) if said is None and len(value) == 1 else said
    return _question_in(value) if isinstance(value, Mapping) else None


def _question_in(value: Mapping[str, Any]) -> str | None:
    named = next(
        (value[each] for each in _QUESTION_NAMES if isinstance(value.get(each), str)), None
    )
    if named is not None:
        return question_of(named)
    if isinstance(value.get("messages"), list):
        return _last_said(value["messages"], _ASKERS)
    held = (
        value[each] for each in _QUESTION_HOLDERS if isinstance(value.get(each), (Mapping, list))
    )
    found = next((asked for each in held if (asked := question_of(each)) is not None), None)
    if found is not None:
        return found
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
        held = value.get(name)
        if isinstance(held, list) and len(held) == 1:
            held = held[0]
        if isinstance(held, (str, Mapping)):
            return answer_of(held)
    if isinstance(value.get("messages"), list):
        return _last_said(value["messages"], ("ai", "assistant"))
    return None


def _last_said(messages: Sequence[Any], roles: Sequence[str]) -> str | None:
    for message in reversed(messages):
        if isinstance(message, Sequence) and not isinstance(message, str):
            if len(message) == 2 and message[0] in roles and isinstance(message[1], str):  # noqa: PLR2004
                return str(message[1])
            found = _last_said(message, roles)
            if found is not None:
                return found
        elif isinstance(message, Mapping):
            held = message.get("kwargs") if "kwargs" in message else message
            said = held.get("type", held.get("role")) if isinstance(held, Mapping) else None
            if said in roles or message.get("role") in roles:
                return _content(message)
    return None


def _content(message: Mapping[str, Any]) -> str | None:
    for holder in (message, message.get("data"), message.get("kwargs")):
        held = holder.get("content") if isinstance(holder, Mapping) else None
        if isinstance(held, str):
            return held or None
        if isinstance(held, list):
            parts = [each.get("text") for each in held if isinstance(each, Mapping)]
            return "".join(part for part in parts if isinstance(part, str)) or None
    return None
