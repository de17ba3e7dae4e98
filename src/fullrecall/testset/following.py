"""`anchor` and `follow`: labels that keep what they were made for, and move with their corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from fullrecall.context import Context
from fullrecall.corpus import ANCHORS, anchors_of, text_digest
from fullrecall.errors import InputError
from fullrecall.evaluation.run import SampleLike, as_samples
from fullrecall.read.documents import Document, Documents, DocumentsLike, documents_of
from fullrecall.sample import Reference, Sample
from fullrecall.testset.alignment import (
    OWN_LETTERS,
    Letters,
    Lookup,
    difference,
    letters_of,
    pieces,
    within,
)
from fullrecall.testset.seeds import passages
from fullrecall.testset.vocabulary import content_words
from fullrecall.views.exports import written_table
from fullrecall.views.spreadsheet import table

_LONGEST_QUOTE = 2_000
_AROUND = 120
"""Characters on each side of a span that tell it from the same words elsewhere."""

_SAME_AROUND = 20


class LabelStatus(StrEnum):
    """What became of a reference in a new corpus."""

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"


class FollowedLabel(NamedTuple):
    """One reference: what it named, what became of it, and the evidence.

    `now` are the IDs that hold its words, or that resemble them where these changed; `together`
    tells whether all of them are needed. `similarity` is the share of its runs of words, in
    [0, 1].
    """

    sample: str
    reference: str
    status: LabelStatus
    now: tuple[str, ...]
    similarity: float
    evidence: str
    together: bool = False


@dataclass(frozen=True)
class Followed:
    """Samples with references into the new corpus, and what became of each label.

    A reference that changed or is gone stays as it was, so that its sample is unscored.
    """

    samples: Sequence[Sample]
    labels: Sequence[FollowedLabel]

    @property
    def counts(self) -> dict[LabelStatus, int]:
        """How many labels have each status."""
        counted = Counter(label.status for label in self.labels)
        return {status: counted[status] for status in LabelStatus}

    def __str__(self) -> str:
        lines = [f"{len(self.labels):,} references of {len(self.samples):,} samples"]
        lines += [f"  {count:>6,}  {status}" for status, count in self.counts.items()]
        return "\n".join(lines)

    def to_csv(self, path: str | Path) -> None:
        """Write one row for each label, those that need a look first."""
        order = [LabelStatus.CHANGED, LabelStatus.GONE, LabelStatus.MOVED, LabelStatus.SAME]
        rows = sorted(self.labels, key=lambda label: order.index(label.status))
        head = ("status", "sample", "reference", "now", "similarity", "evidence")
        cells = [
            (
                str(r.status),
                r.sample,
                r.reference,
                " ".join(r.now),
                f"{r.similarity:.2f}",
                r.evidence,
            )
            for r in rows
        ]
        written_table(table([head, *cells]), path)


class _Anchor(NamedTuple):
    """A reference as it was labeled: its ID, or its place, and the words that it means."""

    name: str
    quote: str
    digest: str = ""
    span: Context | None = None


def anchor(samples: Iterable[SampleLike], documents: DocumentsLike | Documents) -> list[Sample]:
    """Return samples whose references keep a digest and a quote of the text that they name.

    `documents` are the corpus that the references are right for. A text of up to 2,000 characters
    is its own quote; of a longer one it is the passage with the most words of the question and
    the answer. Raises `InputError` for what is not a sample or a document.
    """
    parsed_samples = list(as_samples(samples))
    named = {
        name for s in parsed_samples for r in s.reference_context_ids or () for name in r.any_of
    }
    named |= {
        c.source for s in parsed_samples for g in s.reference_contexts or () for c in g if c.source
    }
    texts = {
        document.id: document.text for document in documents_of(documents) if document.id in named
    }
    return [_anchored(sample, texts) for sample in parsed_samples]


def _anchored(sample: Sample, texts: Mapping[str, str]) -> Sample:
    anchors = {
        name: {"digest": text_digest(texts[name]), "quote": _quote(sample, name, texts[name])}
        for reference in sample.reference_context_ids or ()
        for name in reference.any_of
        if name in texts
    }
    groups = [[_placed(c, texts) for c in group] for group in sample.reference_contexts or ()]
    return _rebuilt(sample, None, groups or None, {**anchors_of(sample), **anchors})


def _rebuilt(
    sample: Sample,
    ids: Sequence[Reference] | None,
    groups: Sequence[Sequence[Context]] | None,
    anchors: Mapping[str, Any],
) -> Sample:
    """Return a sample with other references; None leaves them as they are."""
    fields = sample.to_dict()
    if ids is not None:
        fields["reference_context_ids"] = list(ids)
    if groups is not None:
        fields["reference_contexts"] = [list(group) for group in groups]
    if anchors:
        fields["metadata"] = {**sample.metadata, ANCHORS: dict(anchors)}
    return Sample(**fields)


def _placed(context: Context, texts: Mapping[str, str]) -> Context:
    """Return a span with its digest and what stands around it."""
    text = texts.get(context.source or "")
    if text is None or context.start is None or context.end is None:
        return context
    return _span(context, text, str(context.source), context.start, context.end)


def _span(old: Context, text: str, source: str, start: int, end: int) -> Context:
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
    statements = [
        sample.user_input,
        sample.reference,
        *(c.text for c in sample.reference_claims or ()),
    ]
    stems = {word for part in statements if part for word in content_words(part)}
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

    A reference is *same* where its ID still has its words, *moved* where they stand under another
    ID, in other chunks or at other offsets, letter for letter but for marks of layout; *changed*
    where the nearest text has other words, and *gone* where no text resembles it. Chunks that each
    hold at least 90 % of a quote are one any-of group. Where none does, the fewest that hold a
    span together are a reference each; of a whole text all chunks of it, overlapping ones too, are
    one any-of group, since its label does not say which of them answers. Samples with spans get
    the IDs of the texts that hold them.

    - `old`: the corpus that the references are right for; needed where they have no quotes yet
      (`anchor`; `generate` adds them).
    - `accept_changed`: let references that changed name the text that resembles them most. By
      default they stay, and their samples are unscored.

    Raises `InputError` for a reference without a quote or a digest.
    """
    anchored = list(as_samples(samples)) if old is None else anchor(samples, old)
    has_old = old is not None
    work = _Following(
        anchored, documents_of(corpus), has_old=has_old, accept_changed=accept_changed
    )
    return work.followed()


