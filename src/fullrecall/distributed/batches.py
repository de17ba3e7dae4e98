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
from fullrecall.distributed.job import BadRows, Job, Kept
from fullrecall.distributed.scored_rows import PROBLEM, ROW, ScoredRows
from fullrecall.distributed.tables import Table, empty_frame, table_of
from fullrecall.distributed.totals.summed_rows import KEY, TOTALS, SummedRows
from fullrecall.distributed.totals.whole import planned_runs
from fullrecall.errors import InputError, MissingExtraError, ParameterError, ReportError
from fullrecall.evaluation.limits import Limits
from fullrecall.evaluation.run import Keep, check_scorers
from fullrecall.measures import Measure
from fullrecall.models.retries import MOST, Retries
from fullrecall.report import frames
from fullrecall.report.report import Report
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    import pandas as pd

    from fullrecall.evaluation.budget import Budget
    from fullrecall.read.rows import Rename
    from fullrecall.usage import Spent

_PAUSE_SECONDS = 1.0
"""Between two tries of a batch that raised."""

_MISTAKES = (InputError, ParameterError, MissingExtraError)
"""What is wrong with the job, and no matter of one batch."""

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
    - `output`: a directory that all workers reach by this path. They write the rows there, and
      return one text for each batch; `report` makes of them a report as a directory, in the place
      of the one that was there, and opens it. It needs `position`, and batches of 10,000 to 20,000
      rows are best.
    - `part_size`: rows from which on totals are merged as a whole. `buckets`: to how many places
      the sums of groups go.
    - `measures` are the columns of scores, or what `keep="summary"` totals; by default each
      score's headline over all and at k = 1, 3, 5, 10.
    - `rename` maps the batch's columns to a sample's fields, as in `fullrecall.read.read`.
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
    output: str | Path | None = field(default=None, kw_only=True)
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
        from fullrecall.read.rows import Columns  # readers are no part of `import fullrecall`

        object.__setattr__(self, "scorers", tuple(check_scorers(self.scorers)))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                told = ", ".join(map(repr, choices))
                raise ParameterError(f"{name} must be one of {told}, got {getattr(self, name)!r}")
        self._check_numbers()
        if self.keep == "summary" and self.position is None:
            raise ParameterError(
                'keep="summary" needs position=…, a column of whole numbers that identifies rows: '
                "without it a part that comes twice is counted twice, and a lost one is not missed"
            )
        if self.output is not None:
            self._check_output(self.output)
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
        own = frames.score_columns(self._batch_job.methods, self.measures)
        if self.position in {*own, ROW, PROBLEM, TOTALS, KEY}:
            raise ParameterError(
                f"position={self.position!r} is the name of a column of scores: rename yours"
            )

    def __call__(self, batch: Any) -> Any:
        """Return the scores of a batch, in a table of the same kind."""
        table = table_of(batch)
        positions = self._batch_job.positions(table)
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
                    from fullrecall.models.redaction import redacted

                    why = redacted(f"{type(error).__name__}: {error}")
                    return self._kept.failed(table, positions, why)
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
        if not isinstance(self._kept, SummedRows):
            raise ParameterError(f'merged needs keep="summary", got keep={self.keep!r}')
        return self._kept.merged(table_of(batch))

    @property
    def schema(self) -> str:
        """The columns that come out, as Spark's DDL."""
        quoted = {name: name.replace("`", "``") for name in self._kept.types}
        return ", ".join(f"`{quoted[name]}` {kind}" for name, kind in self._kept.types.items())

    @property
    def meta(self) -> pd.DataFrame:
        """The columns that come out, as the empty frame that Dask asks for.

        Raises `MissingExtraError` without pandas.
        """
        frame: pd.DataFrame = empty_frame(self._kept.types)
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
        return self._kept.report(tables, planned)

    def _scored(self, table: Table, positions: list[int]) -> Any:
        return self._kept.scored(table, positions)

    def _check_numbers(self) -> None:
        for name in ("part_size", "buckets", "tries"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ParameterError(f"{name} must be a whole number >= 1, got {value!r}")

    def _check_output(self, output: str | Path) -> None:
        """Raise what is wrong with the directory; make its path absolute."""
        from fullrecall.distributed.parquet.columns import schema
        from fullrecall.distributed.parquet.directory import check_directory

        if self.keep == "summary":
            raise ParameterError('output needs keep="rows", got keep="summary": it has rows')
        if self.position is None:
            raise ParameterError(
                "output needs position=…, a column of whole numbers that identifies rows: without "
                "it a part that comes twice is counted twice, and a lost one is not missed"
            )
        schema(self._batch_job.methods)  # without pyarrow, before anything is scored
        try:
            check_directory(output)
        except ReportError as error:
            raise ParameterError(f"output: {error}") from None
        absolute = Path(output).absolute()  # workers may run in another directory
        if not absolute.parent.is_dir():
            raise ParameterError(f"output: no directory {absolute.parent}")
        object.__setattr__(self, "output", str(absolute))

    @cached_property
    def _batch_job(self) -> Job:
        return Job(
            self.scorers,  # type: ignore[arg-type] # a tuple since __post_init__
            self.measures,
            self.position,
            self.rename,
            self.bad_rows,
            lambda: self._options,
        )

    @cached_property
    def _kept(self) -> Kept:
        job = self._batch_job
        if self.output is not None:
            from fullrecall.distributed.parquet.written_rows import WrittenRows

            return WrittenRows(job, Path(self.output), self._job)
        if self.keep == "summary":
            return SummedRows(job, self.part_size, self.buckets)
        return ScoredRows(job)

    @property
    def spent(self) -> Spent | None:
        """What all workers have sent and paid so far; None without a budget or a rate."""
        budget = self._options["budget"]
        return None if budget is None else budget.spent()

    def __getstate__(self) -> dict[str, Any]:
        # Without what is worked out when it is first used.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __dask_tokenize__(self) -> tuple[object, ...]:
        # The job is left out: two scorers that do the same are the same to Dask.
        parts = (getattr(self, each.name) for each in fields(self) if each.name not in _NO_TOKEN)
        return (self._batch_job.identity.to_dict(), *map(str, parts))

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


_SCHEMES = ("redis://", "rediss://", "unix://")

_NO_TOKEN = ("scorers", "retries", "_job")

_CHOICES = {
    "keep": ("rows", "summary"),
    "bad_rows": ("quarantine", "raise"),
    "failed_batches": ("report", "raise"),
}


def score_batch(batch: Any, scorers: Sequence[Scorer] | Scorer, **options: Any) -> Any:
    """Return the scores of a batch as a table of the same kind; `BatchScorer` has the options."""
    return BatchScorer(scorers, **options)(batch)
