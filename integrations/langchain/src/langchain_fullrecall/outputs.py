"""Read the documents, IDs, errors and tool queries in inputs and outputs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from fullrecall import Context, Sample
from fullrecall.errors import InputError
from fullrecall.observe import ROOT, StepLog
from fullrecall.samples.hit_fields import is_list
from langchain_fullrecall.documents import DocumentReader

_NAMES = Sample.names()
DOCUMENT_KEYS = (
    "retrieved_contexts",
    *_NAMES["retrieved_contexts"],
    "context",
    "retrieved_docs",
    "docs",
)
"""Names under which an output holds its retrieved contexts."""

_ID_KEYS = ("retrieved_context_ids", *_NAMES["retrieved_context_ids"])


def unwrapped(value: object, key: str = "output") -> Any:
    """Return a run's output or input without the mapping of one key in which tracing wraps it.

    A value that is not such a mapping is returned unchanged.
    """
    if isinstance(value, Mapping) and len(value) == 1 and key in value:
        return value[key]
    return value


def declared(
    output: object, reader: DocumentReader, documents_key: str | None, *, alone: bool
) -> list[Context] | None:
    """Return the contexts that an output certainly declares, or None.

    If `documents_key` is given, these are the documents under that key. Otherwise, they are the IDs
    under a usual name, with the texts beside the IDs. `alone` is True if no step was recorded:
    documents and texts under a usual name then count too. Raises `InputError` for values that are
    not documents, and for two names with different documents.
    """
    if not isinstance(output, Mapping):
        return None
    if documents_key is not None:
        documents = output.get(documents_key)
        return None if documents is None else reader.contexts(documents)
    ids = next((output[key] for key in _ID_KEYS if output.get(key) is not None), None)
    if ids is None:
        documents = _named(output) if alone else None
        return None if documents is None else reader.contexts(documents)
    texts = next((output[key] for key in DOCUMENT_KEYS if is_list(output.get(key))), None)
    if texts is not None:
        sample = Sample(retrieved_contexts=reader.read(texts), retrieved_context_ids=ids)
        return reader.collapsed(sample.retrieved_contexts or ())
    listed = list(ids) if is_list(ids) else ids
    paired = Sample(retrieved_context_ids=listed).retrieved_context_ids or ()
    # Keep a context without an ID, since it has a rank.
    return reader.collapsed([Context("" if own is None else None, id=own) for own in paired])


def _named(output: Mapping[str, Any]) -> list[Any] | None:
    """Return the list under a usual name of documents, or None.

    Raises `InputError` if there are several lists that differ.
    """
    lists = {key: list(output[key]) for key in DOCUMENT_KEYS if is_list(output.get(key))}
    first = next(iter(lists), None)
    if first is None:
        return None
    for key, documents in lists.items():
        if documents != lists[first]:
            raise InputError(
                f"the output has {first!r} and {key!r}, which differ: pass documents_key= to "
                "say which of them was retrieved",
                field="retrieved_contexts",
            )
    return lists[first]


def separate_lists(output: object, log: StepLog) -> None:
    """Record each list of an output as the result of a separate step.

    Does nothing if the output has a usual name of documents or IDs: only the list under it counts.
    """
    if not isinstance(output, Mapping) or not output.keys().isdisjoint((*DOCUMENT_KEYS, *_ID_KEYS)):
        return
    for name, value in output.items():
        if is_list(value):
            log.begin(name, ROOT, "chain", str(name))
            log.end(name, value)


def held(output: object) -> str:
    """Return a text with an output's keys, or else its type, for a message."""
    if isinstance(output, Mapping):
        return f"the output has {', '.join(map(repr, output)) or 'nothing'}"
    return f"the output is {type(output).__name__}"


def checked_key(output: object, documents_key: str | None) -> None:
    """Raise `InputError` if an output has no value at `documents_key`."""
    if documents_key is None:
        return
    if not isinstance(output, Mapping) or output.get(documents_key) is None:
        raise InputError(f"the output has no {documents_key!r}: {held(output)}")


def tool_query(arguments: Any) -> str | None:
    """Return a tool's query: the text named query, question or input, else its only text.

    If there is no such text, all arguments are returned as one text; None without arguments.
    """
    if isinstance(arguments, str):
        try:
            read = ast.literal_eval(arguments)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return arguments
        return tool_query(read) if isinstance(read, Mapping) else arguments
    if not isinstance(arguments, Mapping):
        return None
    for name in ("query", "question", "input"):
        if isinstance(arguments.get(name), str):
            text: str = arguments[name]
            return tool_query(text) if len(arguments) == 1 else text
    texts = [value for value in arguments.values() if isinstance(value, str)]
    if len(texts) == 1:
        return texts[0]
    return repr(dict(arguments)) if arguments else None
