"""Samples scored many at a time, as columns, without an object for each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fullrecall.errors import InputError
from fullrecall.samples.sample import Sample, SampleLike
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    from fullrecall.files.rows import PlannedRows
    from fullrecall.scorers.id_samples import ScoredIds
    from fullrecall.table.part import MemoryPart


def takes_chunks(scorers: Sequence[Scorer]) -> bool:
    """Return whether all scorers are `IdRecall`, which scores columns and never raises."""
    return all(type(scorer) is IdRecall for scorer in scorers)


class ItemReader:
    """Converts each item of an evaluation to a sample.

    The keys of a mapping are assigned to fields once for all mappings with the same keys. If the
    scorers need only one kind of label, an ambiguous column is read as that label.
    """

    def __init__(self, scorers: Sequence[Scorer] = ()) -> None:
        needed = {tuple(getattr(scorer, "labels", ())) for scorer in scorers}
        labels = needed.pop() if len(needed) == 1 else ()
        self._sought = labels[0] if len(labels) == 1 else None
        self._planned: PlannedRows | None = None

    def __call__(self, item: object, position: int) -> Sample:
        """Return an item as a `Sample`; raise `InputError` with its position if it is not one."""
        if isinstance(item, Sample):
            return item
        if type(item) is dict or isinstance(item, Mapping):
            try:
                return self._rows.sample(item)
            except InputError as error:
                raise error.at(line=position) from None
        raise InputError(
            f"expected a Sample or a mapping, got {type(item).__name__} (fullrecall.read.from_rows "
            "takes data frames and the data sets of other tools)",
            line=position,
        )

    def scored(self, items: Sequence[SampleLike]) -> ScoredIds | None:
        """Score mappings as columns; return None for items that need a `Sample` each."""
        from fullrecall.scorers.id_samples import ScoredIds

        if set(map(type, items)) != {dict}:
            return None
        rows: Any = items
        keys = tuple(rows[0])
        names = {name: field for field, names in Sample.names().items() for name in (field, *names)}
        fields = {names.get(key, ""): key for key in keys}
        if len(fields) == len(keys) and set(map(len, rows)) == {len(keys)}:
            try:
                cells = {field: [row[key] for row in rows] for field, key in fields.items()}
            except KeyError:  # a row has other keys than the first one
                return self._rows.scored(items)
            scored = ScoredIds.of_cells(cells)
            if scored is not None:
                return scored
        return self._rows.scored(items)

    @property
    def _rows(self) -> PlannedRows:
        if self._planned is None:
            from fullrecall._util.dataframes import plain_value
            from fullrecall.files.plans import Given
            from fullrecall.files.rows import PlannedRows

            given = Given(sought=self._sought)
            self._planned = PlannedRows(given, cell=plain_value, file="samples")
        return self._planned


def part_of(
    chunk: Sequence[SampleLike] | ScoredIds, first: int, scorers: Sequence[Scorer], read: ItemReader
) -> MemoryPart:
    """Return the scores of a chunk whose first sample has the position `first`.

    Raises `InputError`, naming the position, for an item that is not a sample.
    """
    from fullrecall.scorers.id_samples import ScoredIds
    from fullrecall.table.part import ColumnResults, MemoryPart

    scored = chunk if isinstance(chunk, ScoredIds) else read.scored(chunk)
    if scored is None:
        samples: Any = chunk
        if set(map(type, chunk)) != {Sample}:
            samples = [read(item, first + nth) for nth, item in enumerate(chunk)]
        scored = ScoredIds.of(samples)
    results = [ColumnResults(scorer.method, scored.notes) for scorer in scorers]
    return MemoryPart(scored.samples, [scored.columns] * len(scorers), results)
