"""Recall by document ID."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from fullrecall.measures.findings import CreditStep, Finding, Target
from fullrecall.samples.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    first_ranks,
    require,
    require_retrieval,
)

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns


@dataclass(frozen=True, kw_only=True)
class IdRecall(DeterministicScorer):
    """How many of the reference IDs did the retriever return?

    A target is a reference ID, or an any-of group of IDs, whose grade is above 0; it is found at
    the first rank that carries one of its IDs. IDs are compared as `str`. A repeated ID keeps
    its rank but counts once. `Recall(min_grade=2)` counts the targets of a grade or more,
    `Recall(weight="grade")` weighs them.
    """

    kind: ClassVar[str] = "id_recall"
    labels: ClassVar[Collection[str]] = ("reference_context_ids",)

    def _find(self, sample: Sample) -> Found:
        require_retrieval(sample)
        references = require(sample.reference_context_ids, "reference_context_ids")
        ids = sample.retrieved_context_ids or ()
        rank_of = first_ranks(ids)
        findings = [
            _finding(members, grade, sorted(rank_of[name] for name in members if name in rank_of))
            for members, grade in references
            if grade > 0
        ]
        return Found(findings, len(ids), _missing_ids_note(ids) if None in rank_of else "")


def _finding(members: tuple[str, ...], grade: float, ranks: Sequence[int]) -> Finding:
    steps = (CreditStep(ranks[0], 1.0),) if ranks else ()
    return Finding(Target(members, grade), steps, tuple(ranks))


def _missing_ids_note(ids: Sequence[str | None]) -> str:
    """Return how many contexts have no ID; raise `Unmeasured` where none has."""
    without = ids.count(None)
    if without == len(ids):
        raise Unmeasured(
            f"none of {without} retrieved contexts has an ID: return the id of each, or name its "
            "field with id_key="
        )
    return f"{without} of {len(ids)} retrieved contexts have no ID"


def id_columns(samples: Sequence[Sample]) -> FoundColumns | None:
    """Return what `IdRecall` scores as columns; None where a row has to be looked at by itself."""
    import numpy as np

    from fullrecall.scorers.id_columns import score_ids

    # A record may hold a failed call or several lists: only the scorer reads it.
    if any(each.retrieval is not None or each.answerable is False for each in samples):
        return None
    retrieved = [ids for sample in samples if (ids := sample.retrieved_context_ids) is not None]
    single = [names for sample in samples if (names := sample.single_ids) is not None]
    if len(retrieved) < len(samples) or len(single) < len(samples):
        return None
    lists = [[name for name in ids if name is not None] for ids in retrieved]
    # A context without an ID keeps its rank, which a column of the other IDs would lose.
    if list(map(len, lists)) != list(map(len, retrieved)):
        return None
    grades = None
    if any(names.grades is not None for names in single):
        grades = np.fromiter(
            chain.from_iterable(w.grades or [1.0] * len(w.ids) for w in single), np.float64
        )
    return score_ids(lists, [names.ids for names in single], grades)
