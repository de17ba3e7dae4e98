"""Agents of `create_agent`, with their tools and middleware."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from threading import Event
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelRequest,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
    before_model,
    dynamic_prompt,
    wrap_tool_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException, create_retriever_tool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command
from pydantic import BaseModel

from fullrecall.measures import Recall
from fullrecall.measures import calls as first
from langchain_apps.application import (
    SYNC_ONLY,
    Stated,
    function,
    messages,
    of_the_answer,
    runnable,
)
from langchain_apps.parts import (
    ANSWER,
    QUESTION,
    TEXTS,
    Query,
    calls,
    documents,
    joined,
    model,
    search_tool,
    searches,
    shelf,
    store,
)

THREAD: Any = {"configurable": {"thread_id": "1"}}


_NEVER_RAN = dict.fromkeys(
    ("strings", "function"),
    Stated("messages do not tell a call that never ran from one that failed"),
)


def agent(tools: Sequence[BaseTool], *script: Any, **options: Any) -> Any:
    """Return an agent whose model follows a script."""
    return create_agent(model(*script), list(tools), **options)


def hits(names: str, text: str = "text") -> list[dict[str, Any]]:
    """Return documents as an API returns them: mappings with an ID, a text and a score."""
    return [
        {"id": name, text: TEXTS[name], "score": round(1 / rank, 2)}
        for rank, name in enumerate(names.split(), start=1)
    ]


# Tools that return documents


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0, Recall @ 2: 0.5},
    as_input=messages,
    designed=dict.fromkeys(
        ("strings", "function"), Stated("the tool's message has texts, and no documents")
    ),
    output="messages",
    read=0.5,
    batches=True,
    streams=True,
)
def retriever_tool() -> Any:
    """`create_retriever_tool`, whose message has texts alone."""
    search = create_retriever_tool(shelf("cafe timetable"), "search", "Search the documents.")
    return agent([search], lambda said: ANSWER if _answered(said) else searches("boats"))


def _answered(said: list[BaseMessage]) -> bool:
    return isinstance(said[-1], ToolMessage)


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 1.0, Recall @ 1: 2 / 3, Recall @ first(1): 2 / 3, Recall @ first(2): 1.0},
    as_input=messages,
    output="messages",
    read=1.0,
    streams=True,
)
def two_searches() -> Any:
    """The tutorial's RAG agent, whose tool has an artifact, searches twice."""
    search = search_tool(by_query={"boats": "timetable fares", "costs": "bicycles dogs"})
    return agent([search], searches("boats"), searches("costs"), ANSWER)


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 1.0, Recall @ 1: 1 / 3},
    as_input=messages,
    output="messages",
    read=1.0,
    streams=True,
)
def searches_at_once() -> Any:
    """The model calls the tool twice in one message."""
    search = search_tool(by_query={"boats": "timetable fares", "costs": "dogs bicycles"})
    return agent([search], searches("boats", "costs"), ANSWER)


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 1.0, Recall @ 1: 1 / 3, Recall @ first(1): 2 / 3},
    as_input=messages,
    output="messages",
    skips=SYNC_ONLY,
)
def slow_first_search() -> Any:
    """A middleware delays the first of two parallel calls: the order is that of the message."""
    ended = Event()

    @wrap_tool_call
    def waiting(request: Any, handler: Any) -> Any:
        if request.tool_call["args"]["query"] == "boats":
            ended.wait(30)
        result = handler(request)
        ended.set()
        return result

    search = search_tool(by_query={"boats": "timetable fares", "costs": "dogs bicycles"})
    return agent([search], searches("boats", "costs"), ANSWER, middleware=[waiting])


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.0, Recall @ first(2): 0.5},
    as_input=messages,
    output="messages",
)
def empty_then_found() -> Any:
    """The first search returns an empty list, and counts as a call all the same."""
    search = search_tool(by_query={"ferries": "", "boats": "timetable cafe"})
    return agent([search], searches("ferries"), searches("boats"), ANSWER)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.0, Recall @ 1: 0.0},
    as_input=messages,
    output="messages",
)
def nothing_found_by_a_tool() -> Any:
    """The only search returns an empty list as its artifact."""
    return agent([search_tool("")], searches("ferries"), "I do not know.")


