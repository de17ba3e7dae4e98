"""Context precision: do the contexts that help stand before those that do not?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.errors import ParameterError
from fullrecall.finding import Finding
from fullrecall.sample import Sample
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.scorer import FindingScorer
from fullrecall.scorers.text import TextRecall


@dataclass(frozen=True, kw_only=True)
class ContextPrecision(FindingScorer):
    """Of the contexts retrieved, are the relevant ones ranked first?

    A context is relevant where it supports a target of the scorer `by`: for IDs `IdRecall()`,
    for texts `TextRecall()`, or another recall scorer with your own parameters. By default IDs
    decide where the sample has `reference_context_ids`, texts otherwise.

    The score is the mean of precision@rank over the relevant ranks (ragas's context precision);
    `result.precision` is the plain share of relevant contexts.
    """

    by: FindingScorer | None = None

    kind: ClassVar[str] = "context_precision"
    measure: ClassVar[str] = "context_precision"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by is not None and not isinstance(self.by, FindingScorer):
            raise ParameterError(f"by is a recall scorer such as IdRecall(), got {self.by!r}")

    def _find(self, sample: Sample) -> tuple[Sequence[Finding], int, str]:
        return self._scorer(sample)._find(sample)  # noqa: SLF001 - a scorer asks a scorer

    def _scorer(self, sample: Sample) -> FindingScorer:
        if self.by is not None:
            return self.by
        return TextRecall() if sample.reference_context_ids is None else IdRecall()
