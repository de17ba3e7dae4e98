"""Rows by their place: sorted through files, so that few of them are in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

FILE_ROWS = 200_000
"""Places of a file in which rows wait; there are at most 200 files."""

GATHERED = 100_000
"""Rows that are sorted into these files at once."""

PLACE = " place"
"""A column that no part has: where a row belongs."""


class Spill:
    """Rows in files by their place: file n has those from n * `size` on."""

    def __init__(self, folder: Path, size: int) -> None:
        self.size = size
        self._folder = folder

    def file(self, number: int) -> tuple[pa.Table | None, Places | None]:
        """Return the rows of a file by their place, and their places; None where there is none.

        Rows of one place stand in the order in which they came.
        """
        import numpy as np
        import pyarrow as pa

        path = self._folder / str(number)
        if not path.exists():
            return None, None
        with pa.OSFile(str(path), "rb") as file, pa.ipc.open_stream(file) as stream:
            table = stream.read_all()
        places: Places = table.column(PLACE).to_numpy()
        order = np.argsort(places, kind="stable")
        ordered = table.drop_columns([PLACE]).take(order).combine_chunks()
        return ordered, places[order]


@contextmanager
def spilled(batches: Iterable[tuple[Any, Places]], places: int) -> Iterator[Spill]:
    """Write rows to files by their places, which are below `places`; -1 leaves a row out.

    Each of the batches is a record batch or a table, with the place of each row. The files are in
    the system's temporary directory, and go at the end.
    """
    size = max(FILE_ROWS, -(-places // 200))
    with TemporaryDirectory(prefix="fullrecall-") as folder:
        with ExitStack() as opened:
            files: dict[int, Any] = {}
            waiting: list[Any] = []
            for batch, own in batches:
                waiting.append(_placed(batch, own))
                if sum(one.num_rows for one in waiting) >= GATHERED:
                    _sort_into(files, opened, Path(folder), waiting, size)
                    waiting = []
            if waiting:
                _sort_into(files, opened, Path(folder), waiting, size)
        yield Spill(Path(folder), size)


def plain(batch: Any) -> Any:
    """Return a table without dictionaries, which differ from batch to batch."""
    import pyarrow as pa

    table: Any = pa.table(batch)
    for n, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(n, field.name, table.column(n).cast(field.type.value_type))
    return table.replace_schema_metadata(None)


def _placed(batch: Any, places: Places) -> Any:
    import pyarrow as pa

    return plain(batch).append_column(PLACE, pa.array(places))


def _sort_into(
    files: dict[int, Any], opened: ExitStack, folder: Path, tables: list[Any], size: int
) -> None:
    """Append rows to the files of their places."""
    import numpy as np
    import pyarrow as pa

    table = pa.concat_tables(tables)
    places: Places = table.column(PLACE).to_numpy()
    order = np.argsort(places, kind="stable")
    order = order[places[order] >= 0]
    numbers = places[order] // size
    ordered = table.take(order)
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(numbers)], strict=True):
        number = int(numbers[start])
        if number not in files:
            files[number] = opened.enter_context(
                pa.ipc.new_stream(str(folder / str(number)), table.schema)
            )
        files[number].write_table(ordered.slice(start, stop - start).combine_chunks())
