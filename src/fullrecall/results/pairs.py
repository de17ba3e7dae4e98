"""Which rows of two reports are the same samples, and what of their findings can be compared."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from fullrecall.counts import counted
from fullrecall.errors import ReportError
from fullrecall.findings import Target
from fullrecall.measures import Measure, Recall
from fullrecall.result import Method, Result, Status
from fullrecall.table.lists import Floats, Integers
from fullrecall.table.part import SCORED, UNDEFINED, UNSCORED
from fullrecall.table.table import Table

PairedBy: TypeAlias = Literal["id", "position"]
Gap: TypeAlias = Literal[
    "only_before", "only_after", "unscored", "undefined_in_one", "undefined", "no_common_targets"
]
"""Why a sample is not compared."""

_GAPS: tuple[str, ...] = get_args(Gap)
_COMPARED = -1

_Cell = TypeVar("_Cell", bound=np.generic)

_NO_CHANGE = 1e-9
"""Values that differ by less differ by rounding."""


@dataclass(frozen=True)
class Pairing:
    """Rows of the same samples, in the order of the first table, and those of one table alone."""

    by: PairedBy
    before: Integers
    after: Integers
    only_before: Integers
    only_after: Integers

    @classmethod
    def row_by_row(cls, by: PairedBy, count: int) -> Pairing:
        """Return the pairing of tables that have the same samples in the same rows."""
        rows = np.arange(count)
        return cls(by, rows, rows, rows[:0], rows[:0])

    @property
    def is_row_by_row(self) -> bool:
        """Whether each sample is in the same row of both tables."""
        return self.before is self.after

    def side_by_side(
        self, before: NDArray[_Cell], after: NDArray[_Cell]
    ) -> tuple[NDArray[_Cell], NDArray[_Cell]]:
        """Return the cells of both sides of each pair, given those of all rows of either table."""
        if self.is_row_by_row:
            return before, after
        return before[self.before], after[self.after]


class Common(NamedTuple):
    """Two results over the targets that both have; `differ` says that one has others too."""

    before: Result
    after: Result
    differ: bool


def paired(before: Table, after: Table) -> Pairing:
    """Return the rows of two tables side by side: by ID, by position where none has an ID.

    Raises `ReportError` where that is ambiguous: an ID twice in one report, IDs on some samples
    only, other questions at the same position, or lists of different length without IDs.
    """
    pairing = _matched(before, after)
    _warn_of_other_questions(before, after, pairing)
    return pairing


class ScorePairs:
    """One score in both tables, over paired rows: which are compared, and their values."""

    def __init__(
        self, before: Table, after: Table, pairing: Pairing, scores: tuple[int, int]
    ) -> None:
        self._tables = (before, after)
        self._pairing = pairing
        self._scores = scores

    @cached_property
    def _statuses(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        (before, after), (score, other) = self._tables, self._scores
        return self._pairing.side_by_side(before.status(score), after.status(other))

    @cached_property
    def _gaps(self) -> NDArray[np.int8]:
        """Why each pair is not compared, as an index into `_GAPS`; `_COMPARED` where it is."""
        old, new = self._statuses
        gaps = np.full(len(old), _COMPARED, np.int8)
        gaps[(old == UNDEFINED) | (new == UNDEFINED)] = _GAPS.index("undefined_in_one")
        gaps[(old == UNDEFINED) & (new == UNDEFINED)] = _GAPS.index("undefined")
        gaps[(old == UNSCORED) | (new == UNSCORED)] = _GAPS.index("unscored")
        for pair, common in self._differing.items():
            if not isinstance(common, Common):
                gaps[pair] = _GAPS.index(common)
        return gaps

    @cached_property
    def _differing(self) -> Mapping[int, Common | Gap]:
        """The pairs with different targets, over those that both have, or why not."""
        (before, after), (score, other) = self._tables, self._scores
        old, new = self._statuses
        rows = self._pairing
        unlike = (
            before.target_digests(score)[rows.before] != (after.target_digests(other)[rows.after])
        )
        pairs = np.flatnonzero((old == SCORED) & (new == SCORED) & unlike)
        return {
            pair: common_targets(
                before.result(int(rows.before[pair]), score),
                after.result(int(rows.after[pair]), other),
            )
            for pair in pairs.tolist()
        }

    @property
    def differing(self) -> int:
        """How many of the compared samples have other targets in one report, too."""
        return sum(
            isinstance(common, Common) and common.differ for common in self._differing.values()
        )

    def unpaired(self) -> dict[str, int]:
        """Return how many samples are not compared, by why."""
        frequencies = np.bincount(self._gaps[self._gaps != _COMPARED], minlength=len(_GAPS))
        counts = Counter(dict(zip(_GAPS, frequencies.tolist(), strict=True)))
        counts["only_after"] = len(self._pairing.only_after)
        status = self._tables[0].status(self._scores[0])[self._pairing.only_before]
        undefined = int((status == UNDEFINED).sum())
        counts["undefined"] += undefined
        counts["only_before"] = len(status) - undefined
        return dict(counts)

    def values(self, measure: Measure) -> tuple[Floats, Floats]:
        """Return a measure of each pair before and after, over the targets that both have.

        NaN where a pair is not compared, and where the measure is undefined.
        """
        old, new = self._raw(measure)
        if measure.of_sample:
            missing = np.isnan(old) | np.isnan(new)
            old[missing] = new[missing] = np.nan
            return old, new
        common = {n: c for n, c in self._differing.items() if isinstance(c, Common) and c.differ}
        for pair, side in common.items():
            old[pair], new[pair] = _number(side.before[measure]), _number(side.after[measure])
        missing = (self._gaps != _COMPARED) | np.isnan(old) | np.isnan(new)
        old[missing] = new[missing] = np.nan
        return old, new

    def results(self, pair: int) -> tuple[Result, Result]:
        """Return both results of a pair, over the targets that both have."""
        common = self._differing.get(pair)
        if isinstance(common, Common):
            return common.before, common.after
        (before, after), (score, other) = self._tables, self._scores
        rows = self._pairing
        return (
            before.result(int(rows.before[pair]), score),
            after.result(int(rows.after[pair]), other),
        )

    def ends(self, measure: Measure) -> tuple[Floats, Floats]:
        """Return the least and the largest change that each sample may stand for.

        The pairs, then the samples that only the report before has. A sample that has no score
        after may have lost or gained all there is to; one that has none before may come from
        anywhere; where both are missing, the change may be -1 or 1. NaN where recall is undefined.
        """
        old, new = self.values(measure)
        low = changes(old, new)
        high = low.copy()
        open_ = self._open(measure, low)
        raw = self._raw(measure)
        low[open_], high[open_] = _ends(raw[0][open_], raw[1][open_])
        table, score, alone = self._tables[0], self._scores[0], self._pairing.only_before
        values = table.values(score, measure)[alone]
        least, most = _ends(values, np.full(len(values), np.nan))
        undefined = table.status(score)[alone] == UNDEFINED
        least[undefined] = most[undefined] = np.nan
        return np.concatenate([low, least]), np.concatenate([high, most])

    def _open(self, measure: Measure, changes_: Floats) -> NDArray[np.bool_]:
        """Return which pairs have a change that is not known."""
        if measure.of_sample:
            (before, after), (score, other) = self._tables, self._scores
            gaps = before.gaps(score, measure), after.gaps(other, measure)
            old, new = self._pairing.side_by_side(*gaps)
            open_: NDArray[np.bool_] = np.isnan(changes_) & (old | new)
            return open_
        return ~np.isin(self._gaps, [_COMPARED, _GAPS.index("undefined")])

    def _raw(self, measure: Measure) -> tuple[Floats, Floats]:
        """Return a measure of each pair over the targets that each side has."""
        (before, after), (score, other) = self._tables, self._scores
        return self._pairing.side_by_side(
            before.values(score, measure), after.values(other, measure)
        )


def common_targets(before: Result, after: Result) -> Common | Gap:
    """Return two results of one sample over their common targets, or why they have none.

    A target is the same where its names, grade, and size are. Targets that one side could not
    measure are left out on both.
    """
    statuses = {before.status, after.status}
    if Status.UNSCORED in statuses:
        return "unscored"
    if Status.UNDEFINED in statuses:
        return "undefined_in_one" if Status.SCORED in statuses else "undefined"
    ours, theirs = set(before.targets), set(after.targets)
    if ours == theirs:
        return Common(before, after, differ=False)
    both = ours & theirs
    if not both:
        return "no_common_targets"
    return Common(_over(before, both), _over(after, both), differ=True)


def side_by_side(
    before: Result | None, after: Result | None
) -> tuple[Gap | None, Result | None, Result | None]:
    """Return why two results of one sample are not compared, and both over what is.

    Without a reason both are over their common targets; with one they are as they were given.
    None stands for a sample that a report does not have.
    """
    if before is None or after is None:
        return ("only_after" if before is None else "only_before"), before, after
    both = common_targets(before, after)
    return (None, both.before, both.after) if isinstance(both, Common) else (both, before, after)


def turned(
    before: Result, after: Result, measure: Measure = Recall
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels of the targets that were gained and lost within a measure's cut."""
    old, new = (
        {f.target.label for f in result.paid(measure) if f.found_at(measure.top)}
        for result in (before, after)
    )
    return tuple(sorted(new - old)), tuple(sorted(old - new))


