"""The plan of a file, guessed from the names, the values and the nesting of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fullrecall._util.dataframes import is_missing
from fullrecall.files import usual_names as usual
from fullrecall.files.cells import TRUTHS, has_mark, items_of, opened, parts_of
from fullrecall.files.formats import FORMATS, RawRow, format_of
from fullrecall.files.paths import MISSING, condition_of, path_of, quoted
from fullrecall.files.plans import FIELDS, REFERENCES, Doubt, Given, ReadPlan, snake, words_of
from fullrecall.samples.sample import Sample

IDS, TEXTS, CLAIMS = "reference_context_ids", "reference_contexts", "reference_claims"

_FLAG = re.compile(r"(is_)?(support\w*|selected|relevant|gold|positive|evidence)$", re.IGNORECASE)
_FEWEST_WORDS = 8
_HEAD = 50
"""Values of a column that are looked at."""

_DEEPEST = 4
"""Lists within lists among which rows are looked for."""


def looks_gold(name: str) -> bool:
    """Return whether a column's name is that of references."""
    words = frozenset(words_of(name))
    return bool(words & usual.GOLD) and not words & usual.OTHERS


class _ColumnValues:
    """A column, or a part of one: its path, the words of its name, and its values."""

    def __init__(self, path: str, name: str, values: list[Any], *, is_gold: bool = False) -> None:
        self.path, self.name, self.values = path, snake(name), values
        self.words = frozenset(words_of(name))
        self.is_gold = is_gold or bool(self.words & usual.GOLD)
        items = (item for value in values for item in items_of(value))
        self.items = [part for item in items for part in parts_of(item)]

    @property
    def each(self) -> str:
        """The path of each of its items."""
        has_lists = any(isinstance(opened(value), (list, tuple)) for value in self.values)
        return f"{self.path}[]" if has_lists else self.path

    def is_all(self, kind: type | tuple[type, ...]) -> bool:
        """Return whether it has items, all of a type."""
        return bool(self.items) and all(isinstance(item, kind) for item in self.items)

    @property
    def are_flags(self) -> bool:
        """Whether its items are true or false."""
        texts = {str(item).lower() for item in self.items}
        return bool(texts) and (texts <= {"true", "false"} or texts <= {"yes", "no"})

    @property
    def are_numbers(self) -> bool:
        """Whether its items are numbers."""
        return bool(self.items) and not self.are_flags and all(map(_is_number, self.items))

    @property
    def form(self) -> str:
        """What its items are: "ids", "texts", or "" where that is not clear."""
        if not self.items or not self.is_all((str, int)) or self.are_flags:
            return ""
        if self.words & usual.TITLES and not any(map(_ends_sentence, self.items)):
            return "ids"
        forms = {_form(item) for item in self.items}
        if forms <= {"ids"} or (forms == {"ids", ""} and not self.words & usual.TEXT_WORDS):
            return "ids"
        if forms <= {"texts", ""} and ("texts" in forms or self.words & usual.TEXT_WORDS):
            return "texts"
        return "ids" if forms == {""} and self.words & (usual.DOCUMENTS - usual.TEXT_WORDS) else ""


def _has(value: Any) -> bool:
    return value is not MISSING and not (isinstance(value, list) and not value)


def _given(values: Sequence[Any]) -> list[Any]:
    """Return the values that are given, and the lists and objects that texts of them are."""
    given = (value for value in values if not is_missing(value))
    return [opened(value) for value in given if not isinstance(value, str) or value]


def _is_pair(item: Any) -> bool:
    """Return whether an item is a text and a number."""
    return len(item) == 2 and isinstance(item[0], str) and type(item[1]) in (int, float)  # noqa: PLR2004


def _is_number(item: object) -> bool:
    if isinstance(item, str):
        return bool(re.fullmatch(r"-?\d+(\.\d+)?", item.strip()))
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def _form(item: object) -> str:
    if not isinstance(item, str):
        return "ids"
    words = item.split()
    if has_mark(item) or (len(words) == 1 and len(item) <= 200):  # noqa: PLR2004 - an ID's length
        return "ids"
    return "texts" if len(words) >= _FEWEST_WORDS or _ends_sentence(item) else ""


