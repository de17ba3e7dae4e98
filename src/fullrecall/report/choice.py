"""Which score of a report is meant, and its values sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fullrecall.errors import ReportError
from fullrecall.measures import Measure, Recall
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.report.totals import Totals
from fullrecall.result import Method, Result, Status


class Scored(NamedTuple):
    """One score's results that have a value, each with its row.

    `every` has those too that should have one, `unscored` of them, each with its sample's group.
    """

    method: Method
    rows: Sequence[Row]
    results: Sequence[Result]
    every: Sequence[tuple[Result, str | None]]
    unscored: int

    def totals(self, measure: Measure) -> Totals:
        """Return the totals of a measure: unscored samples are gaps, undefined ones left out."""
        totals = Totals()
        for result, group in self.every:
            value = result[measure]
            if value is not None or result.status is Status.UNSCORED:
                totals.add(value, group)
        return totals


def place_of(report: Report, score: str | None) -> int:
    """Return the place of a score in each row, by its name.

    None is the only score, or the only recall beside others. Raises `ReportError` for a name that
    the report does not have, and for None where that leaves several.
    """
    names = [method.name for method in report.methods]
    if score is None:
        if len(names) == 1:
            return 0
        recalls = [n for n, method in enumerate(report.methods) if method.headline == Recall]
        if len(recalls) == 1:
            return recalls[0]
        raise ReportError(
            f"the report has {len(names)} scores ({', '.join(names)}): choose one by its name"
        )
    if score in names:
        return names.index(score)
    raise ReportError(f"no score {score!r} in the report: choose one of {', '.join(names)}")


def scored(report: Report, score: str | None) -> Scored:
    """Return the results of a score that have a value; `ReportError` as for `place_of`."""
    place = place_of(report, score)
    rows = [row for row in report.rows if row.results[place].status is Status.SCORED]
    every = [
        (row.results[place], group)
        for row, group in zip(report.rows, report.groups, strict=True)
        if row.results[place].status is not Status.UNDEFINED
    ]
    results = [row.results[place] for row in rows]
    return Scored(report.methods[place], rows, results, every, len(every) - len(rows))
