"""Relevance judgments (qrels) and what a system retrieved (a run): TREC's files, or dicts."""

from __future__ import annotations

import sys
import warnings
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from math import isfinite, isnan
from typing import Any, Literal, TypeVar, get_args

from fullrecall.context import as_number
from fullrecall.errors import InputError, ParameterError
from fullrecall.identifiers import as_id, shown
from fullrecall.read.text_files import FilePath, existing_file, text_lines
from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample

RunOrder = Literal["rank", "score"]
Ties = Literal["given", "trec_eval"]

_BEIR_HEADER = ["query-id", "corpus-id", "score"]
_QRELS_COLUMNS = 4
_RUN_COLUMNS = 6
_FEWEST = 2  # documents that have an order


def read_trec(qrels: FilePath, run: FilePath, *, order: RunOrder = "score") -> Iterator[Sample]:
    """Return one sample per query, in the order in which `qrels` first names them.

    A line of `qrels` is `query iteration document grade`, or tab-separated under BEIR's header
    `query-id corpus-id score`; grades of 0 and below are kept, and a scorer's `min_grade` leaves
    them out. A line of `run` is `query Q0 document rank score tag`. Both may be gzipped, and both
    come into memory as a whole, since their lines may be in any order.

    A query that the run lacks has a retrieval with an error, so it is unscored and counted. Queries
    that only the run has follow at the end with no reference IDs: undefined. (trec_eval leaves
    out both; its `-c` counts the former as 0.)

    `order="score"` does what trec_eval does: the highest score first, in single precision, and of
    equal scores the document that sorts last; the rank column is ignored. A `UserWarning` counts
    the queries whose ranks say otherwise. `order="rank"` goes by the rank column; it needs a rank
    on every line, and equal ranks keep the file's order.

    Raises `InputError` for a line that is none, a document judged twice with different grades, an
    empty file, and with `order="rank"` for a query whose ranks are all equal; `ParameterError`
    for another `order`.
    """
    if order not in get_args(RunOrder):
        raise ParameterError(f"order must be 'score' or 'rank', got {order!r}")
    return _from_files(existing_file(qrels), existing_file(run), order)


def from_qrels_run(qrels: object, run: object, *, ties: Ties = "given") -> Iterator[Sample]:
    """Return one sample per query of `qrels`, in its order.

    `qrels` is `{query: {document: grade}}` and `run` `{query: {document: score}}`, as ranx,
    pytrec_eval and ir_measures take them, or an object whose `to_dict()` gives that, such as
    ranx's `Qrels` and `Run`. The highest score comes first. Of equal scores, `ties="given"` takes
    them in the dict's order, as ranx does, and "trec_eval" the document that sorts last, with
    scores in single precision, as trec_eval and its bindings do.

    As with `read_trec`, grades of 0 and below are kept, and a scorer's `min_grade` leaves them
    out; a query that the run lacks is unscored and counted; queries that only the run has follow
    at the end, undefined. Raises `InputError`, naming the query, for what is no grade, score or
    ID, and `ParameterError` for another value of `ties`.
    """
    if ties not in get_args(Ties):
        raise ParameterError(f'ties must be "given" or "trec_eval", got {ties!r}')
    by_query, scores_of = _queries(qrels, "qrels"), _queries(run, "run")
    return _joined(by_query, scores_of, lambda scores: _ranked(scores, ties), "run")


def _from_files(qrels: str, run: str, order: RunOrder) -> Iterator[Sample]:
    judged = judgments(qrels)
    rankings = _read_run(run, order)
    _check_ranks(rankings, run, order)
    yield from _joined(judged, rankings, lambda ranking: ranking.ordered(order), f"run {run}")


_Retrieved = TypeVar("_Retrieved")


