"""Which score of a report is meant, and its values sample by sample."""

from __future__ import annotations

from typing import NamedTuple

from fullrecall.errors import ReportError
from fullrecall.report.report import Report
from fullrecall.report.statistics import Spread
from fullrecall.report.totals import spread_of
from fullrecall.result import Method, Result, Status


class Scored(NamedTuple):
    """One score's results that have a value, each with its sample's group."""

    method: Method
    results: list[Result]
    groups: list[str | None]

    def values(self, measure: str, k: int | None) -> list[float]:
        """Return a measure of each result, cut at `k`."""
        if measure == self.method.measure and k is not None:
            return [result.at.values_at((k,))[0] or 0.0 for result in self.results]
        return [result.value(measure, k) or 0.0 for result in self.results]

    def spread(self, measure: str, k: int | None) -> Spread | None:
        """Return the mean of a measure, cut at `k`, with its precision."""
        return spread_of(self.values(measure, k), self.groups)


def place_of(report: Report, score: str | None) -> int:
    """Return the place of a score in each row, by its name; of the only one if it is None.

    Raises `ReportError` for a name that the report does not have, and for None where it has
    several.
    """
    names = [method.name for method in report.methods]
    if score is None:
        if len(names) == 1:
            return 0
        raise ReportError(f"the report has {len(names)} scores: say which of {', '.join(names)}")
    for place, method in enumerate(report.methods):
        if score in (method.name, method.label):
            return place
    raise ReportError(f"no score {score!r} in the report: there are {', '.join(names)}")


def scored(report: Report, score: str | None) -> Scored:
    """Return the results of a score that have a value; `ReportError` as for `place_of`."""
    place = place_of(report, score)
    rows = [row for row in report.rows if row.results[place].status is Status.SCORED]
    return Scored(
        report.methods[place],
        [row.results[place] for row in rows],
        [row.sample.group for row in rows],
    )
