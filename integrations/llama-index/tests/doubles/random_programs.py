"""Random programs of LlamaIndex's parts; the truth is what the model was sent, or what they return.

Each document has a marker in its text. A program is drawn by its seed; asked twice, it does the
same.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from known_steps import Asks, NoPrompts
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.llms.types import (
    ChatMessage,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever, TransformRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step

_MARKER = re.compile(r"(?:<|&lt;)(d\d+)(?:>|&gt;)")
_MODES = ("compact", "refine", "tree_summarize", "simple_summarize", "accumulate", "no_text")


def text_of(name: str) -> str:
    """Return the text of a node, with a marker in it."""
    words = " ".join(f"{name}w{number}" for number in range(10))
    return f"All that is known about <{name}> stands here: {words}."


def markers(text: str) -> set[str]:
    """Return the documents that stand in a text."""
    return {*_MARKER.findall(text)}


class Brings(BaseRetriever):
    """Returns nodes of these IDs: new objects, or the same ones each time."""

    def __init__(self, *names: str, shared: bool = False) -> None:
        self.names = names
        self.shared = self._nodes() if shared else None
        super().__init__()

    def _nodes(self) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=name, text=text_of(name)), score=1 / (n + 1))
            for n, name in enumerate(self.names)
        ]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes() if self.shared is None else list(self.shared)


class Down(BaseRetriever):
    """Fails."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise TimeoutError("down")


class Tries(BaseRetriever):
    """Retrieves from another retriever if the first one is down."""

    def __init__(self, other: BaseRetriever) -> None:
        self.other = other
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        try:
            return Down().retrieve(query_bundle)
        except TimeoutError:
            return self.other.retrieve(query_bundle)


class Changes(BaseNodePostprocessor):
    """Cuts, sorts, copies, shortens, numbers, escapes, merges, drops or mints IDs: in one way."""

    seed: int

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self.changed(nodes)

    def changed(  # noqa: PLR0911 - a kind each
        self, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        """Return the nodes, changed."""
        chance = random.Random(self.seed)
        most = max(1, len(nodes) - chance.randrange(3))
        kind = chance.randrange(10)
        if kind == 0:
            return nodes[:most]
        if kind == 1:
            return nodes[::-1][:most]
        if kind == 2:
            return sorted(nodes, key=lambda node: node.text, reverse=chance.random() < 0.5)[:most]
        if kind == 3:
            return [NodeWithScore(node=node.node, score=0.5) for node in nodes]
        if kind == 4:
            return [NodeWithScore(node=n.node.model_copy(), score=1) for n in nodes[:most]]
        if kind == 5:
            return [NodeWithScore(node=TextNode(text=n.text[:60]), score=1) for n in nodes[:most]]
        if kind == 6:
            return [_new(f"[{n}] {node.text}") for n, node in enumerate(nodes[:most], start=1)]
        if kind == 7:
            return [_new(f"<source>{escape(node.text)}</source>") for node in nodes[:most]]
        if kind == 8:
            return [_new("\n".join(node.text for node in nodes[:2])), *nodes[2:]][: len(nodes)]
        return list({node.text: node for node in nodes}.values())


def _new(text: str) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text), score=1)


class Selects(NoPrompts, BaseSelector):
    """Selects the tools at fixed places."""

    def __init__(self, *places: int) -> None:
        self.places = places

    def _select(self, choices: Any, query: Any) -> SelectorResult:
        return SelectorResult(
            selections=[SingleSelection(index=place, reason="fixed") for place in self.places]
        )

    async def _aselect(self, choices: Any, query: Any) -> SelectorResult:
        return self._select(choices, query)


class Rewrites(NoPrompts, BaseQueryTransform):
    """Makes another question of any."""

    def _run(self, query_bundle: QueryBundle, metadata: Any) -> QueryBundle:
        return QueryBundle(f"again: {query_bundle.query_str}")


