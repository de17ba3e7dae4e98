"""Recall by characters, for any size, order, and overlap of the chunks.

Texts are aligned by runs, exact common substrings. White space is removed first, since chunkers
change it and it has no content; ranges refer to the text without it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeAlias

from fullrecall._util.parameters import check_k
from fullrecall._util.pieces import pause
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.samples.context import Context
from fullrecall.samples.prompts import squeezed
from fullrecall.samples.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    first_ranks,
    require,
    require_retrieval,
    retrieved_contexts,
)

CharacterRange: TypeAlias = tuple[int, int]
"""A half-open range of characters."""


_TOGETHER = 100_000
"""The number of substrings that are cut between two pauses."""


class Overlap(NamedTuple):
    """The characters of a reference that a context holds.

    `runs` always count. `edges` are so short that they may be chance, so they count only next to
    covered characters.
    """

    runs: tuple[CharacterRange, ...] = ()
    edges: tuple[CharacterRange, ...] = ()


class Windows:
    """The substrings of a context that have `min_run` characters (runs) or half as many (blocks).

    A reference is divided into consecutive blocks. Each run of `min_run` characters in it contains
    a whole block. So if the context has no block of the reference, it has no run of it.
    """

    def __init__(self, context: str, min_run: int) -> None:
        self.context = context
        self.min_run = min_run
        self.block = max(1, min_run // 2)

    @cached_property
    def blocks(self) -> AbstractSet[str]:
        """The context's substrings of a block's length."""
        return windows(self.context, self.block)

    @cached_property
    def runs(self) -> AbstractSet[str]:
        """The context's substrings of `min_run` characters."""
        return windows(self.context, self.min_run)


def windows(text: str, size: int) -> set[str]:
    """Return all substrings of a text that have this length."""
    # Build one set for all references, instead of one search of the text for each of them. The time
    # is then linear even if hundreds of references share a heading (bench/span_growth.py).
    stretches: set[str] = set()
    for first in range(0, len(text) - size + 1, _TOGETHER):
        pause()
        last = min(first + _TOGETHER, len(text) - size + 1)
        stretches.update(text[start : start + size] for start in range(first, last))
    return stretches


