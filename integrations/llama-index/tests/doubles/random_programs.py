"""Random programs of LlamaIndex's parts, whose truth is the model's prompt, or the output.

Each document has a marker in its text. A program is drawn by its seed, and gives the same when
asked twice.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from known_steps import Asks
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever, TransformRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from random_parts import (
    Brings,
    ByHand,
    Changes,
    Composed,
    Keeping,
    Returning,
    Rewrites,
    Scripted,
    Selects,
    Steps,
    Tries,
    Waits,
    answered_by,
    drops_ids,
    markers,
    text_of,
)

NAMES = [f"d{number}" for number in range(14)]
"""The documents of all stores."""

_MODES = ("compact", "refine", "tree_summarize", "simple_summarize", "accumulate", "no_text")


class Program:
    """One random program.

    - `thing`: the observed object.
    - `llm`: has all prompts; `returned`: the nodes that the program returned.
    - `fails`: a step fails without recovery, so that any score is wrong.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.llm = Scripted(prompts=[])
        self.returned: list[NodeWithScore] | None = None
        self.fails = False
        kinds = (
            self.engine, self.engine, self.citations, self.router, self.questions, self.by_hand,
            self.function, self.function, self.chat, self.workflow, self.agent, self.failing_tool,
            self.retriever, self.handing_over, self.waiting, self.approved,
        )  # fmt: skip
        self.kind = self.chance.choice(kinds)
        self.thing: Any = self.kind()

    @property
    def truth(self) -> set[str]:
        """Return the documents in all prompts, or the returned ones if no model was asked."""
        if self.llm.prompts:
            return markers("\n".join(self.llm.prompts))
        return markers("\n".join(node.text for node in self.returned or ()))

    # Parts

    def names(self) -> list[str]:
        """Draw the documents of a store."""
        return self.chance.sample(NAMES, self.chance.randrange(1, 5))

    def change(self) -> Changes:
        """Draw a postprocessor."""
        return Changes(seed=self.chance.randrange(10**6))

    def retriever(self, depth: int = 0) -> BaseRetriever:
        """Draw a retriever; alone, it gives the program's output."""
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
        """Draw an engine's postprocessors."""
        drawn: list[BaseNodePostprocessor] = [
            self.change() for _ in range(self.chance.randrange(3))
        ]
        return [*drawn, LongContextReorder()] if self.chance.random() < 0.2 else drawn

    # Programs

    def engine(self) -> Any:
        """Draw an engine with a retriever, postprocessors, and a synthesizer."""
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
        """Draw an engine that numbers and cuts its sources for citation."""
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
        """Draw engines, and a selector that chooses some of them."""
        places = self.chance.choice([(0,), (1,), (0, 1)])
        return RouterQueryEngine(Selects(*places), self.tools(), llm=self.llm)

    def questions(self) -> Any:
        """Draw an engine that asks each engine a question, and answers from their answers."""
        return SubQuestionQueryEngine.from_defaults(
            self.tools(),
            llm=self.llm,
            question_gen=Asks(one="to one", two="to two"),
            use_async=self.chance.random() < 0.5,
            verbose=False,
        )

    def by_hand(self) -> Any:
        """Draw an engine with a cut by hand."""
        return ByHand(program=self, retriever=self._retriever(0), change=self.change())

    def chat(self) -> Any:
        """Draw a chat engine."""
        made: Any = self.chance.choice([ContextChatEngine, CondensePlusContextChatEngine])
        return made.from_defaults(
            retriever=self._retriever(0),
            llm=self.llm,
            node_postprocessors=self.postprocessors(),
            memory=ChatMemoryBuffer.from_defaults(token_limit=9999),
        )

    def workflow(self) -> Any:
        """Draw a workflow of steps."""
        return Steps(self, self._retriever(0), answers=self.chance.random() < 0.6)

    def waiting(self) -> Any:
        """Draw a workflow that waits for a human."""
        flow = Waits(self, self._retriever(0), answers=self.chance.random() < 0.6)
        flow.inside = self.chance.random() < 0.5
        return answered_by(str(self.chance.randrange(1, 6)), flow, "query")

    def approved(self) -> Any:
        """Draw an agent whose tool asks a human, who may refuse, before or after it searches."""
        retriever, late = self._retriever(1), self.chance.random() < 0.5
        human = self.chance.choice(["yes", "yes", "no"])

        async def search(context: Context, input: str) -> str:  # noqa: A002 - LlamaIndex's name
            """Search."""
            nodes = await retriever.aretrieve(input) if late else []
            reply = await context.wait_for_event(
                HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="may I?")
            )
            if reply.response != "yes":
                return "no"
            nodes = nodes or await retriever.aretrieve(input)
            return "\n".join(node.text for node in nodes)

        # LlamaIndex does not read annotations that are texts.
        search.__annotations__["context"] = Context
        tools = [FunctionTool.from_defaults(async_fn=search, name="one"), self._tool("two")]
        agent = self._agent(tools, [["one"], ["two"]] if self.seed % 2 else [["two"], ["one"]])
        return answered_by(human, agent, "user_msg")

    def function(self) -> Callable[[str], Any]:
        """Draw a function that retrieves several times, changes nodes, and returns them."""
        retrievers = [self._retriever(1) for _ in range(self.chance.choice([1, 1, 2, 3]))]
        changes: list[Changes] = [self.change() for _ in range(self.chance.randrange(3))]
        form = self.chance.choice(["nodes", "texts", "mapping", "answer", "response", "text"])
        if any(map(drops_ids, changes)) and form == "texts":
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
        """Draw an agent that calls tools, in sequence or at once, and answers."""
        tools: list[Any] = [self._tool(name) for name in ("one", "two")]
        return self._agent(tools, [["one"], ["two"]] if self.seed % 2 else [["one", "two"]])

    def handing_over(self) -> Any:
        """Draw an agent that calls a tool and hands over to another agent with a tool."""
        hands = "handoff", {"to_agent": "other", "reason": "it knows"}
        first = self._agent([self._tool("one")], [["one"], [hands]], can_handoff_to=["other"])
        other = self._agent([self._tool("two")], [["one"], [hands], ["two"]], name="other")
        return AgentWorkflow(agents=[first, other], root_agent="agent")

    def failing_tool(self) -> Any:
        """Draw an agent with a tool that fails after it retrieved."""
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


def outcome(program: Program, found: Any) -> str:
    """Return whether a record is right, by texts and by IDs, wrong, or unscored and why."""
    if found.error is not None or found.contexts is None:
        return f"unscored: {found.error}"
    texts = markers("\n".join(context.text or "" for context in found.contexts))
    ids = {name for context in found.contexts for name in named(context, found)}
    is_right = texts == ids == program.truth and not program.fails
    return "right" if is_right else "wrong"


def named(context: Any, found: Any) -> set[str]:
    """Return the documents that count by a context's IDs; by its text if it has no such ID."""
    others = (found.other_ids.get(context.id, ()), found.part_ids.get(context.id, ()))
    ids = {str(context.id), *(own for each in others for own in each)}
    return ids.intersection(NAMES) or markers(context.text or "")


def ask(retriever: Any, sample: Any, *, awaited: bool) -> Any:
    """Return the retrieval, by `retrieve` or `aretrieve`."""
    if awaited or retriever.asynchronous:
        return asyncio.run(retriever.aretrieve(sample))
    return retriever.retrieve(sample)
