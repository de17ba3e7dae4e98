"""Whether the IDs of what was retrieved are of the kind that the references name."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fullrecall.context import ID, Context
from fullrecall.identifiers import as_id
from fullrecall.retrieval import Retrieval
from fullrecall.rewrites import Groups, is_chance, share_found
from fullrecall.sample import Sample


class IdLevelWarning(UserWarning):
    """Warns that references are in another field of what was retrieved than its ID."""


def id_hint(
    sample: Sample, other_ids: Mapping[str, Iterable[ID | None]] | None = None
) -> str | None:
    """Return what would find the references; empty where that is unknown, None if one was found.

    `other_ids` are further IDs that the documents have, by the options of an adapter that would
    use them; the values in their metadata are looked at in any case.
    """
    ids = sample.retrieved_context_ids or ()
    reference_ids = {
        own_id for group in sample.reference_context_ids or () for own_id in group.any_of
    }
    if not reference_ids.isdisjoint(ids):
        return None
    counts = Counter(
        {
            option: sum(_as_id(own_id) in reference_ids for own_id in named)
            for option, named in (other_ids or {}).items()
        }
    )
    contexts = sample.retrieved_contexts or ()
    for context in contexts:
        for path, value in _named_values(context.metadata):
            counts[f"id_key={path!r}"] += value in reference_ids
    for option, count in counts.most_common(1):
        if count:
            return f"the references are in other fields: {option} would find them"
    # Where only some have no ID, the scorer's own reason counts them.
    names = {} if any(ids) else dict.fromkeys(key for each in contexts for key in each.metadata)
    return f"the documents' metadata has {', '.join(map(repr, names))}" if names else ""


class IdWatch:
    """Warns, once in a run, of references that name something else than documents do.

    The usual reason is that references name sources and documents carry the IDs of chunks, or
    the random IDs that a store made up. A reference that was found ends the watch.
    """

    def __init__(self) -> None:
        self._is_done = False

    def look(
        self,
        sample: Sample,
        retrieval: Retrieval,
        other_ids: Callable[[], Mapping[str, Iterable[ID | None]]] = dict,
    ) -> None:
        """Look at what was retrieved for a sample; `other_ids` returns those of `id_hint`."""
        if self._is_done or not sample.reference_context_ids:
            return
        hint = id_hint(sample.with_retrieval(retrieval), other_ids())
        self._is_done = hint != ""
        if hint:
            warnings.warn(
                f"no reference ID is among the retrieved documents' IDs: {hint}",
                IdLevelWarning,
                stacklevel=2,
            )


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
            share_found(groups, ids)
            for groups, ids in zip(references, by_sample, strict=True)
            if groups
        ]
        count = sum(
            not ids.isdisjoint(group)
            for groups, ids in zip(references, by_sample, strict=True)
            for group in groups
        )
        if count and not is_chance(by_sample, references):
            fields.append(OtherField(path, count, sum(shares) / len(shares)))
    return max(fields, key=lambda field: field.gain, default=None)
