"""Samples and labels of reports in files, read as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, overload

from fullrecall.distributed.parquet.stored_rows import StoredRows
from fullrecall.table.row import Row


class Paired(Protocol):
    """What has pairs of samples."""

    def __len__(self) -> int:
        """How many pairs there are."""
        ...

    def both(self) -> Iterator[tuple[Row, Row]]:
        """Yield them in order."""
        ...

    def pair(self, nth: int) -> tuple[Row, Row]:
        """Return one of them."""
        ...


class Pairs(Sequence[tuple[Row, Row]]):
    """The samples that both reports have, read as they are asked for."""

    def __init__(self, join: Paired) -> None:
        self._join = join

    def __len__(self) -> int:
        return len(self._join)

    def __iter__(self) -> Iterator[tuple[Row, Row]]:
        return self._join.both()

    @overload
    def __getitem__(self, index: int) -> tuple[Row, Row]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[Row, Row]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        chosen = range(len(self))[index]
        if isinstance(chosen, range):
            return [self._join.pair(nth) for nth in chosen]
        return self._join.pair(chosen)


class Labels(Sequence[str]):
    """The labels of some rows, read as they are asked for."""

    def __init__(self, rows: StoredRows, places: Any) -> None:
        self._rows = rows
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> Any:
        chosen = self._places[index]
        if isinstance(index, slice):
            return [row.label for row in self._rows.rows_at(chosen.tolist())]
        return self._rows.label(int(chosen))

    def __iter__(self) -> Iterator[str]:
        return (row.label for row in self._rows.rows_at(self._places.tolist()))