@runnable(
    expects="timetable bicycles",
    right={},
    as_input=messages,
    output="messages",
    unscorable="the agent answers without a search",
)
def no_search() -> Any:
    """The model answers from its own memory."""
    return agent([search_tool("timetable")], ANSWER)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
)
def documents_as_content() -> Any:
    """The tool returns the store's documents unchanged; LangChain prints them into the message.

    No retriever fires an event, and no artifact is made.
    """
    ranked = store("timetable cafe bicycles")

    @tool(args_schema=Query)
    def search(query: str) -> list[Document]:
        """Search the documents."""
        return ranked.similarity_search(query, k=2)

    return agent([search], searches("boats"), ANSWER)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
    read=0.5,
    designed=dict.fromkeys(
        ("strings", "function"), Stated("documents are printed into the message's text")
    ),
)
def retrieved_documents_as_content() -> Any:
    """A tool returns a retriever's documents as its content; the retriever's event has them."""
    retriever = shelf("timetable cafe")

    @tool(args_schema=Query)
    def search(query: str) -> list[Document]:
        """Search the documents."""
        return retriever.invoke(query)

    return agent([search], searches("boats"), ANSWER)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
    designed=dict.fromkeys(
        ("strings", "function"), Stated("documents are printed into the message's text")
    ),
)
def content_and_artifact_swapped() -> Any:
    """A tool returns documents as the content and the text as the artifact, by mistake."""
    retriever = shelf("timetable cafe")

    @tool(args_schema=Query, response_format="content_and_artifact")
    def search(query: str) -> tuple[list[Document], str]:
        """Search the documents."""
        found = retriever.invoke(query)
        return found, joined(found)

    return agent([search], searches("boats"), ANSWER)


# Tools that return JSON, mappings and lists: MCP and HTTP


def _json_agent(result: Any, name: str = "search") -> Any:
    def run(query: str) -> Any:
        return result(query) if callable(result) else result

    made = tool(name, description="Search the company's knowledge base.", args_schema=Query)(run)
    return agent([made], calls((name, {"query": "boats"})), ANSWER)


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 0.5},
    as_input=messages,
    output="messages",
    in_notes=True,
    streams=True,
)
def json_list_of_hits() -> Any:
    """A tool returns JSON text: a list of objects with `id` and `text`."""
    return _json_agent(json.dumps(hits("timetable cafe bicycles")))


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 0.5},
    as_input=messages,
    output="messages",
    in_notes=True,
)
def dict_with_results() -> Any:
    """A tool returns a mapping with `results`, each with `id` and `content`."""
    results = hits("cafe timetable bicycles", "content")
    return _json_agent({"query": "boats", "results": results, "took": 3})


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    as_input=messages,
    output="messages",
    in_notes=True,
)
def list_of_dicts() -> Any:
    """A tool returns a list of mappings with `id` and `page_content`."""
    return _json_agent(hits("bicycles timetable", "page_content"))


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
def mcp_text_block() -> Any:
    """An MCP server's tool: the message's content is a block of text that holds JSON."""

    @tool(args_schema=Query, response_format="content_and_artifact")
    def search(query: str) -> tuple[list[dict[str, Any]], None]:
        """Search the documents."""
        return [{"type": "text", "text": json.dumps({"documents": hits("timetable cafe")})}], None

    return agent([search], searches("boats"), ANSWER)


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    as_input=messages,
    output="messages",
)
def mcp_block_for_each_hit() -> Any:
    """An MCP server that returns a list: one block of JSON text for each of its items."""

    @tool(args_schema=Query, response_format="content_and_artifact")
    def search(query: str) -> tuple[list[dict[str, Any]], None]:
        """Search the documents."""
        return [
            {"type": "text", "text": json.dumps(hit)} for hit in hits("bicycles timetable")
        ], None

    return agent([search], searches("boats"), ANSWER)


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


def _source_of(answer: Any) -> Any:
    answer = json.loads(answer) if isinstance(answer, str) else answer
    return [{"id": hit["_id"], "text": hit["_source"]["body"]} for hit in answer["hits"]["hits"]]


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0, Recall @ 2: 0.5},
    as_input=messages,
    options={"tool_documents": {"search": _source_of}},
    output="messages",
    in_notes=True,
)
def elasticsearch_answer() -> Any:
    """A tool returns Elasticsearch's form, which the user's function reads: `tool_documents`."""
    found = [
        {"_id": name, "_score": 3.1, "_source": {"body": TEXTS[name]}}
        for name in ("cafe", "timetable")
    ]
    return _json_agent({"took": 4, "hits": {"total": {"value": 2}, "hits": found}})


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


