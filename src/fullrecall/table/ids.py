"""Document IDs in columns: each distinct text once, lists as numbers, ranks by array arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fullrecall.findings import Target
from fullrecall.sample import Sample
from fullrecall.table.found import FoundColumns
from fullrecall.table.lists import Floats, Integers, Lists, offsets_of
from fullrecall.table.part import SCORED, UNDEFINED, ScoreColumns, hash_sums, target_hashes

_MOST_CELLS = 4_000_000
"""Pairs of a retrieved and a reference ID that are compared at once; more are sorted instead."""


class Vocabulary(dict[str, int]):
    """The code of each ID; an ID that is new gets the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        """The IDs by their codes."""
        self._hashes = np.zeros(0, np.uint64)

    def __missing__(self, name: str) -> int:
        code = self[name] = len(self.names)
        self.names.append(name)
        return code

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """The hash of each ID as a target, by its code."""
        if len(self._hashes) < len(self.names):
            new = [Target((name,)) for name in self.names[len(self._hashes) :]]
            self._hashes = np.concatenate([self._hashes, target_hashes(new)])
        return self._hashes

    def lists(self, lists: Sequence[Sequence[str]]) -> Lists:
        """Return lists of IDs as lists of codes."""
        codes = map(self.__getitem__, chain.from_iterable(lists))
        offsets = offsets_of(map(len, lists))
        return Lists(np.fromiter(codes, np.int32, int(offsets[-1])), offsets)


@dataclass(frozen=True)
class IdSamples:
    """Samples of retrieved and reference IDs without an object for a row.

    `references` are distinct within a row. IDs, questions, and groups are those of the
    samples; `named_questions` and `named_groups` may be empty: no sample has any.
    """

    vocabulary: Vocabulary
    retrieved: Lists
    references: Lists
    ids: Sequence[str | None]
    named_questions: Sequence[str | None]
    named_groups: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> Sample:
        names = self.vocabulary.names
        return Sample(
            id=self.ids[row],
            user_input=self.named_questions[row] if self.named_questions else None,
            retrieved_context_ids=[names[code] for code in self.retrieved.of_row(row)],
            reference_context_ids=[names[code] for code in self.references.of_row(row)],
            group=self.named_groups[row] if self.named_groups else None,
        )

    def taken(self, rows: Integers) -> IdSamples:
        """Return the samples of these rows."""
        numbers = rows.tolist()
        return IdSamples(
            self.vocabulary,
            self.retrieved.taken(rows),
            self.references.taken(rows),
            [self.ids[row] for row in numbers],
            [self.named_questions[row] for row in numbers] if self.named_questions else (),
            [self.named_groups[row] for row in numbers] if self.named_groups else (),
        )

    @property
    def groups(self) -> Sequence[str | None]:
        """The group of each sample."""
        return self.named_groups or [None] * len(self)

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        return self.named_questions or [None] * len(self)

    @property
    def has_texts(self) -> bool:
        """Whether any sample may have contexts beside their IDs."""
        return False

    def reference_digests(self) -> NDArray[np.uint64]:
        """Return a number for the reference IDs of each row, which are its targets."""
        return hash_sums(self.vocabulary.hashes[self.references.values], self.references.offsets)

    def retrievals(self) -> Counter[str]:
        """Return no united and no failed retrievals: none was recorded."""
        return Counter()


@dataclass(frozen=True)
class IdColumns:
    """IDs of samples as codes: those retrieved, and the references, each once in its row."""

    retrieved: Lists
    references: Lists
    grades: Floats | None = None

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        retrieved: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        grades: Floats | None = None,
    ) -> IdColumns:
        """Return the columns of lists of IDs, none of which is blank; `grades` of all references."""
        listed = vocabulary.lists(references)
        first = distinct(listed)
        return cls(
            vocabulary.lists(retrieved),
            listed.kept(first),
            None if grades is None else grades[first],
        )

    @property
    def scores(self) -> ScoreColumns:
        """Where the references are found, and which rows have any: what `IdRecall` scores."""
        relevant = self.references
        grades = self.grades
        if grades is not None:
            relevant = relevant.kept(grades > 0)
            grades = grades[grades > 0]
        places = first_places(self.retrieved, relevant)
        found = FoundColumns(
            self.retrieved.counts,
            Lists(places, relevant.offsets),
            grade=None if grades is None or (grades == 1.0).all() else grades,
        )
        status = np.where(found.targets > 0, SCORED, UNDEFINED).astype(np.int8)
        return ScoreColumns(status, found)


def distinct(references: Lists) -> NDArray[np.bool_]:
    """Return which references of each row are the first of their kind there."""
    values = references.values
    width = int(values.max(initial=0)) + 1
    keys = references.rows * width + values
    first = np.unique(keys, return_index=True)[1]
    mask = np.zeros(len(values), np.bool_)
    mask[first] = True
    return mask


def first_places(retrieved: Lists, references: Lists) -> NDArray[np.int32]:
    """Return the 1-based place of each reference among its row's retrieved IDs, 0 if it has none."""
    places = np.zeros(len(references.values), np.int32)
    if not len(retrieved.values) or not len(references.values):
        return places
    rows, counts = references.rows, retrieved.counts
    width = int(counts.max())
    step = max(1, _MOST_CELLS // width)
    if width == int(counts.min()) and len(places) <= step:
        same = retrieved.values.reshape(-1, width)[rows] == references.values[:, None]
        hits = same.any(axis=1)
        places[hits] = same[hits].argmax(axis=1) + 1
        return places
    size = int(max(retrieved.values.max(), references.values.max())) + 1
    known, first = np.unique(retrieved.rows * size + retrieved.values, return_index=True)
    keys = rows * size + references.values
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    hits = known[at] == keys
    places[hits] = first[at[hits]] - retrieved.offsets[rows[hits]] + 1
    return places
