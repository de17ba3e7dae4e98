"""The demonstration as a whole: the same questions, the same chunks, several retrievers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fullrecall.diagnosis import Diagnosis, diagnose
from fullrecall.report import Report, evaluate
from fullrecall.samples.context import Context
from fullrecall.scorers import IdRecall


@dataclass(frozen=True)
class Demonstration:
    """What the demo measured: one report for each retriever, over the same samples.

    `wordings` has the rows of the questions of each wording; `diagnosis` is that of the last
    retriever's report.
    """

    documents: int
    chunks: int
    targets: int
    wordings: Mapping[str, slice]
    reports: Mapping[str, Report]
    diagnosis: Diagnosis


def run(*, k: int = 10, depth: int = 50) -> Demonstration:
    """Return the reports of all retrievers over all questions, each asked for `depth` chunks.

    Ranks beyond `k` show how far away missed documents are, and what a larger k would bring.
    Raises `ParameterError` where Python's SQLite has no full-text search.
    """
    from fullrecall.demo.searches import FullTextSearch, TrigramSearch, chunked
    from fullrecall.demo.stdlib import documents, questions

    texts = documents()
    plain_questions = questions("plain")
    samples = [*plain_questions, *questions("hard")]
    chunks = chunked(texts)
    searches: Mapping[str, Callable[..., Any]] = {
        "FTS5": FullTextSearch(chunks),
        "trigrams": TrigramSearch(chunks),
    }
    reports = {
        name: evaluate(samples, IdRecall(), retriever=partial(search, k=depth), progress=False)
        for name, search in searches.items()
    }
    corpus = [Context(chunk.text, id=chunk.source) for chunk in chunks]
    return Demonstration(
        documents=len(texts),
        chunks=len(chunks),
        targets=sum(len(sample.reference_context_ids or ()) for sample in samples),
        wordings={
            "as people ask": slice(len(plain_questions)),
            "in other words than the answer": slice(len(plain_questions), None),
        },
        reports=reports,
        diagnosis=diagnose(reports["trigrams"], k=k, corpus=corpus),
    )
