"""Recall by document ID."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from fullrecall.errors import ParameterError
from fullrecall.findings import WholeFindings
from fullrecall.sample import Reference, Sample
from fullrecall.scorers.columns import ColumnScores, score_columns
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    require,
    require_retrieval,
)

Weighting = Literal["equal", "grade"]


@dataclass(frozen=True, kw_only=True)
class IdRecall(DeterministicScorer):
    """Of the reference IDs, how many did the retriever bring?

    A target is a reference ID, or an any-of group of IDs, whose grade is at least `min_grade`;
    it is found at the first rank that carries one of its IDs. IDs are compared as `str`. Of
    duplicate retrieved IDs the first counts, and the others still take up their ranks.

    `weighting="grade"` weighs each target by its grade, "equal" (the default) by 1.
    """

    min_grade: float = 1
    weighting: Weighting = "equal"

    kind: ClassVar[str] = "id_recall"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.min_grade, (int, float)) and self.min_grade > 0):
            raise ParameterError(f"min_grade is a number above 0, got {self.min_grade!r}")
        if self.weighting not in get_args(Weighting):
            raise ParameterError(f'weighting is "equal" or "grade", got {self.weighting!r}')

    def score_columns(
        self, retrieved_context_ids: Iterable[Any], reference_context_ids: Iterable[Any]
    ) -> ColumnScores:
        """Return recall of whole columns, one row for each sample, at `ks` and at `k`.

        Each item is what a `Sample` takes for that field; None is a missing value. It gives the
        numbers that `score` gives, several times faster, and nothing else. Raises `InputError`
        for columns of different lengths and for values that are no IDs.
        """
        cuts = sorted({*self.ks, *(() if self.k is None else (self.k,))})
        return score_columns(
            retrieved_context_ids,
            reference_context_ids,
            ks=(*cuts, *((None,) if self.k is None else ())),
            # Lists of plain IDs have grade 1: above that threshold, none is a target.
            plain=self.min_grade <= 1,
            score=self.score,
        )

    def _find(self, sample: Sample) -> Found:
        require_retrieval(sample)
        references = self._targets(require(sample.reference_context_ids, "reference_context_ids"))
        ids = sample.retrieved_context_ids or ()
        # Built back to front, so that the first of several equal IDs is the one that stays.
        rank_of = dict(zip(reversed(ids), range(len(ids), 0, -1), strict=True))
        note = ""
        if None in rank_of:
            without = sum(found is None for found in ids)
            if without == len(ids):
                raise Unmeasured(f"none of the {without} retrieved contexts has an ID")
            note = f"{without} of {len(ids)} retrieved contexts have no ID"
        ranks: list[tuple[int, ...]] = []
        for members, _ in references:
            if len(members) == 1:
                rank = rank_of.get(members[0])
                ranks.append(() if rank is None else (rank,))
            else:
                ranks.append(tuple(sorted(rank_of[m] for m in members if m in rank_of)))
        weights = [r.grade for r in references] if self.weighting == "grade" else None
        return Found(WholeFindings(references, ranks, weights), len(ids), note)

    def _targets(self, references: Sequence[Reference]) -> Sequence[Reference]:
        least = self.min_grade
        if all(grade >= least for _, grade in references):
            return references
        return [reference for reference in references if reference.grade >= least]
