"""What the output of a chain or an agent says was retrieved and answered, and was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from fullrecall import Context, Sample
from fullrecall.errors import InputError
from langchain_fullrecall.documents import DocumentReader, is_document

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

    - `contexts`: the list that it says was retrieved, None where it says none.
    - `texts`: bare texts where documents are usual: what they are, a trace may tell.
    - `is_empty`: it is an empty list, which may be an answer.
    - `error`: why the application says that it retrieved nothing.
    - `problem`: why nothing can be read of it.
    - `response`: what the generator said.
    """

    contexts: list[Context] | None = None
    texts: list[str] | None = None
    is_empty: bool = False
    error: str | None = None
    problem: str | None = None
    response: str | None = None


def read_output(output: object, reader: DocumentReader, documents_key: str | None = None) -> Output:
    """Return what an output holds: documents, a mapping, an agent's state, a message, an answer.

    `documents_key` names the key of a mapping under which the documents are. Raises `InputError`
    where they are no documents, and where several keys hold different ones.
    """
    if isinstance(output, Mapping):
        return _read_mapping(output, reader, documents_key)
    if is_list(output):
        return _read_list(list(output), reader)  # type: ignore[call-overload]
    return Output(response=answer(output), problem=_holds(output))


def answer(output: object) -> str | None:
    """Return what the generator or the agent said, None where the output does not say."""
    from langchain_fullrecall.messages import turn_of

    if not isinstance(output, Mapping):
        return _text(output)
    answers = (_text(output[key]) for key in _ANSWER_KEYS if key in output)
    found = next((one for one in answers if one is not None), None)
    if found is not None:
        return found
    state = output if "messages" in output else output.get("output")
    turn = turn_of(state) if isinstance(state, Mapping) else None
    return None if turn is None else turn.answer


def is_list(value: object) -> bool:
    """Return whether `value` may be a list of documents: ordered, no text, and no model."""
    return isinstance(value, Iterable) and not isinstance(
        value, (str, bytes, bytearray, Mapping, AbstractSet, BaseModel)
    )


def question(inputs: object, key: str | None = None) -> str | None:
    """Return the question that the inputs of a run, an example or a chain ask, None for none.

    That is the text under `key`, under a name that `Sample` takes for it, or the only input; of
    an agent's messages the last one of a human.
    """
    from langchain_fullrecall.messages import turn_of

    if isinstance(inputs, str):
        return inputs
    if not isinstance(inputs, Mapping):
        return None
    for name in _QUESTION_KEYS if key is None else (key,):
        asked = _text(inputs.get(name))
        if asked is not None:
            return asked
    turn = turn_of(inputs) if key is None and "messages" in inputs else None
    if turn is not None:
        return turn.question
    only = next(iter(inputs.values())) if len(inputs) == 1 else None
    # `evaluate` traces the argument of a function as {"inputs": {...}}.
    return question(only, key) if key is None or isinstance(only, Mapping) else None


def _read_mapping(
    output: Mapping[str, Any], reader: DocumentReader, documents_key: str | None
) -> Output:
    response = answer(output)
    if documents_key is not None:
        if output.get(documents_key) is None:
            return Output(problem=_no_key(output, documents_key), response=response)
        return Output(reader.contexts(output[documents_key]), response=response)
    if isinstance(output.get("retrieval_error"), str):
        return Output(error=output["retrieval_error"], response=response)
    found = {key: list(output[key]) for key in DOCUMENT_KEYS if is_list(output.get(key))}
    ids = next((output[key] for key in _ID_KEYS if output.get(key) is not None), None)
    if found or ids is not None:
        return _read_named(found, ids, reader)._replace(response=response)
    items = next((output[key] for key in WRAPPER_KEYS if is_list(output.get(key))), None)
    if items is None:
        return Output(problem=_holds(output), response=response)
    return _read_list(list(items), reader)._replace(response=response)


def _read_named(found: Mapping[str, list[Any]], ids: Any, reader: DocumentReader) -> Output:
    """Return what stands under the usual names of documents and of their IDs."""
    first = next(iter(found), None)
    for key, value in found.items():
        if first is not None and value != found[first]:
            raise InputError(
                f"the output has {first!r} and {key!r}, which differ: pass documents_key= to "
                "say which of them was retrieved",
                field="retrieved_contexts",
            )
    documents = None if first is None else found[first]
    if ids is None and documents and all(isinstance(one, str) for one in documents):
        return Output(reader.contexts(documents), texts=documents)
    return Output(_identified(documents, ids, reader))


def _read_list(items: list[Any], reader: DocumentReader) -> Output:
    if items and all(isinstance(item, str) for item in items):
        return Output(texts=items, problem=_TEXTS)
    return Output(reader.contexts(items), is_empty=not items)


_TEXTS = (
    "the output is a list of texts, which may be an answer: pass "
    "documents_key=\"output\", or return them under 'retrieved_contexts'"
)


def _identified(documents: Any, ids: Any, reader: DocumentReader) -> list[Context]:
    """Return documents with the IDs that stand beside them, or either alone."""
    if documents is None:
        listed = list(ids) if is_list(ids) else ids
        paired = Sample(retrieved_context_ids=listed).retrieved_context_ids or ()
        # A rank without an ID still takes its place.
        contexts = [Context("" if own is None else None, id=own) for own in paired]
        return reader.collapsed(contexts)
    if ids is None:
        return reader.contexts(documents)
    sample = Sample(retrieved_contexts=reader.read(documents), retrieved_context_ids=ids)
    return reader.collapsed(sample.retrieved_contexts or ())


def _no_key(output: Mapping[str, Any], key: str) -> str:
    there = f"the output has {', '.join(map(repr, output))}" if output else "there is no output"
    return f"the output has no {key!r}: {there}"


def _holds(output: object) -> str:
    if isinstance(output, Mapping):
        held = ", ".join(map(repr, output)) or "nothing"
        return (
            f"the output holds no documents (it holds {held}): pass documents_key= to name the "
            f"key, or return them under {DOCUMENT_KEYS[0]!r}"
        )
    return f"the output is {type(output).__name__}, not documents"


def _text(value: object) -> str | None:
    if isinstance(value, BaseMessage):
        return str(value.text)
    return value if isinstance(value, str) else None


def has_documents(value: object) -> bool:
    """Return whether a value is a list of nothing but documents."""
    return is_list(value) and all(map(is_document, value))  # type: ignore[call-overload]
