"""Recall by the similarity of whole texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, get_args

from fullrecall.context import Context
from fullrecall.errors import ParameterError
from fullrecall.findings import Evidence, Finding, LateFindings, Step, Target
from fullrecall.parameters import check_share
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    require,
    retrieved_texts,
)
from fullrecall.scorers.similarity import Similarity, is_rapidfuzz, similarity_above

Comparison = Literal["ge", "gt"]


@dataclass(frozen=True, kw_only=True)
class TextRecall(DeterministicScorer):
    """Of the reference contexts, how many did the retriever bring, judged by their texts?

    A target is a reference context, or an any-of group of them; it is found at the first rank
    whose whole text is similar enough to its own: `similarity(reference, retrieved)` at or above
    `threshold` (`comparison="gt"`: strictly above, as ragas's non-LLM recall compares).

    `similarity` is a RapidFuzz scorer by name or as a function, or any callable of two texts
    that returns a number in [0, 1]. The default is the normalised Levenshtein similarity,
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
            raise ParameterError(f'comparison is "ge" or "gt", got {self.comparison!r}')
        similarity_above(self.similarity, self.threshold)

    def __getstate__(self) -> dict[str, object]:
        # The cached comparison is a closure, which does not pickle: workers make their own.
        return {name: value for name, value in self.__dict__.items() if name != "_similarity"}

    @cached_property
    def _similarity(self) -> Callable[[str, str], float]:
        return similarity_above(self.similarity, self.threshold)

    def _find(self, sample: Sample) -> Found:
        texts = retrieved_texts(sample)
        groups = reference_texts(sample)
        first_rank: dict[str, int] = {}
        for rank, text in enumerate(texts, start=1):
            if text:
                first_rank.setdefault(text, rank)
        if callable(self.similarity) and not is_rapidfuzz(self.similarity):
            # A user's function may raise, and is to do so here, where it is seen.
            return Found([self._finding(group, first_rank) for group in groups], len(texts))
        firsts = [self._first_hit(group, first_rank) for group in groups]

        def make(position: int) -> Finding:
            first = firsts[position] or len(texts) + 1
            rest = {text: rank for text, rank in first_rank.items() if rank >= first}
            return self._finding(groups[position], rest)

        return Found(LateFindings(list(map(Target, groups)), firsts, make), len(texts))

    def _first_hit(self, group: tuple[str, ...], first_rank: dict[str, int]) -> int | None:
        """Return the first rank whose text is similar enough; later ones are not looked at."""
        copies = [first_rank[wanted] for wanted in group if wanted in first_rank]
        known = min(copies, default=None) if self._enough(1.0) else None
        for text, rank in first_rank.items():
            if rank == known:
                break
            if any(self._enough(self._similarity(wanted, text)) for wanted in group):
                return rank
        return known

    def _enough(self, similarity: float) -> bool:
        strict = self.comparison == "gt"
        return similarity > self.threshold or (similarity == self.threshold and not strict)

    def _finding(self, group: tuple[str, ...], first_rank: dict[str, int]) -> Finding:
        similarity = self._similarity
        evidence = []
        for text, rank in first_rank.items():
            best = max(1.0 if text == wanted else similarity(wanted, text) for wanted in group)
            if self._enough(best):
                evidence.append(Evidence(rank, similarity=best))
        ranks = tuple(item.rank for item in evidence)
        steps = (Step(ranks[0], 1.0),) if ranks else ()
        return Finding(Target(group), steps, ranks, tuple(evidence))


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
