"""Graphs of LangGraph that run tasks beside each other: queries, grades, branches, reports."""

from __future__ import annotations

import operator
from threading import Event
from typing import Annotated, Any

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langgraph.graph import START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from fullrecall.measures import Recall
from fullrecall.measures import calls as first
from langchain_apps.application import keyed, runnable
from langchain_apps.graphs import State, answer_node, in_turn, search_node
from langchain_apps.parts import PROMPT, joined, model, shelf


class _Gathered(TypedDict, total=False):
    """A state with documents that each branch adds to."""

    question: str
    queries: list[str]
    documents: Annotated[list[Document], operator.add]
    answer: str


BY_QUERY = {"boats": "timetable cafe", "costs": "cafe bicycles"}


def _plan(state: Any) -> dict[str, Any]:
    return {"queries": ["boats", "costs"]}


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 3: 0.5, Recall @ 4: 1.0},
    as_input=keyed("question"),
    output="documents",
    read=1.0,
    streams=True,
)
def sent_queries() -> Any:
    """`Send` searches for each query at once, and a reducer adds the lists in the order sent."""

    def send(state: Any) -> list[Send]:
        return [Send("search", {"query": each}) for each in state["queries"]]

    def search(state: Any) -> dict[str, Any]:
        return {"documents": shelf(by_query=BY_QUERY).invoke(state["query"])}

    graph = StateGraph(_Gathered)
    graph.add_node("plan", _plan)
    graph.add_node("search", search)
    graph.add_node("answer", answer_node)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", send, ["search"])
    graph.add_edge("search", "answer")
    return graph.compile()


def _graded_at_once(good: str, found: str = "timetable bicycles seals") -> Any:
    """Return a graph that sends each document to a grader of its own: only good ones come back."""

    def send(state: Any) -> list[Send]:
        documents = shelf(found).invoke(state["question"])
        return [Send("grade", {"document": each}) for each in documents]

    def grade(state: Any) -> dict[str, Any]:
        document = state["document"]
        return {"documents": [document] if document.id in good.split() else []}

    graph = StateGraph(_Gathered)
    graph.add_node("plan", _plan)
    graph.add_node("grade", grade)
    graph.add_node("answer", answer_node)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", send, ["grade"])
    graph.add_edge("grade", "answer")
    return graph.compile()


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ 2: 0.5},
    as_input=keyed("question"),
    output="documents",
    retrieved=1.0,
    read=0.5,
)
def graded_at_once() -> Any:
    """`Send` grades each document in a task of its own, and one of three is refused."""
    return _graded_at_once("timetable seals")


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("question"),
    output="documents",
    read=0.5,
)
def graded_alone() -> Any:
    """`Send` grades the only document in a task of its own, and it is good."""
    return _graded_at_once("timetable", "timetable")


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.0},
    as_input=keyed("question"),
    output="documents",
    retrieved=1.0,
    read=0.0,
)
def refused_at_once() -> Any:
    """`Send` grades each document in a task of its own, and all are refused."""
    return _graded_at_once("")


def _unique(known: list[Document], new: list[Document]) -> list[Document]:
    """Return both lists without duplicates, as the research template reduces them."""
    return list({each.id: each for each in [*known, *new]}.values())


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ first(1): 1.0},
    as_input=keyed("question"),
    read=1.0,
)
def map_reduce_reports() -> Any:
    """Each worker writes a report of its documents, and the reports are the final context.

    The first worker is slower, and still the first. The workers' models read the documents, and the
    last model reads the reports.
    """
    searched = Event()
    by_query = {"boats": "timetable bicycles", "costs": "dogs"}

    class Reports(TypedDict, total=False):
        """A state with the reports of all workers."""

        question: str
        queries: list[str]
        reports: Annotated[list[str], operator.add]
        answer: str

    def send(state: Any) -> list[Send]:
        return [Send("work", {"query": each}) for each in state["queries"]]

    def work(state: Any) -> dict[str, Any]:
        if state["query"] == "boats":
            searched.wait(30)
        found = shelf(by_query=by_query).invoke(state["query"])
        searched.set()
        report = model(f"A report on {len(found)} documents.") | StrOutputParser()
        return {"reports": [report.invoke(f"Report on {joined(found)}")]}

    def answer(state: Any) -> dict[str, Any]:
        said = (PROMPT | model()).invoke(
            {"context": "\n".join(state["reports"]), "question": state["question"]}
        )
        return {"answer": said.text}

    graph = StateGraph(Reports)
    for node in (_plan, work, answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "_plan")
    graph.add_conditional_edges("_plan", send, ["work"])
    graph.add_edge("work", "answer")
    return graph.compile()


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(1): 0.5},
    as_input=keyed("question"),
    streams=True,
)
def graphs_made_at_run_time() -> Any:
    """A node makes a graph for each sub-question as it goes, and keeps their answers."""

    class Answers(TypedDict, total=False):
        """A state with the answers to sub-questions."""

        question: str
        answers: list[str]
        answer: str

    def work(state: Any) -> dict[str, Any]:
        said = []
        for query, found in (("boats", "timetable cafe"), ("costs", "bicycles dogs")):
            made = in_turn(State, search_node(shelf(found), f"search_{query}"), answer_node)
            said.append(made.invoke({"question": query})["answer"])
        return {"answers": said}

    def answer(state: Any) -> dict[str, Any]:
        return {"answer": model().invoke("\n".join(state["answers"])).text}

    return in_turn(Answers, work, answer)
