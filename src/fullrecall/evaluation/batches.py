"""Data sets beyond one machine: a batch in, its scores out, in whatever engine moves batches.

`BatchScorer` is what Ray Data's `map_batches`, Spark's `mapInPandas` and Dask's `map_partitions`
call in their workers; docs/distributed.md has a job of each. What comes out carries each sample's
whole result, so that the report over all batches is the one that `evaluate` returns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall.dataframes import is_frame
from fullrecall.errors import InputError, ParameterError, ReportError
from fullrecall.evaluation.column_counts import count_columns
from fullrecall.evaluation.limits import Limits
from fullrecall.evaluation.run import Keep, check_scorers, evaluate
from fullrecall.evaluation.tables import ColumnType, Table, empty_frame, table_of
from fullrecall.measures import Measure
from fullrecall.models.retries import MOST, Retries
from fullrecall.report import frames
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.result import Method
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    import pandas as pd

    from fullrecall.datasets.rows import Rename

ROW = "fullrecall_row"
"""The column with a sample's whole result, as a saved report has it, one JSON object each."""

TOTALS = "fullrecall_totals"
"""The column with a batch's totals where only a summary is wanted, one JSON object each."""


@dataclass(frozen=True)
class BatchScorer:
    """Scores batches of samples; picklable, so that engines can send it to their workers.

    Called with a data frame or table of pandas, polars, Arrow or any library that narwhals reads,
    or with a mapping of names to columns (lists or NumPy arrays), it returns a table of the same
    kind: for each row of the
    batch one, with the columns of `Report.to_pandas` and with `fullrecall_row`, which holds all
    that a saved report has of the sample. The columns `sample`, `user_input` and `group` are the
    sample's own, None where it has none.

    - `position`: a column of whole numbers that is no part of a sample: it goes through, and
      `report` puts the rows in its order. Without it their order is that of the batches.
    - `keep="summary"`: one row for each batch instead, with `samples`, their number, and
      `fullrecall_totals`, from which `report` makes a report without rows. Small however many
      samples there are, and its summary is that of the whole, to the last bit.
    - `measures` are the columns of scores, or what `keep="summary"` totals; by default each
      score's headline over all and at k = 1, 3, 5, 10.
    - `rename` maps the batch's columns to a sample's fields, as in `fullrecall.datasets.read`.
    - `max_concurrency`, `timeout`, `retries` are those of `evaluate`, and so is `deadline`: all
      are of one batch, so that as many requests may be on their way as there are workers times
      `max_concurrency`. `store` is a file on a disk that the workers of one machine share.

    There is no budget: it bounds one run, and each batch is one.

    Raises `ParameterError` for an argument out of its range. Calls raise `InputError` for a row
    that is no sample, with its `position` where there is one, and `RunStopped` where a model
    answers nobody: a mistake in the data or a key that is refused ends the job.
    """

    scorers: Sequence[Scorer] | Scorer
    position: str | None = field(default=None, kw_only=True)
    keep: Keep = field(default="rows", kw_only=True)
    measures: Sequence[Measure] = field(default=(), kw_only=True)
    rename: Rename | None = field(default=None, kw_only=True)
    max_concurrency: int = field(default=16, kw_only=True)
    timeout: float | None = field(default=60.0, kw_only=True)
    deadline: float | None = field(default=None, kw_only=True)
    retries: Retries | int = field(default=MOST, kw_only=True)
    store: str | Path | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        from fullrecall.datasets.rows import Columns  # readers are no part of `import fullrecall`

        object.__setattr__(self, "scorers", tuple(check_scorers(self.scorers)))
        if self.keep not in ("rows", "summary"):
            raise ParameterError(f'keep is "rows" or "summary", got {self.keep!r}')
        if self.store is not None:
            if not isinstance(self.store, (str, Path)):
                raise ParameterError(
                    f"store must be a path here, got {type(self.store).__name__}: each worker "
                    "opens it"
                )
            # Workers may run in another directory.
            object.__setattr__(self, "store", str(Path(self.store).absolute()))
        Limits(self.max_concurrency, self.timeout, self.deadline, self.retries).retrying()
        Columns(self.rename)
        if self.position in (*self._score_columns, ROW):
            raise ParameterError(
                f"position={self.position!r} is the name of a column of scores: rename yours"
            )

    def __call__(self, batch: Any) -> Any:
        """Return the scores of a batch, in a table of the same kind."""
        table = table_of(batch)
        if self.position is not None and self.position not in table.names:
            raise InputError(
                f"no column {self.position!r}, which position names: there are "
                f"{', '.join(map(repr, table.names))}"
            )
        counted = self._counted(table)
        if counted is not None:
            return table.like(self._totals(counted), self._types, beside=False)
        positions: list[int] = []
        report = evaluate(
            self._samples(table, positions),
            self._tuple,
            max_concurrency=self.max_concurrency,
            timeout=self.timeout,
            deadline=self.deadline,
            retries=self.retries,
            store=self.store,
            progress=False,
            keep=self.keep,
            measures=self.measures,
        )
        by_row = self.keep == "rows"
        columns = self._rows(report, positions) if by_row else self._totals(report)
        return table.like(columns, self._types, beside=by_row)

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the scores of each batch: what Spark's `mapInPandas` and `mapInArrow` call."""
        for batch in batches:
            yield self(batch)

    @property
    def schema(self) -> str:
        """The columns that come out, as Spark's DDL."""
        quoted = {name: name.replace("`", "``") for name in self._types}
        return ", ".join(f"`{quoted[name]}` {kind}" for name, kind in self._types.items())

    @property
    def meta(self) -> pd.DataFrame:
        """The columns that come out, as the empty frame that Dask asks for.

        Raises `MissingExtraError` without pandas.
        """
        frame: pd.DataFrame = empty_frame(self._types)
        return frame

    def report(self, batches: Any) -> Report:
        """Return the report over batches of scores: one, or an iterable of them.

        It is what `evaluate` returns for the whole, with `spent` left out. Raises `ReportError`
        where a batch was scored in another way than this scorer's, and where a `position` stands
        twice.
        """
        whole = isinstance(batches, Mapping) or is_frame(batches)
        tables = map(table_of, [batches] if whole else batches)
        if self.keep == "summary":
            return self._report_of_totals(tables)
        lines: list[tuple[int, str]] = []
        for table in tables:
            texts = self._column(table, ROW)
            if self.position is None:
                lines += enumerate(texts, start=len(lines))
            else:
                lines += zip(self._column(table, self.position), texts, strict=True)
        lines.sort(key=lambda line: line[0])
        for (before, _), (after, _) in pairwise(lines):
            if before == after:
                raise ReportError(f"two rows have {self.position}={after}: each row has its own")
        rows = (self._row(number, text) for number, (_, text) in enumerate(lines, start=1))
        return Report.of(self._methods, rows)

    @property
    def _tuple(self) -> tuple[Scorer, ...]:
        return self.scorers  # type: ignore[return-value] # since __post_init__

    @cached_property
    def _score_columns(self) -> list[str]:
        return frames.score_columns(self._methods, self.measures)

    @cached_property
    def _types(self) -> dict[str, ColumnType]:
        """The columns that come out, in order."""
        if self.keep == "summary":
            return {"samples": "long", TOTALS: "string"}
        numbers = frames.numeric_columns(self._methods, self.measures)
        types: dict[str, ColumnType] = {}
        if self.position is not None:
            types[self.position] = "long"
        for name in self._score_columns:
            types[name] = "double" if name in numbers else "string"
        types[ROW] = "string"
        return types

    @cached_property
    def _digest(self) -> str:
        """What tells rows that were scored in another way, which would be misread."""
        from fullrecall.records import plain_method
        from fullrecall.report.file import VERSION

        methods = [plain_method(method) for method in self._methods]
        measures = [measure.name for measure in self.measures]
        text = json.dumps([VERSION, methods, measures], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def _methods(self) -> list[Method]:
        return [scorer.method for scorer in self._tuple]

    def _empty(self, *, keep_rows: bool = True) -> Report:
        return Report(self._methods, keep_rows=keep_rows, measures=self.measures)

    def _counted(self, table: Table) -> Report | None:
        """Return the totals of a batch that is counted by columns; None for any other."""
        if self.keep == "rows" or self.store is not None or self.deadline is not None:
            return None
        report = self._empty(keep_rows=False)
        done = count_columns(table, self.rename, self.position, self._tuple, report)
        return report if done else None

    def _samples(self, table: Table, positions: list[int]) -> Iterator[Sample]:
        from fullrecall.datasets.frames import without_gaps
        from fullrecall.datasets.rows import Columns, to_samples

        def numbered() -> Iterator[tuple[int, object]]:
            for number, row in enumerate(table.rows(), start=1):
                if self.position is None:
                    yield number, row
                else:
                    place = _whole(row.pop(self.position), self.position, number)
                    if self.keep == "rows":
                        positions.append(place)
                    yield place, row

        return to_samples(numbered(), Columns(self.rename), cell=without_gaps)

    def _rows(self, report: Report, positions: list[int]) -> dict[str, list[Any]]:
        from fullrecall.records import plain_row
        from fullrecall.report.file import as_line

        columns: dict[str, list[Any]] = {name: [] for name in self._types}
        if self.position is not None:
            columns[self.position] = positions
        for row, cells in zip(report.rows, frames.score_rows(report, self.measures), strict=True):
            cells["sample"] = row.sample.id  # not its label: a number counts within a batch
            for name in self._score_columns:
                columns[name].append(cells.get(name))
            plain = plain_row(row.sample, row.results, default=str)
            columns[ROW].append(as_line({"methods": self._digest, **plain}))
        return columns

    def _totals(self, report: Report) -> dict[str, list[Any]]:
        from fullrecall.report.file import as_line

        text = as_line({"methods": self._digest, **report.totals()})
        return {"samples": [len(report)], TOTALS: [text]}

    def _column(self, table: Table, name: str) -> list[Any]:
        if name not in table.names:
            raise ReportError(
                f"no column {name!r}, so these are no scores of this scorer: there are "
                f"{', '.join(map(repr, table.names))}"
            )
        return table.column(name)

    def _report_of_totals(self, tables: Iterable[Table]) -> Report:
        texts = [text for table in tables for text in self._column(table, TOTALS)]
        parts = [self._read(TOTALS, number, text) for number, text in enumerate(texts, start=1)]
        return Report.of_totals(parts) if parts else self._empty(keep_rows=False)

    def _row(self, number: int, text: str) -> Row:
        from fullrecall.report.file import row_of

        plain = self._read(ROW, number, text)
        try:
            return row_of(plain, self._methods, number)
        except ReportError as error:
            raise ReportError(f"row {number}: {ROW}: {error}") from None

    def _read(self, column: str, number: int, text: str) -> dict[str, Any]:
        """Return what a cell holds, once it is known to be of these scorers."""
        from fullrecall.report.file import parsed

        try:
            plain: dict[str, Any] = parsed(text)
            digest = plain.pop("methods")
        except (ValueError, TypeError, KeyError, AttributeError, ReportError) as error:
            raise ReportError(f"row {number}: {column} holds no result: {error!r}") from None
        if digest != self._digest:
            raise ReportError(
                f"row {number} was scored in another way: give this BatchScorer the same scorers "
                "with the same parameters"
            )
        return plain


def score_batch(batch: Any, scorers: Sequence[Scorer] | Scorer, **options: Any) -> Any:
    """Return the scores of a batch as a table of the same kind; `BatchScorer` has the options."""
    return BatchScorer(scorers, **options)(batch)


def _whole(value: object, column: str, number: int) -> int:
    """Return a cell of the position's column as an int, which a gap may have made a float."""
    try:
        place = int(value)  # type: ignore[call-overload]
        if place == value:
            return int(place)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{column} holds whole numbers, got {value!r}", line=number, field=column)
