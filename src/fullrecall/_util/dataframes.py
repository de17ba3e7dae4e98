"""Read and make data frames and tables of any library, each imported only when needed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from fullrecall._util.extras import imported
from fullrecall._util.parameters import check_choice
from fullrecall._util.values import shown
from fullrecall.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
"""The library of an exported frame."""

Cells: TypeAlias = type
"""The type of a column: `str`, `float`, `int`, or `bool`; any of them may contain None."""

_EXTRAS: Mapping[str, str] = {"pandas": "pandas", "polars": "polars", "pyarrow": "parquet"}


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame or a table of any library."""
    if isinstance(value, (list, tuple, Mapping, Iterator)) or _package(value) == "datasets":
        return False  # a Hugging Face dataset iterates over its own rows
    # Check the type, since reading a lazy frame's attribute would compute its schema.
    return any(hasattr(type(value), name) for name in ("columns", "column_names"))


def is_missing(cell: object) -> bool:
    """Return whether a cell has no value: None, NaN, NA or NaT."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):  # without importing pandas
        return True
    return isinstance(cell, float) and cell != cell  # noqa: PLR0124 - NaN


def plain_value(value: object) -> Any:
    """Convert arrays, tensors, NumPy scalars and Spark rows to plain values, at any depth.

    A named tuple, such as a Reference, is returned unchanged.
    """
    # Most cells are flat: without this check, reading rows takes a seventh longer.
    if type(value) in _FLAT:
        return value
    convert = getattr(value, "tolist", None)
    if convert is not None:
        value = convert()
    if type(value) in (list, tuple):
        items = cast("list[object]", value)
        return items if is_flat(items) else list(map(plain_value, items))
    if isinstance(value, Mapping):
        return {key: plain_value(content) for key, content in value.items()}
    as_dict = getattr(value, "asDict", None)  # a Row of Spark, which is a tuple
    return value if as_dict is None else as_dict(recursive=True)


_FLAT = frozenset({str, int, float, bool, type(None)})


def is_flat(items: Iterable[object]) -> bool:
    """Return whether all items are plain values that contain no further values."""
    return _FLAT.issuperset(map(type, items))


def eager(frame: Any) -> nw.DataFrame[Any]:
    """Return a frame of any library as a narwhals frame; a lazy frame is collected.

    Raises `InputError` for a type that narwhals does not read, and for two columns of one name.
    """
    import narwhals as nw

    if hasattr(type(frame), "from_struct_array"):  # Arrow's record batch
        import pyarrow as pa

        frame = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
    if _package(frame) == "dask":
        frame = frame.compute()  # to pandas, without a plug-in
    names = list(getattr(frame, "column_names", ()))
    if not names and hasattr(type(frame), "itertuples"):
        names = list(frame.columns)
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


class FrameRow(Mapping[Any, Any]):
    """A row of some columns of a frame, which are not copied."""

    __slots__ = ("columns", "index")

    def __init__(self, columns: Mapping[Any, Sequence[Any]], index: int) -> None:
        self.columns, self.index = columns, index

    def __getitem__(self, name: Any) -> Any:
        return self.columns[name][self.index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class FrameColumn(Sequence[Any]):
    """A column of lists of IDs as an Arrow array; a cell becomes a Python value when it is read."""

    def __init__(self, arrow: Any) -> None:
        self.arrow = arrow
        self._piece, self._cells = -1, list[Any]()

    def __len__(self) -> int:
        return len(self.arrow)

    def __getitem__(self, key: Any) -> Any:
        """Return a cell, or the column of a slice."""
        if isinstance(key, slice):
            return FrameColumn(self.arrow[key])
        piece, nth = divmod(key, _PIECE)
        if piece != self._piece:
            self._cells = self.arrow[piece * _PIECE : (piece + 1) * _PIECE].to_pylist()
            self._piece = piece
        return self._cells[nth]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.arrow.to_pylist())


_PIECE = 256
"""The number of cells that become Python values together."""


def joined_cells(pieces: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Return the cells of several pieces of a column, one after another."""
    if len(pieces) == 1:
        return pieces[0]
    if all(isinstance(piece, FrameColumn) for piece in pieces):
        import pyarrow as pa

        return FrameColumn(pa.concat_arrays([piece.arrow for piece in pieces]))  # type: ignore[attr-defined]
    return list(chain.from_iterable(pieces))


