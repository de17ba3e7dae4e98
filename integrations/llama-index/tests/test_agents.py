"""An agent's output, without a record, gives its retrieval."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import ToolOutput

from fullrecall.measures import Recall
from llama_index.evaluation.fullrecall import RecallEvaluator


def nodes(*names: str) -> list[NodeWithScore]:
    """Return nodes of these IDs."""
    return [NodeWithScore(node=TextNode(id_=name, text=f"About {name}.")) for name in names]


def call(own_id: str, raw: Any, *, tool: str = "search", failed: bool = False) -> ToolCallResult:
    """Return the result of a tool call."""
    output = ToolOutput(
        content="boom" if failed else "x",
        tool_name=tool,
        raw_input={},
        raw_output=raw,
        is_error=failed,
    )
    return ToolCallResult(
        tool_name=tool,
        tool_kwargs={"input": f"to {own_id}"},
        tool_id=own_id,
        tool_output=output,
        return_direct=False,
    )


def output(*calls: ToolCallResult) -> AgentOutput:
    """Return an agent's output after these calls, in the order in which they ended."""
    ended = AgentOutput(
        response=ChatMessage(role="assistant", content="an answer"), current_agent_name="agent"
    )
    # The cast is like the workflow's own: the field names another type.
    ended.tool_calls = list(calls)
    return ended


def test_the_order_of_completion_is_no_rank() -> None:
    """Calls are in the order of their IDs, and each list has its own ranks."""
    one, two = call("1", nodes("a", "b")), call("2", Response("x", nodes("c", "d")))
    evaluator = RecallEvaluator(None, Recall @ 1)
    answers = [
        evaluator.evaluate("q", output(*calls), expected_ids=["a", "c", "d", "x"])
        for calls in ((one, two), (two, one))
    ]
    first, second = answers
    assert first == second
    assert (first.score, first.response) == (0.5, "an answer")
    record = first.sample.retrieval
    assert record is not None
    assert [(each.source, each.query) for each in record.calls] == [
        ("search", "to 1"),
        ("search", "to 2"),
    ]
    assert {name: result.score for name, result in first.stages.items()} == {
        "search": 0.25,
        "search 2": 0.5,
    }


def test_a_failed_call_counts_if_its_tool_searches() -> None:
    """A tool that failed leaves the sample unscored, unless told otherwise."""
    searched = call("1", nodes("a"))
    broken = output(searched, call("2", None, failed=True))
    answer = RecallEvaluator().evaluate("q", broken, expected_ids=["a"])
    assert "1 of 2 calls failed (search: boom)" in (answer.invalid_reason or "")
    assert RecallEvaluator(failed_calls="score").evaluate("q", broken, expected_ids=["a"]).score


@pytest.mark.parametrize("raw", ["a text", 7, [], None], ids=repr)
def test_tools_without_nodes_tell_nothing(raw: Any) -> None:
    """A search without nodes is unknown, so the sample is unscored."""
    answer = RecallEvaluator().evaluate("q", output(call("1", raw)), expected_ids=["a"])
    assert answer.score is None
    assert "the agent's tools returned no nodes: pass observed(agent)" in str(answer.invalid_reason)
