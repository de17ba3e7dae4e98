"""The lists of words beside this module."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files


@cache
def lines(name: str) -> Sequence[str]:
    """Return the lines of a file of words, without comments."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


@cache
def languages() -> Mapping[str, Mapping[str, str]]:
    """Return for each ISO 639-1 code the words by which its texts are told, and those that deny."""
    text = files(__package__).joinpath("languages.json").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, str]] = json.loads(text)
    return loaded


@cache
def words_of(language: str, field: str) -> frozenset[str]:
    """Return the words that a language lists under a field; none where it lists none."""
    return frozenset(languages().get(language, {}).get(field, "").split())
