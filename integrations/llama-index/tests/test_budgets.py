"""Calls, tokens and seconds of real agents equal those counted by hand.

`FULLRECALL_RUNS=200` draws 200 agents of each kind.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool
from tests.agent_costs import Clock, check_costs, drawn, text_of

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Leak
from llama_index.evaluation.fullrecall import observed

looks_at_agents = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
"""LlamaIndex reads all attributes of an agent that it makes, pydantic's deprecated ones too."""


def node(name: str) -> NodeWithScore:
    """Return a new copy of a node."""
    return NodeWithScore(node=TextNode(id_=name, text=text_of(name)))


class Search(BaseRetriever):
    """A retriever of the nodes that a query names, with a log of times; "broken" raises."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.clock.began.append(time.monotonic())
        query = query_bundle.query_str.strip().rpartition(" ")[2]
        if query == "broken":
            raise ConnectionError("the index is gone")
        found = [node(name) for name in query.rstrip(".")]
        now = time.monotonic()
        for each in found:
            self.clock.ended.setdefault(each.node.node_id, now)
        return found


def agent_of(kind: str, turns: list[list[str]], search: Search) -> Any:
    """Return an agent that makes these searches."""
    left = iter(turns)
    number = iter(range(1000))

    def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        turn = next(left, None)
        if turn is None:
            return ChatMessage(role=MessageRole.ASSISTANT, content="An answer.")
        blocks = [
            ToolCallBlock(
                tool_call_id=f"{next(number)}", tool_name="search", tool_kwargs={"input": query}
            )
            for query in turn
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=[TextBlock(text=""), *blocks])

    agent = FunctionAgent(
        name="agent",
        description="d",
        tools=[RetrieverTool.from_defaults(search, name="search", description="d")],
        llm=MockFunctionCallingLLM(response_generator=reply, is_chat_model=True),
        streaming=False,
    )
    return agent if kind == "agent" else AgentWorkflow(agents=[agent])


@looks_at_agents
@pytest.mark.parametrize("kind", ["agent", "workflow"])
def test_costs_equal_those_counted_by_hand(kind: str, runs: int) -> None:
    """Each document's cost is the calls and tokens until it was first read, for every agent."""
    rng = random.Random(29)
    for _ in range(max(1, runs // 5) if runs < 100 else runs):
        turns, search = drawn(rng), Search()
        agent = agent_of(kind, turns, search)
        before = time.monotonic()
        found = observed(agent, failed_calls="score").retrieve(Sample(user_input="q"))
        check_costs(turns, found, search.clock, time.monotonic() - before)


class Allowed(BaseNodePostprocessor):
    """A filter after the retriever."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [each for each in nodes if each.node.node_id != "a"]


def test_the_list_leaks_and_the_prompt_does_not() -> None:
    """With a filter after the retriever, one forbidden node was retrieved, none in the prompt."""
    engine = RetrieverQueryEngine.from_args(
        Search(), llm=MockFunctionCallingLLM(), node_postprocessors=[Allowed()]
    )
    samples = [Sample(id="q", user_input="abc.", forbidden_ids=["a"])]
    leaks = {
        view: evaluate(samples, IdRecall(), retriever=observed(engine), view=view, progress=False)
        .summary(Leak @ 4)[0][Leak @ 4]
        .mean
        for view in ("retrieved", "contexts", "read")
    }
    assert leaks == {"retrieved": 1.0, "contexts": 0.0, "read": 0.0}
