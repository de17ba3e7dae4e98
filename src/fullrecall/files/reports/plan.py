"""Join row groups by row number: keep each row once, and describe missing rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fullrecall.errors import ReportError
from fullrecall.files.reports.columns import ROW
from fullrecall.files.reports.row_groups import RowGroup
from fullrecall.measures.lists import Integers
from fullrecall.table.part import Part, Selection

_RUNS_SHOWN = 5

_LAST = np.iinfo(np.int64).max
"""The number given to rows without a number, so that they are sorted last."""


def assembled(groups: Sequence[RowGroup], rows: int | None) -> tuple[Sequence[Part], str | None]:
    """Return row groups as the parts of one report, and a description of its problems or None.

    Problems are missing, unplanned, and unnumbered rows. `rows` is the number of planned rows, None
    if unknown. Rows with the same number are kept once. If some rows have numbers, all rows without
    one are kept, at the end. Raises `ReportError` if rows with the same number differ in content,
    and if no row has a number although `rows` is given.
    """
    runs = _runs_apart(groups)
    if runs is not None:
        firsts, lasts = (np.array(ends, np.int64) for ends in zip(*runs, strict=True))
        in_order = sorted(groups, key=lambda group: group.first_row or 0)
        return in_order, _missing_or_unplanned(firsts, lasts, rows)
    numbered = [(group, group.numbers(ROW, null=_LAST)) for group in groups]
    if all((numbers == _LAST).all() for _, numbers in numbered):
        if rows is not None:
            raise ReportError(
                "rows=… needs numbered rows: pass position=… to the BatchScorer that scores them"
            )
        return groups, None
    # Sort groups by first row number and name, so that the report does not depend on the order in
    # which files are listed.
    numbered.sort(key=lambda each: (int(each[1].min()), str(each[0])))
    groups = [group for group, _ in numbered]
    row_numbers = np.concatenate([np.zeros(0, np.int64), *(numbers for _, numbers in numbered)])
    order = np.argsort(row_numbers, kind="stable")
    if _repeated(row_numbers[order]).any():
        order = _once(groups, row_numbers, order)
    taken = row_numbers[order]
    known = taken[taken != _LAST]
    stopped = _missing_or_unplanned(*_runs_of(known), rows, len(taken) - len(known))
    if np.array_equal(order, np.arange(len(row_numbers))):
        return groups, stopped
    return [Selection(groups, order)], stopped


def _once(groups: Sequence[RowGroup], row_numbers: Integers, order: Integers) -> Integers:
    """Return `order` with only one row for each row number.

    `order` has indices of rows over all groups, and `row_numbers` has the number of the row at each
    index. Raises `ReportError` if rows with the same number differ in content.
    """
    same = _repeated(row_numbers[order])
    repeats = np.concatenate([same, [False]]) | np.concatenate([[False], same])
    copies: dict[int, set[str]] = defaultdict(set)
    surplus = []
    for row, digest in _digests(groups, np.sort(order[repeats])):
        number = int(row_numbers[row])
        if number in copies:
            surplus.append(row)
        copies[number].add(digest)
    differ = [number for number, digests in copies.items() if len(digests) > 1]
    if differ:
        raise ReportError(
            f"rows that come twice with different content: {_runs(np.sort(differ))}; "
            "number each row once, and leave out all but one of the files that have them"
        )
    return order[~np.isin(order, surplus)]


def _repeated(numbers: Integers) -> NDArray[np.bool_]:
    """Return for each sorted row number, except the last, whether the next one is the same.

    Rows without a number count as different.
    """
    repeated: NDArray[np.bool_] = (np.diff(numbers) == 0) & (numbers[1:] != _LAST)
    return repeated


def _digests(groups: Sequence[RowGroup], rows: Integers) -> Iterable[tuple[int, str]]:
    """Yield each index in `rows` with a digest of the row, which ignores token usage and seconds.

    `rows` are sorted indices over all groups.
    """
    start = 0
    for group in groups:
        own = rows[(rows >= start) & (rows < start + len(group))]
        for row, cells in zip(own.tolist(), group.cells_of(own - start), strict=True):
            content = json.dumps(_without_costs(cells), sort_keys=True, default=str)
            yield row, sha256(content.encode()).hexdigest()
        start += len(group)


def _without_costs(cells: dict[str, Any]) -> dict[str, Any]:
    free = dict(cells)
    # A restarted worker pays and waits again for the same rows: ignore usage and seconds, so that
    # its rows are not taken for different ones.
    for name, value in cells.items():
        if name.endswith("_details") and value is not None:
            free[name] = {**json.loads(value), "usage": None}
        elif name == "retrieval" and value is not None:
            free[name] = {**json.loads(value), "seconds": None}
    return free


def _runs_apart(groups: Sequence[RowGroup]) -> list[tuple[int, int]] | None:
    """Return the first and the last row number of each group, in ascending order.

    Returns None if there is no group, if a group's rows are not numbered consecutively, or if the
    ranges of two groups overlap.
    """
    runs = []
    for group in groups:
        first = group.first_row
        if first is None:
            return None
        runs.append((first, first + len(group) - 1))
    runs.sort()
    are_apart = all(last < first for (_, last), (first, _) in pairwise(runs))
    return runs if runs and are_apart else None


def _missing_or_unplanned(
    firsts: Integers, lasts: Integers, rows: int | None, unnumbered: int = 0
) -> str | None:
    """Describe the missing, the unplanned and the unnumbered rows; return None if there are none.

    `firsts` and `lasts` are the first and last numbers of each consecutive range of rows read,
    ascending. `rows` is the planned total; if it is None, the largest number read is the last
    planned one. `unnumbered` counts the rows without a number.
    """
    planned = int(lasts.max(initial=-1)) + 1 if rows is None else rows
    before = np.concatenate([[-1], np.minimum(lasts, planned - 1)])
    after = np.concatenate([np.minimum(firsts, planned), [planned]])
    gaps, beyond = np.flatnonzero(after - before > 1), lasts >= planned
    missing = int((after - before - 1)[gaps].sum())
    reasons = []
    if missing:
        words = _in_words(before[gaps] + 1, after[gaps] - 1)
        reasons.append(f"{missing:,} of {planned:,} rows are missing: {words}")
    if beyond.any():
        runs = _in_words(np.maximum(firsts[beyond], planned), lasts[beyond])
        reasons.append(f"rows that are not planned are there: {runs}")
    if unnumbered:
        reasons.append(f"rows without a number: {unnumbered:,}")
    return "; ".join(reasons) or None


def _runs(numbers: Integers) -> str:
    """Return ascending numbers in words, with consecutive numbers as ranges."""
    return _in_words(*_runs_of(numbers))


def _runs_of(numbers: Integers) -> tuple[Integers, Integers]:
    """Return the first and the last number of each range of consecutive, ascending numbers."""
    breaks = np.flatnonzero(np.diff(numbers) > 1)
    return numbers[[0, *breaks + 1]], numbers[[*breaks, -1]]


def _in_words(firsts: Integers, lasts: Integers) -> str:
    """Return ranges of numbers in words, such as "500 to 999, 2,000, and 12 more ranges"."""
    runs = list(zip(firsts.tolist(), lasts.tolist(), strict=True))
    shown = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in runs[:_RUNS_SHOWN]]
    more = len(runs) - _RUNS_SHOWN
    if more > 0:
        shown.append(f"and {more:,} more range{'s' if more > 1 else ''}")
    return ", ".join(shown)
