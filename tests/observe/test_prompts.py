"""The prompts of models cut lists, restore replaced lists, and show the contexts read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.observe.prompting import joined

from fullrecall import Context


def test_container_keeps_what_the_prompt_had(program: Any, docs: Any) -> None:
    """Lists that a model read are not dropped if a mapping is returned beside them."""
    with program.call() as call:
        first = program.retrieve(docs["a"])
        second = program.retrieve(docs["b"], query="q2")
        answer = program.ask(joined([*first, *second]))
        call.returns({"answer": answer, "first": first})
    assert sorted(program.ids()) == ["a", "b"]


def test_text_without_a_model_was_handed_on(program: Any, docs: Any) -> None:
    """A tool that returns the text of some of its documents passed on those."""
    with program.step("tool", "lookup", query="q") as tool:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        tool.returns(joined(found[:2]))
    assert program.ids() == ["a", "b"]


def test_an_answer_cuts_nothing(program: Any, docs: Any) -> None:
    """A text after a model read the documents is an answer, even if it quotes one of them."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        program.ask(joined(found))
        call.returns(f"As the source says: {found[0].text}")
    assert program.ids() == ["a", "b"]


def test_prompt_revives_a_replaced_list(program: Any, docs: Any) -> None:
    """Documents in a model's prompt are the final list, even if a step had replaced them."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        program.function("scores", found, [docs["b"]])
        call.returns(program.ask(joined(found)))
    assert program.ids() == ["a", "b"]


def test_prompt_revives_the_list_that_it_shows_most_of(program: Any, docs: Any) -> None:
    """A longer list, of which the prompt shows only a part, stays replaced."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        cut = program.function("cut", found, found[1:])
        program.function("scores", cut, [docs["c"]])
        call.returns(program.ask(joined(cut)))
    assert program.ids() == ["b", "c"]


def test_read(program: Any, docs: Any) -> None:
    """The record says of each context whether the prompt had it."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        call.returns(program.ask(f"{found[0].text} {str(found[1].text)[:60]}"))
    assert program.retrieval().read == ("yes", "partly", "no")


@pytest.mark.parametrize(("last", "ids"), [("b", ["a", "b"]), ("question", ["a"])])
def test_only_the_last_message_is_searched_again(
    program: Any, docs: Any, last: str, ids: list[str]
) -> None:
    """A text that was sent before it was retrieved revives a list only as the last message."""
    texts = {"b": f"I read: {docs['b'].text}", "question": "What burned?"}
    messages = sorted(texts.values(), key=lambda text: text == texts[last])
    with program.call() as call:
        program.ask(*messages)
        found = program.retrieve(docs["a"], docs["b"])
        program.function("cut", found, found[:1])
        call.returns(program.ask(*messages))
    for step in program.log.steps:
        if step.kind == "llm":
            step.given = ()  # A trace has a prompt as texts alone.
    assert program.ids() == ids


def test_a_prompt_inside_a_retriever_is_no_reading(program: Any, docs: Any) -> None:
    """A model inside a retriever, which rewrites the query or ranks, is not the answering one."""
    with program.step("retriever", "ranked", query="q") as outer:
        found = program.retrieve(docs["a"], docs["b"])
        program.ask(joined(found))
        outer.returns(found[:1])
    record = program.retrieval()
    assert record.read is None
    assert [context.id for context in record.contexts] == ["a"]


def test_prompt_in_json(program: Any) -> None:
    """An escaped text in a prompt is recognized."""
    text = 'First line of it\nsecond "line" of it\nthird line with an é'
    with program.call() as call:
        program.retrieve(Context(text, id="1"))
        call.returns(program.ask(f'[{{"content": "{text.encode("unicode_escape").decode()}"}}]'))
    assert program.retrieval().read == ("yes",)


def test_a_part_beside_the_whole_is_not_guessed_at(program: Any, docs: Any) -> None:
    """If a part is beside the whole list, the list passed on is unknown without a prompt."""
    found = [docs["a"], docs["b"]]
    program.function("search", "q", {"found": found, "kept": found[:1]})
    assert "kept" in (program.retrieval().error or "")
    program.ask(str(found[0].text))
    assert program.ids() == ["a"]


def test_a_part_beside_the_whole_and_a_prompt_of_all(program: Any, docs: Any) -> None:
    """A model whose prompt has all documents read the whole list."""
    found = [docs["a"], docs["b"]]
    program.function("search", "q", {"found": found, "kept": found[:1]})
    program.ask(joined(found))
    assert program.ids() == ["a", "b"]


def test_a_function_that_cuts_and_formats(program: Any, docs: Any) -> None:
    """The documents in a function's text were passed on, even if it did not retrieve them."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        text = program.function("format", found, joined(found[:2]))
        call.returns(program.ask(text))
    assert program.ids() == ["a", "b"]


def test_the_three_lists(program: Any, docs: Any) -> None:
    """A record has three lists: retrieved, kept, and in the prompt."""
    with program.call() as call:
        first = program.retrieve(docs["a"], docs["b"], docs["c"])
        second = program.retrieve(docs["d"], docs["a"], query="q2")
        kept = program.function("rerank", {"x": first, "y": second}, [docs["d"], docs["b"]])
        call.returns(program.ask(joined(kept[:1])))
    found = program.retrieval()
    ids = {
        name: [context.id for context in view.contexts or ()]
        for name in ("retrieved", "contexts", "read")
        if (view := found.view(name)) is not None
    }
    assert ids == {"retrieved": ["a", "d", "b", "c"], "contexts": ["d", "b"], "read": ["d"]}
    assert found.view("retrieved").ranks == (1, 1, 2, 3)
    with pytest.raises(ValueError, match="view must be 'contexts' or 'retrieved' or 'read'"):
        found.view("kept")
