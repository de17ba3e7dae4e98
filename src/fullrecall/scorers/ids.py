"""Recall by document ID."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, ClassVar

from fullrecall.findings import Finding, Step, Target
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    is_special,
    require,
    require_retrieval,
)
from fullrecall.table.found_row import FoundRow, LateFindings, first_ranks_of

if TYPE_CHECKING:
    from fullrecall.table.part import ScoreColumns


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
        single = sample.single_ids
        if single is None:
            return self._find_any(sample)
        ids, (names, grades) = sample.retrieved_context_ids or (), single
        place_of = first_ranks_of(ids, (None, *names))
        note = _note(ids) if place_of[None] else ""
        first_ranks = [place_of[name] for name in names]
        if grades is not None and min(grades, default=1.0) <= 0:
            relevant = [grade > 0 for grade in grades]
            names = tuple(compress(names, relevant))
            first_ranks = list(compress(first_ranks, relevant))
            grades = tuple(compress(grades, relevant))

        def findings() -> list[Finding]:
            return [
                _finding((name,), grade, (rank,) if rank else ())
                for name, grade, rank in zip(
                    names, grades or repeat(1.0), first_ranks, strict=False
                )
            ]

        row = FoundRow(len(ids), first_ranks, grade=grades)
        return Found(LateFindings(row, findings), len(ids), note)

    def _find_any(self, sample: Sample) -> Found:
        """Return what was found of any-of groups of IDs."""
        references = require(sample.reference_context_ids, "reference_context_ids")
        ids = sample.retrieved_context_ids or ()
        place_of = first_ranks_of(ids, (None, *(name for each in references for name in each[0])))
        note = _note(ids) if place_of[None] else ""
        findings = [
            _finding(members, grade, tuple(sorted({place_of[name] for name in members} - {0})))
            for members, grade in references
            if grade > 0
        ]
        return Found(findings, len(ids), note)


def _finding(members: tuple[str, ...], grade: float, ranks: tuple[int, ...]) -> Finding:
    steps = (Step(ranks[0], 1.0),) if ranks else ()
    return Finding(Target(members, grade), steps, ranks)


def _note(ids: Sequence[str | None]) -> str:
    """Return how many contexts have no ID; raise `Unmeasured` where none has."""
    without = ids.count(None)
    if without == len(ids):
        which = (
            "the retrieved context" if without == 1 else f"none of the {without} retrieved contexts"
        )
        has = "has no ID" if without == 1 else "has an ID"
        raise Unmeasured(f"{which} {has}: return the id of each, or name its field with id_key=")
    return f"{without} of {len(ids)} retrieved contexts have no ID"


def id_columns(samples: Sequence[Sample]) -> ScoreColumns | None:
    """Return what `IdRecall` scores as columns; None where a row has to be looked at by itself."""
    import numpy as np

    from fullrecall.table.ids import score_ids

    if any(map(is_special, samples)):
        return None
    retrieved = [ids for sample in samples if (ids := sample.retrieved_context_ids) is not None]
    single = [names for sample in samples if (names := sample.single_ids) is not None]
    if len(retrieved) < len(samples) or len(single) < len(samples):
        return None
    lists = [[name for name in ids if name is not None] for ids in retrieved]
    if list(map(len, lists)) != list(map(len, retrieved)):
        return None
    grades = None
    if any(names.grades is not None for names in single):
        grades = np.fromiter(
            chain.from_iterable(w.grades or [1.0] * len(w.ids) for w in single), np.float64
        )
    return score_ids(lists, [names.ids for names in single], grades)
