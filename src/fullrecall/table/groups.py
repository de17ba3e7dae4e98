"""Group samples that are not independent, because they share a group's name or an ID.

A sample that is scored twice, such as in merged runs, is not two independent samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Key: TypeAlias = tuple[bool, str]
"""A group's name, after True, or a sample's ID, after False."""

Group: TypeAlias = str | _Key
"""The name of a group; if IDs repeat, the key that represents the linked names and IDs."""


def groups_of(ids: Sequence[str | None], groups: Sequence[str | None]) -> list[Group | None]:
    """Return the group of each sample, None if it has neither a group nor a repeated ID.

    Samples with the same group or the same ID share a group. So do samples that are linked by other
    samples: `("x", "a")`, `("x", "b")`, `("y", "b")` (ID and group) are all in one group.
    """
    if not may_repeat(ids):
        return list(groups)
    frequencies = Counter(ids)
    keys: list[list[_Key]] = []  # for each sample: its ID, if it is repeated, and its group
    above: dict[_Key, _Key] = {}
    for name, group in zip(ids, groups, strict=True):
        by_id = [(False, name)] if name is not None and frequencies[name] > 1 else []
        keys.append(by_id if group is None else [*by_id, (True, group)])
        roots = [_root(key, above) for key in keys[-1]]
        if len(roots) > 1:
            above[roots[0]] = roots[1]
    return [_root(own[0], above) if own else None for own in keys]


def _root(key: _Key, above: dict[_Key, _Key]) -> _Key:
    """Return the key that represents all keys linked with this one (union-find).

    `above` maps each key to the next one on the way to that representative; the representative
    itself is left out.
    """
    while (parent := above.get(key, key)) != key:
        above[key] = above.get(parent, parent)  # shorten the path: many links take linear time
        key = parent
    return key


def may_repeat(ids: Iterable[str | None]) -> bool:
    """Return whether an ID occurs twice; rarely, equal hashes also give True."""
    # A hash takes 8 bytes, an ID in a set about 100, and reports have millions of IDs.
    hashes = np.fromiter((hash(name) for name in ids if name is not None), np.int64)
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def codes_of(groups: Sequence[Group | None]) -> NDArray[np.int64] | None:
    """Return the number of each sample's group, -1 for None; None if no sample has a group."""
    numbers: dict[Group, int] = {}
    codes = [-1 if group is None else numbers.setdefault(group, len(numbers)) for group in groups]
    return np.array(codes, np.int64) if numbers else None


class IdRange(NamedTuple):
    """The smallest and the largest of some distinct IDs; shorter IDs come before longer ones.

    In this order, IDs that are consecutive numbers ascend. `ids` is the number of IDs; if it is 0,
    both ends are "".
    """

    least: str = ""
    greatest: str = ""
    ids: int = 0


def are_apart(ranges: Sequence[IdRange | None]) -> bool:
    """Return whether the ranges of parts prove that no two samples share an ID.

    None is an unknown range, or one in which an ID repeats: it proves nothing.
    """
    if None in ranges:
        return False
    ends = sorted([(len(each.least), *each) for each in ranges if each is not None and each.ids])
    return all(
        (len(before[2]), before[2]) < (after[0], after[1]) for before, after in pairwise(ends)
    )
