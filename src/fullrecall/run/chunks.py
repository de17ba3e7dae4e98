"""Samples scored many at a time, as columns, without an object for each row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from fullrecall.run.interruption import Interruption
from fullrecall.samples.sample import Sample, SampleLike
from fullrecall.scorers.ids import IdRecall, id_columns
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    from fullrecall.table.part import ColumnResults, MemoryPart

_LARGEST = 8_192
_SECONDS = 0.05
"""The most samples in a chunk, and the most seconds of reading before they are scored.

Each sample is visited several times: 8,192 stay in a processor's cache; with 16,384, each sample
costs a quarter more.
"""

_OFTEN = 16
"""Samples that are read between two checks of the clock."""

_PLAIN = {"id", "user_input", "retrieved_context_ids", "reference_context_ids", "group"}
"""The fields of samples that can be scored as columns."""


def takes_chunks(scorers: Sequence[Scorer]) -> bool:
    """Return whether all scorers fill columns, and none of them can raise."""
    return all(type(scorer) is IdRecall for scorer in scorers)


def chunks(
    items: Iterable[SampleLike], interruption: Interruption
) -> Iterator[Sequence[SampleLike]]:
    """Yield the items in chunks; raise an exception of `items` after the items before it."""
    # A list is read at once, so its chunks need no clock. A subclass may iterate in another way.
    if type(items) is list:
        for start in range(0, len(items), _LARGEST):
            yield items[start : start + _LARGEST]
        return
    chunk: list[SampleLike] = []
    began = time.monotonic()
    try:
        for item in interruption.reading(items):
            chunk.append(item)
            is_late = len(chunk) % _OFTEN == 0 and time.monotonic() - began > _SECONDS
            if is_late or len(chunk) >= _LARGEST:
                yield chunk
                chunk, began = [], time.monotonic()
    except (Exception, KeyboardInterrupt):
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def part_of(
    chunk: Sequence[SampleLike],
    first: int,
    scorers: Sequence[Scorer],
    as_sample: Callable[[object, int], Sample],
) -> MemoryPart:
    """Return the scores of a chunk whose first sample has the position `first`.

    Raises `InputError`, naming the position, for an item that is not a sample.
    """
    from fullrecall.table.part import MemoryPart, columns_of

    part = _of_mappings(chunk, scorers)
    if part is not None:
        return part
    samples: Any = chunk
    if set(map(type, chunk)) != {Sample}:
        samples = [as_sample(item, first + nth) for nth, item in enumerate(chunk)]
    columns = id_columns(samples)
    if columns is not None:
        return MemoryPart(samples, [columns] * len(scorers), _following(scorers))
    scored = [[scorer.score(sample) for sample in samples] for scorer in scorers]
    notes = [[result.note for result in results] for results in scored]
    return MemoryPart(samples, list(map(columns_of, scored)), _following(scorers, notes))


def _following(
    scorers: Sequence[Scorer], notes: Sequence[Sequence[str] | None] = ()
) -> list[ColumnResults]:
    """Return one `ColumnResults` per scorer, which makes its results from its columns."""
    from fullrecall.table.part import ColumnResults

    pairs = zip_longest(scorers, notes)
    return [ColumnResults(scorer.method, own) for scorer, own in pairs]


def _of_mappings(chunk: Sequence[SampleLike], scorers: Sequence[Scorer]) -> MemoryPart | None:
    """Return the scores of mappings of texts and lists of texts; None for other items."""
    from fullrecall.scorers.id_columns import distinct, score_ids
    from fullrecall.scorers.id_samples import IdLists, IdSamples
    from fullrecall.table.part import MemoryPart

    fields = _columns_of(chunk)
    if fields is None:
        return None
    lists = _texts(fields["retrieved_context_ids"])
    reference_lists = _texts(fields["reference_context_ids"])
    if lists is None or reference_lists is None:
        return None
    (retrieved, retrieved_ids), references = lists, distinct(reference_lists[0])
    scores = score_ids(retrieved, references)
    samples = IdSamples(
        IdLists.of(retrieved, retrieved_ids),
        IdLists(list(chain.from_iterable(references)), scores.first.offsets),
        fields.get("id") or [None] * len(chunk),
        fields.get("user_input", ()),
        fields.get("group", ()),
    )
    return MemoryPart(samples, [scores] * len(scorers), _following(scorers))


def _columns_of(chunk: Sequence[Any]) -> dict[str, list[Any]] | None:
    """Return the columns of mappings that have the same plain fields; None for other items."""
    first = chunk[0]
    if type(first) is not dict:
        return None
    keys = first.keys()
    aliases = Sample.names()
    by_name = {name: field for field, names in aliases.items() for name in (field, *names)}
    fields = [by_name.get(key) for key in keys]
    if not {"retrieved_context_ids", "reference_context_ids"} <= set(fields) <= _PLAIN:
        return None
    if len(set(fields)) < len(fields):
        return None
    # A mapping of the same length that has all of these keys has no other key.
    if set(map(type, chunk)) != {dict} or set(map(len, chunk)) != {len(keys)}:
        return None
    try:
        columns = {
            field: list(map(itemgetter(key), chunk))
            for field, key in zip(fields, keys, strict=True)
            if field is not None
        }
    except KeyError:
        return None
    texts = frozenset({str, type(None)})
    is_plain = all(texts.issuperset(map(type, columns.get(name, ()))) for name in _TEXT_FIELDS)
    return columns if is_plain else None


_MOST_DIGITS = 10**100
"""Python converts no number of thousands of digits to text: its sample refuses such an ID."""

_TEXT_FIELDS = ("id", "user_input", "group")


def _texts(column: Sequence[Any]) -> tuple[Sequence[Sequence[str]], Sequence[str]] | None:
    """Return the lists of IDs as texts, and all IDs; None for another form, or an empty ID."""
    if not frozenset({list, tuple}).issuperset(map(type, column)):
        return None
    ids = tuple(chain.from_iterable(column))  # a list would reserve room for more
    try:
        "".join(ids)  # the fastest check that all are texts
    except TypeError:
        if set(map(type, ids)) != {int} or max(ids) >= _MOST_DIGITS or min(ids) <= -_MOST_DIGITS:
            return None
        names, ends = tuple(map(str, ids)), list(accumulate(map(len, column)))
        return [names[start:end] for start, end in pairwise((0, *ends))], names
    return (column, ids) if all(ids) else None
