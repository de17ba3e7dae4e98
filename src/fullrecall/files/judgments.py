"""Tables with one document in each row: a query, a document, and perhaps its relevance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fullrecall._util.naming import parameter
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.columns import asks, form_of, looks_gold
from fullrecall.files.objects import IDS
from fullrecall.files.paths import path_of, quoted
from fullrecall.files.plans import FIELDS, Doubt, Given
from fullrecall.files.usual_names import roles_of, snake, usual

_QUERIES = ("query_id", "qid", "topic_id", "topic", "question_id")
_DOCUMENTS = (
    *("corpus_id", "doc_id", "docid", "document_id", "passage_id", "chunk_id", "pid", "docno"),
    *("product_id", "sku", "item_id", "doc", "document", "chunk", "passage", "file", "url"),
)
_RELEVANCE = frozenset({"relevance", "relevant", "rel", "judgment", "judgement", "qrel"})
_GRADES = _RELEVANCE | {"score", "grade", "gain", "label", "rating"}
_OF_RUNS = frozenset({"rank", "tag", "run", "similarity", "distance"})
_FLAGS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
POSITIVE = ("relevant", "highly relevant", "exact", "positive", "perfect", "high", "e")
"""Labels of relevant documents."""

_MOST_LABELS = 10
_SCALARS = (str, int, float)


class JudgmentTable(NamedTuple):
    """The columns of a table of relevance judgments, which has one document in each row.

    Without a `grade`, each document is relevant. `labels` are the distinct values of a grade that
    is neither a number nor a boolean.
    """

    query: str
    document: str
    grade: str | None
    labels: Sequence[str] = ()

    @classmethod
    def of(cls, rows: Sequence[object], given: Given) -> JudgmentTable | None:
        """Return the columns of a table of judgments; None for any other rows, such as a run's.

        Raises `InputError` if two columns that are named like relevance have different values.
        """
        records = [row for row in rows if isinstance(row, Mapping)]
        if not records or len(records) < len(rows) or records[0].keys() <= FIELDS.keys():
            return None
        names = {snake(name): name for name in records[0] if isinstance(name, str)}
        query = _named(names, _QUERIES) or next((names[each] for each in names if asks(each)), None)
        own = path_of(given.fields[IDS]).column if IDS in given.fields else _document(names)
        if not query or not own or _OF_RUNS & names.keys() or not _are_scalar(records, query, own):
            return None
        table = cls(query, own, None)
        repeats = len({row[query] for row in records}) < len(records)
        grades = [name for each, name in names.items() if _is_grade(each)]
        grades = [name for name in grades if name not in (query, own, *given.left_out)]
        rated = [name for name in grades if _RELEVANCE & roles_of(name)]
        if any(row.get(name) != row.get(rated[0]) for row in records for name in rated):
            way = parameter("rename", {rated[0]: None})
            raise InputError(f"{' and '.join(rated)} may all be the grade: leave one out, {way}")
        for grade in grades:
            values = [row.get(grade) for row in records]
            numbers = list(map(_number, values))
            labels = [*Counter(map(str, values))]
            is_sure = repeats or snake(query) in _QUERIES or _RELEVANCE & roles_of(grade)
            if is_sure and all(n is not None and n == int(n) for n in numbers):
                return table._replace(grade=grade)
            if repeats and 1 < len(labels) <= _MOST_LABELS and numbers == [None] * len(numbers):
                return table._replace(grade=grade, labels=labels)
        is_named = IDS in given.fields or roles_of(own) & usual.GOLD
        return table if repeats and is_named and table._are_pairs(records) else None

    def _are_pairs(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether rows with the same query differ only in their document."""
        first: dict[Any, Mapping[str, Any]] = {}
        varied = [_varied(first.setdefault(row[self.query], row), row) for row in rows]
        return all(names <= {self.document} for names in varied)

    def given(self, given: Given) -> Given:
        """Return `given` with the paths of the documents and of a query ID, if it lacks them."""
        own = {IDS: quoted(self.document)}
        if snake(self.query) in _QUERIES:
            own["id"] = quoted(self.query)
        return given._replace(fields={**own, **given.fields})

    def doubt(self, rows: str | None) -> tuple[str, Doubt]:
        """Return the path of the rows with one label, and a doubt that proposes this path.

        The label is the first one that usually means "relevant", or else the first label. The user
        must decide whether the label means "relevant" in these rows.
        """
        positive = (each for each in self.labels if each.lower() in POSITIVE)
        label = next(positive, self.labels[0])
        path = f"{(rows or '[]').removesuffix('[]')}[{quoted(str(self.grade))}={label}]"
        listed = ", ".join(self.labels)
        why = f"each row judges one document, and {self.grade} is one of {listed}: keep the rows"
        return path, Doubt("rows", f"{why} of relevant documents", (path,))

    def merged(self, rows: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield one row for each query: its graded documents, and the columns that do not vary.

        The row of a query gets the number of the first row that names this query.

        Raises `InputError` for a row without a query, a document or a grade, and for a document
        with two grades.
        """
        queries: dict[Any, tuple[Any, dict[str, Any]]] = {}
        graded: dict[Any, dict[Any, float]] = {}
        for number, each in rows:
            row = each if isinstance(each, Mapping) else {}
            query, document = row.get(self.query), row.get(self.document)
            amount = 1.0 if self.grade is None else _number(row.get(self.grade))
            line = number if isinstance(number, int) else None
            is_read = isinstance(query, _SCALARS) and isinstance(document, _SCALARS)
            if not is_read or amount is None:
                raise InputError(
                    f"expected a query, a document and a grade, got {shown(each)}", line=line
                )
            others = {name: value for name, value in row.items() if name != self.grade}
            _, merged = queries.setdefault(query, (number, others))
            for name in _varied(merged, others):
                if not asks(name):
                    del merged[name]
            grades = graded.setdefault(query, {})
            if grades.setdefault(document, amount) != amount:
                raise InputError(f"query {query!r} judges {document!r} twice: keep one", line=line)
        for query, (number, merged) in queries.items():
            yield number, {**merged, self.document: graded[query]}


def _named(names: Mapping[str, str], choices: Sequence[str]) -> str | None:
    return next((names[name] for name in choices if name in names), None)


def _document(names: Mapping[str, str]) -> str | None:
    """Return the column named like documents, else one named like relevant documents, or None."""
    nouns = usual.NOUNS | usual.DOCUMENTS
    relevant = (names[name] for name in names if looks_gold(name) and roles_of(name) & nouns)
    return _named(names, _DOCUMENTS) or next(relevant, None)


def _are_scalar(rows: Sequence[Mapping[str, Any]], query: str, document: str) -> bool:
    """Return whether each row has a query, and the ID (not the text) of a document."""
    cells = [row.get(name) for row in rows for name in (query, document)]
    return all(isinstance(cell, (str, int)) for cell in cells) and all(
        form_of(row[document]) == "ids" for row in rows
    )


def _varied(row: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """Return the columns whose values differ in two rows or, like arrays, cannot be compared."""

    def differs(name: str) -> bool:
        try:
            return bool(row[name] != other.get(name))
        except ValueError:
            return True

    return set(filter(differs, row))


def _is_grade(name: str) -> bool:
    words = roles_of(name)
    return bool(words & _GRADES) and not words & (usual.OTHERS - _GRADES)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        value = _FLAGS.get(value.strip().lower(), value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None
