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
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 1 / 3, Recall @ 3: 2 / 3},
    as_input=keyed("question"),
    output="documents",
    read=2 / 3,
    streams=True,
)
def research_subgraph() -> Any:
    """A researcher's subgraph fans out, and a reducer drops duplicates (the research template)."""

    class Research(TypedDict, total=False):
        """The researcher's state."""

        question: str
        queries: list[str]
        documents: Annotated[list[Document], _unique]

    class Whole(TypedDict, total=False):
        """The state of the outer graph."""

        question: str
        documents: Annotated[list[Document], _unique]
        answer: str

    def send(state: Any) -> list[Send]:
        return [Send("search", {"query": each}) for each in state["queries"]]

    def search(state: Any) -> dict[str, Any]:
        return {"documents": shelf(by_query=BY_QUERY).invoke(state["query"])}

    inner = StateGraph(Research)
    inner.add_node("plan", _plan)
    inner.add_node("search", search)
    inner.add_edge(START, "plan")
    inner.add_conditional_edges("plan", send, ["search"])
    graph = StateGraph(Whole)
    graph.add_node("research", inner.compile())
    graph.add_node("answer", answer_node)
    graph.add_edge(START, "research")
    graph.add_edge("research", "answer")
    return graph.compile()


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 0.5, Recall @ 3: 1.0},
    as_input=keyed("question"),
    output="documents",
    read=1.0,
    streams=True,
)
def fused_branches() -> Any:
    """Two nodes search at once; a third node fuses their lists by rank.

    cafe is second in one and first in the other; timetable and bicycles follow.
    """

    class Branches(State, total=False):
        """A state with the list of each branch."""

        words: list[Document]
        vectors: list[Document]

    def by_words(state: Any) -> dict[str, Any]:
        return {"words": shelf("timetable cafe").invoke(state["question"])}

    def by_vectors(state: Any) -> dict[str, Any]:
        return {"vectors": shelf("cafe bicycles").invoke(state["question"])}

    def fuse(state: Any) -> dict[str, Any]:
        scores: dict[str, float] = {}
        known: dict[str, Document] = {}
        for found in (state["words"], state["vectors"]):
            for rank, each in enumerate(found, start=1):
                known[str(each.id)] = each
                scores[str(each.id)] = scores.get(str(each.id), 0.0) + 1 / (60 + rank)
        return {"documents": [known[each] for each in sorted(scores, key=lambda n: -scores[n])]}

    graph = StateGraph(Branches)
    for node in (by_words, by_vectors, fuse, answer_node):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "by_words")
    graph.add_edge(START, "by_vectors")
    graph.add_edge(["by_words", "by_vectors"], "fuse")
    graph.add_edge("fuse", "answer_node")
    return graph.compile()


@runnable(
    expects="timetable bicycles cafe",
    right={Recall: 1.0, Recall @ 1: 2 / 3},
    as_input=keyed("question"),
    output="documents",
    read=1.0,
)
def two_contexts() -> Any:
    """Two nodes search at once, and one prompt has both lists, without a merge."""

    class Two(TypedDict, total=False):
        """A state with two lists."""

        question: str
        times: list[Document]
        prices: list[Document]
        answer: str

    def times(state: Any) -> dict[str, Any]:
        return {"times": shelf("timetable cafe").invoke(state["question"])}

    def prices(state: Any) -> dict[str, Any]:
        return {"prices": shelf("bicycles fares").invoke(state["question"])}

    def answer(state: Any) -> dict[str, Any]:
        context = f"Times:\n{joined(state['times'])}\n\nPrices:\n{joined(state['prices'])}"
        said = (PROMPT | model()).invoke({"context": context, "question": state["question"]})
        return {"answer": said.text}

    graph = StateGraph(Two)
    for node in (times, prices, answer):
        graph.add_node(f"node_{node.__name__}", node)
    graph.add_edge(START, "node_times")
    graph.add_edge(START, "node_prices")
    graph.add_edge(["node_times", "node_prices"], "node_answer")
    return graph.compile()


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
