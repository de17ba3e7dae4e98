"""Graphs of LangGraph: one path, graders and routers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.prompts import PromptTemplate
from langchain_core.tools import create_retriever_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command
from pydantic import BaseModel
from typing_extensions import TypedDict

from fullrecall.measures import Recall
from fullrecall.measures import calls as first
from langchain_apps.application import Stated, keyed, messages, runnable
from langchain_apps.parts import PROMPT, QUESTION, TEXTS, joined, model, searches, shelf, structured

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    """The state of most RAG graphs."""

    question: str
    documents: list[Document]
    answer: str


def answer_node(state: Any) -> dict[str, Any]:
    """Answer from the documents in the state."""
    said = (PROMPT | model()).invoke(
        {"context": joined(state["documents"]), "question": state["question"]}
    )
    return {"answer": said.text}


def in_turn(schema: Any, *nodes: Any, **options: Any) -> Any:
    """Return a graph of nodes, one after another."""
    graph = StateGraph(schema)
    graph.add_sequence(list(nodes))
    graph.add_edge(START, nodes[0].__name__)
    return graph.compile(**options)


def search_node(retriever: Any, name: str = "retrieve") -> Any:
    """Return a node of this name that puts documents into the state."""

    def retrieve(state: Any) -> dict[str, Any]:
        return {"documents": retriever.invoke(state["question"])}

    retrieve.__name__ = name
    return retrieve


# One path


class _Best(BaseModel):
    """The numbers of the best documents."""

    numbers: list[int]


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("question"),
    output="documents",
    retrieved=1.0,
    read=0.5,
)
def reranked_by_a_model() -> Any:
    """A node asks a model for the numbers of the best documents, and keeps these."""

    def rerank(state: Any) -> dict[str, Any]:
        prompt = PromptTemplate.from_template("Rank: {texts}")
        chosen = prompt | model(structured(_Best(numbers=[2, 0]))).with_structured_output(_Best)
        best = chosen.invoke({"texts": joined(state["documents"])})
        return {"documents": [state["documents"][number] for number in best.numbers]}

    return in_turn(State, search_node(shelf("cafe bicycles timetable")), rerank, answer_node)


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    as_input=keyed("question"),
    read=1.0,
    streams=True,
)
def private_documents() -> Any:
    """The output schema has the answer alone: documents stay inside the graph."""

    class Out(TypedDict):
        """The output for callers, without documents."""

        answer: str

    class In(TypedDict):
        """The input from callers."""

        question: str

    graph = StateGraph(State, input_schema=In, output_schema=Out)
    graph.add_sequence([search_node(shelf("timetable bicycles")), answer_node])
    graph.add_edge(START, "retrieve")
    return graph.compile()


@dataclass
class _Fields:
    """A state as a dataclass."""

    question: str
    documents: list[Document] = field(default_factory=list)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("question"),
    output="documents",
)
def dataclass_state() -> Any:
    """The state is a dataclass."""

    def retrieve(state: _Fields) -> dict[str, Any]:
        return {"documents": shelf("timetable cafe").invoke(state.question)}

    return in_turn(_Fields, retrieve)


class _Model(BaseModel):
    """A state as a model of Pydantic's."""

    question: str
    hits: list[dict[str, Any]] = []


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    as_input=keyed("question"),
    output="documents",
    in_notes=True,
)
def hits_in_a_pydantic_state() -> Any:
    """The state is a model of Pydantic's, and holds hits: documents with their scores."""

    def retrieve(state: _Model) -> dict[str, Any]:
        found = shelf("timetable bicycles").invoke(state.question)
        return {"hits": [{"document": each, "score": 0.5} for each in found]}

    return in_turn(_Model, retrieve)


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    as_input=keyed("question"),
    output="documents",
    read=1.0,
)
def ids_and_context() -> Any:
    """The state keeps IDs in one list and a joined text: the documents themselves are gone."""

    class Slim(TypedDict, total=False):
        """A state without documents."""

        question: str
        retrieved_ids: list[str]
        context: str
        answer: str

    def retrieve(state: Any) -> dict[str, Any]:
        found = shelf("timetable bicycles").invoke(state["question"])
        return {"retrieved_ids": [str(each.id) for each in found], "context": joined(found)}

    def answer(state: Any) -> dict[str, Any]:
        said = (PROMPT | model()).invoke(
            {"context": state["context"], "question": state["question"]}
        )
        return {"answer": said.text}

    return in_turn(Slim, retrieve, answer)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("question"),
    output="documents",
)
def command_with_documents() -> Any:
    """A node returns a `Command` that writes documents and says where to go."""

    def retrieve(state: Any) -> Command[Any]:
        found = shelf("timetable cafe").invoke(state["question"])
        return Command(update={"documents": found}, goto="answer")

    graph = StateGraph(State)
    graph.add_node("retrieve", retrieve, destinations=("answer",))
    graph.add_node("answer", answer_node)
    graph.add_edge(START, "retrieve")
    return graph.compile()