class _Following:
    """One call of `follow`: every reference of every sample, beside the texts nearest to it."""

    def __init__(
        self, samples: Sequence[Sample], corpus: Documents, *, has_old: bool, accept_changed: bool
    ) -> None:
        self.samples, self.accept_changed, self.has_old = samples, accept_changed, has_old
        self.anchors: dict[tuple[Any, ...], _Anchor] = {}
        for number, sample in enumerate(samples):
            self._take(number, sample)
        self.numbers = {key: at for at, key in enumerate(self.anchors)}
        self.lookup = Lookup([label_anchor.quote for label_anchor in self.anchors.values()])
        names = {label_anchor.name for label_anchor in self.anchors.values()}
        digests = {
            label_anchor.digest for label_anchor in self.anchors.values() if label_anchor.digest
        }
        self.by_id: dict[str, Document] = {}
        self.by_digest: defaultdict[str, list[Document]] = defaultdict(list)
        self.chunks: defaultdict[str, list[Document]] = defaultdict(list)
        for document in corpus:
            if document.id in names:
                self.by_id[document.id] = document
            if (digest := text_digest(document.text)) in digests:
                self.by_digest[digest].append(document)
            if document.source in names:
                self.chunks[document.source].append(document)
            self.lookup.read(document)
        self.labels: list[FollowedLabel] = []

    def _take(self, number: int, sample: Sample) -> None:
        groups = sample.reference_contexts or ()
        for g, group in enumerate(groups):
            for m, context in enumerate(group):
                if context.text is not None:
                    name = context.source or context.id or ""
                    self.anchors[number, "span", g, m] = _Anchor(name, context.text, span=context)
        if _has_spans(sample):
            return  # their IDs follow from them
        anchors = anchors_of(sample)
        beside = _beside(sample)
        for g, reference in enumerate(sample.reference_context_ids or ()):
            for m, name in enumerate(reference.any_of):
                kept = anchors.get(name, {})
                quote = kept.get("quote") or beside.get(name)
                digest = str(kept.get("digest") or "")
                if not isinstance(quote, str) or not quote.strip():
                    if not self.has_old and not digest:
                        raise InputError(
                            f"sample {_name(number, sample)}: the reference {name!r} has no quote "
                            "to follow: pass old=, the corpus that the references were made for",
                            field=ANCHORS,
                        )
                    self.anchors[number, "id", g, m] = _Anchor(name, "", digest)
                    continue
                digest = digest or text_digest(quote)
                self.anchors[number, "id", g, m] = _Anchor(name, quote, digest)

    def followed(self) -> Followed:
        """Decide each label, and rebuild the samples."""
        followed = [self._sample(number, sample) for number, sample in enumerate(self.samples)]
        return Followed(followed, self.labels)

    def _sample(self, number: int, sample: Sample) -> Sample:
        anchors: dict[str, Any] = dict(anchors_of(sample))
        ids: list[Reference] = []
        groups: list[list[Context]] = []
        for g, group in enumerate(sample.reference_contexts or ()):
            labels = [self._label(number, sample, ("span", g, m)) for m in range(len(group))]
            kept = [self._context(old, label) for old, label in zip(group, labels, strict=True)]
            alive = [c for c, label in zip(kept, labels, strict=True) if self._is_alive(label)]
            groups.append(alive or list(group))
            if _has_spans(sample):
                names = tuple(c.source or c.id or c.label for c in group)
                ids += self._references(labels, names, 1.0, anchors)
        if not _has_spans(sample):
            for g, reference in enumerate(sample.reference_context_ids or ()):
                names = reference.any_of
                labels = [self._label(number, sample, ("id", g, m)) for m in range(len(names))]
                ids += self._references(labels, names, reference.grade, anchors)
        named = {name for reference in ids for name in reference.any_of}
        anchors = {name: kept for name, kept in anchors.items() if name in named}
        has_ids = bool(ids) or sample.reference_context_ids is not None
        return _rebuilt(sample, ids if has_ids else None, groups or None, anchors)

    def _is_alive(self, label: FollowedLabel | None) -> bool:
        if label is None:
            return False
        kept = {LabelStatus.SAME, LabelStatus.MOVED}
        if self.accept_changed:
            kept.add(LabelStatus.CHANGED)
        return label.status in kept and bool(label.now)

    def _references(
        self,
        labels: Sequence[FollowedLabel | None],
        names: tuple[str, ...],
        grade: float,
        anchors: dict[str, Any],
    ) -> list[Reference]:
        """Return what an any-of group names now; as it was where none of it is left."""
        alive = [label for label in labels if label is not None and self._is_alive(label)]
        for name in (name for label in alive for name in label.now):
            document = self.by_id.get(name)
            if document is not None and len(document.text) <= _LONGEST_QUOTE:
                anchors[name] = {"digest": text_digest(document.text), "quote": document.text}
            elif document is not None:
                old: dict[str, Any] = next(
                    (anchors[old_name] for old_name in names if old_name in anchors), {}
                )
                anchors[name] = {**old, "digest": text_digest(document.text)}
        alone = dict.fromkeys(
            name for alive_label in alive if not alive_label.together for name in alive_label.now
        )
        if alone:
            return [Reference(tuple(alone), grade)]
        if alive:
            return [Reference((name,), grade) for name in alive[0].now]
        return [Reference(names, grade)]

    def _label(
        self, number: int, sample: Sample, position: tuple[Any, ...]
    ) -> FollowedLabel | None:
        key = (number, *position)
        if key not in self.anchors:
            return None
        label_anchor = self.anchors[key]
        decision = self._decided(label_anchor, self.numbers[key])
        shown = (
            label_anchor.name
            if label_anchor.span is None or label_anchor.span.start is None
            else (f"{label_anchor.name}[{label_anchor.span.start}:{label_anchor.span.end}]")
        )
        documents, status, similarity, evidence, together = decision
        self.by_id |= {document.id: document for document in documents}
        now = tuple(document.id for document in documents)
        label = FollowedLabel(
            _name(number, sample),
            shown or label_anchor.quote[:60],
            status,
            now,
            similarity,
            evidence,
            together,
        )
        self.labels.append(label)
        return label

    def _decided(self, label_anchor: _Anchor, number: int) -> _Decision:
        own = self.by_id.get(label_anchor.name)
        if not label_anchor.quote:
            if not label_anchor.digest:
                return _Decision((), LabelStatus.GONE, 0.0, "the old corpus lacks it, too")
            if own is not None and text_digest(own.text) == label_anchor.digest:
                return _Decision((own,), LabelStatus.SAME)
            return _Decision(
                (), LabelStatus.GONE, 0.0, "it had no text, and cannot be found by any"
            )
        if own is not None and _is_same(label_anchor, own):
            return _Decision((own,), LabelStatus.SAME)
        copies = _of_source(self.by_digest.get(label_anchor.digest, []), label_anchor)
        if copies:
            return _Decision(tuple(copies), LabelStatus.MOVED, 1.0, "the same text, another ID")
        quote, near = Letters(label_anchor.quote), self.lookup.nearest(number)
        if own is not None and own not in near:
            near.append(own)
        return (
            self._whole(label_anchor, quote, near)
            or self._in_pieces(label_anchor, quote, near)
            or self._resembling(label_anchor, number, near)
        )

    def _in_pieces(
        self, label_anchor: _Anchor, quote: Letters, near: Sequence[Document]
    ) -> _Decision | None:
        """Return the decision where texts hold a quote together; None where they do not."""
        for group in (self.chunks[label_anchor.name], *_by_source(near, label_anchor)):
            if aligned := pieces(quote, group, self.lookup.short):
                is_span = label_anchor.span is not None
                others = [] if is_span else within(quote, group, aligned)
                documents = tuple(dict.fromkeys((*(p.document for p in aligned), *others)))
                evidence = f"its words, letter for letter, in {len(documents)} texts"
                return _Decision(documents, LabelStatus.MOVED, 1.0, evidence, together=is_span)
        return None

    def _whole(
        self, label_anchor: _Anchor, quote: Letters, near: Sequence[Document]
    ) -> _Decision | None:
        """Return the decision where texts hold all of a quote; None where none does."""
        holders = [document for document in near if quote.text in letters_of(document.text).text]
        own = [document for document in holders if document.id == label_anchor.name]
        if own and label_anchor.span is None:
            evidence = "its quote stands; other words of the text changed"
            return _Decision(tuple(own), LabelStatus.SAME, 1.0, evidence)
        holders = own or _of_source(holders, label_anchor)
        if not holders:
            return None
        if label_anchor.span is None or own or any(d.source == label_anchor.name for d in holders):
            return _Decision(tuple(holders), LabelStatus.MOVED, 1.0, "its words, letter for letter")
        best = _best_surrounded(holders, label_anchor.span, quote)
        if best is None:
            evidence = f"its quote stands in {len(holders)} texts, in other surroundings"
            return _Decision(tuple(holders[:3]), LabelStatus.CHANGED, 1.0, evidence)
        return _Decision((best,), LabelStatus.MOVED, 1.0, "its words, letter for letter")

    def _resembling(
        self, label_anchor: _Anchor, number: int, near: Sequence[Document]
    ) -> _Decision:
        for group in _by_source(near, label_anchor):
            alike = self.lookup.resemblance(number, group)
            if alike is not None:
                text = "\n".join(document.text for document in alike.documents)
                return _Decision(
                    alike.documents,
                    LabelStatus.CHANGED,
                    alike.similarity,
                    difference(label_anchor.quote, text),
                    together=label_anchor.span is not None and len(alike.documents) > 1,
                )
        reused = label_anchor.name in self.by_id and label_anchor.span is None
        evidence = "its ID names another text now" if reused else "no text resembles it"
        return _Decision((), LabelStatus.GONE, 0.0, evidence)

    def _context(self, old: Context, label: FollowedLabel | None) -> Context:
        """Return a span at its new offsets; as it was where its source is only there in chunks."""
        if label is None or not self._is_alive(label) or label.together or old.text is None:
            return old
        document = self.by_id[label.now[0]]
        in_chunks = document.source is not None and document.source == old.source
        letters, quote_letters = letters_of(document.text), Letters(old.text).text
        positions = letters.positions(quote_letters) if quote_letters else []
        if in_chunks or not positions:
            return old
        at = max(
            positions,
            key=lambda position: _surrounded(old, document, letters, position, len(quote_letters)),
        )
        start, end = letters.range(at, at + len(quote_letters))
        if old.source is None and old.start is None:
            return old
        return _span(old, document.text, document.id, start, end)


