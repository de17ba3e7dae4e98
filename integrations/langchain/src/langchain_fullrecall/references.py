"""Read the references of an example or a caller as the fields of a `Sample`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

from fullrecall import ClaimRecall, Context, EntityRecall, IdRecall, Sample, SpanRecall, TextRecall
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.observe.messages import turn_of
from fullrecall.scorers import Scorer
from langchain_fullrecall.documents import DocumentReader, is_document

_IDS, _TEXTS, _ANSWER = "reference_context_ids", "reference_contexts", "reference"
_FORBIDDEN = "forbidden_contexts"
_FORBIDDING = ("forbidden_ids", _FORBIDDEN, "superseded", "answerable")
_FIELD_OF = {
    name: field
    for field, names in Sample.names().items()
    if field.startswith(_ANSWER) or field in _FORBIDDING
    for name in (field, *names)
}
_ANSWER_KEYS = ("answer", "output", "result")
"""Keys of an example's outputs that hold the reference answer, not a generated one."""

_BARE: dict[type, tuple[str, str]] = {
    IdRecall: (_IDS, _IDS),
    TextRecall: (_TEXTS, _TEXTS),
    SpanRecall: (_TEXTS, _TEXTS),
    EntityRecall: ("reference_entities", "reference_entities"),
    ClaimRecall: (_ANSWER, "reference_claims"),
}
"""By class of scorer: the field of an unnamed reference that is a text, and of one that is a list.
"""


def reference_fields(reference: object, scorer: Scorer, reader: DocumentReader) -> dict[str, Any]:
    """Return `reference` as the fields of a `Sample` for this scorer.

    A mapping names the fields, as `Sample` or other tools do; its unknown keys are left out.
    Otherwise the scorer decides: IDs for `IdRecall`, texts for `TextRecall` and `SpanRecall`, a
    list of entities for `EntityRecall`, an answer or a list of claims for `ClaimRecall`. Documents
    become contexts, or IDs for `IdRecall`. None gives no fields.

    Raises `InputError` for a mapping without such a name, and for an unnamed reference that could
    be several fields.
    """
    if reference is None:
        return {}
    turn = turn_of(reference) if isinstance(reference, list) else None
    if turn is not None:  # These are the messages of a reference conversation.
        return {} if turn.answer is None else {_ANSWER: turn.answer}
    if isinstance(reference, Mapping) and not _is_graded(reference):
        fields = named_references(reference, reader)
        if fields or not reference:
            return fields
        raise InputError(
            f"a reference has none of the keys {', '.join(map(repr, reference))}: it has "
            f"{', '.join(_FIELD_OF)}, or {', '.join(_ANSWER_KEYS)} for the reference answer"
        )
    field = _bare_field(reference, scorer)
    return {field: _read(reference, field, reader)}


def named_references(mapping: Mapping[str, Any], reader: DocumentReader) -> dict[str, Any]:
    """Return the references in a mapping, which are under the names that `Sample` takes.

    An answer may also be a text under a key in `_ANSWER_KEYS`; without any reference, the answer of
    the last turn in `messages` is the reference.
    """
    fields = {
        name: _read(value, _FIELD_OF[name], reader)
        for name, value in mapping.items()
        if name in _FIELD_OF and value is not None
    }
    if not any(_FIELD_OF[name] == _ANSWER for name in fields):
        answers = (mapping[name] for name in _ANSWER_KEYS if isinstance(mapping.get(name), str))
        answer = next(answers, None)
        if answer is not None:
            fields[_ANSWER] = answer
    turn = turn_of(mapping) if "messages" in mapping and not fields else None
    if turn is not None and turn.answer is not None:
        fields[_ANSWER] = turn.answer
    return fields


def example_fields(
    outputs: Mapping[str, Any], key: str | None, scorer: Scorer, reader: DocumentReader
) -> dict[str, Any]:
    """Return the references that an example's outputs hold.

    If `key` is given, the references are under it, else under the names that `Sample` takes. If no
    such name occurs, a single output is the reference, as in LangChain's own evaluators. Raises
    `InputError` for a missing `key`, and for values that cannot be references.
    """
    if key is not None:
        if key not in outputs:
            names = ", ".join(map(repr, outputs)) or "none"
            raise InputError(f"the example has no output {key!r}: it has {names}")
        return reference_fields(outputs[key], scorer, reader)
    fields = named_references(outputs, reader)
    if not fields and len(outputs) == 1:
        return reference_fields(next(iter(outputs.values())), scorer, reader)
    others = outputs.keys() - fields.keys() - {*_ANSWER_KEYS, "messages"}
    needed: Collection[str] = getattr(scorer, "labels", ())
    if others and needed and not {_FIELD_OF[name] for name in fields} & {*needed}:
        raise InputError(
            f"{scorer.method.name} needs {' or '.join(needed)}, and the example's outputs "
            f"have {', '.join(map(repr, outputs))}: name the one with reference_key="
        )
    return fields


def _bare_field(reference: object, scorer: Scorer) -> str:
    of_text = isinstance(reference, str)
    for kind in type(scorer).__mro__:
        if kind in _BARE:
            return _BARE[kind][0 if of_text else 1]
    if of_text:
        return _ANSWER
    raise InputError(
        f"{shown(reference)} is not a reference that {scorer.method.name} accepts: pass a "
        f"mapping with its name, one of {', '.join(_FIELD_OF)}"
    )


def _is_graded(reference: Mapping[Any, Any]) -> bool:
    """Return whether all values are numbers: then the mapping is `{id: grade}`, not a sample."""
    return bool(reference) and all(isinstance(grade, Real) for grade in reference.values())


def _read(value: object, field: str, reader: DocumentReader) -> object:
    """Return `value` with documents replaced by contexts, or by their IDs."""
    of_texts = field in (_TEXTS, _FORBIDDEN)
    if not (of_texts or field == _IDS) or (of_texts and isinstance(value, Context)):
        return value
    if is_document(value):
        (context,) = reader.contexts([value])  # type: ignore[list-item]
        if of_texts:
            return context
        if context.id is None:
            raise InputError(f"the reference document {context.label!r} has no ID", field=_IDS)
        return context.id
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [_read(item, field, reader) for item in value]
    return value
