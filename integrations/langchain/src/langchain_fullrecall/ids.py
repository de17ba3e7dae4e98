"""Whether the IDs of what was retrieved are of the kind that the references name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from fullrecall import Sample
from fullrecall.identifiers import as_id, shown

_MOST_KEYS = 5

_SOON = 5
"""Samples without any hit after which a run with evidence of another level need not go on."""

_ENOUGH = 20
"""Samples without any hit that are no bad luck: a retriever that finds something for 4 of 10
questions misses 20 in a row once in 27,000 runs, but 5 in a row once in 13."""


class IdLevelWarning(UserWarning):
    """Warns that no reference ID was seen in a whole run: they may be of another level."""


class IdsSeen(NamedTuple):
    """What the IDs of one sample tell.

    - `retrieved`: how many documents were retrieved; `without_id`: how many of them have no ID.
    - `met`: whether any reference ID is among theirs, None where the sample names none or
      nothing was retrieved.
    - `keys`: the metadata keys under which the reference IDs stand instead.
    - `reference`, `brought`: a reference ID and a retrieved one, to show how they look.
    """

    retrieved: int = 0
    without_id: int = 0
    met: bool | None = None
    keys: tuple[str, ...] = ()
    reference: str | None = None
    brought: str | None = None


def ids_seen(sample: Sample) -> IdsSeen:
    """Return what the IDs of a sample tell."""
    ids = sample.retrieved_context_ids or ()
    wanted = {own for group in sample.reference_context_ids or () for own in group.any_of}
    known = [own for own in ids if own is not None]
    if not wanted or not ids:
        return IdsSeen(len(ids), len(ids) - len(known))
    met = not wanted.isdisjoint(known)
    return IdsSeen(
        len(ids),
        len(ids) - len(known),
        met,
        () if met else _keys(sample, wanted),
        min(wanted),
        known[0] if known else None,
    )


class IdWatch:
    """Watches a run, sample by sample, for references that name something else than documents do.

    The usual reason is that references name sources and documents carry the IDs of chunks, or
    the random IDs that a store made up. Samples without references or documents do not count.
    Holds totals only, however long the run is.
    """

    def __init__(self, seen: Iterable[IdsSeen] = ()) -> None:
        self._met = False
        self._compared = 0
        self._keys: Counter[str] = Counter()
        self._reference: str | None = None
        self._brought: str | None = None
        for each in seen:
            self.see(each)

    def see(self, one: IdsSeen) -> None:
        """Take note of one sample."""
        if one.met is None:
            return
        self._met = self._met or one.met
        self._compared += 1
        self._keys.update(one.keys)
        self._reference = self._reference or one.reference
        self._brought = self._brought or one.brought

    @property
    def is_enough(self) -> bool:
        """Whether a hit was seen, or enough samples without one for `problem` to be certain."""
        return self._met or self._compared >= (_SOON if self._has_evidence else _ENOUGH)

    @property
    def _has_evidence(self) -> bool:
        return bool(self._keys) or self._brought is None

    def noted(self, sample: Sample) -> Sample:
        """Return a sample of which note was taken."""
        self.see(ids_seen(sample))
        return sample

    def problem(self) -> str | None:
        """Return what is wrong where no reference ID was seen in the whole run, None if one was.

        Documents without any ID, and metadata that hold what was looked for, are evidence enough.
        Without it a few samples prove nothing: their retrieval may just have been bad.
        """
        if self._met or not self._compared:
            return None
        count = f"{self._compared} samples" if self._compared > 1 else "the one sample"
        problem = f"no reference ID of {count} is among the retrieved documents' IDs"
        if self._keys:
            listed = ", ".join(
                f"id_key={key!r} (in {found} of {self._compared})"
                for key, found in self._keys.most_common(_MOST_KEYS)
            )
            return f"{problem}, but their metadata hold them: {listed} would find them"
        if self._brought is None:
            return f"{problem}: none of the documents has an ID; pass id_key= to name its field"
        if self._compared < _ENOUGH:
            return None
        return (
            f"{problem}: references look like {shown(self._reference)}, documents like "
            f"{shown(self._brought)}; pass id_key= to name the field that the references use"
        )


def id_hint(sample: Sample, seen: IdsSeen) -> str:
    """Return what helps where one sample's IDs do not meet: where they may stand."""
    if seen.keys:
        return f"the references are in the metadata: id_key={seen.keys[0]!r} would find them"
    if not seen.retrieved or seen.without_id < seen.retrieved:
        return ""  # where some have none, the scorer's own reason counts them
    contexts = sample.retrieved_contexts or ()
    keys = dict.fromkeys(key for context in contexts for key in context.metadata)
    if not keys:
        return ""
    there = ", ".join(map(repr, keys))
    return f"the documents' metadata has {there}"


def _keys(sample: Sample, wanted: set[str]) -> tuple[str, ...]:
    keys: Counter[str] = Counter()
    for context in sample.retrieved_contexts or ():
        for key, value in context.metadata.items():
            try:
                keys[key] += as_id(value) in wanted
            except ValueError:  # a list, a number with a fraction: no ID
                continue
    return tuple(key for key, found in keys.most_common(_MOST_KEYS) if found)
