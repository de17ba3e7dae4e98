"""Tables that engines hand to their workers: read row by row, and made of the same kind again.

Arrow's tables and record batches, pandas data frames, and mappings of a name to a column, which
is a list or a NumPy array. None of the libraries is imported unless a table of its own comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from fullrecall.errors import InputError
from fullrecall.extras import pandas
from fullrecall.identifiers import shown

ColumnType: TypeAlias = Literal["double", "long", "string"]
"""What a column that we make holds; Spark's names for it."""

_ROWS_AT_ONCE = 256

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

    def rows(self) -> Iterator[dict[Any, object]]:
        """Yield the rows as mappings, in order."""
        ...

    def column(self, name: str) -> list[Any]:
        """Return a column's values as Python's own."""
        ...

    def like(
        self, columns: Mapping[str, list[Any]], types: Mapping[str, ColumnType], *, beside: bool
    ) -> Any:
        """Return a table of this kind; `beside`: its rows are those of this one, in order."""
        ...


def table_of(batch: object) -> Table:
    """Return a batch as a table; raise `InputError` where it is none that we know."""
    package = type(batch).__module__.partition(".")[0]
    if package == "pyarrow" and hasattr(batch, "column_names"):
        return _Arrow(batch)
    if package in _WHOLE:
        scoring, reporting = _WHOLE[package]
        raise InputError(
            f"expected one batch, got {package}'s {type(batch).__name__}: {scoring} scores it, "
            f"and scorer.report({reporting}) reports"
        )
    if hasattr(batch, "itertuples") and hasattr(batch, "columns"):
        return _Frame(batch)
    if isinstance(batch, Mapping):
        return _Columns(batch)
    raise InputError(
        "a batch is an Arrow table, a pandas DataFrame or a mapping of names to columns, got "
        f"{type(batch).__name__} {shown(batch)}"
    )


def empty_frame(types: Mapping[str, ColumnType]) -> Any:
    """Return a pandas frame of these columns without rows; `MissingExtraError` without pandas."""
    return _frame({name: [] for name in types}, types, index=None)


class _Arrow:
    def __init__(self, batch: Any) -> None:
        import pyarrow as pa

        self._is_table = isinstance(batch, pa.Table)
        self._table = batch if self._is_table else pa.Table.from_batches([batch])
        self.names = _each_once(self._table.column_names)

    def rows(self) -> Iterator[dict[Any, object]]:
        from fullrecall.datasets.parquet import arrow_rows

        for _, row in arrow_rows(self._table.to_batches(_ROWS_AT_ONCE)):
            yield row

    def column(self, name: str) -> list[Any]:
        values: list[Any] = self._table.column(name).to_pylist()
        return values

    def like(
        self,
        columns: Mapping[str, list[Any]],
        types: Mapping[str, ColumnType],
        *,
        beside: bool,  # noqa: ARG002 - Arrow's rows have no names
    ) -> Any:
        import pyarrow as pa

        types_of_arrow: dict[str, pa.DataType] = {
            "double": pa.float64(),
            "long": pa.int64(),
            "string": pa.string(),
        }
        schema = pa.schema([(name, types_of_arrow[types[name]]) for name in columns])
        made = pa.Table if self._is_table else pa.RecordBatch
        return made.from_pydict(dict(columns), schema=schema)


class _Frame:
    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = _each_once(list(frame.columns))

    def rows(self) -> Iterator[dict[Any, object]]:
        # Not `to_dict("records")`: it builds every row before the first is scored.
        for values in self._frame.itertuples(index=False, name=None):
            yield dict(zip(self.names, values, strict=True))

    def column(self, name: str) -> list[Any]:
        values: list[Any] = self._frame[name].tolist()
        return values

    def like(
        self, columns: Mapping[str, list[Any]], types: Mapping[str, ColumnType], *, beside: bool
    ) -> Any:
        return _frame(columns, types, index=self._frame.index if beside else None)


class _Columns:
    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = columns
        self.names = list(columns)
        for name, column in columns.items():
            if isinstance(column, (str, Mapping)) or not hasattr(column, "__len__"):
                raise InputError(
                    f"a batch's columns are lists or arrays, {name!r} is {shown(column)}: for one "
                    "sample, scorer.score(sample)"
                )
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"a batch's columns are of one length, got {lengths}")

    def rows(self) -> Iterator[dict[Any, object]]:
        for values in zip(*self._columns.values(), strict=True):
            yield dict(zip(self.names, values, strict=True))

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


def _frame(columns: Mapping[str, list[Any]], types: Mapping[str, ColumnType], *, index: Any) -> Any:
    pd = pandas("a batch as a data frame")
    dtypes = {"double": "float64", "long": "int64", "string": "object"}
    return pd.DataFrame(
        {
            name: pd.Series(column, index=index, dtype=dtypes[types[name]])
            for name, column in columns.items()
        },
        index=index,
    )


def _each_once(names: list[Any]) -> list[Any]:
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"the batch has two columns {min(twice, key=str)!r}: drop one")
    return names
