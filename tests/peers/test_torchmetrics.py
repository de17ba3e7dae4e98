"""Measures equal those of torchmetrics on random judgments and runs.

Opt-in: `-m peers`, with torchmetrics and PyTorch for the CPU.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from random_runs import merged, untied

from fullrecall import IdRecall, evaluate
from fullrecall.measures import RR, Hit, MeanPrecision, Measure, Precision, Recall, RPrecision, nDCG
from fullrecall.read import from_qrels_run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

MEASURES: dict[str, Measure] = {
    "precision": Precision(denominator="k"),
    "recall": Recall,
    "hit_rate": Hit,
    "reciprocal_rank": RR,
    "average_precision": MeanPrecision,
    "normalized_dcg": nDCG,
}


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("name", MEASURES)
def test_each_query_at_k(name: str, k: int) -> None:
    """Each query's measures at k are equal if its list has every relevant document."""
    import torchmetrics.functional.retrieval as functions

    theirs = getattr(functions, f"retrieval_{name}")
    for scores, grades, value in cases(MEASURES[name] @ k, is_graded=name == "normalized_dcg"):
        assert float(theirs(scores, grades, top_k=k)) == pytest.approx(value, abs=1e-6), name


def test_r_precision() -> None:
    """R-precision of the whole list is equal."""
    from torchmetrics.functional.retrieval import retrieval_r_precision

    for scores, grades, value in cases(RPrecision, is_graded=False):
        assert float(retrieval_r_precision(scores, grades)) == pytest.approx(value, abs=1e-6)


def cases(measure: Measure, *, is_graded: bool) -> list[tuple[Any, Any, float]]:
    """Return the scores, the relevance and fullrecall's value of each query of random runs."""
    import torch

    qrels, run = merged(Random(12), 200, least_grade=0)
    queries = [query for query in qrels if query in run and max(qrels[query].values()) > 0]
    qrels = {query: qrels[query] for query in queries}
    unranked = {query: sorted(qrels[query].keys() - run[query]) for query in queries}
    run = untied({q: {**run[q], **dict.fromkeys(unranked[q], 0.0)} for q in queries})
    # torchmetrics ignores relevant documents with a score of 0 or below.
    run = {q: {name: 100 + score for name, score in row.items()} for q, row in run.items()}
    report = evaluate(from_qrels_run(qrels, run), IdRecall(), progress=False)
    values = dict(zip(report.table.ids, report.values(measure).tolist(), strict=True))
    made = []
    for query in queries:
        grades = [qrels[query].get(name, 0) for name in run[query]]
        relevance = torch.tensor(grades if is_graded else [grade > 0 for grade in grades])
        made.append((torch.tensor([*run[query].values()]), relevance, values[query]))
    assert len(made) > 300
    return made
