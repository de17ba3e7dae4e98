"""Messages in every stored form, the question of an input, and the answer of an output."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fullrecall.observe.messages import (
    REDACTED,
    AgentMessage,
    answer_of,
    hands_over,
    message_of,
    messages_of,
    question_of,
    text_of,
    turn_of,
    users_in,
)

USER, REPLY = {"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ann."}
STORED = {"id": ["langchain", "schema", "HumanMessage"], "kwargs": {"content": "Who?"}}
SUMMARY = {**USER, "additional_kwargs": {"lc_source": "summarization"}}
CALL = {"name": "search"}


def of(role: str, text: str, **fields: Any) -> AgentMessage:
    """Return a message."""
    return AgentMessage(role, text, **fields)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (USER, of("human", "Who?")),
        (("user", "Who?"), of("human", "Who?")),
        (["human", "Who?"], of("human", "Who?")),
        (("user", "Who?", "x"), None),
        (("user", 7), None),
        (REPLY, of("ai", "Ann.")),
        ({"type": "ai", "content": "Ann."}, of("ai", "Ann.")),
        ({"role": "system", "content": "s"}, of("", "s")),
        ({"role": "narrator", "content": "s"}, None),
        ({"role": ["user"], "content": "s"}, None),
        ({"role": "user"}, None),
        (STORED, of("human", "Who?")),
        ({**STORED, "id": ["x", "AIMessageChunk"]}, of("ai", "Who?")),
        ({**STORED, "id": ["HumanMessage", "Prompt"]}, None),
        ({**STORED, "kwargs": 7}, None),
        ({"type": "human", "data": {"content": "Who?"}}, of("human", "Who?")),
        ({"data": {"content": "Who?"}}, None),
        (
            {"role": "tool", "content": "down", "status": "error", "tool_call_id": "c",
             "name": "search"},
            of("tool", "down", failed=True, call_id="c", name="search"),
        ),
        ({**REPLY, "status": "success", "tool_calls": [CALL, 7]}, of("ai", "Ann.", calls=(CALL,))),
        (SUMMARY, of("summary", "Who?")),
        (SimpleNamespace(type="human", content="Who?"), of("human", "Who?")),
        (SimpleNamespace(type=7, content="Who?"), None),
        ("Who?", None),
        (7, None),
    ],
)  # fmt: skip
def test_a_message_in_each_form(item: Any, message: AgentMessage | None) -> None:
    """A message is an object, a pair, a mapping with a known role, or a stored message."""
    assert message_of(item) == message


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (["a", {"type": "text", "text": "b"}, {"type": "image", "text": "c"}, 7], "ab"),
        ([{"type": "text"}, {"type": "text", "text": 7}], ""),
        ({"type": "text", "text": "b"}, ""),
        (None, ""),
    ],
)
def test_the_text_of_content(content: Any, text: str) -> None:
    """The text blocks of a list are joined; a single block is no content."""
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ("Who?", "Who?"),
        ("", None),
        (REDACTED, None),
        ([USER, REPLY, {**USER, "content": "Why?"}], "Why?"),
        ([[USER]], "Who?"),
        (["Who?"], "Who?"),
        (["Who?", "Why?"], None),
        ([REPLY], None),
        ([], None),
        (7, None),
        ({"question": "Who?", "text": "t"}, "Who?"),
        ({"text": "Who?"}, "Who?"),
        ({"query_str": ""}, None),
        ({"messages": [USER]}, "Who?"),
        ({"messages": [REPLY], "x": "y"}, None),
        ({"messages": [USER], "x": "y"}, "Who?"),
        ({"anything": "Who?"}, "Who?"),
        ({"one": "Who?", "two": "Why?"}, None),
        ({"inputs": {"question": "Who?"}, "n": 1}, "Who?"),
        ({"inputs": "Who?", "n": 1}, None),
        ({"args": ["Who?"], "n": 1}, "Who?"),
        ({"one": {"question": "Who?"}, "two": {"question": "Who?"}, "n": 1}, "Who?"),
        ({"one": {"question": "Who?"}, "two": {"question": "Why?"}}, None),
    ],
)
def test_the_question_of_an_input(value: Any, question: str | None) -> None:
    """The question is a text, under a usual name, the last user message, or the only part."""
    assert question_of(value) == question


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ({"ask": "Who?", "question": "Why?"}, "Who?"),
        ({"question": "Why?"}, None),
        ({"inner": {"ask": "Who?"}}, "Who?"),
        ({"inner": {"ask": "Who?"}, "n": 1}, None),
        ([{"ask": "Who?"}], "Who?"),
        ("Who?", "Who?"),
    ],
)
def test_the_question_under_a_key(value: Any, question: str | None) -> None:
    """With a key of the user, no usual name is read, and no text in another place."""
    assert question_of(value, "ask") == question


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("Ann.", "Ann."),
        ("", None),
        (REDACTED, None),
        (SimpleNamespace(type="ai", content=["An", "n."]), "Ann."),
        (REPLY, "Ann."),
        ({**REPLY, "content": ""}, None),
        ({"response": "Ann.", "result": "Bo."}, "Ann."),
        ({"response": "", "result": "Bo."}, "Bo."),
        ({"replies": ["Ann."]}, "Ann."),
        ({"replies": ["Ann.", "Bo."]}, None),
        ({"response": {"result": "Ann."}}, "Ann."),
        ({"messages": [USER, REPLY]}, "Ann."),
        ({"messages": [REPLY, USER]}, None),
        ({"x": "Ann."}, None),
        (7, None),
    ],
)
def test_the_answer_of_an_output(value: Any, answer: str | None) -> None:
    """The answer is a text, a model's message, under a usual name, or the turn's last answer."""
    assert answer_of(value) == answer


@pytest.mark.parametrize(
    ("question", "start"), [(None, 3), ("Who?", 0), (" Who? ", 0), ("Why", 3), ("When?", 3)]
)
def test_a_turn_begins_at_its_question(question: str | None, start: int) -> None:
    """A turn begins at the equal user message, else at one that has the question, else the last."""
    second = {"role": "user", "content": "And why? Why?"}
    state = {"messages": [USER, REPLY, {**REPLY, "content": ""}, second, {**REPLY, "content": ""}]}
    turn = turn_of(state, question)
    assert turn is not None
    assert turn.question == state["messages"][start]["content"]
    assert len(turn.messages) == len(state["messages"]) - start - 1
    assert turn.answer == ("Ann." if start == 0 else None)
    assert turn.partial is None


def test_a_summary_makes_a_turn_partial() -> None:
    """A turn that a summary shortened is not complete."""
    turn = turn_of([USER, SUMMARY, REPLY])
    assert turn is not None
    assert turn.partial == (
        "a summary replaced the first messages of the turn: their searches are unknown"
    )


def test_lists_with_another_value_are_no_messages() -> None:
    """All items are messages, or there are none; users' messages are read from prompts, too."""
    assert messages_of([USER, 7]) is None
    assert messages_of("user") is None
    assert messages_of([]) is None
    assert users_in([USER, [REPLY, {**USER, "content": " Why? "}], 7]) == ("Who?", "Why?")
    assert users_in("Who?") == ()


