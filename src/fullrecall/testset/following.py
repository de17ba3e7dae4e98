"""Store the texts of labels (`anchor`), and find them in a new corpus (`follow`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from rapidfuzz.distance import Postfix, Prefix

from fullrecall._util.counts import counted
from fullrecall._util.naming import parameter
from fullrecall._util.vocabulary import content_words
from fullrecall.errors import InputError
from fullrecall.files.documents import Documents, DocumentsLike, documents_of
from fullrecall.run.evaluate import as_samples
from fullrecall.samples.context import Context
from fullrecall.samples.corpus import ANCHORS, Document, anchors_of, text_digest
from fullrecall.samples.sample import Reference, Sample, SampleLike
from fullrecall.show.output import written
from fullrecall.show.spreadsheet import BOM, table
from fullrecall.testset.alignment import (
    OWN_LETTERS,
    Letters,
    Lookup,
    difference,
    letters_of,
    pieces,
    within,
)
from fullrecall.testset.content import contexts_in, has_spans, texts_named
from fullrecall.testset.seeds import passages

_LONGEST_QUOTE = 2_000
_AROUND = 120
"""The characters on each side of a span that distinguish it from the same words elsewhere."""

_SAME_AROUND = 20


class LabelStatus(StrEnum):
    """The status of a reference in a new corpus."""

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"


class FollowedLabel(NamedTuple):
    """One reference of the old corpus, its status in the new one, and the evidence.

    `now` has the IDs of the texts with the reference's words or, if there are none, of the texts
    that resemble it most. `together` is True if all of these texts are needed. `similarity` is the
    share of the reference's runs of words in these texts, in [0, 1].
    """

    status: LabelStatus
    sample: str
    reference: str
    now: tuple[str, ...]
    similarity: float
    evidence: str
    together: bool = False


@dataclass(frozen=True)
class Followed:
    """Samples with references into the new corpus, and the status of each label.

    By default, a reference whose text changed or is gone keeps its old label. Then
    `evaluate(corpus=…)` does not score its sample.
    """

    samples: Sequence[Sample]
    labels: Sequence[FollowedLabel]

    @property
    def counts(self) -> dict[LabelStatus, int]:
        """The number of labels with each status."""
        frequencies = Counter(label.status for label in self.labels)
        return {status: frequencies[status] for status in LabelStatus}

    def __str__(self) -> str:
        lines = [f"{len(self.labels):,} references of {len(self.samples):,} samples"]
        lines += [f"  {count:>6,}  {status}" for status, count in self.counts.items()]
        return "\n".join(lines)

    def to_csv(self, path: str | Path) -> None:
        """Write one row for each label; labels that a person should check come first."""
        order = [LabelStatus.CHANGED, LabelStatus.GONE, LabelStatus.MOVED, LabelStatus.SAME]
        rows = sorted(self.labels, key=lambda label: order.index(label.status))
        cells = [
            [*label[:3], " ".join(label.now), f"{label.similarity:.2f}", label.evidence]
            for label in rows
        ]
        written(table([FollowedLabel._fields[:6], *cells]), path, BOM)


class _Anchor(NamedTuple):
    """A reference as it was labeled: its ID or document, and its words.

    `name` is the ID or the document, `quote` the words, `digest` the digest of the labeled text.
    `span` is the reference context; None for a reference by ID.
    """

    sample: str
    name: str
    quote: str
    digest: str = ""
    span: Context | None = None

    def is_of(self, document: Document) -> bool:
        """Return whether a text is the labeled document, or a chunk of it."""
        return self.name in (document.source, document.id)

    def is_unchanged_in(self, own: Document) -> bool:
        """Return whether the text with the anchor's ID still has the labeled words."""
        if self.span is None:
            return bool(self.digest) and text_digest(own.text) == self.digest
        if self.span.start is None:
            return Letters(self.quote).text in letters_of(own.text).text
        return text_digest(own.text[self.span.start : self.span.end]) == text_digest(self.quote)

    def __str__(self) -> str:
        if self.span is None or self.span.start is None:
            return self.name or self.quote[:60]
        return f"{self.name}[{self.span.start}:{self.span.end}]"


