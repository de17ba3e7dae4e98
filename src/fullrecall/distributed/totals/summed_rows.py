"""Totals instead of rows: a few texts for each batch, which know the rows that they count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fullrecall.distributed.job import Job, Problems
from fullrecall.distributed.quarantine import unscored
from fullrecall.distributed.ranges import Runs, overlap, runs_of
from fullrecall.distributed.tables import ColumnType, Table, column_of
from fullrecall.distributed.totals.parts import segments
from fullrecall.distributed.totals.sums import parted
from fullrecall.distributed.totals.whole import Whole
from fullrecall.errors import InputError, ReportError
from fullrecall.evaluation.run import evaluate
from fullrecall.report.report import Report
from fullrecall.report.tally import Tallies
from fullrecall.table.row import Row

TOTALS = "fullrecall_totals"
"""The column with totals where only a summary is wanted, one JSON object each."""

KEY = "fullrecall_key"
"""The column to group totals by: what has one key is merged in one place."""

TYPES: Mapping[str, ColumnType] = {KEY: "long", "samples": "long", TOTALS: "string"}
"""The columns that come out."""


class SummedRows:
    """Totals of rows of samples, in cells of `size` rows, their groups in so many `buckets`."""

    types = TYPES

    def __init__(self, job: Job, size: int, buckets: int) -> None:
        self._job = job
        self._size = size
        self._buckets = buckets

    def scored(self, table: Table, positions: list[int]) -> Any:
        """Return the totals of a batch."""
        if len(set(positions)) < len(positions):
            twice = overlap(((place, place),) for place in positions)
            raise InputError(
                f"{twice and twice[0]} occurs twice in a batch: number each row once",
                field=self._job.position,
            )
        whole = self._whole
        for runs, places, part in self._segments(table, positions):
            self._add(whole, part, places, runs)
        return table.like(columns_of(whole), self.types, beside=False)

    def failed(self, table: Table, positions: list[int], why: str) -> Any:
        """Return totals that say that their rows came to nothing, and why."""
        whole = self._whole
        whole.fail(runs_of(positions), why)
        return table.like(columns_of(whole), self.types, beside=False)

    def merged(self, table: Table) -> Any:
        """Return totals merged, of which all of a key are in the table."""
        whole = self.whole_of([table])
        whole.fold(self._job.tallies)
        return table.like(columns_of(whole), self.types, beside=False)

    def report(self, tables: Iterable[Table], planned: Runs | None) -> Report:
        """Return the report of all totals; raises `ReportError` without a plan."""
        if planned is None:
            raise ReportError(
                "rows is missing: pass rows=…, how many the data set has; nothing else shows "
                "whether a part was lost"
            )
        whole = self.whole_of(tables)
        report = Report.counted(self._job.methods, whole.tallies(self._job.tallies))
        report.stopped = whole.stopped(planned)
        report.bad_rows = whole.bad_rows
        return report

    def whole_of(self, tables: Iterable[Table]) -> Whole:
        """Return what tables of totals come to."""
        whole = self._whole
        texts = (text for table in tables for text in column_of(table, TOTALS))
        for number, text in enumerate(texts, start=1):
            try:
                whole.add_text(text)
            except ReportError as error:
                raise ReportError(f"row {number}: {TOTALS}: {error}") from None
        return whole

    def count_columns(self, table: Table, tallies: Tallies) -> list[int] | None:
        """Count what columns are enough for; return the rows that are left, None for all."""
        arrow = table.arrow
        if arrow is None:
            return None
        from fullrecall.distributed import id_columns

        if not id_columns.asks_for_columns(self._job.scorers, tallies):
            return None
        found = id_columns.fields_of(arrow, self._job.columns)
        left = None if found is None else id_columns.count(found, tallies)
        return None if left is None else left.tolist()

    @property
    def _whole(self) -> Whole:
        return Whole(self._job.identity, self._size, self._buckets)

    def _segments(
        self, table: Table, positions: list[int]
    ) -> Iterator[tuple[Runs, list[int], Table]]:
        """Yield the parts that a batch's rows make: their runs, their positions, and a table."""
        runs = runs_of(positions)
        every = segments(runs, self._size) if runs else []
        if len(every) == 1:
            yield runs, positions, table
            return
        for part in every:
            places = range(part[0][0], part[0][1] + 1)
            numbers = [number for number, row in enumerate(positions) if row in places]
            yield part, [positions[number] for number in numbers], table.taken(numbers)

    def _add(self, whole: Whole, table: Table, positions: list[int], runs: Runs) -> None:
        """Score a table, and add what it comes to."""
        job, tallies = self._job, self._job.tallies
        numbers = self.count_columns(table, tallies)
        if numbers is not None:  # all others are counted
            table, positions = table.taken(numbers), [positions[number] for number in numbers]
        problems: Problems = {}
        if positions:
            report = evaluate(
                job.samples(table.rows(), positions, problems),
                job.scorers,
                keep="summary",
                measures=job.measures,
                **job.options(),
            )
            tallies.merge(report.tallies)
        for number, (sample, problem) in problems.items():
            tallies.add(Row(number + 1, sample, unscored(job.scorers, problem)))
        sums, groups = parted(tallies, self._buckets)
        whole.add(runs, sums, groups)
        whole.add_bad_rows({positions[n]: problem for n, (_, problem) in problems.items()})


def columns_of(whole: Whole) -> dict[str, list[Any]]:
    """Return what was merged as columns."""
    made = list(whole.texts())
    return {name: [row[place] for row in made] for place, name in enumerate(TYPES)}
