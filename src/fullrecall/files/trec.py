"""Relevance judgments (qrels) and what a system retrieved (a run): TREC's files, or dicts."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Mapping
from contextlib import closing
from math import isfinite, isnan, nan
from operator import itemgetter
from typing import Any

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.rows import in_file
from fullrecall.files.text_files import FilePath, existing_file, text_lines
from fullrecall.samples.context import as_number
from fullrecall.samples.identifiers import as_id
from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample

_BEIR_HEADER = ["query-id", "corpus-id", "score"]
_QRELS = ("query", "iteration", "document", "grade")
_BEIR = ("query", "document", "grade")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")


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


def from_qrels_run(qrels: object, run: object) -> Iterator[Sample]:
    """Yield one sample per query of `qrels`, in its order.

    `qrels` is `{query: {document: grade}}` and `run` `{query: {document: score}}`, as ranx,
    pytrec_eval and ir_measures take them, or an object whose `to_dict()` gives that, such as
    ranx's `Qrels` and `Run`. The highest score comes first, and equal scores in the dict's order,
    as ranx takes them.

    As with `read_trec`, grades of 0 and below are kept, and a scorer's `min_grade` leaves them
    out; a query that the run lacks is unscored and counted; queries that only the run has follow
    at the end, undefined. Raises `InputError`, naming the query, for what is no grade, score or
    ID.
    """
    rankings = {}
    for query, scores in _queries(run, "run").items():
        try:
            scored = [(as_id(name), as_number(score, "a score")) for name, score in scores.items()]
        except ValueError as error:
            raise InputError(f"run: query {query!r}: {error}", field="run") from None
        ordered = sorted(scored, key=itemgetter(1), reverse=True)
        rankings[query] = [document for document, _ in ordered]
    yield from _joined(_queries(qrels, "qrels"), rankings, "run")


def _from_files(qrels: str, run: str) -> Iterator[Sample]:
    yield from _joined(judgments(qrels), _rankings(run), f"run {run}")


def _rankings(path: str) -> dict[str, list[str]]:
    """Return the documents that a run has for each query, in trec_eval's order."""
    results: dict[str, tuple[array[float], list[str]]] = {}
    for line, text in _lines(path, "results"):
        fields = _split(text, len(_RUN))
        score = _number(fields[4]) if len(fields) == len(_RUN) else nan
        if isnan(score):
            raise _unreadable(text, _RUN, path, line)
        # Single precision is what trec_eval keeps. Of millions of lines: no objects for scores,
        # and the same documents come back for query after query.
        scores, documents = results.setdefault(fields[0], (array("f"), []))
        scores.append(score)
        documents.append(sys.intern(fields[2]))
    return {
        query: [document for _, document in sorted(zip(*columns, strict=True), reverse=True)]
        for query, columns in results.items()
    }


def judgments(path: str) -> dict[str, dict[str, float]]:
    """Return the grade of each document that a file judges, by query."""
    judged: dict[str, dict[str, float]] = {}
    names: tuple[str, ...] = _QRELS
    for line, text in _lines(path, "judgments"):
        fields = _split(text, len(names))
        if not judged and [name.lower().replace("_", "-") for name in fields] == _BEIR_HEADER:
            names = _BEIR
            continue
        grade = _number(fields[-1]) if len(fields) == len(names) else nan
        if not isfinite(grade):
            raise _unreadable(text, names, path, line)
        query, document = fields[0], sys.intern(fields[-2])
        before = judged.setdefault(query, {}).setdefault(document, grade)
        if before != grade:
            problem = f"judges {document!r} twice: {before:g} before, {grade:g} here; keep one"
            raise InputError(f"query {query!r} {problem}", path=path, line=line)
    if not judged:
        raise InputError("holds no judgments", path=path)
    return judged


def _lines(path: str, kind: str) -> Iterator[tuple[int, str]]:
    """Yield each line that is not blank, with its number; raise `InputError` if there is none."""
    with closing(text_lines(path)) as lines:
        yield from in_file(path, ((line, text) for line, text in lines if text.strip()), kind)


def _split(text: str, columns: int) -> list[str]:
    fields = text.split()
    if len(fields) != columns and "\t" in text:
        return [field.strip() for field in text.rstrip("\r\n").split("\t")]
    return fields


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


def _unreadable(text: str, names: tuple[str, ...], path: str, line: int) -> InputError:
    number = "grade" if "grade" in names else "score"
    return InputError(
        f"expected `{' '.join(names)}` with a number as {number}, got {shown(text.strip())} "
        "(qrels come first, a run second)",
        path=path,
        line=line,
    )


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
