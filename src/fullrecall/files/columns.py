"""Columns of a file: the words in their names, and the forms of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from fullrecall._util.dataframes import is_missing
from fullrecall.files.cells import has_mark, is_parallel, items_of, opened, parts_of
from fullrecall.files.formats import RawRow
from fullrecall.files.paths import path_of, quoted
from fullrecall.files.usual_names import roles_of, snake, usual

ASKING = ("?", "\uff1f", "\u061f")
"""Question marks: ASCII, full-width, and Arabic."""

_ENDS = (".", "!", "\u2026", "\u3002", "\uff01", *ASKING)
_MOST_ITEMS = 10_000
"""The most items of a column that are examined."""

_LOOKED_AT = 2000
"""The most characters of a text whose words are counted."""

_FEWEST_WORDS = 8
_FEWEST_UNSPACED = 12
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
"""A letter of Chinese, Japanese or Thai."""

_ID_LIKE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])(?:\w+[-_:/.#])+\w+|[a-z]+(?:[-_][a-z]+)+")
_NUMBERED = re.compile(
    r"([^\W\d]+[-_:/.#])\d+|(?=.*\d)[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}"
)
"""An ID that is a name and a number, such as `doc_14`, or a random UUID."""

_NUMBERED_NAME = re.compile(r"(.{,100}[^\W\d_])[\s_.-]{,3}(\d{1,3})")
"""The name of a numbered column: spreadsheets spread a list over `gold_1`, `gold_2`, `gold_3`."""


def looks_gold(name: str) -> bool:
    """Return whether a column has a name for references, such as `gold_ids`."""
    words = roles_of(name)
    return bool(words & usual.GOLD) and not words & usual.OTHERS


def asks(name: str) -> bool:
    """Return whether the words of a column's name mean that the column holds questions.

    Examples of such names: `question`, `Customer query`, `user_prompt`.
    """
    words = roles_of(name)
    others = usual.OTHERS | usual.DOCUMENTS | {"id", "ids", "has", "is"}
    return snake(name) in usual.QUESTIONS or bool(words & usual.ASKED and not words & others)


class ColumnValues:
    """A column with its path, the words of its name, its values, and the items of its values.

    A key of a column's objects is a column too; `above` is then the column of the objects.
    """

    def __init__(
        self, path: str, name: str, values: list[Any], above: ColumnValues | None = None
    ) -> None:
        self.path, self.name, self.values, self.above = path, snake(name), values, above
        self.words = roles_of(name)
        self.is_gold = bool(self.words & usual.GOLD)
        if above is not None:
            is_answer = "answer" in above.words
            self.is_gold |= above.name in usual.OUTPUTS or (above.is_gold and not is_answer)
            if self.name in usual.VALUES:
                self.words = above.words
        items = (item for value in values for item in items_of(value))
        self.items = [part for item in islice(items, _MOST_ITEMS) for part in parts_of(item)]

    @property
    def each(self) -> str:
        """The path of the column's items: its path, with `[]` if the column has lists."""
        return f"{self.path}[]" if self.has_lists else self.path

    @property
    def has_lists(self) -> bool:
        """Whether any value of the column is a list, or an object of equally long lists."""
        values = map(opened, self.values)
        return any(isinstance(value, (list, tuple)) or is_parallel(value) for value in values)

    @property
    def are_objects(self) -> bool:
        """Whether all values of the column are objects (and not lists of objects)."""
        return bool(self.values) and all(isinstance(value, Mapping) for value in self.values)

    @property
    def are_grades(self) -> bool:
        """Whether all values of the column are objects of numbers, such as grades by ID."""
        if not self.are_objects:
            return False
        grades = [grade for value in self.values for grade in value.values()]
        return bool(grades) and all(map(is_number, grades))

    @property
    def is_by_id(self) -> bool:
        """Whether the column's objects have IDs as keys.

        Keys count as IDs if all are numbers, if all values are grades, or if there are several
        objects and no two of them share a key.
        """
        keys = [key for value in self.values if isinstance(value, Mapping) for key in value]
        numbered = bool(keys) and all(map(is_number, keys))
        return numbered or self.are_grades or (1 < len(self.values) <= len(keys) == len(set(keys)))

    def parts(self) -> list[ColumnValues]:
        """Return a column for each key that the column's objects have."""
        objects = [item for item in self.items if isinstance(item, Mapping)]
        names = dict.fromkeys(key for each in objects for key in each if isinstance(key, str))
        return [
            ColumnValues(
                f"{self.each}.{quoted(key)}",
                key,
                given_values([each.get(key) for each in objects]),
                self,
            )
            for key in names
        ]

    def is_all(self, kind: type | tuple[type, ...]) -> bool:
        """Return whether the column has items, and all of them are of a type."""
        return bool(self.items) and all(isinstance(item, kind) for item in self.items)

    @property
    def are_flags(self) -> bool:
        """Whether all items of the column are flags, such as true and false or "yes" and "no"."""
        return bool(self.items) and any(
            all(isinstance(item, (str, bool)) and str(item).lower() in pair for item in self.items)
            for pair in (("true", "false"), ("yes", "no"))
        )

    @property
    def are_numbers(self) -> bool:
        """Whether the column has items, and all of them are numbers, or numbers as texts."""
        return bool(self.items) and not self.are_flags and all(map(is_number, self.items))

    @cached_property
    def form(self) -> str:
        """The form of the column's items: "ids", "texts", or "" if unclear."""
        if not self.items or not self.is_all((str, int)) or self.are_flags:
            return ""
        if self.words & usual.TITLES and not any(map(ends_sentence, self.items)):
            return "ids"
        forms = {form_of(item) for item in self.items}
        if forms <= {"ids"} or (forms == {"ids", ""} and not self.words & usual.TEXT_WORDS):
            return "ids"
        if forms <= {"texts", ""} and ("texts" in forms or self.words & usual.TEXT_WORDS):
            return "texts"
        return "ids" if forms == {""} and self.words & (usual.DOCUMENTS - usual.TEXT_WORDS) else ""


