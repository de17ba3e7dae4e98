"""Convert rows to samples by the plan of their columns; errors get the place of the row."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from fullrecall._util.dataframes import FrameRow
from fullrecall._util.pieces import chunked, pause
from fullrecall._util.places import shown_path
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.columns import looks_gold
from fullrecall.files.formats import RawRow
from fullrecall.files.guess import guessed
from fullrecall.files.judgments import JudgmentTable
from fullrecall.files.paths import Condition, Each, ListOf, RowPath, path_of_field
from fullrecall.files.plans import (
    FIELDS,
    NOTHING_GIVEN,
    REFERENCES,
    Given,
    ReadPlan,
    doubtful,
    nothing_at,
)
from fullrecall.files.row_paths import (
    NumberedRows,
    RowBelow,
    RowNumber,
    records_of,
    rows_in,
    spread_rows,
)
from fullrecall.files.usual_names import snake
from fullrecall.samples.id_keys import IdKey, check_id_key
from fullrecall.samples.sample import Sample

if TYPE_CHECKING:
    from fullrecall.scorers.id_samples import ScoredIds

T = TypeVar("T")

SampleChunk: TypeAlias = "Sequence[Sample] | ScoredIds"
"""The samples of many rows, or their scores if the rows have only IDs."""

Rename: TypeAlias = Mapping[str, str | None]
"""The user's columns, each with the field that it holds, or None to leave the column out."""

_MOST_SHOWN = 500
"""The most characters of a row's error, which may repeat values of the file."""

_HEAD = 200
_HEAD_LETTERS = 2**20
"""The most rows, and the most characters of their texts, that are read to make a file's plan."""

_LONGEST_LIST = 1000
"""The most items of a list that are examined to measure a row's size."""


