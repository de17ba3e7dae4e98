"""Programs of tutorials, written before any try: executors, teams, and envelopes."""

from __future__ import annotations

import json
from typing import Any

from langchain.agents.middleware import wrap_tool_call
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool, tool
from pydantic import BaseModel

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
