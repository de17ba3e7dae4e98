"""Which samples are independent: those that share neither a group nor an ID.

The same sample scored twice is not two samples, so that repeats and merged runs count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from fullrecall.sample import Sample

MOST_IDS = 1_024
"""How many IDs a report without rows remembers."""

_Key = tuple[bool, str]
"""Whether it is a group's name or a sample's ID, and the name."""


def groups_of(samples: Sequence[Sample]) -> list[str | None]:
    """Return the group of each sample, None for one that stands for itself.

    Samples of one group or of one ID share a group, and so do those that are linked by others: of
    `("x", "a")`, `("x", "b")`, `("y", "b")` (ID and group) all three.
    """
    names = [sample.id for sample in samples]
    groups = [sample.group for sample in samples]
    unnamed = names.count(None)
    if unnamed == len(names):
        return groups
    often = Counter(names)
    if len(often) == len(names) - unnamed + (unnamed > 0):
        return groups
    linked = Linked(
        ((sample.id, sample.group) for sample in samples if often[sample.id] > 1),
        {sample.group for sample in samples},
    )
    return [linked.group_of(sample.id, sample.group) for sample in samples]


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


class SampleIds:
    """The IDs of samples without a group, to notice one that stands more than once.

    Exact up to 1,024 IDs. Of more it keeps those with the smallest digests, the same ones whatever
    the order: where one sample in 100 is a repeat, it is noticed in all but 1 of 29,000 cases.
    """

    __slots__ = ("_limit", "_often", "_once")

    def __init__(self, digests: Iterable[int] = ()) -> None:
        self._limit = 2**64
        self._often: dict[int, int] = {}
        self._once: set[str] = set()
        for digest in digests:
            self._count(digest)

    def add(self, name: str) -> None:
        """Add the ID of one more sample."""
        text = name.encode("utf-8", "surrogatepass")
        self._count(int.from_bytes(blake2b(text, digest_size=8).digest(), "big"))

    def add_once(self, names: set[str]) -> None:
        """Add IDs that stand once each; digests are made when someone asks for more than that."""
        self._digest()
        self._once = names

    def merge(self, other: SampleIds) -> None:
        """Add the IDs of another part."""
        for digest in other.digests:
            self._count(digest)

    @property
    def digests(self) -> list[int]:
        """The smallest digests, ascending; one of a repeated ID stands there as often."""
        self._digest()
        self._forget()
        return sorted(digest for digest, count in self._often.items() for _ in range(count))

    @property
    def repeated(self) -> bool:
        """Whether an ID stands more than once."""
        if not self._often:
            return False
        self._digest()
        self._forget()
        return any(count > 1 for count in self._often.values())

    def _count(self, digest: int) -> None:
        if digest < self._limit:
            self._often[digest] = self._often.get(digest, 0) + 1
            if len(self._often) > 2 * MOST_IDS:
                self._forget()

    def _digest(self) -> None:
        names, self._once = self._once, set()
        for name in names:
            self.add(name)

    def _forget(self) -> None:
        if len(self._often) > MOST_IDS:
            kept = sorted(self._often)[: MOST_IDS + 1]
            self._limit = kept.pop()
            self._often = {digest: self._often[digest] for digest in kept}