class PlannedRows:
    """Converts rows to samples, each by the plan of its columns.

    The plan is made from the first rows. A row gets its own plan in two cases: it has a column that
    the first rows lack; or it lacks a field of the plan, and another of its columns may hold this
    field.

    - `given`: the parts of the plan that the user gives.
    - `id_key`: the place of a retrieved context's ID: a dotted path, a template, or a function.
    - `cell`: converts a cell's value to plain form.
    - `file`: the file's name in messages.
    - `is_table`: whether all rows have the same columns.
    """

    def __init__(
        self,
        given: Given = NOTHING_GIVEN,
        *,
        id_key: IdKey | None = None,
        cell: Callable[[Any], Any] | None = None,
        file: str = "FILE",
        is_table: bool = False,
    ) -> None:
        check_id_key(id_key)
        self.plan: ReadPlan | None = None
        """The plan of the first rows; None before they were read."""
        self._given, self._id_key, self._cell, self._file = given, id_key, cell, file
        self._plans: dict[frozenset[str], ReadPlan] = {}
        self._columns: dict[str, None] = {}
        self._unmet = [
            path for name, text in given.fields.items() for path in _paths_in(name, text)
        ]
        self._is_table = is_table

    def samples(self, records: NumberedRows) -> Iterator[Sample]:
        """Yield the sample of each row; raise `InputError` at the first row that is not a sample.

        A path of the user that no row has is an error, too. It is raised before the first sample if
        all rows have the same columns or were read for the plan, otherwise after the last sample.
        """
        return each_row(self._rows_of(records), self.sample)

    def chunks(self, records: NumberedRows) -> Iterator[SampleChunk]:
        """Yield the samples of rows in chunks; a chunk that has only IDs is yielded as scores.

        Raises the errors of `samples`, after all earlier rows.
        """
        for chunk in chunked(self._rows_of(records)):
            scored = self.scored([row for _, row in chunk])
            if scored is not None:
                yield scored
            else:
                yield from chunked(each_row(chunk, self.sample))

    def scored(self, rows: Sequence[Any]) -> ScoredIds | None:
        """Score rows as columns; return None for rows that need a `Sample` each."""
        kinds = set(map(type, rows))
        if self._id_key is not None or kinds not in ({dict}, {FrameRow}):
            return None
        # All rows of a frame have the same columns: look at one.
        firsts = {tuple(row): row for row in (rows[:1] if kinds == {FrameRow} else reversed(rows))}
        try:
            plan, *others = [self._plan_of(self._values(row)) for row in firsts.values()]
        except InputError:  # `sample` raises the error again, for its row.
            return None
        if any(other is not plan for other in others):
            return None
        from fullrecall.files.id_rows import scored_rows

        return scored_rows(rows, plan, dict.fromkeys(chain(*firsts)), self._cell)

    def _rows_of(self, records: NumberedRows) -> Iterator[tuple[RowNumber, object]]:
        """Make the plan of the first rows, then yield each row with its number."""
        rows, head, stopped, is_all = self._read_head(records)
        self._plan_head([row for _, row in head])
        if head and (is_all or self._is_table):
            self._check_met()
        has_rows = False
        for row in chain(head, _raised(stopped), rows):
            yield row
            has_rows = True
        if has_rows:
            self._check_met()
        else:
            self._check_path()

    def planned(self, records: NumberedRows) -> tuple[ReadPlan, Sequence[RawRow]]:
        """Return the plan of rows, with its doubts if there are any, and the first rows.

        Raises `InputError` if there are no rows, or if a path of the user occurs in no row.
        """
        rows, head, stopped, _ = self._read_head(records)
        if not head:
            self._check_path()
            raise stopped or InputError("holds no samples")
        values = [self._values(row) for _, row in head]
        plan = self._guessed(values)
        others = each_row(rows, self._values)
        while self._unmet and not self._is_table and (row := next(others, None)) is not None:
            self._note_columns(row)
        self._check_met()
        return plan, values

    def sample(self, row: object) -> Sample:
        """Return the sample of a row by the plan of its columns."""
        if isinstance(row, Sample):
            return row if self._id_key is None else row.identified(self._id_key)
        values = self._values(row)
        return self._plan_of(values).sample(values, self._id_key)

    def _read_head(
        self, records: NumberedRows
    ) -> tuple[Iterator[tuple[RowNumber, object]], list[Any], InputError | None, bool]:
        """Return the later rows, the first rows, their error or None, and whether no rows follow.

        The error is the one that ended the first rows. Rows are found inside the records, and the
        rows of a table of judgments are merged by query.
        """
        iterator = iter(records)
        head, stopped, _ = _head(iterator)
        self._has_records = bool(head)
        by_columns = len(head) == 1 and bool(records_of(head[0][1]))
        found = None if by_columns else rows_in([record for _, record in head])
        self._rows = self._given.rows or found
        whole = chain(head, _raised(stopped), iterator)
        rows: Iterator[Any] = spread_rows(whole, self._rows, by_columns=by_columns)
        head, stopped, is_all = _head(rows)
        self._judged = JudgmentTable.of([row for _, row in head], self._given)
        if self._judged is not None:
            self._given = self._judged.given(self._given)
            if not self._judged.labels:
                rows = self._judged.merged(chain(head, _raised(stopped), rows))
                head, stopped, is_all = _head(rows)
        return rows, head, stopped, is_all

    def _values(self, row: object) -> RawRow:
        values = as_mapping(row)
        if self._cell is not None:
            cells = {column: self._cell(value) for column, value in values.items()}
            values = values.with_cells(cells) if isinstance(values, RowBelow) else cells
        for column in values:
            if not isinstance(column, str):
                raise InputError(f"a column's name must be a str, got {shown(column)}: rename it")
        return values

    def _plan_head(self, head: Sequence[object]) -> None:
        """Make the plan of the first rows; raise `InputError` if it has doubts."""
        rows = []
        for row in head:
            try:
                rows.append(self._values(row))
            except InputError:  # The error is raised again when the row is converted.
                break
        if rows and not isinstance(head[0], Sample):
            self.plan = self._sure(self._guessed(rows), self._columns)
            self._planned = frozenset(self._columns)

    def _guessed(self, rows: Sequence[RawRow]) -> ReadPlan:
        for row in rows:
            self._note_columns(row)
        plan = guessed(rows, self._given, self._rows, file=self._file)
        if self._judged is None or not self._judged.labels:
            return plan
        path, doubt = self._judged.doubt(self._rows)
        return replace(plan, rows=path, doubts=[doubt, *plan.doubts])

    def _note_columns(self, row: RawRow) -> None:
        """Note the columns of a row, and which of the user's paths it has."""
        self._columns |= dict.fromkeys(row)
        self._unmet = [path for path in self._unmet if not _reaches(row, path)]

    def _sure(self, plan: ReadPlan, columns: Iterable[str]) -> ReadPlan:
        if not plan.certain:
            self._check_met()  # Report a mistyped path rather than the doubts: it may cause them.
            raise doubtful(plan, list(columns))
        return plan

    def _plan_of(self, values: RawRow) -> ReadPlan:
        """Return the plan of the first rows if it fits a row's columns, else a plan of the row."""
        columns = frozenset(values)
        plan = self._plans.get(columns)
        if plan is None:
            plan = self.plan
            if plan is None or not columns <= self._planned or _is_other(columns, plan):
                plan = self._sure(self._guessed([values]), values)
            self._plans[columns] = plan
        return plan

    def _check_path(self) -> None:
        """Raise `InputError` if there are records, but they have no row at the user's path."""
        path = self._given.rows
        if path is not None and self._has_records:
            raise InputError(f"no record has a row at {path!r}: leave it out, or name another list")

    def _check_met(self) -> None:
        if self._unmet:
            raise nothing_at(self._unmet[0].text, self._columns)

    _rows: str | None = None
    _has_records: bool = False
    _judged: JudgmentTable | None = None
    _planned: frozenset[str] = frozenset()