@runnable(
    expects="timetable bicycles",
    right={},
    as_input=messages,
    output="messages",
    unscorable="a tool returned a long text that contains no known document",
)
def prose_of_a_database() -> Any:
    """A tool returns rows of a database as prose that names no document."""
    rows = "The crossings table has 214 rows; the last one of December 12 is at 16:10, platform B."
    return _json_agent(rows, "query_database")


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    options={"other_tools": ["forecast"]},
    output="messages",
    skips={"spans": "spans have no such option"},
)
def weather_tool() -> Any:
    """A forecast is a long text; the user lists its tool among those that do not retrieve."""

    @tool
    def forecast(city: str) -> str:
        """Return the forecast."""
        return f"In {city} it will be cold tomorrow, with rain in the morning and a fresh breeze."

    script = [calls(("forecast", {"city": "Holm"})), searches("boats"), ANSWER]
    return agent([forecast, search_tool("timetable cafe")], *script)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
)
def calculator() -> Any:
    """One tool returns a number, and another one searches."""

    @tool
    def add(first: float, second: float) -> float:
        """Add two numbers."""
        return first + second

    script = [searches("boats"), calls(("add", {"first": 11, "second": 3})), ANSWER]
    return agent([add, search_tool("timetable cafe")], *script)


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


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(2): 1.0},
    as_input=messages,
    output="messages",
    in_notes=True,
)
def think_tool() -> Any:
    """A tool that says a thought back, between two searches."""

    @tool
    def think(reflection: str) -> str:
        """Reflect on the facts found so far."""
        return f"Reflection recorded: {reflection}"

    search = search_tool(by_query={"boats": "timetable cafe", "bicycles": "bicycles"})
    script = [
        searches("boats"),
        calls(("think", {"reflection": _THOUGHT})),
        searches("bicycles"),
        ANSWER,
    ]
    return agent([search, think], *script)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    as_input=messages,
    output="messages",
    in_notes=True,
)
def notes_in_files() -> Any:
    """A deep agent writes notes into a file of its own, and reads them again."""
    files: dict[str, str] = {}

    @tool
    def write_file(path: str, content: str) -> str:
        """Write a file."""
        files[path] = content
        return f"Updated file {path}"

    @tool
    def read_file(path: str) -> str:
        """Read a file, with line numbers."""
        lines = files[path].splitlines()
        return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, start=1))

    script = [
        searches("boats"),
        calls(("write_file", {"path": "/notes.md", "content": _THOUGHT})),
        calls(("read_file", {"path": "/notes.md"})),
        ANSWER,
    ]
    return agent([search_tool("timetable cafe"), write_file, read_file], *script)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    as_input=messages,
    output="messages",
)
def found_text_in_files() -> Any:
    """The agent copies a found text into a file and reads it again."""
    files: dict[str, str] = {}

    @tool
    def write_file(path: str, content: str) -> str:
        """Write a file."""
        files[path] = content
        return f"Updated file {path}"

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return files[path]

    script = [
        searches("boats"),
        calls(("write_file", {"path": "/found.md", "content": TEXTS["timetable"]})),
        calls(("read_file", {"path": "/found.md"})),
        ANSWER,
    ]
    return agent([search_tool("timetable cafe"), write_file, read_file], *script)


class _Reply(BaseModel):
    """A structured reply."""

    departure: str
    bicycle: str


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    as_input=messages,
    output="messages",
    in_notes=True,
)
def structured_response() -> Any:
    """The answer is a call of a tool that LangChain adds for the response's schema."""
    reply = {
        "departure": "The last boat leaves at ten past four on every winter day.",
        "bicycle": "A bicycle costs three crowns, and stands on deck.",
    }
    return agent(
        [search_tool("timetable cafe")],
        searches("boats"),
        calls(("_Reply", reply)),
        response_format=ToolStrategy(_Reply),
    )


# Several agents


