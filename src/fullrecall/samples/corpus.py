"""An index of a corpus, with digests of its texts, and the check for stale labels of samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fullrecall.samples.context import Context
from fullrecall.samples.fields import LABELS, STALE
from fullrecall.samples.sample import Sample

ANCHORS = "anchors"
"""The key of a sample's metadata that has, for each reference ID, the digest and a quote of its
text.
"""


class Document(NamedTuple):
    """One text, with the ID that its chunks have as their `source`.

    If the text is itself a chunk, `source` is the ID of the document from which it was cut.
    """

    id: str
    text: str
    source: str | None = None


def text_digest(text: str) -> str:
    """Return a digest of a text's words, 16 hex digits; white space has no effect."""
    return _hash(" ".join(text.split()))


@dataclass(frozen=True)
class CorpusIndex:
    """An index of a corpus by ID, with its fingerprint and digests.

    - `fingerprint`: 16 hex digits that depend on all IDs and texts, but not on their order.
    - `digests`: the digest of each text, by its ID.
    - `sources`: the IDs of the documents of which the corpus has only chunks.
    - `texts`: the texts in which samples have spans, by ID.
    """

    fingerprint: str
    digests: Mapping[str, str]
    sources: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, documents: Iterable[Document], samples: Iterable[Sample] | None = ()
    ) -> CorpusIndex:
        """Read a corpus once; keep only the texts in which the samples have spans.

        If `samples` is None, all texts are kept.
        """
        groups = (group for sample in samples or () for group in sample.reference_contexts or ())
        span_sources = {span.source for group in groups for span in group if span.start is not None}
        digests: dict[str, str] = {}
        texts: dict[str, str] = {}
        sources: set[str] = set()
        for document in documents:
            digests[document.id] = text_digest(document.text)
            if document.source is not None:
                sources.add(document.source)
            if samples is None or document.id in span_sources:
                texts[document.id] = document.text
        lines = (f"{name}\0{digest}\n" for name, digest in sorted(digests.items()))
        return cls(_hash("".join(lines)), digests, frozenset(sources - digests.keys()), texts)

    def __contains__(self, name: object) -> bool:
        return name in self.digests or name in self.sources


def anchors_of(sample: Sample) -> Mapping[str, Mapping[str, Any]]:
    """Return the digest and the quote of each reference, by its ID, from the metadata."""
    anchors = sample.metadata.get(ANCHORS)
    kept = anchors.items() if isinstance(anchors, Mapping) else ()
    return {name: anchor for name, anchor in kept if isinstance(anchor, Mapping)}


def origin_of(sample: Sample) -> Mapping[str, Any]:
    """Return a test set's record of how a sample was created and judged."""
    origin = sample.metadata.get("testset")
    return origin if isinstance(origin, Mapping) else {}


def stale_label(sample: Sample, index: CorpusIndex, fields: Collection[str] = LABELS) -> str | None:
    """Return the reason why one of a sample's references is stale, or None.

    A reference is stale if its words changed in the corpus, or if the corpus does not have it. A
    group of alternatives is stale if the words of one alternative changed, or if the corpus has
    none of the alternatives. A change is detected only if the reference has a digest, or offsets in
    a text. References of grade 0 or less are never stale. `fields` names the fields to check.
    """
    by_id = LABELS[0] in fields and _stale_id(sample, index)
    return by_id or (_stale_span(sample, index) if LABELS[1] in fields else None)


def _stale_id(sample: Sample, index: CorpusIndex) -> str | None:
    anchors = anchors_of(sample)
    for reference in sample.reference_context_ids or ():
        if reference.grade <= 0:
            continue
        changed = [name for name in reference.any_of if _has_changed(name, anchors, index)]
        if changed:
            return f"{STALE}: {changed[0]!r} has other words than when it was labeled"
        if not any(name in index for name in reference.any_of):
            return f"{STALE}: {reference.any_of[0]!r} is not in the corpus"
    return None


def _stale_span(sample: Sample, index: CorpusIndex) -> str | None:
    for group in sample.reference_contexts or ():
        placed = [context for context in group if context.source is not None]
        moved = [context for context in placed if _has_moved(context, index)]
        if moved:
            span = f"{moved[0].source}[{moved[0].start}:{moved[0].end}]"
            return f"{STALE}: {span} has other words than when it was labeled"
        if placed and not any(context.source in index for context in placed):
            return f"{STALE}: {placed[0].source!r} is not in the corpus"
    return None


def _has_changed(name: str, anchors: Mapping[str, Mapping[str, Any]], index: CorpusIndex) -> bool:
    anchor, digest = anchors.get(name), index.digests.get(name)
    return bool(anchor and digest and anchor.get("digest") not in (None, digest))


def _has_moved(context: Context, index: CorpusIndex) -> bool:
    text = index.texts.get(context.source or "")
    if text is None or context.start is None or context.text is None:
        return False
    return text_digest(text[context.start : context.end]) != text_digest(context.text)


def _hash(text: str) -> str:
    # A lone surrogate is legal in JSON input, so it must not raise. With 64 bits, the chance that
    # any two of a million texts share a digest is 3 in 100 million.
    from hashlib import sha256  # not before: it loads OpenSSL

    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
