"""Whole results as text, a row for each sample: what goes through the engine to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from fullrecall.distributed.job import Job, Problems, up_to
from fullrecall.distributed.ranges import Runs, runs_of
from fullrecall.distributed.tables import ColumnType, Table, column_of
from fullrecall.distributed.totals.parts import missing_in_words
from fullrecall.distributed.totals.whole import failures_in_words
from fullrecall.errors import ReportError
from fullrecall.views import frames
from fullrecall.report.report import Report
from fullrecall.table.row import Row

ROW = "fullrecall_row"
"""The column with a sample's whole result, as a saved report has it, one JSON object each."""

PROBLEM = "fullrecall_problem"
"""The column that says why a row is no sample, or what its batch failed with; else None."""

_FAILED = '{"failed":'
"""How the text of a row begins of which the batch failed."""


class ScoredRows:
    """Rows of scores for rows of samples."""

    def __init__(self, job: Job) -> None:
        self._job = job

    @cached_property
    def types(self) -> Mapping[str, ColumnType]:
        """The columns that come out, in order."""
        numbers = frames.numeric_columns(self._job.methods, self._job.measures)
        types: dict[str, ColumnType] = {}
        if self._job.position is not None:
            types[self._job.position] = "long"
        for name in self._score_columns:
            types[name] = "double" if name in numbers else "string"
        return types | {PROBLEM: "string", ROW: "string"}

    def scored(self, table: Table, positions: list[int]) -> Any:
        """Return the scores of a batch, in a table of the same kind."""
        scored, problems = self._job.evaluated(table, positions)
        return table.like(self._rows(scored, problems, positions), self.types, beside=True)

    def failed(self, table: Table, positions: list[int], why: str) -> Any:
        """Return rows that say that their batch came to nothing, and why."""
        from fullrecall.report.file import as_line

        count = table.count
        columns: dict[str, list[Any]] = {name: [None] * count for name in self.types}
        if self._job.position is not None:
            columns[self._job.position] = positions
        text = as_line({"failed": why, "identity": self._job.identity.to_dict()})
        columns[PROBLEM], columns[ROW] = [f"batch failed: {why}"] * count, [text] * count
        return table.like(columns, self.types, beside=True)

    def report(self, tables: Iterable[Table], planned: Runs | None) -> Report:
        """Return the report of all rows, by position where they have one."""
        from fullrecall.report.file import row_of

        report = Report(self._job.methods)
        failures: dict[str, list[int]] = {}
        there: list[int] = []
        for number, (place, text) in enumerate(self._texts(tables), start=1):
            plain = self._read(number, text)
            if "failed" in plain:
                failures.setdefault(str(plain["failed"]), []).append(place)
                continue
            there.append(place)
            problem = plain.pop("bad_row", None)
            if problem is not None:
                report.bad_rows[place] = str(problem)
            try:
                report.add(row_of(plain, self._job.methods, len(report) + 1))
            except ReportError as error:
                raise ReportError(f"row {number}: {ROW}: {error}") from None
        covered = runs_of(there)
        told = failures_in_words({runs_of(rows): why for why, rows in failures.items()}, covered)
        if self._job.position is not None:
            told.insert(
                0, missing_in_words(up_to(covered) if planned is None else planned, covered)
            )
        report.stopped = "; ".join(filter(None, told)) or None
        return report

    @cached_property
    def _score_columns(self) -> list[str]:
        return frames.score_columns(self._job.methods, self._job.measures)

    def _rows(
        self, rows: list[Row], problems: Problems, positions: list[int]
    ) -> dict[str, list[Any]]:
        from fullrecall.records import plain_row
        from fullrecall.report.file import as_line

        columns: dict[str, list[Any]] = {name: [] for name in self.types}
        if self._job.position is not None:
            columns[self._job.position] = positions
        identity = self._job.identity.to_dict()
        report = Report.of(self._job.methods, rows)
        scored = frames.score_rows(report, self._job.measures)
        for number, (row, cells) in enumerate(zip(rows, scored, strict=True)):
            cells["sample"] = row.sample.id  # not its label: a number counts within a batch
            for name in self._score_columns:
                columns[name].append(cells.get(name))
            _, problem = problems.get(number, (None, None))
            columns[PROBLEM].append(problem)
            plain = plain_row(row.sample, row.results, default=str)
            if problem is not None:
                plain["bad_row"] = problem
            columns[ROW].append(as_line({"identity": identity, **plain}))
        return columns

    def _texts(self, tables: Iterable[Table]) -> list[tuple[int, str]]:
        """Return the rows by position, each once; what failed only where nothing else came."""
        position = self._job.position
        if position is None:
            return list(enumerate(text for table in tables for text in column_of(table, ROW)))
        known: dict[int, str] = {}
        failed: dict[int, str] = {}
        for table in tables:
            columns = (column_of(table, name) for name in (position, ROW))
            for place, text in zip(*columns, strict=True):
                if str(text).startswith(_FAILED):
                    failed[place] = text
                elif (first := known.setdefault(place, text)) is not text and first != text:
                    raise ReportError(
                        f"two rows have {position}={place}, but differ: number each row once"
                    )
        return sorted((failed | known).items())

    def _read(self, number: int, text: str) -> dict[str, Any]:
        """Return what a cell holds, once it is known to be of these scorers."""
        from fullrecall.report.file import parsed

        try:
            plain: dict[str, Any] = parsed(text)
            identity = plain.pop("identity")
        except (ValueError, TypeError, KeyError, AttributeError, ReportError) as error:
            raise ReportError(f"row {number}: {ROW} holds no result: {error!r}") from None
        try:
            self._job.identity.check(identity)
        except ReportError as error:
            raise ReportError(f"row {number}: {error}") from None
        return plain
