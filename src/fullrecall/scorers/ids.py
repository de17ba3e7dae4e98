"""Recall by document ID."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from fullrecall.findings import SingleFindings, WholeFindings, ranks_of
from fullrecall.identifiers import GivenIds
from fullrecall.measures import DEFAULT_KS
from fullrecall.parameters import check_k
from fullrecall.result import Result
from fullrecall.sample import Sample, SingleIds
from fullrecall.scorers.columns import ColumnScores, score_columns
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    require,
    require_retrieval,
)

_new_tuple = tuple.__new__


@dataclass(frozen=True, kw_only=True)
class IdRecall(DeterministicScorer):
    """How many of the reference IDs did the retriever return?

    A target is a reference ID, or an any-of group of IDs, whose grade is above 0; it is found at
    the first rank that carries one of its IDs. IDs are compared as `str`. A repeated ID keeps
    its rank but counts once. `Recall(min_grade=2)` counts the targets of a grade or more,
    `Recall(weight="grade")` weighs them.
    """

    kind: ClassVar[str] = "id_recall"

    def score_columns(
        self,
        retrieved_context_ids: Iterable[Any],
        reference_context_ids: Iterable[Any],
        *,
        ks: Iterable[int] = DEFAULT_KS,
    ) -> ColumnScores:
        """Return recall of whole columns, one row for each sample, at `ks` and over all.

        Each item is what a `Sample` takes for that field; None is a missing value. Two Arrow
        columns of lists of whole numbers are fastest. It gives the numbers that `score` gives,
        several times faster, and nothing else. Raises `ParameterError` for a k below 1,
        `InputError` for columns of different lengths and for values that are not IDs.
        """
        cuts = sorted({check_k(k, "ks") for k in ks})
        return score_columns(
            retrieved_context_ids, reference_context_ids, ks=(*cuts, None), score=self.score
        )

    def by_ranks(self, sample: Sample, hits: list[int]) -> Result:
        """Return the result for a sample whose single reference IDs were found at these ranks.

        All are of a grade above 0, none of its retrieved IDs is missing, and there is no record of
        its retrieval.
        """
        ids, (wanted, grades) = sample.listed_ids or (), sample.single_ids or SingleIds(())
        return self._outcome(Found(SingleFindings(wanted, hits, ids, grades), len(ids)), sample)

    def _find(self, sample: Sample) -> Found:
        ids, single = sample.listed_ids, sample.single_ids
        if not ids or sample.retrieval is not None:
            require_retrieval(sample)
            ids = ids or ()
        if single is not None:
            wanted, grades = single
            if grades is not None and min(grades, default=1.0) <= 0:
                wanted, grades = _relevant(single)
            # Without alternatives only where they stand is looked at.
            hits, some_without = ranks_of(ids, wanted)
            note = _note(ids) if some_without else ""
            findings = SingleFindings(wanted, hits, ids, grades)
            return _new_tuple(Found, (findings, len(ids), note, ()))  # without a call of its own
        references = require(sample.reference_context_ids, "reference_context_ids")
        if any(grade <= 0 for _, grade in references):
            references = [reference for reference in references if reference.grade > 0]
        ids = sample.retrieved_context_ids or ()
        # Built back to front, so that the first of several equal IDs is the one that stays.
        rank_of = dict(zip(reversed(ids), range(len(ids), 0, -1), strict=True))
        note = _note(ids) if None in rank_of else ""
        ranks: list[tuple[int, ...]] = []
        for members, _ in references:
            if len(members) == 1:
                rank = rank_of.get(members[0])
                ranks.append(() if rank is None else (rank,))
            else:
                ranks.append(tuple(sorted(rank_of[m] for m in members if m in rank_of)))
        return Found(WholeFindings(references, ranks), len(ids), note)


def _relevant(single: SingleIds) -> SingleIds:
    """Return the IDs whose grade is above 0, and their grades."""
    grades = single.grades or ()
    kept = [(one, grade) for one, grade in zip(single.ids, grades, strict=True) if grade > 0]
    ids: tuple[Any, ...] = tuple([one for one, _ in kept])
    return SingleIds(ids, tuple([grade for _, grade in kept]))


def _note(ids: GivenIds) -> str:
    """Return how many contexts have no ID; raise `Unmeasured` where none has."""
    without = sum(found is None or found == "" for found in ids)
    if without == len(ids):
        which = (
            "the retrieved context" if without == 1 else f"none of the {without} retrieved contexts"
        )
        has = "has no ID" if without == 1 else "has an ID"
        raise Unmeasured(f"{which} {has}: return the id of each, or name its field with id_key=")
    return f"{without} of {len(ids)} retrieved contexts have no ID"
