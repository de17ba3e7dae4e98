"""Samples of IDs alone in columns: lists of texts without an object for each row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from fullrecall.measures.lists import Integers, offsets_of
from fullrecall.samples.sample import Sample, has_only_ids


class IdLists(NamedTuple):
    """Lists of IDs: row i has `names[offsets[i]:offsets[i + 1]]`."""

    names: Sequence[str]
    offsets: Integers

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]], names: Sequence[str] | None = None) -> IdLists:
        """Return a copy of lists of IDs; `names`, if given, has all their IDs in order."""
        all_names = list(chain.from_iterable(lists)) if names is None else names
        return cls(all_names, offsets_of(map(len, lists)))

    def of_row(self, row: int) -> Sequence[str]:
        """Return the IDs of one row."""
        return self.names[self.offsets[row] : self.offsets[row + 1]]


class IdSamples(Sequence[Sample]):
    """Samples of retrieved and reference IDs without an object for each row.

    `references` are distinct within a row. `questions` and `groups` may be empty: no sample has
    any.
    """

    def __init__(
        self,
        retrieved: IdLists,
        references: IdLists,
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

    def cells(self, name: str) -> Sequence[str | None]:
        """Return the "id", "group", or "user_input" of each sample."""
        columns = {"id": self.ids, "group": self.groups, "user_input": self.questions}
        return columns[name] or [None] * len(self)

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> IdSamples | None:
        """Return samples that have only IDs as columns; None if any sample has more."""
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
            IdLists.of(retrieved),  # type: ignore[arg-type] # no ID is missing
            IdLists.of(references),
            [sample.id for sample in samples],
            [sample.user_input for sample in samples],
            [sample.group for sample in samples],
        )
