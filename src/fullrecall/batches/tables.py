"""Tables that engines hand to their workers: read row by row, and handed back with more columns.

Data frames and tables of any library that narwhals reads (pandas, polars, Arrow, its record
batches too), and mappings of a name to a column, which is a list or a NumPy array. None of the
libraries is imported unless a table of its own comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fullrecall.dataframes import eager, frame_rows, is_frame
from fullrecall.errors import InputError
from fullrecall.identifiers import shown

if TYPE_CHECKING:
    import pyarrow as pa

_SCORING = {
    "ray": 'data.map_batches(scorer, batch_format="pyarrow")',
    "pyspark": "data.mapInArrow(scorer.over, scorer.schema(data))",
    "dask": "data.map_partitions(scorer, meta=scorer.meta(data))",
}
"""Engines by their package: how each applies a scorer to its batches."""


class Batch(Protocol):
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

    def beside(self, kept: Sequence[Any], scores: pa.Table) -> Any:
        """Return a table of this kind: the columns `kept` of this one, and those of `scores`."""
        ...


def batch_of(batch: object) -> Batch:
    """Return a batch as a table; raise `InputError` where it is none that we know."""
    package = type(batch).__module__.partition(".")[0]
    if package in _SCORING:
        raise InputError(
            f"expected one batch, got {package}'s {type(batch).__name__}: {_SCORING[package]} "
            "scores it"
        )
    if isinstance(batch, Mapping):
        return _Columns(batch)
    if is_frame(batch):
        return _Frame(batch)
    raise InputError(
        "expected a data frame, an Arrow table or a mapping of names to columns, got "
        f"{type(batch).__name__} {shown(batch)}"
    )


def ddl(columns: Mapping[str, str], schema: pa.Schema) -> str:
    """Return columns of Spark's types, and those of a schema, as Spark's DDL."""
    every = {**columns, **{each.name: _spark_type(each.type) for each in schema}}
    quoted = {name: name.replace("`", "``") for name in every}
    return ", ".join(f"`{quoted[name]}` {kind}" for name, kind in every.items())


def _spark_type(kind: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        inside = (f"{each.name}:{_spark_type(each.type)}" for each in kind)
        return f"struct<{','.join(inside)}>"
    return {"double": "double", "int64": "bigint", "int32": "int"}.get(str(kind), "string")


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

    def beside(self, kept: Sequence[Any], scores: pa.Table) -> Any:
        import narwhals as nw
        import pyarrow as pa

        own = self._frame.select(kept).to_native()
        if isinstance(own, pa.Table):
            both = pa.table({**_named(own), **_named(scores)})
            return _as_batch(both) if isinstance(self._native, pa.RecordBatch) else both
        if self._frame.implementation.is_pandas():
            import pandas as pd

            frame: Any = scores.to_pandas(types_mapper=pd.ArrowDtype)
            frame.index = nw.maybe_get_index(self._frame)
            return pd.concat([own, frame], axis=1) if kept else frame
        backend: Any = self._frame.implementation
        ours: Any = nw.from_arrow(scores, backend=backend)
        parts = [self._frame.select(kept), ours] if kept else [ours]
        return nw.concat(parts, how="horizontal").to_native()


def _named(table: pa.Table) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    import pyarrow as pa

    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


class _Columns:
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

    def column(self, name: str) -> list[Any]:
        column = self._columns[name]
        values: list[Any] = column.tolist() if hasattr(column, "tolist") else list(column)
        return values

    def beside(self, kept: Sequence[Any], scores: pa.Table) -> Any:
        own = {name: self._columns[name] for name in kept}
        if not any(hasattr(column, "dtype") for column in self._columns.values()):
            return {**own, **scores.to_pydict()}
        arrays = _named(scores)
        return {**own, **{name: _array(column) for name, column in arrays.items()}}


def _array(column: Any) -> Any:
    """Return a column as a NumPy array, lists as Python's own: Ray knows no arrays in arrays."""
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        return column.to_numpy()
    cells = np.empty(len(column), object)
    cells[:] = column.to_pylist()
    return cells
