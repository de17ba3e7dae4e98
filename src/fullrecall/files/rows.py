"""Rows as samples: columns renamed, cells that say "not given" dropped, errors placed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias, TypeVar

from fullrecall._util.dataframes import is_missing
from fullrecall._util.naming import parameter
from fullrecall._util.values import shown
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.cells import LISTS, list_cell
from fullrecall.files.formats import FIELDS, attributes_of, fields_of
from fullrecall.samples.hits import IdKey, check_id_key, contexts_of
from fullrecall.samples.identifiers import looks_like_id
from fullrecall.samples.sample import Sample

T = TypeVar("T")

RowNumber: TypeAlias = int | str
"""The line on which a row begins, its number in Parquet, or what else names it in an error."""

NumberedRows: TypeAlias = Iterable[tuple[RowNumber, object]]

Rename: TypeAlias = Mapping[str, str | None]
"""The user's column with the field that it holds; None leaves the column out."""

_MOST_SHOWN = 500
"""Characters of a message: it may repeat what a file holds."""

_NAMES = {
    **{name: name for name in FIELDS},
    "prompt": "user_input",
    "user_query": "user_input",
    "expected_answer": "reference",
    "gold_answer": "reference",
    "correct_answer": "reference",
    "relevant_ids": "reference_context_ids",
    "relevant_docs": "reference_context_ids",
    "relevant_doc_ids": "reference_context_ids",
    "gold_ids": "reference_context_ids",
    "gold_docs": "reference_context_ids",
    "gold_contexts": "reference_contexts",
    "gold_passages": "reference_contexts",
    "retrieved_docs": "retrieved_contexts",
    "passages": "retrieved_contexts",
    "chunks": "retrieved_contexts",
}
"""Usual names of columns beside those that `Sample` takes, in lower case."""

_PERHAPS_LISTS = frozenset({"ground_truth", "ground_truths"})
"""Names of the reference answer under which some tables have a list."""


