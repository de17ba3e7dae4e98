"""What agents answer with: the calls of their tools, and the nodes that these returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.schema import NodeWithScore

from fullrecall import Retrieval
from fullrecall.steps import StepLog, brief
from llama_index.evaluation.fullrecall.reader import NodeValueReader
from llama_index.evaluation.fullrecall.record import Reading
from llama_index.evaluation.fullrecall.responses import is_response, source_nodes


def agent_text(output: AgentOutput) -> str | None:
    """Return the agent's answer."""
    return output.response.content


def agent_retrieval(output: AgentOutput, reading: Reading) -> Retrieval:
    """Return the record of an agent's tool calls, as far as its output tells.

    LlamaIndex lists them in the order in which they ended; here they stand in that of their IDs.
    Raises `InputError` for nodes that the options cannot read.
    """
    log = StepLog(NodeValueReader())
    for result in sorted(_results(output), key=lambda result: result.tool_id):
        texts = [value for value in result.tool_kwargs.values() if isinstance(value, str)]
        query = texts[0] if len(texts) == 1 else repr(result.tool_kwargs)
        name, id_ = result.tool_name, result.tool_id
        log.begin(id_, None, "tool", name, query=query, callee=name)
        failed = brief(result.tool_output.content) if result.tool_output.is_error else None
        log.end(id_, result.tool_output, error=failed)
    unseen = (
        "the agent's tools returned no nodes: pass observed(agent) to evaluate, or run it in a "
        "`with capture_retrievals():`"
    )
    return reading.record_of(log.steps, response=agent_text(output), unseen=unseen)


def agent_nodes(output: AgentOutput) -> list[NodeWithScore]:
    """Return all nodes that the tools returned."""
    return [node for each in _results(output) for node in _nodes(each)]


def _results(output: AgentOutput) -> list[ToolCallResult]:
    calls: list[Any] = list(output.tool_calls)
    return [call for call in calls if isinstance(call, ToolCallResult)]


def _nodes(result: ToolCallResult) -> Sequence[NodeWithScore]:
    raw = result.tool_output.raw_output
    nodes = source_nodes(raw) if is_response(raw) else raw
    return (
        [each for each in nodes if isinstance(each, NodeWithScore)]
        if isinstance(nodes, list)
        else []
    )
