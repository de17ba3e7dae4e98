"""The question in an input, the answer in an output, and the messages of a turn.

A message may be an object with a `type` and a `content`, a pair `(role, text)`, a mapping, or a
message as LangSmith or OpenInference stores it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fullrecall.observe import brief
from fullrecall.samples.sample import Sample

REDACTED = "__REDACTED__"
"""OpenInference's replacement for a value that an OPENINFERENCE_HIDE_* variable hides."""

_NAMES = Sample.names()
_QUESTIONS = ("user_input", *_NAMES["user_input"], "query_str", "query_text", "text")
_ANSWERS = ("response", *_NAMES["response"], "result", "output_text", "replies")
_HOLDERS = ("query_bundle", "q", "data", "inputs", "kwargs", "args", "arguments")
_ROLES = {
    "human": "human",
    "user": "human",
    "HumanMessage": "human",
    "ai": "ai",
    "assistant": "ai",
    "AIMessage": "ai",
    "tool": "tool",
    "ToolMessage": "tool",
    **dict.fromkeys(("system", "developer", "function", "chat", "remove"), ""),
}


class AgentMessage(NamedTuple):
    """One message, reduced to the needed fields.

    - `role`: "human", "ai", "tool", "summary" for a text that replaced earlier messages, or "".
    - `artifact`: the data that a tool returned beside its text.
    - `name`, `call_id`, `failed`: in a tool's message, the tool's name, the ID of the call that it
      answers, and whether the call failed.
    - `calls`: the tool calls that a model asked for.
    """

    role: str
    text: str
    artifact: Any = None
    name: str | None = None
    call_id: str | None = None
    failed: bool = False
    calls: tuple[Mapping[str, Any], ...] = ()

    @property
    def failure(self) -> str | None:
        """The failure that a tool reports in this message instead of raising, or None."""
        return (brief(self.text) or "the tool failed") if self.failed else None


class Turn(NamedTuple):
    """The last turn of a conversation; `messages` are the messages after the question."""

    question: str | None
    answer: str | None
    messages: tuple[AgentMessage, ...]

    @property
    def partial(self) -> str | None:
        """The reason why messages of the turn are missing; None if the turn is complete."""
        if not any(message.role == "summary" for message in self.messages):
            return None
        return "a summary replaced the first messages of the turn: their searches are unknown"


def question_of(value: object, key: str | None = None) -> str | None:
    """Return the question in an input: a text, a mapping's question, or a human's last message.

    `key` is the key under which a mapping has the question. The result is None if the input has no
    question, or if several parts of it may be the question.
    """
    if isinstance(value, str):
        return None if value in ("", REDACTED) else value
    if not isinstance(value, Mapping):
        turn = turn_of(value)
        if turn is None and isinstance(value, (list, tuple)) and len(value) == 1:
            return question_of(value[0], key)
        return None if turn is None else turn.question
    named = (_text(value.get(name)) for name in (_QUESTIONS if key is None else (key,)))
    question = next((text for text in named if text is not None), None)
    if question is not None:
        return question_of(question)
    if key is None and "messages" in value:
        return question_of(value["messages"])
    return _question_inside(value, key)


def _question_inside(value: Mapping[Any, Any], key: str | None) -> str | None:
    """Return the question in a mapping's only value, or in a value under a key in `_HOLDERS`.

    Without such a value, return the question that all inner mappings share, or None.
    """
    if len(value) == 1:
        only = next(iter(value.values()))
        return question_of(only, key) if key is None or isinstance(only, Mapping) else None
    if key is not None:
        return None
    for name in _HOLDERS:
        holder = value.get(name)
        question = question_of(holder) if isinstance(holder, (Mapping, list)) else None
        if question is not None:
            return question
    several = {question_of(each) for each in value.values() if isinstance(each, Mapping)}
    return several.pop() if len(several) == 1 else None


def answer_of(value: object) -> str | None:
    """Return the answer in an output: a text, a message, or a mapping's answer; else None."""
    text = _text(value)
    if text is not None:
        return None if text in ("", REDACTED) else text
    if not isinstance(value, Mapping):
        return None
    message = message_of(value)
    if message is not None and message.role == "ai":
        return message.text or None
    for name in _ANSWERS:
        content = value.get(name)
        if isinstance(content, list) and len(content) == 1:
            content = content[0]
        answer = answer_of(content)
        if answer is not None:
            return answer
    turn = turn_of(value)
    return None if turn is None else turn.answer


