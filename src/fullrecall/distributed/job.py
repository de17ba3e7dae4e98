"""What workers do with a batch: its rows as samples, and these scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from fullrecall.distributed.identity import Identity
from fullrecall.distributed.quarantine import sample_or_problem, unscored
from fullrecall.distributed.ranges import Runs
from fullrecall.distributed.tables import ColumnType, Table
from fullrecall.errors import InputError
from fullrecall.evaluation.run import evaluate
from fullrecall.measures import Measure
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.report.tally import Tallies
from fullrecall.result import Method
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    from fullrecall.read.rows import Columns, Rename

BadRows: TypeAlias = Literal["quarantine", "raise"]

Problems: TypeAlias = dict[int, tuple[Sample, str]]
"""The rows of a batch that are no samples, by number from 0: what is left of each, and why."""


@dataclass(frozen=True)
class Job:
    """How the batches of one evaluation are read and scored; `options` gives `evaluate` its own."""

    scorers: tuple[Scorer, ...]
    measures: Sequence[Measure]
    position: str | None
    rename: Rename | None
    bad_rows: BadRows
    options: Callable[[], Mapping[str, Any]]

    @cached_property
    def identity(self) -> Identity:
        """What the rows are scored with."""
        return Identity.of(self.scorers, self.measures)

    @cached_property
    def methods(self) -> list[Method]:
        """How each score is made."""
        return [scorer.method for scorer in self.scorers]

    @property
    def tallies(self) -> Tallies:
        """Empty tallies of all scores."""
        return Tallies.by(self.methods, self.measures)

    @property
    def columns(self) -> Columns:
        """Which column holds which field of a sample."""
        from fullrecall.read.rows import Columns

        own = {} if self.position is None else {self.position: None}
        return Columns({**(self.rename or {}), **own})

    def positions(self, table: Table) -> list[int]:
        """Return the positions of a batch's rows, none where no column is named."""
        if self.position is None:
            return []
        if self.position not in table.names:
            raise InputError(
                f"no column {self.position!r}, which position names: the columns are "
                f"{', '.join(map(repr, table.names))}"
            )
        values = enumerate(table.column(self.position), start=1)
        return [_whole_number(value, self.position, number) for number, value in values]

    def samples(
        self, rows: Iterable[dict[Any, object]], positions: Sequence[int], problems: Problems
    ) -> Iterator[Sample]:
        """Yield the samples; put what is none among `problems`, by its number.

        Raises `InputError` for what is wrong with all rows, and for the first that is no sample
        if that is wanted.
        """
        from fullrecall.read.frames import without_gaps

        columns = self.columns
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

    def evaluated(self, table: Table, positions: Sequence[int]) -> tuple[list[Row], Problems]:
        """Return all rows of a batch, and which of them are no samples, and why."""
        problems: Problems = {}
        samples = self.samples(table.rows(), positions, problems)
        scored = iter(evaluate(samples, self.scorers, keep="rows", **self.options()).rows)
        rows: list[Row] = []
        for number in range(table.count):
            if number in problems:
                sample, problem = problems[number]
                rows.append(Row(number + 1, sample, unscored(self.scorers, problem)))
            else:
                rows.append(next(scored))
        return rows, problems


class Kept(Protocol):
    """What is kept of the rows that are scored: a table of each batch, and a report of them."""

    @property
    def types(self) -> Mapping[str, ColumnType]:
        """The columns of a table of scores, in order."""
        ...

    def scored(self, table: Table, positions: list[int]) -> Any:
        """Return the scores of a batch, in a table of the same kind."""
        ...

    def failed(self, table: Table, positions: list[int], why: str) -> Any:
        """Return what says that a batch came to nothing, and why."""
        ...

    def report(self, tables: Iterable[Table], planned: Runs | None) -> Report:
        """Return the report over tables of scores; see `BatchScorer.report`."""
        ...


def up_to(covered: Runs) -> Runs:
    """Return the rows that must be there where nothing but these is known."""
    return ((0, covered[-1][1]),) if covered else ()


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
