"""Several agents, agents with a human in the loop, and conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from fullrecall.measures import Recall
from fullrecall.measures import calls as first
from langchain_apps.agents import NEVER_RAN, THREAD, agent, answered
from langchain_apps.application import Stated, function, messages, of_the_answer, runnable
from langchain_apps.parts import (
    ANSWER,
    QUESTION,
    Query,
    calls,
    documents,
    joined,
    search_tool,
    searches,
    store,
)

# Several agents


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 1 / 3, Recall @ 1: 1 / 3},
    as_input=messages,
    designed=dict.fromkeys(
        ("strings", "function"), Stated("the subagent's search is not in the supervisor's state")
    ),
    output="messages",
)
def task_tool() -> Any:
    """A deep agent's `task` tool: a subagent's answer comes back by a `Command`."""
    inner = agent([search_tool("timetable cafe")], searches("all"), "At ten past four in winter.")

    @tool
    def task(description: str, runtime: ToolRuntime) -> Command[Any]:
        """Give a task to a subagent."""
        state = inner.invoke({"messages": [HumanMessage(description)]})
        said = ToolMessage(state["messages"][-1].text, tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [said]})

    return agent(
        [task], calls(("task", {"description": "Find when the last boat leaves."})), ANSWER
    )


def _hand_off(name: str, *, marked: bool) -> BaseTool:
    @tool(f"transfer_to_{name}", description=f"Ask agent {name} for help.")
    def transfer(runtime: ToolRuntime) -> Command[Any]:
        said = ToolMessage(
            f"Successfully transferred the conversation to {name}, who will go on from here.",
            name=f"transfer_to_{name}",
            tool_call_id=runtime.tool_call_id,
        )
        update = {"messages": [*runtime.state["messages"], said]}
        return Command(goto=name, graph=Command.PARENT, update=update)

    if marked:
        transfer.metadata = {"__handoff_destination": name}
    return transfer


def _swarm(*, marked: bool) -> Any:
    times = agent(
        [search_tool("timetable cafe"), _hand_off("prices", marked=marked)],
        searches("boats"),
        calls(("transfer_to_prices", {})),
        name="times",
    )
    prices = agent([search_tool("bicycles dogs")], searches("costs"), ANSWER, name="prices")
    graph = StateGraph(MessagesState)
    graph.add_node("times", times, destinations=("prices",))
    graph.add_node("prices", prices)
    graph.add_edge(START, "times")
    return graph.compile()


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(1): 0.5, Recall @ first(2): 1.0},
    as_input=messages,
    output="messages",
    in_notes=True,
    streams=True,
)
def swarm() -> Any:
    """One agent hands over to another by a tool that LangChain's library marks."""
    return _swarm(marked=True)


# A human in the loop


def _reviewed(decisions: list[dict[str, Any]], search: BaseTool, *script: Any) -> Any:
    bot = agent(
        [search],
        *script,
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"search": True})],
        checkpointer=InMemorySaver(),
    )

    def ask(question: str) -> Any:
        state = bot.invoke(messages(question), THREAD)
        for decision in decisions:
            state = bot.invoke(Command(resume={"decisions": [decision]}), THREAD)
        return state

    return ask


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="messages",
    in_notes=True,
)
def search_that_is_approved() -> Any:
    """The search waits for a human, who approves it."""
    return _reviewed(
        [{"type": "approve"}], search_tool("timetable cafe"), searches("boats"), ANSWER
    )


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    designed=NEVER_RAN,
    output="messages",
)
def search_that_is_rejected() -> Any:
    """The human rejects the first search, which never runs, and approves the second."""
    search = search_tool(by_query={"everything": "cafe dogs", "boats": "timetable"})
    decisions = [{"type": "reject", "message": "Too broad."}, {"type": "approve"}]
    return _reviewed(decisions, search, searches("everything"), searches("boats"), ANSWER)


# Conversations


def _asks(by_question: dict[str, Any]) -> Callable[[list[BaseMessage]], AIMessage]:
    """Return a reply: the search for the last question, or an answer if it was searched for."""

    def reply(said: list[BaseMessage]) -> AIMessage:
        if answered(said):
            return AIMessage(ANSWER)
        return searches(by_question[said[-1].text])

    return reply


_TICKETS = "What does a ticket cost?"
_BY_TURN = {_TICKETS: "tickets", QUESTION: "boats"}
_FOUND = {"tickets": "fares luggage", "boats": "timetable cafe"}


@function(
    expects="timetable fares",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    output="messages",
    in_notes=True,
)
def replayed_agent() -> Any:
    """The target replays the turn before, in one thread of a checkpointed agent.

    The first turn finds fares, which does not count for the second.
    """
    bot = agent([search_tool(by_query=_FOUND)], _asks(_BY_TURN), checkpointer=InMemorySaver())

    def ask(question: str) -> Any:
        bot.invoke(messages(_TICKETS), THREAD)
        return bot.invoke(messages(question), THREAD)

    return ask


def _with_earlier_turn(question: str) -> Any:
    earlier = documents("fares luggage")
    return {
        "messages": [
            HumanMessage(_TICKETS),
            calls(("search", {"query": "tickets"})),
            ToolMessage(joined(earlier), tool_call_id="call_search_0", artifact=earlier),
            AIMessage("Eleven crowns."),
            HumanMessage(question),
        ]
    }


@runnable(
    expects="timetable fares",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    as_input=_with_earlier_turn,
    observing={"as_input": _with_earlier_turn},
    output="messages",
)
def conversation_as_input() -> Any:
    """The client sends all messages, with the earlier turn's documents in an artifact."""
    return agent([search_tool(by_query=_FOUND)], _asks(_BY_TURN))


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    observing={"config": None},
    config=THREAD,
    output="messages",
    in_notes=True,
)
def agent_with_a_thread() -> Any:
    """A checkpointed agent: each question that is observed needs a thread of its own."""
    return agent(
        [search_tool("timetable cafe")], searches("boats"), ANSWER, checkpointer=InMemorySaver()
    )


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    designed=of_the_answer("docs: similarity_search fires no event"),
    output="documents",
)
def agent_that_returns_its_sources() -> Any:
    """A service's endpoint: the answer, and the documents of the tool's artifacts as sources."""
    ranked = store("timetable cafe bicycles")

    @tool(args_schema=Query, response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search the documents."""
        found = ranked.similarity_search(query, k=2)
        return joined(found), found

    bot = agent([search], searches("boats"), ANSWER)

    def ask(question: str) -> Any:
        said = bot.invoke(messages(question))["messages"]
        found = [each for m in said if isinstance(m, ToolMessage) for each in m.artifact or ()]
        return {"answer": said[-1].text, "sources": [each.model_dump() for each in found]}

    return ask
