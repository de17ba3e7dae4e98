"""Contexts that are too long for one request, split into windows at boundaries."""

from __future__ import annotations

import re
from collections.abc import Mapping

_BOUNDARIES = (re.compile(r"\n\s*\n"), re.compile(r"(?<=[.!?。！？])\s+|\n"), re.compile(r"\s+"))  # noqa: RUF001


def windows(contexts: Mapping[int, str], size: int) -> list[dict[int, str]]:
    """Return windows of at most `size` characters, each `{number: text}`, in order.

    Whole contexts are packed together; one that is longer than a window is cut at a paragraph,
    a sentence or a word, in this order, and its parts stand in windows of their own.
    """
    packed: list[dict[int, str]] = []
    room = 0
    for number, text in contexts.items():
        parts = [text] if len(text) <= size else _parts(text, size)
        for part in parts:
            if not packed or len(part) > room or number in packed[-1]:
                packed.append({})
                room = size
            packed[-1][number] = part
            room -= len(part)
    return packed


def _parts(text: str, size: int) -> list[str]:
    parts = []
    while len(text) > size:
        cut = _boundary(text, size)
        parts.append(text[:cut])
        text = text[cut:]
    return [*parts, text] if text else parts


def _boundary(text: str, size: int) -> int:
    """Return where to cut: the last best boundary in the second half of the window."""
    for boundary in _BOUNDARIES:
        ends = [match.end() for match in boundary.finditer(text, size // 2, size)]
        if ends:
            return ends[-1]
    return size
