"""What one call of the evaluator was given, read as a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llama_index.core.schema import QueryBundle

from fullrecall import InputError, Sample
from llama_index.evaluation.fullrecall.attaching import Brought, Capture, Which
from llama_index.evaluation.fullrecall.carried import Carried, carried
from llama_index.evaluation.fullrecall.nodes import NodeLike, NodeReader, are_nodes
from llama_index.evaluation.fullrecall.responses import RESPONSE_TYPES, is_response, response_text

_SAMPLE_NAMES = {name for field, others in Sample.names().items() for name in (field, *others)}
_RETRIEVAL_NAMES = {
    name
    for field in ("retrieved_contexts", "retrieved_context_ids", "retrieval")
    for name in (field, *Sample.names()[field])
}
_FRAMEWORK_NAMES = {"sleep_time_in_seconds"}
"""What LlamaIndex passes to every evaluator, whether it has a use for it or not."""


class Given(NamedTuple):
    """A sample, the nodes that its contexts were read from, and the arguments not used."""

    sample: Sample
    nodes: Sequence[NodeLike] = ()
    unused: Sequence[str] = ()


def read_call(
    reader: NodeReader,
    which: Which,
    *,
    query: object,
    response: object,
    contexts: object,
    named: Mapping[str, Any],
) -> Given:
    """Return what the arguments of an evaluation say; raise `InputError` where they are no sample.

    What is retrieved is what was given as such; without it, what the response carries.
    """
    known = {
        name: value for name, value in named.items() if name in _SAMPLE_NAMES and value is not None
    }
    text = _answer(response)
    retrieved = _only_one(
        contexts=contexts,
        retrieved_nodes=named.get("retrieved_nodes"),
        retrieved_contexts=known.pop("retrieved_contexts", None),
    )
    found = Carried(Brought(None))
    if are_nodes(retrieved):
        found = carried(retrieved, reader, which)
        retrieved = found.brought.contexts
    elif retrieved is None and known.keys().isdisjoint(_RETRIEVAL_NAMES):
        found = carried(response, reader, which)
        retrieved = found.brought.contexts
    fields = {
        "user_input": _text(query),
        "response": text,
        "retrieved_contexts": retrieved,
    }
    if found.brought.error is not None or found.brought.stages:
        fields["retrieval"] = found.brought.recorded(None)
    unused = named.keys() - _SAMPLE_NAMES - _FRAMEWORK_NAMES - {"retrieved_nodes"}
    return Given(Sample(**{**fields, **known}), found.nodes, sorted(unused))


def read_texts(query: object, response: object) -> Sample:
    """Return a sample of no more than the question and the answer, as far as they are texts."""
    question, answer = _text(query), response
    return Sample(
        user_input=question if isinstance(question, str) else None,
        response=answer if isinstance(answer, str) else None,
    )


def _text(query: object) -> Any:
    return query.query_str if isinstance(query, QueryBundle) else query


def _answer(response: object) -> str | None:
    """Return the text of what was given as the response, None where it has none."""
    if response is None or isinstance(response, str):
        return response
    if are_nodes(response):
        return None
    if isinstance(response, Capture):
        return response.answer
    if is_response(response):
        return response_text(response)
    names = ", ".join(kind.__name__ for kind in (*RESPONSE_TYPES, Capture))
    raise InputError(
        f"response is a str, a list of nodes, or one of {names}, got {type(response).__name__}",
        field="response",
    )


def _only_one(**retrieved: object) -> object:
    given = {name: value for name, value in retrieved.items() if value is not None}
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} mean the same: give one", field=min(given))
    return next(iter(given.values()), None)
