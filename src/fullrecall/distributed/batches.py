"""Data sets beyond one machine: a batch in, its scores out, in whatever engine moves batches.

`BatchScorer` is what Ray Data's `map_batches`, Spark's `mapInArrow` and Dask's `map_partitions`
call in their workers; docs/distributed.md has a job of each. What comes out carries each sample's
whole result, or the totals of a part that knows which rows it has, so that the report over all
batches is the one that `evaluate` returns, or says what it lacks.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fullrecall.dataframes import is_frame
from fullrecall.distributed.identity import Identity
from fullrecall.distributed.parts import missing_in_words, segments
from fullrecall.distributed.quarantine import sample_or_problem, unscored
from fullrecall.distributed.ranges import Runs, overlap, runs_of
from fullrecall.distributed.sums import parted
from fullrecall.distributed.tables import ColumnType, Table, empty_frame, table_of
from fullrecall.distributed.whole import Whole, failures_in_words, planned_runs
from fullrecall.errors import InputError, MissingExtraError, ParameterError, ReportError
from fullrecall.evaluation.limits import Limits
from fullrecall.evaluation.run import Keep, check_scorers, evaluate
from fullrecall.measures import Measure
from fullrecall.models.retries import MOST, Retries
from fullrecall.report import frames
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.report.tally import Tallies
from fullrecall.result import Method
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    import pandas as pd

    from fullrecall.datasets.rows import Columns, Rename
    from fullrecall.evaluation.budget import Budget
    from fullrecall.usage import Spent

ROW = "fullrecall_row"
"""The column with a sample's whole result, as a saved report has it, one JSON object each."""

PROBLEM = "fullrecall_problem"
"""The column that says why a row is no sample, or what its batch failed with; else None."""

TOTALS = "fullrecall_totals"
"""The column with totals where only a summary is wanted, one JSON object each."""

KEY = "fullrecall_key"
"""The column to group totals by: what has one key is merged in one place."""

_PAUSE_SECONDS = 1.0
"""Between two tries of a batch that raised."""

_MISTAKES = (InputError, ParameterError, MissingExtraError)
"""What is wrong with the job, and no matter of one batch."""

BadRows: TypeAlias = Literal["quarantine", "raise"]
Failures: TypeAlias = Literal["report", "raise"]


