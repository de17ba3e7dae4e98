"""Pair the rows of two reports, and select the results and values that can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from fullrecall._util.counts import counted
from fullrecall._util.warning import warn
from fullrecall.errors import ReportError
from fullrecall.measures import Measure, Recall
from fullrecall.measures.findings import Target
from fullrecall.measures.found import SCORED, UNDEFINED, UNJUDGED, UNSCORED
from fullrecall.measures.lists import Floats, Integers
from fullrecall.scorers.result import Method, Result
from fullrecall.stats.bounds import Bracket
from fullrecall.stats.totals import Totals
from fullrecall.table.row import Row
from fullrecall.table.table import Table

PairedBy: TypeAlias = Literal["id", "question", "position"]
Gap: TypeAlias = Literal[
    "only_before",
    "only_after",
    "unscored",
    "undefined_in_one",
    "undefined",
    "unjudged",
    "no_common_targets",
]
"""The reasons for which a sample is not compared."""

_GAPS: tuple[Gap, ...] = get_args(Gap)
_COMPARED = -1
_CLOSED = [_COMPARED, _GAPS.index("undefined"), _GAPS.index("unjudged")]
"""Codes of pairs without a missing value: they are compared, or neither side has a target."""

_EMPTY = (UNDEFINED, UNJUDGED)
"""The statuses of samples without a target."""

_NO_CHANGE = 1e-9
"""The largest difference of two values that counts as rounding."""


@dataclass(frozen=True)
class Pairing:
    """The pairs of rows of two tables that have the same sample, and the rows without a pair.

    `before` and `after` have the two rows of each pair, in the first table's order.
    """

    by: PairedBy
    before: Integers
    after: Integers
    only_before: Integers
    only_after: Integers

    @property
    def is_row_by_row(self) -> bool:
        """Whether both tables have the same samples in the same rows."""
        return self.before is self.after

    def of_before(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the pairs, given the values of the first table's rows."""
        return values if self.is_row_by_row else values[self.before]

    def of_after(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the pairs, given the values of the second table's rows."""
        return values if self.is_row_by_row else values[self.after]


@dataclass(frozen=True)
class ScorePairs:
    """One score in two tables, over paired rows: the pairs that are compared, and their values.

    `scores` has the score's index in each table. `groups` has the group number of each pair, then
    of each row that only the first table has; it is None if no sample names a group.
    """

    before: Table
    after: Table
    pairing: Pairing
    scores: tuple[int, int]
    groups: Integers | None

    @cached_property
    def _statuses(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        before, after = self.before.status(self.scores[0]), self.after.status(self.scores[1])
        return self.pairing.of_before(before), self.pairing.of_after(after)

    @cached_property
    def _gaps(self) -> NDArray[np.int8]:
        """The reason why each pair is not compared, as an index into `_GAPS`; or `_COMPARED`."""
        old, new = self._statuses
        gaps = np.full(len(old), _COMPARED, np.int8)
        old_empty, new_empty = np.isin(old, _EMPTY), np.isin(new, _EMPTY)
        gaps[old_empty | new_empty] = _GAPS.index("undefined_in_one")
        gaps[old_empty & new_empty] = _GAPS.index("undefined")
        gaps[(old == UNJUDGED) & (new == UNJUDGED)] = _GAPS.index("unjudged")
        gaps[(old == UNSCORED) | (new == UNSCORED)] = _GAPS.index("unscored")
        for pair, common in self._differing.items():
            if common is None:
                gaps[pair] = _GAPS.index("no_common_targets")
        return gaps

    @cached_property
    def _differing(self) -> Mapping[int, tuple[Result, Result] | None]:
        """For each pair whose targets differ, both results, or None if no target is common."""
        old, new = self._statuses
        (before, after), rows = self.scores, self.pairing
        if self._has_same_parts:
            differ = self.before.other_targets(before, self.after, after)
        else:
            differ = rows.of_before(self.before.target_digests(before)) != rows.of_after(
                self.after.target_digests(after)
            )
        # Results are created only for these few pairs: most targets are the same.
        pairs = np.flatnonzero((old == SCORED) & (new == SCORED) & differ)
        return {pair: over_common_targets(*self._own_results(pair)) for pair in pairs.tolist()}

    def _own_results(self, pair: int) -> tuple[Result, Result]:
        """Return both results of a pair, each over its own targets."""
        return (
            self.before.result(int(self.pairing.before[pair]), self.scores[0]),
            self.after.result(int(self.pairing.after[pair]), self.scores[1]),
        )

    @property
    def differing(self) -> int:
        """The number of compared samples whose targets differ between the reports."""
        return sum(common is not None for common in self._differing.values())

    def unpaired(self) -> dict[str, int]:
        """Return the number of samples that are not compared, by reason."""
        frequencies = np.bincount(self._gaps[self._gaps != _COMPARED], minlength=len(_GAPS))
        counts = dict(zip(_GAPS, frequencies.tolist(), strict=True))
        status = self.before.status(self.scores[0])[self.pairing.only_before]
        for name, code in (("undefined", UNDEFINED), ("unjudged", UNJUDGED)):
            counts[name] += int((status == code).sum())
        return {
            **counts,
            "only_before": int((~np.isin(status, _EMPTY)).sum()),
            "only_after": len(self.pairing.only_after),
        }

    def values(self, measure: Measure) -> tuple[Floats, Floats]:
        """Return a measure of each pair before and after, over the targets of both results.

        A value is NaN if the pair is not compared, or if the measure is undefined.
        """
        before, after = map(np.concatenate, zip(*self.pieces(measure), strict=True))
        return before, after

    def pieces(self, measure: Measure) -> Iterator[tuple[Floats, Floats]]:
        """Yield `values` by part if tables have the same parts and no groups, else all at once."""
        pairs, end = np.fromiter(self._differing, np.int64), 0
        for before, after in self._own_pieces(measure):
            old, new = before.copy(), after.copy()
            start, end = end, end + len(old)
            missing = np.zeros(len(old), np.bool_)
            if not measure.of_sample:
                first, last = np.searchsorted(pairs, [start, end])
                for pair in pairs[first:last].tolist():
                    values = [result[measure] for result in self._differing[pair] or ()]
                    if values:
                        old[pair - start], new[pair - start] = (
                            np.nan if v is None else v for v in values
                        )
                missing = self._gaps[start:end] != _COMPARED
            missing |= np.isnan(old) | np.isnan(new)
            old[missing] = new[missing] = np.nan
            yield old, new

    def totals(self, values: Floats) -> Totals:
        """Return the totals of values; the group of each is at the same position in `groups`.

        Without groups, the values may be those of some pairs only, such as one of the `pieces`.
        """
        return Totals.of(values, groups=None if self.groups is None else self.groups[: len(values)])

    def gap(self, pair: int) -> Gap | None:
        """Return the reason why a pair is not compared; None if it is compared."""
        code = self._gaps[pair]
        return None if code == _COMPARED else _GAPS[code]

    def results(self, pair: int) -> tuple[Result, Result]:
        """Return both results of a pair, over the targets that both have."""
        return self._differing.get(pair) or self._own_results(pair)

    def row(self, pair: int) -> Row:
        """Return the row of a pair in the report before."""
        return self.before.row(int(self.pairing.before[pair]))

    def worst_and_best(self, measure: Measure) -> Bracket:
        """Return the changes of a measure, with missing values at their worst and at their best.

        Changes of the pairs come first, then those of samples that are only in the first report. A
        missing value, before or after, may be anything from 0 to 1. If both values of a pair are
        missing, its change may be anything from -1 to 1.
        """
        is_open = ~np.isin(self._gaps, _CLOSED)
        change = changes(*self.values(measure))
        if measure.of_sample:
            old = self.before.gaps(self.scores[0], measure)[self.pairing.before]
            new = self.after.gaps(self.scores[1], measure)[self.pairing.after]
            is_open = np.isnan(change) & (old | new)
        before, after = self._own_values(measure)
        alone = self.pairing.only_before
        none = np.full(len(alone), np.nan)
        is_empty = np.isin(self.before.status(self.scores[0])[alone], _EMPTY)
        is_open = np.concatenate([is_open, ~is_empty])
        before = np.concatenate([before, self.before.values(self.scores[0], measure)[alone]])
        after = np.concatenate([after, none])
        # Some pairs are not compared although both values are known, such as pairs without common
        # targets: use neither value.
        unlike = ~np.isnan(before) & ~np.isnan(after)
        before[unlike] = after[unlike] = np.nan
        low = np.concatenate([change, none])
        high = low.copy()
        low[is_open] = (np.nan_to_num(after, nan=0.0) - np.nan_to_num(before, nan=1.0))[is_open]
        high[is_open] = (np.nan_to_num(after, nan=1.0) - np.nan_to_num(before, nan=0.0))[is_open]
        worst, best = (self.totals(values).counts(least=-1.0) for values in (low, high))
        return worst._replace(high=best.high)

    def _own_values(self, measure: Measure) -> tuple[Floats, Floats]:
        """Return a measure of each pair before and after, each over its own report's targets."""
        before = self.before.values(self.scores[0], measure)
        after = self.after.values(self.scores[1], measure)
        return self.pairing.of_before(before), self.pairing.of_after(after)

    def _own_pieces(self, measure: Measure) -> Iterable[tuple[Floats, Floats]]:
        """Yield `_own_values` by part if both tables have the same parts, else all at once.

        With groups they come all at once too, since samples of different parts may share a group.
        """
        if self.groups is not None or not self._has_same_parts:
            return [self._own_values(measure)]
        sides = zip((self.before, self.after), self.scores, strict=True)
        return zip(*(table.values_by_part(score, measure) for table, score in sides), strict=True)

    @property
    def _has_same_parts(self) -> bool:
        """Whether both tables have the same samples, in parts of the same lengths."""
        has_rows = self.pairing.is_row_by_row and len(self.before) > 0
        return has_rows and self.before.has_parts_of(self.after)


def over_common_targets(before: Result, after: Result) -> tuple[Result, Result] | None:
    """Return two scored results over their common targets, or None if there is none."""
    old, new = set(before.targets), set(after.targets)
    return None if old.isdisjoint(new) else (_over(before, new), _over(after, old))


def _over(result: Result, targets: set[Target]) -> Result:
    kept = tuple(finding for finding in result.findings if finding.target in targets)
    return replace(result, findings=kept)


def gained_and_lost(
    before: Result, after: Result, measure: Measure = Recall
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels of the targets gained and of those lost, within a measure's k or budget."""
    old, new = (
        {f.target.label for f in result.paid(measure) if f.found_at(measure.top)}
        for result in (before, after)
    )
    return tuple(sorted(new - old)), tuple(sorted(old - new))


def changes(before: Floats | float, after: Floats | float) -> Floats:
    """Return the values after minus those before; differences by rounding become 0.0."""
    difference = after - before
    return np.where(np.abs(difference) <= _NO_CHANGE, 0.0, difference)


def same_methods(
    before: Sequence[Method], after: Sequence[Method]
) -> tuple[dict[str, tuple[int, int]], tuple[str, ...]]:
    """Return each common score's index in both reports, and the names of the other scores.

    Raises `ReportError` if the reports have no score in common, or if two different scores have
    the same name.
    """
    old_indices, new_indices = (
        {method.name: index for index, method in enumerate(methods)} for methods in (before, after)
    )
    common = {
        name: (index, new_indices[name])
        for name, index in old_indices.items()
        if name in new_indices
    }
    if not common:
        raise ReportError(
            f"the reports have no score in common: {', '.join(sorted(old_indices))} before, "
            f"{', '.join(sorted(new_indices))} after"
        )
    for name, (score, other) in common.items():
        old, new = _identity(before[score]), _identity(after[other])
        for field in sorted(old.keys() | new.keys()):
            if old.get(field) != new.get(field):
                raise ReportError(
                    f"{name} was scored with {field}={old.get(field)!r} before and "
                    f"{field}={new.get(field)!r} after, which do not compare: evaluate both in "
                    "one way, or pass another name= to one"
                )
    return common, tuple(sorted(old_indices.keys() ^ new_indices.keys()))


def paired(before: Table, after: Table) -> Pairing:
    """Pair the rows of two tables.

    Samples are paired by ID. Without IDs, they are paired by question if no question is missing or
    occurs twice in a table, and else by position.

    Raises `ReportError` if an ID occurs twice in one report, if only some samples have IDs, if
    samples would be paired by position and the reports differ in length, or if no sample is shared.
    """
    if before.has_distinct_ids and before.same_cells(after, "id"):
        return _joined("id", range(len(before)), range(len(after)))
    ids = {"before": before.ids, "after": after.ids}
    without = {name: names.count(None) for name, names in ids.items()}
    if all(without[name] == len(ids[name]) for name in ids):
        asked = before.cells("user_input"), after.cells("user_input")
        if all(None not in texts and len(set(texts)) == len(texts) for texts in asked):
            return _joined("question", *asked)
        if len(before) != len(after):
            raise ReportError(
                f"{counted(len(before), 'sample')} before and {len(after):,} after, none with an "
                "ID, and questions are missing or repeated: give each sample an id"
            )
        return _joined("position", range(len(before)), range(len(before)))
    for name, names in ids.items():
        if without[name]:
            raise ReportError(
                f"{without[name]:,} of the {len(names):,} samples of the report {name!r} have no "
                "ID, others have one: set the id of each"
            )
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise ReportError(
                f"sample ID {twice!r} appears twice in the report {name!r}: use unique "
                "ids, and a common group for samples that are not independent"
            )
    return _joined("id", before.ids, after.ids)


def _joined(by: PairedBy, old: Sequence[object], new: Sequence[object]) -> Pairing:
    """Pair the rows that have the same ID or question, which is unique in each table."""
    if old == new:  # The common case needs no dictionary of a million IDs.
        rows = np.arange(len(old))
        return Pairing(by, rows, rows, rows[:0], rows[:0])
    row_of = {key: row for row, key in enumerate(new)}
    others = np.fromiter((row_of.get(key, -1) for key in old), np.int64, len(old))
    both = others >= 0
    if not both.any():
        keys = "IDs" if by == "id" else "questions"
        raise ReportError(
            f"no sample is in both reports: their {keys} differ, such as "
            f"{next(iter(old), None)!r} before and {next(iter(new), None)!r} after"
        )
    only_new = np.ones(len(new), np.bool_)
    only_new[others[both]] = False
    return Pairing(
        by, np.flatnonzero(both), others[both], np.flatnonzero(~both), np.flatnonzero(only_new)
    )


def check_questions(before: Table, after: Table, pairing: Pairing) -> None:
    """Warn about pairs whose questions differ; raise `ReportError` if paired by position."""
    if pairing.is_row_by_row and before.same_cells(after, "user_input"):
        return
    old, new = before.cells("user_input"), after.cells("user_input")
    if pairing.is_row_by_row and old == new:
        return
    reworded = [
        (row, other)
        for row, other in zip(pairing.before.tolist(), pairing.after.tolist(), strict=True)
        if old[row] != new[other] and None not in (old[row], new[other])
    ]
    if not reworded:
        return
    row, other = reworded[0]
    if pairing.by == "position":
        raise ReportError(
            f"sample #{row + 1} asks {old[row]!r} before and {new[other]!r} after, and the "
            "samples have no IDs: set the id of each, or keep them in one order"
        )
    warn(
        f"{counted(len(reworded), 'sample')} with the same ID and another question, such as "
        f"{before.ids[row]!r}: they are compared by their IDs"
    )


def _identity(method: Method) -> Mapping[str, Any]:
    """Return a score's headline and parameters as a loaded report has them: tuples are lists."""
    # Pass parameters through JSON, as saving does; otherwise a report in memory would differ from
    # the same report after loading.
    parameters = json.loads(json.dumps(dict(method.parameters), default=repr))
    return {"headline": method.headline.name, **parameters}
