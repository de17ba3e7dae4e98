"""Agents whose tools return JSON, mappings, lists, or text that the agent wrote itself."""

from __future__ import annotations

import json
from typing import Any

from langchain.agents.middleware import TodoListMiddleware
from langchain_core.tools import tool

from fullrecall.measures import Recall
from fullrecall.measures import calls as first
from langchain_apps.agents import agent, hits
from langchain_apps.application import messages, runnable
from langchain_apps.parts import ANSWER, QUESTION, TEXTS, Query, calls, search_tool, searches

# Tools that return JSON, mappings and lists: MCP and HTTP


def _json_agent(result: Any, name: str = "search") -> Any:
    def run(query: str) -> Any:
        return result(query) if callable(result) else result

    made = tool(name, description="Search the company's knowledge base.", args_schema=Query)(run)
    return agent([made], calls((name, {"query": "boats"})), ANSWER)


@runnable(
    expects="https://skerry.example/timetable https://skerry.example/bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0, Recall @ 2: 0.5},
    as_input=messages,
    options={"id_key": "url"},
    output="messages",
)
def web_search_results() -> Any:
    """A web search in Tavily's shape: URL, title, content and score, no ID."""
    found = [
        {
            "url": f"https://skerry.example/{name}",
            "title": name.title(),
            "content": TEXTS[name],
            "score": 0.9,
        }
        for name in ("cafe", "timetable")
    ]
    return _json_agent({"query": "boats", "answer": None, "images": [], "results": found})


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
)
def mcp_structured_content() -> Any:
    """An MCP server's structured content, which the adapter library makes the artifact."""

    @tool(args_schema=Query, response_format="content_and_artifact")
    def search(query: str) -> tuple[str, dict[str, Any]]:
        """Search the documents."""
        found = hits("timetable cafe", "content")
        return json.dumps({"result": found}), {"structured_content": {"result": found}}

    return agent([search], searches("boats"), ANSWER)


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 0.5, Recall @ 3: 1.0},
    as_input=messages,
    output="messages",
)
def matches_with_metadata() -> Any:
    """A vector database's answer: `matches` with `id` and `score`, the text in the metadata."""
    found = [
        {"id": name, "score": 0.8, "values": [], "metadata": {"text": TEXTS[name]}}
        for name in ("timetable", "cafe", "bicycles")
    ]
    return _json_agent({"matches": found, "namespace": "ferries"})


def _rows_of(answer: Any) -> Any:
    answer = json.loads(answer) if isinstance(answer, str) else answer
    pairs = zip(answer["ids"][0], answer["documents"][0], strict=True)
    return [{"id": name, "text": text} for name, text in pairs]


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 0.5, Recall @ 3: 1.0},
    as_input=messages,
    options={"tool_documents": {"search": _rows_of}},
    output="messages",
)
def columns_of_a_query() -> Any:
    """A vector database's client returns columns: IDs in one list, texts in another."""
    names = ["timetable", "cafe", "bicycles"]
    texts = [TEXTS[name] for name in names]
    return _json_agent({"ids": [names], "documents": [texts], "distances": [[0.1, 0.2, 0.3]]})


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.0, Recall @ 1: 0.0},
    as_input=messages,
    output="messages",
)
def json_without_hits() -> Any:
    """An HTTP tool returns its usual envelope with an empty list."""
    return _json_agent(json.dumps({"results": [], "total": 0}))


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ first(1): 1.0},
    as_input=messages,
    output="messages",
)
def search_then_fetch() -> Any:
    """A deep-research server: `search` returns IDs and titles, `fetch` one whole document."""

    @tool(args_schema=Query)
    def search(query: str) -> str:
        """Search; returns IDs."""
        found = [{"id": name, "title": name.title()} for name in ("cafe", "timetable", "bicycles")]
        return json.dumps({"results": found})

    @tool
    def fetch(id: str) -> str:  # noqa: A002 - so in OpenAI's specification
        """Fetch one document."""
        return json.dumps({"id": id, "title": id.title(), "text": TEXTS[id], "metadata": {}})

    script = [searches("boats"), calls(("fetch", {"id": "bicycles"})), ANSWER]
    return agent([search, fetch], *script)


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(1): 0.5},
    as_input=messages,
    output="messages",
)
def json_beside_documents() -> Any:
    """One tool returns an artifact of documents, another one JSON of an API."""

    @tool
    def prices(query: str) -> str:
        """Look prices up."""
        return json.dumps({"data": hits("bicycles fares")})

    script = [searches("boats"), calls(("prices", {"query": "bicycle"})), ANSWER]
    return agent([search_tool("timetable cafe"), prices], *script)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    options={"other_tools": ["account"]},
    output="messages",
)
def json_that_is_no_retrieval() -> Any:
    """A tool that is listed in `other_tools` returns the caller's account as JSON with an ID."""

    @tool
    def account() -> str:
        """Return the caller's account."""
        return json.dumps(
            {"id": "bicycles", "name": "Ada", "text": "A member since 2019, no debts."}
        )

    return agent(
        [search_tool("timetable cafe"), account], calls(("account", {})), searches("b"), ANSWER
    )


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    as_input=messages,
    output="messages",
)
def ticket_tool() -> Any:
    """A tool opens a ticket and returns its ID and status as JSON, which is not a search."""

    @tool
    def open_ticket(subject: str) -> str:
        """Open a ticket."""
        return json.dumps({"id": "T-17", "status": "open"})

    script = [calls(("open_ticket", {"subject": "Lost bicycle"})), searches("boats"), ANSWER]
    return agent([open_ticket, search_tool("timetable cafe")], *script)


@runnable(
    expects="timetable bicycles",
    right={},
    as_input=messages,
    output="messages",
    unscorable="a tool returned a long text that contains no known document",
)
def faq_that_repeats_the_question() -> Any:
    """An FAQ's answer repeats most words of the query, and counts as retrieved."""

    @tool(args_schema=Query)
    def faq(query: str) -> str:
        """Look a question up."""
        return f"Question: {query}\nAnswer: 16:10 from pier two."

    return agent([faq], calls(("faq", {"query": QUESTION})), ANSWER)


# Text that the agent wrote itself

_TODOS = [
    {"content": "Find the winter timetable of the ferry to Skerry", "status": "in_progress"},
    {"content": "Find what a bicycle costs on the ferry to Skerry", "status": "pending"},
]
_THOUGHT = (
    "I have the timetable of the ferry to Skerry; the price of a bicycle is missing, so that one "
    "more search for bicycles is needed before I answer."
)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    as_input=messages,
    output="messages",
    in_notes=True,
    streams=True,
)
def todo_list() -> Any:
    """The agent calls the middleware's `write_todos`, then searches."""
    script = [calls(("write_todos", {"todos": _TODOS})), searches("boats"), ANSWER]
    return agent([search_tool("timetable cafe")], *script, middleware=[TodoListMiddleware()])
