"""The plan of a file, guessed from the names, values and nesting of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from fullrecall.files.cells import TRUTHS
from fullrecall.files.columns import (
    ASKING,
    ColumnValues,
    asks,
    form_of,
    has_value,
    is_pair,
    looks_gold,
)
from fullrecall.files.formats import FORMATS, RawRow, format_of
from fullrecall.files.objections import objections
from fullrecall.files.objects import IDS, TEXTS
from fullrecall.files.partial_plan import HEAD
from fullrecall.files.paths import path_of, path_of_field, taken_by
from fullrecall.files.plans import FIELDS, REFERENCES, Given, ReadPlan
from fullrecall.files.references import ReferencesPlan
from fullrecall.files.usual_names import snake, usual
from fullrecall.samples.sample import Sample


def guessed(
    records: Sequence[RawRow], given: Given, rows: str | None, *, file: str = "FILE"
) -> ReadPlan:
    """Return the plan of rows: the parts that the user gives, and guesses for all other fields."""
    return _Guess(records, given).plan(rows, file)


class _Guess(ReferencesPlan):
    """Guesses the path of each field in rows."""

    def plan(self, rows: str | None, file: str) -> ReadPlan:
        name = format_of(dict.fromkeys(self.names))
        form = None if name is None else FORMATS[name]
        has_own_references = any(field in REFERENCES[:2] for field in self.given.fields)
        if form is not None:
            self._follow(form.fields)
            self.left_out |= set(form.left_out) & set(self.names)
        if self.names == ["key", "value"]:
            self._mapping()
        is_ours = set(self.names) <= Sample.names().keys()
        if is_ours:
            self._as_named()
        else:
            self._own_names()
        if not is_ours and (form is None or not form.fields):
            self.open()
            for part in self.parts:
                field = FIELDS.get(part.name)
                if field in REFERENCES and part.name not in usual.ANSWERS and "[" not in part.path:
                    self.put(str(field), part.path)
            self._question()
            self._answers()
            self._answerable()
            if not has_own_references:
                self.references()
            self._id()
            self._unasked()
            for doubt in [*objections(self)]:
                self.object_to(doubt)
        self.doubts = [each for each in self.doubts if each.field not in self.given.unguessed]
        taken = taken_by(self.fields)
        kept = [
            n for n in self.names if n not in taken and n not in self.left_out and n != "metadata"
        ]
        left_out = [n for n in self.names if n in self.left_out]
        return ReadPlan(self.fields, rows, self.doubts, kept, left_out, name, file)

    def _mapping(self) -> None:
        """Use `key` as the question or its ID, and `value` as the reference answer or IDs."""
        key, value = (self.columns.get(name) for name in ("key", "value"))
        if key is not None:
            is_id = all(form_of(item) == "ids" for item in key.items)
            self.put("id" if is_id else "user_input", key.path)
        if value is not None:
            is_answer = value.is_all(str) and not value.has_lists and value.form != "ids"
            self.put("reference" if is_answer else IDS, value.path)

    def _follow(self, paths: Mapping[str, str]) -> None:
        """Use each path of a known format at which the rows have values."""
        for field, alternatives in paths.items():
            for path in alternatives.split(" | "):
                own = path_of_field(field, path)
                # The user may have given this path to another field.
                is_given = path in self.given.fields.values()
                if not is_given and any(has_value(own.value(row)) for row in self.rows[:HEAD]):
                    self.put(field, path)
                    break

    def _as_named(self) -> None:
        """Use each column for the field that has its name, so that `read` inverts `write_jsonl`.

        If the column `reference` may hold IDs, note a doubt instead.
        """
        for column in self.columns.values():
            is_open = column.name == "reference" and not {IDS, TEXTS} & self.columns.keys()
            if is_open and column.items and self.may_be_ids(column):
                self.doubt(IDS, "reference has IDs, or answers of a word each", column.path)
            elif column.name != "metadata":
                self.put(column.name, column.path)

    def _own_names(self) -> None:
        """Use columns named like fields, except `answer`, which may be expected or generated."""
        met: dict[str, str] = {}
        used = taken_by(self.fields)
        for column in (each for each in self.free() if each.path not in used):
            field = FIELDS.get(column.name)
            if field is None or column.path in self.above or column.name in ("answer", "metadata"):
                continue
            if column.name == "contexts" and self.is_test_set():
                field = TEXTS
            if column.items and field not in met and self._is_other_than(column, field):
                continue
            if field == IDS and column.is_all((list, tuple)) and all(map(is_pair, column.items)):
                continue
            if field in met and field not in self.given.fields and self._differ(met[field], column):
                why = f"{met[field]} and {column.path} may both be it"
                self.doubt(field, why, met[field], column.path)
            met.setdefault(field, column.path)
            self.put(field, column.path)

    def _is_other_than(self, column: ColumnValues, field: str) -> bool:
        """Return whether a column named like a field holds values of another kind.

        A question must not be an object or a number; retrieved documents and a reference answer
        must not be IDs; answers and truth values must not be objects.
        """
        if field == "user_input":
            is_objects = column.is_all(Mapping) and column.are_objects
            return is_objects or column.are_numbers
        if field == "retrieved_contexts" and column.name.endswith("documents"):
            return column.form == "ids"
        is_object = any(isinstance(value, Mapping) for value in column.items)
        is_ids = field == "reference" and self.may_be_ids(column)
        return is_ids or (is_object and field in ("reference", "response", *TRUTHS))

    def _differ(self, path: str, column: ColumnValues) -> bool:
        """Return whether any row has different values at a path and in a column."""
        own = path_of(column.path)
        for row in self.rows:
            values = [each.value(row) for each in (path_of(path), own)]
            if None not in values and values[0] != values[1]:
                return True
        return False

    def _question(self) -> None:
        """Use the column with a usual name of questions, else the only one that is similar.

        A similar column is an object's input, has a word for questions in its name, has only
        questions, or has claims.
        """
        free = [each for each in self.free() if "[" not in each.path]
        inputs = [each for each in free if each.above and each.above.name in usual.INPUTS]
        texts = [each for each in inputs if each.name in ("text", "content")]
        alone = [each for each in free if each.is_all(str) and _top(each).name in usual.INPUTS]
        alone = alone if len(alone) == 1 else []
        named = [each for name in usual.QUESTIONS for each in free if each.name == name]
        like = [each for each in free if each.is_all(str) and asks(each.name)]
        asked = [each for each in free if _are_asked(each) and each.name not in usual.ANSWERS]
        claims = [each for each in free if each.name in usual.CLAIMS and each.is_all(str)]
        exact = [each for each in named if not each.are_objects]
        exact = [each for each in exact if not each.are_numbers] or exact[-1:]
        for found in (exact[:1], texts[:1], alone[:1], like, asked, claims):
            if len(found) == 1:
                self.put("user_input", found[0].path)
                return
        for column in self.top:  # Use even an object: `Sample` raises the error for it.
            if FIELDS.get(column.name) == "user_input":
                self.put("user_input", column.path)

    def _unasked(self) -> None:
        """Note a doubt about the question if no column is named like a sample's field.

        If no column is named like references, note a doubt about the reference IDs, too.
        """
        aside = ("id", "group", "metadata", None)
        named = any(FIELDS.get(snake(name)) not in aside for name in self.names)
        is_ours = set(self.names) <= FIELDS.keys()
        if "user_input" in self.fields or named or is_ours or not self.free():
            return
        texts = [each for each in self.free() if each.is_all(str)]
        if self.fields and not texts:
            return
        asked = [each.path for each in texts if any(i.rstrip().endswith("?") for i in each.items)]
        asked = asked or [each.path for each in texts if each.form == "texts"]
        self.doubt("user_input", "no column has the name of a question", *asked[:3])
        if not any(map(looks_gold, self.names)) and IDS not in self.fields:
            known = [each.path for each in texts if each.form == "ids" and self._is_sure(each)]
            self.doubt(IDS, "no column has the name of references", *known[:3])

    def _answers(self) -> None:
        """Use the columns named like answers as the reference answer and the generated answer."""
        free = self.free()
        has_retrieval = any(field.startswith("retriev") for field in self.fields) or any(
            "retrieved" in each.words for each in free
        )
        short = [each for each in free if each.words <= usual.BARE and _has_short_texts(each)]
        named = [each for each in (*self.named(usual.ANSWERS), *short) if self._has_answers(each)]
        # Beside a column B, a column A is not an answer but a choice of the question.
        if any(each.name == "b" for each in free):
            named = [each for each in named if each.name != "a"]
        has_other = "reference" in self.fields or any(
            each.name not in ("answer", "answers") for each in named
        )
        for column in self.named(usual.RESPONSES):
            if column.is_all(str) and column.above is None:
                self.put("response", column.path)
        has_sides = has_retrieval or has_other
        like = [
            each
            for each in self.free()
            if _is_answer(each, has_sides=has_sides) and self._has_answers(each)
        ]
        for column in (*named, *like):
            if column.name == "answer" and column.above is None and has_sides:
                self.put("response", column.path)
                continue
            lists = [value for value in column.values if isinstance(value, (list, tuple))]
            several = any(len(value) > 1 for value in lists)
            path = f"{column.path}[0]" if several else column.path
            self.put("reference", path.replace("[]", "[0]"))

    def _has_answers(self, column: ColumnValues) -> bool:
        """Return whether a column has only texts, numbers or dates, and these are not IDs."""
        is_plain = column.is_all((str, int, float, date))
        return is_plain and not self.may_be_ids(column) and not self.is_bare(column)

    def _answerable(self) -> None:
        for names, mark in ((usual.REFUSALS, "!"), (usual.ANSWERABLE, "")):
            for column in self.named(names):
                if column.are_flags or (column.is_all(int) and set(column.items) <= {0, 1}):
                    self.put("answerable", f"{mark}{column.path.replace('[]', '[0]')}")
                    return
        for column in self.named(usual.KINDS):
            value = next((each for each in usual.NO_ANSWER if each in column.items), None)
            if value is not None:
                self.put("answerable", f"{column.path}!={value}")
                return
        for column in self.columns.values():
            if column.name in usual.IDS and any(
                str(item).endswith("_abs") for item in column.items
            ):
                self.put("answerable", f"{column.path}!=*_abs")
                return

    def _id(self) -> None:
        for column in self.named(usual.IDS):
            if column.path in self.above:
                continue
            own = [
                row.get(name)
                for row in self.rows
                for name in row
                if snake(str(name)) == column.name
            ]
            if all(isinstance(value, (str, int)) for value in own if value is not None):
                self.put("id", column.path)
                return


def _top(column: ColumnValues) -> ColumnValues:
    return column if column.above is None else _top(column.above)


def _is_answer(column: ColumnValues, *, has_sides: bool) -> bool:
    """Return whether a column holds a reference answer, by its name or the name of its object.

    `has_sides` says that the rows may also have a generated answer. Then the word "answer" in a
    column's name does not show that the column holds the reference answer.
    """
    aside = usual.OTHERS | usual.OFFSETS | usual.CLAIM_WORDS
    if column.words & aside or column.name in usual.RESPONSES:
        return False
    if column.above is None:
        is_answer = "answer" in column.words and not has_sides
        return is_answer or (column.is_gold and "response" in column.words)
    is_below = column.above.name in usual.ANSWERS or bool(column.above.words & usual.ANSWER_WORDS)
    return "answer" in column.words or (is_below and column.name in usual.VALUES)


def _has_short_texts(column: ColumnValues) -> bool:
    """Return whether a column has one text in each row, and at least one of them is short."""
    is_plain = column.is_all(str) and not column.has_lists and not column.are_flags
    return is_plain and column.form != "ids" and any(form_of(i) == "" for i in column.items)


def _are_asked(column: ColumnValues) -> bool:
    """Return whether a column has at least two items, and all of them are questions."""
    return (
        len(column.items) > 1
        and column.is_all(str)
        and all(item.rstrip()[-1:] in ASKING for item in column.items)
    )