def overlap(reference: str, context: Windows) -> Overlap:
    """Return the characters of `reference` that occur in a context; both lack white space.

    A character is covered if it lies in a common run of at least `min_run` characters, or if one of
    the two texts contains the other. Where the end of the reference is the start of the context, or
    vice versa, a chunk border may have cut a run. There, a third of `min_run` is enough, and a
    shorter run is an edge.
    """
    text, min_run = context.context, context.min_run
    if not text or not reference:
        return Overlap()
    if reference in text:
        return Overlap(runs=((0, len(reference)),))
    if len(text) < min_run:
        # Count a context shorter than `min_run` only at its first occurrence.
        start = reference.find(text)
        if start >= 0:
            return Overlap(runs=((start, start + len(text)),))
    cut_runs = list(_cut_runs(reference, text, min_run))
    long_enough = [run for run in cut_runs if run[1] - run[0] >= min_run // 3]
    runs = union([*_runs(reference, context), *long_enough])
    return Overlap(tuple(runs), tuple(edge for edge in cut_runs if edge not in long_enough))


def _runs(reference: str, context: Windows) -> Iterable[CharacterRange]:
    """Yield the runs of `min_run` characters that both texts have, as ranges of `reference`."""
    block, size = context.block, context.min_run
    unseen = 0  # runs that start before this offset need not be looked up again
    for at in range(0, len(reference) - block + 1, block):
        # If the context lacks this block, as is usual, it lacks every run that contains the block.
        if reference[at : at + block] not in context.blocks:
            continue
        pause()
        for start in range(max(unseen, at + block - size), min(at, len(reference) - size) + 1):
            if reference[start : start + size] in context.runs:
                yield start, start + size
        unseen = at + 1


def _cut_runs(reference: str, context: str, min_run: int) -> Iterable[CharacterRange]:
    """Yield the runs shorter than `min_run` that a chunk border may have cut.

    Such a run is the end of one text and the beginning of the other. It is given as a range of
    `reference`.
    """
    length = len(reference)
    # Compare only parts that are shorter than a run, so that trying every place is fast, even in a
    # row of dots.
    longest = min(min_run, length, len(context)) - 1
    if longest < 1:
        return
    size = _longest_shared(reference[-longest:], context[:longest])
    if size:
        yield length - size, length
    size = _longest_shared(context[-longest:], reference[:longest])
    if size:
        yield 0, size


def _longest_shared(end: str, beginning: str, least: int = 1) -> int:
    """Return the length of the longest suffix of `end` that is a prefix of `beginning`.

    Returns 0 if it has fewer than `least` characters.
    """
    at = end.find(beginning[:least])
    while at >= 0:
        if beginning.startswith(end[at:]):
            return len(end) - at
        at = end.find(beginning[:least], at + 1)
    return 0


def union(intervals: Iterable[CharacterRange]) -> list[CharacterRange]:
    """Return the characters of ranges as disjoint ranges in order; ranges that touch are joined."""
    joined: list[CharacterRange] = []
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def covered(length: int, overlaps: Iterable[Overlap]) -> list[CharacterRange]:
    """Return the characters of a reference of `length` that its overlaps cover together."""
    overlaps = list(overlaps)
    runs = union(run for part in overlaps for run in part.runs)
    # Add the edges of all contexts last, since the next chunk may continue a run that a border cut.
    edges = union(edge for part in overlaps for edge in part.edges)
    return union([*runs, *(edge for edge in edges if _counts(edge, runs, length))])


def _counts(edge: CharacterRange, runs: Iterable[CharacterRange], length: int) -> bool:
    """Return whether an edge touches a run, or covers the whole reference."""
    touches = any(start <= edge[1] and edge[0] <= end for start, end in runs)
    return touches or edge == (0, length)


def total(intervals: Iterable[CharacterRange]) -> int:
    """Return the number of characters in disjoint ranges."""
    return sum(end - start for start, end in intervals)


def within(part: CharacterRange, intervals: Iterable[CharacterRange]) -> bool:
    """Return whether one of the disjoint ranges contains the whole `part`."""
    return any(start <= part[0] and part[1] <= end for start, end in intervals)


@dataclass(frozen=True)
class Passage:
    """A text, the range of a document from which it was cut, or both.

    `source` is the document's ID, `start` and `end` are half-open character offsets in it.
    """

    label: str
    text: str | None
    source: str | None = None
    start: int = 0
    end: int = 0

    @classmethod
    def of(cls, context: Context) -> Passage:
        """Return a context as a passage, with its offsets if it has them."""
        if context.source is None or context.start is None or context.end is None:
            return cls(context.label, context.text)
        label = context.text or f"{context.source}[{context.start}:{context.end}]"
        return cls(label, context.text, context.source, context.start, context.end)

    @cached_property
    def characters(self) -> str:
        """The text without white space."""
        return squeezed(self.text or "")

    @property
    def _is_aligned(self) -> bool:
        """Whether the text has exactly one character for each offset."""
        return self.text is not None and len(self.text) == self.end - self.start

    @property
    def length(self) -> int:
        """The number of characters to cover, without white space if the text is known."""
        by_text = self.source is None or self._is_aligned
        return len(self.characters) if by_text else self.end - self.start

    @property
    def is_empty(self) -> bool:
        """Whether the passage is a range without characters."""
        return self.source is not None and self.length == 0

    def comparable(self, retrieved: Passage) -> bool:
        """Return whether both passages have offsets, or both have texts."""
        by_place = self.source is not None and retrieved.source is not None
        return by_place or bool(self.characters and retrieved.characters)

    def overlap(self, retrieved: Passage, min_run: int, shared: Windows | None = None) -> Overlap:
        """Return the characters of this passage that `retrieved` has.

        Offsets are compared if both passages have them, so that the same text elsewhere does not
        count. Otherwise the texts are aligned. `shared` are the substrings of `retrieved`, made
        once for several passages.
        """
        if self.source is None or retrieved.source is None:
            return overlap(self.characters, shared or Windows(retrieved.characters, min_run))
        start = max(self.start, retrieved.start) - self.start
        end = min(self.end, retrieved.end) - self.start
        if self._is_aligned:
            start, end = (bisect_left(self._positions, offset) for offset in (start, end))
        # Compare offsets without white space: sharing only white space is no overlap.
        is_shared = self.source == retrieved.source and start < end
        return Overlap(runs=((start, end),)) if is_shared else Overlap()

    def original(self, part: CharacterRange) -> CharacterRange:
        """Convert a range of characters without white space to offsets in this passage."""
        if self.source is not None and not self._is_aligned:
            return part
        return self._positions[part[0]], self._positions[part[1] - 1] + 1

    @cached_property
    def _positions(self) -> list[int]:
        """The offsets of the characters that are not white space."""
        return [at for at, character in enumerate(self.text or "") if not character.isspace()]


def merged(passages: Sequence[Passage], min_run: int) -> list[Passage]:
    """Join the passages that overlap; return the unions in order of first appearance.

    Passages with offsets overlap if they share a character. Texts overlap if one contains the
    other, or if at least `min_run` characters end one and begin the other.
    """
    distinct = list(dict.fromkeys(passages))
    # Compare only neighbors: all pairs of 1,000 references would be a million alignments.
    near = _neighbors(distinct, min_run)
    remaining = dict.fromkeys(range(len(distinct)))
    unions: list[Passage] = []
    while remaining:
        index = next(iter(remaining))
        del remaining[index]
        current, around = distinct[index], near[index]
        grown = True
        while grown:
            grown = False
            # A union may overlap passages that neither part overlapped, so start again from the
            # first.
            around = around & remaining.keys()
            for other in sorted(around):
                union = _joined(current, distinct[other], min_run)
                union = union or _joined(distinct[other], current, min_run)
                if union is not None:
                    del remaining[other]
                    around = around | near[other]
                    current, grown = union, True
                    break
        unions.append(current)
    return unions


def _neighbors(passages: Sequence[Passage], min_run: int) -> list[set[int]]:
    """Return for each passage the indices of all passages that may be joined with it.

    Two texts may be joined if one contains the first `min_run` characters of the other. If the
    other is shorter, it must be contained as a whole. Two ranges may be joined if they are of one
    document.
    """
    near: list[set[int]] = [set() for _ in passages]
    of_source: defaultdict[str, set[int]] = defaultdict(set)
    of_beginning: defaultdict[str, set[int]] = defaultdict(set)
    for index, passage in enumerate(passages):
        if passage.source is not None:
            of_source[passage.source].add(index)
        else:
            of_beginning[passage.characters[:min_run]].add(index)
    lengths = {len(beginning) for beginning in of_beginning}
    for index, passage in enumerate(passages):
        if passage.source is not None:
            near[index] |= of_source[passage.source]
            continue
        # Only a few lengths occur: `min_run`, and the lengths of shorter texts.
        for length in lengths:
            for beginning in windows(passage.characters, length) & of_beginning.keys():
                near[index] |= of_beginning[beginning]
                for other in of_beginning[beginning]:
                    near[other].add(index)
    return near


def _joined(first: Passage, second: Passage, min_run: int) -> Passage | None:
    """Return the union of two passages if `second` is in `first` or continues it, else None.

    `second` continues `first` if at least `min_run` characters end `first` and begin `second`. With
    offsets, `second` continues `first` if it begins inside `first`.
    """
    if first.source is not None:  # `_neighbors` pairs it only with a passage of the same source
        return _joined_places(first, second)
    if not second.characters or second.characters in first.characters:
        return first
    if first.characters[-min_run:] not in second.characters:
        return None
    earliest = max(1, len(first.characters) - len(second.characters) + 1)
    shared = _longest_shared(first.characters[earliest:], second.characters, min_run)
    if not shared:
        return None
    text = f"{first.text}{_after(second.text or '', shared)}"
    union = replace(first, label=text, text=text)
    # Set the characters here. Otherwise white space would be removed from the whole text again for
    # each passage that is joined to it.
    vars(union)["characters"] = first.characters + second.characters[shared:]
    return union


def _joined_places(first: Passage, second: Passage) -> Passage | None:
    starts_inside = first.source == second.source and first.start <= second.start < first.end
    if not starts_inside:
        return None
    if second.end <= first.end:
        return first
    text = None
    if first.text is not None and second.text is not None:
        text = first.text + second.text[first.end - second.start :]
    label = text or f"{first.source}[{first.start}:{second.end}]"
    return replace(first, label=label, text=text, end=second.end)


def _after(text: str, count: int) -> str:
    """Return the rest of `text` after `count` characters, white space not counted."""
    for position, character in enumerate(text):
        if count == 0:
            return text[position:]
        count -= not character.isspace()
    return ""


@dataclass(frozen=True, kw_only=True)
class SpanRecall(DeterministicScorer):
    """The share of each reference context's characters that the retrieved contexts cover.

    A target is a reference context. Its credit is the share of its characters, without white space,
    that the *union* of the contexts so far covers. So chunking makes no difference: a passage that
    is split over two retrieved chunks counts in full, overlapping chunks count once, and
    overlapping references are one target, their union. In an any-of group, the best covered
    alternative counts.

    Where both sides have offsets (`Context.source`, `start`, `end`), characters are compared by
    place. Otherwise texts are aligned: a character is covered if it lies in a common run of at
    least `min_run` characters. Where a chunk border may have cut a run, a shorter run is enough
    (see `fullrecall.scorers.spans`; `bench` compares this with offsets). Without offsets, text that
    occurs word for word in another document counts as retrieved.

    Every reference counts the same; `Recall(weight="size")` weighs each reference by its
    characters, as Chroma's chunking evaluation does (Smith and Troynikov, 2024).
    """

    min_run: int = 32

    kind: ClassVar[str] = "span_recall"
    labels: ClassVar[Collection[str]] = ("reference_contexts",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_k(self.min_run, "min_run")

    def _find(self, sample: Sample) -> Found:
        require_retrieval(sample)
        references = require(sample.reference_contexts, "reference_contexts")
        passages = (map(Passage.of, group) for group in references)
        # Leave out ranges without characters, which have nothing to cover, and repeated groups.
        with_characters = (tuple(p for p in group if not p.is_empty) for group in passages)
        groups = [group for group in dict.fromkeys(with_characters) if group]
        retrieved = [Passage.of(context) for context in retrieved_contexts(sample)]
        single = merged([group[0] for group in groups if len(group) == 1], self.min_run)
        targets = [*((passage,) for passage in single), *(g for g in groups if len(g) > 1)]
        for target in targets:
            _check_comparable(target, retrieved)
        # Compare exact duplicates once, at the first rank: they cover no more characters.
        distinct = [
            _Listed(rank, passage, Windows(passage.characters, self.min_run))
            for passage, rank in first_ranks(retrieved).items()
        ]
        return Found([self._finding(target, distinct) for target in targets], len(retrieved))

    def _finding(self, target: tuple[Passage, ...], retrieved: Sequence[_Listed]) -> Finding:
        """Return the finding of an any-of group.

        The credit at each rank is that of the alternative that is covered best there.
        """
        alternatives = [self._coverage(passage, retrieved) for passage in target]
        if len(alternatives) == 1:
            return alternatives[0]
        ranks = sorted({step.rank for finding in alternatives for step in finding.steps})
        steps: list[CreditStep] = []
        for rank in ranks:
            # Take the largest credit, not the sum: if half of each of two alternatives is covered,
            # neither is found in full.
            credit = max(finding.credit_at(rank) for finding in alternatives)
            if not steps or credit > steps[-1].credit:
                steps.append(CreditStep(rank, credit))
        best = max(alternatives, key=lambda finding: finding.credit_at())
        # Use the largest alternative, not the best covered: a weight must not depend on retrieval.
        size = max(finding.target.size for finding in alternatives)
        return Finding(
            Target(tuple(passage.label for passage in target), size=size),
            tuple(steps),
            tuple(sorted({rank for finding in alternatives for rank in finding.ranks})),
            best.evidence,
        )

    def _coverage(self, passage: Passage, retrieved: Sequence[_Listed]) -> Finding:
        overlaps: dict[int, Overlap] = {}
        steps: list[CreditStep] = []
        for context in retrieved:
            pause()
            overlap = passage.overlap(context.passage, self.min_run, context.windows)
            if not overlap.runs and not overlap.edges:
                continue
            rank = context.rank
            overlaps[rank] = overlap
            # Count the union, not the sum: characters in two overlapping chunks count once.
            credit = total(covered(passage.length, overlaps.values())) / passage.length
            if credit > (steps[-1].credit if steps else 0.0):
                steps.append(CreditStep(rank, credit))
        all_covered = covered(passage.length, overlaps.values())
        evidence = tuple(
            Evidence(rank, target_start=start, target_end=end)
            for rank, overlap in overlaps.items()
            for interval in (*overlap.runs, *(e for e in overlap.edges if within(e, all_covered)))
            for start, end in [passage.original(interval)]
        )
        ranks = tuple(dict.fromkeys(piece.rank for piece in evidence))
        target = Target((passage.label,), size=float(passage.length))
        return Finding(target, tuple(steps), ranks, evidence)


class _Listed(NamedTuple):
    """A retrieved context at its rank, with its substrings, computed once for all references."""

    rank: int
    passage: Passage
    windows: Windows


def _check_comparable(target: tuple[Passage, ...], retrieved: Sequence[Passage]) -> None:
    """Raise `Unmeasured` if an alternative of the target cannot be compared.

    An alternative cannot be compared if it has neither offsets nor text, or if none of the
    retrieved contexts is comparable with it.
    """
    for passage in target:
        if passage.source is None and not passage.characters:
            raise Unmeasured(f"the reference context {passage.label!r} has no text to compare")
        if retrieved and not any(passage.comparable(context) for context in retrieved):
            missing = "offsets, nor the reference a text" if passage.source else "text"
            raise Unmeasured(f"none of the retrieved contexts has {missing}")
