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

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Leak, Recall, calls, seconds, tokens
from llama_index.evaluation.fullrecall import observed

looks_at_agents = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
"""LlamaIndex reads all attributes of an agent that it makes, pydantic's deprecated ones too."""

_LENGTHS = {name: 4 * (20 + 7 * nth) for nth, name in enumerate("abcdefghij")}
"""The characters of each node: whole tokens, and no two sums of them alike by chance."""


def node(name: str) -> NodeWithScore:
    """Return a new copy of a node."""
    return NodeWithScore(node=TextNode(id_=name, text=f"{name} " * (_LENGTHS[name] // 2)))


class Search(BaseRetriever):
    """A retriever of the nodes that a query names, with a log of times; "broken" raises."""

    def __init__(self) -> None:
        super().__init__()
        self.began: list[float] = []
        self.ended: dict[str, float] = {}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.began.append(time.monotonic())
        query = query_bundle.query_str.strip().rpartition(" ")[2]
        if query == "broken":
            raise ConnectionError("the index is gone")
        found = [node(name) for name in query.rstrip(".")]
        now = time.monotonic()
        for each in found:
            self.ended.setdefault(each.node.node_id, now)
        return found


def drawn(rng: random.Random) -> list[list[str]]:
    """Return the searches of an agent, by turn: parallel, repeated, empty and failing ones."""
    known = ["".join(rng.sample("abcdefghij", rng.randint(0, 4))) for _ in range(4)]
    queries = [f"{ids}." for ids in known] + ["broken"]
    return [
        [rng.choice(queries) for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 4))
    ]


def counted(turns: list[list[str]]) -> dict[str, tuple[int, float]]:
    """Return after which call and how many tokens each document was first read, by hand."""
    paid: dict[str, tuple[int, float]] = {}
    read = 0.0
    for number, query in enumerate((query for turn in turns for query in turn), start=1):
        for name in "" if query == "broken" else query.rstrip("."):
            read += _LENGTHS[name] / 4
            paid.setdefault(name, (number, read))
    return paid


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
        after = time.monotonic()
        expected = counted(turns)
        if not expected:
            assert not found.contexts, turns
            continue
        assert found.error is None, (turns, found.error)
        sample = Sample(reference_context_ids=sorted(expected), retrieval=found)
        result = IdRecall().score(sample)
        total = sum(map(len, turns))
        for number in range(1, total + 1):
            share = sum(call <= number for call, _ in expected.values()) / len(expected)
            assert result[Recall @ calls(number)] == pytest.approx(share), (turns, number)
        for _, read in expected.values():
            share = sum(each <= read for _, each in expected.values()) / len(expected)
            assert result[Recall @ tokens(int(read))] == pytest.approx(share), turns
        for context, ended in zip(found.contexts or (), found.seconds or (), strict=True):
            assert ended is not None
            assert search.ended[str(context.id)] - search.began[0] <= ended <= after - before
        assert result[Recall @ seconds(after - before)] == 1.0
        (part,) = evaluate([sample], IdRecall(), progress=False).table.parts
        assert part.costs.calls_made[0] == total


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
