"""Agents of the framework's tutorial, with documents as tools' artifacts, are measured."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langsmith import aevaluate, evaluate

from fullrecall import IdRecall, Sample
from fullrecall.measures import Recall
from fullrecall.observe.messages import turn_of
from langchain_fullrecall import RecallStringEvaluator, capture_retrievals, observed

pytest.importorskip("langgraph", reason="langgraph is not installed: no agent to test")

pytestmark = [
    pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta"),
    pytest.mark.filterwarnings("ignore:create_react_agent has been moved"),
]

PARIS, TIBER = "Paris is the capital of France.", "The Tiber flows through Rome."


class Script(GenericFakeChatModel):
    """A chat model that follows a script and takes tools."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Return the model itself, since the script knows the tools."""
        return self


def asks(*queries: str) -> AIMessage:
    """Return a message that calls the search tool, once for each query, at the same time."""
    calls: Any = [
        {"name": "search", "args": {"query": query}, "id": f"call {n}"}
        for n, query in enumerate(queries)
    ]
    return AIMessage("", tool_calls=calls)


def agent_of(kind: str, store: InMemoryVectorStore, *script: AIMessage, **options: Any) -> Any:
    """Return an agent whose model repeats a script."""

    @tool(response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search the documents."""
        if query == "broken":
            raise ConnectionError("the index is gone")
        found = store.similarity_search(query, k=2)
        return "\n\n".join(document.page_content for document in found), found

    if options.pop("forgiving", False):
        search.handle_tool_error = True
    model = Script(messages=iter([*script] * 400))
    if kind == "create_agent":
        agents = pytest.importorskip("langchain.agents", reason="langchain 1 is not installed")
        return agents.create_agent(model, [search], **options)
    from langgraph.prebuilt import create_react_agent

    return create_react_agent(model, [search], **options)


KINDS = pytest.mark.parametrize("kind", ["create_agent", "create_react_agent"])
TWO_AT_ONCE = (asks(PARIS, TIBER), AIMessage("Paris, and the Tiber."))
TWO_HOPS = (asks(PARIS), asks(TIBER), AIMessage("Paris, and the Tiber."))


@KINDS
@pytest.mark.parametrize("script", [TWO_AT_ONCE, TWO_HOPS], ids=["at once", "in turn"])
def test_an_agent_gives_one_number_everywhere(
    *, kind: str, script: Any, store: InMemoryVectorStore, client: Any, example: Any
) -> None:
    """An agent gives one number observed, captured, in LangSmith, and by its state."""
    agent = agent_of(kind, store, *script)
    wanted = {"reference_context_ids": ["d0", "d3", "d9"]}
    sample = Sample(user_input="What flows where?", **wanted)  # type: ignore[arg-type]
    state = {"messages": [("user", "What flows where?")]}
    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1)
    expected = pytest.approx(2 / 3)

    retriever = observed(agent)
    for found in (retriever.retrieve(sample), asyncio.run(retriever.aretrieve(sample))):
        filled = sample.with_retrieval(found)
        assert IdRecall().score(filled)[Recall @ 1] == expected
        assert filled.response == "Paris, and the Tiber."
        assert [call.query for call in found.calls] == [PARIS, TIBER]
        count = len(found.contexts or ())
        assert found.ranks == (1, 1, 2, 2)[:count]
        assert found.line == f"union of 2 calls; {count} of {count} in the prompt"
    with capture_retrievals() as seen:
        answered = agent.invoke(state)
    captured = seen.sample(sample)
    assert IdRecall().score(captured)[Recall @ 1] == expected

    row = example("What flows where?", **wanted)
    options: Any = {
        "data": [row], "evaluators": [evaluator], "client": client, "upload_results": False,
    }  # fmt: skip

    async def rows(target: Any) -> list[Any]:
        return [each async for each in await aevaluate(target, **options)]

    async def astate(_inputs: dict[str, Any]) -> Any:
        return await agent.ainvoke(state)

    for outcome in (
        evaluate(lambda _inputs: agent.invoke(state), **options),
        evaluate(lambda _inputs: agent.invoke(state)["messages"][-1].text, **options),
        asyncio.run(rows(astate)),
    ):
        (found_row,) = outcome
        (feedback,) = found_row["evaluation_results"]["results"]
        assert feedback.score == expected
        assert "union of 2 calls" in feedback.comment
    reference = wanted["reference_context_ids"]
    direct = evaluator.evaluate_strings(prediction=answered, reference=reference)
    assert direct["score"] == expected
    function: Any = evaluator(
        inputs={"messages": [("user", "?")]}, outputs=answered, reference_outputs=wanted
    )
    assert function["score"] == expected


@KINDS
def test_200_parallel_searches_give_one_record(kind: str, store: InMemoryVectorStore) -> None:
    """The order in which 200 parallel searches end does not change the record."""
    retriever = observed(agent_of(kind, store, *TWO_AT_ONCE))
    sample = Sample(user_input="q", reference_context_ids=["d0", "d3"])
    records = [retriever.retrieve(sample) for _ in range(100)]

    async def together() -> list[Any]:
        return await asyncio.gather(*(retriever.aretrieve(sample) for _ in range(10)))

    first = records[0]
    assert all(record == first for record in records)
    assert IdRecall().score(sample.with_retrieval(first))[Recall @ 1] == 1.0


def test_a_checkpointer_keeps_earlier_turns_apart(store: InMemoryVectorStore) -> None:
    """Only documents retrieved for the last question count, even if read from the state alone."""
    from langgraph.checkpoint.memory import InMemorySaver

    script = (asks(PARIS), AIMessage("Paris."), asks(TIBER), AIMessage("The Tiber."))
    agent = agent_of("create_react_agent", store, *script, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "first")]}, config)
    state = agent.invoke({"messages": [("user", "second")]}, config)
    evaluator = RecallStringEvaluator()
    assert evaluator.evaluate_strings(prediction=state, reference=["d3"])["score"] == 1.0
    assert evaluator.evaluate_strings(prediction=state, reference=["d0"])["score"] == 0.0
    turn = turn_of(state)
    assert turn is not None
    assert (turn.question, turn.answer) == ("second", "The Tiber.")


@pytest.mark.parametrize(
    "stored",
    [
        lambda message: message,
        dumpd,
        lambda message: json.loads(json.dumps(message.model_dump(), default=str)),
        lambda message: {"type": message.type, "data": message.model_dump()},
    ],
    ids=["objects", "dumpd", "model_dump", "data"],
)
def test_a_state_is_read_from_each_form_of_storage(stored: Any, documents: list[Document]) -> None:
    """A state is read as LangSmith, a file, or a checkpoint stores it."""
    messages = [
        SystemMessage("You search."),
        HumanMessage("first"),
        ToolMessage("x", artifact=[documents[1]], tool_call_id="0", name="search"),
        HumanMessage([{"type": "text", "text": "second"}]),
        asks("a", "b"),
        ToolMessage("t", artifact=documents[:1], tool_call_id="call 0", name="search"),
        ToolMessage("t", artifact={"documents": documents[3:]}, tool_call_id="call 1", name="s"),
        ToolMessage("12", tool_call_id="2", name="calculator"),
        AIMessage("done"),
    ]
    state = {"messages": [stored(message) for message in messages]}
    turn = turn_of(state)
    assert turn is not None
    assert (turn.question, turn.answer) == ("second", "done")
    evaluator = RecallStringEvaluator(IdRecall(), Recall)
    returned = evaluator.evaluate_strings(prediction=state, reference=["d0", "d1", "d3"])
    assert returned["reasoning"].startswith("2 of 3 found in 2 retrieved; union of 2 calls")


@pytest.mark.parametrize(
    "state", ["text", {}, {"messages": []}, {"messages": [1]}, [Document("t")], 7, None]
)
def test_other_outputs_are_no_conversation(state: object) -> None:
    """Documents, answers and other mappings are not read as a conversation."""
    assert turn_of(state) is None


def test_a_tool_that_fails_is_no_empty_search(store: InMemoryVectorStore) -> None:
    """A failed tool leaves the sample unscored, or scored by the other calls if asked for."""
    from langgraph.prebuilt import ToolNode

    script = (asks(PARIS, "broken"), AIMessage("Paris."))
    agent = agent_of("create_react_agent", store, *script)
    tools = list(agent.nodes["tools"].bound.tools_by_name.values())
    from langgraph.prebuilt import create_react_agent

    model = Script(messages=iter([*script] * 20))
    agent = create_react_agent(model, ToolNode(tools, handle_tool_errors=True))
    sample = Sample(user_input="q", reference_context_ids=["d0"])
    strict = IdRecall().score(sample.with_retrieval(observed(agent).retrieve(sample)))
    assert strict.score is None
    assert "1 of 2 calls failed (search: ConnectionError: the index is gone)" in strict.reason
    scored = observed(agent, failed_calls="score").retrieve(sample)
    result = IdRecall().score(sample.with_retrieval(scored))
    assert (result.score, "1 of 2 calls failed" in result.reason) == (1.0, True)
    state = agent.invoke({"messages": [("user", "q")]})
    outcome = RecallStringEvaluator().evaluate_strings(prediction=state, reference=["d0"])
    assert (outcome["score"], "1 of 2 calls failed" in outcome["reasoning"]) == (None, True)


def test_the_messages_of_an_example_are_its_reference(store: InMemoryVectorStore) -> None:
    """In a data set of conversations, an output's last answer is the reference answer."""
    from langchain_fullrecall.documents import DocumentReader
    from langchain_fullrecall.references import example_fields

    outputs = {"messages": [dumpd(HumanMessage("q")), dumpd(AIMessage("The Seine."))]}
    fields = example_fields(outputs, None, IdRecall(), DocumentReader())
    assert fields == {"reference": "The Seine."}
