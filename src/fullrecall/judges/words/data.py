"""The lists of words beside this module."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def lines(name: str) -> Sequence[str]:
    """Return the lines of a file of words, without comments."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


@cache
def table(name: str, package: str = __package__) -> dict[str, Any]:
    """Return what a file of JSON holds, by default of those beside this module."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def languages() -> Mapping[str, Mapping[str, str]]:
    """Return by ISO 639-1 code the words that mark a language's texts, and those that deny."""
    return table("languages.json")


@cache
def word_set(name: str) -> frozenset[str]:
    """Return the English words, or phrases, that are listed for a purpose."""
    listed: str = table("sets.json")[name]
    return frozenset(listed.split("|" if "|" in listed else None))


@cache
def words_of(language: str, field: str) -> frozenset[str]:
    """Return the words that a language lists under a field; none where it lists none."""
    return frozenset(languages().get(language, {}).get(field, "").split())