@dataclass(frozen=True)
class BatchScorer:
    """Scores batches of samples; picklable, so that engines can send it to their workers.

    Called with a data frame or table of pandas, polars, Arrow or any library that narwhals reads,
    or with a mapping of names to columns (lists or NumPy arrays), it returns a table of the same
    kind: for each row of the batch one, with the columns of `Report.to_frame`, with
    `fullrecall_problem`, and with `fullrecall_row`, which holds all that a saved report has of
    the sample. The columns `sample`, `user_input` and `group` are the sample's own, None where it
    has none.

    - `position`: a column of whole numbers >= 0 that is no part of a sample and tells rows apart:
      number them from 0 when you write the data set. `report` puts the rows in its order, counts
      one that comes twice once, and says which are missing. Without it the order is that of the
      batches, and nobody knows.
    - `keep="summary"`: totals instead, a few rows for each batch, from which `report` makes a
      report without rows. Small however many samples there are, and its summary is that of the
      whole, to the last bit. It needs `position`. `merged` merges them in the workers, grouped by
      `fullrecall_key`.
    - `part_size`: rows from which on totals are merged as a whole. `buckets`: to how many places
      the sums of groups go.
    - `measures` are the columns of scores, or what `keep="summary"` totals; by default each
      score's headline over all and at k = 1, 3, 5, 10.
    - `rename` maps the batch's columns to a sample's fields, as in `fullrecall.datasets.read`.
    - `bad_rows`: a row that is no sample is unscored, with the reason, and the others are scored;
      "raise" raises `InputError` instead.
    - `failed_batches`: a batch that raises is scored again, `tries` times in all, and then
      reported as missing, with the error; "raise" raises it, for the engine to try again.
    - `max_concurrency`, `timeout`, `retries` are those of `evaluate`, and so is `deadline`: all
      are of one batch, so that as many requests may be on their way as there are workers times
      `max_concurrency`.
    - `store`: a file on a disk that the workers of one machine share, or the URL of a Redis server
      for those of many: `redis://host:6379/0`. An answer that one has paid for, no other asks for.
      The server's password is read from REDIS_PASSWORD, here and in the workers.
    - `budget`: what all workers may spend together, until this scorer is made anew; `spent` tells
      how much that is. `rate`: requests per second that all of them send together. Both need a
      store on a server.

    Raises `ParameterError` for an argument out of its range. Calls raise `InputError` for a
    column that no sample has, or a position that is none: no matter of a row.
    """

    scorers: Sequence[Scorer] | Scorer
    position: str | None = field(default=None, kw_only=True)
    keep: Keep = field(default="rows", kw_only=True)
    part_size: int = field(default=10_000, kw_only=True)
    buckets: int = field(default=16, kw_only=True)
    measures: Sequence[Measure] = field(default=(), kw_only=True)
    rename: Rename | None = field(default=None, kw_only=True)
    bad_rows: BadRows = field(default="quarantine", kw_only=True)
    failed_batches: Failures = field(default="report", kw_only=True)
    tries: int = field(default=2, kw_only=True)
    max_concurrency: int = field(default=16, kw_only=True)
    timeout: float | None = field(default=60.0, kw_only=True)
    deadline: float | None = field(default=None, kw_only=True)
    retries: Retries | int = field(default=MOST, kw_only=True)
    store: str | Path | None = field(default=None, kw_only=True)
    budget: Budget | None = field(default=None, kw_only=True)
    rate: float | None = field(default=None, kw_only=True)
    _job: str = field(
        default_factory=lambda: secrets.token_hex(8), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        from fullrecall.datasets.rows import Columns  # readers are no part of `import fullrecall`

        object.__setattr__(self, "scorers", tuple(check_scorers(self.scorers)))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                told = ", ".join(map(repr, choices))
                raise ParameterError(f"{name} must be one of {told}, got {getattr(self, name)!r}")
        for name in ("part_size", "buckets", "tries"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ParameterError(f"{name} must be a whole number >= 1, got {value!r}")
        if self.keep == "summary" and self.position is None:
            raise ParameterError(
                'keep="summary" needs position=…, a column of whole numbers that identifies rows: '
                "without it a part that comes twice is counted twice, and a lost one is not missed"
            )
        if self.store is not None:
            if not isinstance(self.store, (str, Path)):
                raise ParameterError(
                    f"store must be a path or a redis:// URL here, got "
                    f"{type(self.store).__name__}: each worker opens it"
                )
            if not self._is_served:  # workers may run in another directory
                object.__setattr__(self, "store", str(Path(self.store).absolute()))
        self._options  # noqa: B018 - raises what is wrong with them here, and not in a worker
        Limits(self.max_concurrency, self.timeout, self.deadline, self.retries).retrying()
        Columns(self.rename)
        if self.position in (*self._score_columns, ROW, PROBLEM, TOTALS, KEY):
            raise ParameterError(
                f"position={self.position!r} is the name of a column of scores: rename yours"
            )

    def __call__(self, batch: Any) -> Any:
        """Return the scores of a batch, in a table of the same kind."""
        table = table_of(batch)
        positions = self._positions(table)
        for tried in range(1, self.tries + 1):
            try:
                return self._scored(table, positions)
            except _MISTAKES:
                raise
            except Exception as error:
                if tried < self.tries:
                    time.sleep(_PAUSE_SECONDS)
                elif self.failed_batches == "raise":
                    raise
                else:
                    return self._failed(table, positions, error)
        raise AssertionError  # tries >= 1

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the scores of each batch: what Spark's `mapInPandas` and `mapInArrow` call."""
        for batch in batches:
            yield self(batch)

    def merged(self, batch: Any) -> Any:
        """Return totals merged: fewer rows of the same columns.

        All rows of a `fullrecall_key` must be in the batch, as an engine's grouping by it brings
        them together: what a group of samples has is all there then, and becomes one value. A key
        of which a part was merged elsewhere raises `ReportError` when it is reported.
        """
        table = table_of(batch)
        whole = self._whole_of([table])
        whole.fold(self._tallies)
        return table.like(self._totals_columns(whole), self._types, beside=False)

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

    def report(self, batches: Any, *, rows: int | range | Sequence[range] | None = None) -> Report:
        """Return the report over batches of scores: one, or an iterable of them.

        `rows` is the plan: how many rows the data set has, numbered from 0, or the ranges of
        their positions. What it has and the batches have not makes the report incomplete:
        `report.stopped` says which rows, and what failed. Rows that come twice count once.

        It is what `evaluate` returns for the whole, with `spent` left out. Raises `ReportError`
        where a batch was scored in another way than this scorer's, where a `position` stands for
        two different rows, and without `rows` where only totals are kept.
        """
        whole = isinstance(batches, Mapping) or is_frame(batches)
        tables = map(table_of, [batches] if whole else batches)
        planned = None if rows is None else planned_runs(rows)
        if self.keep == "summary":
            if planned is None:
                raise ReportError(
                    "rows is missing: pass rows=…, how many the data set has; nothing else shows "
                    "whether a part was lost"
                )
            return self._report_of_totals(tables, planned)
        return self._report_of_rows(tables, planned)

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
            return {KEY: "long", "samples": "long", TOTALS: "string"}
        numbers = frames.numeric_columns(self._methods, self.measures)
        types: dict[str, ColumnType] = {}
        if self.position is not None:
            types[self.position] = "long"
        for name in self._score_columns:
            types[name] = "double" if name in numbers else "string"
        return types | {PROBLEM: "string", ROW: "string"}

    @cached_property
    def _identity(self) -> Identity:
        return Identity.of(self._tuple, self.measures)

    @cached_property
    def _methods(self) -> list[Method]:
        return [scorer.method for scorer in self._tuple]

    @property
    def _tallies(self) -> Tallies:
        return Tallies.by(self._methods, self.measures)

    @property
    def _whole(self) -> Whole:
        return Whole(self._identity, self.part_size, self.buckets)

    def _positions(self, table: Table) -> list[int]:
        """Return the positions of a batch's rows, none where no column is named."""
        if self.position is None:
            return []
        if self.position not in table.names:
            raise InputError(
                f"no column {self.position!r}, which position names: the columns are "
                f"{', '.join(map(repr, table.names))}"
            )
        values = enumerate(table.column(self.position), start=1)
        positions = [_whole_number(value, self.position, number) for number, value in values]
        if self.keep == "summary" and len(set(positions)) < len(positions):
            twice = overlap(((place, place),) for place in positions)
            raise InputError(
                f"{twice and twice[0]} occurs twice in a batch: number each row once",
                field=self.position,
            )
        return positions

    def _scored(self, table: Table, positions: list[int]) -> Any:
        if self.keep == "summary":
            whole = self._whole
            for runs, places, part in self._segments(table, positions):
                self._add_totals(whole, part, places, runs)
            return table.like(self._totals_columns(whole), self._types, beside=False)
        scored, problems = self._evaluated(table, positions)
        return table.like(self._rows(scored, problems, positions), self._types, beside=True)

    def _failed(self, table: Table, positions: list[int], error: Exception) -> Any:
        """Return what says that a batch came to nothing, and why."""
        from fullrecall.models.redaction import redacted
        from fullrecall.report.file import as_line

        why = redacted(f"{type(error).__name__}: {error}")
        if self.keep == "summary":
            whole = self._whole
            whole.fail(runs_of(positions), why)
            return table.like(self._totals_columns(whole), self._types, beside=False)
        names = self._types
        count = table.count
        columns: dict[str, list[Any]] = {name: [None] * count for name in names}
        if self.position is not None:
            columns[self.position] = positions
        text = as_line({"failed": why, "identity": self._identity.to_dict()})
        columns[PROBLEM], columns[ROW] = [f"batch failed: {why}"] * count, [text] * count
        return table.like(columns, names, beside=True)

    def _segments(
        self, table: Table, positions: list[int]
    ) -> Iterator[tuple[Runs, list[int], Table]]:
        """Yield the parts that a batch's rows make: their runs, their positions, and a table."""
        runs = runs_of(positions)
        every = segments(runs, self.part_size) if runs else []
        if len(every) == 1:
            yield runs, positions, table
            return
        for part in every:
            places = range(part[0][0], part[0][1] + 1)
            numbers = [number for number, row in enumerate(positions) if row in places]
            yield part, [positions[number] for number in numbers], table.taken(numbers)

    def _add_totals(self, whole: Whole, table: Table, positions: list[int], runs: Runs) -> None:
        """Score a table, and add what it comes to."""
        tallies = self._tallies
        numbers = self._count_columns(table, tallies)
        if numbers is not None:  # all others are counted
            table, positions = table.taken(numbers), [positions[number] for number in numbers]
        problems: dict[int, tuple[Sample, str]] = {}
        if positions:
            report = evaluate(
                self._samples(table.rows(), positions, problems),
                self._tuple,
                keep="summary",
                measures=self.measures,
                **self._options,
            )
            tallies.merge(report.tallies)
        for number, (sample, problem) in problems.items():
            tallies.add(Row(number + 1, sample, unscored(self._tuple, problem)))
        sums, groups = parted(tallies, self.buckets)
        whole.add(runs, sums, groups)
        whole.add_bad_rows({positions[n]: problem for n, (_, problem) in problems.items()})

    def _count_columns(self, table: Table, tallies: Tallies) -> list[int] | None:
        """Count what columns are enough for; return the rows that are left, None for all."""
        arrow = table.arrow
        if arrow is None:
            return None
        from fullrecall.distributed import id_columns

        if not id_columns.asks_for_columns(self._tuple, tallies):
            return None
        found = id_columns.fields_of(arrow, self._columns())
        left = None if found is None else id_columns.count(found, tallies)
        return None if left is None else left.tolist()

    def _evaluated(
        self, table: Table, positions: list[int]
    ) -> tuple[list[Row], dict[int, tuple[Sample, str]]]:
        """Return all rows of a batch, and which of them are no samples, and why."""
        problems: dict[int, tuple[Sample, str]] = {}
        samples = self._samples(table.rows(), positions, problems)
        scored = iter(evaluate(samples, self._tuple, keep="rows", **self._options).rows)
        rows: list[Row] = []
        for number in range(table.count):
            if number in problems:
                sample, problem = problems[number]
                rows.append(Row(number + 1, sample, unscored(self._tuple, problem)))
            else:
                rows.append(next(scored))
        return rows, problems

    @property
    def spent(self) -> Spent | None:
        """What all workers have sent and paid so far; None without a budget or a rate."""
        budget = self._options["budget"]
        return None if budget is None else budget.spent()

    def __dask_tokenize__(self) -> tuple[object, ...]:
        # The job is left out: two scorers that do the same are the same to Dask.
        parts = (getattr(self, each.name) for each in fields(self) if each.name not in _NO_TOKEN)
        return (self._identity.to_dict(), *map(str, parts))

    @property
    def _is_served(self) -> bool:
        return isinstance(self.store, str) and self.store.startswith(_SCHEMES)

    @property
    def _options(self) -> dict[str, Any]:
        """The options of `evaluate`: what workers share is given with the job that they are of."""
        store: Any = None
        budget: Any = None
        if self._is_served:
            from fullrecall.evaluation.served_store import Server

            store = Server(str(self.store), self._job)
        elif self.store is not None:
            from fullrecall.evaluation.store import JobFile

            store = JobFile(str(self.store), self._job)
        if self.budget is not None or self.rate is not None:
            if not self._is_served:
                raise ParameterError(
                    "budget and rate need store='redis://…', a server that all workers share: "
                    f"got store={self.store!r}"
                )
            from fullrecall.evaluation.budget import Budget
            from fullrecall.evaluation.shared_account import JobBudget

            given = vars(self.budget or Budget())
            budget = JobBudget(**given, server=store, rate=self.rate)
        return {
            "max_concurrency": self.max_concurrency,
            "timeout": self.timeout,
            "deadline": self.deadline,
            "retries": self.retries,
            "store": store,
            "budget": budget,
            "progress": False,
        }

    def _samples(
        self,
        rows: Iterable[dict[Any, object]],
        positions: list[int],
        problems: dict[int, tuple[Sample, str]],
    ) -> Iterator[Sample]:
        """Yield the samples; put what is none among `problems`, by its number.

        Numbers count from 0. Raises `InputError` for what is wrong with all rows, and for the
        first that is no sample if that is wanted.
        """
        from fullrecall.datasets.frames import without_gaps

        columns = self._columns()
        some = False
        for number, row in enumerate(rows):
            some = True
            sample, problem = sample_or_problem(row, columns, without_gaps)
            if not problem:
                yield sample
            elif self.bad_rows == "raise":
                raise InputError(problem, line=positions[number] if positions else number + 1)
            else:
                problems[number] = sample, problem
        if some:
            columns.check_all_met()

    def _columns(self) -> Columns:
        from fullrecall.datasets.rows import Columns

        own = {} if self.position is None else {self.position: None}
        return Columns({**(self.rename or {}), **own})

    def _rows(
        self,
        rows: list[Row],
        problems: dict[int, tuple[Sample, str]],
        positions: list[int],
    ) -> dict[str, list[Any]]:
        from fullrecall.records import plain_row
        from fullrecall.report.file import as_line

        columns: dict[str, list[Any]] = {name: [] for name in self._types}
        if self.position is not None:
            columns[self.position] = positions
        identity = self._identity.to_dict()
        report = Report.of(self._methods, rows)
        scored = frames.score_rows(report, self.measures)
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

    def _totals_columns(self, whole: Whole) -> dict[str, list[Any]]:
        made = list(whole.texts())
        keys, samples, texts = ([row[place] for row in made] for place in range(3))
        return {KEY: keys, "samples": samples, TOTALS: texts}

    def _column(self, table: Table, name: str) -> list[Any]:
        if name not in table.names:
            raise ReportError(
                f"no column {name!r}, so these are not scores of this scorer: the columns are "
                f"{', '.join(map(repr, table.names))}"
            )
        return table.column(name)

    def _whole_of(self, tables: Iterable[Table]) -> Whole:
        whole = self._whole
        texts = (text for table in tables for text in self._column(table, TOTALS))
        for number, text in enumerate(texts, start=1):
            try:
                whole.add_text(text)
            except ReportError as error:
                raise ReportError(f"row {number}: {TOTALS}: {error}") from None
        return whole

    def _report_of_totals(self, tables: Iterable[Table], planned: Runs) -> Report:
        whole = self._whole_of(tables)
        report = Report.counted(self._methods, whole.tallies(self._tallies))
        report.stopped = whole.stopped(planned)
        report.bad_rows = whole.bad_rows
        return report

    def _report_of_rows(self, tables: Iterable[Table], planned: Runs | None) -> Report:
        from fullrecall.report.file import row_of

        texts = self._texts(tables)
        report = Report(self._methods)
        failures: dict[str, list[int]] = {}
        there: list[int] = []
        for number, (place, text) in enumerate(texts, start=1):
            plain = self._read(number, text)
            if "failed" in plain:
                failures.setdefault(str(plain["failed"]), []).append(place)
                continue
            there.append(place)
            problem = plain.pop("bad_row", None)
            if problem is not None:
                report.bad_rows[place] = str(problem)
            try:
                report.add(row_of(plain, self._methods, len(report) + 1))
            except ReportError as error:
                raise ReportError(f"row {number}: {ROW}: {error}") from None
        covered = runs_of(there)
        told = failures_in_words({runs_of(rows): why for why, rows in failures.items()}, covered)
        if self.position is not None:
            planned = planned if planned is not None else _up_to(covered)
            told.insert(0, missing_in_words(planned, covered))
        report.stopped = "; ".join(filter(None, told)) or None
        return report

    def _texts(self, tables: Iterable[Table]) -> list[tuple[int, str]]:
        """Return the rows by position, each once; what failed only where nothing else came."""
        if self.position is None:
            return list(enumerate(text for table in tables for text in self._column(table, ROW)))
        known: dict[int, str] = {}
        failed: dict[int, str] = {}
        for table in tables:
            columns = (self._column(table, name) for name in (self.position, ROW))
            for place, text in zip(*columns, strict=True):
                if str(text).startswith(_FAILED):
                    failed[place] = text
                elif (first := known.setdefault(place, text)) is not text and first != text:
                    raise ReportError(
                        f"two rows have {self.position}={place}, but differ: number each row once"
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
            self._identity.check(identity)
        except ReportError as error:
            raise ReportError(f"row {number}: {error}") from None
        return plain


_SCHEMES = ("redis://", "rediss://", "unix://")

_NO_TOKEN = ("scorers", "retries", "_job")

_FAILED = '{"failed":'
"""How the text of a row begins of which the batch failed."""

_CHOICES = {
    "keep": ("rows", "summary"),
    "bad_rows": ("quarantine", "raise"),
    "failed_batches": ("report", "raise"),
}


def score_batch(batch: Any, scorers: Sequence[Scorer] | Scorer, **options: Any) -> Any:
    """Return the scores of a batch as a table of the same kind; `BatchScorer` has the options."""
    return BatchScorer(scorers, **options)(batch)


def _whole_number(value: object, column: str, number: int) -> int:
    """Return a cell of the position's column as an int, which a gap may have made a float."""
    try:
        place = int(value)  # type: ignore[call-overload]
        if place == value and place >= 0:
            return int(place)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        f"{column} must hold whole numbers >= 0, got {value!r}", line=number, field=column
    )


def _up_to(covered: Runs) -> Runs:
    """Return the rows that must be there where nothing but these is known."""
    return ((0, covered[-1][1]),) if covered else ()
