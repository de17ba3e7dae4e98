"""Paths: the places of values in a row, such as `evidence[].{doc_id}#{page}`.

JMESPath does not fit: it flattens the pairs of `supporting_facts[][0]`, treats the flag 0 as true,
needs quotes around names with blanks, and has no templates in which a missing part is omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import Any, TypeAlias

from fullrecall._util.dataframes import is_missing
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.cells import TRUTHS, is_parallel, items_of, opened

_STEP = re.compile(r'\.?(?:"((?:[^"]|"")*)"|([^.\[\]{}"]+))|\[((?:[^\[\]]|\[[^\[\]]*\])*)\]')
_PLAIN = re.compile(r"[^.,\[\]{}\"!=]+")
_OBJECT = re.compile(r"\{\s*\w+\s*:.*\}", re.DOTALL)
_PART = re.compile(r"\{([^{}]*)\}")
_LISTED = re.compile(r'(?:"(?:[^"]|"")*"|[^",])+')
_FALSE = frozenset({"", "0", "false", "no"})


class PathError(InputError):
    """A text that is not a path; the message shows the error's position."""


@dataclass(frozen=True)
class Condition:
    """A flag (`is_supporting`, `!is_impossible`) or a comparison (`type=bridge`, `id!=*_abs`)."""

    path: RowPath
    is_negated: bool
    pattern: str | None

    @property
    def columns(self) -> frozenset[str]:
        """The columns of a row that the condition reads."""
        return self.path.columns

    @property
    def taken(self) -> frozenset[str]:
        """The columns that do not become metadata: those of a flag, but not of a comparison."""
        return self.columns if self.pattern is None else frozenset()

    def value(self, row: object) -> Any:
        """Return the value at the condition's path in a row; None if the row has none."""
        return self.path.value(row)

    def holds(self, row: object) -> bool:
        """Return whether a row has the flag, or a value that matches the pattern.

        A negated condition returns the opposite.
        """
        value = self.value(row)
        if self.pattern is None:
            is_true = value is not None and str(value).strip().lower() not in _FALSE
            return is_true != self.is_negated
        matches = value is not None and _is_like(str(value), self.pattern)
        return matches != self.is_negated


def _is_like(text: str, pattern: str) -> bool:
    """Return whether a text matches a pattern, in which `*` matches any text."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    position = len(first)
    for part in middle:
        position = text.find(part, position) + len(part)
        if position < len(part):
            return False
    return text.startswith(first) and text.endswith(last) and len(text) >= position + len(last)


@dataclass(frozen=True)
class Each:
    """`[]`: each item of a list; with a condition, each item for which the condition holds."""

    condition: Condition | None = None


@dataclass(frozen=True)
class ListOf:
    """`[a, b]`: the values of several columns as one list; the items of a list are added singly."""

    paths: tuple[RowPath, ...]

    def value(self, row: object) -> Any:
        """Return the row's values at the paths, without empty values; None if all are empty."""
        values = [value for path in self.paths for value in _listed(path.value(row))]
        return [value for value in values if not is_missing(value) and value != ""] or None


PathStep: TypeAlias = str | int | Each | ListOf


@dataclass(frozen=True)
class RowPath:
    """The steps from a row to its values, and an optional template that the values fill.

    `text` is the path as it is written. `template` is either the parts of a text, with a path for
    each pair of braces, or the path of each field of a context.
    """

    text: str
    steps: tuple[PathStep, ...]
    template: tuple[str | RowPath, ...] | Mapping[str, RowPath] | None = None

    @property
    def columns(self) -> frozenset[str]:
        """The columns of a row that the path reads."""
        if self.steps:
            first = self.steps[0]
            several = first.paths if isinstance(first, ListOf) else ()
            return frozenset().union(*(path.columns for path in several)) or frozenset({str(first)})
        parts = self.template.values() if isinstance(self.template, Mapping) else self.template
        paths = [part for part in parts or () if isinstance(part, RowPath)]
        return frozenset().union(*(path.columns for path in paths))

    @property
    def taken(self) -> frozenset[str]:
        """The columns that do not become metadata."""
        return self.columns

    def value(self, row: object) -> Any:
        """Return the row's value at this path, or None.

        It is a list if the path has `[]`, or if the template gives several texts.
        """
        if self.column is not None and isinstance(row, Mapping):
            return row.get(self.column)
        found = list(_walk(row, self.steps))
        several = any(map(_is_each, self.steps))
        if self.template is not None:
            made = [self._made(item) for item in found]
            found = [value for values in made for value in values]
            several = several or any(len(values) > 1 for values in made)
        if several:
            return found if found or self._reaches(row) else None
        return found[0] if found else None

    @cached_property
    def column(self) -> str | None:
        """The path's column, if the path is only a column; else None."""
        is_column = len(self.steps) == 1 and self.template is None
        return self.steps[0] if is_column and isinstance(self.steps[0], str) else None

    def _reaches(self, row: object) -> bool:
        """Return whether a row without a value at this path has the list before its last `[]`.

        The result is True only if the list is empty, or if the `[]` has a condition, which perhaps
        no item meets. Otherwise the items of the list lack the value.
        """
        last = max((n for n, step in enumerate(self.steps) if _is_each(step)), default=0)
        lists = list(_walk(row, self.steps[:last]))
        return bool(lists) and (not any(map(items_of, lists)) or self.steps[last] != Each())

    def _made(self, item: object) -> list[Any]:
        """Fill the template from an item; return a list of texts, or of at most one context."""
        if isinstance(self.template, Mapping):
            pairs = ((name, path.value(item)) for name, path in self.template.items())
            fields = {name: value for name, value in pairs if value is not None}
            for name in ("start", "end"):  # convert the texts of a CSV file
                if isinstance(text := fields.get(name), str) and text.strip().isdecimal():
                    fields[name] = int(text)
            return [fields] if fields else []
        return list(map(str, _joined(self.template or (), item)))