def frame_rows(frame: Any) -> Iterator[FrameRow]:
    """Yield the rows of a frame of any library, or of narwhals, in order.

    Raises `InputError` for a cell that cannot be read.
    """
    for rows, columns, errors in frame_columns(frame):
        for index in range(len(rows)):
            if index in errors:
                raise errors[index].at(line=rows[index])
            yield FrameRow(columns, index)


def frame_columns(
    frame: Any, names: Sequence[str] | None = None
) -> Iterator[tuple[range, dict[Any, Sequence[Any]], dict[int, InputError]]]:
    """Yield the chunks of a frame: the 1-based row numbers, the cells by column, and the errors.

    The errors are those of rows with an unreadable cell, by the 0-based index of the row in its
    chunk. `names` are the columns that are read; by default, all.
    """
    read = eager(frame)
    names = read.columns if names is None else names
    maps = [name for name in _map_columns(read) if name in names]
    # Rows are read in chunks, so that the first row is scored before all are read.
    for start in range(0, len(read), _TOGETHER):
        part = read[start : start + _TOGETHER]
        columns = {name: _cells(part[name]) for name in names}
        errors: dict[int, InputError] = {}
        for name in maps:
            pairs, columns[name] = columns[name], (cells := list[Any]())
            for index, cell in enumerate(pairs):
                cells.append(None if cell is None else dict(cell))
                # A duplicate key is an error, as in `strict_json`.
                if cell is not None and len(cells[-1]) < len(cell):
                    problem = f"{name}: a key occurs twice in {shown(cell)}: keep one"
                    errors.setdefault(index, InputError(problem, field=name))
        yield range(start + 1, start + 1 + len(part)), columns, errors


_TOGETHER = 8_192
"""The number of rows of a frame whose cells are read together."""


def _cells(series: nw.Series[Any]) -> Sequence[Any]:
    """Return a column's cells as Python values, or as an Arrow array if it has lists of IDs."""
    import narwhals as nw

    is_arrow = _package(series.to_native()) in _ARROW and "pyarrow" in sys.modules
    if is_arrow and isinstance(kind := series.dtype, nw.List):
        inner: Any = kind.inner
        if inner == nw.String or inner.is_integer():
            arrow = series.to_arrow()
            arrow.validate(full=True)  # Text that is not UTF-8 raises here.
            return FrameColumn(arrow)
    return series.to_list()


_ARROW = frozenset({"pyarrow", "polars"})
"""Libraries whose columns are Arrow's."""


def frame_of(
    columns: Mapping[str, Cells], rows: Iterable[Iterable[Any]], backend: Backend, purpose: str
) -> Any:
    """Return a frame of the library that `backend` names; without rows, it still has the columns.

    JSON input may have a lone surrogate, which UTF-8 cannot encode. Since the libraries keep texts
    as UTF-8, the surrogate is replaced by its escape. Raises `ParameterError` for another backend,
    and `MissingExtraError`, which names `purpose`, if the library is missing.
    """
    check_choice(backend, "backend", get_args(Backend))
    kinds = {encodable(name): kind for name, kind in columns.items()}
    cells = [[encodable(cell) for cell in row] for row in rows]
    # import it first, since narwhals does not name a missing library
    library = imported(backend, backend, _EXTRAS[backend], purpose)
    if backend == "pandas":
        dtypes = {float: "float64", int: "Int64"}
        frame = library.DataFrame(cells, columns=list(kinds))
        return frame.astype({name: dtypes[kind] for name, kind in kinds.items() if kind in dtypes})
    import narwhals as nw

    types: Mapping[Cells, Any] = {
        str: nw.String(),
        float: nw.Float64(),
        int: nw.Int64(),
        bool: nw.Boolean(),
    }
    by_name = {name: [row[position] for row in cells] for position, name in enumerate(kinds)}
    schema = {name: types[kind] for name, kind in kinds.items()}
    return nw.from_dict(by_name, schema, backend=backend).to_native()


def encodable(cell: Any) -> Any:
    """Return a cell in a form that UTF-8 can encode: a lone surrogate becomes its escape."""
    if not isinstance(cell, str) or cell.isascii():
        return cell
    return cell.encode("utf-8", "backslashreplace").decode("utf-8")


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _map_columns(frame: nw.DataFrame[Any]) -> list[str]:
    """Return the columns that are maps in Arrow, which narwhals returns as lists of pairs."""
    table = frame.to_native()
    if _package(table) != "pyarrow":
        return []
    import pyarrow as pa

    return [field.name for field in table.schema if pa.types.is_map(field.type)]
