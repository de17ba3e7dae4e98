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
    if not _may_repeat(ids):
        return list(groups)
    often = Counter(ids)
    linked = Linked(
        ((name, group) for name, group in zip(ids, groups, strict=True) if often[name] > 1),
        set(groups),
    )
    return [linked.group_of(name, group) for name, group in zip(ids, groups, strict=True)]


def codes_of(groups: Sequence[str | None]) -> NDArray[np.int64] | None:
    """Return the number of each group, -1 for none; None where there are no groups."""
    names = {name: number for number, name in enumerate(dict.fromkeys(filter(None, groups)))}
    if not names and "" not in groups:
        return None
    names.setdefault("", len(names))
    return np.fromiter((-1 if name is None else names[name] for name in groups), np.int64)


def _may_repeat(ids: Sequence[str | None]) -> bool:
    """Return whether an ID occurs twice; in rare cases also where only their hashes do."""
    named = [name for name in ids if name is not None]
    # 8 bytes for each ID, where a set takes some 100: reports have millions.
    hashes = np.fromiter(map(hash, named), np.int64, len(named))
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


class Linked:
    """The groups of samples of which some share an ID.

    `repeated` are the IDs that stand more than once, each with the group of a sample that has it;
    `taken` the names of all groups. The group of any sample of the report is then known.
    """

    def __init__(
        self, repeated: Iterable[tuple[str | None, str | None]], taken: Iterable[str | None] = ()
    ) -> None:
        linked = _Links()
        keys: dict[_Key, None] = {}
        for name, group in repeated:
            if name is None:
                continue
            keys[False, name] = None
            if group is not None:
                keys[True, group] = None
                linked.join((False, name), (True, group))
        names: dict[_Key, str] = {}
        used = set(taken)
        for key in keys:
            root = linked.root(key)
            if root not in names:
                names[root] = root[1] if root[0] else _unlike(root[1], used)
        self._groups = {key: names[linked.root(key)] for key in keys}

    def __len__(self) -> int:
        return len(self._groups)

    def group_of(self, name: str | None, group: str | None) -> str | None:
        """Return the group of a sample by its ID and its own group; None if it stands alone."""
        if group is not None:
            return self._groups.get((True, group), group)
        return None if name is None else self._groups.get((False, name))


def _unlike(name: str, taken: set[str | None]) -> str:
    """Return a name for a group that no other group has."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name


class _Links:
    """Keys that belong together, found by the root that they share; a group's, if there is one."""

    def __init__(self) -> None:
        self._above: dict[_Key, _Key] = {}

    def root(self, key: _Key) -> _Key:
        while (above := self._above.get(key, key)) != key:
            self._above[key] = self._above.get(above, above)
            key = above
        return key

    def join(self, one: _Key, other: _Key) -> None:
        # The smaller key goes under the larger, and a group's is larger than an ID's.
        low, high = sorted((self.root(one), self.root(other)))
        self._above[low] = high
