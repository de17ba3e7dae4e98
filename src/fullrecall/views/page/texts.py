"""What stands once on a page and is named by its number elsewhere: texts and contexts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from operator import attrgetter
from typing import Any

from fullrecall.context import Context

CHARACTERS_IN_BLOCK = 250_000
"""Characters of the texts that are read together, if they are not one longer text."""

CONTEXTS_IN_BLOCK = 2_000
"""Contexts that are read together."""

_encoded = json.JSONEncoder(ensure_ascii=False, default=str).encode


class Texts:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str | None) -> int | None:
        """Return the number of `text`; None for none."""
        numbers = self.numbers
        return None if text is None else numbers.setdefault(text, len(numbers))

    def blocks(self) -> Iterator[list[str]]:
        """Yield the texts in order, cut into blocks."""
        block: list[str] = []
        size = 0
        for text in self.numbers:
            if block and size + len(text) > CHARACTERS_IN_BLOCK:
                yield block
                block, size = [], 0
            block.append(text)
            size += len(text)
        if block:
            yield block


class Contexts:
    """Contexts by number, each once: those that differ by their score alone are one."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        # Numbers as they are written, which is what they are for.
        self._numbers: dict[tuple[Any, ...], str] = {}
        # Those with metadata, which cannot be part of a key.
        self._with: dict[tuple[Any, ...], list[tuple[Mapping[str, Any], str]]] = {}
        self._entries: list[str] = []

    def listed(self, contexts: Sequence[Context]) -> str:
        """Return the numbers of the contexts as JSON."""
        if not any(map(_metadata, contexts)):
            numbers = list(map(self._numbers.get, map(_key, contexts)))
            if None not in numbers:
                return f"[{','.join(numbers)}]"  # type: ignore[arg-type] # no None: looked at above
        return f"[{','.join(map(self._number, contexts))}]"

    def listed_ids(self, ids: Sequence[str | None]) -> str:
        """Return the numbers of contexts of which the IDs alone are known, as JSON."""
        # A rank without an ID has nothing to show, and still takes its place.
        return self.listed(
            [Context(id=identifier, text=None if identifier else "") for identifier in ids]
        )

    def blocks(self) -> Iterator[str]:
        """Yield the contexts in order as JSON, cut into blocks; at least one."""
        for start in range(0, len(self._entries) or 1, CONTEXTS_IN_BLOCK):
            yield f"[{','.join(self._entries[start : start + CONTEXTS_IN_BLOCK])}]"

    def _number(self, context: Context) -> str:
        key = _key(context)
        if not context.metadata:
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = self._add(context)
            return number
        same = self._with.setdefault(key, [])
        for metadata, number in same:
            if metadata == context.metadata:
                return number
        same.append((context.metadata, self._add(context)))
        return same[-1][1]

    def _add(self, context: Context) -> str:
        number = self._texts.number
        self._entries.append(
            written(
                t=number(context.text),
                i=number(context.id),
                d=number(context.source),
                p=None if context.start is None else f"[{context.start},{context.end}]",
                m=number(metadata_text(context.metadata)),
            )
        )
        return str(len(self._entries) - 1)


_key = attrgetter("text", "id", "source", "start", "end")
_metadata = attrgetter("metadata")


def metadata_text(metadata: Mapping[str, Any]) -> str | None:
    """Return metadata as JSON with one line for each key; None for none."""
    if not metadata:
        return None
    try:
        lines = [f" {_encoded(str(name))}: {_encoded(value)}" for name, value in metadata.items()]
    except (TypeError, ValueError):  # a value that holds itself, or keys that are no str
        return str(metadata)
    return "{\n" + ",\n".join(lines) + "\n}"


def rounded(value: float) -> str:
    """Return a number as JSON, with as many digits as a page needs.

    Raises `ValueError` for a number that is not finite.
    """
    if not isfinite(value):
        raise ValueError(f"expected a finite number, got {value!r}")
    return "1" if value == 1.0 else f"{value:.6g}"


def written(**fields: str | int | None) -> str:
    """Return JSON of an object of the fields that are not None: numbers, or JSON already."""
    # Details are numbers nearly all, which are written faster than by an encoder.
    parts = [f'"{name}":{value}' for name, value in fields.items() if value is not None]
    return f"{{{','.join(parts)}}}"
