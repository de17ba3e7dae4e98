"""Which samples are independent: those that share neither a group nor an ID.

The same sample scored twice is not two samples, so that repeats and merged runs count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ODD = 0x9E3779B97F4A7C15
"""An odd number near 2^64 over the golden ratio: its powers have no pattern."""

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
    return may_repeat_hashes([hashes_of(name for name in ids if name is not None)])


def may_lack_or_repeat(ids: Iterable[str | None]) -> bool:
    """Return whether an ID is missing or occurs twice; in rare cases also where hashes do."""
    hashes = hashes_of(ids)
    return may_repeat_hashes([hashes]) or bool((hashes == hash(None)).any())


def hashes_of(ids: Iterable[str | None]) -> NDArray[np.int64]:
    """Return the hash of each ID: 8 bytes, where a set takes some 100; reports have millions."""
    return np.fromiter(map(hash, ids), np.int64)


def may_repeat_hashes(parts: Sequence[NDArray[Any]]) -> bool:
    """Return whether a hash occurs twice."""
    hashes = np.concatenate([np.zeros(0, np.uint64), *(part.view(np.uint64) for part in parts)])
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def stored_hashes(texts: Any) -> NDArray[np.uint64]:
    """Return a hash of each text of an Arrow array without nulls, without an object for each.

    Each byte counts by an odd factor for its position, modulo 2^64.
    """
    import pyarrow as pa

    encoded = texts.cast(pa.large_binary())
    _, ends, content = encoded.buffers()
    offsets = np.frombuffer(ends, np.int64)[encoded.offset :][: len(encoded) + 1]
    if not len(encoded) or content is None:
        return np.zeros(len(encoded), np.uint64)
    codes = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    lengths = np.diff(offsets)
    positions = np.arange(len(codes)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    factors = np.multiply.accumulate(np.full(lengths.max() + 1, _ODD, np.uint64))
    codes += np.uint64(1)  # a text is not that with zeros behind it
    codes *= factors[positions]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(codes)])
    bounds = offsets - offsets[0]
    hashes: NDArray[np.uint64] = sums[bounds[1:]] - sums[bounds[:-1]]
    return hashes


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