# Graders, rewriters and routers


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0},
    as_input=keyed("question"),
    output="documents",
)
def corrective_rag_with_joined_results() -> Any:
    """The web search's results are joined into one new document, as in the notebook."""

    def web_search(state: Any) -> dict[str, Any]:
        found = shelf("cafe dogs").invoke("price of a bicycle")
        return {"documents": [Document(joined(found)), *state["documents"]]}

    return in_turn(State, search_node(shelf("timetable")), web_search, answer_node)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("question"),
    output="documents",
    retrieved=0.5,
)
def self_rag() -> Any:
    """The answer is not grounded, so the query is rewritten and searched again (Self-RAG).

    The second list takes the place of the first, which had bicycles.
    """

    class Rewritten(State, total=False):
        """A state with the query of the next search."""

        query: str

    retriever = shelf(by_query={QUESTION: "cafe dogs", "winter ferry": "timetable delays"})

    def retrieve(state: Any) -> dict[str, Any]:
        return {"documents": retriever.invoke(state.get("query", state["question"]))}

    def rewrite(state: Any) -> dict[str, Any]:
        return {"query": model("winter ferry").invoke(state["question"]).text}

    def is_grounded(state: Any) -> str:
        return END if "query" in state else "rewrite"

    graph = StateGraph(Rewritten)
    graph.add_node("retrieve", retrieve)
    graph.add_node("generate", answer_node)
    graph.add_node("rewrite", rewrite)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_conditional_edges("generate", is_grounded, ["rewrite", END])
    graph.add_edge("rewrite", "retrieve")
    return graph.compile()


class _Route(BaseModel):
    """A model's choice of the place to search."""

    source: Literal["handbook", "web", "none"]


def _adaptive(source: Literal["handbook", "web", "none"]) -> Any:
    def route(state: Any) -> str:
        router = model(structured(_Route(source=source))).with_structured_output(_Route)
        return str(router.invoke(state["question"]).source)

    def from_memory(state: Any) -> dict[str, Any]:
        return {"answer": model().invoke(state["question"]).text}

    graph = StateGraph(State)
    graph.add_node("handbook", search_node(shelf("timetable cafe")))
    graph.add_node("web", search_node(shelf("dogs bicycles")))
    graph.add_node("none", from_memory)
    graph.add_node("answer", answer_node)
    graph.add_conditional_edges(START, route, ["handbook", "web", "none"])
    graph.add_edge("handbook", "answer")
    graph.add_edge("web", "answer")
    return graph.compile()


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0},
    as_input=keyed("question"),
    output="documents",
)
def adaptive_rag() -> Any:
    """A router sends the question to the web."""
    return _adaptive("web")


@runnable(
    expects="timetable bicycles",
    right={},
    as_input=keyed("question"),
    output="documents",
    unscorable="the router decides against a search",
)
def adaptive_rag_without_search() -> Any:
    """A router lets the model answer by itself."""
    return _adaptive("none")


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.0, Recall @ first(2): 0.5},
    as_input=messages,
    designed=dict.fromkeys(
        ("strings", "function"), Stated("the tool's messages have texts, and no documents")
    ),
    output="messages",
    in_notes=True,
    streams=True,
)
def agentic_rag() -> Any:
    """The agentic tutorial: search, grade, rewrite the question as a user's message, search."""
    retriever = shelf(by_query={"boats": "cafe", "winter boats": "timetable"})
    search = create_retriever_tool(retriever, "search", "Search the documents.")

    def respond(state: MessagesState) -> dict[str, Any]:
        query = "boats" if len(state["messages"]) == 1 else "winter boats"
        return {"messages": [model(searches(query)).invoke(state["messages"])]}

    def grade(state: MessagesState) -> str:
        return "answer" if TEXTS["timetable"] in state["messages"][-1].text else "rewrite"

    def rewrite(state: MessagesState) -> dict[str, Any]:
        said = model("When does the last winter boat leave?").invoke(state["messages"])
        return {"messages": [HumanMessage(said.text)]}

    def answer(state: MessagesState) -> dict[str, Any]:
        said = (PROMPT | model()).invoke(
            {"context": state["messages"][-1].text, "question": state["messages"][0].text}
        )
        return {"messages": [said]}

    graph = StateGraph(MessagesState)
    graph.add_node("respond", respond)
    graph.add_node("search", ToolNode([search]))
    graph.add_node("rewrite", rewrite)
    graph.add_node("answer", answer)
    graph.add_edge(START, "respond")
    graph.add_conditional_edges("respond", tools_condition, {"tools": "search", END: END})
    graph.add_conditional_edges("search", grade, ["answer", "rewrite"])
    graph.add_edge("rewrite", "respond")
    return graph.compile()
