"""Relevance judgments (qrels) and what a system retrieved (a run): TREC's files, or dicts."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from math import isfinite, isnan
from typing import Any, Literal, NamedTuple, get_args

from fullrecall.context import as_number
from fullrecall.errors import InputError, ParameterError
from fullrecall.identifiers import as_id, shown
from fullrecall.read.text_files import FilePath, existing_file, text_lines
from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample

Ties = Literal["given", "trec_eval"]

_BEIR_HEADER = ["query-id", "corpus-id", "score"]
_QRELS_COLUMNS = 4
_RUN_COLUMNS = 6


def read_trec(qrels: FilePath, run: FilePath) -> Iterator[Sample]:
    """Return one sample per query, in the order in which `qrels` first names them.

    A line of `qrels` is `query iteration document grade`, or tab-separated under BEIR's header
    `query-id corpus-id score`; grades of 0 and below are kept, and a scorer's `min_grade` leaves
    them out. A line of `run` is `query Q0 document rank score tag`. Both may be gzipped, and both
    come into memory as a whole, since their lines may be in any order.

    Documents are ordered as trec_eval orders them: the highest score first, in single precision,
    and of equal scores the document that sorts last; the rank column is ignored. A query that the
    run lacks has a retrieval with an error, so it is unscored and counted. Queries that only the
    run has follow at the end with no reference IDs: undefined. (trec_eval leaves out both; its
    `-c` counts the former as 0.)

    Raises `InputError` for a line that is none, a document judged twice with different grades, and
    an empty file.
    """
    return _from_files(existing_file(qrels), existing_file(run))


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
    return _joined(_queries(qrels, "qrels"), _queries(run, "run"), ties, "run")


def _from_files(qrels: str, run: str) -> Iterator[Sample]:
    judged = judgments(qrels)
    yield from _joined(judged, _read_run(run), "trec_eval", f"run {run}")


class _Ranking(NamedTuple):
    """What a run holds for one query: documents, of which one may stand twice, with scores."""

    documents: list[str]
    scores: Sequence[float]

    def ordered(self, ties: Ties) -> list[str]:
        """Return the documents, the highest score first."""
        documents, scores = self
        if ties == "given":
            order = sorted(range(len(documents)), key=scores.__getitem__, reverse=True)
            return [documents[n] for n in order]
        # "f", single precision, is what trec_eval keeps scores in: it decides what is a tie.
        best = sorted(zip(array("f", scores), documents, strict=True), reverse=True)
        return [document for _, document in best]


def _ranking(scores: Mapping[Any, Any]) -> _Ranking:
    """Return a query's documents and scores; `ValueError` for what is no score or ID."""
    documents = [as_id(document) for document in scores]
    return _Ranking(documents, [as_number(score, "a score") for score in scores.values()])


def _joined(
    judged: Mapping[str, Any], retrieved: dict[str, Any], ties: Ties, run: str
) -> Iterator[Sample]:
    """Yield the sample of each judged query, then of those that only the run has."""
    for query in [*judged, *(query for query in retrieved if query not in judged)]:
        fields: dict[str, Any] = {
            "retrieval": Retrieval(error=f"query {query!r} is not in the {run}")
        }
        if query in retrieved:
            try:
                results = retrieved.pop(query)
                ranking = results if isinstance(results, _Ranking) else _ranking(results)
                fields = {"retrieved_context_ids": ranking.ordered(ties)}
            except ValueError as error:
                raise InputError(f"run: query {query!r}: {error}", field="run") from None
        try:
            sample = Sample(id=query, reference_context_ids=judged.get(query, []), **fields)
        except InputError as error:
            raise InputError(f"qrels: query {query!r}: {error.problem}", field="qrels") from None
        yield sample


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
                judge(judged.setdefault(query, {}), query, document, grade)
            except InputError as error:
                raise error.at(path=path, line=line) from None
    if not judged:
        raise InputError("holds no judgments", path=path)
    return judged


def _read_run(path: str) -> dict[str, _Ranking]:
    rankings: dict[str, _Ranking] = {}
    with closing(_lines(path)) as lines:
        for line, text in lines:
            try:
                query, document, score = _result(text)
            except InputError as error:
                raise error.at(path=path, line=line) from None
            if query not in rankings:
                rankings[query] = _Ranking([], array("f"))  # of millions of lines: no objects
            rankings[query].documents.append(document)
            rankings[query].scores.append(score)  # type: ignore[attr-defined]
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


def judge(grades: dict[str, float], query: str, document: str, grade: float) -> None:
    """Add a judgment to those of a query; raise `InputError` for another grade than before."""
    before = grades.setdefault(document, grade)
    if before != grade:
        raise InputError(
            f"query {query!r} judges {document!r} twice: {before:g} before, {grade:g} here; keep "
            "one"
        )


def _result(text: str) -> tuple[str, str, float]:
    """Return the query, the document and the score of a line of a run."""
    fields = _split(text, _RUN_COLUMNS)
    if len(fields) != _RUN_COLUMNS:
        hint = ": this looks like qrels, which come first" if len(fields) == _QRELS_COLUMNS else ""
        raise InputError(
            f"expected a line `query Q0 document rank score tag`, got {len(fields)} columns in "
            f"{shown(text.strip())}{hint}"
        )
    query, _, document, _, score_text, _ = fields
    try:
        score = float(score_text)
    except ValueError:
        score = float("nan")
    if isnan(score):
        raise InputError(f"a score must be a number, got {shown(score_text)}")
    # Interned: the same documents come back for query after query.
    return query, sys.intern(document), score


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
