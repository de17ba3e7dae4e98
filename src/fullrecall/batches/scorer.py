"""Data sets beyond one machine: scores beside each batch, for any engine that moves batches.

Ray Data's `map_batches`, Spark's `mapInArrow` and Dask's `map_partitions` call a `BatchScorer` in
their workers; docs/scale.md has a job of each. The engine writes the results as Parquet anywhere,
and `Report.open` reads them.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall._util.dataframes import FrameRow, frame_columns, is_missing
from fullrecall._util.extras import pyarrow
from fullrecall.batches.frame import batch_frame, beside, ddl, misspelled
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.frames import without_gaps
from fullrecall.files.paths import path_of
from fullrecall.files.plans import FIELDS, Given, ReadPlan, named_plan, snake
from fullrecall.files.rows import Rename
from fullrecall.judge.models.retries import Retries
from fullrecall.judge.usage import MOST, Spent
from fullrecall.run.address import Address
from fullrecall.run.budget import Budget, checked
from fullrecall.run.evaluate import (
    CorpusLike,
    EvaluateOptions,
    check_scorers,
    corpus_index,
    evaluated,
)
from fullrecall.run.limits import Limits
from fullrecall.samples.retrieval import View
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.scorers.scorer import BAD_ROW, Scorer
from fullrecall.stats.evaluation import Evaluation

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa


@dataclass(frozen=True)
class BatchScorer:
    """Scores batches of samples; picklable, so that engines can send it to their workers.

    Called with a data frame or table of pandas, polars, Arrow or any library that narwhals reads,
    it returns a table of the same kind with the same rows. Columns with a sample's fields get the
    names of `Sample`, all other columns stay as they are, and each score adds its columns, those of
    a saved report (docs/scale.md lists them). `Report.open` reads the table once it is written as
    Parquet. A row that is not a sample is unscored, with the reason.

    - `position`: a column of distinct whole numbers >= 0 that is not a field of a sample: number
      the rows from 0 when you write the data set. It is returned as `row`. `Report.open` sorts the
      rows by it, counts a repeated row once, and with `rows=` names the missing rows. A row without
      a number is unscored. Default: none, so that rows have the order of the files, and missing
      rows are not noticed.
    - `rename` maps the batch's columns to a sample's fields, as in `fullrecall.read.read`.
    - `max_concurrency`, `timeout`, `retries` are those of `evaluate`, and so is `deadline`. All
      hold for one batch: up to `max_concurrency` requests for each worker may be open at once.
    - `store`: a file on a disk that the workers of one machine share, or, for workers on several
      machines, the URL of a Redis server: `redis://host:6379/0`. No worker asks again for an answer
      that another has paid for. The server's password is read from REDIS_PASSWORD, here and in the
      workers.
    - `budget`: the most that all workers may spend together, until this scorer is made anew, and
      how fast; `spent` returns their spending so far. It needs a store that all workers share.
    - `view`: which list of a sample's record is scored, as in `evaluate`.
    - `corpus`: the documents that the retriever searched, as in `evaluate`; read here, once, and
      sent to the workers as a `CorpusIndex` that keeps all its texts. Make one of the documents
      without their texts, `CorpusIndex.of(documents)`, where no sample has spans.

    Raises `ParameterError` for an argument out of its range, and `MissingExtraError` without
    pyarrow. Calls, `schema` and `meta` raise `InputError` for a column that has the name of a
    score's column or looks like a misspelled field; calls raise it for a wrong position too. These
    are errors of the data set, not of a row.
    """

    scorers: Sequence[Scorer] | Scorer
    _: KW_ONLY
    position: str | None = None
    rename: Rename | None = None
    max_concurrency: int = 16
    timeout: float | None = 60.0
    deadline: float | None = None
    retries: Retries | int = MOST
    store: str | Path | None = None
    budget: Budget | None = None
    view: View = "contexts"
    corpus: CorpusLike | None = None
    _job: str = field(
        default_factory=lambda: secrets.token_hex(8), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        pyarrow("scoring batches")
        scorers = tuple(check_scorers(self.scorers))
        object.__setattr__(self, "scorers", scorers)
        object.__setattr__(self, "corpus", corpus_index(self.corpus))
        if self.store is not None:
            if not isinstance(self.store, (str, Path)):
                raise ParameterError(
                    "must be a path or a redis:// URL here, got "
                    f"{type(self.store).__name__}: each worker opens it",
                    "store",
                )
            given = Address(str(self.store))
            # The path is absolute, since workers may run in another directory.
            store = given.url if given.is_server else str(Path(self.store).absolute())
            object.__setattr__(self, "store", store)
        # Raise for wrong options here, not in a worker.
        self._options  # noqa: B018
        self._given  # noqa: B018
        address = self._address
        if self.budget is not None:
            checked(self.budget, scorers)
            if address is None:
                raise ParameterError(
                    "budget needs store=…, a file or a redis:// URL that all workers share"
                )
            # workers must find the account there, or they send nothing
            with address.open() as ledger:
                ledger.open_account()

    def __call__(self, batch: Any) -> Any:
        """Return a batch with its scores, as a table of the same kind.

        Raises errors of a store or a model that end the run; engines then retry the batch.
        """
        frame = batch_frame(batch)
        kept = self._passed_through(frame.columns)
        return beside(batch, frame, kept, self._scored(frame, self._positions(frame)))

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield each batch with its scores; Spark's `mapInArrow` calls this."""
        for batch in batches:
            yield self(batch)

    def schema(self, data: Any) -> str:
        """Return the resulting columns for a Spark data frame, as Spark's DDL."""
        columns = {each.name: each.dataType.simpleString() for each in data.schema.fields}
        kept = self._passed_through(list(columns))
        return ddl({name: columns[name] for name in kept}, self._schema)

    def meta(self, data: Any) -> Any:
        """Return the resulting columns for a Dask data frame, as the empty frame it needs."""
        return self(data.head(0, npartitions=-1) if not hasattr(data, "_meta") else data._meta)  # noqa: SLF001

    @property
    def spent(self) -> Spent | None:
        """The requests and costs of all workers so far; None without a budget.

        Raises `StoreError` if the store has lost the account.
        """
        address = self._address
        if self.budget is None or address is None:
            return None
        from fullrecall.run.account import spent_of  # this module imports asyncio

        with address.open() as ledger:
            return spent_of(ledger, self.budget)

    def __getstate__(self) -> dict[str, Any]:
        # The values that are cached on first use are left out.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __dask_tokenize__(self) -> tuple[object, ...]:
        # The job's ID is left out: Dask treats two scorers with the same options as one.
        from fullrecall.files.reports import columns

        names = {each.name for each in fields(self)} - {"scorers", "retries", "_job"}
        parts = (getattr(self, name) for name in sorted(names))
        return (columns.head(self._methods), *map(str, parts))

    @property
    def _address(self) -> Address | None:
        """The address of the store that all workers share for answers and spending."""
        return None if self.store is None else Address(str(self.store), self._job)

    @property
    def _options(self) -> EvaluateOptions:
        """The options of `evaluate`, without those that workers get with their job."""
        limits = {each.name: getattr(self, each.name) for each in fields(Limits)}
        limits["store"] = self._address
        return EvaluateOptions(Limits(**limits), view=self.view, corpus=self.corpus, progress=False)

    @property
    def _methods(self) -> list[Method]:
        return [scorer.method for scorer in self.scorers]  # type: ignore[union-attr]

    @cached_property
    def _schema(self) -> pa.Schema:
        from fullrecall.files.reports import columns

        return columns.schema(self._methods)

    @property
    def _given(self) -> Given:
        """The columns that the user's options name."""
        return Given.of(None, None, self.rename)

    def _is_ours(self, column: str) -> bool:
        """Return whether a column holds a field of a sample, or the position."""
        given = self._given
        named = any(column in path_of(path).columns for path in given.fields.values())
        by_name = snake(column) in FIELDS and column not in given.left_out
        return named or by_name or column == self.position

    def _passed_through(self, names: Sequence[str]) -> list[str]:
        """Return the names of the user's own columns."""
        kept = [name for name in names if not self._is_ours(name)]
        clashes = [name for name in kept if name in self._schema.names]
        if clashes:
            raise InputError(
                f"the column {clashes[0]!r} has the name of one of a report's: rename yours",
                field=clashes[0],
            )
        given = self._given
        filled = {FIELDS.get(snake(name)) for name in names} | set(given.fields)
        fields = [name for name, field in FIELDS.items() if field not in filled]
        for name in kept:
            field = None if name in given.left_out else misspelled(name, fields)
            if field is not None:
                raise InputError(
                    f"the column {name!r} is not a field: did you mean {field!r}? Otherwise pass "
                    f"rename={{{name!r}: None}}, and it stays a column of your own",
                    field=name,
                )
        return kept

    def _positions(self, frame: nw.DataFrame[Any]) -> list[int | None]:
        """Return the number of each row, None for a row without one."""
        if self.position is None:
            return [None] * len(frame)
        if self.position not in frame.columns:
            raise InputError(
                f"no column {self.position!r}, which position names: the columns are "
                f"{', '.join(map(repr, frame.columns))}"
            )
        positions: list[int | None] = []
        for number, value in enumerate(frame[self.position].to_list(), start=1):
            if is_missing(value):
                positions.append(None)
                continue
            # A gap in a column may have made its whole numbers floats.
            if not isinstance(value, (int, float)) or value < 0 or value % 1:
                raise InputError(
                    f"{self.position} must hold whole numbers >= 0, got {value!r}",
                    line=number,
                    field=self.position,
                )
            positions.append(int(value))
        return positions

    def _scored(self, frame: nw.DataFrame[Any], positions: Sequence[int | None]) -> pa.Table:
        """Return the columns of a batch's samples and scores."""
        import pyarrow as pa

        from fullrecall.files.reports import columns

        bad: dict[int, tuple[Sample, str]] = {}
        samples = self._samples(frame, positions, bad)
        scores = evaluated(samples, self.scorers, self._options, Evaluation).table
        for sample, why in bad.values():
            note = f"{BAD_ROW}: {why}"
            results = [Result(method, Status.UNSCORED, note=note) for method in self._methods]
            scores.append(sample, results)
        numbers = [*(number for number in range(len(frame)) if number not in bad), *bad]
        rows = iter([positions[number] for number in numbers])
        tables = [
            columns.arrow_table(part, self._methods, list(islice(rows, len(part))), str)
            for part in scores.parts
        ]
        whole = pa.concat_tables([self._schema.empty_table(), *tables])
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        return whole.take(order) if bad else whole

    def _samples(
        self,
        frame: nw.DataFrame[Any],
        positions: Sequence[int | None],
        bad: dict[int, tuple[Sample, str]],
    ) -> Iterator[Sample]:
        """Yield the samples; put the readable fields of a bad row into `bad`, with the reason."""
        ours = [name for name in frame.columns if name != self.position and self._is_ours(name)]
        plan = named_plan(ours, self._given)
        for rows, columns, errors in frame_columns(frame, ours):
            if self.position is not None:
                missing = InputError(f"{self.position} is missing: number each row")
                errors |= {n: missing for n, at in enumerate(rows) if positions[at - 1] is None}
            for index, number in enumerate(rows):
                cells = FrameRow(columns, index)
                try:
                    if index in errors:
                        raise errors[index]
                    yield plan.sample({name: without_gaps(cell) for name, cell in cells.items()})
                except InputError as error:
                    bad[number - 1] = self._left_of(cells, plan), error.problem

    def _left_of(self, cells: Mapping[Any, Any], plan: ReadPlan) -> Sample:
        """Return the ID, question and group of a row that is not a sample, if they are texts."""
        values = {
            name: path_of(plan.fields[name]).value(cells) for name in _LEFT if name in plan.fields
        }
        texts: dict[str, Any] = {
            name: str(value) for name, value in values.items() if isinstance(value, (str, int))
        }
        return Sample(**texts)


_LEFT = ("id", "user_input", "group")
"""The fields that are kept of a row that is not a sample, as far as they can be read."""
