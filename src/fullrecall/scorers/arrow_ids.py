"""Lists of IDs in Arrow columns, which become Python texts only when a row is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fullrecall._util.extras import pyarrow
from fullrecall.measures.lists import Integers, distinct, narrow, offsets_of

_PURPOSE = "columns of Arrow"


class ArrowIds(NamedTuple):
    """Lists of IDs as texts: row i has `values[offsets[i]:offsets[i + 1]]`."""

    values: Any
    offsets: Integers

    @classmethod
    def of(cls, lists: Any, separators: Sequence[str]) -> ArrowIds | None:
        """Convert an Arrow array of lists of IDs.

        Return None for other arrays, and for nulls, blank IDs and texts with several IDs.
        """
        pa = pyarrow(_PURPOSE)
        if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
            return None
        values = lists.flatten()
        if lists.null_count or values.null_count:
            return None
        offsets = lists.offsets.to_numpy()
        offsets = narrow(offsets - offsets[:1])
        if pa.types.is_integer(values.type):
            return cls(values.cast(pa.large_string()), offsets)
        if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
            return None
        values = values.cast(pa.large_string())
        if pa.compute.min(pa.compute.binary_length(values)).as_py() == 0:
            return None
        letters = _letters(values)
        has_several = b" " in letters and any(each.encode() in letters for each in separators)
        return None if has_several else cls(values, offsets)

    @property
    def counts(self) -> Integers:
        """The number of IDs of each row."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Integers:
        """The row of each ID."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    @property
    def names(self) -> list[str]:
        """All IDs of the lists as texts."""
        names: list[str] = self.values.to_pylist()
        return names

    def of_row(self, row: int) -> list[str]:
        """Return the IDs of one row."""
        names: list[str] = self.values[self.offsets[row] : self.offsets[row + 1]].to_pylist()
        return names

    def found_in(self, retrieved: ArrowIds) -> tuple[ArrowIds, NDArray[np.int32]]:
        """Return the lists without repetitions, and the position of each ID that remains.

        Positions count from 1 in the same row of `retrieved`; 0 means that the ID is missing there.
        """
        pa = pyarrow(_PURPOSE)
        known = self.values.dictionary_encode()
        keys = self.rows * len(known.dictionary) + known.indices.to_numpy()
        own = self
        if len(distinct(keys)) < len(keys):
            _, first = np.unique(keys, return_index=True)
            first.sort()
            counts = np.bincount(self.rows[first], minlength=len(self.counts))
            own, keys = ArrowIds(self.values.take(pa.array(first)), offsets_of(counts)), keys[first]
        codes = pa.compute.index_in(retrieved.values, known.dictionary)
        indices = np.flatnonzero(codes.is_valid().to_numpy(zero_copy_only=False))
        codes = codes.take(pa.array(indices)).to_numpy()
        rows = np.searchsorted(retrieved.offsets, indices, side="right") - 1
        found = rows * len(known.dictionary) + codes
        order = np.argsort(found, kind="stable")  # among equal keys, the first position comes first
        found = np.append(found[order], -1)
        places = np.searchsorted(found[:-1], keys)
        positions = np.append(indices - retrieved.offsets[rows] + 1, 0)
        order = np.append(order, len(order))
        where = np.where(found[places] == keys, order[places], len(order) - 1)
        return own, positions[where].astype(np.int32)


def _letters(values: Any) -> bytes:
    """Return the joined texts of an array as bytes."""
    if not len(values):
        return b""
    _, offsets, letters = values.buffers()
    bounds = np.frombuffer(offsets, np.int64)[values.offset :][: len(values) + 1]
    return letters[int(bounds[0]) : int(bounds[-1])].to_pybytes()  # type: ignore[no-any-return]