def _joined(
    judged: Mapping[str, Any],
    retrieved: dict[str, _Retrieved],
    ranked: Callable[[_Retrieved], list[str]],
    run: str,
) -> Iterator[Sample]:
    """Yield the sample of each judged query, then of those that only the run has."""
    for query in [*judged, *(query for query in retrieved if query not in judged)]:
        ranking: dict[str, Any] = {
            "retrieval": Retrieval(error=f"query {query!r} is not in the {run}")
        }
        if query in retrieved:
            try:
                ranking = {"retrieved_context_ids": ranked(retrieved.pop(query))}
            except ValueError as error:
                raise InputError(f"run: query {query!r}: {error}", field="run") from None
        try:
            sample = Sample(id=query, reference_context_ids=judged.get(query, []), **ranking)
        except InputError as error:
            raise InputError(f"qrels: query {query!r}: {error.problem}", field="qrels") from None
        yield sample


def _check_ranks(rankings: dict[str, _Ranking], run: str, order: RunOrder) -> None:
    """Refuse ranks that order nothing; warn where the other column says otherwise."""
    if order == "rank":
        constant = next((query for query, ranking in rankings.items() if ranking.is_constant), None)
        if constant is not None:
            raise InputError(
                f"query {constant!r} has rank {rankings[constant].ranks[0]} on all of its "
                f"{len(rankings[constant].documents)} lines, so the ranks order nothing: pass "
                "order='score'",
                path=run,
            )
    differing = [query for query, ranking in rankings.items() if ranking.disagrees]
    if differing:
        other = "rank" if order == "score" else "score"
        warnings.warn(
            f"{run}: rank and score disagree in {len(differing):,} of {len(rankings):,} queries "
            f"(first: {shown(differing[0])}); ordered by {order}, change it with order='{other}'",
            UserWarning,
            stacklevel=2,
        )


class _Ranking:
    """What a run holds for one query. Arrays, since a run has millions of lines."""

    __slots__ = ("documents", "has_ranks", "has_scores", "ranks", "scores")

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.ranks: array[int] = array("q")
        # "f", single precision, is what trec_eval keeps scores in: it decides what is a tie.
        self.scores: array[float] = array("f")
        self.has_ranks = True
        self.has_scores = True

    def add(self, document: str, rank: str, score: str, order: RunOrder) -> None:
        """Add a line; `InputError` where the column that orders is no number."""
        self.documents.append(document)
        try:
            self.ranks.append(_rank(rank))
        except InputError:
            if order == "rank":
                raise
            self.ranks.append(0)
            self.has_ranks = False
        try:
            self.scores.append(_score(score))
        except InputError:
            if order == "score":
                raise
            self.scores.append(0.0)
            self.has_scores = False

    def ordered(self, order: RunOrder) -> list[str]:
        """Return the documents, best first."""
        documents = self.documents
        if order == "score":
            return _by_score(self.scores, documents)
        return [documents[n] for n in sorted(range(len(documents)), key=self.ranks.__getitem__)]

    @property
    def is_constant(self) -> bool:
        """Whether several lines have one rank."""
        return len(self.ranks) >= _FEWEST and min(self.ranks) == max(self.ranks)

    @property
    def disagrees(self) -> bool:
        """Whether ranks and scores both order the documents, and not alike.

        Ties in part are no disagreement; scores that are all equal, where ranks differ, are.
        """
        if (
            not (self.has_ranks and self.has_scores)
            or len(self.ranks) < _FEWEST
            or self.is_constant
        ):
            return False
        if min(self.scores) == max(self.scores):
            return True
        in_order = sorted(range(len(self.ranks)), key=self.ranks.__getitem__)
        return any(
            self.scores[worse] > self.scores[better]
            for better, worse in pairwise(in_order)
            if self.ranks[better] < self.ranks[worse]
        )