class ColumnRenaming:
    """The renaming of one data set's columns; knows which of them have not been met yet.

    - `id_key`: where a retrieved context has its ID: a dotted path, or a function of it.
    - `lists_are_texts`: whether a list may stand as a text, as in CSV.
    """

    def __init__(
        self,
        rename: Rename | None,
        *,
        id_key: IdKey | None = None,
        lists_are_texts: bool = False,
    ) -> None:
        """Raise `ParameterError` for a target that is no field of a sample."""
        check_id_key(id_key)
        self.id_key, self._lists_are_texts = id_key, lists_are_texts
        self._usual: dict[Any, Any] = {}
        self._rename = dict(rename or {})
        self.is_renamed = bool(rename)
        for column, field in self._rename.items():
            if field is not None and field not in FIELDS:
                raise ParameterError(
                    f"maps {column!r} to {field!r}, which is not a field: use one of "
                    f"{', '.join(Sample.names())}, or leave the column out with "
                    f"{parameter('rename', {column: None})}",
                    "rename",
                )
        self._unmet = {column for column, field in self._rename.items() if field is not None}

    def field(self, column: Any) -> Any:
        """Return the name that `column` has in a sample; None where it is left out.

        Usual names are known whatever their case and spaces; any other is as it is.
        """
        if column in self._rename:
            return self._rename[column]
        if column in FIELDS or not isinstance(column, str):
            return column
        if column not in self._usual:  # once for each name, not for each row
            words = column.strip().lower().replace("-", " ").split()
            self._usual[column] = _NAMES.get("_".join(words), column)
        return self._usual[column]

    def renamed(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the given cells of `row` under the names that `Sample` takes."""
        self._unmet.difference_update(row)
        cells: dict[str, Any] = {}
        for column, value in row.items():
            name = self.field(column)
            if name is None or is_missing(value):
                continue
            if self._lists_are_texts and isinstance(value, str):
                if FIELDS.get(name) in LISTS and not value.strip():
                    continue
                # A list of IDs is no answer, whatever the column is called.
                is_list = name in _PERHAPS_LISTS and value.strip()[:1] == "["
                if is_list or FIELDS.get(name) in LISTS:
                    value = list_cell(column, FIELDS[name], value)  # noqa: PLW2901 - what it means
            if not isinstance(name, str):
                raise InputError(f"a column's name must be a str, got {shown(name)}: rename it")
            if name in cells:
                raise InputError(
                    f"two columns mean {name!r}: leave one out with "
                    f"{parameter('rename', {'COLUMN': None})}",
                    field=name,
                )
            cells[name] = value
        return cells

    def check_header(self, header: Sequence[str]) -> None:
        """Raise `InputError` for a name that stands twice, and for a renamed column not there."""
        twice = sorted({column for column in header if header.count(column) > 1})
        if twice:
            raise InputError(f"two columns have the name {twice[0]!r}", field=twice[0])
        self._unmet.difference_update(header)
        self.check_all_met(f": the columns are {', '.join(map(repr, header))}")

    def check_all_met(self, columns_are: str = "") -> None:
        """Raise `InputError` if `rename` names a column that no row has had."""
        if self._unmet:
            column = min(self._unmet)
            raise InputError(
                f"rename names {column!r}, which no row has{columns_are}", field=column
            )


def placed(error: InputError, number: RowNumber) -> InputError:
    """Return an error that says which row it is of."""
    if isinstance(number, int):
        return error.at(line=number)
    return InputError(f"{number}: {error.problem}", field=error.field)


def each_row(rows: NumberedRows, convert: Callable[[Any], T]) -> Iterator[T]:
    """Yield what each row is converted to, which has a number, or a label for its errors.

    Raises `InputError` at the row that `convert` raises a `ValueError` for, after all before it.
    """
    try:
        for number, row in rows:
            try:
                converted = convert(row)
            except ValueError as error:
                problem = error if isinstance(error, InputError) else InputError(str(error))
                raise placed(_clipped(problem), number) from None
            yield converted
    finally:
        if isinstance(rows, Generator):  # whoever keeps the error does not keep the file open
            rows.close()


def to_samples(
    rows: NumberedRows,
    columns: ColumnRenaming,
    *,
    cell: Callable[[Any], Any] | None = None,
) -> Iterator[Sample]:
    """Yield the sample of each row.

    `cell` brings a cell's value into plain form. Raises `InputError` as `each_row` does; and at the
    end where a renamed column never came.
    """
    has_rows = False
    for sample in each_row(rows, lambda row: sample_of(row, columns, cell)):
        yield sample
        has_rows = True
    if has_rows:
        columns.check_all_met()


def in_file(path: str, contents: Iterable[T], kind: str = "samples") -> Iterator[T]:
    """Yield what `path` holds: errors name it, and holding nothing is one, but for an empty `kind`.

    `kind` is what it should hold.
    """
    empty = True
    try:
        for content in contents:
            empty = False
            yield content
    except InputError as error:
        raise _clipped(error).at(path=path) from error.__cause__
    if empty and kind:
        raise InputError(f"holds no {kind}", path=path)


def _clipped(error: InputError) -> InputError:
    if len(error.problem) <= _MOST_SHOWN:
        return error
    problem = f"{error.problem[:_MOST_SHOWN]} …"
    return InputError(problem, line=error.line, field=error.field and error.field[:_MOST_SHOWN])


def sample_of(
    row: object, columns: ColumnRenaming, cell: Callable[[Any], Any] | None = None
) -> Sample:
    """Return the sample of one row; raise `InputError`, not placed yet, where it is none."""
    if isinstance(row, Sample):
        return row
    values = attributes_of(row) or as_mapping(row)
    if cell is not None:
        values = {column: cell(value) for column, value in values.items()}
    if not columns.is_renamed:
        values = fields_of(values)
    cells = columns.renamed(values)
    if columns.id_key is not None:
        cells = _identified(cells, columns.id_key)
    try:
        return Sample(**cells)
    except InputError as error:
        unknown = [name for name in cells if name not in FIELDS]
        if error.field not in unknown:
            raise
        rename = _renaming(unknown, cells)
        problem, _, _ = error.problem.partition(". A sample takes")
        raise InputError(
            f"{problem}: say which field each holds, or leave it out with None: "
            f"{parameter('rename', rename)}. The columns are {', '.join(map(repr, values))}. "
            f"The fields are {', '.join(Sample.names())}",
            field=error.field,
        ) from None


def _renaming(unknown: Sequence[str], cells: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what unknown columns may hold, each another field; None where nothing is near."""
    taken = {FIELDS.get(name) for name in cells}
    rename: dict[str, str | None] = {}
    for column in unknown:
        field = _meant(column, cells[column])
        if field is None and len(unknown) == 1:  # it may be mistyped
            near = get_close_matches(column, FIELDS, n=1)
            field = FIELDS[near[0]] if near else None
        rename[column] = None if field in taken else field
        taken.add(field)
    return rename


def _meant(column: str, value: object) -> str | None:
    """Return the field that a column's name and one of its values speak for, if any do."""
    side = next((side for word, side in _SIDES.items() if word in column.lower()), None)
    if side is None:
        return None
    if all(map(looks_like_id, value if isinstance(value, list) else [value])):
        return f"{side}_context_ids"
    return side if side == "reference" and isinstance(value, str) else f"{side}_contexts"


_SIDES = {
    "retriev": "retrieved",
    "expect": "reference",
    "relevant": "reference",
    "gold": "reference",
    "correct": "reference",
}
"""Words in the names of columns, each with what the column may hold the IDs or the texts of."""


def _identified(cells: Mapping[str, Any], id_key: IdKey) -> dict[str, Any]:
    """Return cells with the IDs of their retrieved contexts from where the user says."""
    listed = {
        name: contexts_of(value, id_key=id_key)
        for name, value in cells.items()
        if FIELDS.get(name) == "retrieved_contexts" and isinstance(value, (list, tuple))
    }
    return {**cells, **listed}


def as_mapping(row: object) -> Mapping[Any, Any]:
    """Return a row, which may be a model of ragas or LlamaIndex or a Row of Spark, as a mapping."""
    if isinstance(row, Mapping):
        return row
    if not isinstance(row, type):
        # `model_dump` first: on pydantic 2 `dict` is there too, and warns.
        for method in ("model_dump", "to_dict", "asDict", "dict"):
            dump = getattr(row, method, None)
            dumped = dump() if callable(dump) else None
            if isinstance(dumped, Mapping):
                return dumped
    raise InputError(
        f"a row must be an object with named fields, got {type(row).__name__} {shown(row)}"
    )