class _Decision(NamedTuple):
    documents: tuple[Document, ...]
    status: LabelStatus
    similarity: float = 1.0
    evidence: str = "the same words under the same ID"
    together: bool = False


def _has_spans(sample: Sample) -> bool:
    groups = sample.reference_contexts or ()
    return bool(groups) and all(any(c.start is not None for c in group) for group in groups)


def _beside(sample: Sample) -> dict[str, str]:
    """Return the text of each reference ID, where IDs and texts stand side by side."""
    ids, groups = sample.reference_context_ids or (), sample.reference_contexts or ()
    if len(ids) != len(groups):
        return {}
    return {
        name: context.text
        for reference, group in zip(ids, groups, strict=True)
        for name, context in zip(reference.any_of, group, strict=False)
        if context.text is not None
    }


def _name(number: int, sample: Sample) -> str:
    return sample.id or f"#{number + 1}"


def _is_same(label_anchor: _Anchor, own: Document) -> bool:
    if label_anchor.span is not None:
        return _stands(label_anchor.span, own)
    return bool(label_anchor.digest) and text_digest(own.text) == label_anchor.digest


def _stands(span: Context, document: Document) -> bool:
    if span.start is None:
        return Letters(span.text or "").text in letters_of(document.text).text
    return text_digest(document.text[span.start : span.end]) == text_digest(span.text or "")