def anchor(samples: Iterable[SampleLike], documents: DocumentsLike | Documents) -> list[Sample]:
    """Return samples whose references have a digest and a quote of the text that they name.

    `documents` are the corpus for which the references are correct. The quote of a text of up to
    2,000 characters is the whole text. The quote of a longer text is the passage with the most
    words of the question, the answer and the claims. Raises `InputError` for anything but samples
    and documents.
    """
    parsed_samples = list(as_samples(samples))
    texts = texts_named(parsed_samples, documents_of(documents))
    return [_anchored(sample, texts) for sample in parsed_samples]


def _anchored(sample: Sample, texts: Mapping[str, str]) -> Sample:
    # The anchors of IDs are in the sample's metadata, since an ID has no metadata; those of
    # reference contexts are in the contexts' metadata.
    anchors = {
        name: {"digest": text_digest(texts[name]), "quote": _quote(sample, name, texts[name])}
        for reference in sample.reference_context_ids or ()
        for name in reference.any_of
        if name in texts
    }
    groups = [[_placed(c, texts) for c in group] for group in sample.reference_contexts or ()]
    return _rebuilt(sample, (), groups, {**anchors_of(sample), **anchors})


def _rebuilt(
    sample: Sample,
    ids: Sequence[Reference],
    groups: Sequence[Sequence[Context]],
    anchors: Mapping[str, Any],
) -> Sample:
    """Return a sample with new references; an empty argument keeps the sample's own field."""
    fields = sample.to_dict()
    if ids:
        fields["reference_context_ids"] = list(ids)
    if groups:
        fields["reference_contexts"] = [list(group) for group in groups]
    if anchors:
        fields["metadata"] = {**sample.metadata, ANCHORS: dict(anchors)}
    return Sample(**fields)


def _placed(context: Context, texts: Mapping[str, str]) -> Context:
    text, source = texts.get(context.source or ""), context.source
    if text is None or source is None or context.start is None or context.end is None:
        return context
    return _span(context, text, source, context.start, context.end)


def _span(old: Context, text: str, source: str, start: int, end: int) -> Context:
    """Return a span with its digest and the text around it."""
    quote = text[start:end]
    kept = {
        "digest": text_digest(quote),
        "before": text[max(0, start - _AROUND) : start],
        "after": text[end : end + _AROUND],
    }
    own = {**old.metadata, **kept}
    return Context(quote, id=old.id, source=source, start=start, end=end, metadata=own)


def _quote(sample: Sample, name: str, text: str) -> str:
    if len(text) <= _LONGEST_QUOTE:
        return text
    claims = [claim.text for claim in sample.reference_claims or ()]
    statements = [sample.user_input or "", sample.reference or "", *claims]
    stems = {word for part in statements for word in content_words(part)}
    parts = [passage.text for passage in passages(Document(name, text))] or [text]
    best = max(parts, key=lambda part: len(stems & set(content_words(part))))
    return best[:_LONGEST_QUOTE]


def follow(
    samples: Iterable[SampleLike],
    corpus: DocumentsLike | Documents,
    *,
    old: DocumentsLike | Documents | None = None,
    accept_changed: bool = False,
) -> Followed:
    """Return samples whose references name the same words in a new corpus.

    A reference is *same* if its ID still has its words. It is *moved* if the words are under
    another ID, in other chunks or at other offsets, letter for letter except for layout marks. It
    is *changed* if the nearest text has other words, and *gone* if no text resembles it.

    If several texts each have the whole quote, they become one any-of group. If only several chunks
    together have the quote, the result depends on the reference. For a span, the fewest such chunks
    become one reference each; a chunk at either end is left out if the other chunks span 90 % of
    the quote. For a whole text, its chunks, including overlapping ones, become one any-of group,
    since the label does not say which of them answers the question. Samples with spans get the IDs
    of the texts that hold the spans.

    - `old`: the corpus for which the references are correct; needed if they have no quotes yet
      (`anchor` and `generate` add them).
    - `accept_changed`: let changed references name the text that resembles them most. By default
      they keep their old labels, and `evaluate(corpus=…)` does not score their samples.

    Raises `InputError` for a reference without a quote or a digest.
    """
    anchored = list(as_samples(samples)) if old is None else anchor(samples, old)
    anchors = [
        label_anchor
        for number, sample in enumerate(anchored, start=1)
        for label_anchor in _anchors(sample, sample.id or f"#{number}")
    ]
    for label_anchor in anchors:
        if old is None and not (label_anchor.quote or label_anchor.digest):
            raise InputError(
                f"sample {label_anchor.sample}: the reference {label_anchor.name!r} has no "
                f"quote to follow: pass {parameter('old')}, the corpus that the references were "
                "made for",
                field=ANCHORS,
            )
    work = _Following(anchors, documents_of(corpus), accept_changed=accept_changed)
    return Followed([work.followed(sample) for sample in anchored], work.labels)


