"""Load the word lists beside this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from fullrecall._util import data


def lines(name: str) -> Sequence[str]:
    """Return the lines of a word file, without comments."""
    return data.lines(name, __package__)


def table(name: str) -> dict[str, Any]:
    """Return the object in a JSON file beside this module."""
    return data.table(name, __package__)


def languages() -> Mapping[str, Mapping[str, str]]:
    """Return each language's name, scripts, function words and denying words, by ISO 639-1 code."""
    return table("languages.json")


@cache
def word_set(name: str) -> frozenset[str]:
    """Return the English words or phrases listed under a name in `sets.json`."""
    listed: str = table("sets.json")[name]
    return frozenset(listed.split("|" if "|" in listed else None))


@cache
def words_of(language: str, field: str) -> frozenset[str]:
    """Return the words that a language lists under a field; an empty set without a list."""
    return frozenset(languages().get(language, {}).get(field, "").split())
