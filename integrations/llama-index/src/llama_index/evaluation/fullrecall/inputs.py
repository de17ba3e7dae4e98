"""What one call of the evaluator was given, read as a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llama_index.core.schema import QueryBundle

from fullrecall import InputError, Sample
from llama_index.evaluation.fullrecall.nodes import NodeLike, NodeReader, are_nodes
from llama_index.evaluation.fullrecall.responses import (
    RESPONSE_TYPES,
    is_response,
    response_text,
    source_nodes,
)

_SAMPLE_NAMES = {name for field, others in Sample.names().items() for name in (field, *others)}
_RETRIEVAL_NAMES = {
    name
    for field in ("retrieved_contexts", "retrieved_context_ids", "retrieval_error")
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
    query: object,
    response: object,
    contexts: object,
    named: Mapping[str, Any],
) -> Given:
    """Return what the arguments of an evaluation say; raise `InputError` where they are no sample.

    What is retrieved is what was given as such; without it, the source nodes of the response.
    """
    known = {
        name: value for name, value in named.items() if name in _SAMPLE_NAMES and value is not None
    }
    text, carried = _parts(response)
    retrieved = _only_one(
        contexts=contexts,
        retrieved_nodes=named.get("retrieved_nodes"),
        retrieved_contexts=known.pop("retrieved_contexts", None),
    )
    if retrieved is None and known.keys().isdisjoint(_RETRIEVAL_NAMES):
        retrieved = carried
    nodes: Sequence[NodeLike] = ()
    if are_nodes(retrieved):
        nodes = retrieved
        retrieved = reader.contexts(nodes)
    fields = {"user_input": _text(query), "response": text, "retrieved_contexts": retrieved}
    unused = named.keys() - _SAMPLE_NAMES - _FRAMEWORK_NAMES - {"retrieved_nodes"}
    return Given(Sample(**{**fields, **known}), nodes, sorted(unused))


def read_texts(query: object, response: object) -> Sample:
    """Return a sample of no more than the question and the answer, as far as they are texts."""
    question, answer = _text(query), response
    return Sample(
        user_input=question if isinstance(question, str) else None,
        response=answer if isinstance(answer, str) else None,
    )


def _text(query: object) -> Any:
    return query.query_str if isinstance(query, QueryBundle) else query


def _parts(response: object) -> tuple[str | None, Sequence[NodeLike] | None]:
    """Return the text and the nodes of what was given as the response."""
    if response is None or isinstance(response, str):
        return response, None
    if are_nodes(response):
        return None, response
    if is_response(response):
        return response_text(response), source_nodes(response)
    names = ", ".join(kind.__name__ for kind in RESPONSE_TYPES)
    raise InputError(
        f"response is a str, a list of nodes, or one of {names}, got {type(response).__name__}",
        field="response",
    )


def _only_one(**retrieved: object) -> object:
    given = {name: value for name, value in retrieved.items() if value is not None}
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} mean the same: give one", field=min(given))
    return next(iter(given.values()), None)
