"""Captured agents and workflows have the nodes that their own tools returned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from known_engines import Echo, First, finals, run
from known_engines import retrieved as retrieved_by
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import QueryEngineTool, ToolOutput
from llama_index.core.tools.types import AsyncBaseTool, BaseTool, ToolMetadata
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step

from llama_index.evaluation.fullrecall import capture_retrievals
from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture

pytestmark = pytest.mark.usefixtures("nothing_is_left_open")


# Agents and workflows

looks_at_agents = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
"""LlamaIndex reads all attributes of an agent that it makes, pydantic's deprecated ones too."""


def calls_once(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Call the tool with the user's message, and answer when its output is there."""
    if messages[-1].role == MessageRole.TOOL:
        return ChatMessage(role="assistant", content="an answer")
    asked = next(m.content for m in reversed(messages) if m.role == MessageRole.USER)
    call = ToolCallBlock(tool_call_id="1", tool_name="search", tool_kwargs={"input": asked})
    return ChatMessage(role="assistant", blocks=[TextBlock(text=""), call])


def function_agent(tool: Any) -> FunctionAgent:
    """Return an agent that calls `tool` once."""
    llm = MockFunctionCallingLLM(response_generator=calls_once, is_chat_model=True)
    return FunctionAgent(name="agent", description="d", tools=[tool], llm=llm, streaming=False)


async def captured(agent: Any, question: str) -> LlamaIndexCapture:
    """Run an agent in a block, and return its retrieval."""
    with capture_retrievals() as capture:
        await run(agent, question)
    return capture


def query_tool(engine: BaseQueryEngine) -> QueryEngineTool:
    """Return an engine as the tool "search"."""
    return QueryEngineTool.from_defaults(engine, name="search", description="d")


@looks_at_agents
def test_an_agent_with_an_engine_as_tool(echo: BaseQueryEngine) -> None:
    """The capture has the nodes and the tool's response, which the agent's output lacks."""
    with capture_retrievals() as block:
        capture = asyncio.run(captured(function_agent(query_tool(echo)), "a"))
    assert finals(capture) == ["for a"]
    assert len(retrieved_by(capture)) == 2
    assert finals(block.calls[0]) == ["for a"]


def first_of(question: str) -> ToolOutput:
    """Return the first retrieved node, chosen by hand."""
    nodes = Echo().retrieve(question)[:1]
    return ToolOutput(tool_name="search", content="", raw_input={}, raw_output=nodes)


class OwnTool(BaseTool):
    """A user's own tool."""

    @property
    def metadata(self) -> ToolMetadata:
        """Return the tool's name."""
        return ToolMetadata(name="search", description="d")

    def __call__(self, input: Any) -> ToolOutput:  # noqa: A002 - LlamaIndex's name
        """Search."""
        return first_of(input)


class OwnAsyncTool(AsyncBaseTool):
    """A user's own tool that can be awaited."""

    @property
    def metadata(self) -> ToolMetadata:
        """Return the tool's name."""
        return ToolMetadata(name="search", description="d")

    def call(self, input: Any) -> ToolOutput:  # noqa: A002 - LlamaIndex's name
        """Search."""
        return first_of(input)

    async def acall(self, input: Any) -> ToolOutput:  # noqa: A002 - LlamaIndex's name
        """Search."""
        return first_of(input)


@pytest.mark.parametrize(
    "use",
    [
        OwnTool(),
        OwnAsyncTool(),
        OwnAsyncTool().call,
        lambda question: asyncio.run(OwnAsyncTool().acall(question)),
    ],
    ids=["tool", "async tool", "call", "acall"],
)
def test_the_result_of_a_users_own_tool_is_final(use: Any) -> None:
    """The result of a user's own tool is the final list, for every call."""
    with capture_retrievals() as capture:
        use("a")
    assert finals(capture) == ["for a"]
    assert len(retrieved_by(capture)) == 2


"""Whether this LlamaIndex runs plain functions in threads with the context of the call."""


@looks_at_agents
def test_an_agent_that_hands_over(echo: BaseQueryEngine) -> None:
    """LlamaIndex's own hand-off tool returns a long text, and retrieves nothing."""

    def hands_over(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        tools_called = sum(message.role == MessageRole.TOOL for message in messages)
        if tools_called:  # The second agent, which has the tool's message, makes one call.
            return calls_once(messages[:1] if tools_called == 1 else messages)
        arguments = {"to_agent": "agent", "reason": "it is the one that knows"}
        call = ToolCallBlock(tool_call_id="0", tool_name="handoff", tool_kwargs=arguments)
        return ChatMessage(role="assistant", blocks=[TextBlock(text=""), call])

    llm = MockFunctionCallingLLM(response_generator=hands_over, is_chat_model=True)
    first = FunctionAgent(name="first", description="d", llm=llm, streaming=False)
    second = FunctionAgent(
        name="agent", description="d", tools=[query_tool(echo)], llm=llm, streaming=False
    )
    workflow = AgentWorkflow(agents=[first, second], root_agent="first")
    capture = asyncio.run(captured(workflow, "a"))
    assert finals(capture) == ["for a"]
    assert capture.retrieval().error is None


@looks_at_agents
# The agent itself called this.
@pytest.mark.filterwarnings("ignore:is_running called:DeprecationWarning")
def test_a_react_agent(echo: BaseQueryEngine) -> None:
    """An agent whose model writes its calls as text is captured."""

    def thinks(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        if "Observation" in (messages[-1].content or ""):
            return ChatMessage(role="assistant", content="Thought: I know.\nAnswer: an answer")
        text = 'Thought: search.\nAction: search\nAction Input: {"input": "a"}'
        return ChatMessage(role="assistant", content=text)

    llm = MockFunctionCallingLLM(response_generator=thinks, is_chat_model=True)
    agent = ReActAgent(
        name="agent", description="d", tools=[query_tool(echo)], llm=llm, streaming=False
    )
    assert finals(asyncio.run(captured(agent, "a"))) == ["for a"]


class Retrieved(Event):
    """The first step's output for the second."""

    nodes: list[NodeWithScore]


class TwoSteps(Workflow):
    """A user's workflow: retrieve in one step, rerank and answer in another."""

    @step
    async def retrieve(self, ctx: Context, ev: StartEvent) -> Retrieved:
        """Retrieve."""
        return Retrieved(nodes=await Echo().aretrieve(ev.question))

    @step
    async def answer(self, ev: Retrieved) -> StopEvent:
        """Rerank and answer."""
        nodes = await First().apostprocess_nodes(ev.nodes)
        return StopEvent(result=nodes[0].text)


def test_workflows_that_run_at_the_same_time_keep_apart() -> None:
    """Parallel workflows in blocks keep apart, each with its reranker in the second step."""

    async def each(question: str) -> LlamaIndexCapture:
        with capture_retrievals() as capture:
            assert await TwoSteps().run(question=question) == question
        return capture

    async def run_all() -> list[LlamaIndexCapture]:
        return await asyncio.gather(*(each(f"q{n}") for n in range(20)))

    captures = asyncio.run(run_all())
    assert [finals(capture) for capture in captures] == [[f"for q{n}"] for n in range(20)]
    assert all(len(retrieved_by(capture)) == 2 for capture in captures)
    (call,) = captures[0].retrieval().calls
    assert (call.source, [part.source for part in call.children]) == ("First", ["Echo"])
