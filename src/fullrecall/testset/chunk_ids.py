"""Chunk IDs from document spans: labels that hold for any chunking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fullrecall.context import Context, ContextLike, as_context
from fullrecall.errors import InputError
from fullrecall.evaluation.run import SampleLike, as_samples
from fullrecall.sample import Reference, Sample

_ENOUGH = 0.9
"""Chunks hold a quote if they cover this share of its characters."""


class Derived(NamedTuple):
    """Samples with chunk IDs for references, and the quotes that no chunks hold."""

    samples: list[Sample]
    lost: list[tuple[str, str]]


class _Chunk(NamedTuple):
    id: str
    start: int
    end: int


def chunk_ids(samples: Iterable[SampleLike], chunks: Iterable[ContextLike]) -> Derived:
    """Return samples whose reference IDs are those of the chunks that hold their quotes.

    `chunks` have an `id`, a `source`, and a `start`; `end` follows from the text. Chunks that
    each hold at least 90 % of a quote are one any-of group; where none does, those that cover
    most of it together are a reference each. Of alternative places the first that any chunk
    holds alone counts. Raises `InputError` for a chunk without a place, and for a sample whose
    references have none.
    """
    by_source: defaultdict[str, list[_Chunk]] = defaultdict(list)
    for number, item in enumerate(chunks):
        context = as_context(item)
        if context.id is None or context.source is None or context.start is None:
            raise InputError(f"chunk {number} needs an id, a source and a start")
        by_source[context.source].append(_Chunk(context.id, context.start, context.end or 0))
    for of in by_source.values():
        of.sort(key=lambda chunk: (chunk.start, chunk.end))
    done, lost = [], []
    for number, sample in enumerate(as_samples(samples), start=1):
        label = sample.id or f"#{number}"
        references: list[Reference] = []
        for group in sample.reference_contexts or ():
            found = _references(group, by_source, label)
            references += found
            if not found:
                lost.append((label, group[0].label))
        done.append(Sample(**{**sample.to_dict(), "reference_context_ids": references}))
    return Derived(done, lost)


def _references(
    group: Sequence[Context], by_source: dict[str, list[_Chunk]], label: str
) -> list[Reference]:
    alone: dict[str, None] = {}
    together: list[str] = []
    for place in group:
        if place.source is None or place.start is None or place.end is None:
            raise InputError(f"sample {label}: a reference has no source and offsets")
        near = [
            chunk
            for chunk in by_source.get(place.source, ())
            if chunk.start < place.end and place.start < chunk.end
        ]
        length = place.end - place.start
        whole = [c.id for c in near if _shared(c, place.start, place.end) >= _ENOUGH * length]
        alone |= dict.fromkeys(whole)
        if not whole and not together:
            together = _cover(near, place.start, place.end)
    if alone:
        return [Reference(tuple(alone))]
    return [Reference((name,)) for name in together]


def _shared(chunk: _Chunk, start: int, end: int) -> int:
    return max(0, min(chunk.end, end) - max(chunk.start, start))


def _cover(near: Sequence[_Chunk], start: int, end: int) -> list[str]:
    """Return the fewest chunks that cover the range together; none if they lack a part."""
    chosen, at, covered = [], start, 0
    while at < end:
        begun = [chunk for chunk in near if chunk.start <= at < chunk.end]
        later = [chunk for chunk in near if chunk.start > at]
        if begun:
            best = max(begun, key=lambda chunk: chunk.end)
            chosen.append(best.id)
            covered += min(best.end, end) - at
            at = best.end
        elif later:
            at = later[0].start
        else:
            break
    return chosen if covered >= _ENOUGH * (end - start) else []