def change(before: float, after: float) -> float:
    """Return the value after less the value before; 0.0 where they differ by rounding."""
    difference = after - before
    return 0.0 if abs(difference) <= _NO_CHANGE else difference


def changes(before: Floats, after: Floats) -> Floats:
    """Return the values after less the values before; 0.0 where they differ by rounding."""
    difference = after - before
    return np.where(np.abs(difference) <= _NO_CHANGE, 0.0, difference)


def same_methods(
    before: Sequence[Method], after: Sequence[Method]
) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the indices of each score that both have, and the names that only one has.

    Raises `ReportError` where they have none in common, or one under which they measured two
    things.
    """
    indices = {method.name: index for index, method in enumerate(after)}
    common = []
    for index, method in enumerate(before):
        if method.name in indices:
            other = indices[method.name]
            _check_same(method, after[other])
            common.append((index, other))
    ours, theirs = ({method.name for method in methods} for methods in (before, after))
    if not common:
        raise ReportError(
            f"the reports have no score in common: {', '.join(sorted(ours))} before, "
            f"{', '.join(sorted(theirs))} after"
        )
    return common, sorted(ours ^ theirs)


def _ends(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest change where not both values can be compared."""
    only_before = ~np.isnan(before) & np.isnan(after)
    only_after = np.isnan(before) & ~np.isnan(after)
    low = np.select([only_before, only_after], [-before, after - 1.0], -1.0)
    high = np.select([only_before, only_after], [1.0 - before, after], 1.0)
    return low, high


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _over(result: Result, targets: set[Target]) -> Result:
    kept = tuple(finding for finding in result.findings if finding.target in targets)
    return replace(result, findings=kept)


