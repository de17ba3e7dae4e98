"""Opposites, rivals and synonyms of words.

Rivals are words of one kind, such as two weekdays. An opposite or a rival in the place of a word
makes a true statement false. The lists were made for fullrecall. Words are compared by stem, so a
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
    """Map each word's stem to the stems of its opposites: increase to decrease and reduce."""
    return _by_key("opposites.txt")


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Map each word's stem to the stems of its synonyms: start to begin and launch."""
    return _by_key("synonyms.txt")


@cache
def rivals() -> Mapping[str, frozenset[str]]:
    """Map each word's stem to the stems of its rivals: Tuesday to the other weekdays."""
    return _by_key("kinds.txt")


@cache
def as_written(name: str) -> Mapping[str, Sequence[str]]:
    """Map each word of a word file, as written, to the other words of its groups."""
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
