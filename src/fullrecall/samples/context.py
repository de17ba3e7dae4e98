"""A piece of text that a retriever returned, or should have returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite, nan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from fullrecall._util.value_object import ValueObject
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.samples.identifiers import as_id, as_list, each_of

if TYPE_CHECKING:
    from uuid import UUID

ID: TypeAlias = "str | int | UUID"
"""An ID as users write it. IDs are compared as `str`, so `1` and `"1"` are equal."""


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Context(ValueObject):
    """A piece of text that a retriever returned, or should have returned.

    `id` or `text` may be None, but not both. `source` is the ID of the document from which the text
    was cut, `start` and `end` are the half-open character range in it. `SpanRecall` compares ranges
    if both sides have them. Raises `InputError` for values of another kind.
    """

    text: str | None
    id: str | None
    score: float | None
    metadata: Mapping[str, Any]
    source: str | None
    start: int | None
    end: int | None

    def __init__(
        self,
        text: str | None = None,
        *,
        id: ID | None = None,  # noqa: A002 - the field's name everywhere in this trade
        score: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: ID | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> None:
        own_id = (id if type(id) is str else None if id is None else as_id(id)) or None
        if text is None and own_id is None:
            raise InputError("a context needs an id or a text")
        if type(text) is not str and text is not None and not isinstance(text, str):
            raise InputError(f"a context's text must be a str, got {shown(text)}")
        if start is not None or end is not None:
            _check_range(start, end)
        _put_text(self, text)
        _put_id(self, own_id)
        _put_score(self, None if score is None else as_number(score, "a score"))
        own_metadata = dict(metadata) if type(metadata) is dict else as_metadata(metadata)
        _put_metadata(self, own_metadata)
        _put_source(self, None if source is None else as_id(source) or None)
        _put_start(self, start)
        _put_end(self, end)

    def to_dict(self) -> dict[str, Any]:
        """Return the given fields as plain values; `Context(**fields)` restores the context."""
        return {
            name: value
            for name, value in zip(_CONTEXT_FIELDS, _values(self), strict=True)
            if value is not None and (value or name != "metadata")
        }

    @property
    def label(self) -> str:
        """The name of this context for a human: its text, or else its ID."""
        return self.text if self.text is not None else str(self.id)


ContextLike: TypeAlias = Context | str | Mapping[str, Any]
"""A `Context`, a bare text, or a mapping with the fields of one."""

_CONTEXT_FIELDS = ("text", "id", "score", "metadata", "source", "start", "end")
# Setting a frozen object's slots in this way takes a quarter less time than `object.__setattr__`.
_put_text, _put_id, _put_score, _put_metadata, _put_source, _put_start, _put_end = (
    Context.__dict__[name].__set__ for name in _CONTEXT_FIELDS
)
CONTEXT_KEYS = frozenset(_CONTEXT_FIELDS)
"""The fields of a context."""
_values = attrgetter(*_CONTEXT_FIELDS)
# Users call `Context` through a wrapper that explains wrong arguments; this module skips it.
_new: Any = object.__new__
_fill = Context.__init__
_CONTEXT_NAMES = {"page_content": "text", "content": "text", "start_index": "start"}
CONTEXT_NAMES = CONTEXT_KEYS | _CONTEXT_NAMES.keys() | {"type"}
"""The keys that a mapping of a context may have."""


def known_context(
    text: str | None,
    id: str | None,  # noqa: A002
    score: float | None,
    metadata: Mapping[str, Any],
) -> Context:
    """Return a context from checked values; it keeps `metadata` without a copy."""
    context: Context = _new(Context)
    _put_text(context, text)
    _put_id(context, id)
    _put_score(context, score)
    _put_metadata(context, metadata)
    for put_nothing in (_put_source, _put_start, _put_end):
        put_nothing(context, None)
    return context


def as_context(value: object) -> Context:
    """Convert a `Context`, a text or a mapping; raise `InputError` for an invalid value."""
    if isinstance(value, Context):
        return value
    if isinstance(value, str):
        return Context(value)
    if type(value) is dict and value.keys() <= CONTEXT_KEYS:  # saved contexts have this form
        context: Context = _new(Context)
        _fill(context, **value)
        return context
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {
            _CONTEXT_NAMES.get(str(name), str(name)): content for name, content in value.items()
        }
        fields.pop("type", None)  # LangChain's dumped documents have `"type": "Document"`
        unknown = fields.keys() - CONTEXT_KEYS
        if unknown:
            raise InputError(
                f"a context has no field {listed(unknown)}: it takes "
                f"{', '.join(_CONTEXT_FIELDS)} (anything else belongs in metadata)"
            )
        return Context(**fields)
    kind = type(value)
    hint = ""
    if kind.__module__.startswith("langchain"):
        hint = "; langchain_fullrecall.contexts(documents) converts LangChain documents"
    elif kind.__module__.startswith("llama_index"):
        hint = "; llama_index.evaluation.fullrecall.contexts(nodes) converts LlamaIndex nodes"
    raise InputError(f"expected a str, a Context, or a mapping, got {shown(value)}{hint}")


def as_contexts(
    value: object, convert: Callable[[object], Context] = as_context
) -> tuple[Context, ...]:
    """Convert a list of contexts; an `InputError` names the first item that `convert` refuses."""
    # A tuple of contexts was converted before, for another sample or call, so it is kept.
    if type(value) is tuple and set(map(type, value)) <= {Context}:
        return value
    return tuple(each_of(as_list(value, ordered=True), convert))


def as_number(value: object, name: str) -> float:
    """Return a finite number; raise an `InputError` that names `name` for any other value."""
    if type(value) is float and isfinite(value):
        return value
    if isinstance(value, (str, bool)):
        raise InputError(f"{name} must be a number, got {shown(value)}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, got {shown(value)}") from None
    if not isfinite(number):
        raise InputError(f"{name} must be a finite number, got {value!r}")
    return number


def finite(score: object) -> float | None:
    """Return a score that is a finite number, else None; a text is not a number."""
    # Scores are only displayed (the order is the rank), so a NaN must not make a sample invalid.
    try:
        number = nan if isinstance(score, str) else float(score)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def as_metadata(value: object) -> dict[str, Any]:
    """Return a mapping as a dict, None as an empty dict; raise `InputError` for any other value."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"expected a mapping, got {shown(value)}")
    return dict(value)


def listed(names: Iterable[str]) -> str:
    """Return names, quoted and sorted, for a message."""
    return ", ".join(repr(name) for name in sorted(names))


def _check_range(start: object, end: object) -> None:
    if start is None or end is None:
        raise InputError(
            f"start and end go together, got start={start!r}, end={end!r}: pass both or none"
        )
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise InputError(
            f"start and end must be whole numbers, 0 <= start <= end, got {start!r}, {end!r}"
        )
