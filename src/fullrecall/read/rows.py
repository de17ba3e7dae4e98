"""Rows as samples: columns renamed, cells that say "not given" dropped, errors placed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from fullrecall.errors import InputError, ParameterError
from fullrecall.identifiers import shown
from fullrecall.sample import Sample

Rename: TypeAlias = Mapping[str, str | None]
"""The user's column with the field that it holds; None leaves the column out."""

FIELDS = {name: field for field, others in Sample.names().items() for name in (field, *others)}
"""Every name that `Sample` takes, with the field it stands for."""

_MISSING_VALUE_TYPES = ("NAType", "NaTType")  # by name: pandas is not imported to ask


class Columns:
    """The renaming of one data set's columns; knows which of them have not been met yet."""

    def __init__(self, rename: Rename | None) -> None:
        """Raise `ParameterError` for a target that is no field of a sample."""
        self._rename = dict(rename or {})
        for column, field in self._rename.items():
            if field is not None and field not in FIELDS:
                raise ParameterError(
                    f"rename maps {column!r} to {field!r}, which is not a field: use one of "
                    f"{', '.join(Sample.names())}, or None to leave the column out"
                )
        self._unmet = {column for column, field in self._rename.items() if field is not None}

    def field(self, column: str) -> str | None:
        """Return the name that `column` has in a sample; None where it is left out."""
        return self._rename.get(column, column)

    def renamed(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the given cells of `row` under the names that `Sample` takes."""
        if self._unmet:
            self._unmet.difference_update(row)
        cells: dict[str, Any] = {}
        for column, value in row.items():
            name = self._rename.get(column, column)
            if name is None or _is_missing(value):
                continue
            if not isinstance(name, str):
                raise InputError(f"a column's name must be a str, got {shown(name)}: rename it")
            if name in cells:
                raise InputError(
                    f"two columns mean {name!r}: leave one out with rename={{…: None}}", field=name
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

    def check_all_met(self, there_are: str = "") -> None:
        """Raise `InputError` if `rename` names a column that no row has had."""
        if self._unmet:
            column = min(self._unmet)
            raise InputError(f"rename names {column!r}, which no row has{there_are}", field=column)


def to_samples(
    rows: Iterable[tuple[int, object]],
    columns: Columns,
    *,
    cell: Callable[[Any], Any] | None = None,
) -> Iterator[Sample]:
    """Yield the sample of each numbered row; `cell` brings a cell's value into plain form.

    Raises `InputError` at the row's number, after all samples before it; and at the end where a
    renamed column never came.
    """
    some = False
    try:
        for line, row in rows:
            try:
                sample = sample_of(row, columns, cell)
            except InputError as error:
                raise error.at(line=line) from None
            yield sample
            some = True
        if some:
            columns.check_all_met()
    finally:
        if isinstance(rows, Generator):  # whoever keeps the error does not keep the file open
            rows.close()


def in_file(path: str, samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield `samples`, which `path` holds: its errors name it, and holding none is one."""
    empty = True
    try:
        for sample in samples:
            empty = False
            yield sample
    except InputError as error:
        raise error.at(path=path) from error.__cause__
    if empty:
        raise InputError("holds no samples", path=path)


def sample_of(row: object, columns: Columns, cell: Callable[[Any], Any] | None = None) -> Sample:
    """Return the sample of one row; raise `InputError`, not placed yet, where it is none."""
    if isinstance(row, Sample):
        return row
    if type(row).__module__.partition(".")[0] == "deepeval":
        raise InputError(
            f"{type(row).__name__} is deepeval's: fullrecall.read.from_test_cases reads these"
        )
    values = as_mapping(row)
    if cell is not None:
        values = {column: cell(value) for column, value in values.items()}
    cells = columns.renamed(values)
    try:
        return Sample(**cells)
    except InputError as error:
        if error.field in cells and error.field not in FIELDS:
            way_out = f"; or leave it out: rename={{{error.field!r}: None}}"
            raise InputError(error.problem + way_out, field=error.field) from None
        raise


def as_mapping(row: object) -> Mapping[Any, Any]:
    """Return a row, which may be a model of ragas or LlamaIndex or a Row of Spark, as a mapping."""
    if isinstance(row, Mapping):
        return row
    if not isinstance(row, type):
        # `model_dump` first: on pydantic 2 `dict` is there too, and warns.
        for method in ("model_dump", "to_dict", "asDict", "dict"):
            dump = getattr(row, method, None)
            if callable(dump):
                dumped = dump()
                if isinstance(dumped, Mapping):
                    return dumped
    raise InputError(
        f"a row must be an object with named fields, got {type(row).__name__} {shown(row)}"
    )


def _is_missing(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, float):
        return value != value  # noqa: PLR0124 - NaN
    return type(value).__name__ in _MISSING_VALUE_TYPES
