"""Rows that are in memory: lists of dicts, data frames of any library, Hugging Face, ragas."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from fullrecall.datasets.rows import Columns, Rename, to_samples
from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.sample import Sample

if TYPE_CHECKING:
    import narwhals as nw


def from_rows(rows: Iterable[Any], *, rename: Rename | None = None) -> Iterator[Sample]:
    """Return the samples of any iterable of rows, one at a time.

    `rows` is a list (or generator) of mappings or of `Sample`s, a data frame or table of any
    library that narwhals reads (pandas, polars, pyarrow, DuckDB, Dask, PySpark, …; lazy ones are
    collected), a Hugging Face `Dataset` or `IterableDataset`, or a ragas `EvaluationDataset` or
    `Testset`. Columns bear the names that `Sample` takes, or get them by
    `rename={"theirs": "ours", "junk": None}`. None, NaN, NA and NaT cells are not given. Raises
    `InputError` with the row's number (from 1).
    """
    columns = Columns(rename)
    cell = without_gaps if _is_hugging_face(rows) or is_frame(rows) else _plain
    samples = to_samples(enumerate(rows_of(rows), start=1), columns, cell=cell)
    return _explained(samples) if _package(rows) == "dask" else samples


def _check_rows(rows: object) -> None:
    if isinstance(rows, (str, bytes, os.PathLike)):
        raise InputError(f"rows are meant, got {shown(rows)}: read(path) reads a file")
    if isinstance(rows, Mapping):
        raise InputError(_mapping_problem(rows))
    if not isinstance(rows, Iterable) and not hasattr(rows, "samples"):
        raise InputError(f"an iterable of rows is meant, got {type(rows).__name__} {shown(rows)}")


def without_gaps(value: object) -> object:
    """Return a columnar cell's value without the keys that its row never had.

    Arrow stores a mapping as a struct of every key that *any* row has: a row's `{"d1": 3}` comes
    back as `{"d1": 3, "d2": None}`.
    """
    value = _plain(value)
    if isinstance(value, Mapping):
        return {key: without_gaps(held) for key, held in value.items() if held is not None}
    if isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        return [without_gaps(item) for item in value]
    return value


def _plain(value: object) -> object:
    """Return arrays, tensors, NumPy scalars and rows of Spark, also in lists, as plain values."""
    convert = getattr(value, "tolist", None)
    if convert is not None:
        value = convert()
    # Not `isinstance`: a named tuple, such as a Reference, is one value.
    if type(value) not in (list, tuple):
        as_dict = getattr(value, "asDict", None)  # a Row of Spark, which is a tuple
        return value if as_dict is None else as_dict(recursive=True)
    items = cast("list[object]", value)
    return items if all(type(item) is str for item in items) else [_plain(item) for item in items]


def rows_of(rows: Any) -> Iterator[object]:
    """Return an iterator over the rows of whatever `from_rows` takes.

    Raises `InputError` for what is no iterable of rows.
    """
    if is_frame(rows):
        return frame_rows(rows)
    _check_rows(rows)
    if hasattr(rows, "to_evaluation_dataset"):  # a ragas Testset wraps each of its samples
        rows = rows.to_evaluation_dataset()
    if hasattr(rows, "samples"):
        rows = rows.samples
    if _is_hugging_face(rows):
        rows = _unformatted(rows)
    return iter(rows)


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame or a table of some library's."""
    if isinstance(value, (list, tuple, Mapping, Iterator)) or _is_hugging_face(value):
        return False
    # Of the type: a lazy frame would have to work out its schema.
    return any(hasattr(type(value), name) for name in ("columns", "column_names"))


def eager(frame: Any) -> nw.DataFrame[Any]:
    """Return a frame of any library as one of narwhals; what is lazy is collected.

    Raises `InputError` for what narwhals does not read, and for two columns of one name.
    """
    import narwhals as nw

    if hasattr(type(frame), "from_struct_array"):  # Arrow's record batch
        import pyarrow as pa

        frame = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
    names = list(getattr(frame, "column_names", ())) or _pandas_names(frame)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"the frame has two columns {min(twice, key=str)!r}: drop one")
    try:
        read = nw.from_native(frame)
    except TypeError:
        raise InputError(
            f"expected rows or a data frame, got {type(frame).__name__} {shown(frame)}"
        ) from None
    return read.collect() if isinstance(read, nw.LazyFrame) else read


def frame_rows(frame: Any) -> Iterator[dict[Any, object]]:
    """Yield the rows of a frame of any library, or of narwhals, as mappings, in order."""
    read = eager(frame)
    maps = _map_columns(read)
    number = 0
    # Not `rows()`: it builds every row before the first is scored.
    for row in read.iter_rows(named=True):
        number += 1
        for column in maps:
            row[column] = map_cell(column, row[column], number)
        yield row


def map_cell(
    column: str, pairs: list[tuple[str, object]] | None, number: int
) -> dict[str, object] | None:
    """Return Arrow's key-value pairs as a mapping; two equal keys are an error, as in JSON."""
    if pairs is None:
        return None
    values = dict(pairs)
    if len(values) < len(pairs):
        problem = f"{column}: a key stands twice in {shown(pairs)}: keep one"
        raise InputError(problem, line=number, field=column)
    return values


def _map_columns(frame: nw.DataFrame[Any]) -> list[str]:
    """Return the columns that are maps in Arrow, which come as lists of pairs."""
    table = frame.to_native()
    if type(table).__module__.partition(".")[0] != "pyarrow":
        return []
    import pyarrow as pa

    return [field.name for field in table.schema if pa.types.is_map(field.type)]


def _pandas_names(frame: Any) -> list[Any]:
    return list(frame.columns) if hasattr(type(frame), "itertuples") else []


def _is_hugging_face(rows: object) -> bool:
    return _package(rows) == "datasets"


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _explained(samples: Iterator[Sample]) -> Iterator[Sample]:
    """Yield the samples of a Dask frame, which by default turns lists into texts."""
    try:
        yield from samples
    except InputError as error:
        if "list is meant" not in error.problem:
            raise
        raise InputError(
            f"{error.problem}; Dask turns lists into texts unless "
            "dask.config.set({'dataframe.convert-string': False}) is called before the frame is "
            "made",
            line=error.line,
            field=error.field,
        ) from None


def _unformatted(dataset: Any) -> Any:
    """Return a data set that gives dicts, where it was told to give tables, frames or tensors.

    A transform of the user's own (`"custom"`) may make the very columns that are read: it stays.
    """
    form = getattr(dataset, "format", None)
    if isinstance(form, Mapping) and form.get("type") not in (None, "custom"):
        return dataset.with_format(None)
    return dataset


def _mapping_problem(rows: Mapping[Any, Any]) -> str:
    if rows and all(_is_hugging_face(part) for part in rows.values()):
        return f"rows are meant, got the splits {', '.join(map(repr, rows))}: choose one, d[split]"
    return (
        f"rows are meant, got one mapping {shown(dict(rows))}: wrap one row in a list; for columns "
        "pass a data frame of them"
    )
