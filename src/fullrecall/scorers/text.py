"""Recall by the similarity of whole texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar, Literal, get_args

from fullrecall._util.parameters import check_choice, check_share
from fullrecall._util.pieces import paused
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    first_ranks,
    require,
    retrieved_texts,
)
from fullrecall.scorers.similarity import BoundedSimilarity, Similarity

ThresholdOperator = Literal["ge", "gt"]


@dataclass(frozen=True, kw_only=True)
class TextRecall(DeterministicScorer):
    """The share of the reference contexts that the retriever returned, compared by text.

    A target is a reference context, or an any-of group of them; it is found at the first rank
    whose whole text is similar enough to its own: `similarity(reference, retrieved)` at or above
    `threshold` (`comparison="gt"`: strictly above, as ragas's non-LLM recall compares).

    `similarity` is a RapidFuzz scorer by name or as a function, or any callable of two texts
    that returns a number in [0, 1]. The default is the normalized Levenshtein similarity,
    1 - distance / length of the longer text (Levenshtein, 1966; scaled as RapidFuzz does).
    It compares whole texts, so a reference that is whole inside a chunk of twice its length
    has a similarity of at most 0.5: where chunks are longer or shorter than the references, use
    `SpanRecall`, or a partial measure such as "partial_ratio".

    Raises `ParameterError` when a callable returns a number outside [0, 1].
    """

    similarity: str | Similarity = "levenshtein"
    threshold: float = 0.5
    comparison: ThresholdOperator = "ge"

    kind: ClassVar[str] = "text_recall"
    labels: ClassVar[Collection[str]] = ("reference_contexts",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.threshold, "threshold")
        check_choice(self.comparison, "comparison", get_args(ThresholdOperator))
        BoundedSimilarity(self.similarity, self.threshold)

    def __getstate__(self) -> dict[str, object]:
        # The cached similarity has functions that may not pickle: workers make their own.
        return {name: value for name, value in self.__dict__.items() if name != "_bounded"}

    @cached_property
    def _bounded(self) -> BoundedSimilarity:
        """The similarity, exact from the threshold up."""
        return BoundedSimilarity(self.similarity, self.threshold)

    def _find(self, sample: Sample) -> Found:
        texts = retrieved_texts(sample)
        references = require(sample.reference_contexts, "reference_contexts")
        groups = list(dict.fromkeys(tuple(map(_text, each)) for each in paused(references)))
        # Each text once: a repeated chunk is compared once and found at its first rank.
        rank_of = {text: rank for text, rank in first_ranks(texts).items() if text}
        distinct = list(dict.fromkeys(chain.from_iterable(groups)))
        rows = self._bounded.rows(distinct, list(rank_of))
        row_of = dict(zip(distinct, rows, strict=True))
        return Found(
            [self._finding(each, rank_of, row_of) for each in paused(groups, 100)], len(texts)
        )

    def _finding(
        self,
        group: tuple[str, ...],
        rank_of: Mapping[str, int],
        row_of: Mapping[str, Sequence[float]],
    ) -> Finding:
        """Return the finding of an any-of group, with each text that is similar enough."""
        similarities = [
            1.0 if text in group else max(row_of[reference][nth] for reference in group)
            for nth, text in enumerate(rank_of)
        ]
        evidence = tuple(
            Evidence(rank, similarity=similarity)
            for rank, similarity in zip(rank_of.values(), similarities, strict=True)
            if self._finds(similarity)
        )
        ranks = tuple(piece.rank for piece in evidence)
        steps = (CreditStep(ranks[0], 1.0),) if ranks else ()
        return Finding(Target(group), steps, ranks, evidence)

    def _finds(self, similarity: float) -> bool:
        is_above = similarity > self.threshold
        return is_above or (self.comparison == "ge" and similarity == self.threshold)


def _text(context: Context) -> str:
    if context.text is None:
        raise Unmeasured(f"the reference context {context.id!r} has no text to compare")
    return context.text
