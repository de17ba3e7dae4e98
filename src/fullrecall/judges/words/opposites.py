"""Words of which one makes a statement false where the other makes it true.

Our own lists. Words are compared by key, so each inflected form is covered by its base.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import permutations

from fullrecall.judges.words.data import lines
from fullrecall.judges.words.tokens import stem


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Return for each listed word the keys of its opposites: increase, decrease and reduce."""
    return _excluding(pair.split() for line in lines("opposites.txt") for pair in line.split(","))


@cache
def rivals() -> Mapping[str, frozenset[str]]:
    """Return for each listed word the keys of the others of its kinds: Tuesday, and other days."""
    return _excluding(line.split() for line in lines("kinds.txt"))


def _excluding(groups: Iterable[Iterable[str]]) -> Mapping[str, frozenset[str]]:
    """Return for each key of the groups the others that stand in a group with it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for group in groups:
        for key, other in permutations({stem(word) for word in group}, 2):
            found[key].add(other)
    return {key: frozenset(others) for key, others in found.items()}
