"""The labels of claims, in the words that people and spreadsheets write."""

from __future__ import annotations

from collections.abc import Mapping

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.judge.judge import VerdictLabel

_WORDS: Mapping[str, VerdictLabel] = {
    "supported": "supported",
    "yes": "supported",
    "true": "supported",
    "1": "supported",
    "not_supported": "not_supported",
    "no": "not_supported",
    "false": "not_supported",
    "0": "not_supported",
    "partial": "partial",
}
"""What a label may be called, by the words that people and spreadsheets write."""


def as_label(value: object) -> VerdictLabel | None:
    """Return a label by its word, None for an empty one; raise `InputError` for another."""
    if value is None:
        return None
    word = str(value).strip().lower().replace(" ", "_").replace("-", "_")
    if not word:
        return None
    if word not in _WORDS:
        raise InputError(
            f"label must be supported, not_supported, partial, or empty, got {shown(value)}",
            field="label",
        )
    return _WORDS[word]
