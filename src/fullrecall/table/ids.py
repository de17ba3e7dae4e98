"""Document IDs in columns: lists of texts without an object for a row, and where they are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fullrecall.sample import Sample, has_only_ids
from fullrecall.table.found import FoundColumns
from fullrecall.table.lists import Floats, Integers, Lists, narrow, offsets_of
from fullrecall.table.part import SCORED, UNDEFINED, MemoryPart, Results, ScoreColumns

_FEW = 400
"""Pairs of a retrieved and a reference ID in a row: with more, a dictionary is faster."""


class Names(NamedTuple):
    """Lists of IDs: row i has `names[offsets[i]:offsets[i + 1]]`."""

    names: Sequence[str]
    offsets: Integers

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]], names: Sequence[str] | None = None) -> Names:
        """Return a copy of lists of IDs, of which `names` has all, one after another."""
        all_names = list(chain.from_iterable(lists)) if names is None else names
        return cls(all_names, offsets_of(map(len, lists)))

    def of_row(self, row: int) -> Sequence[str]:
        """Return the IDs of one row."""
        return self.names[self.offsets[row] : self.offsets[row + 1]]


class IdSamples(Sequence[Sample]):
    """Samples of retrieved and reference IDs without an object for a row.

    `references` are distinct within a row. `questions` and `groups` may be empty: no sample has
    any.
    """

    def __init__(
        self,
        retrieved: Names,
        references: Names,
        ids: Sequence[str | None],
        questions: Sequence[str | None] = (),
        groups: Sequence[str | None] = (),
    ) -> None:
        self.retrieved = retrieved
        self.references = references
        self.ids = ids
        self.questions = questions
        self.groups = groups

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: Any) -> Any:
        """Return the sample of a row."""
        return Sample(
            id=self.ids[row],
            user_input=self.questions[row] if self.questions else None,
            retrieved_context_ids=self.retrieved.of_row(row),
            reference_context_ids=self.references.of_row(row),
            group=self.groups[row] if self.groups else None,
        )

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> IdSamples | None:
        """Return samples that have nothing but IDs as columns; None where one has more."""
        if isinstance(samples, IdSamples):
            return samples
        retrieved, references = [], []
        for sample in samples:
            ids, single = sample.retrieved_context_ids, sample.single_ids
            if ids is None or single is None or single.grades is not None:
                return None
            if not all(ids) or not has_only_ids(sample):
                return None
            retrieved.append(ids)
            references.append(single.ids)
        return cls(
            Names.of(retrieved),  # type: ignore[arg-type] # no ID is missing
            Names.of(references),
            [sample.id for sample in samples],
            [sample.user_input for sample in samples],
            [sample.group for sample in samples],
        )


class IdPart(MemoryPart):
    """Rows of IDs in memory, scored by ID alone."""

    has_texts = forbids = False

    def __init__(
        self, samples: IdSamples, scores: Sequence[ScoreColumns], kept: Sequence[Results]
    ) -> None:
        super().__init__(samples, scores, kept)
        self._samples = samples
        self.ids = samples.ids

    @property
    def groups(self) -> Sequence[str | None]:
        """The group that each sample names."""
        return self._samples.groups or [None] * len(self)

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        return self._samples.questions or [None] * len(self)

    def retrievals(self) -> Counter[str]:
        """Return no united and no failed retrievals: none was recorded."""
        return Counter()

    def target_names(self) -> Sequence[str]:
        """Return the reference IDs of all rows."""
        return self._samples.references.names


def distinct(references: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Return lists of references, each once within its row, the first of its kind."""
    return [
        row if len(row) == 1 or len(set(row)) == len(row) else list(dict.fromkeys(row))
        for row in references
    ]


def score_ids(
    retrieved: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    grades: Floats | None = None,
) -> ScoreColumns:
    """Return what `IdRecall` scores: where references are found, and which rows have any.

    References are distinct within a row, and no ID is blank; `grades` has one for each of all
    references, of which those above 0 count.
    """
    positions = Lists(first_ranks(retrieved, references), offsets_of(map(len, references)))
    if grades is not None:
        relevant = grades > 0
        positions, grades = positions.kept(relevant), grades[relevant]
        grades = None if (grades == 1.0).all() else grades
    lengths = np.fromiter(map(len, retrieved), np.int64, len(retrieved))
    outcomes = FoundColumns(narrow(lengths), positions, grade=grades)
    # Not `outcomes.targets`, which would be kept: 8 bytes a row.
    status = np.where(positions.counts > 0, SCORED, UNDEFINED).astype(np.int8)
    return ScoreColumns(status, outcomes)


def first_ranks(
    retrieved: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> NDArray[np.int32]:
    """Return the 1-based position of each reference among its row's retrieved IDs, 0 for none."""
    longest = max(map(len, retrieved), default=0) * max(map(len, references), default=0)
    pairs = zip(retrieved, references, strict=True)
    if longest <= _FEW:
        positions = [
            row.index(name) + 1 if name in row else 0 for row, names in pairs for name in names
        ]
    else:
        positions = []
        for row, names in pairs:
            positions += _first_ranks_of(row, names)
    return np.array(positions, np.int32)


def _first_ranks_of(row: Sequence[str], names: Sequence[str]) -> Iterable[int]:
    """Return the 1-based position of each name where it is first in a row, 0 where it is not."""
    rank_of = dict.fromkeys(names, 0)
    # Most of a row is not looked for, and is passed over without a step of Python. The iterator
    # of a list or a tuple knows how much is left, and so where it stands.
    size, rest = len(row), iter(row)
    for name in filter(rank_of.__contains__, rest):
        if not rank_of[name]:
            rank_of[name] = size - length_hint(rest)
    return rank_of.values()