def _expert(name: str, found: str, answer: str) -> BaseTool:
    inner = agent([search_tool(found)], searches("all"), answer)

    @tool(name, description=f"Ask the expert of {name}.")
    def ask(question: str) -> str:
        state = inner.invoke(messages(question))
        return str(state["messages"][-1].text)

    return ask


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 2 / 3},
    as_input=messages,
    designed=dict.fromkeys(
        ("strings", "function"), Stated("the experts' searches are not in the supervisor's state")
    ),
    output="messages",
    in_notes=True,
    streams=True,
)
def supervisor() -> Any:
    """Experts are agents behind tools, and return the text of their answers."""
    experts = [
        _expert(
            "times",
            "timetable cafe",
            "In winter the last departure is at ten past four, from Holm.",
        ),
        _expert(
            "prices", "bicycles dogs", "The carriage of one bicycle is charged with three crowns."
        ),
    ]
    script = [
        calls(("times", {"question": "When?"})),
        calls(("prices", {"question": "How much?"})),
        ANSWER,
    ]
    return agent(experts, *script)


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


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(1): 0.5, Recall @ first(2): 1.0},
    as_input=messages,
    output="messages",
    streams=True,
)
def handoff_by_hand() -> Any:
    """One agent hands over to another by the tutorial's own tool, which has no mark."""
    return _swarm(marked=False)


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(2): 1.0},
    as_input=messages,
    output="messages",
    in_notes=True,
)
def handover_message() -> Any:
    """A node writes the next agent's task as a user's message, and the turn began before that."""
    first_agent = agent([search_tool("timetable cafe")], searches("boats"), "At ten past four.")
    second_agent = agent([search_tool("bicycles dogs")], searches("costs"), ANSWER)

    def handover(state: MessagesState) -> dict[str, Any]:
        return {"messages": [HumanMessage("Now find the price of a bicycle.", name="planner")]}

    graph = StateGraph(MessagesState)
    graph.add_node("times", first_agent)
    graph.add_node("handover", handover)
    graph.add_node("prices", second_agent)
    graph.add_edge(START, "times")
    graph.add_edge("times", "handover")
    graph.add_edge("handover", "prices")
    return graph.compile()


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
    right={Recall: 0.5, Recall @ 1: 0.0},
    output="messages",
)
def search_that_is_edited() -> Any:
    """The human changes the query before the search runs."""
    edited = {"name": "search", "args": {"query": "cost of a bicycle"}}
    decision = {"type": "edit", "edited_action": edited}
    search = search_tool(by_query={"boats": "timetable", "cost of a bicycle": "fares bicycles"})
    return _reviewed([decision], search, searches("boats"), ANSWER)


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    designed=_NEVER_RAN,
    output="messages",
)
def search_that_is_rejected() -> Any:
    """The human rejects the first search, which never runs, and approves the second."""
    search = search_tool(by_query={"everything": "cafe dogs", "boats": "timetable"})
    decisions = [{"type": "reject", "message": "Too broad."}, {"type": "approve"}]
    return _reviewed(decisions, search, searches("everything"), searches("boats"), ANSWER)


# Middleware


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 2 / 3, Recall @ first(1): 1 / 3},
    as_input=messages,
    output="messages",
    in_notes=True,
    designed=dict.fromkeys(
        ("strings", "function"), Stated("the first search was summarized out of the state")
    ),
    streams=True,
)
def summarization() -> Any:
    """Earlier messages are replaced by a summary between two searches."""
    search = search_tool(by_query={"boats": "timetable cafe", "costs": "bicycles dogs"})
    shorter = SummarizationMiddleware(
        model("The last boat leaves at ten past four."),
        trigger=("messages", 4),
        keep=("messages", 1),
    )
    return agent([search], searches("boats"), searches("costs"), ANSWER, middleware=[shorter])


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(1): 0.5},
    as_input=messages,
    output="messages",
)
def cleared_tool_results() -> Any:
    """Older tool results are cleared from the prompt, and stay in the state."""
    search = search_tool(by_query={"boats": "timetable cafe", "costs": "bicycles dogs"})
    edit = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1)])
    return agent([search], searches("boats"), searches("costs"), ANSWER, middleware=[edit])


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.5},
    as_input=messages,
    designed=_NEVER_RAN,
    output="messages",
)
def limited_searches() -> Any:
    """The second search is over the limit, and does not run."""
    search = search_tool(by_query={"boats": "timetable cafe", "costs": "bicycles"})
    limit = ToolCallLimitMiddleware(tool_name="search", run_limit=1)
    return agent([search], searches("boats"), searches("costs"), ANSWER, middleware=[limit])


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
)
def retried_tool() -> Any:
    """The tool's store fails once; the middleware calls the tool again."""
    retriever = shelf("timetable cafe", failures=1)

    @tool(args_schema=Query, response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search the documents."""
        found = retriever.invoke(query)
        return joined(found), found

    retry = ToolRetryMiddleware(initial_delay=0.0, backoff_factor=0.0, jitter=False)
    return agent([search], searches("boats"), ANSWER, middleware=[retry])


def _failing() -> Any:
    answers = iter([None, "timetable cafe"])

    @tool(args_schema=Query, response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search the documents."""
        names = next(answers)
        if names is None:
            raise ToolException("The index is being rebuilt; try another query.")
        return joined(documents(names)), documents(names)

    search.handle_tool_error = True
    return agent([search], searches("boats"), searches("ferries"), ANSWER)


@runnable(
    expects="timetable bicycles",
    right={},
    as_input=messages,
    output="messages",
    unscorable="docs: a call that failed leaves the sample unscored",
)
def failed_search() -> Any:
    """The tool reports a failure, and the model searches for something else."""
    return _failing()


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5, Recall @ first(1): 0.0, Recall @ first(2): 0.5},
    as_input=messages,
    options={"failed_calls": "score"},
    output="messages",
)
def failed_search_that_is_scored() -> Any:
    """The agent searches again after a failed call, and the user scores the other calls."""
    return _failing()


