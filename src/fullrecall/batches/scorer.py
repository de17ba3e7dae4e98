"""Score data sets on several machines: an engine's workers score the samples batch by batch.

Ray Data's `map_batches`, Spark's `mapInArrow` and Dask's `map_partitions` call a `BatchScorer` in
their workers; docs/scale.md has an example of each. The engine writes the results as Parquet files
to any place, and `Report.open` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall._util.dataframes import FrameRow, frame_columns, is_missing
from fullrecall._util.extras import pyarrow
from fullrecall.batches.frame import batch_frame, misspelled, with_scores
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.frames import without_absent_keys
from fullrecall.files.paths import path_of
from fullrecall.files.plans import FIELDS, Given, ReadPlan, named_plan
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
    names of `Sample`, all other columns stay as they are, and each scorer adds the columns that it
    has in a saved report (docs/scale.md lists them). `Report.open` reads the table once it is
    written as Parquet. A row that is not a sample is unscored, with the reason.

    - `position`: a column of distinct whole numbers >= 0 that is not a field of a sample: number
      the rows from 0 when you write the data set. The scored table has this column as `row`.
      `Report.open` sorts the rows by it and counts a repeated row once; with the option `rows`, it
      names the missing rows. A row without a number is unscored. Default: none, so that rows have
      the order of the files, and missing rows are not noticed.
    - `rename` maps the batch's columns to a sample's fields, as in `fullrecall.read.read`.
    - `max_concurrency`, `timeout`, `deadline`, `retries`: as in `evaluate`, but for one batch. Each
      worker may have up to `max_concurrency` open requests.
    - `store`: a file on a disk that the workers of one machine share, or, for workers on several
      machines, the URL of a Redis server: `redis://host:6379/0`. A request whose answer is in the
      store is not sent again. The server's password is read from REDIS_PASSWORD, here and in the
      workers.
    - `budget`: the most that all workers together may spend, and how fast; each `BatchScorer`
      counts its own spending from zero. `spent` returns the spending so far. A budget needs a store
      that all workers share.
    - `view`: which list of a sample's record is scored, as in `evaluate`.
    - `corpus`: the documents that the retriever searched, as in `evaluate`; read here, once, and
      sent to the workers as a `CorpusIndex` that keeps all its texts. If no sample has spans, pass
      `CorpusIndex.of(documents)`, which keeps no texts.

    Raises `ParameterError` for an argument out of its range, and `MissingExtraError` without
    pyarrow. Calls, `schema` and `meta` raise `InputError` for a column that has the name of a
    score's column or looks like a misspelled field. Calls also raise it if the `position` column is
    missing, or holds a value that is not a whole number >= 0.
    """

    scorers: Sequence[Scorer] | Scorer
    _: KW_ONLY
    position: str | None = None
    rename: Rename | None = None
    max_concurrency: int = 16
    timeout: float | None = 60.0
    deadline: float | None = None
    retries: Retries | int = MOST
    store: str | Path | Address | None = None
    budget: Budget | None = None
    view: View = "contexts"
    corpus: CorpusLike | None = None

    def __post_init__(self) -> None:
        pyarrow("scoring batches")
        scorers = tuple(check_scorers(self.scorers))
        object.__setattr__(self, "scorers", scorers)
        object.__setattr__(self, "corpus", corpus_index(self.corpus))
        if self.store is not None:
            store: Any = self.store.url if isinstance(self.store, Address) else self.store
            object.__setattr__(self, "store", Address(store).absolute())
        # Raise for wrong options here, not in a worker.
        self._options  # noqa: B018
        self._given  # noqa: B018
        if self.budget is not None:
            checked(self.budget, scorers)
            # Create the record of the spending now: workers that do not find it send no requests.
            with self._shared.open() as ledger:
                ledger.open_account()

    def __call__(self, batch: Any) -> Any:
        """Return a batch with its scores, as a table of the same kind.

        Raises the errors of a store or a model that end a run; engines then retry the batch.
        """
        frame = batch_frame(batch)
        plan = self._plan(frame.columns)
        return with_scores(batch, frame, plan.left_out, self._scored(frame, plan))

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield each batch with its scores; pass this method to Spark's `mapInArrow`."""
        for batch in batches:
            yield self(batch)

    def schema(self, data: Any) -> Any:
        """Return the columns of the scored table of a Spark data frame, as a Spark schema."""
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType

        own = (data.schema[name] for name in self._plan(data.columns).left_out)
        return StructType([*own, *from_arrow_schema(self._schema)])

    def meta(self, data: Any) -> Any:
        """Return the columns of the scored table of a Dask data frame, as an empty frame."""
        return self(data.head(0, npartitions=-1) if not hasattr(data, "_meta") else data._meta)  # noqa: SLF001

    @property
    def spent(self) -> Spent | None:
        """The requests and costs of all workers so far; None without a budget.

        Raises `StoreError` if the store has lost the record of the spending.
        """
        if self.budget is None:
            return None
        from fullrecall.run.account import spent_of  # this module imports asyncio

        with self._shared.open() as ledger:
            return spent_of(ledger, self.budget)

    @property
    def _shared(self) -> Address:
        """The address of the store that all workers share for answers and spending."""
        if not isinstance(self.store, Address):
            raise ParameterError(
                "budget needs store=…, a file or a redis:// URL that all workers share"
            )
        return self.store

    @property
    def _options(self) -> EvaluateOptions:
        """The options with which a worker evaluates a batch; it shows no progress."""
        limits = {each.name: getattr(self, each.name) for each in fields(Limits)}
        return EvaluateOptions(Limits(**limits), view=self.view, corpus=self.corpus, progress=False)

    @property
    def _methods(self) -> list[Method]:
        return [scorer.method for scorer in self.scorers]  # type: ignore[union-attr]

    @property
    def _schema(self) -> pa.Schema:
        from fullrecall.files.reports import columns

        return columns.schema(self._methods)

    @property
    def _given(self) -> Given:
        """The columns that the user's options name."""
        return Given.of(None, None, self.rename)

    def _plan(self, names: Sequence[str]) -> ReadPlan:
        """Return how to read a batch's columns as samples; columns without a field are left out.

        The column `position` is not in the plan. Raises `InputError` if a left-out column has the
        name of a report's column, or looks like a misspelled field.
        """
        given, reserved = self._given, self._schema.names
        plan = named_plan([name for name in names if name != self.position], given)
        free = [name for name, field in FIELDS.items() if field not in plan.fields]
        for name in plan.left_out:
            if name in reserved:
                problem = "has the name of one of a report's: rename yours"
            elif name not in given.left_out and (meant := misspelled(name, free)) is not None:
                problem = (
                    f"is not a field: did you mean {meant!r}? Otherwise pass "
                    f"rename={{{name!r}: None}}, and it stays a column of your own"
                )
            else:
                continue
            raise InputError(f"the column {name!r} {problem}", field=name)
        return plan

    def _positions(self, frame: nw.DataFrame[Any]) -> list[int | None]:
        """Return each row's number in the column `position`; None for a row without a number."""
        if self.position is None:
            return [None] * len(frame)
        if self.position not in frame.columns:
            raise InputError(
                f"no column {self.position!r}, which position names: the columns are "
                f"{', '.join(map(repr, frame.columns))}"
            )
        cells = [None if is_missing(cell) else cell for cell in frame[self.position].to_list()]
        for number, cell in enumerate(cells, start=1):
            # Accept whole floats: a missing number may have turned all of a column into floats.
            if cell is not None and (not isinstance(cell, (int, float)) or cell < 0 or cell % 1):
                problem = f"{self.position} must hold whole numbers >= 0, got {cell!r}"
                raise InputError(problem, line=number, field=self.position)
        return [None if cell is None else int(cell) for cell in cells]

    def _scored(self, frame: nw.DataFrame[Any], plan: ReadPlan) -> pa.Table:
        """Return a table of a batch's samples and their scores, in the order of the batch."""
        import numpy as np
        import pyarrow as pa

        from fullrecall.files.reports import columns

        positions = self._positions(frame)
        bad: dict[int, tuple[Sample, str]] = {}
        samples = self._samples(frame, plan, positions, bad)
        scores = evaluated(samples, self.scorers, self._options, Evaluation).table
        for sample, why in bad.values():
            note = f"{BAD_ROW}: {why}"
            scores.append(sample, [Result(m, Status.UNSCORED, note=note) for m in self._methods])
        order = [*(number for number in range(len(frame)) if number not in bad), *bad]
        rows = iter([positions[number] for number in order])
        tables = [
            columns.arrow_table(part, self._methods, islice(rows, len(part)), str)
            for part in scores.parts
        ]
        whole = pa.concat_tables([self._schema.empty_table(), *tables])
        return whole.take(np.argsort(order)) if bad else whole

    def _samples(
        self,
        frame: nw.DataFrame[Any],
        plan: ReadPlan,
        positions: Sequence[int | None],
        bad: dict[int, tuple[Sample, str]],
    ) -> Iterator[Sample]:
        """Yield the samples; put each row that is not a sample into `bad`.

        `bad` gets the row's ID, question and group, as far as they can be read, and the reason.
        """
        others = (*plan.left_out, self.position)
        ours = [name for name in frame.columns if name not in others]
        unnumbered = InputError(f"{self.position} is missing: number each row")
        for rows, columns, errors in frame_columns(frame, ours):
            for index, number in enumerate(rows):
                cells = FrameRow(columns, index)
                try:
                    if index in errors:
                        raise errors[index]
                    if self.position is not None and positions[number - 1] is None:
                        raise unnumbered
                    yield plan.sample(
                        {name: without_absent_keys(cell) for name, cell in cells.items()}
                    )
                except InputError as error:
                    bad[number - 1] = _left_of(cells, plan), error.problem


def _left_of(cells: Mapping[Any, Any], plan: ReadPlan) -> Sample:
    """Return a sample with the ID, question and group of a bad row, as far as they are readable."""
    paths = {name: path_of(plan.fields[name]) for name in _LEFT if name in plan.fields}
    values = {name: path.value(cells) for name, path in paths.items()}
    texts: Any = {name: str(v) for name, v in values.items() if isinstance(v, (str, int))}
    return Sample(**texts)


_LEFT = ("id", "user_input", "group")
"""The fields that are kept of a row that is not a sample, if they can be read."""
