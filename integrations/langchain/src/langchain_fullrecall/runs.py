"""What a LangSmith run says was retrieved: in its outputs, or by the retrievers it traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fullrecall import Context, InputError
from langchain_fullrecall.outputs import DOCUMENT_KEYS, WRAPPER_KEYS, Output, is_list, read_output
from langchain_fullrecall.retrieval import Retrieval, brief

if TYPE_CHECKING:
    from langsmith.schemas import Run

    from langchain_fullrecall.documents import DocumentReader

Which: TypeAlias = Literal["outermost", "innermost"]
"""Which of nested retriever runs counts: the one that a chain called, whose documents are merged
or reranked already, or those that called no further one."""


def retriever_runs(run: Run, which: Which = "outermost") -> list[Run]:
    """Return the retriever runs in a run's tree, itself included, in the order they started in."""
    is_retriever = run.run_type == "retriever"
    if is_retriever and which == "outermost":
        return [run]
    children = sorted(run.child_runs or (), key=_started)
    return [found for child in children for found in retriever_runs(child, which)] or (
        [run] if is_retriever else []
    )


def read_run(
    run: Run, reader: DocumentReader, which: Which = "outermost", documents_key: str | None = None
) -> Output:
    """Return what a run says was retrieved and answered; `retrieval` is always given.

    The run's outputs count where they hold documents (under `documents_key`, where given),
    otherwise the retriever runs in its tree that did not fail: their documents are joined in
    the order the runs started in, and a document that an earlier run brought comes once. With
    `which="innermost"` the retriever runs come first.

    Raises `InputError` where there are documents that cannot be read.
    """
    runs = retriever_runs(run, which)
    if which == "innermost" and runs and documents_key is None:
        return Output(_brought(runs, reader))
    output = read_output(run.outputs or {}, reader, documents_key)
    return output._replace(retrieval=_retrieval(run, runs, output, reader))


def _retrieval(run: Run, runs: Sequence[Run], output: Output, reader: DocumentReader) -> Retrieval:
    """Return what was retrieved, by the run's output and by the retriever runs below it."""
    given = output.retrieval
    if given is not None and given.unseen is not None:
        return Retrieval(unseen=f"the run failed: {brief(run.error)}") if run.error else given
    if given is not None:
        # A chain that goes on without documents where its retriever failed retrieved nothing
        # that could be measured: an error is not an empty result.
        failed = bool(runs) and all(below.error for below in runs)
        return _brought(runs, reader) if failed and not (given.contexts or given.ids) else given
    if not runs and output.items is not None:
        return Retrieval(reader.contexts(output.items))
    if not runs:
        return Retrieval(unseen=_no_retriever(run))
    retrieval = _brought(runs, reader)
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


def _brought(runs: Sequence[Run], reader: DocumentReader) -> Retrieval:
    """Return the documents of the retriever runs that did not fail."""
    worked = [run for run in runs if not run.error]
    if not worked:
        errors = dict.fromkeys(brief(run.error or "") for run in runs)
        return Retrieval(error="; ".join(errors))
    joined: list[Context] = []
    brought: set[tuple[str | None, str | None]] = set()
    for run in worked:
        documents = _documents(run.outputs or {})
        if documents is None:
            return Retrieval(unseen=f"the retriever run {run.name!r} has no documents")
        contexts = _contexts(run, documents, reader)
        joined += [context for context in contexts if (context.id, context.text) not in brought]
        brought.update((context.id, context.text) for context in contexts)
    return Retrieval(joined)


def _documents(outputs: Mapping[str, Any]) -> Any:
    """Return the documents in a retriever run's outputs, None where there are none."""
    for key in ("documents", *WRAPPER_KEYS, *DOCUMENT_KEYS):
        value = outputs.get(key)
        if is_list(value):
            return value
    lists = [value for value in outputs.values() if is_list(value)]
    return lists[0] if len(lists) == 1 else None


def _contexts(run: Run, documents: Any, reader: DocumentReader) -> list[Context]:
    try:
        return reader.contexts(documents)
    except InputError as error:
        raise InputError(f"retriever run {run.name!r}: {error}", field=error.field) from None


def _no_retriever(run: Run) -> str:
    if run.error:
        return f"the run failed before any retriever ran: {brief(run.error)}"
    if run.child_runs is None:
        return "the run was loaded without its child runs: load_nested=True brings them"
    held = ", ".join(map(repr, run.outputs or {})) or "nothing"
    return (
        f"the trace has no retriever run, and the output holds no documents (it holds {held}; "
        f"documents_key= names the key, or return them under {DOCUMENT_KEYS[2]!r})"
    )
