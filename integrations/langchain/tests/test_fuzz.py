"""Random programs of LangChain's and LangGraph's parts give no wrong number, on any path.

The true list is independent of the adapter: the program's output, or the markers in the last prompt
of its model. Set `FULLRECALL_RUNS` for more programs, `FULLRECALL_SEED` for different programs.
"""

from __future__ import annotations

import asyncio
import html
import json
import operator
import os
import random
import re
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4
from xml.sax.saxutils import escape

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, Send, interrupt
from langsmith import Client
from typing_extensions import TypedDict

from fullrecall import Sample
from langchain_fullrecall import observed

_spec = spec_from_file_location("shapes", Path(__file__).with_name("shapes.py"))
assert _spec is not None
assert _spec.loader is not None
shapes = module_from_spec(_spec)
_spec.loader.exec_module(shapes)
Store, Model, doc, joined = shapes.Store, shapes.Model, shapes.doc, shapes.joined

PROGRAMS = int(os.environ.get("FULLRECALL_RUNS", "24"))
FIRST = int(os.environ.get("FULLRECALL_SEED", "0"))
_MARKER = re.compile(r"marker-([a-p])\b")


class Random:
    """A generator of the parts of one program; `failed` notes a failure for good."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sent: list[str] = []
        self.model = Model(prompts=[])
        self.failed = False

    def letters(self) -> str:
        """Draw the documents of a store."""
        return "".join(self.random.sample("abcdefghijkl", self.random.randint(1, 4)))

    def retriever(self, depth: int = 0) -> Any:
        """Draw a retriever of documents for a question."""
        kind = self.random.randrange(7 if depth < 2 else 2)
        if kind <= 1:
            return Store(letters=self.letters())
        if kind == 2:
            return EnsembleRetriever(
                retrievers=[Store(letters=self.letters()), Store(letters=self.letters())],
                weights=[0.5, 0.5],
            )
        if kind == 3:
            return ContextualCompressionRetriever(
                base_compressor=Changing(seed=self.random.randrange(10**6)),
                base_retriever=Store(letters=self.letters()),
            )
        if kind == 4:
            down: Any = Store(letters="a", down=True)
            if self.random.random() < 0.4:
                down = Store(letters=self.letters()) | RunnableLambda(_raise)
            return down.with_fallbacks([self.retriever(depth + 1)])
        if kind == 5:
            return self.retriever(depth + 1) | RunnableLambda(self.change())
        return RunnableLambda(self.search(depth + 1))

    def search(self, depth: int) -> Any:
        """Draw a function that retrieves."""
        kind = self.random.randrange(5)
        first, second = self.retriever(depth), self.retriever(depth)
        change = self.change()

        def function(question: str) -> list[Document]:
            found: list[Document] = first.invoke(question)
            if kind == 0:
                return found
            if kind == 1:
                return change(found)
            if kind == 2:
                return _unique([*found, *second.invoke(question)])
            if kind == 3:
                return change(_unique([*second.invoke(question), *found]))
            try:
                return Store(letters="ab", down=True).invoke(question)  # type: ignore[no-any-return]
            except ConnectionError:
                return second.invoke(question)  # type: ignore[no-any-return]

        return function

    def change(self) -> Any:
        """Draw a function of documents that cuts, sorts, copies, or drops IDs."""
        return Changing(seed=self.random.randrange(10**6)).change

    def ask(self, text: str) -> str:
        """Send a prompt to the model."""
        return str(self.model.invoke(text).content)

    # Programs

    def chain(self) -> Any:
        """Draw a chain that retrieves, maybe changes the list, and answers or returns it."""
        chain: Any = self.retriever()
        for _ in range(self.random.randrange(3)):
            chain = chain | RunnableLambda(self.change())
        kind = self.random.randrange(4)
        if kind == 0:
            return chain
        if kind == 1:
            return chain | joined | self.model
        if kind == 2:
            cut = self.random.randint(1, 3)
            return chain | (lambda documents: joined(documents[:cut])) | self.model
        change = self.change()
        return (
            RunnableParallel({"docs": chain, "question": RunnablePassthrough()})
            | RunnablePassthrough.assign(docs=lambda given: change(given["docs"]))
            | (lambda given: f"{joined(given['docs'])} {given['question']}")
            | self.model
        )

    def fusion(self) -> Any:
        """Draw two branches whose lists a function joins."""
        change = self.change()

        def fuse(both: dict[str, list[Document]]) -> list[Document]:
            return change(_unique([*both["x"], *both["y"]]))

        branches = RunnableParallel(x=self.retriever(), y=self.retriever())
        end: Any = joined if self.random.random() < 0.6 else None
        chain = branches | RunnableLambda(fuse)
        return chain if end is None else chain | end | self.model

    def graph(self) -> Any:
        """Draw a graph whose nodes retrieve, add to, cut, or ignore the documents."""
        builder = StateGraph(State)
        before, nodes = START, self.random.randint(1, 4)
        for number in range(nodes):
            name = f"node{number}"
            builder.add_node(name, self.node(first=number == 0))
            builder.add_edge(before, name)
            before = name
        if self.random.random() < 0.7:
            builder.add_node("generate", self.generate)
            builder.add_edge(before, "generate")
            before = "generate"
        builder.add_edge(before, END)
        return builder.compile()

    def node(self, *, first: bool) -> Any:
        """Draw a node."""
        kind = 0 if first else self.random.randrange(5)
        retriever, change = self.retriever(), self.change()
        command = self.random.random() < 0.3

        def node(state: Any) -> Any:
            documents = state.get("documents", [])
            if kind == 0:
                update = {"documents": retriever.invoke(state["question"])}
            elif kind == 1:
                update = {"documents": change(documents)}
            elif kind == 2:
                update = {"documents": _unique([*documents, *retriever.invoke("more")])}
            elif kind == 3:
                update = {"note": "nothing"}
            else:
                update = {"documents": list(documents)}
            return Command(update=update) if command else update

        return node

    def generate(self, state: Any) -> dict[str, str]:
        """Answer from the state's documents."""
        return {"answer": self.ask(joined(state["documents"]))}

    def agent(self) -> Any:
        """Draw a function that calls tools, and a model that reads all that they returned."""
        retrievers = [self.retriever(1) for _ in range(self.random.randint(1, 3))]
        cuts = [self.random.choice([None, 1, 2]) for _ in retrievers]

        def run(question: str) -> str:
            texts = []
            for number, (retriever, cut) in enumerate(zip(retrievers, cuts, strict=True)):

                @tool
                def search(query: str, retriever: Any = retriever, cut: Any = cut) -> str:
                    """Search."""
                    return joined(retriever.invoke(query)[:cut])

                texts.append(
                    search.func(f"{question} {number}")
                    if number == 9
                    else search.invoke({"query": f"{question} {number}"})
                )
            return self.ask("\n".join(texts))

        return RunnableLambda(run)

    def branching_graph(self) -> Any:
        """Draw a graph of nodes that retrieve at once, with a reducer, and an answer."""
        builder = StateGraph(Adding)
        builder.add_node("generate", self.generate)
        for number in range(self.random.randint(2, 3)):
            builder.add_node(f"node{number}", self.adding(self.retriever(1)))
            builder.add_edge(START, f"node{number}")
            builder.add_edge(f"node{number}", "generate")
        builder.add_edge("generate", END)
        return builder.compile()

    def adding(self, retriever: Any) -> Any:
        """Return a node that adds a retriever's documents."""
        return lambda state: {"documents": retriever.invoke(state["question"])}

    def sending_graph(self) -> Any:
        """Draw a graph that sends one node for each part of a question, and answers."""
        retrievers = {f"part {n}": self.retriever(1) for n in range(self.random.randint(1, 3))}
        builder = StateGraph(Adding)
        builder.add_node(
            "fetch",
            lambda state: {"documents": retrievers[state["question"]].invoke(state["question"])},
        )
        builder.add_node("generate", self.generate)
        builder.add_conditional_edges(
            START, lambda _: [Send("fetch", {"question": part}) for part in retrievers], ["fetch"]
        )
        builder.add_edge("fetch", "generate")
        builder.add_edge("generate", END)
        return builder.compile()

    def handing_graph(self) -> Any:
        """Draw a graph within a graph, whose last node passes its documents to the outer one."""
        inner, outer = StateGraph(State), StateGraph(State)
        inner.add_node("retrieve", self.node(first=True))
        inner.add_node("hand", self.handing(self.change()))
        inner.add_edge(START, "retrieve")
        inner.add_edge("retrieve", "hand")
        outer.add_node("inner", inner.compile(), destinations=("next",))
        outer.add_node("next", self.node(first=False))
        outer.add_node("generate", self.generate)
        outer.add_edge(START, "inner")
        outer.add_edge("next", "generate")
        outer.add_edge("generate", END)
        return outer.compile()

    def handing(self, change: Any) -> Any:
        """Return a node that passes its change to the outer graph."""
        return lambda state: Command(
            graph=Command.PARENT, goto="next", update={"documents": change(state["documents"])}
        )

    def waiting_graph(self) -> Any:
        """Draw a graph that waits for a human, who says how many documents are good."""
        cut = self.random.randint(1, 3)
        builder = StateGraph(State)
        builder.add_node("retrieve", self.node(first=True))
        builder.add_node(
            "ask", lambda state: {"documents": state["documents"][: interrupt("how many?")]}
        )
        builder.add_node("next", self.node(first=False))
        builder.add_node("generate", self.generate)
        for before, after in pairwise((START, "retrieve", "ask", "next", "generate", END)):
            builder.add_edge(before, after)
        steps = builder.compile(checkpointer=InMemorySaver())

        def run(question: str) -> str:
            config: Any = {"configurable": {"thread_id": str(uuid4())}}
            steps.invoke({"question": question}, config)
            return str(steps.invoke(Command(resume=cut), config)["answer"])

        return RunnableLambda(run)

    def failing_agent(self) -> Any:
        """Draw a function with a tool that fails after it retrieved, so that it is unscored."""
        self.failed = True
        retriever, raises = self.retriever(1), self.random.random() < 0.5

        @tool
        def search(query: str) -> str:
            """Search."""
            found = joined(retriever.invoke(query))
            if raises:
                raise ToolException("broken")
            Store(letters="a", down=True).invoke(query)
            return found

        search.handle_tool_error = raises and self.random.random() < 0.5

        def run(question: str) -> str:
            try:
                call = {"args": {"query": question}, "id": "1", "name": "search"}
                text = search.invoke({**call, "type": "tool_call"}).content
            except (ToolException, ConnectionError):
                text = ""
            return self.ask(f"{joined(Store(letters='b').invoke(question))} {text}")

        return RunnableLambda(run)

    # Applications

    def search_tool(self, name: str) -> Any:
        """Draw a tool that finds documents: by a retriever, or by an API that returns JSON."""
        kind, letters = (
            self.random.randrange(4),
            self.letters() if self.random.random() < 0.9 else "",
        )
        text, envelope = self.random.choice(_TEXT_KEYS), self.random.choice(_ENVELOPES)
        retriever, written = self.retriever(1), self.random.random() < 0.6

        def hits(query: str) -> Any:
            listed = [{"id": each, text: shapes.TEXTS[each], "score": 0.5} for each in letters]
            result = {envelope: listed, "took": 3} if envelope else listed
            return json.dumps(result) if written or not listed else result

        def search(query: str) -> Any:
            return joined(retriever.invoke(query)) if kind == 0 else hits(query)

        return tool(name, description="Search.")(search)

    def other_tool(self, name: str) -> Any:
        """Draw a tool that repeats the agent's words."""
        lines = self.random.random() < 0.5

        def note(text: str) -> str:
            return "\n".join(f"{n}: {s}" for n, s in enumerate(text.split(","))) if lines else text

        return tool(name, description="Write a note.")(note)

    def using(self, tools: list[Any]) -> Any:
        """Return a graph in which each tool is called in turn, in the way of an agent."""
        builder = StateGraph(MessagesState)
        before = START
        for number, each in enumerate(tools):
            given = {"query": f"q {number}"} if "search" in each.name else {"text": _THOUGHT}
            given = {} if "transfer" in each.name else given
            call: Any = {"name": each.name, "args": given, "id": f"{each.name} {number}"}
            asked = AIMessage("", tool_calls=[{**call, "type": "tool_call"}])
            builder.add_node(f"ask{number}", lambda _, asked=asked: {"messages": [asked]})
            builder.add_node(f"use{number}", ToolNode([each]))
            builder.add_edge(before, f"ask{number}")
            builder.add_edge(f"ask{number}", f"use{number}")
            before = f"use{number}"
        return builder, before

    def say(self, state: Any) -> dict[str, Any]:
        """Answer from the messages of the tools."""
        texts = [str(each.content) for each in state["messages"] if each.type == "tool"]
        return {"messages": [AIMessage(self.ask("\n".join(texts)))]}

    def tool_agent(self) -> Any:
        """Draw an agent whose tools return JSON, a retriever's text, or its own words."""
        tools = [self.search_tool(f"search{n}") for n in range(self.random.randint(1, 3))]
        if self.random.random() < 0.6:
            tools.insert(self.random.randint(0, len(tools)), self.other_tool("note"))
        builder, last = self.using(tools)
        builder.add_node("say", self.say)
        builder.add_edge(last, "say")
        return builder.compile()

    def handing_agents(self) -> Any:
        """Draw an agent that searches and hands over to another one, which searches as well."""

        @tool
        def transfer(
            state: Annotated[dict[str, Any], InjectedState],
            tool_call_id: Annotated[str, InjectedToolCallId],
        ) -> Command[Any]:
            """Hand over."""
            said = ToolMessage("Transferred. " * 12, tool_call_id=tool_call_id)
            update = {"messages": [*state["messages"], said]}
            return Command(graph=Command.PARENT, goto="second", update=update)

        first, _ = self.using([self.search_tool("search1"), transfer])
        second, last = self.using([self.search_tool("search2")])
        second.add_node("say", self.say)
        second.add_edge(last, "say")
        graph = StateGraph(MessagesState)
        graph.add_node("first", first.compile(), destinations=("second",))
        graph.add_node("second", second.compile())
        graph.add_edge(START, "first")
        return graph.compile()

    def approved_agent(self) -> Any:
        """Draw an agent whose search waits for a human, who may reject it."""
        approves, inner = self.random.random() < 0.7, self.search_tool("inner")
        late = self.random.random() < 0.5

        @tool
        def search(query: str) -> Any:
            """Search, if a human says yes."""
            found = inner.func(query) if late else None
            return (found or inner.func(query)) if interrupt(query) else "No."

        builder, last = self.using([self.search_tool("search0"), search])
        builder.add_node("say", self.say)
        builder.add_edge(last, "say")
        graph = builder.compile(checkpointer=InMemorySaver())

        def run(question: str) -> str:
            config: Any = {"configurable": {"thread_id": str(uuid4())}}
            graph.invoke({"messages": [("user", question)]}, config)
            return str(graph.invoke(Command(resume=approves), config)["messages"][-1].content)

        return RunnableLambda(run)

    def escaping_chain(self) -> Any:
        """Draw a prompt with the first documents, escaped."""
        cut, escaped = self.random.randint(1, 3), self.random.choice(_ESCAPES)
        return (
            Marked(letters=self.letters())
            | (lambda found: "".join(f"<d>{escaped(d.page_content)}</d>" for d in found[:cut]))
            | self.model
        )

    def hits(self) -> Any:
        """Draw documents as hits of one document each, and maybe a prompt with some of them."""
        form, change, cut = self.random.choice(_HITS), self.change(), self.random.randint(1, 3)
        chain = self.retriever() | (lambda found: [form(each) for each in change(found)])
        if self.random.random() < 0.5:
            return chain
        return chain | (lambda listed: "\n".join(map(str, listed[:cut]))) | self.model

    def program(self) -> Any:
        """Draw a program."""
        kinds = [
            self.chain, self.fusion, self.graph, self.agent, self.branching_graph,
            self.sending_graph, self.handing_graph, self.waiting_graph, self.failing_agent,
        ]  # fmt: skip
        return self.random.choice(kinds)()

    def application(self) -> Any:
        """Draw an application: tools, hand-offs, interrupts, escapes, and hits."""
        kinds = [self.tool_agent, self.handing_agents, self.approved_agent, self.escaping_chain,
                 self.hits]  # fmt: skip
        return self.random.choice(kinds)()


