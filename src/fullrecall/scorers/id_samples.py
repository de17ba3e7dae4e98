"""Samples of IDs alone in columns: lists of texts without an object for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fullrecall._util.dataframes import FrameRow
from fullrecall.measures.found import FoundColumns
from fullrecall.measures.lists import Integers, offsets_of
from fullrecall.samples.fields import SAMPLE_FIELDS
from fullrecall.samples.references import Reference, SingleIds
from fullrecall.samples.sample import Sample
from fullrecall.scorers.id_columns import IdTargets, distinct, listed, score_ids, with_results
from fullrecall.scorers.ids import IdRecall

CellReader: TypeAlias = Callable[[str, Any], Any]
"""Returns the value of a field that `Sample` takes for a cell, None for one that is not given."""

RETRIEVED, REFERENCES = "retrieved_context_ids", "reference_context_ids"
_TEXTS = frozenset({"id", "user_input", "group"})
_FLAGS = frozenset({"answerable", "judged"})
FIELDS = frozenset({RETRIEVED, REFERENCES, "forbidden_ids", "metadata"}) | _TEXTS | _FLAGS
"""The fields of samples that can be kept as columns."""


class IdLists(NamedTuple):
    """Lists of IDs: row i has `ids[offsets[i]:offsets[i + 1]]`, all texts or all whole numbers."""

    ids: Sequence[Any]
    offsets: Integers

    @classmethod
    def of(cls, lists: Sequence[Sequence[Any]], ids: Sequence[Any] | None = None) -> IdLists:
        """Return a copy of lists of IDs; `ids`, if given, has all their IDs in order."""
        all_ids = list(chain.from_iterable(lists)) if ids is None else ids
        return cls(all_ids, offsets_of(map(len, lists)))

    @property
    def names(self) -> Sequence[str]:
        """All IDs as texts."""
        return texts_of(self.ids)

    def of_row(self, row: int) -> Sequence[str]:
        """Return the IDs of one row as texts."""
        return texts_of(self.ids[self.offsets[row] : self.offsets[row + 1]])


def texts_of(ids: Sequence[Any]) -> Sequence[str]:
    """Return IDs as texts, which are all texts or all whole numbers."""
    return ids if not ids or type(ids[0]) is str else list(map(str, ids))


class IdSamples(Sequence[Sample]):
    """Samples of retrieved and reference IDs without an object for each row.

    - `references` are distinct within a row; `grades` and `sizes` are those of `IdTargets`.
    - `others`: the other fields, by name.
    - `odd`: the samples of rows that only the scorer itself can score; their lists are empty.
    """

    def __init__(
        self,
        retrieved: IdLists,
        targets: IdTargets,
        others: Mapping[str, Sequence[Any]],
        odd: Mapping[int, Sample],
    ) -> None:
        self.retrieved, self.others, self.odd = retrieved, others, odd
        self.references = IdLists.of(targets.ids)
        self.grades, self.sizes = targets.grades, targets.sizes

    def __len__(self) -> int:
        return len(self.retrieved.offsets) - 1

    def __getitem__(self, row: Any) -> Any:
        """Return the sample of a row."""
        if row in self.odd:
            return self.odd[row]
        return Sample(
            retrieved_context_ids=self.retrieved.of_row(row),
            reference_context_ids=self.references_of(row),
            **{name: column[row] for name, column in self.others.items()},
        )

    def references_of(self, row: int) -> Sequence[Any]:
        """Return the references of a row; IDs, where no row has a grade or an alternative."""
        names = self.references.of_row(row)
        if self.grades is None:
            return names
        first, last = self._target_offsets[row : row + 2]
        grades = self.grades[first:last].tolist()
        sizes = [1] * len(names) if self.sizes is None else self.sizes[first:last].tolist()
        bounds = pairwise(accumulate(sizes, initial=0))
        groups = (tuple(names[start:end]) for start, end in bounds)
        return list(map(Reference, groups, grades))

    @cached_property
    def _target_offsets(self) -> Integers:
        """Where the references of each row begin."""
        if self.sizes is None:
            return self.references.offsets
        return np.searchsorted(offsets_of(self.sizes), self.references.offsets)

    def cells(self, name: str) -> Sequence[Any]:
        """Return the "id", "group", "user_input", or "metadata" of each sample."""
        cells = self.others.get(name) or [None] * len(self)
        return [cell or {} for cell in cells] if name == "metadata" else cells

    @cached_property
    def filled(self) -> frozenset[str]:
        """The fields that any sample may have."""
        given = (name for name, cells in self.others.items() if any(map(_is_given, cells)))
        return frozenset((RETRIEVED, REFERENCES, *given))

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> IdSamples | None:
        """Return samples of IDs alone as columns; None if any sample has more than IDs."""
        if isinstance(samples, IdSamples):
            return samples
        retrieved: list[Any] = [sample.retrieved_context_ids for sample in samples]
        references: list[Any] = [_references(sample) for sample in samples]
        is_whole = None not in retrieved and None not in references and all(map(all, retrieved))
        if not is_whole or not all(vars(sample).keys() <= _KEPT for sample in samples):
            return None
        others = {
            name: [getattr(sample, name) for sample in samples]
            for name in FIELDS - {RETRIEVED, REFERENCES}
        }
        return cls(IdLists.of(retrieved), IdTargets.of(references), others, {})


class ScoredIds(NamedTuple):
    """Samples with their results of `IdRecall`, and the notes of rows that have one."""

    samples: Sequence[Sample]
    columns: FoundColumns
    notes: Mapping[int, str]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> ScoredIds:
        """Score samples as columns, and those that need the scorer itself one by one."""
        retrieved: list[Any] = [sample.retrieved_context_ids for sample in samples]
        references: list[Any] = [_references(sample) for sample in samples]
        odd = {
            row: sample
            for row, (sample, ids) in enumerate(zip(samples, retrieved, strict=True))
            if ids is None
            or references[row] is None
            or sample.answerable is False
            or sample.retrieval is not None  # a failed call, or several lists
            or not all(ids)
        }
        for row in odd:
            retrieved[row], references[row] = (), SingleIds(())
        return cls._scored(samples, retrieved, IdTargets.of(references), odd)

    @classmethod
    def of_cells(
        cls, cells: Mapping[str, Sequence[Any]], read: CellReader | None = None
    ) -> ScoredIds | None:
        """Score rows by the cells of their fields; None if a row is not a sample of IDs.

        Without `read`, accepts only texts and lists of texts or of whole numbers.
        """
        if not {RETRIEVED, REFERENCES} <= cells.keys() <= FIELDS:
            return None
        plain = {name: _plain(name, column) for name, column in cells.items()}
        if None not in plain.values():
            retrieved, references = plain.pop(RETRIEVED), plain.pop(REFERENCES)
            if retrieved.are_numbers is not references.are_numbers:  # 1 is the ID "1"
                retrieved, references = retrieved.as_texts, references.as_texts
            targets = IdTargets(distinct(references.lists))
            samples = IdSamples(IdLists.of(*retrieved), targets, plain, {})
            return cls._scored(samples, retrieved.lists, targets, {})
        if read is None:
            return None
        try:
            fields = {name: _fields(name, cells[name], own, read) for name, own in plain.items()}
            return cls._of_fields(fields)
        except ValueError:  # raised again for its row
            return None

    @classmethod
    def _of_fields(cls, fields: dict[str, list[Any]]) -> ScoredIds | None:
        """Score rows by fields in the form that `Sample` keeps; None without a needed field."""
        retrieved, references = fields.pop(RETRIEVED), fields.pop(REFERENCES)
        answerable = fields.get("answerable", [None] * len(retrieved))
        odd = {}
        for row, (ids, wanted) in enumerate(zip(retrieved, references, strict=True)):
            if ids is None or wanted is None or answerable[row] is False or not all(ids):
                odd[row] = Sample(
                    retrieved_context_ids=ids,
                    reference_context_ids=wanted and listed(wanted),
                    **{name: column[row] for name, column in fields.items()},
                )
                retrieved[row], references[row] = (), SingleIds(())
        targets = IdTargets.of(references)
        forbidden = zip(fields.get("forbidden_ids", ()), targets.ids, strict=False)
        if any(ids and not set(ids).isdisjoint(names) for ids, names in forbidden):
            return None
        samples = IdSamples(IdLists.of(retrieved), targets, fields, odd)
        return cls._scored(samples, retrieved, targets, odd)

    @classmethod
    def _scored(
        cls,
        samples: Sequence[Sample],
        retrieved: Sequence[Sequence[str]],
        targets: IdTargets,
        odd: Mapping[int, Sample],
    ) -> ScoredIds:
        results = {row: IdRecall().score(sample) for row, sample in odd.items()}
        columns = with_results(score_ids(retrieved, targets), results)
        return cls(samples, columns, {row: result.note for row, result in results.items()})


class _PlainLists(NamedTuple):
    """Lists of texts or of whole numbers, and all their items."""

    lists: Sequence[Sequence[Any]]
    ids: Sequence[Any]

    @property
    def are_numbers(self) -> bool:
        """Whether the items are whole numbers."""
        return len(self.ids) > 0 and type(self.ids[0]) is int

    @property
    def as_texts(self) -> _PlainLists:
        """The same lists with texts as items."""
        names, ends = texts_of(self.ids), accumulate(map(len, self.lists), initial=0)
        return _PlainLists([names[start:end] for start, end in pairwise(ends)], names)


def _is_given(cell: object) -> bool:
    return cell is not None and cell != {}


def _references(sample: Sample) -> SingleIds | tuple[Reference, ...] | None:
    return sample.reference_context_ids if sample.single_ids is None else sample.single_ids


def _plain(name: str, column: Sequence[Any]) -> Any:
    """Return a column's values in a field's form; None unless all of them have that form."""
    if name in (RETRIEVED, REFERENCES):
        return _plain_lists(column)
    if name == "answerable" and False in column:  # only the scorer itself reads it
        return None
    kind = _TEXT if name in _TEXTS else _FLAG if name in _FLAGS else _NOTHING
    return column if kind.issuperset(map(type, column)) else None


_NOTHING = frozenset({type(None)})
_TEXT, _FLAG = _NOTHING | {str}, _NOTHING | {bool}
_LISTS = frozenset({list, tuple})
_SEPARATORS = ("; ", " | ")
"""Between several IDs in one text."""

_MOST_DIGITS = 10**100
"""Python converts no number of thousands of digits to text: its sample refuses such an ID."""


def _plain_lists(column: Sequence[Any]) -> _PlainLists | None:
    """Return lists of IDs as texts; None for other forms, empty IDs, and several in a text."""
    if not _LISTS.issuperset(map(type, column)):
        return None
    ids = tuple(chain.from_iterable(column))  # a list would reserve room for more
    try:
        text = "".join(ids)  # the fastest check that all are texts
    except TypeError:
        if set(map(type, ids)) != {int} or max(ids) >= _MOST_DIGITS or min(ids) <= -_MOST_DIGITS:
            return None
        return _PlainLists(column, ids)
    is_plain = all(ids) and not any(each in text for each in _SEPARATORS)
    return _PlainLists(column, ids) if is_plain else None


def _fields(name: str, cells: Sequence[Any], plain: Any, read: CellReader) -> list[Any]:
    """Return a field's values from its cells; raise `ValueError` for an invalid cell."""
    if plain is None:
        values = (read(name, cell) for cell in cells)
        convert = SAMPLE_FIELDS[name].convert
        return [None if value is None else convert(value) for value in values]
    if name == REFERENCES:
        return [SingleIds(tuple(row)) for row in distinct(plain.as_texts.lists)]
    return list(plain.as_texts.lists if name == RETRIEVED else plain)


_KEPT = FIELDS | {"single_ids"}


def cells_of(rows: Sequence[Any], columns: Iterable[str]) -> dict[str, list[Any]]:
    """Return the cells of the columns, those of several frames joined; None for a missing cell."""
    if type(rows[0]) is not FrameRow:
        return {column: [row.get(column) for row in rows] for column in columns}
    cells: dict[str, list[Any]] = {column: [] for column in columns}
    done = 0
    while done < len(rows):
        part, start = rows[done].columns, rows[done].index
        end = start + len(rows) - done  # or the end of the part
        for column, joined in cells.items():
            joined.extend(part[column][start:end])
        done = len(next(iter(cells.values())))
    return cells