def has_value(value: Any) -> bool:
    """Return whether a value is neither None nor an empty list."""
    return value is not None and not (isinstance(value, list) and not value)


def given_values(values: Sequence[Any]) -> list[Any]:
    """Return the values that are neither missing nor empty texts; parse lists written as texts."""
    given = (value for value in values if not is_missing(value))
    return [opened(value) for value in given if not isinstance(value, str) or value]


def is_pair(item: Any) -> bool:
    """Return whether an item is a pair of a text and a number."""
    return len(item) == 2 and isinstance(item[0], str) and type(item[1]) in (int, float)  # noqa: PLR2004


def is_number(item: object) -> bool:
    """Return whether an item is a number, or a number as text."""
    if isinstance(item, str):
        return bool(re.fullmatch(r"-?\d+(\.\d+)?", item.strip()))
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def form_of(item: object) -> str:
    """Return the form of an item: "ids", "texts", or "" for a short text that may be either.

    Items other than texts, such as numbers, are IDs.
    """
    if not isinstance(item, str):
        return "ids"
    words = item[:_LOOKED_AT].split()
    unspaced = len(_UNSPACED.findall(item[:_LOOKED_AT]))
    if unspaced and not has_mark(item):  # Count letters: there are no blanks.
        return "texts" if ends_sentence(item) or unspaced >= _FEWEST_UNSPACED else ""
    # A long sentence is a text even if it has a mark of IDs, such as the name of a file.
    if ends_sentence(item) and len(words) >= _FEWEST_WORDS:
        return "texts"
    if has_mark(item) or (len(words) == 1 and len(item) <= 200):  # noqa: PLR2004 - an ID's length
        return "ids"
    return "texts" if len(words) >= _FEWEST_WORDS or ends_sentence(item) else ""


def ends_sentence(item: object) -> bool:
    """Return whether an item is a text that ends like a sentence."""
    return isinstance(item, str) and item.rstrip()[-1:] in _ENDS


def is_id_like(item: object) -> bool:
    """Return whether an item looks like an ID, such as `doc-14`; answers rarely do."""
    return isinstance(item, str) and bool(_ID_LIKE.fullmatch(item))


def are_numbered(items: Sequence[Any]) -> bool:
    """Return whether items are IDs of one series (`doc_1`, `doc_14`) or UUIDs, and some differ."""
    found = [_NUMBERED.fullmatch(item) if isinstance(item, str) else None for item in items]
    names = {each and each[1] for each in found}
    return len(set(items)) > 1 and all(found) and len(names) == 1


def with_lists(
    columns: Mapping[str, ColumnValues], rows: Sequence[RawRow]
) -> dict[str, ColumnValues]:
    """Return the columns, with each numbered series joined into one column of lists.

    A series is numbered from 0 or 1, such as `context_1` and `context_2`. Its columns stay separate
    in three cases: they hold lists, since each may come from another run; they hold questions or
    turns of a conversation; or a column already has their common name.
    """
    found = dict(columns)
    for name, members in _groups(columns).items():
        path = f"[{', '.join(map(quoted, members))}]"
        values = [path_of(path).value(row) for row in rows]
        for member in members:
            del found[member]
        found[name] = ColumnValues(path, name, [each for each in values if each is not None])
    return found


def _groups(columns: Mapping[str, ColumnValues]) -> dict[str, list[str]]:
    """Return the names of the columns to join, ordered by number, for each common name."""
    numbered: dict[str, dict[int, str]] = {}
    for name in columns:
        if match := _NUMBERED_NAME.fullmatch(name):
            numbered.setdefault(match[1], {})[int(match[2])] = name
    groups = {}
    for stem, names in numbered.items():
        numbers = sorted(names)
        members = [names[number] for number in numbers]
        whole = stem if stem.endswith("s") else f"{stem}s"
        is_counted = len(numbers) > 1 and numbers in (
            [*range(len(numbers))],
            [*range(1, len(numbers) + 1)],
        )
        is_free = columns.keys().isdisjoint((stem, whole))
        is_asked = asks(stem) or snake(whole) in usual.TURNS
        if (
            is_counted
            and is_free
            and not is_asked
            and not any(columns[name].has_lists for name in members)
        ):
            groups[whole] = members
    return groups
