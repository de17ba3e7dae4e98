"""Reasons to doubt a guessed plan: values that contradict it, or other columns that fit as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from fullrecall._util.naming import parameter
from fullrecall.files.cells import has_mark
from fullrecall.files.columns import ASKING, ColumnValues, are_numbered, is_number
from fullrecall.files.judgments import POSITIVE
from fullrecall.files.objects import IDS, TEXTS
from fullrecall.files.partial_plan import HEAD, PartialPlan
from fullrecall.files.paths import path_of, taken_by
from fullrecall.files.plans import FIELDS, Doubt
from fullrecall.files.usual_names import roles_of, usual

_FEWEST_ROWS = 4
"""The fewest rows in which repeated values of a column are evidence."""

_MOST_LABELS = 10
_IRRELEVANT = re.compile(
    r"(not|non|nicht|no|un|ir)[ _-]?(relevant|pertinent|related|match)\w*|negative|wrong|falsch"
)
"""A label of a document that is not a reference."""

_GRADES = frozenset({"relevance", "relevant", "judgment", "judgement", "gold", "positive", "grade"})
_EXPECTED = usual.GOLD - {"cite", "cited", "citation", "answer", "reference", "support"}
_GENERATED = frozenset({"bot", "llm", "model", "assistant", "generated", "prediction", "pred"})
_MEASURED = frozenset(
    {"cost", "distance", "label", "latency", "rank", "score", "similarity", "token"}
)
"""Words for numbers that a run adds to the documents it retrieved."""
_CHOICES = frozenset({"choice", "option", "candidate"})
_RETRIEVED = ("retrieved_context_ids", "retrieved_contexts")


def objections(guess: PartialPlan) -> Iterator[Doubt]:
    """Yield the doubts about the fields that were guessed, not given by the user."""
    fields = _GuessedFields(guess)
    for rule in (
        fields.other_question,
        fields.letters,
        fields.labels,
        fields.unread,
        fields.of_an_answer,
        fields.repeated_questions,
        fields.rows_of_the_file,
        fields.parallel,
        fields.of_one_length,
        fields.rivals,
        fields.short_texts,
        fields.categories,
        fields.two_retrievals,
    ):
        yield from rule()


class _GuessedFields:
    """The guessed fields, and the columns that may contradict them.

    - `fields`: the paths of the fields that were guessed, not given by the user.
    - `proposed`: the same paths, and the path of each doubted field that has only one path.
    - `leaves`: the columns that no field uses.
    """

    def __init__(self, guess: PartialPlan) -> None:
        self.rows, self.given, self.at = guess.rows[:HEAD], guess.given, guess.at
        settled = {*guess.given.fields, *guess.given.unguessed}
        self.fields = {f: path for f, path in guess.fields.items() if f not in settled}
        doubted = {each.field: each.paths[0] for each in guess.doubts if len(each.paths) == 1}
        self.doubted = {each.field for each in guess.doubts}
        self.proposed = {**doubted, **self.fields}
        self.all_columns = [*guess.top, *guess.parts]
        self.above = guess.above
        taken = taken_by(guess.fields) | taken_by(doubted)
        paths = (*guess.fields.values(), *doubted.values())
        columns = [each for name, each in guess.columns.items() if name not in taken]
        columns += [each for each in guess.parts if not any(_is_at(p, each.path) for p in paths)]
        self.leaves = [*_leaves(columns)]
        self.question = guess.fields.get("user_input")

    def column(self, path: str) -> ColumnValues | None:
        """Return the column at a path, else the innermost column that contains it, or None."""
        tops = path_of(path).columns
        around = [each for each in self.all_columns if _is_at(path, each.path)]
        around = around or [each for each in self.all_columns if each.path in tops]
        return max(around, key=lambda each: (len(each.path), each.is_gold), default=None)

    def chosen(
        self, fields: Sequence[str] = (IDS, TEXTS), *, with_proposals: bool = False
    ) -> Iterator[tuple[str, str, ColumnValues]]:
        """Yield each of `fields` that was guessed, with its path and its column.

        With `with_proposals`, also yield each field that is in doubt but has only one possible
        path.
        """
        paths = self.proposed if with_proposals else self.fields
        for field in fields:
            path = paths.get(field)
            if path is not None and (column := self.column(path)) is not None:
                yield field, path, column

    def differ(self, path: str, other: str) -> bool:
        """Return whether any row has values at both paths, and these differ."""
        return any(a and b and a != b for a, b in zip(self.at(path), self.at(other), strict=True))

    def ungraded(self) -> Iterator[tuple[str, str, ColumnValues]]:
        """Yield the reference fields whose path, guessed or proposed, has no flag and no grade."""
        for field, path, column in self.chosen(with_proposals=True):
            if not re.search(r"grade: |\[\w", path):
                yield field, path, column

    def other_question(self) -> Iterator[Doubt]:
        """Doubt a question without question marks if another column has them.

        Also doubt a question that is the same in all rows if the texts of another column vary.
        """
        path = self.fields.get("user_input")
        if path is None:
            return
        own = [*chain.from_iterable(self.at(path))]
        asking = [
            each.path
            for each in self.leaves
            if each.is_all(str) and len(each.items) > 1 and _asks(each.items) > _MOST
        ]
        if asking and _asks(own) < _FEW:
            yield Doubt("user_input", f"{asking[0]} asks, and {path} does not", (asking[0], path))
        elif len(self.rows) >= _FEWEST_ROWS and len(set(own)) == 1:
            others = [each.path for each in self.leaves if each.form == "texts" and _vary(each)]
            if others:
                yield Doubt("user_input", f"{path} is the same in all rows, {others[0]} is not")

    def letters(self) -> Iterator[Doubt]:
        """Doubt an answer that is only the letter or the number of a choice."""
        path = self.fields.get("reference")
        if path is None:
            return
        own = self.at(path)
        names = {each.path.rpartition(".")[2] for each in self.all_columns}
        flat = [*chain.from_iterable(own)]
        are_letters = bool(flat) and all(re.fullmatch("[A-Za-z]", each) for each in flat)
        lists = [each for each in self.leaves if each.has_lists and each.words & _CHOICES]
        are_numbers = bool(flat) and bool(lists) and all(map(is_number, flat))
        if are_numbers or (are_letters and (lists or len(set(flat)) > 1 or names >= set(flat))):
            yield Doubt("reference", f"{path} is the letter or number of a choice, not its text")

    def labels(self) -> Iterator[Doubt]:
        """Doubt the references if a label or a flag may mark some of them as not relevant."""
        known = {*self.fields, *self.given.fields, *self.given.unguessed, *self.doubted}
        named = [each for each in self.leaves if each.words & _GRADES and each.form != "texts"]
        graded = [each.path for each in named if len(set(map(str, each.items))) > 1]
        if graded and not known & {IDS, TEXTS}:
            yield Doubt(IDS, f"{graded[0]} may say which documents are relevant")
        for field, path, column in self.ungraded():
            inside = column.parts() if column.is_all(Mapping) and not column.is_by_id else []
            beside = [*_leaves(each for each in inside if not _is_at(path, each.path))]
            for each in [*beside, *([] if self.given.rows else self.leaves)]:
                labels = set(map(str, each.items)) if each.is_all((str, int, float)) else set()
                if not 1 < len(labels) <= _MOST_LABELS:
                    continue
                is_named = bool(roles_of(each.name) & _GRADES) and not column.is_gold
                is_label = (
                    (each in beside and each.are_flags)
                    or (is_named and each.form != "texts")
                    or any(_IRRELEVANT.fullmatch(label.strip().lower()) for label in labels)
                )
                if is_label:
                    why = f"{each.path} may say which of {path} are relevant"
                    if each.above is None and not each.has_lists:
                        why += f": {parameter('rows', _kept(each))} keeps the rows of these"
                    yield Doubt(field, why)
                    break

    def unread(self) -> Iterator[Doubt]:
        """Doubt references if only an unused column is named like references."""
        gold = [
            each.path
            for each in self.leaves
            if each.items and each.words & (usual.GOLD - {"answer"}) and not each.are_flags
        ]
        for field, path, column in self.chosen():
            if gold and not column.is_gold and "reference_claims" not in self.fields:
                yield Doubt(field, f"{gold[0]} may say which of {path} are meant")

    def of_an_answer(self) -> Iterator[Doubt]:
        """Doubt reference IDs beside a generated answer: they may be the answer's sources.

        A column of numbers that a run adds, such as scores, counts as a sign of a generated answer.
        """
        named = [
            each.path
            for each in self.all_columns
            if each.path not in self.above
            if each.words & _GENERATED
            or (each.words & _MEASURED and each.are_numbers and each.above is None)
        ]
        response = self.fields.get("response", next(iter(named), None))
        for field, path, column in self.chosen([IDS]):
            if response is not None and column.name not in FIELDS and not column.words & _EXPECTED:
                why = f"{path} may be the sources of {response}, or those that it should have"
                yield Doubt(field, why, (path,))

    def repeated_questions(self) -> Iterator[Doubt]:
        """Doubt the references if many questions are in several rows, with different references.

        Rows that each have a retrieval are separate samples, so they raise no doubt.
        """
        if self.question is None or not self.fields.keys().isdisjoint(_RETRIEVED):
            return
        asked = [" ".join(each) for each in self.at(self.question)]
        repeated = len(asked) - len(set(asked))
        for field, path, _ in self.chosen(with_proposals=True):
            own = list(map(tuple, self.at(path)))
            differ = len(set(zip(asked, own, strict=True))) - len(set(asked))
            if repeated > _FEW * len(asked) and differ:
                number = f"{len(asked)} rows have {len(set(asked))} questions"
                yield Doubt(field, f"{number}: with {path}, each row would be a sample")

    def rows_of_the_file(self) -> Iterator[Doubt]:
        """Doubt reference IDs that are the IDs of the file's own rows."""
        ids = [each for each in self.all_columns if each.name in usual.IDS]
        for field, path, column in self.chosen([IDS]):
            own = set(chain.from_iterable(self.at(path)))
            for each in ids:
                shared = len(own & set(map(str, each.items)))
                is_named = column.is_gold and column.words & usual.DOCUMENTS
                if each.path != path and not is_named and shared > 1 and shared > len(own) / 2:
                    yield Doubt(field, f"{path} has the IDs of rows, which {each.path} has")

    def parallel(self) -> Iterator[Doubt]:
        """Doubt a list beside an equally long list of numbers or flags, which may be its grades."""
        for field, path, column in self.ungraded():
            sizes = [len(each) for each in self.at(path)]
            if max(sizes, default=0) < 2:  # noqa: PLR2004 - one item is not a list
                continue
            for each in self.leaves:
                is_graded = each.are_numbers or each.are_flags
                is_place = each.words & (usual.PLACES | usual.OFFSETS) or not each.has_lists
                if not is_graded or is_place or list(map(len, self.at(each.path))) != sizes:
                    continue
                values = {str(item).lower() for item in each.items}
                if values & {"0", "0.0", "false", "no"} or not column.is_gold:
                    yield Doubt(field, f"{each.path} may say which of {path} are relevant")
                    break

    def of_one_length(self) -> Iterator[Doubt]:
        """Doubt lists of IDs that all have the same length, as retrieved lists do.

        Lists that are named like references are not doubted.
        """
        for field, path, column in self.chosen([IDS]):
            sizes = {len(each) for each in self.at(path)}
            is_open = not column.is_gold and column.is_all((str, int))
            are_many = len(self.rows) >= _FEWEST_ROWS or max(sizes) > 2  # noqa: PLR2004 - a pair
            if is_open and are_many and len(sizes) == 1 < max(sizes):
                why = f"{path} has {max(sizes)} in each row, as a retrieved list has"
                yield Doubt(field, why, (path,))

    def rivals(self) -> Iterator[Doubt]:
        """Doubt reference IDs if an unused column has the same kind of IDs, but other values."""
        for field, path, column in self.chosen([IDS]):
            by_row = list(map(set, self.at(path)))
            own = set().union(*by_row)
            alike = {
                each.path: list(map(set, self.at(each.path)))
                for each in self.leaves
                if each.form == "ids" and not each.are_numbers and each.name not in usual.IDS
                if not each.words & usual.OTHERS and each.is_gold >= column.is_gold
            }
            parts = [name for name, sets in alike.items() if all(map(set.issubset, sets, by_row))]
            # If several columns together have the column's IDs in each row, they are its parts, not
            # its rivals: `link_1` and `link_2` are parts of `links`.
            if [set().union(*sets) for sets in zip(*map(alike.get, parts), strict=True)] == by_row:
                alike = {name: alike[name] for name in alike if name not in parts}
            rivals = [
                name
                for name, sets in alike.items()
                if _is_same_series(own, set().union(*sets)) and self.differ(path, name)
            ]
            if rivals:
                why = f"{' or '.join([path, *rivals])} may be the references"
                yield Doubt(field, why, (path, *rivals))

    def short_texts(self) -> Iterator[Doubt]:
        """Doubt reference texts if only an unused column of texts is named like documents."""
        named = usual.DOCUMENTS | usual.TEXT_WORDS
        passages = [
            each.path
            for each in self.leaves
            if each.form == "texts" and each.words & named and not each.words & usual.OTHERS
        ]
        for field, path, column in self.chosen([TEXTS]):
            if passages and not column.words & named:
                why = f"{path} may be answers, and {passages[0]} the references"
                yield Doubt(field, why, (path, passages[0]))

    def categories(self) -> Iterator[Doubt]:
        """Doubt reference IDs with few distinct values, since they may be categories.

        Few means: at most half as many values as rows. Two signs speak against
        categories: the IDs look like files or URLs, or the column is named like reference
        documents. With one sign, only a single value counts as few. With both signs, or with one
        sign in a column of lists or objects, there is no doubt.
        """
        known = usual.GOLD | usual.NOUNS | usual.DOCUMENTS
        for field, path, column in self.chosen([IDS], with_proposals=True):
            asked = self.at(self.question or path)
            rows = {*zip(map(tuple, asked), map(tuple, self.at(path)), strict=True)}
            own = {ids for _, ids in rows}
            is_named = column.is_gold and (column.words & usual.DOCUMENTS or column.words <= known)
            are_marked = all(map(has_mark, chain.from_iterable(own)))
            is_list = column.has_lists or column.is_all(Mapping)
            most = 1 if is_named or are_marked else len(rows) / 2
            is_few = len(own) <= most and sum(map(bool, (is_named, are_marked, is_list))) < 2  # noqa: PLR2004
            if len(rows) >= _FEWEST_ROWS and is_few and path not in self.above:
                why = f"{path} has only {len(own)} values in {len(rows)} rows"
                yield Doubt(field, f"{why}: the references, or a category")

    def two_retrievals(self) -> Iterator[Doubt]:
        """Doubt the retrieved contexts if another column may hold retrieved contexts too."""
        retrieved = [
            each
            for each in self.leaves
            if each.words & {"retrieved", "hit"} and not each.are_numbers and not each.is_gold
        ]
        for field, path, column in self.chosen(_RETRIEVED):
            alike = [each.path for each in retrieved if each.form == column.form]
            others = [each for each in alike if self.differ(path, each)]
            if others:
                yield Doubt(field, f"{' or '.join([path, *others])} may be it", (path, *others))


