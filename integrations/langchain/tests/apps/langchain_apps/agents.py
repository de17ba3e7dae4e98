"""Agents of `create_agent` with tools that return documents, and their middleware."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelRequest,
    SummarizationMiddleware,
    ToolRetryMiddleware,
    dynamic_prompt,
    wrap_tool_call,
)
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException, create_retriever_tool, tool
from langgraph.prebuilt import InjectedState

from fullrecall.measures import Recall
from fullrecall.measures import calls as first
from langchain_apps.application import SYNC_ONLY, Stated, messages, runnable
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


NEVER_RAN = dict.fromkeys(
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
    return agent([search], lambda said: ANSWER if answered(said) else searches("boats"))


def answered(said: list[BaseMessage]) -> bool:
    """Return whether the last message is that of a tool."""
    return isinstance(said[-1], ToolMessage)


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