def _anchors(sample: Sample, shown: str) -> Iterator[_Anchor]:
    """Yield the references of a sample, in the order in which `followed` reads their labels."""
    groups = sample.reference_contexts or ()
    for context in contexts_in(sample):
        if context.text is not None:
            name = context.source or context.id or ""
            yield _Anchor(shown, name, context.text, span=context)
    if has_spans(sample):
        return  # The sample's IDs follow from the spans.
    references = sample.reference_context_ids or ()
    for group_number, reference in enumerate(references):
        # If there are as many groups of texts as of IDs, the text beside an ID is its quote.
        beside = groups[group_number] if len(groups) == len(references) else ()
        for member, name in enumerate(reference.any_of):
            kept = anchors_of(sample).get(name, {})
            quote = kept.get("quote") or (beside[member].text if member < len(beside) else "")
            quote = quote if isinstance(quote, str) and quote.strip() else ""
            digest = str(kept.get("digest") or (text_digest(quote) if quote else ""))
            yield _Anchor(shown, name, quote, digest)


class _Following:
    """One call of `follow`: all labels, compared with the texts of the new corpus."""

    def __init__(
        self, anchors: Sequence[_Anchor], corpus: Documents, *, accept_changed: bool
    ) -> None:
        self.lookup = Lookup([label.quote for label in anchors])
        names = {label.name for label in anchors}
        digests = {label.digest for label in anchors} - {""}
        self.by_id: dict[str, Document] = {}
        self.by_digest: defaultdict[str, list[Document]] = defaultdict(list)
        self.chunks: defaultdict[str, list[Document]] = defaultdict(list)
        # One pass, one text at a time, since a corpus may be larger than memory.
        for document in corpus:
            if document.id in names:
                self.by_id[document.id] = document
            if (digest := text_digest(document.text)) in digests:
                self.by_digest[digest].append(document)
            if document.source in names:
                self.chunks[document.source].append(document)
            self.lookup.read(document)
        self.labels = [self._label(number, label) for number, label in enumerate(anchors)]
        kept = {LabelStatus.SAME, LabelStatus.MOVED}
        if accept_changed:
            kept.add(LabelStatus.CHANGED)
        self.alive = (label if label.status in kept else None for label in self.labels)

    def _label(self, number: int, label: _Anchor) -> FollowedLabel:
        """Decide the status of a reference; `number` is its number in the lookup."""
        own = self.by_id.get(label.name)
        if own is not None and label.is_unchanged_in(own):
            evidence = "the same words under the same ID"
            return self._decided(label, LabelStatus.SAME, [own], evidence)
        if not label.quote:
            evidence = "it has no text that it could be found by"
            return self._decided(label, LabelStatus.GONE, [], evidence, 0.0)
        if copies := _of_source(self.by_digest.get(label.digest, []), label):
            return self._decided(label, LabelStatus.MOVED, copies, "the same text, another ID")
        # The rules go from certain to uncertain. The first rule that decides counts, and the last
        # one always decides.
        quote, near = Letters(label.quote), self.lookup.nearest(number)
        # `near` lacks the label's own text if sixty other texts share more runs of words with the
        # quote.
        if own is not None and own not in near:
            near.append(own)
        return (
            self._whole(label, quote, near)
            or self._in_pieces(label, quote, near)
            or self._resembling(label, number, near)
        )

    def _decided(
        self,
        label: _Anchor,
        status: LabelStatus,
        documents: Sequence[Document],
        evidence: str = "its words, letter for letter",
        similarity: float = 1.0,
        *,
        together: bool = False,
    ) -> FollowedLabel:
        self.by_id |= {document.id: document for document in documents}
        now = tuple(document.id for document in documents)
        named = (status, label.sample, str(label), now)
        return FollowedLabel(*named, similarity, evidence, together=together)

    def _whole(
        self, label: _Anchor, quote: Letters, near: Sequence[Document]
    ) -> FollowedLabel | None:
        """Return the decision if any single text has the whole quote, else None."""
        holders = [document for document in near if quote.text in letters_of(document.text).text]
        own = [document for document in holders if document.id == label.name]
        if own and label.span is None:
            evidence = "its quote stands; other words of the text changed"
            return self._decided(label, LabelStatus.SAME, own, evidence)
        holders = own or _of_source(holders, label)
        if not holders:
            return None
        if label.span is not None and not any(map(label.is_of, holders)):
            # Only other documents have the words, such as the page of another product. So take one
            # only if the text around the words matches too.
            best = _best_surrounded(holders, label.span, quote)
            if best is None:
                texts = counted(len(holders), "text")
                evidence = f"its quote occurs in {texts}, in other surroundings"
                return self._decided(label, LabelStatus.CHANGED, holders[:3], evidence)
            holders = [best]
        return self._decided(label, LabelStatus.MOVED, holders)

    def _in_pieces(
        self, label: _Anchor, quote: Letters, near: Sequence[Document]
    ) -> FollowedLabel | None:
        """Return the decision if several texts together have the quote, else None."""
        is_span = label.span is not None
        # Try each document alone before all together: pieces of several documents may form a text
        # that no document has.
        for group in (self.chunks[label.name], *_by_source(near, label)):
            if aligned := pieces(quote, group, self.lookup.short):
                others = [] if is_span else within(quote, group, aligned)
                documents = list(dict.fromkeys((*aligned, *others)))
                evidence = f"its words, letter for letter, in {len(documents)} texts"
                return self._decided(
                    label, LabelStatus.MOVED, documents, evidence, together=is_span
                )
        return None

    def _resembling(self, label: _Anchor, number: int, near: Sequence[Document]) -> FollowedLabel:
        for group in _by_source(near, label):
            documents, similarity = self.lookup.resemblance(number, group)
            if documents:
                evidence = difference(label.quote, "\n".join(d.text for d in documents))
                together = label.span is not None and len(documents) > 1
                return self._decided(
                    label, LabelStatus.CHANGED, documents, evidence, similarity, together=together
                )
        reused = label.name in self.by_id and label.span is None
        evidence = "its ID names another text now" if reused else "no text resembles it"
        return self._decided(label, LabelStatus.GONE, [], evidence, 0.0)

    def followed(self, sample: Sample) -> Sample:
        """Return the sample with the references that its labels now name.

        Call this for the samples in their order, since it reads their labels from one iterator.
        """
        anchors: dict[str, Any] = dict(anchors_of(sample))
        ids: list[Reference] = []
        groups: list[list[Context]] = []
        for group in sample.reference_contexts or ():
            labels = [next(self.alive) if c.text is not None else None for c in group]
            moved = [
                self._moved(context, label)
                for context, label in zip(group, labels, strict=True)
                if label
            ]
            groups.append(moved or list(group))
            if has_spans(sample):
                names = tuple(context.source or context.id or context.label for context in group)
                ids += self._references(labels, Reference(names, 1.0), anchors)
        if not has_spans(sample):
            for reference in sample.reference_context_ids or ():
                labels = [next(self.alive) for _ in reference.any_of]
                ids += self._references(labels, reference, anchors)
        named = {name for reference in ids for name in reference.any_of}
        anchors = {name: values for name, values in anchors.items() if name in named}
        return _rebuilt(sample, ids, groups, anchors)

    def _references(
        self,
        labels: Sequence[FollowedLabel | None],
        reference: Reference,
        anchors: dict[str, Any],
    ) -> list[Reference]:
        """Return the new references of an any-of group, and add their anchors to `anchors`.

        A label is None if its reference is lost. If all are lost, the group is returned unchanged.
        """
        alive = [label for label in labels if label is not None]
        anchored = [anchors[name] for name in reference.any_of if name in anchors]
        for name in (name for label in alive for name in label.now):
            text = self.by_id[name].text
            if len(text) <= _LONGEST_QUOTE:
                anchors[name] = {"digest": text_digest(text), "quote": text}
            else:  # the text is too long for a quote, so keep the old quote
                kept: Mapping[str, Any] = anchors.get(name) or (anchored or [{}])[0]
                anchors[name] = {**kept, "digest": text_digest(text)}
        alone = dict.fromkeys(name for label in alive if not label.together for name in label.now)
        if alone:
            return [Reference(tuple(alone), reference.grade)]
        if alive:
            return [Reference((name,), reference.grade) for name in alive[0].now]
        return [reference]

    def _moved(self, old: Context, label: FollowedLabel) -> Context:
        """Return a reference context at its new place, with the text around it.

        Returns the context unchanged in three cases: it has no text, or neither a source nor an
        offset; no single text has its words; or the text that has them is a chunk of the context's
        source.
        """
        document = self.by_id[label.now[0]]
        in_chunks = document.source is not None and document.source == old.source
        has_place = old.source is not None or old.start is not None
        if label.together or old.text is None or in_chunks or not has_place:
            return old
        letters, quote = letters_of(document.text), Letters(old.text)
        positions = letters.positions(quote.text)
        if not positions:
            return old
        at = max(positions, key=lambda position: _surrounded(old, document, position, quote))
        start, end = letters.location(at, at + len(quote.text))
        return _span(old, document.text, document.id, start, end)


