"""Signs that a score measures the golden set itself, or texts that are IDs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from fullrecall._util.counts import counted
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.show.text import one_line

_LOOKED_AT: Final = 1000
_FEWEST: Final = 5
"""Samples below which equal lists are no sign."""

_OF_TEST_SETS = frozenset({"evolution_type", "synthesizer_name", "query_style", "persona_name"})
"""Columns that generators of test sets write beside their reference contexts."""


def suspicions(samples: Iterable[Sample]) -> Iterator[str]:
    """Yield a sentence for each sign that the first samples show."""
    looked_at = [sample for sample in islice(samples, _LOOKED_AT) if sample.has_retrieval]
    yield from _copied(looked_at)
    yield from _generated(looked_at)
    yield from _named(looked_at)


def _copied(samples: Sequence[Sample]) -> Iterator[str]:
    """Every retrieved list equals its references."""
    pairs = [(_retrieved(sample), _references(sample)) for sample in samples]
    pairs = [(retrieved, references) for retrieved, references in pairs if references]
    if len(pairs) >= _FEWEST and all(retrieved == references for retrieved, references in pairs):
        yield (
            f"every retrieved list equals its references, in all {len(pairs):,} samples: is the "
            "golden set read as the retrieval?"
        )


def _generated(samples: Sequence[Sample]) -> Iterator[str]:
    """The retrieval came from a test set's own columns."""
    marked = [
        sample
        for sample in samples
        if sample.retrieval is None
        and sample.retrieved_contexts
        and not sample.reference_contexts
        and _OF_TEST_SETS & sample.metadata.keys()
    ]
    if marked:
        name = min(_OF_TEST_SETS & marked[0].metadata.keys())
        yield (
            f"the retrieved contexts of {counted(len(marked), 'sample')} come from a generated "
            f"test set ({name}): its contexts are references, so read them as reference_contexts"
        )


def _named(samples: Sequence[Sample]) -> Iterator[str]:
    """Text references equal an ID or a metadata field of retrieved contexts."""
    for sample in samples:
        texts = {one.text for group in sample.reference_contexts or () for one in group}
        for context in sample.retrieved_contexts or ():
            for key, value in _labels(context):
                if isinstance(value, str) and value in texts and value != context.text:
                    yield (
                        f"the reference context {one_line(repr(value), 60)} is the {key} of a "
                        "retrieved context, not its text: read the references as reference IDs"
                    )
                    return


def _labels(context: Context) -> Iterator[tuple[str, object]]:
    yield from (("id", context.id), ("source", context.source), *context.metadata.items())


def _retrieved(sample: Sample) -> set[str | None]:
    """Return what was retrieved: IDs where the references are IDs, else texts."""
    if sample.reference_context_ids:
        return set(sample.retrieved_context_ids or ())
    return {context.text for context in sample.retrieved_contexts or ()}


def _references(sample: Sample) -> set[str | None]:
    if sample.reference_context_ids:
        return {name for group in sample.reference_context_ids for name in group.any_of}
    return {one.text for group in sample.reference_contexts or () for one in group}