def _paths_in(name: str, text: str) -> Sequence[RowPath]:
    """Return the paths that must occur in some row: a field's path, or each one in `[a, b]`."""
    path = path_of_field(name, text)
    path = path.path if isinstance(path, Condition) else path
    first = path.steps[0] if path.steps else None
    return first.paths if isinstance(first, ListOf) else [path]


def _reaches(row: RawRow, path: RowPath) -> bool:
    """Return whether a row has a value at a path of the user.

    For a path with neither `[]` nor a template, it is enough that the row has the columns of the
    path.
    """
    is_plain = path.template is None and not any(isinstance(step, Each) for step in path.steps)
    if is_plain and path.columns <= row.keys():
        return True
    try:
        return path.value(row) is not None
    except InputError:  # The error is raised again when the row is converted.
        return True


def _is_other(columns: frozenset[str], plan: ReadPlan) -> bool:
    """Return whether a row lacks a field of a plan and may have it under other columns."""
    has = {name: columns >= path.columns for name, path in plan.paths.items()}
    others = columns - plan.taken
    lacks_question = has.get("user_input") is False
    references = [has[name] for name in REFERENCES if name in has]
    lacks_all = bool(references) and not any(references)
    return (
        any(not has.get(FIELDS.get(snake(name), ""), True) for name in others)
        or (lacks_question and bool(others))
        or (lacks_all and any(map(looks_gold, others)))
    )


def _head(
    rows: Iterator[tuple[RowNumber, object]],
) -> tuple[list[tuple[RowNumber, object]], InputError | None, bool]:
    """Return the first rows, the error that ended them, and whether no rows follow.

    If the first row has only names of `Sample` fields, it is returned alone, since it is enough to
    make the plan.
    """
    head: list[tuple[RowNumber, object]] = []
    letters = 0
    try:
        for row in rows:
            head.append(row)
            letters += _size(row[1])
            is_full = letters > _HEAD_LETTERS or len(head) == _HEAD
            if is_full or (len(head) == 1 and _is_ours(row[1])):
                return head, None, False
    except InputError as error:
        return head, error, True
    return head, None, True


