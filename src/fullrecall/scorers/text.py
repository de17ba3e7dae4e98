"""Recall by the similarity of whole texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

from fullrecall.context import Context
from fullrecall.errors import ParameterError
from fullrecall.findings import LateFindings, Target
from fullrecall.parameters import check_share
from fullrecall.result import Result
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    require,
    retrieved_texts,
)
from fullrecall.scorers.similarity import BoundedSimilarity, Similarity
from fullrecall.scorers.text_matches import Criterion, TextMatches

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
        return {name: value for name, value in self.__dict__.items() if name != "_criterion"}

    def score(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the result for a sample, or for the fields of one given by name.

        Raises `InputError` where the fields make no sample. What cannot be measured is no error
        but a result with `status="unscored"` and a reason.
        """
        result = super().score(sample, **sample_fields)
        if type(result.findings) is LateFindings:
            result.findings.found_within(None)
        return result

    def begun(self, sample: Sample) -> Result:
        """Return the result before anything is compared."""
        return super().score(sample)

    @cached_property
    def _criterion(self) -> Criterion:
        similarity = BoundedSimilarity(self.similarity, self.threshold)
        return Criterion(similarity, self.threshold, strict=self.comparison == "gt")

    def _find(self, sample: Sample) -> Found:
        texts = retrieved_texts(sample)
        groups = reference_texts(sample)
        first_rank: dict[str, int] = {}
        for rank, text in enumerate(texts, start=1):
            if text:
                first_rank.setdefault(text, rank)
        matches = TextMatches(groups, first_rank, self._criterion)
        if not self._criterion.similarity.pure:
            # A user's function may raise, and is to do so here, where it is seen.
            return Found([matches.finding(n) for n in range(len(groups))], len(texts))
        return Found(LateFindings(list(map(Target, groups)), matches), len(texts))


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
