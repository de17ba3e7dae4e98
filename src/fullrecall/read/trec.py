"""Relevance judgments (qrels) and what a system retrieved (a run): TREC's files, or dicts."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from math import isfinite, isnan
from typing import Any, Literal, get_args

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
    return _from_mappings(qrels, run, ties)


def _from_files(qrels: str, run: str) -> Iterator[Sample]:
    judged = judgments(qrels)
    results: dict[str, tuple[list[str], array[float]]] = {}
    for query, document, score in _in_lines(run, _result, "results"):
        # Single precision is what trec_eval keeps. Of millions of lines: no objects for scores,
        # and the same documents come back for query after query.
        documents, scores = results.setdefault(query, ([], array("f")))
        documents.append(sys.intern(document))
        scores.append(score)
    rankings = {query: _ordered(*ranking, ties="trec_eval") for query, ranking in results.items()}
    yield from _joined(judged, rankings, f"run {run}")


def _ordered(documents: Sequence[str], scores: Sequence[float], *, ties: Ties) -> list[str]:
    """Return the documents, the highest score first."""
    if ties == "given":
        order = sorted(range(len(documents)), key=scores.__getitem__, reverse=True)
        return [documents[n] for n in order]
    best = sorted(zip(array("f", scores), documents, strict=True), reverse=True)
    return [document for _, document in best]


def _from_mappings(qrels: object, run: object, ties: Ties) -> Iterator[Sample]:
    rankings = {}
    for query, scores in _queries(run, "run").items():
        try:
            documents = [as_id(document) for document in scores]
            numbers = [as_number(score, "a score") for score in scores.values()]
        except ValueError as error:
            raise InputError(f"run: query {query!r}: {error}", field="run") from None
        rankings[query] = _ordered(documents, numbers, ties=ties)
    yield from _joined(_queries(qrels, "qrels"), rankings, "run")


def _joined(
    judged: Mapping[str, Mapping[Any, Any]], rankings: Mapping[str, list[str]], run: str
) -> Iterator[Sample]:
    """Yield the sample of each judged query, then of those that only the run has."""
    for query in dict.fromkeys((*judged, *rankings)):
        fields: dict[str, Any] = {"retrieved_context_ids": rankings.get(query)}
        if query not in rankings:
            fields = {"retrieval": Retrieval(error=f"query {query!r} is not in the {run}")}
        try:
            sample = Sample(id=query, reference_context_ids=judged.get(query, []), **fields)
        except InputError as error:
            raise InputError(f"qrels: query {query!r}: {error.problem}", field="qrels") from None
        yield sample


def judgments(path: str) -> dict[str, dict[str, float]]:
    """Return the grade of each document that a file judges, by query."""
    judged: dict[str, dict[str, float]] = {}
    beir = False

    def read(text: str) -> tuple[str, str, float] | None:
        nonlocal beir
        fields = _split(text, len(_BEIR_HEADER) if beir else _QRELS_COLUMNS)
        if not judged and [name.lower().replace("_", "-") for name in fields] == _BEIR_HEADER:
            beir = True
            return None
        query, document, grade = judgment = _judgment(fields, text, beir=beir)
        before = judged.setdefault(query, {}).setdefault(document, grade)
        if before != grade:
            problem = f"judges {document!r} twice: {before:g} before, {grade:g} here; keep one"
            raise InputError(f"query {query!r} {problem}")
        return judgment

    for _ in _in_lines(path, read, "judgments"):
        pass
    return judged


def _in_lines(
    path: str, read: Callable[[str], tuple[str, str, float] | None], what: str
) -> Iterator[tuple[str, str, float]]:
    """Yield what is read of each line that is not blank; errors name the file and the line."""
    empty = True
    try:
        with closing(text_lines(path)) as lines:
            for line, text in lines:
                try:
                    row = read(text) if text.strip() else None
                except InputError as error:
                    raise error.at(line=line) from None
                if row is not None:
                    empty = False
                    yield row
    except InputError as error:
        raise error.at(path=path) from error.__cause__
    if empty:
        raise InputError(f"holds no {what}", path=path)


def _split(text: str, columns: int) -> list[str]:
    fields = text.split()
    if len(fields) != columns and "\t" in text:
        return [field.strip() for field in text.rstrip("\r\n").split("\t")]
    return fields


def _judgment(fields: list[str], text: str, *, beir: bool) -> tuple[str, str, float]:
    if len(fields) != (len(_BEIR_HEADER) if beir else _QRELS_COLUMNS):
        hint = ": this looks like a run, which comes second" if len(fields) == _RUN_COLUMNS else ""
        meant = "query document grade" if beir else "query iteration document grade"
        raise InputError(
            f"expected a line `{meant}`, got {len(fields)} columns in {shown(text.strip())}{hint}"
        )
    grade = _number(fields[-1])
    if not isfinite(grade):
        raise InputError(f"a grade must be a number, got {shown(fields[-1])}")
    return fields[0], sys.intern(fields[-2]), grade


def _result(text: str) -> tuple[str, str, float]:
    """Return the query, the document and the score of a line of a run."""
    fields = _split(text, _RUN_COLUMNS)
    if len(fields) != _RUN_COLUMNS:
        hint = ": this looks like qrels, which come first" if len(fields) == _QRELS_COLUMNS else ""
        raise InputError(
            f"expected a line `query Q0 document rank score tag`, got {len(fields)} columns in "
            f"{shown(text.strip())}{hint}"
        )
    score = _number(fields[4])
    if isnan(score):
        raise InputError(f"a score must be a number, got {shown(fields[4])}")
    return fields[0], fields[2], score


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _queries(queries_like: object, name: str) -> dict[str, Mapping[Any, Any]]:
    """Return the documents of each query; raise `InputError` where there are none."""
    dump = getattr(queries_like, "to_dict", None)
    queries = dump() if callable(dump) else queries_like
    if not isinstance(queries, Mapping) or not queries:
        raise InputError(
            f"{name} must be {{query: {{document: number}}}}, got {type(queries_like).__name__} "
            f"{shown(queries_like)}: read_trec reads the files of trec_eval",
            field=name,
        )
    by_id: dict[str, Mapping[Any, Any]] = {}
    for query, documents in queries.items():
        try:
            key = as_id(query)
        except ValueError as error:
            raise InputError(f"{name}: {error}", field=name) from None
        if not isinstance(documents, Mapping):
            problem = f"query {key!r} must have {{document: number}}, got {shown(documents)}"
            raise InputError(f"{name}: {problem}", field=name)
        if key in by_id:
            raise InputError(f"{name}: two queries are named {key!r}", field=name)
        by_id[key] = documents
    return by_id