@pytest.mark.parametrize(
    ("output", "hands"),
    [
        ({"update": {}, "goto": "agent"}, True),
        ({"update": {}, "goto": ()}, False),
        ({"goto": "agent"}, False),
        (
            {
                "tool_name": "handoff",
                "raw_input": {"kwargs": {"to_agent": "a", "reason": "r"}},
            },
            True,
        ),
        ({"tool_name": "handoff", "raw_input": {"kwargs": {"to_agent": "a"}}}, False),
        ({"tool_name": "search", "raw_input": {"kwargs": {"to_agent": "a", "reason": "r"}}}, False),
        (type("Command", (), {"goto": "agent"})(), True),
        (type("Command", (), {"goto": ()})(), False),
        (type("Other", (), {"goto": "agent"})(), False),
        ("agent", False),
    ],
)
def test_an_output_that_hands_over(output: Any, *, hands: bool) -> None:
    """A command of LangGraph with a goal, or LlamaIndex's tool of that name, hands over."""
    assert hands_over(output) is hands


@pytest.mark.parametrize(
    ("message", "failure"),
    [(of("tool", "down", failed=True), "down"), (of("tool", "", failed=True), "the tool failed"),
     (of("tool", "down"), None)],
)  # fmt: skip
def test_a_failed_message_has_a_failure(message: AgentMessage, failure: str | None) -> None:
    """A tool that reports an error in its message failed, even if the message is empty."""
    assert message.failure == failure