def turn_of(state: object, question: str | None = None) -> Turn | None:
    """Return the last turn of an agent's state or list of messages; None for anything else.

    The turn begins at the last user message that equals the `question`, else at the last one that
    contains it, else at the last user message. The last user message need not be the question,
    since applications add user messages too, for a planner or a reminder.
    """
    messages = messages_of(state.get("messages") if isinstance(state, Mapping) else state)
    if messages is None:
        return None
    users = [(index, each.text) for index, each in enumerate(messages) if each.role == "human"]
    equal = [each for each in users if question and each[1].strip() == question.strip()]
    wider = [each for each in users if question and question.strip() in each[1]]
    start, asked = next((each[-1] for each in (equal, wider, users) if each), (-1, None))
    turn = messages[start + 1 :]
    # A model that calls a tool often adds an empty text, which is not an answer.
    answers = [message.text for message in turn if message.role == "ai" and message.text]
    return Turn(asked, answers[-1] if answers else None, tuple(turn))


def users_in(prompt: object) -> tuple[str, ...]:
    """Return the users' messages in a prompt, or in a list of prompts, stripped.

    A prompt that is a text has none.
    """
    prompts = prompt if isinstance(prompt, (list, tuple)) else ()
    read = (
        message_of(each)
        for part in prompts
        for each in (part if isinstance(part, list) else (part,))
    )
    return tuple(each.text.strip() for each in read if each is not None and each.role == "human")


def hands_over(output: Any) -> bool:
    """Return whether a tool's output sends the run to another node or another agent.

    LangGraph's outputs then name a node; LlamaIndex's outputs, in a trace, name an agent.
    """
    if isinstance(output, Mapping):
        asked = output.get("raw_input")
        given = asked.get("kwargs") if isinstance(asked, Mapping) else None
        if output.get("tool_name") == "handoff" and isinstance(given, Mapping):
            return given.keys() == {"to_agent", "reason"}
        return {"update", "goto"} <= output.keys() and bool(output["goto"])
    return type(output).__name__ == "Command" and bool(getattr(output, "goto", None))


def messages_of(value: object) -> list[AgentMessage] | None:
    """Parse a list of messages, each in any known form; None for an empty list or another value."""
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Sequence) or not value:
        return None
    messages = [message_of(item) for item in value]
    return None if None in messages else [each for each in messages if each is not None]


def message_of(item: Any) -> AgentMessage | None:
    """Parse one message: an object, `(role, text)`, a mapping, or a stored message; else None."""
    if _is_message(item):
        return _message(item.type, {name: getattr(item, name, None) for name in _FIELDS})
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], str):  # noqa: PLR2004 - a pair
        item = {"role": item[0], "content": item[1]}
    if not isinstance(item, Mapping):
        return None
    if isinstance(item.get("kwargs"), Mapping) and isinstance(item.get("id"), list):
        kind = str(item["id"][-1])
        return _message(kind, item["kwargs"]) if "Message" in kind else None
    if isinstance(item.get("data"), Mapping) and "type" in item:
        return _message(item["type"], item["data"])
    role = item.get("role", item.get("type"))
    is_known = isinstance(role, str) and role in _ROLES
    return _message(role, item) if is_known and "content" in item else None


def text_of(content: object) -> str:
    """Return the text of a message's content; for a list of blocks, join the texts in it."""
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


_FIELDS = (
    "content",
    "artifact",
    "name",
    "tool_call_id",
    "status",
    "tool_calls",
    "additional_kwargs",
)


def _is_message(value: object) -> bool:
    return hasattr(value, "content") and isinstance(getattr(value, "type", None), str)


def _text(value: Any) -> str | None:
    if _is_message(value):
        return text_of(value.content)
    return value if isinstance(value, str) else None


def _message(role: object, fields: Mapping[str, Any]) -> AgentMessage:
    calls = fields.get("tool_calls") or ()
    own_role = _ROLES.get(str(role).removesuffix("Chunk"), "")
    details = fields.get("additional_kwargs")
    if isinstance(details, Mapping) and details.get("lc_source") == "summarization":
        own_role = "summary"
    return AgentMessage(
        own_role,
        text_of(fields.get("content")),
        fields.get("artifact"),
        fields.get("name"),
        fields.get("tool_call_id"),
        fields.get("status") == "error",
        tuple(call for call in calls if isinstance(call, Mapping)),
    )