_FEW, _MOST = 0.2, 0.8
"""The shares below which items or rows count as few, and above which they count as most."""


def _asks(items: Sequence[Any]) -> float:
    """Return the share of items that end in a question mark."""
    return sum(str(item).rstrip()[-1:] in ASKING for item in items) / max(1, len(items))


def _kept(column: ColumnValues) -> str:
    """Return the path of the rows that a column marks as relevant, by a flag or a likely label."""
    if column.are_flags or column.are_numbers:
        return f"[{column.path}]"
    items = (item for item in column.items if str(item).lower() in POSITIVE)
    return f"[{column.path}={next(items, column.items[0])}]"


def _is_at(path: str, column: str) -> bool:
    """Return whether a path leads to the column with the path `column`, or into it."""
    return path == column or path.startswith((f"{column}.", f"{column}["))


def _vary(column: ColumnValues) -> bool:
    """Return whether most values of a column are distinct."""
    return len(set(map(str, column.items))) > len(column.items) / 2


def _leaves(columns: Iterable[ColumnValues], deepest: int = 4) -> Iterator[ColumnValues]:
    """Yield the columns; in place of a column of objects, yield the columns of its keys."""
    for column in columns:
        if column.is_all(Mapping) and deepest:
            yield from _leaves(column.parts(), deepest - 1)
        else:
            yield column


def _is_same_series(own: set[str], other: set[str]) -> bool:
    """Return whether two sets have the same kind of IDs.

    This is so if `own` has at least half, and at least two, of the IDs in `other`, or if the IDs of
    both sets are numbered in one series.
    """
    shared = len(own & other)
    is_shared = shared > 1 and shared >= len(other) / 2
    return is_shared or (len(other) > 1 and are_numbered([*own, *other]))