class Marked(Store):  # type: ignore[misc, valid-type]
    """A retriever of documents with characters that prompts escape."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [
            Document(f'{shapes.TEXTS[each]} <b>&amp; "{each}" & more</b>', id=each)
            for each in self.letters
        ]


_THOUGHT = (
    "first look for boats, then for the prices of bicycles, then compare both of them, and say "
    "which of the two is more important for a family with children, or for a couple without"
)
_TEXT_KEYS = ("text", "content", "page_content")
_ENVELOPES = ("", "results", "documents", "hits", "matches", "data")
_ESCAPES: tuple[Any, ...] = (html.escape, escape, json.dumps, str)
_HITS: tuple[Any, ...] = (
    lambda found: {"doc": found, "score": 0.5},
    lambda found: {"node": {"document": found}, "rank": 1},
    lambda found: (found, {}),
    lambda found: [found],
)


class State(TypedDict, total=False):
    """A graph's state."""

    question: str
    documents: list[Document]
    answer: str
    note: str


class Adding(TypedDict, total=False):
    """A graph's state whose reducer adds documents."""

    question: str
    documents: Annotated[list[Document], operator.add]
    answer: str


class Changing(BaseDocumentCompressor):
    """A compressor that cuts, sorts, copies, shortens, or changes IDs, always in the same way."""

    seed: int

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        """Return the documents, changed."""
        return self.change(list(documents))

    def change(self, documents: list[Document]) -> list[Document]:
        """Return the documents, changed."""
        drawn = random.Random(self.seed)
        kind = drawn.randrange(6)
        if kind == 0:
            return documents[: drawn.randint(1, 3)]
        if kind == 1:
            return sorted(
                documents, key=lambda each: each.page_content, reverse=drawn.random() < 0.5
            )
        if kind == 2:
            return [Document(each.page_content, id=each.id) for each in documents[::-1]]
        if kind == 3:
            return [Document(each.page_content) for each in documents]
        if kind == 4:
            return [
                Document(each.page_content[:50], id=f"new-{n}") for n, each in enumerate(documents)
            ]
        return list(documents)


