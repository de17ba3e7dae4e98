"""Read the IDs of retrieved contexts at a path, by a template, or by a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

from fullrecall._util.naming import parameter
from fullrecall._util.values import shown
from fullrecall.errors import InputError, ParameterError
from fullrecall.samples.context import Context
from fullrecall.samples.hit_fields import (
    INNER,
    METADATA,
    MOST_SHOWN,
    at_path,
    field_of,
    unreadable,
    values_by_path,
)
from fullrecall.samples.identifiers import as_id

IdKey: TypeAlias = str | Sequence[str] | Callable[[Any], Any]
"""The place of a retrieved context's ID: a dotted path, such as "metadata.source"; several paths,
joined by ":" (`("source", "page")` gives "a.md:12"); a template, such as "{source}#{page}"; or a
function that returns the ID. In a template, `{source:name}` is the last part of a path or URL, and
`{page:+1}` a number plus one."""


def check_id_key(id_key: object) -> None:
    """Raise `ParameterError` unless a value is an `IdKey`, or None for the default."""
    if id_key is None or callable(id_key):
        return
    paths = (id_key,) if isinstance(id_key, str) else id_key
    if not (isinstance(paths, (tuple, list)) and paths and all(map(_is_path, paths))):
        raise ParameterError(
            "must be a field, a dotted path, several of them, or a function that returns the ID, "
            f"got {id_key!r}",
            "id_key",
        )
    if isinstance(id_key, str) and not re.fullmatch(r"[^{}]*|([^{}]*\{[^{}]+\})+[^{}]*", id_key):
        raise ParameterError(
            f"has a brace without its pair: write '{{source}}#{{page}}', got {id_key!r}", "id_key"
        )


def _is_path(path: object) -> bool:
    return isinstance(path, str) and bool(path)


def id_by(id_key: IdKey, item: Any, at: Callable[[str], Any]) -> Any:
    """Return the ID of an item at `id_key`; None if the item lacks one of the fields.

    `at(path)` returns a field of the item. Raises `InputError` if `id_key` is a function that
    raises, or if one of several joined fields is not an ID.
    """
    if callable(id_key):
        try:
            return id_key(item)
        except Exception as error:
            raise InputError(f"id_key raised {type(error).__name__}: {error}") from error
    if isinstance(id_key, str):
        return at(id_key) if "{" not in id_key else _filled(id_key, at)
    parts = ["" if (value := at(path)) is None else as_id(value) for path in id_key]
    return ":".join(parts) if all(parts) else None


def _filled(template: str, at: Callable[[str], Any]) -> str | None:
    """Fill a template, leaving out missing values; return None if the first value is missing."""
    pieces = re.split("[{}]", template)  # text, path, text, path, …
    paths = zip(pieces[::2], pieces[1::2], strict=False)
    parts = [(before, _formed(path, at)) for before, path in paths]
    if not parts or parts[0][1] is None:
        return None
    end = "" if parts[-1][1] is None else pieces[-1]
    return "".join(f"{before}{as_id(value)}" for before, value in parts if value is not None) + end


def _formed(path: str, at: Callable[[str], Any]) -> Any:
    """Return the value at a path, in the form that a template requests: `source:name`, `page:+1`.

    Raises `InputError` if the form needs a number and the value is not a number.
    """
    value = at(path)
    plain_path, _, form = path.rpartition(":")
    if value is not None or form not in _FORMS:
        return value
    plain = at(plain_path)
    if plain is None:
        return None
    if form == "name":
        return re.split(r"[/\\]", str(plain).rstrip("/\\"))[-1]
    try:
        return int(plain) + 1
    except (TypeError, ValueError):
        raise InputError(f"id_key adds 1 to {plain_path!r}, got {shown(plain)}") from None


_FORMS = ("name", "+1")
"""The forms of a value in a template."""


def id_at(item: Any, id_key: IdKey) -> Any:
    """Return an item's value at `id_key`; raise `InputError` if it has none.

    A path begins with a field of the item, or else of its metadata or inner document. For a
    `Context`, the metadata comes first.
    """
    holders = [item, *(field_of(item, own) for own in (*METADATA, *INNER))]
    if isinstance(item, Context):
        holders = [item.metadata, item]

    def at(path: str) -> Any:
        values = (at_path(holder, path) for holder in holders)
        return next((value for value in values if value is not None), None)

    value = id_by(id_key, item, at)
    if value is not None:
        return value
    if callable(id_key):
        raise InputError(f"id_key returned None for a context: {shown(item)}")
    # Name only the fields, not their values, so that a thousand samples share one reason.
    paths = [*islice(field_paths(item), MOST_SHOWN)]
    has = f"it has {', '.join(map(repr, paths))}" if paths else unreadable(item)
    raise InputError(f"a context has nothing at {id_key!r}: {has}")


def field_paths(holder: Any) -> Iterator[str]:
    """Yield the paths at which a context has texts or whole numbers, in the form of `id_key`."""
    if isinstance(holder, Context):
        source = {} if holder.source is None else {"source": holder.source}
        holder = {**source, **holder.metadata}
    fields = holder if isinstance(holder, Mapping) else getattr(holder, "__dict__", {})
    for path, value in values_by_path(fields):
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            yield path


def ids_alone() -> InputError:
    """Return the error for an `id_key` if only the IDs of the retrieved contexts are known."""
    return InputError(
        f"{parameter('id_key')} reads a field of the retrieved contexts, and here are only their "
        "IDs: leave it out, or give retrieved_contexts with their fields",
        field="retrieved_context_ids",
    )


def named_by(id_key: IdKey, context: Context) -> Context:
    """Return a context with the ID at `id_key`; without an ID if it has no such field."""
    try:
        return replace(context, id=as_id(id_at(context, id_key)))
    except ValueError:  # a tool's text or a note has no such field
        return replace(context, id=None)
