"""The formats of other tools: one table, of how each names what a sample has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.strict_json import parsed
from fullrecall.samples.sample import Sample

RawRow: TypeAlias = Mapping[str, Any]

FIELDS = {name: field for field, others in Sample.names().items() for name in (field, *others)}
"""Every name that `Sample` takes, with the field it stands for."""


class Format(NamedTuple):
    """How a tool has samples.

    - `recognizes`: whether a row is of this format, by its columns; of several the first counts.
    - `names`: the tool's columns that `Sample` does not know, or knows as something else, with
      the field of each; None for a column that is left out.
    - `read`: for rows that names alone do not explain: returns the fields of a row.
    """

    recognizes: Callable[[AbstractSet[str]], bool]
    names: Mapping[str, str | None] = MappingProxyType({})
    read: Callable[[RawRow], RawRow] | None = None

    def fields_of(self, row: RawRow) -> RawRow:
        """Return the fields of a row by our names."""
        if self.read is not None:
            return self.read(row)
        named = ((self.names.get(name, name), value) for name, value in row.items())
        return {field: value for field, value in named if field and value is not None}


# --- LangSmith

_PARTS = ("inputs", "outputs", "metadata")
_ANSWERS = frozenset({"answer", "output", "response", "expected", "expected_output", "result"})


def _langsmith(row: RawRow) -> RawRow:
    """Return the fields of an example: its outputs are what is expected."""
    inputs, outputs, metadata = (_part(row, name) for name in _PARTS)
    fields: dict[str, Any] = {"id": metadata.pop("id", None) or row.get("id")}
    if len(inputs) == 1:
        fields["user_input"] = next(iter(inputs.values()))
    else:
        fields |= inputs
    for name, value in outputs.items():
        fields["reference" if name in _ANSWERS else name] = value
    fields["group"] = metadata.pop("group", None)
    fields["metadata"] = metadata or None
    # What the user put beside the example, such as what was retrieved.
    users = {name: row[name] for name in row if name in FIELDS and name not in ("id", *_PARTS)}
    return {name: value for name, value in (fields | users).items() if value is not None}


def _part(row: RawRow, name: str) -> dict[str, Any]:
    """Return a part of an example: an object, or its JSON in a cell of CSV."""
    value = row.get(name)
    value = parsed(value) if isinstance(value, str) and value.strip() else value or {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be an object, got {shown(value)}", field=name)
    return dict(value)


# --- deepeval

_DEEPEVAL: Mapping[str, str | None] = {
    "context": "reference_contexts",
    "name": "id",
    "metadata": "metadata",
    "additional_metadata": "metadata",
    "source_file": None,
    "tools_called": None,
    "expected_tools": None,
    "comments": None,
    "custom_column_key_values": None,
}
_DEEPEVALS_OWN = frozenset({"expected_output", "actual_output", "retrieval_context"})
_KNOWN_TO_DEEPEVAL = _DEEPEVALS_OWN.union(_DEEPEVAL, ("input",))


def _is_deepeval(names: AbstractSet[str]) -> bool:
    return "input" in names and names <= _KNOWN_TO_DEEPEVAL and bool(names & _DEEPEVALS_OWN)


def attributes_of(row: object) -> RawRow | None:
    """Return the fields of a test case or a golden of deepeval by its names; None for any other.

    What its own `model_dump` has beside them differs from version to version.
    """
    if type(row).__module__.partition(".")[0] != "deepeval":
        return None
    return {name: getattr(row, name, None) for name in ("input", *_DEEPEVALS_OWN, *_DEEPEVAL)}


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "langsmith": Format(lambda names: names >= {"inputs", "outputs"}, read=_langsmith),
        "deepeval": Format(_is_deepeval, _DEEPEVAL),
    }
)
"""The formats by name, in the order in which a row is looked at."""


def fields_of(row: RawRow) -> RawRow:
    """Return a row under the names that `Sample` takes, where it is of a known format."""
    for name, form in FORMATS.items():
        if form.recognizes(row.keys()):
            try:
                return _with_question(form.fields_of(row))
            except InputError:
                raise
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                # Of a stranger's nesting.
                problem = f"the row has the columns of {name}, and not its form ({error})"
                raise InputError(f"{problem}: rename them") from None
    return _with_question(row)


_QUESTIONS = ("user_input", "question", "query", "input", "messages", "turns")


def _with_question(row: RawRow) -> RawRow:
    """Return a row of a conversation with its last question; the history goes into metadata."""
    name = next((name for name in _QUESTIONS if isinstance(row.get(name), list)), None)
    if name is None:
        return row
    from fullrecall.observe.messages import (
        messages_of,  # which loads what a file of samples never needs
    )

    messages = messages_of(row[name]) or []
    last = max((n for n, turn in enumerate(messages) if turn.role == "human"), default=None)
    if last is None:
        return row
    history = [{"role": turn.role, "content": turn.text} for turn in messages[:last]]
    metadata = row.get("metadata") or {}
    if history and isinstance(metadata, Mapping):
        metadata = {**metadata, "history": history}
    return {**row, name: None, "metadata": metadata, "user_input": messages[last].text}