def _matched(before: Table, after: Table) -> Pairing:
    """Return the pairing of tables whose IDs are not known to be the same and distinct."""
    ids = {"before": before.ids, "after": after.ids}
    without = {name: names.count(None) for name, names in ids.items()}
    if all(without[name] == len(ids[name]) for name in ids):
        _check_questions(before, after)
        return Pairing.row_by_row("position", len(before))
    for name, missing in without.items():
        if missing:
            raise ReportError(
                f"{missing:,} of the {len(ids[name]):,} samples of the report "
                f"{name!r} have no ID, others have one: set the id of each"
            )
    _check_distinct(ids["before"], "before")
    if ids["before"] == ids["after"]:
        return Pairing.row_by_row("id", len(before))
    _check_distinct(ids["after"], "after")
    return _joined(ids["before"], ids["after"])


def _joined(ours: Sequence[str | None], theirs: Sequence[str | None]) -> Pairing:
    row_of = {name: row for row, name in enumerate(theirs)}
    others = np.fromiter((row_of.get(name, -1) for name in ours), np.int64, len(ours))
    both = others >= 0
    if not both.any():
        raise ReportError(
            f"no sample is in both reports: their IDs differ, such as {next(iter(ours), None)!r} "
            f"before and {next(iter(theirs), None)!r} after"
        )
    new = np.ones(len(theirs), np.bool_)
    new[others[both]] = False
    return Pairing(
        "id", np.flatnonzero(both), others[both], np.flatnonzero(~both), np.flatnonzero(new)
    )


def _check_distinct(ids: Sequence[str | None], report: str) -> None:
    if len(set(ids)) < len(ids):
        twice = next(name for name, count in Counter(ids).items() if count > 1)
        raise ReportError(
            f"sample ID {twice!r} appears twice in the report {report!r}: use unique "
            "ids, and a common group for samples that are not independent"
        )


def _warn_of_other_questions(before: Table, after: Table, pairing: Pairing) -> None:
    ours, theirs = before.questions, after.questions
    if pairing.is_row_by_row and ours == theirs:
        return
    reworded = [
        row
        for row, other in zip(pairing.before.tolist(), pairing.after.tolist(), strict=True)
        if ours[row] != theirs[other] and None not in (ours[row], theirs[other])
    ]
    if reworded:
        warnings.warn(
            f"{counted(len(reworded), 'sample')} with the same ID and another question, such as "
            f"{before.ids[reworded[0]]!r}: they are compared by their IDs",
            stacklevel=5,
        )


def _check_questions(before: Table, after: Table) -> None:
    """Raise `ReportError` unless samples without an ID can be the same by their position."""
    if len(before) != len(after):
        raise ReportError(
            f"{counted(len(before), 'sample')} before and {len(after):,} after, none with an ID: "
            "which belong together? Give each sample an id"
        )
    for row, (ours, theirs) in enumerate(zip(before.questions, after.questions, strict=True)):
        if None not in (ours, theirs) and ours != theirs:
            raise ReportError(
                f"sample #{row + 1} asks {ours!r} before and {theirs!r} after, and the samples "
                "have no IDs: set the id of each, or keep them in one order"
            )


def _check_same(ours: Method, theirs: Method) -> None:
    before, after = _identity(ours), _identity(theirs)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            raise ReportError(
                f"{ours.name} was scored with {name}={before.get(name)!r} before and "
                f"{name}={after.get(name)!r} after, which do not compare: evaluate both in one "
                "way, or pass another name= to one"
            )


def _identity(method: Method) -> Mapping[str, object]:
    described = {"headline": method.headline.name, **method.parameters}
    return {name: _listed(value) for name, value in described.items()}


def _listed(value: object) -> object:
    # A loaded report has lists where the scorer had tuples.
    if isinstance(value, (list, tuple)):
        return [_listed(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _listed(item) for name, item in value.items()}
    return value
