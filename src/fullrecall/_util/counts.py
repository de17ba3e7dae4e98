"""Counts in sentences: `1 sample`, `1,200 samples`."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return `count` with its noun, in the plural except for 1; the noun takes a plain -s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
