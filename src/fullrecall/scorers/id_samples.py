"""Samples with the IDs of contexts but no texts, stored as columns instead of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from fullrecall._util.dataframes import FrameRow, joined_cells
from fullrecall.measures.found import FoundColumns
from fullrecall.measures.lists import Floats, Integers, offsets_of
from fullrecall.samples.fields import SAMPLE_FIELDS
from fullrecall.samples.references import Reference, SingleIds
from fullrecall.samples.sample import Sample
from fullrecall.scorers.id_columns import IdTargets, listed, score_ids, with_results
from fullrecall.scorers.id_lists import FoundIds, IdLists, first_ranks, plain_lists
from fullrecall.scorers.ids import IdRecall

if TYPE_CHECKING:
    from fullrecall.scorers.arrow_ids import ArrowIds

CellReader: TypeAlias = Callable[[str, Any], Any]
"""Converts a cell to the value that `Sample` takes for a field; returns None for a missing cell."""

RETRIEVED, REFERENCES = "retrieved_context_ids", "reference_context_ids"
_TEXTS = frozenset({"id", "user_input", "group"})
_FLAGS = frozenset({"answerable", "judged"})
FIELDS = frozenset({RETRIEVED, REFERENCES, "forbidden_ids", "metadata"}) | _TEXTS | _FLAGS
"""The fields of samples that can be kept as columns."""


@dataclass(eq=False, repr=False)
class IdSamples(Sequence[Sample]):
    """Samples with retrieved and reference IDs, as columns; reading a row creates a `Sample`.

    - `references` are distinct within a row. `grades` and `sizes` are described at `IdTargets`.
    - `other_fields`: the other fields, by name.
    - `odd`: the samples, by row, that `IdRecall` must score one by one, such as those of failed
      calls; their rows in the columns have empty lists.
    """

    retrieved: IdLists | ArrowIds
    references: IdLists | ArrowIds
    other_fields: Mapping[str, Sequence[Any]]
    odd: Mapping[int, Sample] = field(default_factory=dict)
    grades: Floats | None = None
    sizes: Integers | None = None

    def __len__(self) -> int:
        return len(self.retrieved.offsets) - 1

    def __getitem__(self, row: Any) -> Any:
        """Return the sample of a row."""
        if row in self.odd:
            return self.odd[row]
        return Sample(
            retrieved_context_ids=self.retrieved.of_row(row),
            reference_context_ids=self.references_of(row),
            **{name: column[row] for name, column in self.other_fields.items()},
        )

    def references_of(self, row: int) -> Sequence[Any]:
        """Return the references of a row; as plain IDs if no row has grades or alternatives."""
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
        """The number of references before each row; the last item is the number of all of them."""
        if self.sizes is None:
            return self.references.offsets
        return np.searchsorted(offsets_of(self.sizes), self.references.offsets)

    def cells(self, name: str) -> Sequence[Any]:
        """Return the "id", "group", "user_input", or "metadata" of each sample."""
        cells = self.other_fields.get(name) or [None] * len(self)
        return [cell or {} for cell in cells] if name == "metadata" else cells

    @cached_property
    def filled(self) -> frozenset[str]:
        """The fields in which at least one sample may have a value."""
        given = (name for name, cells in self.other_fields.items() if any(map(_is_given, cells)))
        return frozenset((RETRIEVED, REFERENCES, *given))

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> IdSamples | None:
        """Return samples as columns; None if a sample has fields not in `FIELDS`, or lacks IDs."""
        if isinstance(samples, IdSamples):
            return samples
        retrieved: list[Any] = [sample.retrieved_context_ids for sample in samples]
        references: list[Any] = [_references(sample) for sample in samples]
        is_whole = None not in retrieved and None not in references and all(map(all, retrieved))
        if not is_whole or not all(vars(sample).keys() <= _KEPT for sample in samples):
            return None
        other_fields = {
            name: [getattr(sample, name) for sample in samples]
            for name in FIELDS - {RETRIEVED, REFERENCES}
        }
        names, grades, sizes = IdTargets.of(references)
        lists = IdLists.of(retrieved), IdLists.of(names)
        return cls(*lists, other_fields, grades=grades, sizes=sizes)


class ScoredIds(NamedTuple):
    """Samples, the results of `IdRecall` as columns, and the notes of rows scored one by one."""

    samples: Sequence[Sample]
    columns: FoundColumns
    notes: Mapping[int, str]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> ScoredIds:
        """Score samples as columns, except samples that must be scored one by one."""
        retrieved: list[Any] = [sample.retrieved_context_ids for sample in samples]
        references: list[Any] = [_references(sample) for sample in samples]
        odd = {
            row: sample
            for row, (sample, ids) in enumerate(zip(samples, retrieved, strict=True))
            if ids is None
            or references[row] is None
            or sample.answerable is False
            or sample.retrieval is not None  # the record may have an error, or several lists
        }
        for row in odd:
            retrieved[row], references[row] = (), SingleIds(())
        targets = IdTargets.of(references)
        first, blank, _ = first_ranks(retrieved, targets.ids)
        odd |= {row: samples[row] for row in blank}
        return cls._scored(samples, first, retrieved, targets, odd)

    @classmethod
    def of_cells(
        cls, cells: Mapping[str, Sequence[Any]], read: CellReader | None = None
    ) -> ScoredIds | None:
        """Score rows from the cells of their fields.

        Returns None if a column is not one of `FIELDS`, if one of the two columns of IDs is
        missing, if a cell is invalid, or if a row forbids one of its references. Without `read`,
        accepts only texts and lists of texts or of whole numbers.
        """
        if not {RETRIEVED, REFERENCES} <= cells.keys() <= FIELDS:
            return None
        other_fields = {name: cells[name] for name in cells if name not in (RETRIEVED, REFERENCES)}
        if all(_is_plain(name, column) for name, column in other_fields.items()):
            found = FoundIds.of(cells[RETRIEVED], cells[REFERENCES])
            if found is not None:
                retrieved, references, first = found
                columns = score_ids(first, retrieved.counts, references.offsets)
                return cls(IdSamples(retrieved, references, other_fields), columns, {})
        if read is None:
            return None
        try:
            return cls._of_fields({name: _fields(name, cells[name], read) for name in cells})
        except ValueError:  # Reading the row as a sample raises the error again.
            return None

    @classmethod
    def _of_fields(cls, fields: dict[str, list[Any]]) -> ScoredIds | None:
        """Score rows from fields in the form that `Sample` keeps.

        Return None if a row forbids one of its reference IDs: reading it as a `Sample` then raises
        the error.
        """
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
        lists = IdLists.of(retrieved), IdLists.of(targets.ids)
        samples = IdSamples(*lists, fields, odd=odd, grades=targets.grades, sizes=targets.sizes)
        first, _, _ = first_ranks(retrieved, targets.ids)
        return cls._scored(samples, first, retrieved, targets, odd)

    @classmethod
    def _scored(
        cls,
        samples: Sequence[Sample],
        first: Sequence[int],
        retrieved: Sequence[Sequence[str]],
        targets: IdTargets,
        odd: Mapping[int, Sample],
    ) -> ScoredIds:
        names, grades, sizes = targets
        lengths = np.diff(offsets_of(map(len, retrieved)))
        columns = score_ids(first, lengths, offsets_of(map(len, names)), grades, sizes)
        results = {row: IdRecall().score(sample) for row, sample in odd.items()}
        notes = {row: result.note for row, result in results.items()}
        return cls(samples, with_results(columns, results), notes)


def _is_given(cell: object) -> bool:
    return cell is not None and cell != {}


def _references(sample: Sample) -> SingleIds | tuple[Reference, ...] | None:
    return sample.reference_context_ids if sample.single_ids is None else sample.single_ids


def _is_plain(name: str, column: Sequence[Any]) -> bool:
    """Return whether all values of a column have the form that `Sample` keeps, or are None."""
    # Unanswerable samples must be scored one by one.
    if name == "answerable" and False in column:
        return False
    kind = _TEXT if name in _TEXTS else _FLAG if name in _FLAGS else _NOTHING
    return kind.issuperset(map(type, column))


_NOTHING = frozenset({type(None)})
_TEXT, _FLAG = _NOTHING | {str}, _NOTHING | {bool}


def _fields(name: str, cells: Sequence[Any], read: CellReader) -> list[Any]:
    """Return a field's values from its cells; raise `ValueError` for an invalid cell."""
    if name in (RETRIEVED, REFERENCES):
        lists = plain_lists(cells)
        if lists is not None and "" not in lists.ids:
            texts = lists.as_texts
            if name == RETRIEVED:
                return list(texts.lists)
            return [SingleIds(tuple(row)) for row in texts.distinct.lists]
    elif _is_plain(name, cells):
        return list(cells)
    convert = SAMPLE_FIELDS[name].convert
    values = (read(name, cell) for cell in cells)
    return [None if value is None else convert(value) for value in values]


_KEPT = FIELDS | {"single_ids"}


def cells_of(rows: Sequence[Any], columns: Iterable[str]) -> dict[str, Sequence[Any]]:
    """Return the cells of each column of the rows, which may be from several data frames.

    A cell that a row lacks is None.
    """
    if type(rows[0]) is not FrameRow:
        return {column: [row.get(column) for row in rows] for column in columns}
    pieces: dict[str, list[Sequence[Any]]] = {column: [] for column in columns}
    done = 0
    while done < len(rows):
        part, start = rows[done].columns, rows[done].index
        end = min(start + len(rows) - done, len(next(iter(part.values()))))
        for column, cells in pieces.items():
            cells.append(part[column][start:end])
        done += end - start
    return {column: joined_cells(cells) for column, cells in pieces.items()}
