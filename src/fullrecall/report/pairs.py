"""Which samples of two reports are the same, and what of their findings can be compared."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from fullrecall.counts import counted
from fullrecall.errors import ReportError
from fullrecall.findings import Target, restricted, same_targets
from fullrecall.measures import Measure
from fullrecall.report.report import Report
from fullrecall.table.row import Row
from fullrecall.result import Method, Result, Status

PairedBy: TypeAlias = Literal["id", "position"]
Gap: TypeAlias = Literal[
    "only_before", "only_after", "unscored", "undefined_in_one", "undefined", "no_common_targets"
]
"""Why a sample is not compared."""

_NO_CHANGE = 1e-9
"""Values that differ by less differ by rounding."""


class Pairing(NamedTuple):
    """Rows of the same samples, in the order of the first report, and those of one report alone."""

    by: PairedBy
    pairs: Sequence[tuple[Row, Row]]
    only_before: tuple[Row, ...] = ()
    only_after: tuple[Row, ...] = ()


class Common(NamedTuple):
    """Two results over the targets that both have; `differ` says that one has others too."""

    before: Result
    after: Result
    differ: bool


def paired(before: Report, after: Report) -> Pairing:
    """Return the samples of two reports side by side: by ID, by position where none has an ID.

    Raises `ReportError` where that is ambiguous: an ID twice in one report, IDs on some samples
    only, other questions at the same position, or lists of different length without IDs.
    """
    reports = {"before": before, "after": after}
    with_id = {
        name: sum(row.sample.id is not None for row in report) for name, report in reports.items()
    }
    if not any(with_id.values()):
        return _by_position(before, after)
    for name, report in reports.items():
        if with_id[name] != len(report):
            raise ReportError(
                f"{len(report) - with_id[name]:,} of the {len(report):,} samples of the report "
                f"{name!r} have no ID, others have one: set the id of each"
            )
    return _by_id(before, after)


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
    if same_targets(before.findings, after.findings):
        return Common(before, after, differ=False)
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
    before: Result, after: Result, k: int | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels of the targets that were gained, and of those lost, within `k` ranks."""
    old, new = (
        {finding.target.label for finding in result.ranked if finding.found_at(k)}
        for result in (before, after)
    )
    return tuple(sorted(new - old)), tuple(sorted(old - new))


def change(before: float, after: float) -> float:
    """Return the value after less the value before; 0.0 where they differ by rounding."""
    difference = after - before
    return 0.0 if abs(difference) <= _NO_CHANGE else difference


def ends_of_change(
    before: Result, after: Result | None, measure: Measure
) -> tuple[float, float] | None:
    """Return the least and the largest change that a sample may stand for; None if it has none.

    `after` is None where that report does not have the sample.
    """
    both = gap_before(before) if after is None else common_targets(before, after)
    if isinstance(both, Common):
        old, new = both.before[measure], both.after[measure]
        return None if old is None or new is None else (change(old, new),) * 2
    if both == "undefined":
        return None
    old = before[measure]
    new = None if after is None else after[measure]
    if old is not None and new is None:
        return -old, 1.0 - old
    if old is None and new is not None:
        return new - 1.0, new
    return -1.0, 1.0


def gap_before(result: Result) -> Gap:
    """Return why a sample that only the report before has is not compared."""
    return "undefined" if result.status is Status.UNDEFINED else "only_before"


def same_methods(before: Report, after: Report) -> tuple[list[tuple[int, int]], list[str]]:
    """Return where each score stands that both reports have, and the names that only one has.

    Raises `ReportError` where they have none in common, or one under which they measured two
    things.
    """
    places = {method.name: place for place, method in enumerate(after.methods)}
    common = []
    for place, method in enumerate(before.methods):
        if method.name in places:
            other = places[method.name]
            _check_same(method, after.methods[other])
            common.append((place, other))
    ours, theirs = ({m.name for m in report.methods} for report in (before, after))
    if not common:
        raise ReportError(
            f"the reports have no score in common: {', '.join(sorted(ours))} before, "
            f"{', '.join(sorted(theirs))} after"
        )
    return common, sorted(ours ^ theirs)


def _over(result: Result, targets: set[Target]) -> Result:
    return replace(result, findings=restricted(result.findings, targets))


def _by_id(before: Report, after: Report) -> Pairing:
    ours, theirs = _rows_by_id(before, "before"), _rows_by_id(after, "after")
    pairs = [(row, theirs[name]) for name, row in ours.items() if name in theirs]
    if not pairs:
        raise ReportError(
            f"no sample is in both reports: their IDs differ, such as {next(iter(ours), None)!r} "
            f"before and {next(iter(theirs), None)!r} after"
        )
    reworded = [ours.sample.id for ours, theirs in pairs if _differ(ours, theirs)]
    if reworded:
        warnings.warn(
            f"{counted(len(reworded), 'sample')} with the same ID and another question, such as "
            f"{reworded[0]!r}: they are compared by their IDs",
            stacklevel=6,
        )
    return Pairing(
        "id",
        pairs,
        tuple(row for name, row in ours.items() if name not in theirs),
        tuple(row for name, row in theirs.items() if name not in ours),
    )


def _rows_by_id(report: Report, name: str) -> dict[str | None, Row]:
    rows: dict[str | None, Row] = {}
    for row in report:
        if row.sample.id in rows:
            raise ReportError(
                f"sample ID {row.sample.id!r} appears twice in the report {name!r}: use unique "
                "ids, and a common group for samples that are not independent"
            )
        rows[row.sample.id] = row
    return rows


def _by_position(before: Report, after: Report) -> Pairing:
    if len(before) != len(after):
        raise ReportError(
            f"{counted(len(before), 'sample')} before and {len(after):,} after, none with an ID: "
            "which belong together? Give each sample an id"
        )
    pairs = list(zip(before, after, strict=True))
    for ours, theirs in pairs:
        if _differ(ours, theirs):
            raise ReportError(
                f"sample {ours.label} asks {ours.sample.user_input!r} before and "
                f"{theirs.sample.user_input!r} after, and the samples have no IDs: set the id of "
                "each, or keep them in one order"
            )
    return Pairing("position", pairs)


def _differ(ours: Row, theirs: Row) -> bool:
    questions = (ours.sample.user_input, theirs.sample.user_input)
    return None not in questions and questions[0] != questions[1]


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
    plain = {"headline": method.headline.name, **method.parameters}
    return {name: _plain(value) for name, value in plain.items()}


def _plain(value: object) -> object:
    # A loaded report has lists where the scorer had tuples.
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return value