def _size(value: object) -> int:
    """Return roughly how many characters a row has; estimate a long list from its first items."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    if not isinstance(value, list):
        return 1
    looked_at = sum(map(_size, value[:_LONGEST_LIST]))
    return looked_at * max(1, len(value) // _LONGEST_LIST)


def _is_ours(row: object) -> bool:
    """Return whether a row has only names of `Sample` fields, and no ambiguous `answer`."""
    if not isinstance(row, Mapping):
        return isinstance(row, Sample)
    has_sides = any(str(FIELDS.get(name)).startswith(("retriev", "refer")) for name in row)
    # The column `reference` may hold IDs, not an answer: only the values of more rows show which.
    if "reference" in row and row.keys().isdisjoint(REFERENCES[:2]):
        return False
    return row.keys() <= FIELDS.keys() and (has_sides or "answer" not in row)


def _raised(error: InputError | None) -> Iterator[tuple[RowNumber, object]]:
    yield from ()
    if error is not None:
        raise error


def placed(error: InputError, number: RowNumber) -> InputError:
    """Return an error with the line number or the label of its row."""
    if isinstance(number, int):
        return error.at(line=number)
    return InputError(f"{number}: {error.problem}", field=error.field)


def each_row(rows: NumberedRows, convert: Callable[[Any], T]) -> Generator[T, None, None]:
    """Yield each row, converted; if `convert` raises `ValueError`, raise `InputError`.

    The error has the number or the label of the row, and is raised after all earlier rows.
    """
    try:
        for number, row in rows:
            pause()
            try:
                converted = convert(row)
            except ValueError as error:
                problem = error if isinstance(error, InputError) else InputError(str(error))
                raise placed(_clipped(problem), number) from None
            yield converted
    finally:
        if isinstance(rows, Generator):  # Close the file, even if the caller keeps the error.
            rows.close()


class FileSamples(Iterator[Sample]):
    """An iterator over the samples of rows; `plan` shows how their columns are read.

    `plan` is None before the first sample, and for files without columns, such as traces.
    """

    def __init__(
        self,
        samples: Iterator[Sample],
        planned: PlannedRows | None = None,
        chunks: Iterator[SampleChunk] | None = None,
    ) -> None:
        """Take the samples, the `PlannedRows` that makes their plan, and the samples in chunks."""
        self._samples, self._planned, self._chunks = samples, planned, chunks

    def __next__(self) -> Sample:
        self._chunks = None
        return next(self._samples)

    def chunks(self) -> Iterator[SampleChunk]:
        """Return an iterator over the remaining samples, in chunks."""
        if self._chunks is None:
            return chunked(self._samples)
        chunks, self._chunks = self._chunks, None
        each: Iterator[Any] = (getattr(chunk, "samples", chunk) for chunk in chunks)
        self._samples = chain.from_iterable(each)
        return chunks

    @property
    def plan(self) -> ReadPlan | None:
        """The plan of the columns; None before the first sample, or if the file has no columns."""
        return None if self._planned is None else self._planned.plan


def in_file(path: str, contents: Iterable[T], kind: str = "samples") -> Iterator[T]:
    """Yield the contents of the file at `path`, and add the path to errors.

    `kind` names the contents. Raises `InputError` if there are none, unless `kind` is empty.
    """
    empty = True
    try:
        for content in contents:
            empty = False
            yield content
    except InputError as error:
        raise error.at(path=shown_path(path)) from error.__cause__
    if empty and kind:
        raise InputError(f"holds no {kind}", path=shown_path(path))


def _clipped(error: InputError) -> InputError:
    # Shorten a message, since it may repeat long values. Keep a message of several lines, which
    # shows a plan without values.
    if len(error.problem) <= _MOST_SHOWN or "\n" in error.problem:
        return error
    problem = f"{error.problem[:_MOST_SHOWN]} …"
    return InputError(problem, line=error.line, field=error.field and error.field[:_MOST_SHOWN])


def as_mapping(row: object) -> Mapping[Any, Any]:
    """Return a row as a mapping; it may be a model of ragas or LlamaIndex, or a Row of Spark.

    Raises `InputError` for a row without named fields.
    """
    if isinstance(row, Mapping):
        return row
    if not isinstance(row, type):
        own = _deepeval(row)
        if own is not None:
            return own
        # `model_dump` first: pydantic 2 also has `dict`, but it warns.
        for method in ("model_dump", "to_dict", "asDict", "dict"):
            dump = getattr(row, method, None)
            dumped = dump() if callable(dump) else None
            if isinstance(dumped, Mapping):
                return dumped
    raise InputError(
        f"a row must be an object with named fields, got {type(row).__name__} {shown(row)}"
    )


def _deepeval(row: object) -> RawRow | None:
    """Return a test case or a golden of deepeval as a mapping; None for any other row.

    Only the fields of a sample are read: `model_dump` has more, which differ between versions.
    """
    if type(row).__module__.partition(".")[0] != "deepeval":
        return None
    names = ("input", "expected_output", "actual_output", "context", "retrieval_context", "name",
             "metadata", "additional_metadata")  # fmt: skip
    return {name: getattr(row, name, None) for name in names}
