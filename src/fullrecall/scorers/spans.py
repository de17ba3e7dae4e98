"""Recall by characters, for any size, order, and overlap of the chunks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from fullrecall._util.parameters import check_k
from fullrecall._util.pieces import pause
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.samples.sample import Sample
from fullrecall.scorers.passages import Overlap, Passage, Windows, covered, merged, total, within
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    first_ranks,
    require,
    require_retrieval,
    retrieved_contexts,
)


@dataclass(frozen=True, kw_only=True)
class SpanRecall(DeterministicScorer):
    """The share of each reference context's characters that the retrieved contexts cover.

    A target is a reference context; its credit is the share of its characters, white space aside,
    that the *union* of the contexts so far covers. So chunking makes no difference: a passage split
    over two retrieved chunks counts in full, overlapping chunks count once, and references that
    overlap are one target, their union. In an any-of group, the alternative covered best counts.

    Where both sides have offsets (`Context.source`, `start`, `end`), characters are compared by
    place. Otherwise texts are aligned: a character is covered if it lies in a common run of at
    least `min_run` characters, or a shorter one where a chunk border may have cut it (see
    `fullrecall.scorers.passages`; `bench` measures it against offsets). Text that
    occurs word for word in another document counts as retrieved: only offsets can tell.

    Every reference counts the same; `Recall(weight="size")` weighs it by its characters, as
    Chroma's chunking evaluation does (Smith and Troynikov, 2024).
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
        # A range without characters has nothing to cover, and a repeated group counts once.
        with_characters = (tuple(p for p in group if not p.is_empty) for group in passages)
        groups = [group for group in dict.fromkeys(with_characters) if group]
        retrieved = [Passage.of(context) for context in retrieved_contexts(sample)]
        single = merged([group[0] for group in groups if len(group) == 1], self.min_run)
        targets = [*((passage,) for passage in single), *(g for g in groups if len(g) > 1)]
        for target in targets:
            _check_comparable(target, retrieved)
        # An exact duplicate covers no more characters.
        distinct = [
            _Listed(rank, passage, Windows(passage.characters, self.min_run))
            for passage, rank in first_ranks(retrieved).items()
        ]
        return Found([self._finding(target, distinct) for target in targets], len(retrieved))

    def _finding(self, target: tuple[Passage, ...], retrieved: Sequence[_Listed]) -> Finding:
        """Return the finding of an any-of group: at each rank, the alternative covered best."""
        alternatives = [self._coverage(passage, retrieved) for passage in target]
        if len(alternatives) == 1:
            return alternatives[0]
        ranks = sorted({step.rank for finding in alternatives for step in finding.steps})
        steps: list[CreditStep] = []
        for rank in ranks:
            # Alternatives do not add up: half of each of two is not one whole.
            credit = max(finding.credit_at(rank) for finding in alternatives)
            if not steps or credit > steps[-1].credit:
                steps.append(CreditStep(rank, credit))
        best = max(alternatives, key=lambda finding: finding.credit_at())
        # The largest, not the best covered: a weight must not depend on the retrieved contexts.
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
            # Credit is over the union, not a sum: characters in two overlapping chunks count once.
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
    """Raise `Unmeasured` if no retrieved context can be compared with the target."""
    for passage in target:
        if passage.source is None and not passage.characters:
            raise Unmeasured(f"the reference context {passage.label!r} has no text to compare")
        if retrieved and not any(passage.comparable(context) for context in retrieved):
            missing = "offsets, nor the reference a text" if passage.source else "text"
            raise Unmeasured(f"none of the retrieved contexts has {missing}")
