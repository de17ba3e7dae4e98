"""The fields of a sample: how users' values are converted, and their names in other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.samples.context import Context, as_metadata, listed
from fullrecall.samples.identifiers import as_id, as_listed_ids
from fullrecall.samples.references import (
    as_claims,
    as_entities,
    as_forbidden_contexts,
    as_forbidden_ids,
    as_reference_contexts,
    as_reference_ids,
    as_superseded,
    plain_claims,
    plain_references,
)
from fullrecall.samples.retrieval import Retrieval


def _truth(value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"  # the value is a cell of a CSV file
    if type(value).__name__ in ("bool", "bool_") or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise InputError(f"expected true or false, got {shown(value)}")


def _contexts(value: object) -> tuple[Context, ...]:
    from fullrecall.samples.hits import recorded_contexts  # only if a sample has contexts

    return recorded_contexts(value)


def _retrieval(value: object) -> Retrieval:
    if isinstance(value, Retrieval):
        return value
    if isinstance(value, Mapping):
        return Retrieval.from_dict(value)
    raise InputError(f"expected a Retrieval or a mapping with its fields, got {shown(value)}")


def _one_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and len(value) == 1 and isinstance(value[0], str):
        return value[0]  # Ragas's old `ground_truths` is a list of one answer
    several = isinstance(value, Sequence) and len(value) > 1
    hint = ": several samples, written by columns, are one Sample for each row" if several else ""
    raise InputError(f"expected one str, got {type(value).__name__} {shown(value)}{hint}")


def _plain_contexts(contexts: Iterable[Context]) -> list[dict[str, Any]]:
    return [context.to_dict() for context in contexts]


class SampleField(NamedTuple):
    """The declaration of a sample's field.

    - `convert`: the function that converts a user's value.
    - `other_names`: the names that ragas (older versions), LangChain, LlamaIndex, deepeval and TREC
      have for the field.
    - `to_json`: the function that converts a value to plain JSON values; None if values are plain.
    """

    convert: Callable[[Any], object]
    other_names: tuple[str, ...] = ()
    to_json: Callable[[Any], object] | None = None


LABELS = ("reference_context_ids", "reference_contexts")
"""The fields of a sample that name texts of a corpus."""

STALE = "stale label"
"""The beginning of the reason if a sample's label no longer names its text."""


SAMPLE_FIELDS: dict[str, SampleField] = {
    "id": SampleField(as_id, ("sample_id", "query_id", "qid")),
    "user_input": SampleField(_one_text, ("question", "query", "input")),
    "retrieved_contexts": SampleField(
        _contexts,
        ("contexts", "documents", "retrieved_documents", "source_documents", "retrieval_context"),
        _plain_contexts,
    ),
    "retrieved_context_ids": SampleField(as_listed_ids, ("retrieved_ids",)),
    "reference": SampleField(
        _one_text, ("ground_truth", "ground_truths", "reference_answer", "expected_output")
    ),
    "reference_contexts": SampleField(
        as_reference_contexts,
        ("expected_texts",),
        lambda groups: [_plain_contexts(group) for group in groups],
    ),
    "reference_context_ids": SampleField(
        as_reference_ids, ("expected_ids", "reference_ids"), plain_references
    ),
    "reference_claims": SampleField(as_claims, to_json=plain_claims),
    "reference_entities": SampleField(as_entities),
    "forbidden_ids": SampleField(as_forbidden_ids),
    "forbidden_contexts": SampleField(as_forbidden_contexts, to_json=_plain_contexts),
    "superseded": SampleField(as_superseded),
    "answerable": SampleField(_truth),
    "judged": SampleField(_truth),
    "response": SampleField(_one_text, ("answer", "prediction", "output", "actual_output")),
    "group": SampleField(as_id),
    "retrieval": SampleField(_retrieval, to_json=Retrieval.to_dict),
    "metadata": SampleField(as_metadata),
}
"""Each field of a `Sample` with its declaration."""

_OTHER_NAMES = {other: name for name, field in SAMPLE_FIELDS.items() for other in field.other_names}

_CARRIED = frozenset(
    {
        "multi_responses",
        "rubrics",
        "persona_name",
        "query_style",
        "query_length",
        "synthesizer_name",
        "evolution_type",
        "episode_done",
        "query_by",
        "reference_answer_by",
    }
)
"""Columns of ragas and LlamaIndex datasets that no scorer uses; they become metadata."""


def translated(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the names that other tools have for fields to the names of `Sample`.

    Raise `InputError` for unknown or conflicting names.
    """
    known = (SAMPLE_FIELDS, _OTHER_NAMES, _CARRIED)
    unknown = [name for name in arguments if not any(name in names for names in known)]
    if unknown:
        raise _unknown(unknown)
    fields = {name: value for name, value in arguments.items() if name in SAMPLE_FIELDS}
    for name, value in arguments.items():
        if value is None or name in SAMPLE_FIELDS:
            continue
        if name in _CARRIED:
            fields["metadata"] = {**(fields.get("metadata") or {}), name: value}
            continue
        field = _OTHER_NAMES[name]
        own_field = fields.get(field)
        if own_field is not None and own_field is not value and own_field != value:
            raise InputError(
                f"{name} means {field}, which has another value: pass one of them",
                field=name,
            )
        fields[field] = value
    return fields


def _unknown(names: list[str]) -> InputError:
    from difflib import get_close_matches

    first = min(names)
    near = get_close_matches(first, [*SAMPLE_FIELDS, *_OTHER_NAMES], n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    return InputError(
        f"unknown field {listed(names)}{meant}. A sample takes {', '.join(SAMPLE_FIELDS)}; and for "
        f"these the names {', '.join(_OTHER_NAMES)}. Anything else belongs in metadata",
        field=first,
    )
