"""The tables that engines pass to their workers, and the same tables with columns of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fullrecall._util.dataframes import eager, is_frame
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.usual_names import snake

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa


def batch_frame(batch: Any) -> nw.DataFrame[Any]:
    """Return a batch as a data frame of narwhals; raise `InputError` for anything else."""
    is_data_set = type(batch).__module__.partition(".")[0] in ("ray", "pyspark", "dask")
    if is_data_set or not is_frame(batch):
        raise InputError(
            f"expected one batch, a data frame or an Arrow table, got {type(batch).__name__} "
            f"{shown(batch)}: call the scorer by Ray's map_batches with batch_format='pyarrow', "
            "Spark's mapInArrow, or Dask's map_partitions"
        )
    return eager(batch)


def with_scores(batch: Any, frame: nw.DataFrame[Any], kept: Sequence[str], scores: pa.Table) -> Any:
    """Return a table of the batch's kind: the `kept` columns of its `frame`, and the scores."""
    import narwhals as nw
    import pyarrow as pa

    own = frame.select(kept)
    if frame.implementation.is_pandas():
        import pandas as pd

        # Keep Arrow's types: pandas's own would turn a missing number into NaN, a list into object.
        columns: Any = scores.to_pandas(types_mapper=pd.ArrowDtype)
        columns.index = nw.maybe_get_index(frame)
        return pd.concat([own.to_native(), columns], axis=1) if kept else columns
    backend: Any = frame.implementation
    wide = nw.from_arrow(scores, backend=backend).with_columns(*own.iter_columns())
    table = wide.select(*kept, *scores.column_names).to_native()
    if not isinstance(batch, pa.RecordBatch):
        return table
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def misspelled(column: str, fields: Iterable[str]) -> str | None:
    """Return the first field whose name a column's name resembles; None if there is none.

    One letter in five may differ: `retrived_ids` is a misspelled `retrieved_ids`, but `question_id`
    is not a misspelled `question`.
    """
    from rapidfuzz.distance import OSA

    name = snake(column)
    near = (field for field in fields if OSA.distance(name, field) <= len(field) // 5)
    return next(near, None)
