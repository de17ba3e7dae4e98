"""Recall by the similarity of whole texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, nextafter
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from fullrecall.context import Context
from fullrecall.errors import ParameterError
from fullrecall.findings import Evidence, Finding, Step, Target
from fullrecall.parameters import check_share
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    require,
    retrieved_texts,
)
from fullrecall.scorers.similarity import BoundedSimilarity, Similarity

if TYPE_CHECKING:
    from fullrecall.table.lists import Lists
    from fullrecall.table.part import ScoreColumns

Comparison = Literal["ge", "gt"]


@dataclass(frozen=True, kw_only=True)
class TextRecall(DeterministicScorer):
    """Of the reference contexts, how many did the retriever bring, judged by their texts?

    A target is a reference context, or an any-of group of them; it is found at the first rank
    whose whole text is similar enough to its own: `similarity(reference, retrieved)` at or above
    `threshold` (`comparison="gt"`: strictly above, as ragas's non-LLM recall compares).

    `similarity` is a RapidFuzz scorer by name or as a function, or any callable of two texts
    that returns a number in [0, 1]. The default is the normalized Levenshtein similarity,
    1 - distance / length of the longer text (Levenshtein, 1966; scaled as RapidFuzz does).
    It compares whole texts, so a reference that stands whole inside a chunk of twice its length
    has a similarity of at most 0.5: where chunks are longer or shorter than the references, use
    `SpanRecall`, or a partial measure such as "partial_ratio".

    Raises `ParameterError` when a callable returns a number outside [0, 1].
    """

    similarity: str | Similarity = "levenshtein"
    threshold: float = 0.5
    comparison: Comparison = "ge"

    kind: ClassVar[str] = "text_recall"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.threshold, "threshold")
        if self.comparison not in get_args(Comparison):
            raise ParameterError(f'comparison must be "ge" or "gt", got {self.comparison!r}')
        BoundedSimilarity(self.similarity, self.threshold)

    def __getstate__(self) -> dict[str, object]:
        # What is cached has functions that may not pickle: workers make their own.
        return {name: value for name, value in self.__dict__.items() if name != "bounded"}

    def labels_read(self, sample: Sample) -> Collection[str]:  # noqa: ARG002 - the same for all
        """Return the fields that this score depends on; see `FindingScorer.labels_read`."""
        return ("reference_contexts",)

    @cached_property
    def bounded(self) -> BoundedSimilarity:
        """The similarity, exact from the threshold up."""
        return BoundedSimilarity(self.similarity, self.threshold)

    @cached_property
    def least(self) -> float:
        """The least similarity that finds a reference."""
        return nextafter(self.threshold, inf) if self.comparison == "gt" else self.threshold

    def columns(self, samples: Sequence[Sample]) -> ScoreColumns:
        """Return the scores of samples as columns; for a similarity that is `pure`.

        No more texts are compared than tell where each reference is found first. The others that
        are similar, which precision reads, are looked for when it is read.
        """
        import numpy as np

        from fullrecall.table.found import FoundColumns
        from fullrecall.table.lists import Lists, offsets_of
        from fullrecall.table.part import SCORED, UNDEFINED, UNSCORED, ScoreColumns

        status, retrieved, counts = [], [], []
        pairs = _Pairs()
        for sample in samples:
            try:
                texts, groups = retrieved_texts(sample), reference_texts(sample)
            except Unmeasured:
                texts, groups, code = [], [], UNSCORED
            else:
                code = SCORED if groups else UNDEFINED
            ranks = first_places(texts)
            for group in groups:
                pairs.add(group, ranks, exact=self.least <= 1.0)
            status.append(code)
            retrieved.append(len(texts))
            counts.append(len(groups))
        first = np.array(pairs.exact, np.int32)
        values = np.fromiter(self.bounded.of_pairs(pairs.references, pairs.texts), np.float64)
        hits = np.flatnonzero(values >= self.least)
        targets, pair_ranks = (np.array(pairs.targets, np.int64), np.array(pairs.ranks, np.int32))
        np.minimum.at(first, targets[hits], pair_ranks[hits])
        first[first == _NOWHERE] = 0

        def support() -> Lists:
            results = [self.score(sample) for sample in samples]
            return Lists.of([finding.ranks for row in results for finding in row.findings])

        columns = FoundColumns(
            np.array(retrieved, np.int64),
            Lists(first, offsets_of(np.array(counts, np.int64))),
            support,
        )
        return ScoreColumns(np.array(status, np.int8), columns)

    def _find(self, sample: Sample) -> Found:
        texts = retrieved_texts(sample)
        groups = reference_texts(sample)
        ranks = first_places(texts)
        return Found([self._finding(group, ranks) for group in groups], len(texts))

    def _finding(self, group: tuple[str, ...], first_ranks: dict[str, int]) -> Finding:
        """Return the finding of an any-of group, with each text that is similar enough."""
        highest = self.bounded.highest(group, list(first_ranks))
        evidence = tuple(
            [
                Evidence(rank, similarity=similarity)
                for rank, similarity in zip(first_ranks.values(), highest, strict=True)
                if similarity >= self.least
            ]
        )
        ranks = tuple([item.rank for item in evidence])
        return Finding(Target(group), (Step(ranks[0], 1.0),) if ranks else (), ranks, evidence)


_NOWHERE = 2**31 - 1
"""The place of a text that is not there."""


class _Pairs:
    """Texts that are compared with references, of all targets together."""

    def __init__(self) -> None:
        self.references: list[str] = []
        self.texts: list[str] = []
        self.targets: list[int] = []
        self.ranks: list[int] = []
        self.exact: list[int] = []
        """Where each target stands word by word."""

    def add(self, group: tuple[str, ...], ranks: dict[str, int], *, exact: bool) -> None:
        """Add an any-of group with the texts that may be found before it stands word by word."""
        stands = [ranks[text] for text in group if text in ranks] if exact else []
        first = min(stands, default=_NOWHERE)
        before = [(text, rank) for text, rank in ranks.items() if rank < first]
        target = len(self.exact)
        self.exact.append(first)
        for reference in group:
            self.references += [reference] * len(before)
            self.texts += [text for text, _ in before]
            self.ranks += [rank for _, rank in before]
            self.targets += [target] * len(before)


def first_places(texts: Sequence[str]) -> dict[str, int]:
    """Return each text that is not empty with the 1-based place where it first stands."""
    ranks: dict[str, int] = {}
    for rank, text in enumerate(texts, start=1):
        if text:
            ranks.setdefault(text, rank)
    return ranks


def reference_texts(sample: Sample) -> list[tuple[str, ...]]:
    """Return the texts of the reference contexts: one tuple for each any-of group, each once.

    Raises `Unmeasured` where they are missing or have no texts.
    """
    return list(dict.fromkeys(tuple(map(_text, group)) for group in reference_groups(sample)))


def reference_groups(sample: Sample) -> tuple[tuple[Context, ...], ...]:
    """Return the reference contexts; raise `Unmeasured` where they are missing."""
    groups: tuple[tuple[Context, ...], ...] = require(
        sample.reference_contexts, "reference_contexts"
    )
    return groups


def _text(context: Context) -> str:
    if context.text is None:
        raise Unmeasured(f"the reference context {context.id!r} has no text to compare")
    return context.text
