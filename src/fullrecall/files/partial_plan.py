"""A plan under construction: the columns of rows, the fields with a path, and the doubts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from fullrecall._util.dataframes import is_missing
from fullrecall.files.cells import TRUTHS, items_of
from fullrecall.files.columns import ColumnValues, asks, given_values, is_number, with_lists
from fullrecall.files.formats import RawRow
from fullrecall.files.objects import IDS, of_objects
from fullrecall.files.paths import path_of, path_of_field, quoted, taken_by
from fullrecall.files.plans import Doubt, Given
from fullrecall.files.usual_names import usual

HEAD = 50
"""The number of first rows whose values are examined."""


class PartialPlan:
    """The columns of rows, the paths of the fields found so far, and the fields in doubt.

    - `columns`: the columns that the user neither used for a field nor left out.
    - `above`: the names of columns that belong to records around the rows.
    - `left_out`: the names of columns that are dropped.
    """

    def __init__(self, rows: Sequence[RawRow], given: Given) -> None:
        self.rows, self.given = rows, given
        self.doubts: list[Doubt] = []
        self.names = list(
            dict.fromkeys(name for row in rows for name in row if isinstance(name, str))
        )
        self.fields = {
            field: path
            for field, path in given.fields.items()
            if path_of_field(field, path).taken <= set(self.names) or field in TRUTHS
        }
        self.above = frozenset().union(*(getattr(row, "above", ()) for row in rows))
        self.left_out = {name for name in self.names if self._is_index(name)} | given.left_out
        used = taken_by(given.fields)
        free = [name for name in self.names if name not in self.left_out and name not in used]
        columns = {name: ColumnValues(quoted(name), name, self._values(name)) for name in free}
        self.columns = with_lists(columns, self.rows[:HEAD])
        self.top = list(self.columns.values())
        self.parts: list[ColumnValues] = []
        """The columns of keys, from the columns of objects that `open` replaced."""

    def open(self) -> None:
        """Replace columns of objects by columns of their keys, unless the objects are documents."""
        taken = taken_by(self.fields)
        for name, column in [*self.columns.items()]:
            parts = [] if name in taken else list(_opened(column))
            if parts:
                del self.columns[name]
                self.parts += parts

    def _values(self, name: str) -> list[Any]:
        return given_values([row.get(name) for row in self.rows[:HEAD]])

    def _is_index(self, name: str) -> bool:
        """Return whether a column is the index of a data frame, as pandas writes it."""
        numbered = all(is_number(value) for value in self._values(name))
        return numbered and bool(re.fullmatch(r"|Unnamed: 0(\.1)*|__index_level_0__", name))

    def at(self, path: str) -> list[list[str]]:
        """Return the texts and numbers at a path, as texts: one list for each of the first rows."""
        return [[*_texts(_value(path, row))] for row in self.rows[:HEAD]]

    def put(self, field: str, path: str) -> None:
        """Set the path of a field that has none yet, unless the user forbade guessing it."""
        if field not in self.given.unguessed:
            self.fields.setdefault(field, path)

    def taken(self) -> set[str]:
        """Return the paths that fields use."""
        return set(self.fields.values())

    def free(self) -> list[ColumnValues]:
        """Return the columns that no field uses, including the columns of keys."""
        taken = self.taken()
        columns = [*self.columns.values(), *self.parts]
        return [column for column in columns if column.path not in taken]

    def named(self, names: Sequence[str]) -> Iterator[ColumnValues]:
        """Yield the unused columns with these names, in the order of the names."""
        by_name = {column.name: column for column in reversed(self.free())}
        yield from (by_name[name] for name in names if name in by_name)

    def doubt(self, field: str, why: str, *paths: str) -> None:
        """Remove the path of a field; note the reason, and the paths that may hold the field.

        Does nothing if the field already has a doubt.
        """
        if not any(each.field == field for each in self.doubts):
            self.fields.pop(field, None)
            self.doubts.append(Doubt(field, why, paths))

    def object_to(self, doubt: Doubt) -> None:
        """Note a doubt about a field; if the field already has one, join the reasons.

        The paths of the new doubt then replace the old ones. But an old doubt stays unchanged if it
        has no paths, or if its reason is part of the new reason.
        """
        old = next((each for each in self.doubts if each.field == doubt.field), None)
        if old is None:
            self.doubt(doubt.field, doubt.why, *doubt.paths)
        elif old.paths and old.why not in doubt.why:
            merged = doubt._replace(why=f"{old.why}; {doubt.why}")
            self.doubts[self.doubts.index(old)] = merged


def _opened(column: ColumnValues, deepest: int = 3) -> Iterator[ColumnValues]:
    """Yield a column for each key of a column's objects, and of the objects inside them.

    Yields nothing for documents, for lists of questions, and for objects whose keys are not fields
    of a sample, such as metadata.
    """
    is_closed = column.name in usual.CLOSED or column.words & usual.OTHERS or not deepest
    if is_closed or not column.is_all(Mapping):
        return
    parts, found = column.parts(), of_objects(column)
    has_question = any(asks(part.name) for part in parts)
    if column.has_lists:
        is_answer = not column.words.isdisjoint(usual.ANSWER_WORDS)
        is_closed = has_question or IDS in found or (bool(found) and not is_answer)
    else:
        words = column.words | (column.above.words if column.above is not None else frozenset())
        is_named = column.name in usual.ANSWERS or words & (usual.ANSWER_WORDS | usual.ASKED)
        has_fields = has_question or is_named
        is_closed = not has_fields and (column.is_by_id or bool(found))
    if is_closed:
        return
    for part in parts:
        yield part
        yield from _opened(part, deepest - 1)


def _value(path: str, row: Mapping[str, Any]) -> Any:
    """Return the value at a path; [] if there is none, or if a template cannot be filled."""
    try:
        value = path_of(path).value(row)
    except ValueError:
        return []
    return [] if value is None else value


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of a value, as texts.

    For an object of grades, yield the keys; for any other object, yield its `id`.
    """
    for item in items_of(value):
        if isinstance(item, Mapping):
            is_graded = all(map(is_number, item.values()))
            yield from map(str, item) if is_graded else [str(item.get("id", item))]
        elif isinstance(item, (list, tuple)):
            yield from chain.from_iterable(map(_texts, item))
        elif not is_missing(item):
            yield str(item)
