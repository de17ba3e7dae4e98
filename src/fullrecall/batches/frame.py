"""Tables that engines hand to their workers: read row by row, and handed back with more columns.

Data frames and tables of any library that narwhals reads: pandas, polars, Arrow, its record batches
too. None of the libraries is imported unless a table of its own comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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


class Frame:
    """A batch as a data frame; raises `InputError` for what is none."""

    def __init__(self, batch: Any) -> None:
        package = type(batch).__module__.partition(".")[0]
        if package in _SCORING:
            raise InputError(
                f"expected one batch, got {package}'s {type(batch).__name__}: {_SCORING[package]} "
                "scores it"
            )
        if not is_frame(batch):
            raise InputError(
                f"expected a data frame or an Arrow table, got {type(batch).__name__} "
                f"{shown(batch)}: Ray hands them out with batch_format='pyarrow'"
            )
        self._native = batch
        self._frame = eager(batch)
        self.names = list(self._frame.columns)

    def __len__(self) -> int:
        return len(self._frame)

    def rows(self) -> Iterator[dict[Any, object]]:
        """Yield the rows as mappings, in order; a cell that cannot be read is its `InputError`."""
        return frame_rows(self._frame, keep_errors=True)

    def column(self, name: str) -> list[Any]:
        """Return a column's values as Python's own."""
        return self._frame[name].to_list()

    def beside(self, kept: Sequence[Any], scores: pa.Table) -> Any:
        """Return a table of this kind: the columns `kept` of this one, and those of `scores`."""
        import narwhals as nw
        import pyarrow as pa

        own = self._frame.select(kept).to_native()
        if isinstance(own, pa.Table):
            names = [*own.column_names, *scores.column_names]
            joined = pa.Table.from_arrays([*own.columns, *scores.columns], names)
            if not isinstance(self._native, pa.RecordBatch):
                return joined
            batches = joined.combine_chunks().to_batches()
            return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=joined.schema)
        if self._frame.implementation.is_pandas():
            import pandas as pd

            # Without Arrow's types a missing number would be NaN, and a list an object.
            frame: Any = scores.to_pandas(types_mapper=pd.ArrowDtype)
            frame.index = nw.maybe_get_index(self._frame)
            return pd.concat([own, frame], axis=1) if kept else frame
        backend: Any = self._frame.implementation
        score_frame: Any = nw.from_arrow(scores, backend=backend)
        parts = [self._frame.select(kept), score_frame] if kept else [score_frame]
        return nw.concat(parts, how="horizontal").to_native()


def ddl(columns: Mapping[str, str], schema: pa.Schema) -> str:
    """Return columns of Spark's types, and those of a schema, as Spark's DDL."""
    types = {**columns, **{column.name: _spark_type(column.type) for column in schema}}
    quoted = {name: name.replace("`", "``") for name in types}
    return ", ".join(f"`{quoted[name]}` {kind}" for name, kind in types.items())


def _spark_type(kind: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        members = (f"{member.name}:{_spark_type(member.type)}" for member in kind)
        return f"struct<{','.join(members)}>"
    return {"double": "double", "int64": "bigint", "int32": "int", "bool": "boolean"}.get(
        str(kind), "string"
    )
