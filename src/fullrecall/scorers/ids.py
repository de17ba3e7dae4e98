"""Recall by document ID."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, ClassVar

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
from fullrecall.table.found_row import FoundRow, LateFindings, first_places_of

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

    def labels_read(self, sample: Sample) -> Collection[str]:  # noqa: ARG002 - the same for all
        """Return the fields that this score depends on; see `FindingScorer.labels_read`."""
        return ("reference_context_ids",)

    def _find(self, sample: Sample) -> Found:
        require_retrieval(sample)
        single = sample.single_ids
        if single is None:
            return self._find_any(sample)
        ids, (wanted, grades) = sample.listed_ids or (), single
        if ids and wanted and (type(ids[0]) is int) is not (type(wanted[0]) is int):
            ids, wanted = sample.retrieved_context_ids or (), tuple(single.names)
        place_of = first_places_of(ids, (None, "", *wanted))
        note = _note(ids) if place_of[None] or place_of[""] else ""
        places = [place_of[name] for name in wanted]
        if grades is not None and min(grades, default=1.0) <= 0:
            relevant = [grade > 0 for grade in grades]
            wanted = tuple(compress(wanted, relevant))  # type: ignore[assignment]
            places = list(compress(places, relevant))
            grades = tuple(compress(grades, relevant))

        def findings() -> list[Finding]:
            return [
                _finding((f"{name}",), grade, (place,) if place else ())
                for name, grade, place in zip(wanted, grades or repeat(1.0), places, strict=False)
            ]

        row = FoundRow(len(ids), places, grade=grades)
        return Found(LateFindings(row, findings), len(ids), note)

    def _find_any(self, sample: Sample) -> Found:
        """Return what was found of any-of groups of IDs."""
        references = require(sample.reference_context_ids, "reference_context_ids")
        ids = sample.retrieved_context_ids or ()
        place_of = first_places_of(ids, (None, *(name for each in references for name in each[0])))
        note = _note(ids) if place_of[None] else ""
        findings = [
            _finding(members, grade, tuple(sorted({place_of[name] for name in members} - {0})))
            for members, grade in references
            if grade > 0
        ]
        return Found(findings, len(ids), note)


def _finding(members: tuple[str, ...], grade: float, places: tuple[int, ...]) -> Finding:
    steps = (Step(places[0], 1.0),) if places else ()
    return Finding(Target(members, grade), steps, places)


def _note(ids: Sequence[str | int | None]) -> str:
    """Return how many contexts have no ID; raise `Unmeasured` where none has."""
    without = sum(name is None or name == "" for name in ids)
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
    retrieved = [ids for sample in samples if (ids := sample.listed_ids) is not None]
    single = [wanted for sample in samples if (wanted := sample.single_ids) is not None]
    if len(retrieved) < len(samples) or len(single) < len(samples):
        return None
    lists = [_as_texts(ids) for ids in retrieved]
    if not all(chain.from_iterable(lists)):
        return None
    grades = None
    if any(wanted.grades is not None for wanted in single):
        grades = np.fromiter(
            chain.from_iterable(w.grades or [1.0] * len(w.ids) for w in single), np.float64
        )
    return score_ids(lists, [_as_texts(wanted.ids) for wanted in single], grades)


def _as_texts(ids: Sequence[Any]) -> Sequence[str]:
    return [str(number) for number in ids] if ids and type(ids[0]) is int else ids
