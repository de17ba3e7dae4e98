"""The rows of a report in parts: read batch by batch, and never all in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from fullrecall.distributed.parquet import columns, manifest
from fullrecall.distributed.parquet.keys import keys_of
from fullrecall.distributed.parquet.part import Part
from fullrecall.distributed.parquet.shapes import Shape, Shaped, Shapes, is_own
from fullrecall.errors import FullrecallError, ReportError
from fullrecall.extras import pyarrow
from fullrecall.measures import Measure
from fullrecall.records import content_of
from fullrecall.report.file import parsed
from fullrecall.report.lazy_rows import LazyRows, Tallied
from fullrecall.result import Method, Result
from fullrecall.sample import Sample
from fullrecall.table.groups import Linked
from fullrecall.table.row import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

_MOST_EQUAL = 50_000
"""Distinct rows that wait to be handed on."""

_MOST_GROUPS = 200_000
"""Groups that are summed at once: the rows are read as often as that takes."""


class StoredRows(LazyRows):
    """The rows of the report in a directory.

    Raises `ReportError` for what is no such report: see `manifest.read`, and for a part that is
    missing or of another length. The other contents of a part are checked before it is first read.
    """

    def __init__(self, path: str | Path) -> None:
        self.folder = Path(path)
        self.manifest = manifest.read(self.folder)
        self.methods: tuple[Method, ...] = tuple(self.manifest.as_methods)
        firsts = list(accumulate((part.rows for part in self.manifest.parts), initial=0))
        self.parts = [
            Part(self.folder, part, self.methods, first)
            for part, first in zip(self.manifest.parts, firsts, strict=False)
        ]
        self._firsts = firsts[:-1]
        self._last: tuple[int, Any] = (0, None)
        for part in self.parts:
            part.check_size()

    def __len__(self) -> int:
        return self.manifest.samples

    def __iter__(self) -> Iterator[Row]:
        for first, batch in self.batches(self._names):
            yield from self.decoded(batch, range(first, first + batch.num_rows))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        places = range(len(self))[index]
        if isinstance(places, range):
            rows = dict(zip(sorted(places), self.rows_at(sorted(places)), strict=True))
            return [rows[place] for place in places]
        first, batch = self._last
        if batch is None or not first <= places < first + batch.num_rows:
            for first, batch in self._part_of(places).batches(self._names):
                if places < first + batch.num_rows:
                    break
            self._last = first, batch
        return next(self.decoded(batch.slice(places - first, 1), [places]))

    def rows_at(self, places: Sequence[int]) -> Iterator[Row]:
        """Yield the rows at these places, which ascend."""
        nth = 0
        while nth < len(places):
            part = self._part_of(places[nth])
            end = part.first + part.record.rows
            stop = nth
            while stop < len(places) and places[stop] < end:
                stop += 1
            table = part.rows_at(places[nth:stop], self._names)
            for batch in table.combine_chunks().to_batches():
                yield from self.decoded(batch, places[nth:stop])
            nth = stop

    def batches(self, names: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Yield these columns of all rows in order, each batch with its first row's place."""
        for part in self.parts:
            yield from part.batches(names)

    def shaped(self, shapes: Shapes, first: int, batch: Any) -> Shaped:
        """Return the results of a score in a batch; `ReportError` names file, row and column."""
        try:
            return shapes.of(batch)
        except ReportError as error:
            raise self._located(error, first) from None

    def decoded(self, batch: Any, places: Sequence[int]) -> Iterator[Row]:
        """Yield the rows of a batch with all columns, which stand at these places."""
        plain = columns.plain_rows(batch, self.methods)
        for place in places:
            try:
                sample, results = content_of(next(plain), self.methods)
            except FullrecallError as error:
                part = self._part_of(place)
                row = place - part.first + 1
                raise ReportError(f"{part.path}: row {row}: {error}") from None
            yield Row(place + 1, sample, results)

    def tallied(
        self, places: Sequence[int], measures: Iterable[Measure] = (), *, metadata: bool = False
    ) -> Iterator[Iterable[Tallied]]:
        """Yield all rows with the results at these places, equal ones together."""
        named = not all(map(is_own, measures))
        for split in self._splits():
            if named:
                yield self._one_by_one(split, places)
            else:
                yield self._together(split, places, metadata=metadata)

    @property
    def groups(self) -> Sequence[str | None]:
        """The group of each row; see `Report.groups`."""
        groups: list[str | None] = []
        for _, batch in self.batches(("id", "group")):
            groups += self._linked_groups(batch)
        return groups

    @cached_property
    def retrievals(self) -> Mapping[str, int]:
        """Of how many samples the retrieval was a union of calls, or had a failed call."""
        counts: Counter[str] = Counter()
        for _, batch in self.batches(("united", "failed")):
            for name in ("united", "failed"):
                column = batch.column(name)
                if column.null_count < len(column):
                    counts[name] += column.true_count
        return counts

    def figures(
        self,
        place: int,
        measures: Sequence[Measure],
        figure: Callable[[Result, Sequence[Measure]], Sequence[float]],
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the figures of the result at a place, some rows at a time."""
        import numpy as np

        if not all(map(is_own, measures)):
            for first, batch in self.batches(self._names):
                rows = self.decoded(batch, range(first, first + batch.num_rows))
                yield first, np.array([figure(row.results[place], measures) for row in rows])
            return
        shapes = Shapes(self.methods[place])
        known: dict[Shape, Sequence[float]] = {}
        for first, batch in self.batches(shapes.names):
            shaped = self.shaped(shapes, first, batch)
            for shape in shaped.shapes:
                if shape not in known:
                    known[shape] = figure(shape.result, measures)
            yield first, np.array([known[shape] for shape in shaped.shapes])[shaped.codes]
            if len(known) > _MOST_EQUAL:
                known.clear()

    def with_contexts(self) -> Iterator[Row]:
        """Yield the rows whose sample may have retrieved contexts beside their IDs."""
        import numpy as np

        pa = pyarrow(columns.PURPOSE)

        for part in self.parts:
            if all(len(b) == b.column("rest").null_count for _, b in part.batches(["rest"])):
                continue
            for first, batch in part.batches(self._names):
                kept = np.flatnonzero(batch.column("rest").is_valid())
                yield from self.decoded(batch.take(pa.array(kept)), (first + kept).tolist())

    def saved_at(self, path: str | Path) -> LazyRows:
        """Return the same rows after they were saved at a path: from new files if it is theirs."""
        return StoredRows(self.folder) if Path(path).samefile(self.folder) else self

    def places_of(self, label: str) -> Sequence[int]:
        """Return the places of the rows with a label."""
        import numpy as np

        pc = pyarrow(columns.PURPOSE).compute

        found: list[int] = []
        for first, batch in self.batches(("id",)):
            same = pc.equal(batch.column("id"), label).fill_null(False)  # noqa: FBT003
            found += (first + np.flatnonzero(same.to_numpy(zero_copy_only=False))).tolist()
            number = label.removeprefix("#")
            if label != number and number.isdecimal() and number.isascii():
                place = int(number) - 1 - first
                if 0 <= place < batch.num_rows and not batch.column("id")[place].is_valid:
                    found.append(first + place)
        return found

    def label(self, place: int) -> str:
        """Return the label of the row at a place."""
        return self[place].label

    def keys(self, seed: int = 0) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the key of each row's ID, and which rows have an ID."""
        import numpy as np

        keys, known = np.empty(len(self), np.uint64), np.empty(len(self), bool)
        for first, batch in self.batches(("id",)):
            ids, rows = batch.column("id"), slice(first, first + batch.num_rows)
            keys[rows] = keys_of(ids, seed)
            known[rows] = ids.is_valid().to_numpy(zero_copy_only=False)
        return keys, known

    def repeated_ids(self) -> Counter[str]:
        """Return the IDs that stand more than once, with how often, by the second time."""
        import numpy as np

        pa = pyarrow(columns.PURPOSE)

        keys, known = self.keys()
        ordered = np.sort(keys[known])
        twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        if not len(twice):
            return Counter()
        seen: set[str] = set()
        often: Counter[str] = Counter()
        for first, batch in self.batches(("id",)):
            rows = slice(first, first + batch.num_rows)
            like = np.isin(keys[rows], twice) & known[rows]
            for name in batch.column("id").filter(pa.array(like)).to_pylist():
                if name in seen:
                    often[name] = often.get(name, 1) + 1
                seen.add(name)
        return often

    @cached_property
    def _names(self) -> list[str]:
        names: list[str] = columns.schema(self.methods).names
        return names

    @cached_property
    def _linked(self) -> Linked:
        """Which samples share a group because they share an ID."""
        repeated = self.repeated_ids()
        if not repeated:
            return Linked(())
        pairs: dict[tuple[str, str | None], None] = {}
        taken: set[str | None] = set()
        for _, batch in self.batches(("id", "group")):
            groups = batch.column("group").to_pylist()
            taken.update(groups)
            for name, group in zip(batch.column("id").to_pylist(), groups, strict=True):
                if name in repeated:
                    pairs[name, group] = None
        return Linked(pairs, taken)

    def _linked_groups(self, batch: Any) -> list[str | None]:
        groups: list[str | None] = batch.column("group").to_pylist()
        if not len(self._linked):
            return groups
        ids = batch.column("id").to_pylist()
        return [self._linked.group_of(*both) for both in zip(ids, groups, strict=True)]

    def _splits(self) -> Iterator[tuple[int, int]]:
        return group_splits([self], len(self._linked))

    def _together(
        self, split: tuple[int, int], places: Sequence[int], *, metadata: bool
    ) -> Iterator[Tallied]:
        """Yield the rows of a split, equal ones together as far as memory allows."""
        shapes = [Shapes(self.methods[place]) for place in places]
        names = ["id", "group", *(["metadata"] if metadata else [])]
        names += [name for each in shapes for name in each.names]
        waiting: dict[tuple[Any, ...], int] = {}
        for first, batch in self.batches(list(dict.fromkeys(names))):
            for key, times in self._equal(split, batch, shapes, first, metadata=metadata):
                waiting[key] = waiting.get(key, 0) + times
            if len(waiting) > _MOST_EQUAL:
                yield from _emitted(waiting)
                waiting = {}
        yield from _emitted(waiting)

    def _equal(
        self,
        split: tuple[int, int],
        batch: Any,
        shapes: Sequence[Shapes],
        first: int,
        *,
        metadata: bool,
    ) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Yield the distinct rows of a batch, as group, own group, metadata, shapes; how often."""
        import numpy as np

        read = [self.shaped(each, first, batch) for each in shapes]
        own = batch.column("group")
        groups, codes = _factors(own)
        linked, linked_codes = groups, codes
        if len(self._linked):
            linked, linked_codes = _factors_of(self._linked_groups(batch))
        texts, text_codes = _factors(batch.column("metadata")) if metadata else ([], codes * 0 - 1)
        kept = np.arange(batch.num_rows)
        if split[1] > 1:
            kept = np.flatnonzero(_in_split(linked, linked_codes, split))
        if not len(kept):
            return
        joined = np.zeros(len(kept), np.int64)
        every = [linked_codes, codes, text_codes, *(each.codes for each in read)]
        for each in every:
            part = each[kept]
            joined = np.unique(joined * (int(part.max()) + 2) + part + 1, return_inverse=True)[1]
        _, firsts, counts = np.unique(joined, return_index=True, return_counts=True)
        for row, times in zip(kept[firsts].tolist(), counts.tolist(), strict=True):
            yield (
                (
                    _at(linked, linked_codes[row]),
                    _at(groups, codes[row]),
                    _at(texts, text_codes[row]),
                    *(each.shapes[each.codes[row]] for each in read),
                ),
                times,
            )

    def _one_by_one(self, split: tuple[int, int], places: Sequence[int]) -> Iterator[Tallied]:
        pa = pyarrow(columns.PURPOSE)

        for first, batch in self.batches(self._names):
            linked, codes = _factors_of(self._linked_groups(batch))
            kept = _in_split(linked, codes, split).nonzero()[0]
            some = batch.take(pa.array(kept))
            for row, nth in zip(self.decoded(some, first + kept), kept.tolist(), strict=True):
                results = tuple(row.results[place] for place in places)
                yield Tallied(Row(row.position, row.sample, results), _at(linked, codes[nth]), 1)

    def _part_of(self, place: int) -> Part:
        return self.parts[bisect_right(self._firsts, place) - 1]

    def _located(self, error: ReportError, first: int) -> ReportError:
        """Return an error that says "row n: …" of a batch as one that names file and row of it."""
        part = self._part_of(first)
        number, _, rest = str(error).removeprefix("row ").partition(": ")
        row = int(number) + first - part.first
        return ReportError(f"{part.path}: row {row}: {rest}")


def group_splits(reports: Iterable[StoredRows], more: int = 0) -> Iterator[tuple[int, int]]:
    """Yield by which remainder of a group's key to read, so that few groups are summed at once.

    Each is a remainder and its divisor; `more` groups are not in the column of that name.
    """
    import numpy as np

    known: list[Any] = []
    for rows in reports:
        for _, batch in rows.batches(("group",)):
            column = batch.column("group")
            if column.null_count < len(column):
                known.append(np.unique(keys_of(column.dictionary)))
                if len(known) > 64:  # noqa: PLR2004 - rarely enough, and few enough to keep
                    known = [np.unique(np.concatenate(known))]
    groups = len(np.unique(np.concatenate(known))) if known else 0
    splits = -(-(groups + more) // _MOST_GROUPS) or 1
    for nth in range(splits):
        yield nth, splits


def _emitted(waiting: Mapping[tuple[Any, ...], int]) -> Iterator[Tallied]:
    plain = Sample()
    for (group, own, text, *shapes), times in waiting.items():
        sample = plain
        if own is not None or text is not None:
            sample = Sample(group=own, metadata=None if text is None else parsed(text))
        results = tuple(shape.result for shape in shapes)
        yield Tallied(Row(0, sample, results), group, times)


def _factors(column: Any) -> tuple[list[Any], Any]:
    """Return the distinct texts of a dictionary column, and where each row's is; -1 for null."""
    import numpy as np

    indices = column.indices.fill_null(-1)
    return column.dictionary.to_pylist(), indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _factors_of(texts: Sequence[str | None]) -> tuple[list[Any], Any]:
    """Return the same of a list of texts."""
    import numpy as np

    places: dict[str, int] = {}
    codes = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
    return list(places), np.array(codes, dtype=np.int64)


def _at(texts: Sequence[Any], code: Any) -> Any:
    return None if code < 0 else texts[code]


def _in_split(texts: Sequence[Any], codes: Any, split: tuple[int, int]) -> Any:
    """Return which rows are in a split: by their group's key; those without one in the first."""
    import numpy as np

    pa = pyarrow(columns.PURPOSE)
    nth, splits = split
    remainders = keys_of(pa.array(texts, pa.string())) % np.uint64(splits)
    inside = np.append(remainders == nth, nth == 0)
    return inside[codes]