@runnable(
    expects="timetable bicycles",
    right={},
    as_input=messages,
    output="messages",
    unscorable="`similarity_search` goes straight into the system prompt",
    skips=SYNC_ONLY,
)
def dynamic_prompt_search() -> Any:
    """The tutorial's two-step chain: a middleware puts documents into the system prompt."""
    ranked = store("timetable cafe bicycles")

    @dynamic_prompt
    def with_context(request: ModelRequest[Any]) -> str:
        found = ranked.similarity_search(request.state["messages"][-1].text, k=2)
        return f"Answer from this:\n\n{joined(found)}"

    return agent([], ANSWER, middleware=[with_context])


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    designed=dict.fromkeys(
        ("strings", "function"), Stated("the state has no message with documents")
    ),
    output="messages",
    read=0.5,
    skips=SYNC_ONLY,
)
def dynamic_prompt_retriever() -> Any:
    """The tutorial's two-step chain with a retriever, whose event has the documents."""
    retriever = shelf("timetable cafe")

    @dynamic_prompt
    def with_context(request: ModelRequest[Any]) -> str:
        found = retriever.invoke(request.state["messages"][-1].text)
        return f"Answer from this:\n\n{joined(found)}"

    return agent([], ANSWER, middleware=[with_context])


class _WithContext(AgentState[Any]):
    context: list[Document]


class _Retrieving(AgentMiddleware[_WithContext, None]):
    """A middleware that searches before the model, and extends the question by the documents."""

    state_schema = _WithContext

    def before_model(self, state: _WithContext, runtime: Any) -> dict[str, Any]:
        """Search for the last message."""
        last = state["messages"][-1]
        found = store("timetable cafe bicycles").similarity_search(last.text, k=2)
        text = f"{last.text}\n\nAnswer from this:\n{joined(found)}"
        return {"messages": [last.model_copy(update={"content": text})], "context": found}


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    designed={"spans": Stated("the span of a chain does not say that it retrieves")},
    output="documents",
    read=0.5,
)
def documents_in_the_state() -> Any:
    """A middleware's `similarity_search` goes into the state, as `context`: no event is fired."""
    return agent([], ANSWER, middleware=[_Retrieving()])


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ first(2): 1.0},
    as_input=messages,
    output="messages",
)
def reminder_message() -> Any:
    """A middleware adds a user's message before the model, and the turn began before that."""

    @before_model
    def remind(state: AgentState[Any], runtime: Any) -> dict[str, Any] | None:
        if isinstance(state["messages"][-1], ToolMessage):
            return {"messages": [HumanMessage("Remember to cite your sources.")]}
        return None

    search = search_tool(by_query={"boats": "timetable cafe", "costs": "bicycles dogs"})
    return agent([search], searches("boats"), searches("costs"), ANSWER, middleware=[remind])


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=messages,
    output="messages",
)
def search_from_the_state() -> Any:
    """The tool reads the agent's state, and searches for the last question itself."""

    @tool(response_format="content_and_artifact")
    def search(state: Annotated[Any, InjectedState]) -> tuple[str, list[Document]]:
        """Search for the user's question."""
        found = shelf(by_query={QUESTION: "timetable cafe"}).invoke(state["messages"][0].text)
        return joined(found), found

    return agent([search], calls(("search", {})), ANSWER)


# Conversations


def _asks(by_question: dict[str, Any]) -> Callable[[list[BaseMessage]], AIMessage]:
    """Return a reply: the search for the last question, or an answer if it was searched for."""

    def reply(said: list[BaseMessage]) -> AIMessage:
        if _answered(said):
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
