"""Parts that workers wrote, made one report: each row once, in the order of their positions.

Parts that have rows of their own are taken as they are. Where parts overlap, lie between each
other's rows, or are small, their rows are sorted by position and written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fullrecall.distributed.parquet import columns
from fullrecall.distributed.parquet.directory import prepared
from fullrecall.distributed.parquet.manifest import Manifest, PartRecord
from fullrecall.distributed.parquet.part import GROUP, Part, write_table
from fullrecall.distributed.parquet.staging import Staging, publish
from fullrecall.distributed.ranges import Runs, joined, runs_of_sorted
from fullrecall.distributed.spill import PLACE, spilled
from fullrecall.errors import ReportError
from fullrecall.result import Method

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_SMALL = 4
"""Parts with less than this fraction (1 in …) of a row group are written together."""


@dataclass(frozen=True)
class Piece:
    """A part that a worker wrote: its file, which rows it has, and a digest of their samples.

    `scattered`: `runs` are the first and the last of its rows, and their places are in the file.
    """

    path: Path
    record: PartRecord
    runs: Runs
    content: str
    scattered: bool

    @property
    def first(self) -> int:
        """The position of the first row."""
        return self.runs[0][0]

    @property
    def last(self) -> int:
        """The position of the last row."""
        return self.runs[-1][1]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        return {
            "path": str(self.path),
            "record": self.record.model_dump(mode="json"),
            "runs": self.runs,
            "content": self.content,
            "scattered": self.scattered,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Self:
        """Return what `to_dict` wrote; raises `ReportError` for what it cannot write."""
        try:
            return cls(
                Path(plain["path"]),
                PartRecord.read(plain["record"]),
                tuple((int(first), int(last)) for first, last in plain["runs"]),
                str(plain["content"]),
                bool(plain["scattered"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ReportError(f"it names no part: {error!r}") from None


class Assembly:
    """The report of a directory, made of pieces that come in any order, as often as they like."""

    def __init__(self, directory: Path, methods: Sequence[Method]) -> None:
        self._directory = prepared(directory)
        self._methods = tuple(methods)
        self._pieces: dict[tuple[Runs, str], Piece] = {}

    def add(self, piece: Piece) -> None:
        """Add a part; of one that comes again, as a task tried twice gives it, the first stays.

        Raises `ReportError` where it has other samples at the same positions.
        """
        key = piece.runs, piece.content if piece.scattered else ""
        known = self._pieces.setdefault(key, piece)
        if known.content != piece.content:
            raise _differ(piece.first, piece.last)

    @property
    def covered(self) -> Runs:
        """The positions of the rows that are there."""
        import numpy as np

        plain = joined(
            run for one in self._pieces.values() if not one.scattered for run in one.runs
        )
        scattered = [self._places(one) for one in self._pieces.values() if one.scattered]
        if not scattered:
            return plain
        return joined([*plain, *runs_of_sorted(np.unique(np.concatenate(scattered)))])

    def publish(self, stopped: str | None, job: str) -> None:
        """Put the report into its directory, in the place of the one before.

        Raises `ReportError` where rows of one position are of different samples, for a part that
        is missing or was changed, and where another run is writing to the directory.
        """
        staging = Staging(self._directory)
        try:
            where: dict[str, Path] = {}
            parts: list[PartRecord] = []
            for pieces in self._clusters():
                if len(pieces) == 1 and not pieces[0].scattered:
                    made = [(pieces[0].record, pieces[0].path)]
                else:
                    made = [
                        (record, staging.folder / record.file)
                        for record in self._sorted(pieces, staging.folder)
                    ]
                for record, path in made:
                    parts.append(record)
                    where[record.file] = path
            manifest = Manifest.of(self._methods, parts, stopped=stopped)
            publish(self._directory, manifest, where, job=job)
        finally:
            staging.close()

    def _clusters(self) -> Iterator[list[Piece]]:
        """Yield pieces in order: those between whose rows others lie together, and small ones."""
        small: list[Piece] = []
        for cluster in self._tangled():
            if sum(piece.record.rows for piece in cluster) < GROUP // _SMALL:
                small += cluster
                if sum(piece.record.rows for piece in small) >= GROUP:
                    yield small
                    small = []
                continue
            if small:
                yield small
                small = []
            yield cluster
        if small:
            yield small

    def _tangled(self) -> Iterator[list[Piece]]:
        cluster: list[Piece] = []
        end = -1
        for piece in sorted(self._pieces.values(), key=lambda one: (one.first, one.last)):
            if cluster and piece.first > end:
                yield cluster
                cluster = []
            cluster.append(piece)
            end = max(end, piece.last)
        if cluster:
            yield cluster

    def _sorted(self, pieces: Sequence[Piece], folder: Path) -> Iterator[PartRecord]:
        """Write the rows of pieces anew, each position once."""
        first = min(piece.first for piece in pieces)
        size = max(piece.last for piece in pieces) - first + 1
        with spilled(self._placed(pieces, first), size) as spill:
            tables = (spill.file(n) for n in range(-(-size // spill.size)))
            for number, table in enumerate(_grouped(_distinct(tables, first))):
                yield write_table(folder, f"{first} {number}", self._methods, table)

    def _placed(self, pieces: Sequence[Piece], first: int) -> Iterator[tuple[Any, Places]]:
        """Yield the rows of pieces with their places from the first position on."""
        names = columns.schema(self._methods).names
        for piece in pieces:
            places, at = self._places(piece) - first, 0
            for _, batch in self._part(piece).batches(names):
                yield batch, places[at : at + batch.num_rows]
                at += batch.num_rows

    def _places(self, piece: Piece) -> Places:
        """Return the position of each row of a piece."""
        import numpy as np

        if not piece.scattered:
            return np.concatenate([np.arange(first, last + 1) for first, last in piece.runs])
        read = [
            batch.column(0).to_numpy(zero_copy_only=False)
            for _, batch in self._part(piece).batches([PLACE])
        ]
        return np.concatenate(read)

    def _part(self, piece: Piece) -> Part:
        more = [PLACE] if piece.scattered else []
        return Part(piece.path.parent, piece.record, self._methods, 0, more=more)


def _distinct(
    files: Iterable[tuple[pa.Table | None, Places | None]], first: int
) -> Iterator[pa.Table]:
    """Yield rows with each place once; raise `ReportError` where two of one place differ."""
    import numpy as np

    for table, places in files:
        if table is None or places is None:
            continue
        again = np.flatnonzero(np.diff(places) == 0) + 1
        if len(again):
            samples = table.select(columns.SAMPLE)
            both = np.union1d(again, again - 1)
            rows = dict(zip(both.tolist(), samples.take(both).to_pylist(), strict=True))
            for row in again.tolist():
                if rows[row] != rows[row - 1]:
                    place = int(places[row]) + first
                    raise _differ(place, place)
            table = table.take(np.delete(np.arange(len(places)), again))  # noqa: PLW2901
        yield table


def _grouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same rows in tables of a row group each."""
    import pyarrow as pa

    left: pa.Table | None = None
    for table in tables:
        whole = table if left is None else pa.concat_tables([left, table])
        at = 0
        while whole.num_rows - at >= GROUP:
            yield whole.slice(at, GROUP)
            at += GROUP
        left = whole.slice(at)
    if left is not None and left.num_rows:
        yield left


def _differ(first: int, last: int) -> ReportError:
    rows = f"position {first:,}" if first == last else f"positions {first:,} to {last:,}"
    return ReportError(
        f"{rows} stand for different samples: number the rows of the whole data set, from 0"
    )
