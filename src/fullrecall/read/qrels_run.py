"""Judgments and a run that are in memory: the dicts of ranx, pytrec_eval and ir_measures."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from fullrecall.context import as_number
from fullrecall.errors import InputError, ParameterError
from fullrecall.identifiers import as_id, shown
from fullrecall.sample import Sample

Ties = Literal["given", "trec_eval"]


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
    return _samples(_queries(qrels, "qrels"), _queries(run, "run"), ties)


def _samples(
    judged: dict[str, Mapping[Any, Any]], rankings: dict[str, Mapping[Any, Any]], ties: Ties
) -> Iterator[Sample]:
    for query, grades in judged.items():
        yield _sample(query, grades, rankings.pop(query, None), ties)
    for query, scores in rankings.items():
        yield _sample(query, [], scores, ties)


def _sample(query: str, grades: Any, scores: Mapping[Any, Any] | None, ties: Ties) -> Sample:
    """Return the sample of one query; raise `InputError`, naming it, where there is none."""
    if scores is None:
        retrieval: dict[str, Any] = {"retrieval": {"error": f"query {query!r} is not in the run"}}
    else:
        try:
            retrieval = {"retrieved_context_ids": _ranked(scores, ties)}
        except ValueError as error:
            raise InputError(f"run: query {query!r}: {error}", field="run") from None
    try:
        return Sample(id=query, reference_context_ids=grades, **retrieval)
    except InputError as error:
        raise InputError(f"qrels: query {query!r}: {error.problem}", field="qrels") from None


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
    single = array("f", numbers)  # what trec_eval keeps scores in: it decides what is a tie
    return [document for _, document in sorted(zip(single, documents, strict=True), reverse=True)]
