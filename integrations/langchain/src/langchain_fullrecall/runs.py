"""What a LangSmith run says was retrieved: in its outputs, or by the retrievers it traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_fullrecall.calls import RetrieverCall, snapshot
from langchain_fullrecall.outputs import (
    DOCUMENT_KEYS,
    WRAPPER_KEYS,
    Output,
    answer,
    is_list,
    question,
    read_output,
)
from langchain_fullrecall.retrieval import Retrieval, brief
from langchain_fullrecall.selection import OUTERMOST, Selection

if TYPE_CHECKING:
    from langsmith.schemas import Run

    from langchain_fullrecall.documents import DocumentReader


def retriever_calls(run: Run) -> list[RetrieverCall]:
    """Return the outermost retriever calls in a run's tree, in the order they started in.

    The run itself may be one. Each call has those below it.
    """
    children = sorted(run.child_runs or (), key=_started)
    below = [call for child in children for call in retriever_calls(child)]
    return [_call(run, below)] if run.run_type == "retriever" else below


def read_run(
    run: Run,
    reader: DocumentReader,
    selection: Selection = OUTERMOST,
    documents_key: str | None = None,
) -> Output:
    """Return what a run says was retrieved and answered; `retrieval` is always given.

    The run's outputs count where they hold documents (under `documents_key`, where given),
    otherwise the retriever calls in its tree that are selected. Any selection but that of all
    outermost calls asks for the trace: then the calls come before the outputs, and one that
    names the calls is never answered from the outputs.

    Raises `InputError` where there are documents that cannot be read.
    """
    calls = retriever_calls(run)
    if documents_key is None and selection != OUTERMOST and (calls or selection.filters):
        seen = selection.retrieval(calls, reader) if calls else Retrieval(unseen=_no_calls(run))
        return Output(seen, response=answer(run.outputs or {}))
    output = read_output(run.outputs or {}, reader, documents_key)
    return output._replace(retrieval=_retrieval(run, calls, output, reader))


def _call(run: Run, below: Sequence[RetrieverCall]) -> RetrieverCall:
    outputs = run.outputs or {}
    contexts, problem = snapshot(_documents(outputs))
    error = brief(run.error) if run.error else None
    return RetrieverCall(
        run.name or "retriever",
        question(run.inputs),
        None if error else contexts,
        error,
        problem,
        tuple(run.tags or ()),
        dict((run.extra or {}).get("metadata") or {}),
        tuple(below),
    )


def _retrieval(
    run: Run, calls: Sequence[RetrieverCall], output: Output, reader: DocumentReader
) -> Retrieval:
    """Return what was retrieved, by the run's output and by the retriever calls below it."""
    given = output.retrieval
    if given is not None and given.unseen is not None:
        return Retrieval(unseen=f"the run failed: {brief(run.error)}") if run.error else given
    if given is not None:
        # A chain that goes on without documents where its retriever failed retrieved nothing
        # that could be measured: an error is not an empty result.
        failed = bool(calls) and all(call.error for call in calls)
        hidden = failed and not (given.contexts or given.ids)
        return OUTERMOST.retrieval(calls, reader) if hidden else given
    if not calls and output.items is not None:
        return Retrieval(reader.contexts(output.items))
    if not calls:
        return Retrieval(unseen=_no_calls(run))
    retrieval = OUTERMOST.retrieval(calls, reader)
    if output.items == [] and retrieval.contexts:
        # Did the chain drop all documents, or is this its answer? Either guess scores a lie.
        return Retrieval(
            unseen="the output is an empty list, while its retriever brought documents: "
            'documents_key="output" says that the output is what was retrieved'
        )
    return retrieval


def _started(run: Run) -> str:
    # The last part of the dotted order begins with the start time. What follows is random, so
    # that of runs that started in the same instant the tree's own order decides.
    return run.dotted_order.rpartition(".")[2].partition("Z")[0]


def _documents(outputs: Mapping[str, Any]) -> Any:
    """Return the documents in a retriever run's outputs, None where there are none."""
    for key in ("documents", *WRAPPER_KEYS, *DOCUMENT_KEYS):
        value = outputs.get(key)
        if is_list(value):
            return value
    lists = [value for value in outputs.values() if is_list(value)]
    return lists[0] if len(lists) == 1 else None


def _no_calls(run: Run) -> str:
    if run.error:
        return f"the run failed, and no retriever was traced in it: {brief(run.error)}"
    if run.child_runs is None:
        return "the run was loaded without its child runs: load_nested=True brings them"
    held = ", ".join(map(repr, run.outputs or {})) or "nothing"
    return (
        f"the trace has no retriever run, and the output holds no documents (it holds {held}; "
        f"documents_key= names the key, or return them under {DOCUMENT_KEYS[2]!r})"
    )