class Scripted(CustomLLM):
    """Answers the same to any prompt, and keeps what it was sent."""

    prompts: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        """A model with a large window."""
        return LLMMetadata(model_name="scripted", context_window=100_000)

    @llm_completion_callback()
    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Return the same answer to any prompt."""
        self.prompts.append(prompt)
        return CompletionResponse(text="an answer")

    @llm_completion_callback()
    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponseGen:
        """Yield it."""
        yield self.complete(prompt)


class Found(Event):
    """Nodes on their way to the next step."""

    nodes: list[NodeWithScore]


class Steps(Workflow):
    """Retrieves, changes what was retrieved in another step, and ends with an answer or nodes."""

    def __init__(self, program: Program, retriever: BaseRetriever, *, answers: bool) -> None:
        super().__init__(timeout=60)
        self.program = program
        self.retriever = retriever
        self.change = program.change()
        self.answers = answers
        self.keeps_state = program.chance.random() < 0.3

    @step
    async def find(self, context: Context, event: StartEvent) -> Found:
        """Retrieve."""
        nodes = await self.retriever.aretrieve(event.query)
        await context.store.set("nodes", nodes)
        return Found(nodes=nodes)

    @step
    async def change_nodes(self, context: Context, event: Found) -> StopEvent:
        """Cut, sort or copy, and answer."""
        nodes = await context.store.get("nodes") if self.keeps_state else event.nodes
        nodes = self.change.changed(nodes)
        if self.answers:
            synthesizer = get_response_synthesizer(llm=self.program.llm)
            return StopEvent(result=str(await synthesizer.asynthesize("q", nodes)))
        self.program.returned = nodes
        return StopEvent(result=nodes)


class ByHand(CustomQueryEngine):
    """An engine of the user's own: a cut between a retriever and a synthesizer."""

    program: Any
    retriever: Any
    change: Any

    def custom_query(self, query_str: str) -> Any:
        """Retrieve, change, answer."""
        nodes = self.change.changed(self.retriever.retrieve(query_str))
        response = get_response_synthesizer(llm=self.program.llm).synthesize(query_str, nodes)
        return response if self.program.seed % 2 else str(response)


