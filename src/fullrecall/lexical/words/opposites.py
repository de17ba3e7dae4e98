"""Opposites, rivals and synonyms of words.

Rivals are words of one kind, such as two weekdays. An opposite or a rival in the place of a word
makes a true statement false. The lists were made for fullrecall. Words are compared by key, so a
base form covers its inflected forms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import permutations

from fullrecall.lexical.words.data import lines
from fullrecall.lexical.words.tokens import stem


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Return the keys of opposites by the key of a word: decrease and reduce for increase."""
    return _by_key("opposites.txt")


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Return the keys of synonyms by the key of a word: begin and launch for start."""
    return _by_key("synonyms.txt")


@cache
def rivals() -> Mapping[str, frozenset[str]]:
    """Return the keys of rivals by the key of a word: the other weekdays for Tuesday."""
    return _by_key("kinds.txt")


@cache
def as_written(name: str) -> Mapping[str, Sequence[str]]:
    """Return the words of a word file as written, each with the other words of its groups."""
    excluding: defaultdict[str, list[str]] = defaultdict(list)
    for line in lines(name):
        for group in line.split(","):
            for word, other in permutations(group.split(), 2):
                excluding[word].append(other)
    return excluding


def _by_key(name: str) -> Mapping[str, frozenset[str]]:
    excluding: defaultdict[str, set[str]] = defaultdict(set)
    for word, others in as_written(name).items():
        excluding[stem(word)].update(map(stem, others))
    return {key: frozenset(others - {key}) for key, others in excluding.items() if others - {key}}
