"""Agents with tools of every kind, hand-offs, and agents as tools."""

from collections.abc import Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.objects import ObjectIndex
from llama_index.core.tools import FunctionTool, QueryEngineTool
from llama_index.core.workflow import Context

from llama_apps.application import agent
from llama_apps.parts import ANSWER, TEXTS, Finds, Words, calling, engine_of, tool_of

_TEXTS_ONLY = "the agent's output has no nodes, but its block's capture has them"
_HIDDEN = dict.fromkeys(("plain", "block"), _TEXTS_ONLY)


def _agent(llm: Any, *tools: Any, name: str = "guide", **fields: Any) -> FunctionAgent:
    return FunctionAgent(
        name=name, description=f"The {name}.", tools=list(tools), llm=llm, streaming=False, **fields
    )


def _call(name: str, text: str = "the lighthouse") -> tuple[str, dict[str, Any]]:
    return name, {"input": text}


def search_tool(found: str, name: str = "search") -> QueryEngineTool:
    """Return an engine over a search as a tool."""
    return tool_of(engine_of(Finds(found)), name)


@agent(expects="tower fees", recall=0.5, first=0.0, hidden=_HIDDEN)
def agent_with_a_text_tool() -> Any:
    """An agent's tool is a function that searches and returns the texts."""
    search = Finds("ferry tower")

    async def look_up(input: str) -> str:  # noqa: A002 - LlamaIndex's name
        """Look up the island's guide."""
        return "\n\n".join(each.text for each in await search.aretrieve(input))

    return _agent(calling([_call("look_up")]), FunctionTool.from_defaults(async_fn=look_up))


@agent(expects="tower fees", recall=0.5, first=0.0, hidden=_HIDDEN)
def agent_with_an_answering_tool() -> Any:
    """An agent's tool is a function that asks an engine and returns the text of its answer."""
    engine = engine_of(Finds("ferry tower"))

    async def ask(input: str) -> str:  # noqa: A002 - LlamaIndex's name
        """Ask the island's guide."""
        return str(await engine.aquery(input))

    return _agent(calling([_call("ask")]), FunctionTool.from_defaults(async_fn=ask))


def _hits(names: str) -> list[dict[str, Any]]:
    return [
        {"id": name, "text": TEXTS[name][1], "score": 1 / rank}
        for rank, name in enumerate(names.split(), start=1)
    ]


@agent(expects="tower fees", recall=0.5, first=0.0)
def agent_with_a_tool_of_hits() -> Any:
    """An agent's tool is a client of a search service, and returns hits with IDs and texts."""

    async def search(input: str) -> list[dict[str, Any]]:  # noqa: A002 - LlamaIndex's name
        """Search the island's guide."""
        return _hits("ferry tower")

    return _agent(calling([_call("search")]), FunctionTool.from_defaults(async_fn=search))


@agent(expects="tower fees", recall=None, unscorable="the agent asks no search")
def agent_that_knows() -> Any:
    """The agent answers without its tool."""
    return _agent(calling(), search_tool("ferry tower"))


def _failing(times: int) -> FunctionTool:
    failures = iter([True] * times)

    async def weather(input: str) -> str:  # noqa: A002 - LlamaIndex's name
        """Tell the weather."""
        if next(failures, False):
            raise ConnectionError("the service is down")
        return "Sunny."

    return FunctionTool.from_defaults(async_fn=weather)


_FAILED = "a tool failed, which may have been a search"


@agent(
    expects="tower fees",
    recall=0.5,
    first=0.0,
    unscorable=_FAILED,
)
def agent_with_a_failing_tool() -> Any:
    """An agent's tool fails for good."""
    llm = calling([_call("weather")], [_call("search")])
    return _agent(llm, _failing(9), search_tool("ferry tower"))