def judgments(path: str) -> dict[str, dict[str, float]]:
    """Return the grade of each document that a file judges, by query."""
    judged: dict[str, dict[str, float]] = {}
    beir = False
    with closing(_lines(path)) as lines:
        for line, text in lines:
            fields = _split(text, len(_BEIR_HEADER) if beir else _QRELS_COLUMNS)
            if not judged and not beir and _is_beir_header(fields):
                beir = True
                continue
            try:
                query, document, grade = _judgment(fields, text, beir=beir)
                _judge(judged.setdefault(query, {}), query, document, grade)
            except InputError as error:
                raise error.at(path=path, line=line) from None
    if not judged:
        raise InputError("holds no judgments", path=path)
    return judged


def _read_run(path: str, order: RunOrder) -> dict[str, _Ranking]:
    rankings: dict[str, _Ranking] = {}
    with closing(_lines(path)) as lines:
        for line, text in lines:
            try:
                query, document, rank, score = _result(text)
                ranking = rankings.get(query)
                if ranking is None:
                    ranking = rankings[query] = _Ranking()
                ranking.add(document, rank, score, order)
            except InputError as error:
                raise error.at(path=path, line=line) from None
    if not rankings:
        raise InputError("holds no results", path=path)
    return rankings


def _lines(path: str) -> Generator[tuple[int, str], None, None]:
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


def _judgment(fields: list[str], text: str, *, beir: bool) -> tuple[str, str, float]:
    if len(fields) != (len(_BEIR_HEADER) if beir else _QRELS_COLUMNS):
        hint = ": this looks like a run, which comes second" if len(fields) == _RUN_COLUMNS else ""
        meant = "query document grade" if beir else "query iteration document grade"
        raise InputError(
            f"expected a line `{meant}`, got {len(fields)} columns in {shown(text.strip())}{hint}"
        )
    try:
        grade = float(fields[-1])
    except ValueError:
        grade = float("nan")
    if not isfinite(grade):
        raise InputError(f"a grade must be a number, got {shown(fields[-1])}")
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
            f"expected a line `query Q0 document rank score tag`, got {len(fields)} columns in "
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
            f"a rank must be a whole number, got {shown(text)} (the columns are `query Q0 document "
            "rank score tag`); without ranks, pass order='score'"
        )
    return rank


def _score(text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if isnan(score):
        raise InputError(f"a score must be a number, got {shown(text)}")
    return score


def _queries(queries_like: object, name: str) -> dict[str, Mapping[Any, Any]]:
    """Return the documents of each query; raise `InputError` where there are none."""
    dump = getattr(queries_like, "to_dict", None)
    queries = dump() if callable(dump) else queries_like
    if not isinstance(queries, Mapping):
        raise InputError(
            f"{name} must be {{query: {{document: number}}}}, got {type(queries_like).__name__} "
            f"{shown(queries_like)}: read_trec reads the files of trec_eval",
            field=name,
        )
    if not queries:
        raise InputError(f"{name} holds no queries", field=name)
    by_id: dict[str, Mapping[Any, Any]] = {}
    for query, documents in queries.items():
        if not isinstance(documents, Mapping):
            raise InputError(
                f"{name}: query {query!r} must have {{document: number}}, got "
                f"{type(documents).__name__} {shown(documents)}",
                field=name,
            )
        try:
            key = as_id(query)
        except ValueError as error:
            raise InputError(f"{name}: {error}", field=name) from None
        if key in by_id:
            raise InputError(f"{name}: two queries are named {key!r}", field=name)
        by_id[key] = documents
    return by_id


def _ranked(scores: Mapping[Any, Any], ties: Ties) -> list[str]:
    """Return the documents, the highest score first; `ValueError` for what is no score or ID."""
    documents = [as_id(document) for document in scores]
    numbers = [as_number(score, "a score") for score in scores.values()]
    if ties == "given":
        order = sorted(range(len(documents)), key=numbers.__getitem__, reverse=True)
        return [documents[n] for n in order]
    return _by_score(numbers, documents)


def _by_score(scores: Iterable[float], documents: Sequence[str]) -> list[str]:
    """Return documents as trec_eval has them: ties fall in single precision, the last ID first."""
    best = sorted(zip(array("f", scores), documents, strict=True), reverse=True)
    return [document for _, document in best]