def _of_source(documents: Sequence[Document], label_anchor: _Anchor) -> list[Document]:
    """Return the texts of the reference's own document; if there are none, return all texts."""
    return [document for document in documents if label_anchor.is_of(document)] or list(documents)


def _by_source(near: Sequence[Document], label_anchor: _Anchor) -> list[list[Document]]:
    """Return the texts grouped by document, the group of the reference's own document first.

    If there are several groups, a further group at the end has all texts.
    """
    groups: defaultdict[str, list[Document]] = defaultdict(list)
    for document in near:
        groups[document.source or ""].append(document)
    ordered = sorted(groups.items(), key=lambda item: item[0] != label_anchor.name)
    ordered_groups = [group for _, group in ordered]
    return ordered_groups if len(ordered_groups) == 1 else [*ordered_groups, list(near)]


def _best_surrounded(holders: Sequence[Document], span: Context, quote: Letters) -> Document | None:
    """Return the text whose words around a quote best match those around the labeled span.

    Returns None if several texts match best. Also returns None if fewer than 20 letters match,
    unless only one text has the quote and the quote has at least 40 letters.
    """
    scores = [
        max(
            _surrounded(span, document, at, quote)
            for at in letters_of(document.text).positions(quote.text)
        )
        for document in holders
    ]
    best = max(scores)
    is_long_and_alone = len(quote.text) >= OWN_LETTERS and len(holders) == 1
    if scores.count(best) > 1 or best < (0 if is_long_and_alone else _SAME_AROUND):
        return None
    return holders[scores.index(best)]


def _surrounded(span: Context, document: Document, at: int, quote: Letters) -> int:
    """Return how many letters around a place match those around a labeled span.

    If the letters around the span are unknown, and the place is in the span's document, return
    minus the distance between the place and the span.
    """
    letters, end = letters_of(document.text), at + len(quote.text)
    before, after = (Letters(str(span.metadata.get(side, ""))).text for side in ("before", "after"))
    if not before and not after and span.start is not None and document.id == span.source:
        return -abs(letters.location(at, end)[0] - span.start)
    ahead, behind = letters.text[:at], letters.text[end:]
    return Postfix.similarity(before, ahead) + Prefix.similarity(after, behind)
