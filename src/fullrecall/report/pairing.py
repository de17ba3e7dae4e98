"""Which samples of two reports are the same, and which of their scores can be compared."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from fullrecall.errors import ReportError
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.result import Method

PairedBy: TypeAlias = Literal["id", "position"]


class Pairing(NamedTuple):
    """Rows of the same samples, in the order of the first report; the rest by their labels."""

    by: PairedBy
    pairs: Sequence[tuple[Row, Row]]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]


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
                f"{name!r} have no ID, others have: give each sample an id"
            )
    return _by_id(before, after)


def same_methods(before: Report, after: Report) -> tuple[list[tuple[int, int]], list[str]]:
    """Return where each score stands that both reports have, and the names that only one has.

    Raises `ReportError` where they have none in common, or one under which they measured two
    things. The `ks` alone may differ.
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
            f"{len(reworded):,} sample(s) ask another question under the same ID, such as "
            f"{reworded[0]!r}: they are compared by their IDs",
            stacklevel=4,
        )
    return Pairing(
        "id",
        pairs,
        tuple(row.label for name, row in ours.items() if name not in theirs),
        tuple(row.label for name, row in theirs.items() if name not in ours),
    )


def _rows_by_id(report: Report, name: str) -> dict[str | None, Row]:
    rows: dict[str | None, Row] = {}
    for row in report:
        if row.sample.id in rows:
            raise ReportError(
                f"the ID {row.sample.id!r} stands twice in the report {name!r}: it does not tell "
                "which samples belong together, so give each an id of its own, and those that "
                "are not independent a common group"
            )
        rows[row.sample.id] = row
    return rows


def _by_position(before: Report, after: Report) -> Pairing:
    if len(before) != len(after):
        raise ReportError(
            f"{len(before):,} samples before and {len(after):,} after, none with an ID: which "
            "belong together? Give each sample an id"
        )
    pairs = list(zip(before, after, strict=True))
    for ours, theirs in pairs:
        if _differ(ours, theirs):
            raise ReportError(
                f"sample {ours.label} asks {ours.sample.user_input!r} before and "
                f"{theirs.sample.user_input!r} after, and the samples have no IDs: give each "
                "sample an id, or keep them in one order"
            )
    return Pairing("position", pairs, (), ())


def _differ(ours: Row, theirs: Row) -> bool:
    questions = (ours.sample.user_input, theirs.sample.user_input)
    return None not in questions and questions[0] != questions[1]


def _check_same(ours: Method, theirs: Method) -> None:
    mine, other = ours.to_dict(), theirs.to_dict()
    for name in ("measure", "k", "zero_division", "precision_denominator"):
        _check_equal(ours.name, name, mine[name], other[name])
    parameters = dict(ours.parameters), dict(theirs.parameters)
    for name in sorted(parameters[0].keys() | parameters[1].keys()):
        _check_equal(ours.name, name, *(given.get(name) for given in parameters))


def _check_equal(score: str, parameter: str, before: object, after: object) -> None:
    # A loaded report has lists where the scorer had tuples.
    if _plain(before) != _plain(after):
        raise ReportError(
            f"{score} was scored with {parameter}={before!r} before and {parameter}={after!r} "
            "after, which are two measures: evaluate both in one way, or give one another name="
        )


def _plain(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return value
