"""Programs of tutorials, written before any try: executors, teams, and envelopes."""

from __future__ import annotations

import json
import operator
from typing import Annotated, Any

from langchain.agents.middleware import wrap_tool_call
from langchain_classic.agents import AgentExecutor, create_react_agent, create_tool_calling_agent
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool, tool
from langgraph.graph import START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel
from typing_extensions import TypedDict

from fullrecall.measures import Recall
from langchain_apps.agents import agent, hits
from langchain_apps.application import SYNC_ONLY, Stated, keyed, messages, runnable
from langchain_apps.parts import (
    ANSWER,
    PROMPT,
    Query,
    document,
    joined,
    model,
    search_tool,
    searches,
    shelf,
)

_TEXTS_ALONE = dict.fromkeys(
    ("strings", "function"), Stated("messages have texts, and no documents")
)


# Tools of agents


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0, Recall @ 2: 0.5},
    as_input=messages,
    output="messages",
)
def result_of_a_protocol() -> Any:
    """A tool returns a raw `CallToolResult` of MCP as a mapping, with JSON text in its block."""

    @tool(args_schema=Query)
    def search(query: str) -> dict[str, Any]:
        """Search the documents."""
        text = json.dumps({"documents": hits("cafe timetable")})
        return {"content": [{"type": "text", "text": text}], "isError": False}

    return agent([search], searches("boats"), ANSWER)


class Hit(BaseModel):
    """A hit of a search service."""

    id: str
    text: str
    score: float


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    as_input=messages,
    output="messages",
    designed=_TEXTS_ALONE,
)
def hits_of_a_typed_client() -> Any:
    """A tool returns objects of Pydantic; LangChain prints them into the message."""

    @tool(args_schema=Query)
    def search(query: str) -> list[Hit]:
        """Search the documents."""
        return [Hit(**each) for each in hits("bicycles timetable")]

    return agent([search], searches("boats"), ANSWER)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
    retrieved=1.0,
    skips=SYNC_ONLY,
)
def artifact_cut_by_middleware() -> Any:
    """A middleware keeps the better one of two documents, in the text and in the artifact."""

    @wrap_tool_call
    def best(request: Any, handler: Any) -> Any:
        result: ToolMessage = handler(request)
        kept = result.artifact[1:]
        return result.model_copy(update={"artifact": kept, "content": joined(kept)})

    return agent([search_tool("bicycles timetable")], searches("boats"), ANSWER, middleware=[best])


# Executors of langchain-classic

_TOOL_PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Help."), ("human", "{input}"), MessagesPlaceholder("agent_scratchpad")]
)


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    as_input=keyed("input"),
    read=1.0,
)
def executor_with_steps() -> Any:
    """An executor's model calls tools, and its output has the steps, with texts alone."""
    search = create_retriever_tool(
        shelf(by_query={"boats": "timetable cafe", "costs": "dogs bicycles"}), "search", "Search."
    )
    bot = create_tool_calling_agent(
        model(searches("boats"), searches("costs"), ANSWER), [search], _TOOL_PROMPT
    )
    return AgentExecutor(agent=bot, tools=[search], return_intermediate_steps=True)


_REACT = PromptTemplate.from_template(
    "Tools:\n{tools}\nNames: {tool_names}\nQuestion: {input}\n{agent_scratchpad}"
)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0, Recall @ 2: 0.5},
    as_input=keyed("input"),
    read=0.5,
)
def reacting_executor() -> Any:
    """An executor's model writes its calls as text."""
    search = create_retriever_tool(shelf("cafe timetable"), "search", "Search.")

    def says(said: list[BaseMessage]) -> str:
        if "Observation:" in said[-1].text:
            return f"I know.\nFinal Answer: {ANSWER}"
        return "I have to search.\nAction: search\nAction Input: boats"

    bot = create_react_agent(model(says), [search], _REACT, stop_sequence=False)
    return AgentExecutor(agent=bot, tools=[search])


# Retrievers of retrievers


# Chains


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 1 / 3},
    read=2 / 3,
)
def two_specialists() -> Any:
    """Two chains answer, each from its own search, and a third one joins their answers."""

    def specialist(found: str) -> Any:
        found_text = shelf(found) | RunnableLambda(joined)
        prompt = {"context": found_text, "question": RunnablePassthrough()} | PROMPT
        return prompt | model("An answer.") | StrOutputParser()

    final = ChatPromptTemplate.from_template("Join these:\n{boats}\n{costs}")
    both: Any = {"boats": specialist("timetable cafe"), "costs": specialist("dogs bicycles")}
    return both | final | model() | StrOutputParser()


_NEXT = {"timetable": "summer", "cafe": "luggage"}


@runnable(
    expects="timetable summer",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    output="documents",
)
def neighbors_of_chunks() -> Any:
    """Each retrieved document is followed by its neighbor from a document store."""

    def expand(found: list[Document]) -> list[Document]:
        return [each for hit in found for each in (hit, document(_NEXT[str(hit.id)]))]

    return shelf("timetable cafe") | RunnableLambda(expand)


# Graphs


class _Team(TypedDict, total=False):
    """The state of a team: the notes of all researchers."""

    question: str
    notes: Annotated[list[str], operator.add]
    answer: str


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 1.0, Recall @ 1: 2 / 3},
    as_input=keyed("question"),
)
def research_team() -> Any:
    """A lead sends topics to researchers, who are agents; a writer has their notes alone."""
    by_query = {"boats": "timetable cafe", "costs": "bicycles fares"}

    def research(state: Any) -> dict[str, Any]:
        bot = agent([search_tool(by_query=by_query)], searches(state["topic"]), "A note.")
        said = bot.invoke(messages(f"Research {state['topic']}"))
        return {"notes": [said["messages"][-1].text]}

    def write(state: Any) -> dict[str, Any]:
        return {"answer": model().invoke("\n".join(state["notes"])).text}

    def send(state: Any) -> list[Send]:
        return [Send("research", {"topic": topic}) for topic in by_query]

    graph = StateGraph(_Team)
    graph.add_node("research", research)
    graph.add_node("write", write)
    graph.add_conditional_edges(START, send, ["research"])
    graph.add_edge("research", "write")
    return graph.compile()
