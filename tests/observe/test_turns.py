"""Steps of a replayed conversation belong to the question or to earlier turns."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context
from fullrecall.observe import StepReading
from fullrecall.observe.messages import hands_over, turn_of
from fullrecall.observe.turns import of_question


def _user(text: str) -> tuple[str, str]:
    return ("human", text)


def _turn(program: Any, question: str, found: Context, *history: Any) -> None:
    """Run one turn: a search, and a model that is sent the conversation until now."""
    with program.step("chain", "bot", question):
        program.retrieve(found, query=question)
        program.ask(("system", found.text), *history, _user(question))


def _ids(program: Any, question: str | None) -> list[str | None]:
    record = StepReading().record_of(program.log.steps, root=program.root, question=question)
    return [context.id for context in record.contexts or ()]


@pytest.mark.parametrize(
    ("question", "expected"), [("second?", ["b"]), (" second?\n", ["b"]), ("third?", ["a", "b"])]
)
def test_an_earlier_turn_does_not_count(
    program: Any, docs: Any, question: str, expected: list[str]
) -> None:
    """Searches of earlier turns do not count if the prompt shows those turns."""
    with program.call():
        _turn(program, "first?", docs["a"])
        _turn(program, "second?", docs["b"], _user("first?"), ("ai", "One."))
    assert _ids(program, question) == expected


def test_a_search_beside_the_model_belongs_to_its_turn(program: Any, docs: Any) -> None:
    """A function that searches and then asks a model belongs to that model's turn."""
    with program.call():
        program.retrieve(docs["a"], query="first?")
        program.ask(_user("first?"))
        program.retrieve(docs["b"], query="second?")
        program.ask(_user("first?"), ("ai", "One."), _user("second?"))
    assert _ids(program, "second?") == ["b"]


def test_a_message_of_a_planner_begins_no_turn(program: Any, docs: Any) -> None:
    """A planner's message begins no turn: all steps after the question count."""
    with program.call():
        _turn(program, "question?", docs["a"])
        _turn(program, "Now the price.", docs["b"], _user("question?"), ("ai", "One."))
    assert _ids(program, "question?") == ["a", "b"]


def _asking(program: Any, query: str | None) -> Any:
    """Begin an outermost run with this question."""
    return program.step("chain", "bot", query=query)


def _of_question(program: Any, question: str) -> list[str | None]:
    steps = of_question(program.log.steps, question)
    return [context.id for context in StepReading().record_of(steps).contexts or ()]


def test_runs_that_asked_another_question_are_left_out(program: Any, docs: Any) -> None:
    """Runs of other questions, as in a batch, are left out; a resumed run has no question."""
    for query, found in (("other?", "a"), ("question?", "b"), (None, "c")):
        with _asking(program, query):
            program.retrieve(docs[found])
    assert _of_question(program, "question?") == ["b", "c"]


def test_runs_that_serve_a_later_one_count(program: Any, docs: Any) -> None:
    """Runs count whose answer, or whose documents, are in a later prompt."""
    with _asking(program, "part?") as run:
        program.retrieve(docs["a"])
        run.returns("Yes.")
    program.retrieve(docs["b"], query="variant")
    program.retrieve(docs["c"], query="unused")
    with _asking(program, "question?"):
        program.ask(f"part? Yes.\n{docs['b'].text}")
    assert _of_question(program, "question?") == ["a", "b"]


def test_a_run_that_searches_uses_no_documents_of_another_run(program: Any, docs: Any) -> None:
    """A conversation repeats the documents of earlier questions, which do not count."""
    with _asking(program, "other?") as run:
        run.returns(program.retrieve(docs["a"]))
    with _asking(program, "question?"):
        program.retrieve(docs["b"])
        program.ask(f"{docs['a'].text}\n{docs['b'].text}")
    assert _of_question(program, "question?") == ["b"]


def test_a_hand_off_is_no_search(program: Any, docs: Any) -> None:
    """A tool that hands over to another agent does not search; it returns earlier documents."""
    command = {"graph": "__parent__", "update": {"found": [docs["a"]]}, "goto": "prices"}
    program.function("search", None, [docs["a"]], kind="tool")
    program.function("transfer_to_prices", None, command, kind="tool")
    program.function("search", None, [docs["b"]], kind="tool")
    assert program.retrieval().call_numbers == (1, 2)


@pytest.mark.parametrize(
    "output", [None, "goto", {"goto": "x"}, {"update": {}, "goto": ()}, [Context("text")]]
)
def test_other_outputs_hand_nothing_over(output: Any) -> None:
    """A command that only writes into the state does not hand over to another agent."""
    assert not hands_over(output)


_AGENT = [
    {"role": "user", "content": "When does it leave?"},
    {"role": "assistant", "content": "At four."},
    {"role": "user", "content": "Now find the price."},
    {"role": "assistant", "content": "Three crowns."},
]


@pytest.mark.parametrize(
    ("question", "messages"),
    [
        ("When does it leave?", 3),
        ("does it leave?", 3),  # A template has put words around the question.
        ("Now find the price.", 1),
        ("Unknown?", 1),
        (None, 1),
    ],
)
def test_a_turn_begins_at_the_question(question: str | None, messages: int) -> None:
    """A turn begins at the question, not at a user message of a planner or reminder."""
    turn = turn_of({"messages": _AGENT}, question)
    assert turn is not None
    assert len(turn.messages) == messages
    assert turn.answer == "Three crowns."


def test_a_summary_hides_the_beginning_of_a_turn() -> None:
    """A summary that replaced the question makes the record partial; an earlier one does not."""
    summary = {
        "role": "user",
        "content": "Summary: At four.",
        "additional_kwargs": {"lc_source": "summarization"},
    }
    hidden, whole = turn_of([summary, _AGENT[1]], "When?"), turn_of([summary, *_AGENT], None)
    assert hidden is not None
    assert whole is not None
    assert hidden.partial == (
        "a summary replaced the first messages of the turn: their searches are unknown"
    )
    assert whole.partial is None
