"""Signs that a score measures the golden set itself, or texts that are IDs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    """Yield a sentence for each sign that the first samples show; no sample is kept."""
    compared = copied = generated = 0
    column = label = ""
    for sample in islice(samples, _LOOKED_AT):
        if not sample.has_retrieval:
            continue
        if references := _references(sample):
            compared += 1
            copied += _retrieved(sample) == references
        if marks := _marks(sample):
            generated += 1
            column = column or min(marks)
        label = label or _named(sample)
    if compared >= _FEWEST and copied == compared:
        yield (
            f"every retrieved list equals its references, in all {compared:,} samples: is the "
            "golden set read as the retrieval?"
        )
    if generated:
        yield (
            f"the retrieved contexts of {counted(generated, 'sample')} come from a generated "
            f"test set ({column}): its contexts are references, so read them as reference_contexts"
        )
    if label:
        yield (
            f"the reference context {label} of a retrieved context, not its text: read the "
            "references as reference IDs"
        )


def _marks(sample: Sample) -> frozenset[str]:
    """Return the columns of a generated test set whose contexts are read as the retrieval."""
    is_read_so = (
        sample.retrieval is None and sample.retrieved_contexts and not sample.reference_contexts
    )
    return _OF_TEST_SETS & sample.metadata.keys() if is_read_so else frozenset()


def _named(sample: Sample) -> str:
    """Return the text reference that is an ID or a metadata field of a retrieved context."""
    texts = {one.text for group in sample.reference_contexts or () for one in group}
    for context in sample.retrieved_contexts or ():
        for key, value in _labels(context):
            if isinstance(value, str) and value in texts and value != context.text:
                return f"{one_line(repr(value), 60)} is the {key}"
    return ""


def _labels(context: Context) -> Iterator[tuple[str, object]]:
    yield from (("id", context.id), ("source", context.source), *context.metadata.items())


def _retrieved(sample: Sample) -> set[str | None]:
    """Return the retrieved IDs where the references are IDs, else the retrieved texts."""
    if sample.reference_context_ids:
        return set(sample.retrieved_context_ids or ())
    return {context.text for context in sample.retrieved_contexts or ()}


def _references(sample: Sample) -> set[str | None]:
    if sample.reference_context_ids:
        return {name for group in sample.reference_context_ids for name in group.any_of}
    return {one.text for group in sample.reference_contexts or () for one in group}
