"""One score in some samples of both reports: what is read, and counted, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fullrecall.distributed.join.alignment import Side
from fullrecall.distributed.join.largest import Largest
from fullrecall.distributed.parquet.keys import keys_of
from fullrecall.distributed.parquet.shapes import Shaped
from fullrecall.measures import Measure
from fullrecall.report.match import Places
from fullrecall.result import Status
from fullrecall.results.difference import Changes
from fullrecall.results.pairs import Gap, common_targets, ends_of_change
from fullrecall.results.totals import Totals
from fullrecall.table.row import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

Decoded: TypeAlias = Callable[[Side, Any], tuple[Iterator[Row], Iterator[Row]]]
"""What returns the rows of a side at some places, of all columns: before, and after."""

_NO_CHANGE = 1e-9
"""Values that differ by less differ by rounding, as in `report.pairs`."""


class SideScores:
    """Some samples of both reports: what is read of one score, row by row of the first."""

    def __init__(  # noqa: PLR0917 - what stands side by side
        self,
        side: Side,
        read: tuple[Shaped, Shaped],
        targets: tuple[str, str],
        decoded: Decoded,
        places: Places,
        split: tuple[int, int],
        *,
        named: bool,
    ) -> None:
        import numpy as np

        self.first = side.first
        self._side, self._places, self._decoded = side, places, decoded
        self._one, self._two = read
        self._groups = _groups(side)
        kept = _kept(self._groups, side, split)
        one, two = self._one, self._two
        scored_before, scored_after = (each.are(Status.SCORED) for each in (one, two))
        unscored_before, unscored_after = (each.are(Status.UNSCORED) for each in (one, two))
        undefined = one.are(Status.UNDEFINED)
        size = len(side.has)
        self._at = side.has.cumsum() - 1
        self._gone = kept & ~side.has
        self._undefined = undefined
        self._unscored = np.zeros(size, bool)
        self._scored = np.zeros(size, bool)
        other_scored, other_unscored = np.zeros(size, bool), np.zeros(size, bool)
        other_scored[side.has], other_unscored[side.has] = scored_after, unscored_after
        there = kept & side.has
        self._unscored = there & (unscored_before | other_unscored)
        self._scored = there & scored_before & other_scored
        self._one_undefined = there & ~self._unscored & (scored_before ^ other_scored)
        self._both_undefined = there & ~self._unscored & ~scored_before & ~other_scored
        ours, theirs = (
            batch.column(name).fill_null(0).to_numpy(zero_copy_only=False)
            for batch, name in zip((side.before, side.after), targets, strict=True)
        )
        same = np.zeros(size, bool)
        same[side.has] = ours[side.has] == theirs
        apart = np.ones(size, bool) if named else ~same
        self._common = self._scored & ~apart
        self._apart = self._scored & apart
        self._same = same

    def group(self, nth: int) -> str | None:
        """Return the group of a row."""
        return None if self._groups is None else self._groups[nth]

    def count_gaps(self, unpaired: Counter[Gap]) -> None:
        """Count why rows are not compared, but for those whose targets have to be looked at."""
        unpaired["unscored"] += int(self._unscored.sum())
        unpaired["undefined_in_one"] += int(self._one_undefined.sum())
        undefined = int(self._both_undefined.sum()) + int((self._gone & self._undefined).sum())
        unpaired["undefined"] += undefined
        unpaired["only_before"] += int((self._gone & ~self._undefined).sum())

    def differing(self, measure: Measure | None = None) -> Iterator[tuple[int, Any]]:
        """Yield each row whose targets have to be looked at, with what is common, or its ends."""
        nth = self._apart.nonzero()[0]
        if not len(nth):
            return
        place, other = self._places
        rows = zip(*self._decoded(self._side, nth), strict=True)
        for row, (one, two) in zip(nth.tolist(), rows, strict=True):
            before, after = one.results[place], two.results[other]
            made: Any
            if measure is None:
                made = common_targets(before, after)
            else:
                made = ends_of_change(before, after, measure)
            yield self.first + row, made

    def add(self, changes: Changes, nth: int, top: Largest) -> None:
        """Add the values of the nth measure to its changes."""
        import numpy as np

        rows = np.flatnonzero(self._common)
        before, after = self._one.values(nth)[rows], self._two.values(nth)[self._at[rows]]
        known = ~(np.isnan(before) | np.isnan(after))
        rows, before, after = rows[known], before[known], after[known]
        moved = after - before
        moved[np.abs(moved) <= _NO_CHANGE] = 0.0
        top.add(self.first + rows, moved)
        _counted(self._groups, rows, changes.add, before, after)

    def add_ends(self, low: Totals, high: Totals) -> None:
        """Add the least and the largest change of each row, but for those to be looked at."""
        import numpy as np

        old = self._one.values(1)
        new = np.full(len(old), np.nan)
        new[self._side.has] = self._two.values(1)
        no_old, no_new = np.isnan(old), np.isnan(new)
        moved = new - old
        moved[np.abs(moved) <= _NO_CHANGE] = 0.0
        least = np.where(~no_old & no_new, -old, np.where(no_old & ~no_new, new - 1, -1.0))
        most = np.where(~no_old & no_new, 1 - old, np.where(no_old & ~no_new, new, 1.0))
        known = self._common & ~no_old & ~no_new
        least, most = np.where(known, moved, least), np.where(known, moved, most)
        gaps = self._unscored | self._one_undefined | (self._gone & ~self._undefined)
        rows = np.flatnonzero(known | gaps)

        def add(one: float, two: float, group: str | None, times: int = 1) -> None:
            low.add(one, group, times=times)
            high.add(two, group, times=times)

        _counted(self._groups, rows, add, least[rows], most[rows])


def _counted(
    groups: Sequence[str | None] | None,
    rows: Any,
    add: Callable[..., Any],
    ones: Floats,
    twos: Floats,
) -> None:
    """Add pairs of values: equal ones together, those of groups one by one."""
    import numpy as np

    alone = np.ones(len(rows), bool)
    if groups is not None:
        own = [groups[row] for row in rows.tolist()]
        alone = np.array([group is None for group in own], dtype=bool)
        for nth in np.flatnonzero(~alone).tolist():
            add(float(ones[nth]), float(twos[nth]), own[nth])
    if not alone.any():
        return
    first, ones_at = np.unique(ones[alone], return_inverse=True)
    second, twos_at = np.unique(twos[alone], return_inverse=True)
    both, times = np.unique(ones_at * len(second) + twos_at, return_counts=True)
    for code, often in zip(both.tolist(), times.tolist(), strict=True):
        add(float(first[code // len(second)]), float(second[code % len(second)]), None, often)


def _groups(side: Side) -> Sequence[str | None] | None:
    """Return the group of each row, that of the first report before; None where none has one."""
    ours, theirs = side.before.column("group"), side.after.column("group")
    if ours.null_count == len(ours) and theirs.null_count == len(theirs):
        return None
    groups: list[str | None] = ours.to_pylist()
    for row, group in zip(side.has.nonzero()[0].tolist(), theirs.to_pylist(), strict=True):
        if groups[row] is None:
            groups[row] = group
    return groups


def _kept(groups: Sequence[str | None] | None, side: Side, split: tuple[int, int]) -> Flags:
    """Return which rows are in a split: by their group's key; those without one in the first."""
    import numpy as np
    import pyarrow as pa

    nth, splits = split
    if groups is None or splits == 1:
        return np.full(len(side.has), nth == 0)
    array = pa.array(groups, pa.string())
    known = array.is_valid().to_numpy(zero_copy_only=False)
    inside: Flags = np.where(known, keys_of(array) % np.uint64(splits) == nth, nth == 0)
    return inside
