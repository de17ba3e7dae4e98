"""Tables that engines hand to their workers: read row by row, and made of the same kind again.

Data frames and tables of any library that narwhals reads (pandas, polars, Arrow, its record
batches too), and mappings of a name to a column, which is a list or a NumPy array. None of the
libraries is imported unless a table of its own comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from fullrecall.dataframes import eager, frame_rows, is_frame
from fullrecall.errors import InputError, ReportError
from fullrecall.extras import pandas
from fullrecall.identifiers import shown

ColumnType: TypeAlias = Literal["double", "long", "string"]
"""What a column that we make holds; Spark's names for it."""

_WHOLE = {
    "ray": (
        'data.map_batches(scorer, batch_format="pyarrow")',
        'scores.iter_batches(batch_format="pyarrow")',
    ),
    "pyspark": ("data.mapInPandas(scorer.over, scorer.schema)", "scores.toPandas()"),
    "dask": ("data.map_partitions(scorer, meta=scorer.meta)", "scores.compute()"),
}
"""Engines by their package: how each applies a scorer to its batches, and hands out the scores."""


class Table(Protocol):
    """What each kind of table can do."""

    names: list[Any]

    @property
    def count(self) -> int:
        """How many rows there are."""
        ...

    def rows(self) -> Iterator[dict[Any, object]]:
        """Yield the rows as mappings, in order; a cell that cannot be read is its `InputError`."""
        ...

    def column(self, name: str) -> list[Any]:
        """Return a column's values as Python's own."""
        ...

    def taken(self, numbers: list[int]) -> Table:
        """Return a table of the rows with these numbers, from 0."""
        ...

    @property
    def arrow(self) -> Any | None:
        """The same as an Arrow table; None where that is not at hand."""
        ...

    def like(
        self, columns: Mapping[str, list[Any]], types: Mapping[str, ColumnType], *, beside: bool
    ) -> Any:
        """Return a table of this kind; `beside`: its rows are those of this one, in order."""
        ...


def table_of(batch: object) -> Table:
    """Return a batch as a table; raise `InputError` where it is none that we know."""
    package = type(batch).__module__.partition(".")[0]
    if package in _WHOLE:
        scoring, reporting = _WHOLE[package]
        raise InputError(
            f"expected one batch, got {package}'s {type(batch).__name__}: {scoring} scores it, "
            f"and scorer.report({reporting}) reports"
        )
    if isinstance(batch, Mapping):
        return _Columns(batch)
    if is_frame(batch):
        return _Frame(batch)
    raise InputError(
        "expected a data frame, an Arrow table or a mapping of names to columns, got "
        f"{type(batch).__name__} {shown(batch)}"
    )


def column_of(table: Table, name: str) -> list[Any]:
    """Return a column of scores; raise `ReportError` where there is none of that name."""
    if name not in table.names:
        raise ReportError(
            f"no column {name!r}, so these are not scores of this scorer: the columns are "
            f"{', '.join(map(repr, table.names))}"
        )
    return table.column(name)


def empty_frame(types: Mapping[str, ColumnType]) -> Any:
    """Return a pandas frame of these columns without rows; `MissingExtraError` without pandas."""
    pandas("the empty frame that Dask asks for")
    return _frame({name: [] for name in types}, types, backend="pandas")


class _Frame:
    """A data frame or table of any library, by narwhals."""

    def __init__(self, frame: Any) -> None:
        self._native = frame
        self._frame = eager(frame)
        self.names = list(self._frame.columns)

    @property
    def count(self) -> int:
        return len(self._frame)

    def rows(self) -> Iterator[dict[Any, object]]:
        return frame_rows(self._frame, keep_errors=True)

    def column(self, name: str) -> list[Any]:
        return self._frame[name].to_list()

    def taken(self, numbers: list[int]) -> Table:
        return _Frame(self._frame[numbers].to_native())

    @property
    def arrow(self) -> Any | None:
        try:
            import pyarrow as pa
        except ImportError:
            return None
        try:
            return self._frame.to_arrow()
        except (TypeError, ValueError, pa.ArrowException):  # a column of several types
            return None

    def like(
        self, columns: Mapping[str, list[Any]], types: Mapping[str, ColumnType], *, beside: bool
    ) -> Any:
        import narwhals as nw

        index = nw.maybe_get_index(self._frame) if beside else None  # pandas names its rows
        made = _frame(columns, types, backend=self._frame.implementation, index=index)
        if type(self._native).__name__ != "RecordBatch":
            return made
        import pyarrow as pa

        batches = made.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=made.schema)


class _Columns:
    arrow = None

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = columns
        self.names = list(columns)
        for name, column in columns.items():
            if isinstance(column, (str, Mapping)) or not hasattr(column, "__len__"):
                raise InputError(
                    f"column {name!r} must be a list or an array, got {shown(column)}: for one "
                    "sample, scorer.score(sample)"
                )
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of a batch must have one length, got {lengths}")
        self.count = next(iter(lengths.values()), 0)

    def rows(self) -> Iterator[dict[Any, object]]:
        for values in zip(*self._columns.values(), strict=True):
            yield dict(zip(self.names, values, strict=True))

    def taken(self, numbers: list[int]) -> Table:
        return _Columns(
            {name: [column[number] for number in numbers] for name, column in self._columns.items()}
        )

    def column(self, name: str) -> list[Any]:
        column = self._columns[name]
        values: list[Any] = column.tolist() if hasattr(column, "tolist") else list(column)
        return values

    def like(
        self,
        columns: Mapping[str, list[Any]],
        types: Mapping[str, ColumnType],
        *,
        beside: bool,  # noqa: ARG002 - such rows have no names
    ) -> Any:
        if not any(hasattr(column, "dtype") for column in self._columns.values()):
            return dict(columns)
        import numpy as np

        dtypes = {"double": "float64", "long": "int64", "string": "object"}
        return {
            name: np.array(column, dtype=dtypes[types[name]]) for name, column in columns.items()
        }


def _frame(
    columns: Mapping[str, list[Any]],
    types: Mapping[str, ColumnType],
    *,
    backend: Any,
    index: Any = None,
) -> Any:
    import narwhals as nw

    kinds = {"double": nw.Float64(), "long": nw.Int64(), "string": nw.String()}
    schema = {name: kinds[types[name]] for name in columns}
    made = nw.from_dict(dict(columns), schema=schema, backend=backend).to_native()
    if index is not None:
        made.index = index
    return made
