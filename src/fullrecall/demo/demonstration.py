"""Demonstrate how to find and fix the defect of a search that misses a fifth of its targets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from fullrecall.diagnosis import Diagnosis, diagnose
from fullrecall.measures import Recall
from fullrecall.report import Comparison, GateResult, Report, compare, evaluate
from fullrecall.scorers import IdRecall
from fullrecall.stats.gate import Gate

COPIES = 3
"""The number of copies of each page in the broken index."""

MARGIN = 0.05
"""The largest drop of recall that the gate lets pass."""


@dataclass(frozen=True)
class Demonstration:
    """The reports of a search before and after its fix, with the result of each step.

    `pages`, `chunks` and `targets` are counts. `before` has three copies of each page in its index,
    `after` one; each has its diagnosis. `gate` is the result of a gate that checks `before` against
    the baseline `after`, as if the copies had been loaded again.
    """

    pages: int
    chunks: int
    targets: int
    before: Report
    after: Report
    diagnosis_before: Diagnosis
    diagnosis_after: Diagnosis
    comparison: Comparison
    gate: GateResult


def run(*, k: int = 5, depth: int = 20) -> Demonstration:
    """Return the reports on the library's questions, with `depth` chunks retrieved for each.

    `k` is the number of chunks that the diagnoses, the comparison and the gate count.
    """
    from fullrecall.demo.library import FullTextSearch, chunked, library_pages, library_questions

    pages, questions = library_pages(), library_questions()
    chunks = chunked(pages)
    before, after = (
        evaluate(
            questions,
            IdRecall(),
            retriever=partial(FullTextSearch(chunks * copies), k=depth),
            progress=False,
        )
        for copies in (COPIES, 1)
    )
    at_k = Recall @ k
    corpus = {page.id: page.text for page in pages}
    return Demonstration(
        pages=len(pages),
        chunks=len(chunks),
        targets=sum(len(question.reference_context_ids or ()) for question in questions),
        before=before,
        after=after,
        diagnosis_before=diagnose(before, k=k, corpus=corpus),
        diagnosis_after=diagnose(after, k=k, corpus=corpus),
        comparison=compare(before, after, at_k),
        gate=Gate(at_k, margin=MARGIN).check(before, after),
    )
