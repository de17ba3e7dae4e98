"""Rows of two reports side by side, whatever the order of the second, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.distributed.parquet.columns import repeated
from fullrecall.distributed.parquet.stored_rows import StoredRows
from fullrecall.distributed.spill import plain, spilled

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Places = NDArray[np.int64]


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

        back = np.full(len(self._after), -1, np.int64)
        known = np.flatnonzero(self.places >= 0)
        back[self.places[known]] = known

        def batches() -> Iterator[tuple[Any, Places]]:
            for first, batch in self._after.batches(names):
                yield batch, back[first : first + batch.num_rows]

        def reading() -> Any:
            with spilled(batches(), len(self.places)) as spill:
                number, table = -1, None
                order: Any = None
                made = None
                while True:
                    first, places = yield made
                    kept, at, end = [], first, first + len(places)
                    while at < end:
                        if at // spill.size != number:
                            number = at // spill.size
                            table, order = spill.file(number)
                        stop = min(end, (number + 1) * spill.size)
                        if table is not None:
                            low, high = np.searchsorted(order, (at, stop))
                            kept += table.slice(low, high - low).to_batches()
                        at = stop
                    made = self._one(kept, names)

        started = reading()
        next(started)
        return started

    def _one(self, batches: list[Any], names: Sequence[str]) -> Any:
        """Return rows as one batch, its repeated columns as dictionaries, as parts give them."""
        import pyarrow as pa

        if not batches:
            empty = pa.schema([(name, self._type(name)) for name in names])
            batches = [pa.RecordBatch.from_pylist([], schema=empty)]
        table = pa.concat_tables([plain(batch) for batch in batches]).select(list(names))
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