def _of_source(documents: Sequence[Document], label_anchor: _Anchor) -> list[Document]:
    """Return the texts of the reference's own document, if there are any; else all."""
    source = label_anchor.name
    return [d for d in documents if source in (d.source, d.id)] or list(documents)


def _by_source(near: Sequence[Document], label_anchor: _Anchor) -> list[list[Document]]:
    """Return texts by their document: the reference's own first, then the others, then all."""
    groups: defaultdict[str, list[Document]] = defaultdict(list)
    for document in near:
        groups[document.source or ""].append(document)
    ordered = sorted(groups.items(), key=lambda item: item[0] != label_anchor.name)
    ordered_groups = [group for _, group in ordered]
    return ordered_groups if len(ordered_groups) == 1 else [*ordered_groups, list(near)]


def _best_surrounded(holders: Sequence[Document], span: Context, quote: Letters) -> Document | None:
    """Return the text whose words around a quote are those that it was labeled with."""
    scored = []
    for document in holders:
        letters = letters_of(document.text)
        positions = letters.positions(quote.text)
        best = max(_surrounded(span, document, letters, at, len(quote.text)) for at in positions)
        scored.append((best, document))
    scored.sort(key=lambda pair: -pair[0])
    clear = len(scored) == 1 or scored[0][0] > scored[1][0]
    least = 0 if len(quote.text) >= OWN_LETTERS and len(scored) == 1 else _SAME_AROUND
    return scored[0][1] if clear and scored[0][0] >= least else None


def _surrounded(span: Context, document: Document, letters: Letters, at: int, size: int) -> int:
    """Return how many letters before and after a place are those around a span as labeled."""
    before = Letters(str(span.metadata.get("before", ""))).text
    after = Letters(str(span.metadata.get("after", ""))).text
    there, behind = letters.text[:at], letters.text[at + size :]
    if not before and not after and span.start is not None and document.id == span.source:
        return -abs(letters.range(at, at + size)[0] - span.start)
    return _common(before[::-1], there[-len(before) - 1 :][::-1]) + _common(after, behind)


def _common(first: str, second: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
