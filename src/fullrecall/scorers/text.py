"""Recall by the similarity of whole texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
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
    labels: ClassVar[Collection[str]] = ("reference_contexts",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.threshold, "threshold")
        if self.comparison not in get_args(Comparison):
            raise ParameterError(f'comparison must be "ge" or "gt", got {self.comparison!r}')
        BoundedSimilarity(self.similarity, self.threshold)

    def __getstate__(self) -> dict[str, object]:
        # What is cached has functions that may not pickle: workers make their own.
        return {name: value for name, value in self.__dict__.items() if name != "bounded"}

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
        searches: list[_Search] = []
        for sample in samples:
            try:
                texts, groups = retrieved_texts(sample), reference_texts(sample)
            except Unmeasured:
                texts, groups, code = [], [], UNSCORED
            else:
                code = SCORED if groups else UNDEFINED
            positions = first_ranks(texts)
            searches += [_Search.of(group, positions, exact=self.least <= 1.0) for group in groups]
            status.append(code)
            retrieved.append(len(texts))
            counts.append(len(groups))
        self._search(searches)
        first = np.fromiter((search.first for search in searches), np.int32)
        first[first == _NOWHERE] = 0

        def support() -> Lists:
            results = [self.score(sample) for sample in samples]
            return Lists.of([finding.ranks for row in results for finding in row.findings])

        outcomes = FoundColumns(
            np.array(retrieved, np.int64),
            Lists(first, offsets_of(np.array(counts, np.int64))),
            support,
        )
        return ScoreColumns(np.array(status, np.int8), outcomes)

    def _search(self, searches: Sequence[_Search]) -> None:
        """Find where each target is first: whatever is found takes no part in the next pairs."""
        start = 0
        while searches := [search for search in searches if len(search.texts) > start]:
            end = start + max(1, _TOGETHER // len(searches))
            pairs = [pair for search in searches for pair in search.pairs(start, end)]
            values = self.bounded.of_pairs([pair[0] for pair in pairs], [pair[1] for pair in pairs])
            for (_, _, position, search), value in zip(pairs, values, strict=True):
                if value >= self.least:
                    search.first = min(search.first, position)
            searches = [search for search in searches if search.first > search.positions[-1]]
            start = end

    def _find(self, sample: Sample) -> Found:
        texts = retrieved_texts(sample)
        groups = reference_texts(sample)
        positions = first_ranks(texts)
        return Found([self._finding(group, positions) for group in groups], len(texts))

    def _finding(self, group: tuple[str, ...], positions: dict[str, int]) -> Finding:
        """Return the finding of an any-of group, with each text that is similar enough."""
        highest = self.bounded.highest(group, list(positions))
        evidence = tuple(
            [
                Evidence(position, similarity=similarity)
                for position, similarity in zip(positions.values(), highest, strict=True)
                if similarity >= self.least
            ]
        )
        ranks = tuple([item.rank for item in evidence])
        return Finding(Target(group), (Step(ranks[0], 1.0),) if ranks else (), ranks, evidence)


_TOGETHER = 256
"""Pairs of texts that are compared before it is asked again which are still needed."""

_NOWHERE = 2**31 - 1
"""The position of a text that is not there."""


@dataclass
class _Search:
    """Where a target is first: `texts` and their `positions` are those that may find it earlier."""

    group: tuple[str, ...]
    texts: Sequence[str]
    positions: Sequence[int]
    first: int

    @classmethod
    def of(cls, group: tuple[str, ...], positions: dict[str, int], *, exact: bool) -> _Search:
        """Return the search for an any-of group; word by word it stands at `first`."""
        equal = [positions[text] for text in group if text in positions] if exact else []
        first = min(equal, default=_NOWHERE)
        count = bisect_left(ranks := list(positions.values()), first)
        return cls(group, list(positions)[:count], ranks[:count], first)

    def pairs(self, start: int, end: int) -> Iterator[tuple[str, str, int, _Search]]:
        """Yield each reference with each of some texts, and its position."""
        some = slice(start, end)
        for text, position in zip(self.texts[some], self.positions[some], strict=True):
            for reference in self.group:
                yield reference, text, position, self


def first_ranks(texts: Sequence[str]) -> dict[str, int]:
    """Return each text that is not empty with the 1-based rank where it first stands."""
    positions: dict[str, int] = {}
    for position, text in enumerate(texts, start=1):
        if text:
            positions.setdefault(text, position)
    return positions


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
