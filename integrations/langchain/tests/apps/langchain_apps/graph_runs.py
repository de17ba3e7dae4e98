"""Agents as graphs, interrupted and failing graphs, and workflows of LangGraph's functional API."""

from __future__ import annotations

import operator
from importlib.metadata import version
from threading import Event
from typing import Annotated, Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import CachePolicy, Command, RetryPolicy, interrupt
from typing_extensions import TypedDict

from fullrecall.measures import Recall
from fullrecall.measures import calls as first
from langchain_apps.application import Stated, function, keyed, messages, runnable
from langchain_apps.fan_out import BY_QUERY
from langchain_apps.graphs import THREAD, State, answer_node, in_turn, search_node
from langchain_apps.parts import (
    ANSWER,
    PROMPT,
    QUESTION,
    joined,
    model,
    search_tool,
    searches,
    shelf,
)

# Agents as graphs


class _Task(TypedDict, total=False):
    """The state of plan and execute."""

    question: str
    plan: list[str]
    past: Annotated[list[tuple[str, str]], operator.add]
    answer: str


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 2 / 3, Recall @ first(1): 1 / 3, Recall @ first(2): 2 / 3},
    as_input=keyed("question"),
)
def plan_and_execute() -> Any:
    """An agent carries out a plan's steps one after another."""
    by_query = {"find times": "timetable cafe", "find prices": "bicycles dogs"}

    def plan(state: Any) -> dict[str, Any]:
        return {"plan": ["find times", "find prices"]}

    def execute(state: Any) -> dict[str, Any]:
        step = state["plan"][len(state.get("past", []))]
        bot = _tool_graph(by_query, step)
        said = bot.invoke({"messages": [HumanMessage(f"Your step: {step}")]})
        return {"past": [(step, said["messages"][-1].text)]}

    def replan(state: Any) -> dict[str, Any]:
        return {} if len(state["past"]) < len(state["plan"]) else {"answer": ANSWER}

    graph = StateGraph(_Task)
    graph.add_sequence([("plan", plan), ("execute", execute), ("replan", replan)])
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("replan", lambda s: END if s.get("answer") else "execute")
    return graph.compile()


def _tool_graph(by_query: dict[str, str], query: str) -> Any:
    """Return a graph of a model and its tools, as one writes it without `create_agent`."""

    def respond(state: MessagesState) -> dict[str, Any]:
        done = isinstance(state["messages"][-1], ToolMessage)
        said = model("Done.") if done else model(searches(query))
        return {"messages": [said.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("respond", respond)
    graph.add_node("tools", ToolNode([search_tool(by_query=by_query)]))
    graph.add_edge(START, "respond")
    graph.add_conditional_edges("respond", tools_condition)
    graph.add_edge("tools", "respond")
    return graph.compile()


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
)
def tool_node_graph() -> Any:
    """A model and a `ToolNode`, wired by hand."""
    return _tool_graph({"boats": "timetable cafe"}, "boats")


# Interrupts and threads


def _resumed(graph: Any, *answers: Any) -> Any:
    def ask(question: str) -> Any:
        state = graph.invoke({"question": question}, THREAD)
        for each in answers:
            state = graph.invoke(Command(resume=each), THREAD)
        return {key: value for key, value in state.items() if key != "__interrupt__"}

    return ask


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="documents",
    in_notes=True,
)
def clarified_query() -> Any:
    """The graph asks back before it searches, and is resumed with the answer."""

    def clarify(state: Any) -> dict[str, Any]:
        return {"question": f"{state['question']} ({interrupt('Which season?')})"}

    retriever = shelf(by_query={f"{QUESTION} (winter)": "timetable cafe"})
    graph = in_turn(
        State, clarify, search_node(retriever), answer_node, checkpointer=InMemorySaver()
    )
    return _resumed(graph, "winter")


@function(
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 1 / 3},
    output="documents",
    in_notes=True,
)
def chosen_by_a_human() -> Any:
    """Documents are found, a human chooses some of them, and the graph goes on."""

    def choose(state: Any) -> dict[str, Any]:
        kept = interrupt([each.id for each in state["documents"]])
        return {"documents": [each for each in state["documents"] if each.id in kept]}

    retriever = shelf("timetable cafe bicycles fares")
    graph = in_turn(
        State, search_node(retriever), choose, answer_node, checkpointer=InMemorySaver()
    )
    return _resumed(graph, ["timetable", "bicycles"])


