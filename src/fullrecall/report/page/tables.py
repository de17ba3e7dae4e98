"""What stands once on a page and is named by its number elsewhere: texts and contexts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fullrecall.context import Context

CHARACTERS_IN_BLOCK = 250_000
"""Characters of the texts that are read together, if they are not one longer text."""

CONTEXTS_IN_BLOCK = 2_000
"""Contexts that are read together."""

_plain = json.JSONEncoder(ensure_ascii=False, default=str).encode


class Texts:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str | None) -> int | None:
        """Return the number of `text`; None for none."""
        return None if text is None else self.numbers.setdefault(text, len(self.numbers))

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
        self._seen: dict[int, int] = {}
        self._numbers: dict[tuple[Any, ...], list[tuple[Mapping[str, Any], int]]] = {}
        self._entries: list[dict[str, Any]] = []

    def numbers(self, contexts: Sequence[Context]) -> list[int]:
        """Return the number of each of contexts that live as long as this."""
        seen, numbers = self._seen, []
        for context in contexts:
            number = seen.get(id(context))
            if number is None:
                number = seen[id(context)] = self._number(context)
            numbers.append(number)
        return numbers

    def numbers_of_ids(self, ids: Sequence[str | None]) -> list[int]:
        """Return the number of each of contexts of which the IDs alone are known."""
        # A rank without an ID has nothing to show, and still takes its place.
        return [self._number(Context(id=one, text=None if one else "")) for one in ids]

    def blocks(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the contexts in order, cut into blocks; at least one."""
        for start in range(0, len(self._entries) or 1, CONTEXTS_IN_BLOCK):
            yield self._entries[start : start + CONTEXTS_IN_BLOCK]

    def _number(self, context: Context) -> int:
        key = (context.text, context.id, context.source, context.start, context.end)
        same = self._numbers.setdefault(key, [])
        number = next((n for known, n in same if known == context.metadata), None)
        if number is None:
            number = len(self._entries)
            same.append((context.metadata, number))
            self._entries.append(self._entry(context))
        return number

    def _entry(self, context: Context) -> dict[str, Any]:
        number = self._texts.number
        return given(
            t=number(context.text),
            i=number(context.id),
            d=number(context.source),
            p=None if context.start is None else [context.start, context.end],
            m=number(as_json(context.metadata)),
        )


def as_json(metadata: Mapping[str, Any]) -> str | None:
    """Return metadata as JSON with one line for each key; None for none."""
    if not metadata:
        return None
    try:
        lines = [f" {_plain(str(name))}: {_plain(value)}" for name, value in metadata.items()]
    except (TypeError, ValueError):  # a value that holds itself, or keys that are no str
        return str(metadata)
    return "{\n" + ",\n".join(lines) + "\n}"


def rounded(value: float | None) -> float | None:
    """Return a number with as many digits as a page needs."""
    return None if value is None else float(f"{value:.6g}")


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