def _raise(documents: list[Document]) -> list[Document]:
    raise TimeoutError("no answer")


def _unique(documents: list[Document]) -> list[Document]:
    return list({each.page_content[:10]: each for each in documents}.values())


def truth(program: Random, output: Any) -> set[str]:
    """Return the markers in the model's last prompt, else in the output."""
    if program.model.prompts:
        return set(_MARKER.findall(program.model.prompts[-1]))
    documents = output.get("documents", []) if isinstance(output, dict) else output
    if not all(isinstance(each, Document) for each in documents):
        return set(_MARKER.findall(str(documents)))
    return {marker for each in documents for marker in _MARKER.findall(each.page_content)}


def measured(
    seed: int, kind: str, *, awaited: bool
) -> tuple[set[str] | None, set[str] | None, str | None]:
    """Run a program; return the markers of the recorded documents, and the truth.

    The truth is None for a program with a failure that was not recovered.
    """
    drawn = Random(seed)
    program = getattr(drawn, kind)()
    outputs: list[Any] = []
    kept = program | RunnableLambda(lambda output: outputs.append(output) or output)  # type: ignore[func-returns-value]
    retriever = observed(kept)
    sample = Sample(user_input="q")
    found = asyncio.run(retriever.aretrieve(sample)) if awaited else retriever.retrieve(sample)
    expected = None if drawn.failed else truth(drawn, outputs[-1]) if outputs else set()
    if found.error is not None or found.contexts is None:
        return None, expected, found.error
    markers = {m for c in found.contexts for m in _MARKER.findall(c.text or "")}
    return markers, expected, None


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("kind", ["program", "application"])
def test_no_number_is_wrong(kind: str, *, awaited: bool) -> None:
    """No program has a wrong number, and few programs are unscored."""
    outcomes: Counter[str] = Counter()
    wrong = []
    for seed in range(FIRST, FIRST + PROGRAMS):
        said, expected, reason = measured(seed, kind, awaited=awaited)
        if said is None and expected is None:
            continue
        if said is None:
            outcomes[re.sub(r"[^a-zA-Z ]", "", str(reason))[:40]] += 1
        elif said != expected:
            wrong.append((seed, said, expected))
    assert not wrong
    assert outcomes.total() <= PROGRAMS / 20, outcomes


FOUND = (60050, 60258, 60303, 61073)
"""Programs that were wrong on one path: streamed below each other, and stored with commands."""


@pytest.mark.filterwarnings("ignore:.upload_results. parameter is in beta")
@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *(("program", seed) for seed in (*range(FIRST, FIRST + PROGRAMS // 8), *FOUND)),
        *(("application", seed) for seed in range(FIRST, FIRST + PROGRAMS // 4)),
    ],
)
def test_no_path_gives_another_number(kind: str, seed: int, client: Client) -> None:
    """Every path gives the same number, but a stored run may be unscored."""
    made: list[Random] = []

    def make() -> Any:
        made.append(Random(seed))
        return getattr(made[-1], kind)()

    output = shapes.call(make(), "q")
    expected = None if made[0].failed else truth(made[0], output)
    for path, ids in shapes.paths(make, client):
        if ids is None and path == "stored":
            continue
        assert (None if ids is None else set(ids)) == expected, path
