"""Programs of tutorials, written before any try: executors, teams, and envelopes."""

from __future__ import annotations

import json
import operator
from typing import Annotated, Any, Literal

from langchain.agents.middleware import AgentMiddleware, before_model, wrap_tool_call
from langchain_classic.agents import AgentExecutor, create_react_agent, create_tool_calling_agent
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
)
from langchain_classic.retrievers.document_compressors import LLMChainFilter
from langchain_core.documents import Document
from langchain_core.load import dumps
from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.stores import InMemoryStore
from langchain_core.tools import create_retriever_tool, tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from fullrecall.measures import Recall
from langchain_apps.agents import THREAD, agent, hits
from langchain_apps.application import SYNC_ONLY, Stated, function, keyed, messages, runnable
from langchain_apps.graphs import State
from langchain_apps.parts import (
    ANSWER,
    PROMPT,
    TEXTS,
    Query,
    StatedOrder,
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
    right={Recall: 0.5, Recall @ 1: 0.0, Recall @ 2: 0.5},
    as_input=messages,
    output="messages",
)
def dumped_documents() -> Any:
    """A tool returns the text of LangChain's own serialization of documents."""

    @tool(args_schema=Query)
    def search(query: str) -> str:
        """Search the documents."""
        return dumps([document("dogs"), document("bicycles")])

    return agent([search], searches("boats"), ANSWER)


@runnable(
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 2 / 3},
    as_input=messages,
    output="messages",
)
def two_kinds_of_tools() -> Any:
    """One tool has an artifact of documents, another one returns JSON; both in one message."""

    @tool(args_schema=Query)
    def prices(query: str) -> str:
        """Search the prices."""
        return json.dumps({"hits": hits("bicycles")})

    both = searches("boats")
    both = both.model_copy(
        update={"tool_calls": [*both.tool_calls, *searches("costs", tool="prices").tool_calls]}
    )
    return agent([search_tool("timetable cafe"), prices], both, ANSWER)


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


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0},
    as_input=messages,
    output="messages",
    designed=dict.fromkeys(
        ("strings", "function"),
        Stated("the first search is no longer in the messages", {Recall: 0.5, Recall @ 1: 0.5}),
    ),
)
def forgetful_agent() -> Any:
    """Before the third call of the model, a middleware removes the first search's messages."""

    @before_model
    def forget(state: Any, runtime: Any) -> dict[str, Any] | None:
        said = state["messages"]
        if len(said) < 5:
            return None
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), said[0], *said[3:]]}

    search = search_tool(by_query={"boats": "timetable cafe", "costs": "bicycles"})
    middleware: list[AgentMiddleware[Any, Any]] = [forget]
    return agent([search], searches("boats"), searches("costs"), ANSWER, middleware=middleware)


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


@runnable(
    expects="timetable bicycles delays",
    right={Recall: 2 / 3, Recall @ 1: 1 / 3},
    output="documents",
)
def queries_of_an_ensemble() -> Any:
    """A model writes two queries, and each goes to two retrievers, fused."""
    first = shelf(by_query={"one": "timetable cafe", "two": "delays"})
    second = shelf(by_query={"one": "timetable", "two": "delays seals"})
    both = EnsembleRetriever(retrievers=[first, second], weights=[0.5, 0.5])
    return MultiQueryRetriever.from_llm(both, model("one\ntwo"))


@runnable(
    expects="handbook leaflet",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="documents",
    retrieved=1.0,
)
def parents_that_are_filtered() -> Any:
    """Small chunks are found, their parents returned, and a model drops one of these."""
    handbook = Document(f"{TEXTS['timetable']}\n\n{TEXTS['delays']}", id="handbook")
    leaflet = Document(f"{TEXTS['cafe']}\n\n{TEXTS['seals']}", id="leaflet")
    parents = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(StatedOrder("timetable cafe", {})),
        docstore=InMemoryStore(),
        child_splitter=CharacterTextSplitter(separator="\n\n", chunk_size=90, chunk_overlap=0),
        search_kwargs={"k": 2},
    )
    parents.add_documents([handbook, leaflet], ids=["handbook", "leaflet"])

    def says(said: list[BaseMessage]) -> str:
        return "NO" if TEXTS["cafe"] in said[-1].text else "YES"

    return ContextualCompressionRetriever(
        base_compressor=LLMChainFilter.from_llm(model(says)), base_retriever=parents
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


# Graphs


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("question"),
    output="documents",
    read=0.5,
)
def router_that_goes_to() -> Any:
    """A node chooses one of two searches by `Command(goto=…)`."""

    def route(state: Any) -> Command[Literal["boats", "costs"]]:
        return Command(goto="costs" if "cost" in state["question"] else "boats")

    def boats(state: Any) -> dict[str, Any]:
        return {"documents": shelf("timetable").invoke(state["question"])}

    def costs(state: Any) -> dict[str, Any]:
        return {"documents": shelf("bicycles fares").invoke(state["question"])}

    def answer(state: Any) -> dict[str, Any]:
        said = model().invoke(f"{joined(state['documents'])}\n{state['question']}")
        return {"answer": said.text}

    graph = StateGraph(State)
    for node in (route, boats, costs, answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "route")
    graph.add_edge("boats", "answer")
    graph.add_edge("costs", "answer")
    graph.add_edge("answer", END)
    return graph.compile()


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


@function(
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 1 / 3},
    output="messages",
    designed=_TEXTS_ALONE,
)
def interrupted_subgraph() -> Any:
    """A subgraph waits for a human between two searches."""

    def look(state: Any) -> dict[str, Any]:
        found = shelf("timetable cafe").invoke("boats")
        return {"messages": [model("Noted.").invoke(joined(found))]}

    def confirm(state: Any) -> dict[str, Any]:
        query = interrupt("Which costs?")
        found = shelf(by_query={"bicycle": "dogs bicycles"}).invoke(query)
        return {"messages": [model("Noted, too.").invoke(joined(found))]}

    def answer(state: Any) -> dict[str, Any]:
        return {"messages": [model().invoke(state["messages"])]}

    inner = StateGraph(MessagesState)
    inner.add_sequence([look, confirm])
    inner.add_edge(START, "look")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", inner.compile())
    outer.add_node("answer", answer)
    outer.add_edge(START, "inner")
    outer.add_edge("inner", "answer")
    graph = outer.compile(checkpointer=InMemorySaver())

    def ask(question: str) -> Any:
        graph.invoke(messages(question), THREAD)
        return graph.invoke(Command(resume="bicycle"), THREAD)

    return ask