def _ends_sentence(item: object) -> bool:
    return isinstance(item, str) and item.rstrip()[-1:] in (".", "!", "?", "。", "…")


# --- Rows


class RowBelow(dict[str, Any]):
    """A row within a record, with the columns of the records above it, which are in `above`."""

    def __init__(self, above: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        super().__init__({**above, **own})
        self.above = above.keys() - own.keys()


def rows_in(records: Sequence[Any]) -> str | None:
    """Return the path at which records have their rows; None where they are the rows."""
    first = next((record for record in records if isinstance(record, Mapping)), {})
    if first.keys() <= FIELDS.keys() or _has_question(first):
        return None
    if (name := format_of(first)) is not None:
        return FORMATS[name].rows
    if _are_judged(first) or (len(records) == 1 and _are_questions(first)):
        return "*"
    return next((path for path, row in _lists(first) if _has_question(row) or format_of(row)), None)


def _has_question(row: RawRow) -> bool:
    named = {snake(name): value for name, value in row.items() if isinstance(name, str)}
    names = {
        name
        for name, value in named.items()
        if isinstance(opened(value), list) or name not in usual.TURNS
    }
    parts = (row[name] for name in row if isinstance(name, str) and snake(name) in usual.INPUTS)
    nested = any(isinstance(opened(part), Mapping) and part for part in parts)
    return nested or any(name in names for name in usual.QUESTIONS)


def _lists(row: RawRow) -> list[tuple[str, RawRow]]:
    """Return the paths of the lists of objects within a row with the first of each, upper first."""
    found: list[tuple[str, RawRow]] = []
    level: list[tuple[str, Any]] = [("", row)]
    for _ in range(_DEEPEST):
        below: list[tuple[str, Any]] = []
        for before, record in level:
            for name, value in record.items():
                if not isinstance(name, str):
                    continue
                path = f"{before}{quoted(name)}"
                if isinstance(value, Mapping):
                    below.append((f"{path}.", value))
                items = (
                    [item for item in value if isinstance(item, Mapping)]
                    if isinstance(value, list)
                    else []
                )
                if items:
                    found.append((f"{path}[]", items[0]))
                    below.append((f"{path}[].", items[0]))
        level = below[:_HEAD]
    return found


def _are_judged(row: RawRow) -> bool:
    """Return whether a record is relevance judgments: documents of each query, by its ID."""
    names = {snake(str(name)) for name in row}
    values = list(row.values())
    if names & {*FIELDS, *usual.QUESTIONS, *usual.ANSWERS} or not values or any(map(_is_role, row)):
        return False
    listed = all(
        isinstance(v, list)
        and v
        and all(_form(i) == "ids" and isinstance(i, (str, int)) for i in v)
        for v in values
    )
    graded = all(isinstance(v, Mapping) and v and all(map(_is_number, v.values())) for v in values)
    return listed or graded


def _is_role(name: object) -> bool:
    return bool(
        frozenset(words_of(str(name))) & (usual.GOLD | usual.DOCUMENTS | {"retrieved", "ids"})
    )


def _are_questions(row: RawRow) -> bool:
    """Return whether a record has a question, with its references, by each ID."""
    return bool(row) and all(isinstance(v, Mapping) and _has_question(v) for v in row.values())


# --- Fields


def guessed(
    records: Sequence[RawRow], given: Given, rows: str | None, *, file: str = "FILE"
) -> ReadPlan:
    """Return the plan of rows: the given parts, and for all others the guess."""
    return _Guess(records, given).plan(rows, file)


class _Guess:
    """A guess of the fields of rows."""

    def __init__(self, rows: Sequence[RawRow], given: Given) -> None:
        self.rows, self.given = rows, given
        self.doubts: list[Doubt] = []
        self.names = list(
            dict.fromkeys(name for row in rows for name in row if isinstance(name, str))
        )
        self.fields = {
            field: path
            for field, path in given.fields.items()
            if _columns(field, path) <= set(self.names) or field in TRUTHS
        }
        self.above = frozenset().union(*(getattr(row, "above", ()) for row in rows))
        self.left_out = {name for name in self.names if self._is_index(name)} | given.left_out
        used = frozenset().union(*(_columns(field, path) for field, path in given.fields.items()))
        self.columns = {
            name: _ColumnValues(quoted(name), name, self._values(name))
            for name in self.names
            if name not in self.left_out and name not in used
        }

    def _values(self, name: str) -> list[Any]:
        return _given([row.get(name) for row in self.rows[:_HEAD]])

    def _is_index(self, name: str) -> bool:
        """Return whether a column is the index that pandas writes."""
        numbered = all(_is_number(value) for value in self._values(name))
        return numbered and bool(re.fullmatch(r"|Unnamed: 0(\.1)*|__index_level_0__", name))

    def plan(self, rows: str | None, file: str) -> ReadPlan:
        name = format_of(dict.fromkeys(self.names))
        form = None if name is None else FORMATS[name]
        has_own_references = any(field in REFERENCES[:2] for field in self.given.fields)
        if form is not None:
            self._follow(form.fields)
            self.left_out |= set(form.left_out) & set(self.names)
        if self.names == ["key", "value"]:
            self._put("id", "key")
            self._put(IDS, "value")
        is_ours = set(self.names) <= Sample.names().keys()
        if is_ours:
            self._as_named()
        else:
            self._own_names()
        if not is_ours and (form is None or not form.fields):
            self._question()
            self._answers()
            self._answerable()
            if not has_own_references:
                self._references()
            self._id()
            self._unasked()
        for field in self.given.unguessed:
            self.fields.pop(field, None)
        self.doubts = [each for each in self.doubts if each.field not in self.given.unguessed]
        taken = frozenset().union(*(_columns(field, path) for field, path in self.fields.items()))
        kept = [
            n for n in self.names if n not in taken and n not in self.left_out and n != "metadata"
        ]
        left_out = [n for n in self.names if n in self.left_out]
        return ReadPlan(self.fields, rows, self.doubts, kept, left_out, name, file)

    def _put(self, field: str, path: str) -> None:
        """Take a path for a field that has none yet."""
        if field not in self.given.unguessed:
            self.fields.setdefault(field, path)

    def _taken(self) -> set[str]:
        return set(self.fields.values())

    def _follow(self, paths: Mapping[str, str]) -> None:
        """Take the paths of a known format that rows have."""
        for field, alternatives in paths.items():
            for path in alternatives.split(" | "):
                own = condition_of(path).path if field in TRUTHS else path_of(path)
                if any(_has(own.value(row)) for row in self.rows[:_HEAD]):
                    self._put(field, path)
                    break

    def _as_named(self) -> None:
        """Take each column as the field of its name: so `read` reads what `write_jsonl` writes."""
        for column in self.columns.values():
            if column.name != "metadata":
                self._put(column.name, column.path)

    def _own_names(self) -> None:
        """Take the columns with the names of fields; `answer` may be either side's."""
        met: dict[str, str] = {}
        used = frozenset().union(*(_columns(*pair) for pair in self.fields.items()))
        for column in (each for each in self._free() if each.path not in used):
            field = FIELDS.get(column.name)
            if field is None or column.path in self.above or column.name in ("answer", "metadata"):
                continue
            if column.name == "contexts" and self._is_test_set():
                field = TEXTS
            if column.items and field not in met and self._is_other_than(column, field):
                continue
            if field == IDS and column.is_all((list, tuple)) and all(map(_is_pair, column.items)):
                self._sort_lists(column, [], [])
                continue
            if field in met and field not in self.given.fields and self._differ(met[field], column):
                why = f"{met[field]} and {column.path} may both be it"
                self._doubt(field, why, met[field], column.path)
            met.setdefault(field, column.path)
            self._put(field, column.path)

    def _is_test_set(self) -> bool:
        return bool(set(map(snake, self.names)) & set(usual.TEST_SETS))

    def _is_other_than(self, column: _ColumnValues, field: str) -> bool:
        """Return whether a column named as the question or the answer holds objects or IDs."""
        if field == "user_input":
            return column.is_all(Mapping) and all(isinstance(v, Mapping) for v in column.values)
        is_object = any(isinstance(value, Mapping) for value in column.items)
        is_ids = field == "reference" and self._may_be_ids(column)
        return is_ids or (is_object and field in ("reference", *TRUTHS))

    def _differ(self, path: str, column: _ColumnValues) -> bool:
        """Return whether a row has two values in two columns of one field."""
        own = path_of(column.path)
        for row in self.rows:
            values = [each.value(row) for each in (path_of(path), own)]
            if MISSING not in values and values[0] != values[1]:
                return True
        return False

    def _free(self) -> list[_ColumnValues]:
        taken = self._taken()
        return [column for column in self.columns.values() if column.path not in taken]

    def _named(self, names: Sequence[str]) -> Iterator[_ColumnValues]:
        """Yield the free columns of these names, in the order of the names."""
        by_name = {column.name: column for column in reversed(self._free())}
        yield from (by_name[name] for name in names if name in by_name)

    def _parts(self, column: _ColumnValues, *, is_gold: bool = False) -> list[_ColumnValues]:
        """Return the keys of a column of objects as columns."""
        objects = [value for value in column.values if isinstance(value, Mapping)]
        names = dict.fromkeys(key for value in objects for key in value if isinstance(key, str))
        values = {key: [value.get(key) for value in objects] for key in names}
        return [
            _ColumnValues(f"{column.path}.{quoted(key)}", key, _given(values[key]), is_gold=is_gold)
            for key in names
        ]

    def _question(self) -> None:
        if "user_input" in self.fields:
            return
        for column in self._named(usual.QUESTIONS):
            if column.values and all(isinstance(value, Mapping) for value in column.values):
                continue
            self._put("user_input", column.path)
            return
        for name in usual.INPUTS:
            for column in self._named([name]):
                parts = self._parts(column)
                named = {part.name: part for part in parts}
                chosen = next((named[each] for each in usual.QUESTION_PARTS if each in named), None)
                is_alone = len(parts) == 1 and name in ("inputs", "input", "vars")
                chosen = parts[0] if chosen is None and is_alone else chosen
                if chosen is not None:
                    self._put("user_input", chosen.path)
                    return
        for column in self._free():  # an object of another form: the sample says what is wrong
            if FIELDS.get(column.name) == "user_input":
                self._put("user_input", column.path)

    def _unasked(self) -> None:
        """Doubt the question, where no column has its name and one may be it."""
        aside = ("id", "group", "metadata", None)
        named = any(FIELDS.get(snake(name)) not in aside for name in self.names)
        is_ours = set(self.names) <= FIELDS.keys()
        if "user_input" in self.fields or named or is_ours or not self._free():
            return
        texts = [each for each in self._free() if each.is_all(str)]
        if self.fields and not texts:
            return
        asked = [each.path for each in texts if any(i.rstrip().endswith("?") for i in each.items)]
        self._doubt("user_input", "no column has the name of a question", *asked[:3])
        if not any(map(looks_gold, self.names)):
            known = [each.path for each in texts if each.form == "ids" and self._is_sure(each)]
            self._doubt(IDS, "no column has the name of references", *known[:3])

    def _answers(self) -> None:
        has_retrieval = any(field.startswith("retriev") for field in self.fields)
        others = [
            each for each in self._named(usual.ANSWERS) if each.name not in ("answer", "answers")
        ]
        has_other = "reference" in self.fields or any(
            each.is_all((str, int, float)) for each in others
        )
        for column in self._named(usual.RESPONSES):
            if column.is_all(str):
                self._put("response", column.path)
        for column in self._named(usual.ANSWERS):
            if column.name == "answer" and (has_retrieval or has_other):
                self._put("response", column.path)
            elif (
                not column.is_all(Mapping)
                and not self._may_be_ids(column)
                and not self._is_bare(column)
            ):
                self._answer(column)
        for column in self._named(usual.OUTPUTS):
            if column.values and all(isinstance(value, Mapping) for value in column.values):
                self._inside(column)

    def _may_be_ids(self, column: _ColumnValues) -> bool:
        """Return whether a column named like an answer holds IDs."""
        if column.words & {"answer", "answers", "generation", "output", "response"}:
            return False
        several = any(
            isinstance(value, (list, tuple)) and len(value) > 1 for value in column.values
        )
        return column.form == "ids" and (
            several or all(has_mark(str(item)) for item in column.items)
        )

    def _is_bare(self, column: _ColumnValues) -> bool:
        """Return whether a column of one word each may hold answers or IDs: `gold`, `expected`."""
        if not column.words <= usual.BARE or not column.items or column.form != "ids":
            return False
        return not all(has_mark(str(item)) for item in column.items)

    def _answer(self, column: _ColumnValues) -> None:
        lists = [value for value in column.values if isinstance(value, (list, tuple))]
        first = column.items[0] if column.items else None
        if isinstance(first, Mapping):
            key = next((name for name in ("text", "answer", "content") if name in first), None)
            if key is not None:
                self._put(
                    "reference", f"{column.path}[0].{key}" if lists else f"{column.path}.{key}"
                )
            return
        several = any(len(value) > 1 for value in lists)
        self._put("reference", f"{column.path}[0]" if several else column.path)

    def _inside(self, column: _ColumnValues) -> None:
        """Take the fields of an object of expected values."""
        parts = self._parts(column, is_gold=True)
        answers = {*usual.ANSWERS, *usual.RESPONSES, "result", "text", "content", "value"}
        for part in parts:
            field = FIELDS.get(part.name)
            if part.name in answers and not self._may_be_ids(part):
                self._answer(part)
            elif field in REFERENCES and part.name not in usual.ANSWERS:
                self._put(str(field), part.path)
        taken = self._taken()
        left = [part for part in parts if part.path not in taken and part.name not in usual.ANSWERS]
        self._take(left, is_alone=True)
        del self.columns[next(n for n, each in self.columns.items() if each is column)]

    def _answerable(self) -> None:
        if "answerable" in self.fields:
            return
        for names, mark in ((usual.REFUSALS, "!"), (usual.ANSWERABLE, "")):
            for column in self._named(names):
                if column.are_flags or set(column.items) <= {0, 1}:
                    self._put("answerable", f"{mark}{column.path}")
                    return
        for column in self._named(usual.KINDS):
            value = next((each for each in usual.NO_ANSWER if each in column.items), None)
            if value is not None:
                self._put("answerable", f"{column.path}!={value}")
                return
        for column in self.columns.values():
            if column.name in usual.IDS and any(
                str(item).endswith("_abs") for item in column.items
            ):
                self._put("answerable", f"{column.path}!=*_abs")
                return

    def _id(self) -> None:
        for column in self._named(usual.IDS):
            if column.path in self.above:
                continue
            own = [
                row.get(name)
                for row in self.rows
                for name in row
                if snake(str(name)) == column.name
            ]
            if all(isinstance(value, (str, int)) for value in own if value is not None):
                self._put("id", column.path)
                return

    def _references(self) -> None:
        names = {snake(name) for name in self.names}
        has_answer = "." not in self.fields.get("reference", ".")
        others = {"answer", "reference_claims", "reference_entities", *usual.RESPONSES}
        is_open = has_answer and not names & others
        if self.fields.get("retrieved_contexts") == "contexts" and is_open:
            why = "contexts may be what was retrieved (retrieved_contexts), or what should be"
            self.fields.pop("retrieved_contexts")
            self._doubt(TEXTS, why, "contexts")
        contexts = [each for each in self._free() if each.name == "context" and each.items]
        for column in contexts:
            self._context(column)
        free = [
            each
            for each in self._free()
            if each not in contexts and each.name not in (*usual.IDS, "metadata")
        ]
        self._retrieved(free)
        free = [each for each in free if each.path not in self._taken()]
        if IDS in self.fields and TEXTS in self.fields:
            return
        self._take(free, is_alone=not any(name in self.fields for name in REFERENCES[:2]))
        known = {*FIELDS, *usual.ANSWERS, "context"}
        used = frozenset().union(*(_columns(*pair) for pair in self.fields.items()))
        near = [each for each in self._free() if each.name not in known | used]
        for column in near:
            from difflib import get_close_matches  # which few files need

            meant = get_close_matches(column.name, FIELDS, n=1, cutoff=0.85)
            if meant and f"{column.name}s" not in meant and FIELDS[meant[0]] not in self.fields:
                self._doubt(FIELDS[meant[0]], f"{column.path} may be mistyped", column.path)
        if IDS not in self.fields and not any(each.field == IDS for each in self.doubts):
            for column in self.columns.values():
                if column.name != "metadata":
                    continue
                named = [part for part in self._parts(column) if self._is_reference(part)]
                parts = [part for part in named if part.form == "ids"]
                if len(parts) == 1:
                    self._doubt(IDS, "the metadata may have the references", parts[0].path)

    def _context(self, column: _ColumnValues) -> None:
        """Take `context` as a reference in the rows of test sets; else it may be either side's."""
        if self._is_test_set():
            self._put(TEXTS, column.path)
        else:
            why = f"{column.path} may be what was retrieved, or what should be"
            self._doubt(TEXTS, why, column.path)

    def _retrieved(self, columns: Sequence[_ColumnValues]) -> None:
        """Take the columns of what was retrieved."""
        for column in columns:
            if "retrieved" in column.words and not column.words & (usual.GOLD | {"gt"}):
                if column.form == "ids":
                    self._put("retrieved_context_ids", column.path)
                elif column.form == "texts" or column.is_all(Mapping):
                    self._put("retrieved_contexts", column.path)

    def _take(self, columns: Sequence[_ColumnValues], *, is_alone: bool) -> None:
        """Take the columns that hold references: those named so, else those named as documents."""
        spans = self._flat_span(columns)
        places = [each for each in columns if each.words & usual.PLACES and each.are_numbers]
        named = [each for each in columns if self._is_reference(each) and each not in places]
        gold = [each for each in named if each.is_gold]
        documents = [each for each in named if not each.is_gold]
        if spans is not None:
            self._put(TEXTS, spans)
            return
        ids: list[str] = []
        texts: list[str] = []
        unclear: list[str] = []
        told = [each for each in gold if self._is_told(each, is_alone=is_alone)]
        for column in told:
            self._sort(column, ids, texts, unclear)
        if any(each.field == TEXTS for each in self.doubts):
            documents = [each for each in documents if self._is_sure(each)]
        if not ids and (places or not texts):
            ids = self._of_documents(documents, texts, unclear, is_placed=bool(places))
        if places and is_alone:
            self._placed(places, ids)
            ids = []
        known = {IDS, TEXTS, "reference"} & self.fields.keys()
        if not (ids or texts or unclear or known) and is_alone:
            sure = [each for each in columns if each.form == "ids" and self._is_sure(each)]
            untold = [each for each in gold if each not in told and each.is_all((str, int))]
            unclear = [each.path for each in untold or sure if not each.words & usual.OTHERS]
        self._settle(IDS, ids, unclear)
        self._settle(TEXTS, texts, [])

    def _of_documents(
        self, columns: list[_ColumnValues], texts: list[str], unclear: list[str], *, is_placed: bool
    ) -> list[str]:
        """Return the path of the IDs that columns named as documents hold, or doubt it."""
        ids: list[str] = []
        for column in columns:
            self._sort(column, ids, [] if texts else texts, unclear)
        is_sure = len(ids) == 1 and not unclear and any(map(self._is_sure, columns))
        if ids and not is_sure and not is_placed:
            why = f"{' or '.join(ids)} may be the references, or a remark"
            self._doubt(IDS, why, *ids)
            return []
        return ids

    def _is_told(self, column: _ColumnValues, *, is_alone: bool) -> bool:
        """Return whether a name with the words of references tells that it holds documents."""
        if self._is_sure(column) or not is_alone:
            return True
        return bool(column.words & usual.NOUNS) and not self._is_bare(column)

    def _is_sure(self, column: _ColumnValues) -> bool:
        return all(has_mark(str(item)) for item in column.items) or column.is_all(Mapping)

    def _is_reference(self, column: _ColumnValues) -> bool:
        if column.words & usual.OTHERS and not {"gt", "truth"} & column.words:
            return False
        if column.are_flags or (column.is_all(float)):
            return False
        return column.is_gold or bool(column.words & usual.DOCUMENTS)

    def _sort(
        self, column: _ColumnValues, ids: list[str], texts: list[str], unclear: list[str]
    ) -> None:
        """Add the paths of a column to those of IDs, of texts, or of columns that are not clear."""
        if column.words & usual.CLAIM_WORDS and column.is_all(str):
            self._put(CLAIMS, column.path)
        elif column.is_all(Mapping):
            found = _of_objects(column)
            ids += [found[IDS]] if IDS in found else []
            texts += [found[TEXTS]] if TEXTS in found else []
            unclear += [] if found else [column.path]
        elif column.is_all((list, tuple)):
            self._sort_lists(column, ids, unclear)
        elif column.are_numbers and not any(isinstance(value, list) for value in column.values):
            known = {"id", "ids", "doc", "docs", "chunk", "chunks", "source", "sources"}
            ids += [column.path] if column.words & known else []
        elif column.items:
            {"ids": ids, "texts": texts}.get(column.form, unclear).append(column.path)

    def _sort_lists(self, column: _ColumnValues, ids: list[str], unclear: list[str]) -> None:
        """Add the path of a column of lists: any-of groups, or documents with a number each."""
        inner = [part for item in column.items for part in item]
        if all(map(_is_pair, column.items)):
            each, joined = f"{column.path}[][0]", f"{column.path}[].{{[0]}}#{{[1]}}"
            if column.name.startswith("supporting_fact"):  # there the numbers are of sentences
                ids.append(each)
            else:
                why = f"{column.path} has documents with a page each, or with another number"
                self._doubt(IDS, why, joined, each)
        elif inner and all(isinstance(i, (str, int)) and _form(i) == "ids" for i in inner):
            ids.append(column.path)
        else:
            unclear.append(column.path)

    def _placed(self, places: list[_ColumnValues], ids: list[str]) -> None:
        """Join a page with its document."""
        place = places[0]
        named = [path for path in ids if path_of(path).template is None]
        if len(named) == 1:
            self._put(IDS, f"{{{named[0]}}}#{{{place.path}[]}}")
        else:
            why = f"{place.path} means nothing without its document"
            self._doubt(IDS, why, *(f"{{{path}}}#{{{place.path}[]}}" for path in named))

    def _settle(self, field: str, paths: list[str], unclear: list[str]) -> None:
        """Take the only path for a field, or doubt it."""
        if field in self.fields or (not paths and not unclear):
            return
        if len(paths) == 1 and not unclear:
            self._put(field, paths[0])
        elif paths:
            self._doubt(field, f"{' and '.join([*paths, *unclear])} may hold it", *paths, *unclear)
        elif unclear and TEXTS not in self.fields:
            why = f"{' and '.join(unclear)} may hold IDs, texts ({TEXTS}), or answers (reference)"
            like_ids = [path for path in unclear if self._are_like_ids(path)]
            self._doubt(field, why, *(like_ids if len(like_ids) == len(unclear) else ()))

    def _are_like_ids(self, path: str) -> bool:
        """Return whether the values at a path have the marks of files, or digits, as IDs do."""
        values = [path_of(path).value(row) for row in self.rows]
        items = [item for value in values if value is not MISSING for item in items_of(value)]
        return all(_form(item) == "ids" and re.search(r"\d|\.\w", str(item)) for item in items)

    def _flat_span(self, columns: Sequence[_ColumnValues]) -> str | None:
        """Return the span that four columns of a row say, if they do."""
        by_name = {column.name: column.path for column in columns}
        start, end = (
            next((by_name[n] for n in names if n in by_name), None)
            for names in (usual.STARTS, usual.ENDS)
        )
        text = next((by_name[n] for n in usual.TEXT_KEYS if n in by_name and n != "answer"), None)
        document = next((by_name[n] for n in usual.ID_KEYS if n in by_name), None)
        if start is None or end is None or text is None or document is None:
            return None
        return f"{{text: {text}, source: {document}, start: {start}, end: {end}}}"

    def _doubt(self, field: str, why: str, *paths: str) -> None:
        if not any(each.field == field for each in self.doubts):
            self.fields.pop(field, None)
            self.doubts.append(Doubt(field, why, paths))


def _of_objects(column: _ColumnValues) -> dict[str, str]:
    """Return the paths of IDs and of texts in a column of objects."""
    first: dict[str, Any] = {}
    for item in column.items:
        first |= {key: value for key, value in item.items() if value is not None}
    flag = next(
        (key for key in first if _FLAG.match(str(key)) and str(first[key]).lower() in _FLAGS), None
    )
    each = f"{column.path}[{flag}]" if flag else f"{column.path}[]"
    names = {snake(str(key)): str(key) for key in first}
    key, place, text, grade = (
        next((names[n] for n in choices if n in names), None)
        for choices in (usual.ID_KEYS, _places(first), usual.TEXT_KEYS, usual.GRADE_KEYS)
    )
    if text is not None and not isinstance(first[text], str):
        text = None
    span = first.get("span")
    start, end = (
        next((names[n] for n in c if n in names), None) for c in (usual.STARTS, usual.ENDS)
    )
    ends = ("span[0]", "span[1]") if isinstance(span, list) else (start, end)
    if key and text and None not in ends:
        document = key if key != text else names.get("source", key)
        return {
            TEXTS: f"{each}.{{text: {text}, source: {document}, start: {ends[0]}, end: {ends[1]}}}"
        }
    found = {}
    if key is not None and grade is not None and _is_number(first[grade]) and not flag:
        found[IDS] = f"{each}.{{id: {quoted(key)}, grade: {quoted(grade)}}}"
    elif key is not None:
        is_whole = place is None or key in ("chunk_id", "passage_id", "node_id", "url", "link")
        joined = f"{{{key}}}#{{{place}{'[]' if isinstance(first.get(place or ''), list) else ''}}}"
        found[IDS] = f"{each}.{quoted(key) if is_whole else joined}"
    if text is not None and text != key and not (flag and key == "title"):
        found[TEXTS] = f"{each}.{quoted(text)}"
    return found


_FLAGS = frozenset({"true", "false", "0", "1"})


def _places(item: RawRow) -> list[str]:
    """Return the keys of an object that say a place in a document."""
    keys = [snake(str(key)) for key in item if frozenset(words_of(str(key))) & usual.PLACES]
    return [key for key in keys if not key.endswith(("text", "title", "_full_page"))]


def _columns(field: str, text: str) -> frozenset[str]:
    """Return the columns that a field's path takes away from the metadata."""
    if field not in TRUTHS:
        return path_of(text).columns
    condition = condition_of(text)
    return condition.path.columns if condition.pattern is None else frozenset()
