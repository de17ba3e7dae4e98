"""What agents answer with: the calls of their tools, and the nodes that these returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.schema import NodeWithScore

from fullrecall import Retrieval
from fullrecall.retrieval import Call
from llama_index.evaluation.fullrecall.nodes import NodeReader
from llama_index.evaluation.fullrecall.observation.snapshots import is_node_list
from llama_index.evaluation.fullrecall.options import Reading
from llama_index.evaluation.fullrecall.responses import is_response, source_nodes


def agent_text(output: AgentOutput) -> str | None:
    """Return the agent's answer."""
    return output.response.content


def agent_retrieval(output: AgentOutput, reading: Reading) -> Retrieval:
    """Return the record of an agent's tool calls, as far as its output tells.

    Each call of a tool that returned nodes, or a response with source nodes, is one. LlamaIndex
    lists them in the order in which they ended; here they stand in that of their IDs. A failed
    call counts if its tool returned nodes elsewhere, or no tool did.

    Raises `InputError` for nodes that the options cannot read.
    """
    results = sorted(_results(output), key=lambda result: result.tool_id)
    searching = {one.tool_name for one in results if _nodes(one) is not None}
    calls = [
        _call(one, reading.reader)
        for one in results
        if _nodes(one) is not None
        or (one.tool_output.is_error and (not searching or one.tool_name in searching))
    ]
    if not calls:
        return Retrieval(
            error="the agent's tools returned no nodes: pass observed(agent) to evaluate, or run "
            "it in a `with capture_retrievals():`",
            response=agent_text(output),
        )
    return Retrieval.of_calls(calls, response=agent_text(output), failed_calls=reading.failed_calls)


def agent_nodes(output: AgentOutput) -> list[NodeWithScore]:
    """Return all nodes that the tools returned."""
    return [node for one in _results(output) for node in _nodes(one) or ()]


def _results(output: AgentOutput) -> list[ToolCallResult]:
    calls: list[Any] = list(output.tool_calls)
    return [call for call in calls if isinstance(call, ToolCallResult)]


def _nodes(result: ToolCallResult) -> Sequence[NodeWithScore] | None:
    raw = result.tool_output.raw_output
    if is_response(raw):
        return source_nodes(raw) or None
    return raw if is_node_list(raw) and raw else None


def _call(result: ToolCallResult, reader: NodeReader) -> Call:
    texts = [value for value in result.tool_kwargs.values() if isinstance(value, str)]
    query = texts[0] if len(texts) == 1 else None
    nodes = _nodes(result)
    if nodes is None:
        return Call(result.tool_name, query, error=result.tool_output.content)
    return Call(result.tool_name, query, tuple(reader.contexts(nodes)))
