"""The labels of claims, in the words that people and spreadsheets write."""

from __future__ import annotations

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.judge.judge import VerdictLabel
from fullrecall.judge.verdicts import label_of


def as_label(value: object) -> VerdictLabel | None:
    """Return a label by its word, None for an empty one; raise `InputError` for another."""
    word = "" if value is None else str(value).strip().lower()
    if not word:
        return None
    # People who label have two answers: "false" is "not supported".
    label = "not_supported" if word == "false" else label_of(word)
    if label is None or label == "contradicted":
        raise InputError(
            f"label must be supported, not_supported, partial, or empty, got {shown(value)}",
            field="label",
        )
    return label
