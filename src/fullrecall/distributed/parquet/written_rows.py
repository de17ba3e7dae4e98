"""Rows that workers write: to the directory of a report, and through the engine only their names.

A worker writes the rows of a batch as a part, into a folder of the job, and returns one text: which
rows it has, where they are, and their digest. The driver makes the report of the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fullrecall.distributed.job import Job, up_to
from fullrecall.distributed.parquet import columns
from fullrecall.distributed.parquet.assembly import Assembly, Piece
from fullrecall.distributed.parquet.part import as_table, write_table
from fullrecall.distributed.parquet.staging import job_folder
from fullrecall.distributed.ranges import Runs, runs_of
from fullrecall.distributed.spill import PLACE
from fullrecall.distributed.tables import ColumnType, Table, column_of
from fullrecall.distributed.totals.parts import missing_in_words
from fullrecall.distributed.totals.whole import failures_in_words
from fullrecall.errors import ReportError
from fullrecall.report.report import Report

PART = "fullrecall_part"
"""The column with what names a part, one JSON object for each batch."""

TYPES: Mapping[str, ColumnType] = {"samples": "long", PART: "string"}
"""The columns that come out."""

_MOST_RUNS = 16
"""Runs of rows that a part's text names; rows in more of them have their places in the file."""

_MOST_BAD_ROWS = 1_000


class WrittenRows:
    """Rows of samples as parts in a `directory`; the `token` names the folder of their job."""

    types = TYPES

    def __init__(self, job: Job, directory: Path, token: str) -> None:
        self._job = job
        self._directory = directory
        self._token = token

    def scored(self, table: Table, positions: list[int]) -> Any:
        """Write the scores of a batch; return a table of what names them."""
        if not table.count:
            return table.like({name: [] for name in TYPES}, TYPES, beside=False)
        rows, problems = self._job.evaluated(table, positions)
        order = sorted(range(len(rows)), key=positions.__getitem__)  # of equal ones the first
        cells = [columns.cells(rows[n], str)[0] for n in order]
        made = as_table(cells, self._job.methods)
        places = [positions[n] for n in order]
        runs = runs_of(places)
        scattered = len(runs) > _MOST_RUNS or len(set(places)) < len(places)
        bad = [(positions[n], problem) for n, (_, problem) in problems.items()]
        piece = self._written(made, places if scattered else None, runs)
        text = self._text(**piece.to_dict(), bad_rows=sorted(bad)[:_MOST_BAD_ROWS])
        return table.like({"samples": [len(rows)], PART: [text]}, TYPES, beside=False)

    def failed(self, table: Table, positions: list[int], why: str) -> Any:
        """Return what says that rows came to nothing, and why."""
        text = self._text(failed=why, runs=runs_of(positions))
        return table.like({"samples": [0], PART: [text]}, TYPES, beside=False)

    def report(self, tables: Iterable[Table], planned: Runs | None) -> Report:
        """Make a report of the parts, in the place of the one that is in the directory; open it."""
        assembly = Assembly(self._directory, self._job.methods)
        failures: dict[Runs, str] = {}
        bad_rows: dict[int, str] = {}
        texts = (text for table in tables for text in column_of(table, PART))
        for number, text in enumerate(texts, start=1):
            plain = self._read(number, text)
            if "failed" in plain:
                failures[tuple((first, last) for first, last in plain["runs"])] = plain["failed"]
                continue
            assembly.add(Piece.from_dict(plain))
            bad_rows |= {int(row): str(why) for row, why in plain["bad_rows"]}
        covered = assembly.covered
        due = up_to(covered) if planned is None else planned
        told = [missing_in_words(due, covered), *failures_in_words(failures, covered)]
        assembly.publish("; ".join(filter(None, told)) or None, self._token)
        report = Report.open(self._directory)
        report.bad_rows = dict(sorted(bad_rows.items()))
        return report

    def _written(self, table: Any, places: Sequence[int] | None, runs: Runs) -> Piece:
        """Write a table; with `places` as a column where the runs are too many to be named."""
        import pyarrow as pa

        folder = job_folder(self._directory, self._token)
        for each in (self._directory, folder):
            each.mkdir(exist_ok=True)
        content = columns.content(table)
        if places is None:
            name = " ".join(f"{first}-{last}" for first, last in runs)
            record = write_table(folder, name, self._job.methods, table)
            return Piece(folder / record.file, record, runs, content, scattered=False)
        placed = table.append_column(PLACE, pa.array(places, pa.int64()))
        record = write_table(folder, content, self._job.methods, placed, more=[PLACE])
        hull = ((runs[0][0], runs[-1][1]),)
        return Piece(folder / record.file, record, hull, content, scattered=True)

    def _text(self, **plain: Any) -> str:
        from fullrecall.report.file import as_line

        return as_line({"identity": self._job.identity.to_dict(), **plain})

    def _read(self, number: int, text: str) -> dict[str, Any]:
        """Return what a text says, once it is known to be of these scorers."""
        from fullrecall.report.file import parsed

        try:
            plain: dict[str, Any] = parsed(text)
            identity = plain.pop("identity")
        except (ValueError, TypeError, KeyError, AttributeError, ReportError) as error:
            raise ReportError(f"row {number}: {PART} names no part: {error!r}") from None
        try:
            self._job.identity.check(identity)
        except ReportError as error:
            raise ReportError(f"row {number}: {error}") from None
        return plain
