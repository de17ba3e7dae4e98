"""Which score of a report is meant, and its values sample by sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fullrecall.errors import ReportError
from fullrecall.measures import Measure, Recall
from fullrecall.report.lazy_rows import LazyRows, Tallied, passes
from fullrecall.report.report import Report
from fullrecall.table.row import Row
from fullrecall.report.totals import Totals
from fullrecall.result import Status


class Scored:
    """One score of a report: its samples with a value, and those that should have one.

    `retrieved` is how many contexts the longest list has, `unscored` counts the samples without a
    value that should have one.
    """

    def __init__(self, report: Report, place: int) -> None:
        self.method = report.methods[place]
        self._rows = report.rows
        self._place = place
        self.retrieved = self.unscored = 0
        for whole in self._passes(()):
            for row, _, times in whole:
                result = row.results[0]
                self.unscored += times * (result.status is Status.UNSCORED)
                if result.status is Status.SCORED:
                    self.retrieved = max(self.retrieved, result.retrieved)

    @property
    def at_once(self) -> int:
        """How many measures to ask for at once: several where each time all rows are read."""
        return 8 if isinstance(self._rows, LazyRows) else 1

    @property
    def with_contexts(self) -> Iterator[Row]:
        """The rows with a value, without those that are known to have no contexts but IDs."""
        rows = self._rows.with_contexts() if isinstance(self._rows, LazyRows) else self._rows
        return (row for row in rows if row.results[self._place].status is Status.SCORED)

    def totals(self, measures: Sequence[Measure]) -> list[Totals]:
        """Return the totals of measures: unscored samples are gaps, undefined ones left out."""
        found = [Totals() for _ in measures]
        for whole in self._passes(measures):
            for row, group, times in whole:
                result = row.results[0]
                if result.status is Status.UNDEFINED:
                    continue
                for measure, totals in zip(measures, found, strict=True):
                    value = result[measure]
                    if value is not None or result.status is Status.UNSCORED:
                        totals.add(value, group, times=times)
            for totals in found:
                totals.fold()
        return found

    def _passes(self, measures: Sequence[Measure]) -> Iterator[Iterable[Tallied]]:
        return passes(self._rows, [self._place], measures)


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