@agent(expects="tower fees", recall=0.5, first=0.0, options={"other_tools": ["weather"]})
def agent_with_a_failing_tool_that_is_excused() -> Any:
    """The user declares that the agent's failing tool does not search."""
    llm = calling([_call("weather")], [_call("search")])
    return _agent(llm, _failing(9), search_tool("ferry tower"))


@agent(expects="tower fees", recall=0.5, first=0.0)
def agent_with_a_tool_that_recovers() -> Any:
    """An agent's tool fails, is called again with the same arguments, and works."""
    failures = iter([True])
    search = Finds("ferry tower")

    async def look_up(input: str) -> Any:  # noqa: A002 - LlamaIndex's name
        """Look up the island's guide."""
        if next(failures, False):
            raise ConnectionError("the service is down")
        return await search.aretrieve(input)

    llm = calling([_call("look_up")], [_call("look_up")])
    return _agent(llm, FunctionTool.from_defaults(async_fn=look_up))


@agent(expects="tower fees", recall=0.5, first=0.0)
def agent_with_a_tool_search() -> Any:
    """An agent's tools are found by a search among many."""
    tools = [search_tool("ferry tower", "lighthouse"), search_tool("seals", "animals")]
    index = ObjectIndex.from_objects(tools, index_cls=VectorStoreIndex, embed_model=Words())
    llm = calling([_call("lighthouse")])
    return FunctionAgent(
        name="guide",
        description="d",
        tool_retriever=index.as_retriever(similarity_top_k=1),
        llm=llm,
        streaming=False,
    )


def _thinking(*turns: str) -> Any:
    """Return a model that writes these turns, one after each observation."""

    def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        seen = sum((each.content or "").startswith("Observation") for each in messages)
        return ChatMessage(role="assistant", content=turns[min(seen, len(turns) - 1)])

    return MockFunctionCallingLLM(response_generator=reply, is_chat_model=True)


@agent(expects="tower fees seals", recall=2 / 3, first=1 / 3)
def reacting_agent() -> Any:
    """An agent's model writes its calls as text."""
    llm = _thinking(
        'Thought: I search.\nAction: building\nAction Input: {"input": "the lighthouse"}',
        'Thought: And the prices.\nAction: visits\nAction Input: {"input": "prices"}',
        f"Thought: I can answer.\nAnswer: {ANSWER}",
    )
    return ReActAgent(
        name="guide",
        description="d",
        tools=[search_tool("tower lamp", "building"), search_tool("ferry fees", "visits")],
        llm=llm,
        streaming=False,
    )


def _handing(to: str) -> tuple[str, dict[str, Any]]:
    return "handoff", {"to_agent": to, "reason": "it knows"}


@agent(expects="tower fees seals", recall=2 / 3, first=1 / 3)
def handed_over() -> Any:
    """An agent searches and hands over to another one, which searches too."""
    first = _agent(
        calling([_call("building")], [_handing("cashier")]),
        search_tool("tower lamp", "building"),
        name="guide",
        can_handoff_to=["cashier"],
    )
    second = _agent(
        calling([_call("building")], [_handing("cashier")], [_call("visits")]),
        search_tool("ferry fees", "visits"),
        name="cashier",
    )
    return AgentWorkflow(agents=[first, second], root_agent="guide")


@agent(expects="tower fees", recall=0.5, first=0.0, hidden=_HIDDEN)
def agent_with_notes() -> Any:
    """One tool of the agent searches and writes into the run's state; another one reads it."""
    search = Finds("ferry tower")

    async def take_notes(ctx: Context, input: str) -> str:  # noqa: A002 - LlamaIndex's name
        """Search, and take notes."""
        found = await search.aretrieve(input)
        await ctx.store.set("notes", [each.text for each in found])
        return "Noted."

    async def read_notes(ctx: Context) -> str:
        """Read the notes."""
        return "\n".join(await ctx.store.get("notes"))

    tools = [FunctionTool.from_defaults(async_fn=each) for each in (take_notes, read_notes)]
    return _agent(calling([_call("take_notes")], [("read_notes", {})]), *tools)
