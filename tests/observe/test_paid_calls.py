"""Each retrieval of a run is one paid call, with one list."""

from __future__ import annotations

from typing import Any


def test_a_tool_that_sorts_what_it_is_given_is_no_further_call(program: Any, docs: Any) -> None:
    """A tool that only sorts its input is no call: the search after it is the second call."""
    found = program.retrieve(docs["a"], docs["b"])
    program.function("sort", found, found[::-1], kind="tool")
    program.retrieve(docs["c"])
    record = program.retrieval()
    numbers = {c.id: n for c, n in zip(record.contexts, record.call_numbers, strict=True)}
    assert numbers == {"a": 1, "b": 1, "c": 2}


def test_two_searches_of_an_agent_are_two_even_if_one_has_all_of_the_other(
    program: Any, docs: Any
) -> None:
    """Two searches of an agent are two calls, even if the second list contains the first."""
    with program.call():
        for letters in ("b", "ab"):
            with program.step("tool", "search") as tool:
                found = tool.returns([docs[letter] for letter in letters])
            program.function("note", {"result": found}, None)
    record = program.retrieval()
    assert record.ranks == (1, 1)
    assert [len(call.contexts or ()) for call in record.calls] == [1, 2]
