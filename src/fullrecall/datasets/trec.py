"""TREC's files: relevance judgements (qrels) and what a system retrieved (a run)."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from math import isfinite, isnan
from typing import Literal, get_args

from fullrecall.datasets.opening import FilePath, existing_file, text_lines
from fullrecall.errors import InputError, ParameterError
from fullrecall.identifiers import shown
from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample

RunOrder = Literal["rank", "score"]

_BEIR_HEADER = ["query-id", "corpus-id", "score"]
_QRELS_COLUMNS = 4
_RUN_COLUMNS = 6
_NO_RANK = ("", "-")


def read_trec(qrels: FilePath, run: FilePath, *, order: RunOrder = "rank") -> Iterator[Sample]:
    """Return one sample per query, in the order in which `qrels` first names them.

    A line of `qrels` is `query iteration document grade`, or tab-separated under BEIR's header
    `query-id corpus-id score`; grades of 0 and below are kept, and a scorer's `min_grade` leaves
    them out. A line of `run` is `query Q0 document rank score tag`. Both may be gzipped, and both
    come into memory as a whole, since their lines may be in any order.

    A query that the run lacks has a retrieval with an error, so it is unscored and counted. Queries
    that only the run has follow at the end with no reference IDs: undefined. (trec_eval leaves
    out both; its `-c` counts the former as 0.)

    `order="rank"` goes by the run's rank column; equal ranks keep the file's order, as does a
    query with a missing rank (`-`). trec_eval ignores that column: `order="score"` does what it
    does, the highest score first, in single precision, and of equal scores the document that
    sorts last. Raises `InputError` with the file and the line.
    """
    if order not in get_args(RunOrder):
        raise ParameterError(f"order is 'rank' or 'score', got {order!r}")
    return _samples(existing_file(qrels), existing_file(run), order)


def _samples(qrels: str, run: str, order: RunOrder) -> Iterator[Sample]:
    judged = _read_qrels(qrels)
    rankings = _read_run(run, order)
    for query, grades in judged.items():
        ranking = rankings.pop(query, None)
        if ranking is None:
            problem = f"query {query!r} is not in the run {run}"
            yield Sample(id=query, reference_context_ids=grades, retrieval=Retrieval(error=problem))
        else:
            retrieved = ranking.ordered(order)
            yield Sample(id=query, reference_context_ids=grades, retrieved_context_ids=retrieved)
    for query, ranking in rankings.items():
        retrieved = ranking.ordered(order)
        yield Sample(id=query, reference_context_ids=[], retrieved_context_ids=retrieved)


class _Ranking:
    """What a run holds for one query. Arrays, since a run has millions of lines."""

    __slots__ = ("documents", "keys", "unranked")

    def __init__(self, order: RunOrder) -> None:
        self.documents: list[str] = []
        # "f", single precision, is what trec_eval keeps scores in: it decides what is a tie.
        self.keys: array[float] = array("q" if order == "rank" else "f")
        self.unranked = False

    def ordered(self, order: RunOrder) -> list[str]:
        """Return the documents, best first."""
        documents, keys = self.documents, self.keys
        if order == "score":
            best = sorted(zip(keys, documents, strict=True), reverse=True)
            return [document for _, document in best]
        if self.unranked:
            return documents
        return [documents[n] for n in sorted(range(len(documents)), key=keys.__getitem__)]


def _read_qrels(path: str) -> dict[str, dict[str, float]]:
    judged: dict[str, dict[str, float]] = {}
    beir = False
    for line, text in _lines(path):
        fields = _split(text, len(_BEIR_HEADER) if beir else _QRELS_COLUMNS)
        if not judged and not beir and _is_beir_header(fields):
            beir = True
            continue
        try:
            query, document, grade = _judgement(fields, text, beir=beir)
            _judge(judged.setdefault(query, {}), query, document, grade)
        except InputError as error:
            raise error.at(path=path, line=line) from None
    if not judged:
        raise InputError("holds no judgements", path=path)
    return judged


def _read_run(path: str, order: RunOrder) -> dict[str, _Ranking]:
    rankings: dict[str, _Ranking] = {}
    for line, text in _lines(path):
        try:
            query, document, rank, score = _result(text)
            ranking = rankings.get(query)
            if ranking is None:
                ranking = rankings[query] = _Ranking(order)
            if order == "score":
                ranking.keys.append(_score(score))
            elif rank in _NO_RANK:
                ranking.unranked = True
                ranking.keys.append(0)
            else:
                ranking.keys.append(_rank(rank))
            ranking.documents.append(document)
        except InputError as error:
            raise error.at(path=path, line=line) from None
    if not rankings:
        raise InputError("holds no results", path=path)
    return rankings


def _lines(path: str) -> Iterator[tuple[int, str]]:
    try:
        for line, text in text_lines(path):
            if text.strip():
                yield line, text
    except InputError as error:
        raise error.at(path=path) from error.__cause__


def _split(text: str, columns: int) -> list[str]:
    fields = text.split()
    if len(fields) != columns and "\t" in text:
        return [field.strip() for field in text.rstrip("\r\n").split("\t")]
    return fields


def _is_beir_header(fields: list[str]) -> bool:
    return [field.lower().replace("_", "-") for field in fields] == _BEIR_HEADER


def _judgement(fields: list[str], text: str, *, beir: bool) -> tuple[str, str, float]:
    if len(fields) != (len(_BEIR_HEADER) if beir else _QRELS_COLUMNS):
        hint = ": this looks like a run, which comes second" if len(fields) == _RUN_COLUMNS else ""
        meant = "query document grade" if beir else "query iteration document grade"
        raise InputError(
            f"a line of qrels is `{meant}`, got {len(fields)} columns in "
            f"{shown(text.strip())}{hint}"
        )
    try:
        grade = float(fields[-1])
    except ValueError:
        grade = float("nan")
    if not isfinite(grade):
        raise InputError(f"a grade is a number, got {shown(fields[-1])}")
    return fields[0], sys.intern(fields[-2]), grade


def _judge(grades: dict[str, float], query: str, document: str, grade: float) -> None:
    before = grades.setdefault(document, grade)
    if before != grade:
        raise InputError(
            f"query {query!r} judges {document!r} twice: {before:g} before, {grade:g} here; keep "
            "one"
        )


def _result(text: str) -> tuple[str, str, str, str]:
    """Return the query, the document, the rank and the score of a line of a run."""
    fields = _split(text, _RUN_COLUMNS)
    if len(fields) != _RUN_COLUMNS:
        hint = ": this looks like qrels, which come first" if len(fields) == _QRELS_COLUMNS else ""
        raise InputError(
            f"a line of a run is `query Q0 document rank score tag`, got {len(fields)} columns in "
            f"{shown(text.strip())}{hint}"
        )
    query, _, document, rank, score, _ = fields
    # Interned: the same documents come back for query after query.
    return query, sys.intern(document), rank, score


def _rank(text: str) -> int:
    try:
        rank = int(text)
    except ValueError:
        rank = None
    if rank is None or abs(rank) >= 2**63:
        raise InputError(
            f"a rank is a whole number, or - where there is none, got {shown(text)} (the columns "
            "are `query Q0 document rank score tag`)"
        )
    return rank


def _score(text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if isnan(score):
        raise InputError(f"a score is a number, got {shown(text)}")
    return score
