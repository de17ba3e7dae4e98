"""Data frames and tables of any library, read by narwhals; none is imported before one comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fullrecall.errors import InputError
from fullrecall.identifiers import shown

if TYPE_CHECKING:
    import narwhals as nw


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame or a table of some library's."""
    if isinstance(value, (list, tuple, Mapping, Iterator)) or _package(value) == "datasets":
        return False  # a data set of Hugging Face gives its rows itself
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
    if _package(frame) == "dask":
        frame = frame.compute()  # to pandas, with no plug-in
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


def frame_rows(frame: Any, *, keep_errors: bool = False) -> Iterator[dict[Any, object]]:
    """Yield the rows of a frame of any library, or of narwhals, as mappings, in order.

    Raises `InputError` for a cell that cannot be read; with `keep_errors` it stands in its place.
    """
    read = eager(frame)
    maps = _map_columns(read)
    # Not `rows()`: it builds every row before the first is scored.
    for number, row in enumerate(read.iter_rows(named=True), start=1):
        for column in maps:
            try:
                row[column] = map_cell(column, row[column], number)
            except InputError as error:
                if not keep_errors:
                    raise
                row[column] = error
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


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _map_columns(frame: nw.DataFrame[Any]) -> list[str]:
    """Return the columns that are maps in Arrow, which come as lists of pairs."""
    table = frame.to_native()
    if _package(table) != "pyarrow":
        return []
    import pyarrow as pa

    return [field.name for field in table.schema if pa.types.is_map(field.type)]


def _pandas_names(frame: Any) -> list[Any]:
    return list(frame.columns) if hasattr(type(frame), "itertuples") else []