def _joined(template: Sequence[str | RowPath], item: object) -> Iterator[str]:
    """Yield the filled texts of a template: several if a path in it leads to a list.

    A missing value is omitted with the separator before it. Yields nothing if all values are
    missing; raises `InputError` if the first is missing, but another one is not.
    """
    parts = [[part] if isinstance(part, str) else _listed(part.value(item)) for part in template]
    paths = [n for n, part in enumerate(template) if isinstance(part, RowPath)]
    if not any(parts[n] for n in paths):
        return
    if not parts[paths[0]]:
        first = template[paths[0]]
        raise InputError(f"{shown(item)} has nothing at {first.text}: a place needs its document")  # type: ignore[union-attr]
    for before, after in pairwise(paths):
        if not parts[after]:
            parts[before + 1 : after + 1] = [[""]] * (after - before)
    for values in product(*parts):
        yield "".join(map(str, values))


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    value = opened(value)
    return value if isinstance(value, list) else [value]


def _is_each(step: PathStep) -> bool:
    return isinstance(step, Each)


def _walk(value: Any, steps: Sequence[PathStep]) -> Iterator[Any]:
    """Yield the values to which steps lead; null counts as missing."""
    if value is None:
        return
    if not steps:
        yield value
        return
    for below in _values_at(value, steps[0]):
        yield from _walk(below, steps[1:])


def _values_at(value: Any, step: PathStep) -> list[Any]:
    """Return the values to which one step leads."""
    if isinstance(step, Each):
        items = items_of(value)
        return items if step.condition is None else [*filter(step.condition.holds, items)]
    if isinstance(step, ListOf):
        return [step.value(value)]
    value = opened(value)
    if isinstance(step, int):
        value = items_of(value) if is_parallel(value) else value
        is_inside = isinstance(value, (list, tuple)) and -len(value) <= step < len(value)
        return [value[step]] if is_inside else []
    return [value.get(step)] if isinstance(value, Mapping) else []


@lru_cache(maxsize=512)
def path_of(text: str) -> RowPath:
    """Parse a text as a path; raise `PathError` if it is not a path."""
    begins = _brace(text)
    steps = tuple(_steps(text[:begins].removesuffix("."), text))
    if begins == len(text):
        return RowPath(text, steps)
    end = text[begins:]
    if _OBJECT.fullmatch(end):
        pairs = [pair.partition(":") for pair in end[1:-1].split(",")]
        return RowPath(
            text, steps, {name.strip(): path_of(path.strip()) for name, _, path in pairs}
        )
    template = [path_of(part.strip()) if n % 2 else part for n, part in enumerate(_PART.split(end))]
    if any("{" in part or "}" in part for part in template if isinstance(part, str)):
        raise PathError(f"{text!r}: a brace is not closed")
    return RowPath(text, steps, tuple(template))


def _brace(text: str) -> int:
    """Return where a template begins: the first `{` outside quotes, or the end of the text."""
    in_quotes = False
    for position, letter in enumerate(text):
        in_quotes ^= letter == '"'
        if letter == "{" and not in_quotes:
            return position
    return len(text)


def _steps(text: str, whole: str) -> Iterator[PathStep]:
    position = 0
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            raise PathError(
                f"{whole!r}: cannot read {text[position:]!r}; a path is such as a.b, a[].b, a[0], "
                'a[flag].b, a[].{b}#{c}, [a, b]; quotes hold names with such marks ("a.b")'
            )
        in_quotes, name, inside = step.groups()
        if inside is None:
            yield name if in_quotes is None else in_quotes.replace('""', '"')
        elif inside.removeprefix("-").isdigit():
            yield int(inside)
        elif len(several := _LISTED.findall(inside)) > 1 and "=" not in inside:
            yield ListOf(tuple(path_of(name.strip()) for name in several))
        else:
            yield Each(condition_of(inside) if inside else None)
        position = step.end()


def condition_of(text: str) -> Condition:
    """Parse a text as a condition; raise `PathError` if it is not a condition."""
    if text.startswith("?"):
        raise PathError(f"{text!r} is not a condition: write [flag], [!flag], [a=x] or [a!=x]")
    path, equals, pattern = text.partition("=")
    if equals and not text.startswith(("!", "=")):
        is_negated = path.endswith("!")
        own = path_of(path.removesuffix("!").strip())
        return Condition(own, is_negated, pattern.strip().strip("'\""))
    return Condition(path_of(text.removeprefix("!")), text.startswith("!"), None)


def path_of_field(field: str, text: str) -> RowPath | Condition:
    """Return the parsed path of a field: a condition for a boolean field, else a path."""
    return condition_of(text) if field in TRUTHS else path_of(text)


def taken_by(fields: Mapping[str, str]) -> frozenset[str]:
    """Return the columns that do not become metadata, since the paths of fields use them."""
    return frozenset().union(*(path_of_field(*pair).taken for pair in fields.items()))


def quoted(column: str) -> str:
    """Return the path of a column: its name, in quotes if it has special characters."""
    return column if _PLAIN.fullmatch(column) else '"' + column.replace('"', '""') + '"'
