"""Rows of two reports side by side, whatever the order of the second, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.distributed.parquet.columns import repeated
from fullrecall.distributed.parquet.stored_rows import StoredRows

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_SPILLED = 200_000
"""Rows of a file in which rows wait for their place; there are at most 200 files."""

_GATHERED = 100_000
"""Rows that are sorted into these files at once."""

_PLACE = " place"
"""A column that no part has: where a row belongs."""


class Side(NamedTuple):
    """Some rows of the first report, with those of the second that belong to them.

    `first` is the place of the first of them; `has` says which of `before` have one in `after`,
    which holds only these, in that order.
    """

    first: int
    before: pa.RecordBatch
    has: NDArray[np.bool_]
    after: pa.RecordBatch


class Alignment:
    """Two reports side by side: `places[n]` is the place in the second of row n of the first.

    -1 where the second has none. Rows of the second that come in another order are sorted in
    files, beside those of the system's temporary directory.
    """

    def __init__(self, before: StoredRows, after: StoredRows, places: Places) -> None:
        import numpy as np

        self._before, self._after = before, after
        self.places = places
        known = places[places >= 0]
        self._ordered = bool((np.diff(known) > 0).all())

    def sides(self, names: Sequence[str], others: Sequence[str]) -> Iterator[Side]:
        """Yield these columns of the first report, and the `others` of the second beside them."""
        rows = self._in_order(others) if self._ordered else self._sorted(others)
        for first, batch in self._before.batches(names):
            places = self.places[first : first + batch.num_rows]
            has = places >= 0
            yield Side(first, batch, has, rows.send((first, places)))

    def _in_order(self, names: Sequence[str]) -> Rows:
        """Return what takes places that ascend, and returns the rows at those that are not -1."""
        import numpy as np
        import pyarrow as pa

        def reading() -> Any:
            batches = self._after.batches(names)
            first, batch = 0, None
            made = None
            while True:
                _, places = yield made
                wanted, kept = places[places >= 0], []
                while len(wanted):
                    if batch is None or wanted[0] >= first + batch.num_rows:
                        first, batch = next(batches)
                        continue
                    high = int(np.searchsorted(wanted, first + batch.num_rows))
                    kept.append(batch.take(pa.array(wanted[:high] - first)))
                    wanted = wanted[high:]
                made = self._one(kept, names)

        started = reading()
        next(started)
        return started

    def _sorted(self, names: Sequence[str]) -> Rows:
        """Return the same for places in any order: the rows are sorted by theirs, through files."""
        import numpy as np

        size = max(_SPILLED, -(-len(self.places) // 200))
        back = np.full(len(self._after), -1, np.int64)
        known = np.flatnonzero(self.places >= 0)
        back[self.places[known]] = known

        def reading() -> Any:
            with TemporaryDirectory(prefix="fullrecall-") as folder:
                self._spill(Path(folder), names, back, size)
                number, table = -1, None
                order: Any = None
                made = None
                while True:
                    first, places = yield made
                    kept, at, end = [], first, first + len(places)
                    while at < end:
                        if at // size != number:
                            number = at // size
                            table, order = _spilled(Path(folder), number)
                        stop = min(end, (number + 1) * size)
                        if table is not None:
                            low, high = np.searchsorted(order, (at, stop))
                            kept += table.slice(low, high - low).to_batches()
                        at = stop
                    made = self._one(kept, names)

        started = reading()
        next(started)
        return started

    def _spill(self, folder: Path, names: Sequence[str], back: Places, size: int) -> None:
        """Write the rows of the second report to files, by their place in the first."""
        import pyarrow as pa

        with ExitStack() as opened:
            files: dict[int, Any] = {}
            waiting: list[Any] = []
            for first, batch in self._after.batches(names):
                plain = _plain(batch)
                places = back[first : first + batch.num_rows]
                waiting.append(plain.append_column(_PLACE, pa.array(places)))
                if sum(one.num_rows for one in waiting) >= _GATHERED:
                    _sort_into(files, opened, folder, pa.Table.from_batches(waiting), size)
                    waiting = []
            if waiting:
                _sort_into(files, opened, folder, pa.Table.from_batches(waiting), size)

    def _one(self, batches: list[Any], names: Sequence[str]) -> Any:
        """Return rows as one batch, its repeated columns as dictionaries, as parts give them."""
        import pyarrow as pa

        if not batches:
            empty = pa.schema([(name, self._type(name)) for name in names])
            batches = [pa.RecordBatch.from_pylist([], schema=empty)]
        table = pa.Table.from_batches([_plain(batch) for batch in batches]).select(list(names))
        (batch,) = table.combine_chunks().to_batches() or [
            pa.RecordBatch.from_pylist([], schema=table.schema)
        ]
        coded = set(repeated(self._after.methods))
        arrays = [
            batch.column(name).dictionary_encode() if name in coded else batch.column(name)
            for name in names
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    def _type(self, name: str) -> Any:
        from fullrecall.distributed.parquet.columns import schema

        return schema(self._after.methods).field(name).type


Rows = Any
"""A generator that takes places and returns a batch."""


def _plain(batch: Any) -> Any:
    """Return a batch without dictionaries, which differ from batch to batch."""
    import pyarrow as pa

    arrays = [
        array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        for array in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _sort_into(
    files: dict[int, Any], opened: ExitStack, folder: Path, table: Any, size: int
) -> None:
    """Append the rows of a table to the files of their places."""
    import numpy as np
    import pyarrow as pa

    places = table.column(_PLACE).to_numpy()
    order = np.argsort(places, kind="stable")
    order = order[places[order] >= 0]
    numbers = places[order] // size
    sorted_table = table.take(pa.array(order))
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(numbers)], strict=True):
        number = int(numbers[start])
        if number not in files:
            files[number] = opened.enter_context(
                pa.ipc.new_stream(str(folder / str(number)), table.schema)
            )
        files[number].write_table(sorted_table.slice(start, stop - start).combine_chunks())


def _spilled(folder: Path, number: int) -> tuple[Any, Any]:
    """Return the rows of a file by their place, and their places; None where there is none."""
    import pyarrow as pa

    path = folder / str(number)
    if not path.exists():
        return None, None
    with pa.OSFile(str(path), "rb") as file, pa.ipc.open_stream(file) as stream:
        table = stream.read_all().sort_by(_PLACE)
    places = table.column(_PLACE).to_numpy()
    return table.drop_columns([_PLACE]).combine_chunks(), places
