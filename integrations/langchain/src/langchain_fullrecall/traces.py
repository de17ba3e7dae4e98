"""A LangSmith trace as the tree of runs that a recorder would have built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langchain_fullrecall.messages import artifact_documents
from langchain_fullrecall.outputs import DOCUMENT_KEYS, WRAPPER_KEYS, is_list, question
from langchain_fullrecall.recorder import SNAPSHOTS, brief, texts_of, tool_snapshot
from langchain_fullrecall.tree import Node, documents_of, snapshot, tool_query

if TYPE_CHECKING:
    from langsmith.schemas import Run


def node_of(run: Run) -> Node:
    """Return a run and all below it as a node.

    What the run returned is taken from what was copied when it ended, where this process has
    seen that: a trace that is still in it holds the application's own lists.
    """
    metadata = dict((run.extra or {}).get("metadata") or {})
    kind = run.run_type if run.run_type in ("retriever", "tool", "llm") else "chain"
    node = Node(run.name or kind, kind, tuple(run.tags or ()), metadata, ended=True)
    inputs, outputs = run.inputs or {}, run.outputs or {}
    node.query = tool_query(inputs.get("input", inputs)) if kind == "tool" else question(inputs)
    if kind == "llm":
        node.prompts = _prompts(inputs)
    given = inputs.get("input")
    node.asked = list(given) if isinstance(given, list) else None
    node.error = brief(run.error) if run.error else None
    node.began = None if run.start_time is None else run.start_time.timestamp()
    node.over = None if run.end_time is None else run.end_time.timestamp()
    if node.error is None:
        found = SNAPSHOTS.get(run.id) or _found(kind, outputs)
        node.contexts, node.problem = found or (None, None)
    # A run that reports two callers stands twice in the tree: it ran once.
    children = {child.id: child for child in run.child_runs or ()}
    for child in sorted(children.values(), key=_started):
        below = node_of(child)
        below.parent = node
        node.children.append(below)
    return node


def unseen_in(run: Run) -> str:
    """Return why a trace shows no retrieval."""
    if run.error:
        return f"the run failed, and no retriever was traced in it: {brief(run.error)}"
    if run.child_runs is None:
        return "the run was loaded without its child runs: load_nested=True loads them"
    held = ", ".join(map(repr, run.outputs or {})) or "nothing"
    return (
        f"the trace has no retriever run, and the output holds no documents (it holds {held}): "
        f"pass documents_key= to name the key, or return them under {DOCUMENT_KEYS[0]!r}"
    )


def _found(kind: str, outputs: Mapping[str, Any]) -> Any:
    if kind == "retriever":
        return snapshot(_documents(outputs))
    if kind == "tool":
        output = outputs.get("output")
        if isinstance(output, Mapping) and isinstance(output.get("kwargs"), Mapping):
            output = output["kwargs"]
        if isinstance(output, Mapping) and "artifact" not in output:
            documents = artifact_documents(output)
            return None if documents is None else snapshot(documents)
        return tool_snapshot(output)
    documents = documents_of(outputs.get("output"))
    return None if documents is None else snapshot(documents)


def _documents(outputs: Mapping[str, Any]) -> Any:
    """Return the documents in a retriever run's outputs, None where there are none."""
    for key in ("documents", *WRAPPER_KEYS, *DOCUMENT_KEYS):
        value = outputs.get(key)
        if is_list(value):
            return value
    lists = [value for value in outputs.values() if is_list(value)]
    return lists[0] if len(lists) == 1 else None


def _prompts(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    prompts = inputs.get("prompts")
    if isinstance(prompts, list):
        return tuple(prompt for prompt in prompts if isinstance(prompt, str))
    messages = inputs.get("messages")
    if not isinstance(messages, list) or not messages:
        return ()
    batches = messages if isinstance(messages[0], list) else [messages]
    return tuple(text for batch in batches for text in texts_of(batch))


def _started(run: Run) -> str:
    # The last part of the dotted order begins with the start time. What follows is random, so
    # that of runs that started in the same instant the tree's own order decides.
    return run.dotted_order.rpartition(".")[2].partition("Z")[0]