class Program:
    """One random program.

    - `thing`: what is observed.
    - `llm`: has all prompts that were sent; `returned`: the nodes that the program handed out.
    - `fails`: something fails for good, and what is scored is wrong in any case.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.llm = Scripted(prompts=[])
        self.returned: list[NodeWithScore] | None = None
        self.fails = False
        self._names = [f"d{number}" for number in range(14)]
        kinds = (
            self.engine, self.engine, self.citations, self.router, self.questions, self.by_hand,
            self.function, self.function, self.chat, self.workflow, self.agent, self.failing_tool,
            self.retriever, self.handing_over,
        )  # fmt: skip
        self.kind = self.chance.choice(kinds)
        self.thing: Any = self.kind()

    @property
    def truth(self) -> set[str]:
        """The documents in all prompts; where no model was asked, those that were returned."""
        if self.llm.prompts:
            return markers("\n".join(self.llm.prompts))
        return markers("\n".join(node.text for node in self.returned or ()))

    # Parts

    def names(self) -> list[str]:
        """Draw the documents of a store."""
        return self.chance.sample(self._names, self.chance.randrange(1, 5))

    def change(self) -> Changes:
        """Draw a postprocessor."""
        return Changes(seed=self.chance.randrange(10**6))

    def retriever(self, depth: int = 0) -> BaseRetriever:
        """Draw a retriever; on its own it is what the program returns."""
        drawn = self._retriever(depth)
        if depth == 0 and getattr(self, "kind", None) == self.retriever:
            return Returning(self, drawn)
        return drawn

    def _retriever(self, depth: int) -> BaseRetriever:
        kind = self.chance.randrange(7 if depth < 2 else 2)
        if kind == 2:
            return QueryFusionRetriever(
                [self._retriever(depth + 1), self._retriever(depth + 1)],
                llm=self.llm,
                num_queries=1,
                use_async=self.chance.random() < 0.5,
                mode=self.chance.choice(["simple", "reciprocal_rerank", "relative_score"]),
                similarity_top_k=self.chance.randrange(1, 6),
            )
        if kind == 3:
            tools = [
                RetrieverTool.from_defaults(self._retriever(depth + 1), name=name, description="d")
                for name in ("one", "two")
            ]
            places = self.chance.choice([(0,), (1,), (0, 1)])
            return RouterRetriever(Selects(*places), tools, llm=self.llm)
        if kind == 4:
            return TransformRetriever(self._retriever(depth + 1), Rewrites())
        if kind == 5:
            return Tries(self._retriever(depth + 1))
        if kind == 6:
            return Composed(self, self._retriever(depth + 1), self._retriever(depth + 1))
        return Brings(*self.names(), shared=self.chance.random() < 0.3)

    def postprocessors(self) -> list[BaseNodePostprocessor]:
        """Draw what an engine does to nodes."""
        drawn: list[BaseNodePostprocessor] = [
            self.change() for _ in range(self.chance.randrange(3))
        ]
        return [*drawn, LongContextReorder()] if self.chance.random() < 0.2 else drawn

    # Programs

    def engine(self) -> Any:
        """A retriever, postprocessors, a synthesizer."""
        mode = self.chance.choice(_MODES)
        synthesizer = (
            NoText(llm=self.llm)
            if mode == "no_text"
            else get_response_synthesizer(llm=self.llm, response_mode=mode)
        )
        engine = RetrieverQueryEngine(
            self._retriever(0), synthesizer, node_postprocessors=self.postprocessors()
        )
        if mode == "no_text":
            return Keeping(self, engine)
        return TransformQueryEngine(engine, Rewrites()) if self.chance.random() < 0.2 else engine

    def citations(self) -> Any:
        """Sources that are numbered and cut for citation."""
        size = self.chance.choice([512, 40])
        return CitationQueryEngine.from_args(
            None,
            retriever=self._retriever(0),
            llm=self.llm,
            citation_chunk_size=size,
            citation_chunk_overlap=5,
            node_postprocessors=self.postprocessors(),
        )

    def tools(self) -> list[QueryEngineTool]:
        """Draw engines as tools."""
        return [
            QueryEngineTool.from_defaults(self.simple_engine(), name=name, description="d")
            for name in ("one", "two")
        ]

    def simple_engine(self) -> RetrieverQueryEngine:
        """Draw an engine."""
        return RetrieverQueryEngine.from_args(
            self._retriever(1), llm=self.llm, node_postprocessors=self.postprocessors()
        )

    def router(self) -> Any:
        """Engines of which some are selected."""
        places = self.chance.choice([(0,), (1,), (0, 1)])
        return RouterQueryEngine(Selects(*places), self.tools(), llm=self.llm)

    def questions(self) -> Any:
        """A question to each engine, and an answer to their answers."""
        return SubQuestionQueryEngine.from_defaults(
            self.tools(),
            llm=self.llm,
            question_gen=Asks(one="to one", two="to two"),
            use_async=self.chance.random() < 0.5,
            verbose=False,
        )

    def by_hand(self) -> Any:
        """A cut by hand."""
        return ByHand(program=self, retriever=self._retriever(0), change=self.change())

    def chat(self) -> Any:
        """A chat engine."""
        made: Any = self.chance.choice([ContextChatEngine, CondensePlusContextChatEngine])
        return made.from_defaults(
            retriever=self._retriever(0),
            llm=self.llm,
            node_postprocessors=self.postprocessors(),
            memory=ChatMemoryBuffer.from_defaults(token_limit=9999),
        )

    def workflow(self) -> Any:
        """Steps."""
        return Steps(self, self._retriever(0), answers=self.chance.random() < 0.6)

    def function(self) -> Callable[[str], Any]:
        """A function that retrieves several times, changes nodes, and returns them in some form."""
        retrievers = [self._retriever(1) for _ in range(self.chance.choice([1, 1, 2, 3]))]
        changes: list[Changes] = [self.change() for _ in range(self.chance.randrange(3))]
        form = self.chance.choice(["nodes", "texts", "mapping", "answer", "response", "text"])
        if any(map(_drops_ids, changes)) and form == "texts":
            form = "nodes"

        def function(question: str) -> Any:
            nodes = [node for each in retrievers for node in each.retrieve(question)]
            for change in changes:
                by_hand = change.seed % 2
                nodes = change.changed(nodes) if by_hand else change.postprocess_nodes(nodes)
            if form in ("answer", "response"):
                response = get_response_synthesizer(llm=self.llm).synthesize(question, nodes)
                return response if form == "response" else str(response)
            self.returned = nodes
            if form == "texts":
                return [node.text for node in nodes]
            if form == "text":
                return "\n\n".join(node.text for node in nodes)
            return {"documents": nodes, "answer": "x"} if form == "mapping" else nodes

        return function

    def agent(self) -> Any:
        """An agent that calls tools, one after the other or at once, and answers."""
        tools: list[Any] = [self._tool(name) for name in ("one", "two")]
        return self._agent(tools, [["one"], ["two"]] if self.seed % 2 else [["one", "two"]])

    def handing_over(self) -> Any:
        """An agent that calls a tool and hands over to another one, which calls a second tool."""
        hands = "handoff", {"to_agent": "other", "reason": "it knows"}
        first = self._agent([self._tool("one")], [["one"], [hands]], can_handoff_to=["other"])
        other = self._agent([self._tool("two")], [["one"], [hands], ["two"]], name="other")
        return AgentWorkflow(agents=[first, other], root_agent="agent")

    def failing_tool(self) -> Any:
        """An agent with a tool that fails after it retrieved."""
        self.fails = True
        retriever = self._retriever(1)

        def broken(input: str) -> str:  # noqa: A002 - LlamaIndex's name
            """Search."""
            retriever.retrieve(input)
            raise ConnectionError("broken")

        tools = [FunctionTool.from_defaults(broken, name="one"), self._tool("two")]
        return self._agent(tools, [["one", "two"]])

    def _tool(self, name: str) -> Any:
        kind = self.chance.randrange(5)
        if kind == 0:
            return QueryEngineTool.from_defaults(
                self.simple_engine(), name=name, description="Search."
            )
        retriever = self._retriever(1)
        if kind == 1:
            return RetrieverTool.from_defaults(retriever, name=name, description="Search.")
        most = self.chance.choice([None, 1, 2])
        names = self.names()

        def client(input: str) -> str:  # noqa: A002 - LlamaIndex's name
            """Search."""
            found = [(each, text_of(each)) for each in names]
            if kind == 4:
                found = [(each.node_id, each.text) for each in retriever.retrieve(input)[:most]]
            return json.dumps({"results": [{"id": own, "text": text} for own, text in found]})

        if kind > 2:
            return FunctionTool.from_defaults(client, name=name)

        def search(input: str) -> str:  # noqa: A002 - LlamaIndex's name
            """Search."""
            return "\n".join(node.text for node in retriever.retrieve(input)[:most])

        return FunctionTool.from_defaults(search, name=name)

    def _agent(
        self, tools: list[Any], turns: list[list[Any]], name: str = "agent", **fields: Any
    ) -> FunctionAgent:
        def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
            self.llm.prompts.append("\n".join(str(message.content) for message in messages))
            answered = sum(message.role == MessageRole.TOOL for message in messages)
            called = 0
            for turn in turns:
                if called == answered:
                    pairs = [
                        (each, {"input": f"q {each}"}) if isinstance(each, str) else each
                        for each in turn
                    ]
                    calls = [
                        ToolCallBlock(tool_call_id=tool, tool_name=tool, tool_kwargs=given)
                        for tool, given in pairs
                    ]
                    return ChatMessage(role="assistant", blocks=[TextBlock(text=""), *calls])
                called += len(turn)
            return ChatMessage(role="assistant", content="an answer")

        llm = MockFunctionCallingLLM(response_generator=reply, is_chat_model=True)
        return FunctionAgent(
            name=name, description="d", tools=tools, llm=llm, streaming=False, **fields
        )


class Composed(BaseRetriever):
    """Retrieves from two others, and changes what they return."""

    def __init__(self, program: Program, first: BaseRetriever, second: BaseRetriever) -> None:
        self.first, self.second, self.change = first, second, program.change()
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = [*self.first.retrieve(query_bundle), *self.second.retrieve(query_bundle)]
        return self.change.changed(nodes)


class Returning(BaseRetriever):
    """Notes what it returns."""

    def __init__(self, program: Program, inside: BaseRetriever) -> None:
        self.program, self.inside = program, inside
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.program.returned = self.inside.retrieve(query_bundle)
        return self.program.returned


class Keeping(CustomQueryEngine):
    """Notes the nodes of an engine that asks no model."""

    def __init__(self, program: Program, inside: Any) -> None:
        super().__init__()
        self._program, self._inside = program, inside

    def custom_query(self, query_str: str) -> Any:
        """Answer."""
        response = self._inside.query(query_str)
        self._program.returned = response.source_nodes
        return response


def _drops_ids(change: Changes) -> bool:
    node = NodeWithScore(node=TextNode(id_="x", text="y"), score=1)
    return change.changed([node])[0].node_id != "x"


def outcome(program: Program, found: Any) -> str:
    """Return whether a record is right, wrong, or unscored and why."""
    if found.error is not None or found.contexts is None:
        return f"unscored: {found.error}"
    said = markers("\n".join(context.text or "" for context in found.contexts))
    return "right" if said == program.truth and not program.fails else "wrong"


def ask(retriever: Any, sample: Any, *, awaited: bool) -> Any:
    """Return what is retrieved, one way or the other."""
    if awaited or retriever.asynchronous:
        return asyncio.run(retriever.aretrieve(sample))
    return retriever.retrieve(sample)
