"""Numbered columns: spreadsheets spread a list over `gold_1`, `gold_2` and `gold_3`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fullrecall.files.columns import ColumnValues, asks
from fullrecall.files.formats import RawRow
from fullrecall.files.paths import path_of, quoted
from fullrecall.files.plans import snake
from fullrecall.files.usual_names import usual

_NUMBERED = re.compile(r"(.{,100}[^\W\d_])[\s_.-]{,3}(\d{1,3})")


def with_lists(
    columns: Mapping[str, ColumnValues], rows: Sequence[RawRow]
) -> dict[str, ColumnValues]:
    """Return the columns; each series numbered from 0 or 1 becomes one column of lists.

    Numbered columns of lists are not joined, since each may come from another run; nor are
    questions and turns.
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
    """Group the names of numbered columns by their common name, in the order of their numbers."""
    numbered: dict[str, dict[int, str]] = {}
    for name in columns:
        if match := _NUMBERED.fullmatch(name):
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
