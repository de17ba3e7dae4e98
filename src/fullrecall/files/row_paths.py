"""Find the rows of a file: the path to the objects that have a question, and the rows at a path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from fullrecall._util.naming import parameter
from fullrecall.errors import InputError
from fullrecall.files.cells import is_parallel, items_of, opened
from fullrecall.files.columns import ASKING, asks, form_of, is_number, looks_gold
from fullrecall.files.formats import RawRow, format_of
from fullrecall.files.paths import Each, path_of, quoted
from fullrecall.files.plans import FIELDS
from fullrecall.files.usual_names import roles_of, snake, usual
from fullrecall.samples.identifiers import is_texts

RowNumber: TypeAlias = int | str
"""The line on which a row begins, its number in Parquet, or another label for its errors."""

NumberedRows: TypeAlias = Iterable[tuple[RowNumber, object]]

_DEEPEST = 4
"""The deepest level of nested lists at which rows are searched."""

_MOST_LISTS = 50
"""The most lists of one level that are examined."""


class RowBelow(dict[str, Any]):
    """A row inside a record, with the columns of the records `above` it."""

    def __init__(self, above: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        super().__init__({**above, **own})
        self.above = above.keys() - own.keys()

    def with_cells(self, cells: Mapping[str, Any]) -> RowBelow:
        """Return a row with these cells; `above` has the same columns as before."""
        above = {name: cell for name, cell in cells.items() if name in self.above}
        return RowBelow(above, {name: cells[name] for name in cells if name not in above})


def rows_in(records: Sequence[Any]) -> str | None:
    """Return the path to the rows inside records; None if the records are the rows.

    Raises `InputError` if several lists in a record may be the rows.
    """
    first = next((record for record in records if isinstance(record, Mapping)), {})
    lists = _lists(first)
    # The only key of a file, such as `documents`, may hold all rows, even if it also names a field.
    is_whole = len(first) == len(records) == 1
    is_ours = first.keys() <= FIELDS.keys()
    is_row = _has_question(first) or format_of(first) is not None
    if is_row or (is_ours and not (is_whole and _ask(lists))):
        return None
    if _are_judged(first) or (len(records) == 1 and (_are_questions(first) or _are_asked(first))):
        return "*"
    asked = [each for each in lists if _has_question(each.row) or format_of(each.row)]
    asked = asked or [each for each in lists if not each.row.keys().isdisjoint(usual.CLAIMS)]
    asked = asked or [each for each in lists if roles_of(each.name) <= usual.ROWS]
    if asked:
        return _path_of_rows(asked, first if len(records) == 1 else {})
    is_only = len(lists) == 1 and (len(records) == 1 or snake(lists[0].name) in usual.TURNS)
    return lists[0].path if is_only else None


def _path_of_rows(asked: Sequence[_List], whole: RawRow) -> str:
    """Return the path of the outermost lists with questions; `whole` is a file's only record.

    The path begins with `*`, for all values of `whole`, in two cases: several such lists are values
    of `whole`, or the same list is below each of its keys. Raises `InputError` if there are several
    such lists in other places.
    """
    found = asked[0]
    same = [each.path for each in asked if each.depth == found.depth]
    beside = [each.path for each in asked if each.above == found.above]
    if len(beside) == len(same) == 1:
        return found.path
    key = "".join(f"{quoted(str(name))}." for name in list(whole)[:1])
    below = path_of(found.path).steps[1:]
    are_alike = all(path_of(path).steps[1:] == below for path in same)
    if key and found.above.startswith(key) and len(same) == len(asked) and are_alike:
        return f"*.{found.path.removeprefix(key)}"
    if whole and not found.above:
        return "*"
    listed = " or ".join(beside if len(beside) > 1 else same)
    raise InputError(f"rows may lie at {listed}: pass {parameter('rows')}")


def records_of(record: object) -> list[dict[str, Any]]:
    """Return the rows of a record whose columns are lists, or objects keyed by number or ID.

    Pandas, Hugging Face, LlamaIndex and the examples of ragas write tables this way. Returns [] for
    other records.
    """
    if not isinstance(record, Mapping):
        return []
    header, cells = record.get("columns"), record.get("data")
    if isinstance(header, list) and isinstance(cells, list) and is_texts(header):
        return [dict(zip(header, each, strict=False)) for each in cells if isinstance(each, list)]
    asked = next((value for name, value in record.items() if asks(str(name))), None)
    if is_parallel(record) and isinstance(asked, list) and is_texts(asked):
        return items_of(record)
    if not isinstance(asked, Mapping) or not is_texts([*asked.values()]):
        return []
    own = {
        name: values
        for name, values in record.items()
        if isinstance(values, Mapping) and values.keys() <= asked.keys()
    }
    if all(map(is_number, asked)):
        return [{name: own[name].get(key) for name in own} for key in asked]
    named = ({"id": key, **{name: own[name].get(key, []) for name in own}} for key in asked)
    return [*named] if len(own) > 1 else []


def _has_question(row: RawRow) -> bool:
    named = {snake(name): value for name, value in row.items() if isinstance(name, str)}
    names = {
        name
        for name, value in named.items()
        if (name not in usual.TURNS or isinstance(opened(value), list))
        and not (_are_objects(value) and any(map(_is_row, value)))
    }
    parts = (row[name] for name in row if isinstance(name, str) and snake(name) in usual.INPUTS)
    nested = any(isinstance(opened(part), Mapping) and part for part in parts)
    texts = (
        name for name, value in row.items() if isinstance(name, str) and isinstance(value, str)
    )
    return nested or not names.isdisjoint(usual.QUESTIONS) or any(map(asks, texts))


def _is_row(turn: Any) -> bool:
    """Return whether an object in a list is a row, not a turn of a conversation.

    A row has no role, speaker, type or content, or it has references.
    """
    if not isinstance(turn, Mapping):
        return False
    is_turn = not turn.keys().isdisjoint(("role", "speaker", "type", "content"))
    return not is_turn or any(looks_gold(str(name)) for name in turn)


class _List(NamedTuple):
    """A list of objects inside a record: its path, its name, and its first object."""

    above: str
    name: str
    row: RawRow

    @property
    def path(self) -> str:
        return f"{self.above}{quoted(self.name)}[]"

    @property
    def depth(self) -> int:
        return len(path_of(self.path).steps)


def _ask(lists: Sequence[_List]) -> bool:
    return any(_has_question(each.row) for each in lists)


def _lists(row: RawRow) -> list[_List]:
    """Return the lists of objects within a row, outer lists first."""
    found: list[_List] = []
    level: list[tuple[str, Any]] = [("", row)]
    for _ in range(_DEEPEST):
        below: list[tuple[str, Any]] = []
        for above, record in level:
            for name, value in record.items():
                if not isinstance(name, str):
                    continue
                if isinstance(value, Mapping):
                    below.append((f"{above}{quoted(name)}.", value))
                items = value if isinstance(value, list) else []
                first = next((item for item in items if isinstance(item, Mapping)), None)
                if first is not None:
                    found.append(_List(above, name, first))
                    below.append((f"{found[-1].path}.", first))
        level = below[:_MOST_LISTS]
    return found


def _are_judged(row: RawRow) -> bool:
    """Return whether a record maps queries to relevant documents, or to the grades of documents."""
    names = {snake(str(name)) for name in row}
    values = list(row.values())
    if names & {*FIELDS, *usual.QUESTIONS, *usual.ANSWERS} or not values or any(map(_is_role, row)):
        return False
    listed = all(
        isinstance(v, list)
        and v
        and all(form_of(i) == "ids" and isinstance(i, (str, int)) for i in v)
        for v in values
    )
    graded = all(isinstance(v, Mapping) and v and all(map(is_number, v.values())) for v in values)
    return listed or graded


def _is_role(name: object) -> bool:
    return bool(roles_of(str(name)) & (usual.GOLD | usual.DOCUMENTS | {"retrieved", "ids"}))


def _are_questions(row: RawRow) -> bool:
    """Return whether a record maps keys, such as IDs, to objects that have a question."""
    return bool(row) and all(isinstance(v, Mapping) and _has_question(v) for v in row.values())


def _are_asked(row: RawRow) -> bool:
    """Return whether a record has at least two keys and all of them are questions."""
    return len(row) > 1 and all(str(key).rstrip()[-1:] in ASKING for key in row)


def spread_rows(
    records: Iterable[tuple[RowNumber, object]],
    path: str | None,
    *,
    by_columns: bool,
) -> Iterator[tuple[RowNumber, object]]:
    """Yield the rows at a path of each record, with the columns of the records above them.

    `by_columns` means that the columns of a record are lists of its rows' cells.
    """
    for number, record in records:
        if by_columns:
            yield from ((f"{number}, {n}", row) for n, row in enumerate(records_of(record), 1))
        elif path is None:
            yield number, record
        else:
            place = f"item {number}" if isinstance(number, int) else number
            for n, row in enumerate(rows_at(record, path), start=1):
                yield f"{place}, {path} {n}", row


def rows_at(record: object, path: str) -> Iterator[object]:
    """Yield the rows at a path of a record, each with the plain columns of the records above it.

    At the path `*`, each value of a mapping is a row. If some values are lists of objects, the
    rows are the objects in these lists. The column `key` has the key of the row in the mapping. The
    path `*.qas[]` leads to the rows at `qas[]` in each value.
    """
    if path.startswith("*."):
        for key, value in record.items() if isinstance(record, Mapping) else ():
            yield from _below(value, path_of(path[2:]).steps, {"key": key})
        return
    if path == "*":
        values = record if isinstance(record, Mapping) else {}
        lists = {key: value for key, value in values.items() if _are_objects(value)}
        for key, row in ((key, row) for key, value in lists.items() for row in value):
            yield {"key": key, **row}
        for key, value in values.items() if not lists else ():
            is_row = isinstance(value, Mapping) and not all(
                isinstance(grade, (int, float)) for grade in value.values()
            )
            yield {"key": key, **value} if is_row else {"key": key, "value": value}
        return
    yield from _below(record, path_of(path).steps, {})


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _below(value: Any, steps: Sequence[Any], above: Mapping[str, Any]) -> Iterator[object]:
    """Yield the rows to which steps lead; at `[]`, a value other than a list is one row."""
    if not steps:
        yield RowBelow(above, value) if isinstance(value, Mapping) else value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, Each):
        for item in value if isinstance(value, list) else [value]:
            if step.condition is None or step.condition.holds(item):
                yield from _below(item, rest, above)
    elif isinstance(value, Mapping) and value.get(step) is not None:
        plain = {
            k: v for k, v in value.items() if isinstance(v, (str, int, float, bool)) and k != step
        }
        yield from _below(value[step], rest, {**above, **plain})
    elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
        yield from _below(value[step], rest, above)
