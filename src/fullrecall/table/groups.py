"""Find the independent samples: those that share neither a group nor an ID.

A sample that is scored twice is not two samples, so repeats and merged runs count once.
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
"""Whether it is a group's name or a sample's ID, and the name or ID."""

Group: TypeAlias = str | _Key
"""The name or key that the samples of a group share."""


def groups_of(ids: Sequence[str | None], groups: Sequence[str | None]) -> list[Group | None]:
    """Return the group of each sample, None for a sample that shares none.

    Samples with one group or one ID share a group, also through other samples: all three of `("x",
    "a")`, `("x", "b")`, `("y", "b")` (ID and group) do.
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
    """Return the root of the keys that are linked with this one (union-find)."""
    while (parent := above.get(key, key)) != key:
        above[key] = above.get(parent, parent)  # shorter paths keep many links linear
        key = parent
    return key


def may_repeat(ids: Iterable[str | None]) -> bool:
    """Return whether an ID occurs twice; rarely, equal hashes also give True."""
    # 8 bytes for each ID; a set takes about 100, and reports have millions of IDs.
    hashes = np.fromiter((hash(name) for name in ids if name is not None), np.int64)
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def codes_of(groups: Sequence[Group | None]) -> NDArray[np.int64] | None:
    """Return the number of each group, -1 for a sample without one; None if there is no group."""
    numbers: dict[Group, int] = {}
    codes = [-1 if group is None else numbers.setdefault(group, len(numbers)) for group in groups]
    return np.array(codes, np.int64) if numbers else None


class IdRange(NamedTuple):
    """The smallest and the largest of some distinct IDs, where shorter IDs come before longer ones.

    In this order, the IDs of numbered samples ascend. Both ends are "" without an ID; `ids` is the
    number of IDs.
    """

    least: str = ""
    greatest: str = ""
    ids: int = 0


def are_apart(ranges: Sequence[IdRange | None]) -> bool:
    """Return whether ranges prove that no two parts share an ID; None is an unknown range."""
    if None in ranges:
        return False
    ends = sorted([(len(each.least), *each) for each in ranges if each is not None and each.ids])
    return all(
        (len(before[2]), before[2]) < (after[0], after[1]) for before, after in pairwise(ends)
    )
