"""Tables with one document a row: a query, a document, and perhaps whether it is relevant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files import usual_names as usual
from fullrecall.files.columns import asks, form_of
from fullrecall.files.objects import IDS
from fullrecall.files.paths import path_of, quoted
from fullrecall.files.plans import FIELDS, Doubt, Given, snake, words_of

_QUERIES = ("query_id", "qid", "topic_id", "topic", "question_id")
_DOCUMENTS = (
    *("corpus_id", "doc_id", "docid", "document_id", "passage_id", "chunk_id", "pid", "docno"),
    *("product_id", "item_id", "doc", "document", "chunk", "passage", "file", "url"),
)
_RELEVANCE = frozenset({"relevance", "relevant", "rel", "judgment", "judgement", "qrel"})
_GRADES = _RELEVANCE | {"score", "grade", "gain", "label", "rating"}
_OF_RUNS = frozenset({"rank", "tag", "run", "similarity", "distance"})
_FLAGS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_POSITIVE = ("relevant", "highly relevant", "exact", "positive", "perfect", "high", "e")
_MOST_LABELS = 10


class JudgmentTable(NamedTuple):
    """The columns of a table with one document a row.

    Without a `grade`, each document is relevant. `labels` are the values of a grade that is
    neither a number nor true or false.
    """

    query: str
    document: str
    grade: str | None
    labels: Sequence[str] = ()

    @classmethod
    def of(cls, rows: Sequence[object], given: Mapping[str, str]) -> JudgmentTable | None:
        """Return the columns of such a table; None for other rows, and for a run."""
        records = [row for row in rows if isinstance(row, Mapping)]
        if not records or len(records) < len(rows) or records[0].keys() <= FIELDS.keys():
            return None
        names = {snake(name): name for name in records[0] if isinstance(name, str)}
        query = next((names[name] for name in _QUERIES if name in names), None)
        has_id = query is not None
        query = query or next((name for each, name in names.items() if asks(each)), None)
        own = path_of(given[IDS]).column if IDS in given else None
        document = own or next((names[name] for name in _DOCUMENTS if name in names), None)
        if not query or not document or (IDS in given and not own) or _OF_RUNS & names.keys():
            return None
        cells = [(row.get(query), row.get(document)) for row in records]
        if not all(isinstance(cell, (str, int)) for pair in cells for cell in pair):
            return None
        if any(form_of(name) != "ids" for _, name in cells):
            return None
        repeats = len({asked for asked, _ in cells}) < len(cells)
        grades = [name for each, name in names.items() if _is_grade(each)]
        for name in grades:
            numbers = [_number(row.get(name)) for row in records]
            is_graded = all(n is not None and n == int(n) for n in numbers)
            if is_graded and (has_id or repeats or _RELEVANCE & {*words_of(name)}):
                return cls(query, document, name)
        for name in grades:
            labels = Counter(str(row.get(name)) for row in records)
            if repeats and 1 < len(labels) <= _MOST_LABELS and not any(map(_number, labels)):
                return cls(query, document, name, [*labels])
        is_named = own or {*words_of(document)} & usual.GOLD
        table = cls(query, document, None)
        return table if repeats and is_named and table._are_pairs(records) else None

    def _are_pairs(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether rows of one query differ in their document alone."""
        first: dict[Any, Mapping[str, Any]] = {}
        return all(
            {**row, self.document: None}
            == {**first.setdefault(row[self.query], row), self.document: None}
            for row in rows
        )

    def given(self, given: Given) -> Given:
        """Return the given parts of a plan with the columns of this table."""
        own = {IDS: quoted(self.document)}
        if snake(self.query) in _QUERIES:
            own["id"] = quoted(self.query)
        return given._replace(fields={**own, **given.fields})

    def doubt(self, rows: str | None) -> tuple[str, Doubt]:
        """Return the path of the rows with one of the labels, and the doubt about it."""
        positive = (each for each in self.labels if each.lower() in _POSITIVE)
        label = next(positive, self.labels[0])
        path = f"{(rows or '[]').removesuffix('[]')}[{quoted(str(self.grade))}={label}]"
        listed = ", ".join(self.labels)
        why = f"each row judges one document, and {self.grade} is one of {listed}: keep the rows"
        return path, Doubt("rows", f"{why} of relevant documents", (path,))

    def merged(self, rows: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield one row for each query, with its documents and the columns that are the same.

        Raises `InputError` for a row without a query, a document or a grade, and for a document
        with two grades.
        """
        queries: dict[Any, tuple[Any, dict[str, Any]]] = {}
        graded: dict[Any, dict[Any, float]] = {}
        for number, row in rows:
            query, document = row.get(self.query), row.get(self.document)
            amount = 1.0 if self.grade is None else _number(row.get(self.grade))
            line = number if isinstance(number, int) else None
            if query is None or document is None or amount is None:
                raise InputError(
                    f"expected a query, a document and a grade, got {shown(row)}", line=line
                )
            others = {name: value for name, value in row.items() if name != self.grade}
            _, merged = queries.setdefault(query, (number, others))
            for name in [name for name in merged if merged[name] != others.get(name)]:
                del merged[name]
            grades = graded.setdefault(query, {})
            if grades.setdefault(document, amount) != amount:
                raise InputError(f"query {query!r} judges {document!r} twice: keep one", line=line)
        for query, (number, merged) in queries.items():
            yield number, {**merged, self.document: graded[query]}


def _is_grade(name: str) -> bool:
    words = frozenset(words_of(name))
    return bool(words & _GRADES) and not words & (usual.OTHERS - _GRADES)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        value = _FLAGS.get(value.strip().lower(), value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None
