"""What the output of a chain says was retrieved and answered, and its inputs were asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from fullrecall import InputError, Sample
from langchain_fullrecall.documents import DocumentReader, is_document
from langchain_fullrecall.retrieval import Retrieval

_NAMES = Sample.names()
DOCUMENT_KEYS = (
    "retrieved_contexts",
    *_NAMES["retrieved_contexts"],
    "context",  # create_retrieval_chain
    "retrieved_docs",
    "docs",
)
"""Where chains put the documents that they retrieved."""

_ID_KEYS = ("retrieved_context_ids", *_NAMES["retrieved_context_ids"])
_ANSWER_KEYS = ("response", *_NAMES["response"], "result", "output_text")
_QUESTION_KEYS = ("user_input", *_NAMES["user_input"])
WRAPPER_KEYS = ("output", "outputs")
"""Where tracing puts the output of what does not return a mapping."""


class Output(NamedTuple):
    """An output as it was read.

    - `retrieval`: what it says was retrieved, None where it does not say.
    - `items`: a list under "output", which may be what was retrieved, or an answer.
    - `response`: what the generator said.
    """

    retrieval: Retrieval | None = None
    items: list[Any] | None = None
    response: str | None = None


def read_output(output: object, reader: DocumentReader, documents_key: str | None = None) -> Output:
    """Return what an output holds: a list of documents, a mapping, a message or an answer.

    `documents_key` names the key of a mapping under which the documents are. Raises `InputError`
    where they are no documents, and where several keys hold different ones.
    """
    if isinstance(output, Mapping):
        return _read_mapping(output, reader, documents_key)
    if is_list(output):
        return Output(Retrieval(reader.contexts(output)))  # type: ignore[arg-type]
    return Output(response=answer(output))


def answer(output: object) -> str | None:
    """Return what the generator said, None where the output does not say."""
    if not isinstance(output, Mapping):
        return _text(output)
    answers = (_text(output[key]) for key in _ANSWER_KEYS if key in output)
    return next((found for found in answers if found is not None), None)


def is_list(value: object) -> bool:
    """Return whether `value` may be a list of documents: ordered, no text, and no model."""
    return isinstance(value, Iterable) and not isinstance(
        value, (str, bytes, bytearray, Mapping, AbstractSet, BaseModel)
    )


def question(inputs: object, key: str | None = None) -> str | None:
    """Return the question that the inputs of a run, an example or a chain ask, None for none.

    That is the text under `key`, under a name that `Sample` takes for it, or the only input.
    """
    if isinstance(inputs, str):
        return inputs
    if not isinstance(inputs, Mapping):
        return None
    for name in _QUESTION_KEYS if key is None else (key,):
        asked = _text(inputs.get(name))
        if asked is not None:
            return asked
    only = next(iter(inputs.values())) if len(inputs) == 1 else None
    # `evaluate` traces the argument of a function as {"inputs": {...}}.
    return question(only, key) if key is None or isinstance(only, Mapping) else None


def _read_mapping(
    output: Mapping[str, Any], reader: DocumentReader, documents_key: str | None
) -> Output:
    response = answer(output)
    if documents_key is not None:
        return Output(_under(output, documents_key, reader), response=response)
    error = output.get("retrieval_error")
    if isinstance(error, str):
        return Output(Retrieval(error=error), response=response)
    found = {key: output[key] for key in DOCUMENT_KEYS if is_list(output.get(key))}
    ids = next((output[key] for key in _ID_KEYS if output.get(key) is not None), None)
    if found or ids is not None:
        first = next(iter(found), None)
        for key, value in found.items():
            if value is not found[first] and value != found[first]:  # type: ignore[index]
                raise InputError(
                    f"the output has {first!r} and {key!r}, which differ: "
                    "documents_key= says which of them was retrieved",
                    field="retrieved_contexts",
                )
        documents = None if first is None else found[first]
        return Output(_identified(documents, ids, reader), response=response)
    items = next((output[key] for key in WRAPPER_KEYS if is_list(output.get(key))), None)
    if items is None:
        return Output(response=response)
    items = list(items)
    if items and all(map(is_document, items)):
        return Output(Retrieval(reader.contexts(items)), response=response)
    return Output(items=items, response=response)


def _identified(documents: Any, ids: Any, reader: DocumentReader) -> Retrieval:
    """Return documents with the IDs that stand beside them, or either alone."""
    contexts = None if documents is None else reader.read(documents)
    if not reader.collapse:
        return Retrieval(contexts, ids)
    # Which IDs are equal shows when each document has its own.
    paired = Sample(retrieved_contexts=contexts, retrieved_context_ids=ids)
    if paired.retrieved_contexts is not None:
        return Retrieval(reader.collapsed(paired.retrieved_contexts))
    known = paired.retrieved_context_ids or ()
    return Retrieval(
        ids=[own for n, own in enumerate(known) if own is None or own not in known[:n]]
    )


def _under(output: Mapping[str, Any], key: str, reader: DocumentReader) -> Retrieval:
    value = output.get(key)
    if value is None:
        there = f"the output has {', '.join(map(repr, output))}" if output else "there is no output"
        return Retrieval(unseen=f"the output has no {key!r}: {there}")
    return Retrieval(reader.contexts(value))


def _text(value: object) -> str | None:
    if isinstance(value, BaseMessage):
        return str(value.text)
    return value if isinstance(value, str) else None
