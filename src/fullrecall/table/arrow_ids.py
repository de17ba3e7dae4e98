"""Document IDs as Arrow arrays: for rows that go to a file, and leave nothing in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fullrecall.findings import Target
from fullrecall.sample import Sample
from fullrecall.table.ids import IdColumns, distinct
from fullrecall.table.lists import Integers, Lists
from fullrecall.table.part import hash_sums, target_hashes

_LISTS = pa.list_(pa.string())


def id_lists(lists: Sequence[Sequence[Any]]) -> pa.ListArray | None:
    """Return lists of IDs as an Arrow array; None where one is no text, or blank."""
    try:
        array = pa.array(lists, _LISTS)
    except (pa.ArrowException, UnicodeEncodeError, TypeError):
        return None
    names = array.flatten()
    if array.null_count or names.null_count or pc.any(pc.equal(names, "")).as_py():
        return None
    return array


@dataclass(frozen=True)
class ArrowSamples:
    """Samples of retrieved and reference IDs, as `IdSamples`, in Arrow arrays."""

    columns: dict[str, Any]
    """Arrow arrays by the names of a sample's fields."""
    codes: IdColumns

    @classmethod
    def of(cls, retrieved: pa.ListArray, references: pa.ListArray, **texts: Any) -> ArrowSamples:
        """Return the samples of lists of IDs; `texts` are the other columns."""
        encoded = pa.concat_arrays([retrieved.flatten(), references.flatten()]).dictionary_encode()
        codes = encoded.indices.to_numpy()
        border = len(retrieved.flatten())
        listed = Lists(codes[border:], _offsets(references))
        first = distinct(listed)
        if not first.all():
            names = references.flatten().filter(pa.array(first))
            kept = listed.kept(first)
            references = pa.ListArray.from_arrays(pa.array(kept.offsets, pa.int32()), names)
            listed = kept
        columns = {
            "retrieved_context_ids": retrieved,
            "reference_context_ids": references,
            **{name: pa.array(values, pa.string()) for name, values in texts.items()},
        }
        return cls(columns, IdColumns(Lists(codes[:border], _offsets(retrieved)), listed))

    def __len__(self) -> int:
        return len(self.columns["retrieved_context_ids"])

    def __getitem__(self, row: int) -> Sample:
        cells = {name: column[row].as_py() for name, column in self.columns.items()}
        return Sample(**cells)

    def taken(self, rows: Integers) -> ArrowSamples:
        """Return the samples of these rows."""
        indices = pa.array(rows)
        codes = IdColumns(self.codes.retrieved.taken(rows), self.codes.references.taken(rows))
        return ArrowSamples(
            {name: column.take(indices) for name, column in self.columns.items()}, codes
        )

    @property
    def ids(self) -> Sequence[str | None]:
        """The ID of each sample."""
        return self._texts("id")

    @property
    def groups(self) -> Sequence[str | None]:
        """The group of each sample."""
        return self._texts("group")

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        return self._texts("user_input")

    @property
    def has_texts(self) -> bool:
        """Whether any sample may have contexts beside their IDs."""
        return False

    def reference_digests(self) -> NDArray[np.uint64]:
        """Return a number for the reference IDs of each row, which are its targets."""
        names = self.columns["reference_context_ids"].flatten().to_pylist()
        hashes = target_hashes([Target((name,)) for name in names])
        return hash_sums(hashes, self.codes.references.offsets)

    def retrievals(self) -> Counter[str]:
        """Return no united and no failed retrievals: none was recorded."""
        return Counter()

    def _texts(self, name: str) -> Sequence[str | None]:
        column = self.columns.get(name)
        return [None] * len(self) if column is None else column.to_pylist()


def _offsets(lists: pa.ListArray) -> Integers:
    offsets: Integers = lists.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0]
