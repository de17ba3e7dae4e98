"""Which samples are independent: those that share neither a group nor an ID.

The same sample scored twice is not two samples, so that repeats and merged runs count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_Key = tuple[bool, str]
"""Whether it is a group's name or a sample's ID, and the name."""


def groups_of(ids: Sequence[str | None], groups: Sequence[str | None]) -> list[str | None]:
    """Return the group of each sample, None for one that stands for itself.

    Samples of one group or of one ID share a group, and so do those that are linked by others: of
    `("x", "a")`, `("x", "b")`, `("y", "b")` (ID and group) all three.
    """
    if not may_repeat(ids):
        return list(groups)
    frequencies, links = Counter(ids), _Links(groups)
    repeated = [name if name is None or frequencies[name] > 1 else None for name in ids]
    for name, group in zip(repeated, groups, strict=True):
        if name is not None and group is not None:
            links.join((False, name), (True, group))
    return [
        links.label((True, group))
        if group is not None
        else (None if name is None else links.label((False, name)))
        for name, group in zip(repeated, groups, strict=True)
    ]


def may_repeat(ids: Iterable[str | None]) -> bool:
    """Return whether an ID occurs twice; in rare cases also where only their hashes do."""
    # 8 bytes for each, where a set takes some 100: reports have millions.
    hashes = np.fromiter((hash(name) for name in ids if name is not None), np.int64)
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def codes_of(groups: Sequence[str | None]) -> NDArray[np.int64] | None:
    """Return the number of each group, -1 for none; None where there are no groups."""
    names = {name: number for number, name in enumerate(dict.fromkeys(filter(None, groups)))}
    if not names and "" not in groups:
        return None
    names.setdefault("", len(names))
    return np.fromiter((-1 if name is None else names[name] for name in groups), np.int64)


class _Links:
    """Keys that belong together, found by the root that they share; a group's, if there is one."""

    def __init__(self, groups: Iterable[str | None]) -> None:
        self._above: dict[_Key, _Key] = {}
        self._labels: dict[_Key, str] = {}
        self._used = set(groups)

    def label(self, key: _Key) -> str:
        """Return the name of what a key belongs to; an ID's is that of no group."""
        root = self._root(key)
        if root not in self._labels:
            label = root[1]
            while not root[0] and label in self._used:
                label += "'"
            self._used.add(label)
            self._labels[root] = label
        return self._labels[root]

    def join(self, key: _Key, other: _Key) -> None:
        # The smaller key goes under the larger, and a group's is larger than an ID's.
        low, high = sorted((self._root(key), self._root(other)))
        self._above[low] = high

    def _root(self, key: _Key) -> _Key:
        while (above := self._above.get(key, key)) != key:
            self._above[key] = self._above.get(above, above)
            key = above
        return key
