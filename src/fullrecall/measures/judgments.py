"""Relevance judgments: which retrieved contexts were judged, and their grades."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fullrecall.measures.lists import Lists
from fullrecall.samples.sample import Sample

_PLACED = np.dtype([("position", np.int32), ("grade", np.float64)])


@dataclass(frozen=True)
class Judgments:
    """The judged contexts of some rows, by their reference IDs.

    - `known`: whether a row has judgments by ID.
    - `placed`: the 1-based position and the grade of each judged context, in order; a document that
      was retrieved twice has its first position.
    - `grades`: the grades of all judged documents of a row, retrieved or not.
    """

    known: NDArray[np.bool_]
    placed: Lists
    grades: Lists

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Judgments:
        """Return the judgments of samples."""
        known, placed, grades = [], [], []
        for sample in samples:
            references = sample.reference_context_ids
            grade_of = {name: grade for names, grade in references or () for name in names}
            known.append(references is not None)
            grades.append(list(grade_of.values()))
            ids = enumerate(sample.retrieved_context_ids or (), start=1)
            # `pop` removes each document when it is placed, so that no second copy is placed.
            placed.append([(n, grade_of.pop(name)) for n, name in ids if name in grade_of])
        lists = Lists.of(placed, _PLACED), Lists.of(grades, np.float64)
        return cls(np.array(known, np.bool_), *lists)

    @property
    def positions(self) -> Lists:
        """The positions of the judged contexts."""
        return Lists(self.placed.values["position"], self.placed.offsets)

    def irrelevant(self, min_grade: float | None) -> tuple[Lists, Lists]:
        """Return the positions of irrelevant contexts, and all irrelevant grades, retrieved or not.

        Grades from 0 to below `min_grade` are irrelevant; for None, only grade 0. As in trec_eval,
        grades below 0 are not judgments.
        """
        placed, all_grades = self.placed.values["grade"], self.grades.values
        return self.positions.kept(_is_irrelevant(placed, min_grade)), self.grades.kept(
            _is_irrelevant(all_grades, min_grade)
        )


def _is_irrelevant(grades: NDArray[np.float64], min_grade: float | None) -> NDArray[np.bool_]:
    low: NDArray[np.bool_] = grades <= 0 if min_grade is None else grades < min_grade
    return low & (grades >= 0)
