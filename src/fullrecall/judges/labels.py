"""The words that models use for a verdict, and the label that each means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from fullrecall.judges.judge import LABELS, Label
from fullrecall.judges.words.data import table


def _folded(word: str) -> str:
    caseless = unicodedata.normalize("NFC", word).casefold()
    return re.sub(r"[\s_-]+", " ", caseless).strip(" .,;:!*\"'`。")


_LABELS: Mapping[str, Label] = {
    _folded(word): label for label in LABELS for word in table("verdicts.json")[label].split(";")
}


def label_of(word: object) -> Label | None:
    """Return the label that a word means, letter case and marks aside; None where it is unclear.

    The word "false" is not read: it may say that a claim is contradicted, or that it is not
    supported. A boolean has two values alone, so false is all that is not supported.
    """
    if isinstance(word, bool):
        return "supported" if word else "not_supported"
    return _LABELS.get(_folded(word)) if isinstance(word, str) else None
