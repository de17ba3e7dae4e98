"""Tables with one relevance judgment a row: a query, a document and a grade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fullrecall._util.values import shown
from fullrecall.errors import InputError

_QUERIES = ("query_id", "qid", "topic_id", "topic", "question_id")
_DOCUMENTS = ("corpus_id", "doc_id", "docid", "document_id", "passage_id", "pid", "docno")
_GRADES = ("score", "relevance", "rel", "grade", "gain", "label", "judgment", "relevance_label")
_OF_RUNS = frozenset({"rank", "tag", "run", "similarity", "distance"})


class JudgmentTable(NamedTuple):
    """The columns of a table of judgments."""

    query: str
    document: str
    grade: str

    @classmethod
    def of(cls, rows: Iterable[object]) -> JudgmentTable | None:
        """Return the columns of judgments that rows have; None for other rows, and for a run."""
        first: Any = next(iter(rows), None)
        if not isinstance(first, Mapping):
            return None
        names = {
            str(name).strip().lower().replace("-", "_").replace(" ", "_"): name for name in first
        }
        found = [
            next((names[name] for name in choices if name in names), None)
            for choices in (_QUERIES, _DOCUMENTS, _GRADES)
        ]
        if None in found or _OF_RUNS & names.keys():
            return None
        columns = cls(*map(str, found))
        grades = [_number(row.get(columns.grade)) for row in rows if isinstance(row, Mapping)]
        is_graded = all(grade is not None and grade == int(grade) for grade in grades)
        return columns if is_graded else None

    def merged(self, rows: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield one row for each query, with the grades of its documents.

        Raises `InputError` for a row without a query, a document or a grade, and for a document
        with two grades.
        """
        queries: dict[Any, tuple[Any, dict[str, Any]]] = {}
        for number, row in rows:
            query, document, grade = (row.get(name) for name in self)
            amount = _number(grade)
            line = number if isinstance(number, int) else None
            if query is None or document is None or amount is None:
                raise InputError(
                    f"expected a query, a document and a grade, got {shown(row)}", line=line
                )
            others = {name: value for name, value in row.items() if name not in self}
            _, merged = queries.setdefault(
                query, (number, {**others, "id": query, "expected_ids": {}})
            )
            if merged["expected_ids"].setdefault(document, amount) != amount:
                raise InputError(f"query {query!r} judges {document!r} twice: keep one", line=line)
        yield from queries.values()


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None
