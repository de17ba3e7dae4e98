"""Two reports of which one is in parts, sample by sample: a join on sample IDs.

IDs are matched by keys of eight bytes, and compared as texts where keys agree. Then both reports
are read side by side; what is counted of a sample is counted by numpy, equal ones together, and
only samples whose targets differ are looked at one by one, as those of small reports are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

from fullrecall.counts import counted
from fullrecall.distributed.join.alignment import Alignment, Side
from fullrecall.distributed.join.largest import Largest
from fullrecall.distributed.join.scores import SideScores
from fullrecall.distributed.join.sequences import Labels, Pairs
from fullrecall.distributed.parquet.columns import PURPOSE
from fullrecall.distributed.parquet.columns import schema as columns_of
from fullrecall.distributed.parquet.shapes import Shaped, Shapes, is_own
from fullrecall.distributed.parquet.stored_rows import StoredRows, group_splits
from fullrecall.errors import ReportError
from fullrecall.extras import pyarrow
from fullrecall.measures import Measure
from fullrecall.report.match import Compared, Match, Places, gaps, plain
from fullrecall.report.report import Report
from fullrecall.results.difference import Changed, Changes
from fullrecall.results.draws import drawn_places
from fullrecall.results.pairs import Common, PairedBy, common_targets
from fullrecall.results.totals import Totals
from fullrecall.table.row import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


class Join(Match):
    """The samples of two reports, one of which at least is not in memory.

    Raises `ReportError` where it is ambiguous which samples belong together, as `report.pairs`
    does.
    """

    def __init__(self, before: Report, after: Report) -> None:
        self._before, self._after = self._stored(before), self._stored(after)
        self._check_ids()
        self._alignment = self._by_id() if self.by == "id" else self._by_position()
        places = self._alignment.places
        self._pairs = places >= 0
        self.pairs = Pairs(self)
        self.only_before = Labels(self._before, self._gone)
        self.only_after = Labels(self._after, self._new)

    @property
    def rows(self) -> Iterator[tuple[Row | None, Row | None]]:
        """Every sample as before and after: the pairs, then those of one report alone."""
        yield from self.both()
        yield from ((row, None) for row in self._before.rows_at(self._gone))
        yield from ((None, row) for row in self._after.rows_at(self._new))

    def both(self) -> Iterator[tuple[Row, Row]]:
        """Yield the samples that both reports have, in the order of the first."""
        for side in self._alignment.sides(*map(_all_columns, (self._before, self._after))):
            nth = side.has.nonzero()[0]
            yield from zip(*self._decoded(side, nth), strict=True)

    def drawn(self, n: int, seed: int) -> Iterator[tuple[Row, Row]]:
        """Yield `n` of the pairs, drawn at random, in their order; all if there are fewer."""
        import numpy as np

        places = self._pairs.nonzero()[0][np.array(drawn_places(len(self), n, seed), np.int64)]
        others = self._alignment.places[places]
        order = np.argsort(others)
        after = list(self._after.rows_at(others[order].tolist()))
        # Where the row of each pair stands among those that were read in their own order.
        back = np.argsort(order).tolist()
        before = self._before.rows_at(places.tolist())
        yield from ((row, after[nth]) for row, nth in zip(before, back, strict=True))

    def pair(self, nth: int) -> tuple[Row, Row]:
        """Return one sample that both reports have."""
        place = int(self._pairs.nonzero()[0][nth])
        return self._before[place], self._after[int(self._alignment.places[place])]

    def __len__(self) -> int:
        """How many samples both reports have."""
        return int(self._pairs.sum())

    def compared(self, places: Places, measures: Sequence[Measure]) -> Compared:
        """Return what changed in the score that stands at these places."""
        unpaired, differing = gaps(len(self._new)), 0
        changes = [Changes(measure) for measure in measures]
        tops = [Largest() for _ in measures]
        for nth, splits in self._splits():
            for read in self._read(places, measures, (nth, splits)):
                read.count_gaps(unpaired)
                for row, both in read.differing():
                    if not isinstance(both, Common):
                        unpaired[both] += 1
                        continue
                    differing += both.differ
                    for each, top in zip(changes, tops, strict=True):
                        old, new = both.before[each.measure], both.after[each.measure]
                        if old is not None and new is not None:
                            top.add([row], [each.add(old, new, read.group(row - read.first))])
                for n, (each, top) in enumerate(zip(changes, tops, strict=True)):
                    read.add(each, n + 1, top)
            for each in changes:
                each.close()
        for each, top in zip(changes, tops, strict=True):
            each.changed = partial(self._changed, top, places)
        return Compared(plain(unpaired), differing, changes)

    def ends(self, places: Places, measure: Measure) -> tuple[Totals, Totals]:
        """Return the changes with what is not measured at its worst and at its best."""
        low, high = Totals(), Totals()
        for nth, splits in self._splits():
            for read in self._read(places, [measure], (nth, splits)):
                read.add_ends(low, high)
                for row, both in read.differing(measure):
                    if isinstance(both, tuple):
                        group = read.group(row - read.first)
                        low.add(both[0], group)
                        high.add(both[1], group)
            low.fold()
            high.fold()
        return low, high

    def _stored(self, report: Report) -> StoredRows:
        rows = report.rows
        if isinstance(rows, StoredRows):
            return rows
        folder = mkdtemp(prefix="fullrecall-")
        finalize(self, rmtree, folder, ignore_errors=True)
        report.save(f"{folder}/report.parquet", default=str)
        return StoredRows(f"{folder}/report.parquet")

    def _check_ids(self) -> None:
        """Find out by what samples are paired; raise `ReportError` where some have no ID."""
        known = {
            name: sum(len(b) - b.column("id").null_count for _, b in rows.batches(["id"]))
            for name, rows in (("before", self._before), ("after", self._after))
        }
        self.by: PairedBy = "id" if any(known.values()) else "position"
        if self.by == "position":
            return
        for name, rows in (("before", self._before), ("after", self._after)):
            if known[name] != len(rows):
                raise ReportError(
                    f"{len(rows) - known[name]:,} of the {len(rows):,} samples of the report "
                    f"{name!r} have no ID, others have one: set the id of each"
                )

    def _by_id(self) -> Alignment:
        import numpy as np

        for seed in count():
            before, after = (rows.keys(seed)[0] for rows in (self._before, self._after))
            if self._collide(before, after):
                continue
            order = np.argsort(after)
            at = np.searchsorted(after, before, sorter=order)
            at = np.minimum(at, len(after) - 1)
            found = order[at] if len(after) else at
            places = np.where(after[found] == before, found, -1) if len(after) else at * 0 - 1
            del before, after, order, at, found
            alignment = Alignment(self._before, self._after, places)
            if self._agree(alignment):
                break
        self._gone, self._new = _alone(alignment.places, len(self._after))
        if not (alignment.places >= 0).any():
            ours, theirs = (
                rows[0].sample.id if len(rows) else None for rows in (self._before, self._after)
            )
            raise ReportError(
                f"no sample is in both reports: their IDs differ, such as {ours!r} before and "
                f"{theirs!r} after"
            )
        return alignment

    def _collide(self, *keys: Any) -> bool:
        """Whether two IDs share a key; raises `ReportError` where they are the same ID."""
        import numpy as np

        collide = False
        for name, rows, own in zip(
            ("before", "after"), (self._before, self._after), keys, strict=True
        ):
            ordered = np.sort(own)
            if not (ordered[1:] == ordered[:-1]).any():
                continue
            for repeated in rows.repeated_ids():
                raise ReportError(
                    f"sample ID {repeated!r} appears twice in the report {name!r}: use unique "
                    "ids, and a common group for samples that are not independent"
                )
            collide = True
        return collide

    def _agree(self, alignment: Alignment) -> bool:
        """Whether all pairs have the same ID; warns of those that ask another question."""
        pc = pyarrow(PURPOSE).compute

        reworded, first = 0, None
        for side in alignment.sides(["id", "user_input"], ["id", "user_input"]):
            before = side.before.filter(_flags(side.has))
            if not pc.all(pc.equal(before.column(0), side.after.column(0)), min_count=0).as_py():
                return False
            other = pc.not_equal(before.column(1), side.after.column(1)).fill_null(False)  # noqa: FBT003
            if other.true_count:
                reworded += other.true_count
                first = first or before.column(0).filter(other)[0].as_py()
        if reworded:
            warnings.warn(
                f"{counted(reworded, 'sample')} with the same ID and another question, such as "
                f"{first!r}: they are compared by their IDs",
                stacklevel=7,
            )
        return True

    def _by_position(self) -> Alignment:
        import numpy as np

        pc = pyarrow(PURPOSE).compute

        ours, theirs = len(self._before), len(self._after)
        if ours != theirs:
            raise ReportError(
                f"{counted(ours, 'sample')} before and {theirs:,} after, none with an ID: "
                "which belong together? Give each sample an id"
            )
        alignment = Alignment(self._before, self._after, np.arange(ours))
        self._gone = self._new = alignment.places[:0]
        for side in alignment.sides(["user_input"], ["user_input"]):
            questions = side.before.column(0), side.after.column(0)
            other = pc.not_equal(*questions).fill_null(False)  # noqa: FBT003
            if other.true_count:
                row = other.index(True).as_py()
                before, after = (column[row].as_py() for column in questions)
                raise ReportError(
                    f"sample #{side.first + row + 1} asks {before!r} before and {after!r} after, "
                    "and the samples have no IDs: set the id of each, or keep them in one order"
                )
        return alignment

    def _splits(self) -> Iterator[tuple[int, int]]:
        return group_splits((self._before, self._after))

    def _read(
        self, places: Places, measures: Sequence[Measure], split: tuple[int, int]
    ) -> Iterator[SideScores]:
        """Yield both reports side by side, with what is read of one score."""
        methods = self._before.methods[places[0]], self._after.methods[places[1]]
        shapes = tuple(Shapes(method, measures) for method in methods)
        names = [[*each.names, each.columns.targets, "group"] for each in shapes]
        whole = not all(map(is_own, measures)) or self._differ(shapes)
        if whole:
            names = [*map(_all_columns, (self._before, self._after))]
        for side in self._alignment.sides(*names):
            one = self._shaped(self._before, shapes[0], side.first, side.before)
            two = self._shaped(self._after, shapes[1], None, side.after)
            targets = shapes[0].columns.targets, shapes[1].columns.targets
            named = not all(map(is_own, measures))
            yield SideScores(side, (one, two), targets, self._decoded, places, split, named=named)

    def _differ(self, shapes: tuple[Shapes, ...]) -> bool:
        """Whether any sample has other targets in one report than in the other."""
        before, after = (each.columns.targets for each in shapes)
        for side in self._alignment.sides([before], [after]):
            ours = side.before.column(0).filter(_flags(side.has)).fill_null(0)
            if not ours.equals(side.after.column(0).fill_null(0)):
                return True
        return False

    def _decoded(self, side: Side, nth: Any) -> tuple[Iterator[Row], Iterator[Row]]:
        """Return the rows of a side, of all columns, before and after."""
        import pyarrow as pa

        places = (side.first + nth).tolist()
        own = side.has.cumsum()[nth] - 1
        return (
            self._before.decoded(side.before.take(pa.array(nth)), places),
            self._after.decoded(
                side.after.take(pa.array(own)), self._alignment.places[places].tolist()
            ),
        )

    def _shaped(self, rows: StoredRows, shapes: Shapes, first: int | None, batch: Any) -> Shaped:
        """Return the results of a score in a batch; of rows that stand apart if `first` is None."""
        if first is not None:
            return rows.shaped(shapes, first, batch)
        try:
            return shapes.of(batch)
        except ReportError:
            for start, part in rows.batches(shapes.names):  # to name its place
                rows.shaped(shapes, start, part)
            raise

    def _changed(self, top: Largest, places: Places) -> list[Changed]:
        chosen = top.places()
        found: dict[int, Changed] = {}
        for place, (one, two) in zip(sorted(chosen), self.pairs_at(sorted(chosen)), strict=True):
            both = common_targets(one.results[places[0]], two.results[places[1]])
            if isinstance(both, Common):
                found[place] = Changed(one, two, both)
        return [found[place] for place in chosen]

    def pairs_at(self, places: Sequence[int]) -> Iterator[tuple[Row, Row]]:
        """Yield the samples at these places of the first report, which ascend."""
        others = self._alignment.places[list(places)].tolist()
        there = sorted(others)
        rows = dict(zip(there, self._after.rows_at(there), strict=True))
        for row, other in zip(self._before.rows_at(places), others, strict=True):
            yield row, rows[other]


def _alone(places: Any, others: int) -> tuple[Any, Any]:
    """Return the places of the rows that the first, and of those that the second has alone."""
    import numpy as np

    new = np.ones(others, bool)
    new[places[places >= 0]] = False
    return np.flatnonzero(places < 0), np.flatnonzero(new)


def _all_columns(rows: StoredRows) -> list[str]:
    names: list[str] = columns_of(rows.methods).names
    return names


def _flags(values: Flags) -> Any:
    import pyarrow as pa

    return pa.array(values)
