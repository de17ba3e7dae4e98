"""Whether the IDs of what was retrieved are of the kind that the references name."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

from fullrecall.context import ID, Context
from fullrecall.identifiers import as_id
from fullrecall.rewrites import Groups, is_chance, share_found
from fullrecall.sample import Sample

_MOST_KEYS = 5


class IdLevelWarning(UserWarning):
    """Warns that no reference ID was seen in a whole run: they may be of another level."""


class IdsSeen(NamedTuple):
    """What the IDs of one sample show.

    - `retrieved`: how many documents were retrieved; `without_id`: how many of them have no ID.
    - `met`: whether any reference ID is among theirs, None where the sample names none or
      nothing was retrieved.
    - `options`: the options of an adapter with which they would be: "id_key='source'".
    """

    retrieved: int = 0
    without_id: int = 0
    met: bool | None = None
    options: tuple[str, ...] = ()

    def hint(self, sample: Sample) -> str:
        """Return what helps where the sample's IDs do not meet; empty where nothing is known."""
        if self.options:
            return f"the references are in other fields: {self.options[0]} would find them"
        if not self.retrieved or self.without_id < self.retrieved:
            return ""  # where some have none, the scorer's own reason counts them
        contexts = sample.retrieved_contexts or ()
        keys = dict.fromkeys(key for context in contexts for key in context.metadata)
        return f"the documents' metadata has {', '.join(map(repr, keys))}" if keys else ""


def ids_seen(sample: Sample, other_ids: Mapping[str, Iterable[ID | None]] | None = None) -> IdsSeen:
    """Return what the IDs of a sample show.

    `other_ids` are further IDs that the documents have, by the options that would use them; the
    values in their metadata are looked at in any case.
    """
    ids = sample.retrieved_context_ids or ()
    reference_ids = {own for group in sample.reference_context_ids or () for own in group.any_of}
    seen = IdsSeen(len(ids), ids.count(None))
    if not reference_ids or not ids:
        return seen
    if not reference_ids.isdisjoint(ids):
        return seen._replace(met=True)
    counts = Counter(
        {
            option: sum(_as_id(own_id) in reference_ids for own_id in named)
            for option, named in (other_ids or {}).items()
        }
    )
    for context in sample.retrieved_contexts or ():
        for path, value in _named_values(context.metadata):
            counts[f"id_key={path!r}"] += value in reference_ids
    options = [option for option, count in counts.most_common(_MOST_KEYS) if count]
    return seen._replace(met=False, options=tuple(options))


def id_fields(context: Context) -> Iterator[tuple[str, str]]:
    """Yield where a context may have another ID, as `id_key` takes it, and the ID there.

    Its source, and what its metadata has, nested ones by a dotted path.
    """
    if context.source is not None:
        yield "source", context.source
    if context.metadata:
        yield from _named_values(context.metadata)


def _named_values(metadata: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            yield from _named_values(value, f"{path}{name}.")
        else:
            own_id = value if type(value) is str else _as_id(value)
            if own_id:
                yield f"{path}{name}", own_id


def _as_id(value: object) -> str | None:
    try:
        return as_id(value)
    except ValueError:  # a list, a number with a fraction: no ID
        return None


@dataclass(frozen=True)
class OtherField:
    """A field of the retrieved contexts that holds reference IDs: its path, as `id_key` takes it.

    `references` counts those that are in that field of their own sample's contexts; `gain` is the
    mean recall by it, where none is found by the contexts' IDs.
    """

    path: str
    references: int
    gain: float

    @property
    def sentence(self) -> str:
        """The field with its gain, and how to use it."""
        return (
            f"another field of the retrieved contexts has the reference IDs: id_key={self.path!r} "
            f"finds {self.references:,} (recall {self.gain:+.3f})"
        )


def other_field(
    contexts: Sequence[Sequence[Context]], references: Sequence[Groups]
) -> OtherField | None:
    """Return the field in which most references are, of the samples' contexts; None if by chance.

    Both have one item for each sample, in the same order.
    """
    values: dict[str, list[set[str]]] = {}
    for number, listed in enumerate(contexts):
        for context in listed:
            for path, value in id_fields(context):
                values.setdefault(path, [set() for _ in contexts])[number].add(value)
    fields = []
    for path, by_sample in values.items():
        shares = [
            share_found(own, ids) for own, ids in zip(references, by_sample, strict=True) if own
        ]
        count = sum(
            not ids.isdisjoint(group)
            for own, ids in zip(references, by_sample, strict=True)
            for group in own
        )
        if count and not is_chance(by_sample, references):
            fields.append(OtherField(path, count, sum(shares) / len(shares)))
    return max(fields, key=lambda field: field.gain, default=None)


class IdWatch:
    """Watches a run, sample by sample, for references that name something else than documents do.

    The usual reason is that references name sources and documents carry the IDs of chunks, or
    the random IDs that a store made up. Samples without references or documents do not count.
    Holds totals only, however long the run is. Safe under threads.
    """

    def __init__(self, first_ids: Iterable[IdsSeen] = ()) -> None:
        self._met = self._has_warned = self._has_ids = False
        self._compared = 0
        self._options: Counter[str] = Counter()
        self._lock = Lock()
        for each in first_ids:
            self._see(each)

    def _see(self, ids: IdsSeen) -> None:
        if ids.met is not None:
            self._met = self._met or ids.met
            self._has_ids = self._has_ids or ids.without_id < ids.retrieved
            self._compared += 1
            self._options.update(ids.options)

    @property
    def is_done(self) -> bool:
        """Whether nothing more can be learned: a hit was seen, or a warning given."""
        return self._met or self._has_warned

    def warn(self, ids: IdsSeen) -> None:
        """Take note of one sample; give an `IdLevelWarning`, once, when there is a problem."""
        with self._lock:
            if self.is_done:
                return
            self._see(ids)
            problem = self.problem()
            self._has_warned = problem is not None
        if problem is not None:
            warnings.warn(problem, IdLevelWarning, stacklevel=2)

    def problem(self) -> str | None:
        """Return what is wrong where no reference ID was seen in the whole run, None if one was.

        Documents without any ID, and metadata that hold what was looked for, are evidence. Without
        it samples prove nothing: their retrieval may just have been bad.
        """
        if self._met or not self._compared or (self._has_ids and not self._options):
            return None
        count = f"{self._compared} samples" if self._compared > 1 else "the one sample"
        problem = f"no reference ID of {count} is among the retrieved documents' IDs"
        if not self._options:
            return f"{problem}: none of the documents has an ID; pass id_key= to name its field"
        options = ", ".join(
            f"{option} (in {samples} of {self._compared})"
            for option, samples in self._options.most_common(_MOST_KEYS)
        )
        return f"{problem}, but other fields hold them: {options} would find them"