@function(
    expects="timetable bicycles fares",
    right={Recall: 1.0, Recall @ 1: 2 / 3, Recall @ 2: 1.0},
    output="messages",
    designed=dict.fromkeys(
        ("strings", "function"), Stated("messages have texts, and no documents")
    ),
)
def second_search_after_approval() -> Any:
    """One search runs before the interrupt and another after it, both for the question."""

    def first_search(state: MessagesState) -> dict[str, Any]:
        found = shelf("timetable fares").invoke("boats")
        return {"messages": [AIMessage(model("Noted.").invoke(joined(found)).text)]}

    def approve(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"approved: {interrupt('Go on?')}")]}

    def second_search(state: MessagesState) -> dict[str, Any]:
        found = shelf("bicycles cafe").invoke("costs")
        return {"messages": [model().invoke(joined(found))]}

    graph = in_turn(
        MessagesState, first_search, approve, second_search, checkpointer=InMemorySaver()
    )

    def ask(question: str) -> Any:
        graph.invoke(messages(question), THREAD)
        return graph.invoke(Command(resume="yes"), THREAD)

    return ask


@function(
    expects="timetable fares",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="documents",
)
def second_turn_of_a_thread() -> Any:
    """A thread keeps the documents of an earlier turn, until the node replaces them."""
    retriever = shelf(by_query={"What does a ticket cost?": "fares", QUESTION: "timetable cafe"})
    graph = in_turn(State, search_node(retriever), answer_node, checkpointer=InMemorySaver())

    def ask(question: str) -> Any:
        graph.invoke({"question": "What does a ticket cost?"}, THREAD)
        return graph.invoke({"question": question}, THREAD)

    return ask


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    designed={"spans": Stated("the span of a chain does not say that it retrieves")},
    output="documents",
    in_notes=True,
)
def cached_search() -> Any:
    """The node's result comes from a cache that an earlier run has filled."""
    graph = StateGraph(State)
    graph.add_node("retrieve", search_node(shelf("timetable cafe")), cache_policy=CachePolicy())
    graph.add_node("answer", answer_node)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "answer")
    app = graph.compile(cache=InMemoryCache())
    app.invoke({"question": QUESTION})

    def ask(question: str) -> Any:
        return app.invoke({"question": question})

    return ask


# Failures with a retry or a fallback


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("question"),
    output="documents",
)
def retried_node() -> Any:
    """The node's store fails once, and LangGraph runs the node again."""
    policy = RetryPolicy(initial_interval=0.0, jitter=False, max_attempts=2)
    graph = StateGraph(State)
    retrieve = search_node(shelf("timetable cafe", failures=1))
    graph.add_node("retrieve", retrieve, retry_policy=policy)
    graph.add_edge(START, "retrieve")
    return graph.compile()


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0},
    as_input=keyed("question"),
    output="documents",
    designed={
        "spans": Stated("spans do not tell that a retry or a fallback made up for a failure"),
        "stored": Stated("docs: a fallback that is not tagged in a stored run"),
        "stored output": Stated("docs: a fallback that is not tagged in a stored run"),
    },
)
def node_with_a_fallback() -> Any:
    """A node's runnable has a fallback to another store."""
    retriever = shelf("timetable", failures=9).with_fallbacks([shelf("cafe bicycles")])
    return in_turn(State, search_node(retriever), answer_node)


# The functional API


_MIXED_UP = (
    {"stored": "this version stores the number of one task with another that runs at once"}
    if version("langgraph").startswith("1.0.")
    else {}
)


@runnable(
    expects="timetable",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(1): 1.0},
    in_notes=True,
    skips=_MIXED_UP,
)
def parallel_tasks() -> Any:
    """Two tasks search at once; the second is faster, and the first keeps its place."""
    searched = Event()
    times, prices = shelf("timetable cafe"), shelf("bicycles dogs")

    @task
    def search_times(question: str) -> str:
        searched.wait(30)
        return joined(times.invoke(question))

    @task
    def search_prices(question: str) -> str:
        found = joined(prices.invoke(question))
        searched.set()
        return found

    @entrypoint()
    def workflow(question: str) -> str:
        waiting = [search_times(question), search_prices(question)]
        context = "\n\n".join(each.result() for each in waiting)
        return (PROMPT | model()).invoke({"context": context, "question": question}).text

    return workflow


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 3: 0.5, Recall @ 4: 1.0},
    output="documents",
)
def merged_tasks() -> Any:
    """A workflow adds the lists of two tasks, and returns them."""

    @task
    def search(query: str) -> list[Document]:
        return shelf(by_query=BY_QUERY).invoke(query)

    @entrypoint()
    def workflow(question: str) -> list[Document]:
        waiting = [search(each) for each in BY_QUERY]
        return [found for each in waiting for found in each.result()]

    return workflow


@function(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    output="documents",
    in_notes=True,
)
def functional_review() -> Any:
    """A workflow is interrupted for a review, and its finished task is not run again."""
    retriever = shelf("timetable bicycles")

    @task
    def retrieve(question: str) -> list[Document]:
        return retriever.invoke(question)

    @entrypoint(checkpointer=InMemorySaver())
    def workflow(inputs: dict[str, Any]) -> dict[str, Any]:
        found = retrieve(inputs["question"]).result()
        verdict = interrupt([each.id for each in found])
        return {"documents": found, "answer": f"{verdict}: {ANSWER}"}

    return _resumed(workflow, "good")
