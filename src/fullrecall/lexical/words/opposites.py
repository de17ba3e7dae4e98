"""Opposites, rivals and synonyms of words. An opposite or a rival makes a true statement false.

The lists were made for fullrecall. Words are compared by key, so a base form covers its inflected
forms.
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
    """Return the keys of each listed word's opposites: decrease and reduce for increase."""
    return _by_key("opposites.txt")


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Return the keys of each listed word's synonyms: of start, they are begin and launch."""
    return _by_key("synonyms.txt")


@cache
def rivals() -> Mapping[str, frozenset[str]]:
    """Return, for each listed word, the keys of the other words of its kind: days for Tuesday."""
    return _by_key("kinds.txt")


@cache
def as_written(name: str) -> Mapping[str, Sequence[str]]:
    """Return, for each word of a list as it is written, the words that exclude it."""
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
