"""Measures equal those of ir_measures, cwl-eval, ranx, Haystack and Spark on random runs.

Opt-in: `-m peers`, with these as packages; Perl for ERR, Java for Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from random import Random
from typing import Any

import pytest
from random_runs import Numbers, Scores, merged, untied

from fullrecall import IdRecall, Report, evaluate
from fullrecall.measures import AP, RR, Judged, Measure, Recall, nDCG, parse
from fullrecall.read import from_qrels_run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


def report_of(qrels: Numbers, run: Scores) -> Report:
    """Return the report of a run."""
    return evaluate(from_qrels_run(qrels, run), IdRecall(), progress=False)


def by_query(report: Report, measure: Measure) -> dict[str | None, float]:
    """Return the value of each query, 0.0 for a query without relevant documents."""
    values = report.values(measure(zero_division=0.0)).tolist()
    return dict(zip(report.table.ids, values, strict=True))


@pytest.mark.parametrize(
    ("theirs", "measure", "digits"),
    [
        ("P@5", parse("P@5"), 1e-12),
        ("R@5", parse("R@5"), 1e-12),
        ("nDCG@10", nDCG @ 10, 1e-12),
        ("AP@10", AP @ 10, 1e-12),
        ("RR", RR, 1e-12),
        ("Bpref", parse("Bpref"), 1e-12),
        ("IPrec@0.4", parse("IPrec@0.4"), 1e-12),
        ("Rprec", parse("Rprec"), 1e-12),
        ("SetF", parse("SetF"), 1e-12),
        ("ERR@20", parse("ERR@20"), 6e-6),  # gdeval prints five digits.
    ],
    ids=str,
)
def test_ir_measures(theirs: str, measure: Measure, digits: float) -> None:
    """Each measure equals that of ir_measures by its default providers."""
    import ir_measures

    qrels, run = merged(Random(5), 200, least_grade=0)
    run = untied(run) if theirs.startswith("ERR") else run  # gdeval orders ties differently.
    values = by_query(report_of(qrels, run), measure)
    parsed = ir_measures.parse_measure(theirs)
    scored = [*ir_measures.iter_calc([parsed], qrels, run)]
    relevant = {query for query, row in qrels.items() if max(row.values()) > 0}
    assert len(scored) > 300
    for each in scored:
        if each.query_id in run and each.query_id in relevant:
            assert each.value == pytest.approx(values[each.query_id], abs=digits)


@pytest.mark.parametrize("theirs", ["RBP(p=0.8,rel=1)", "RBP(p=0.95,rel=1)", "P@10", "RR"])
def test_cwl_eval(theirs: str) -> None:
    """RBP equals that of cwl-eval, which ir_measures provides."""
    import ir_measures

    qrels, run = merged(Random(11), 200, least_grade=0)
    run = untied(run)
    measure = parse(theirs.replace(",rel=1", ""))
    values = by_query(report_of(qrels, run), measure)
    parsed = ir_measures.parse_measure(theirs)
    scored = [*ir_measures.cwl_eval.iter_calc([parsed], qrels, run)]
    assert len(scored) > 300
    for each in scored:
        if each.query_id in run:
            assert each.value == pytest.approx(values[each.query_id], abs=1e-9)


def test_judged_of_ir_measures() -> None:
    """The share of judged documents equals that of ir_measures, even without relevant ones."""
    import ir_measures

    qrels, run = merged(Random(6), 200)
    run = untied(run)  # ir_measures orders equal scores differently.
    values = by_query(report_of(qrels, run), Judged @ 5)
    scored = [*ir_measures.iter_calc([ir_measures.Judged @ 5], qrels, run)]
    assert len(scored) > 300
    for each in scored:
        if each.query_id in run:
            assert each.value == pytest.approx(values[each.query_id], abs=1e-12)


RANX = ("hits", "hit_rate", "precision", "recall", "f1", "mrr", "map", "ndcg", "ndcg_burges")


def test_ranx() -> None:
    """Each measure equals that of ranx, whose precision divides by k for a short list, too."""
    import ranx

    qrels, run = merged(Random(8), 150, least_grade=0)
    queries = [q for q in qrels if q in run and max(qrels[q].values()) > 0]
    qrels, run = {q: qrels[q] for q in queries}, untied({q: run[q] for q in queries})
    report = report_of(qrels, run)
    names = [*(f"{name}@{k}" for name in RANX for k in (1, 5, 40)), "r-precision", "bpref"]
    names += ["recall@5-l2", "map@5-l2", "mrr@3-l3"]
    for name in names:
        theirs = ranx.Run(run)
        ranx.evaluate(ranx.Qrels(qrels), theirs, name)
        measure = parse(name)
        if name.partition("@")[0] in ("precision", "f1"):
            measure = measure(denominator="k")
        values = by_query(report, measure)
        for query, value in theirs.scores[name].items():
            if isnan(value):  # Fullrecall gives 0 of the 0 documents that are judged irrelevant.
                assert (name, 0 in qrels[query].values()) == ("bpref", False)
            else:
                assert value == pytest.approx(values[query], abs=1e-9), (name, query)
    # The RBP of ranx weighs by grade, unlike the paper.
    binary = {q: {d: min(grade, 1) for d, grade in row.items()} for q, row in qrels.items()}
    theirs = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(binary), theirs, "rbp.95")
    values = by_query(report_of(binary, run), parse("rbp.95"))
    for query, value in theirs.scores["rbp.95"].items():
        assert value == pytest.approx(values[query], abs=1e-9)


def lists_of(seed: int) -> tuple[Report, list[list[str]], list[list[str]]]:
    """Return a report with its relevant and its retrieved IDs, none of them empty."""
    qrels, run = merged(Random(seed), 150, least_grade=0)
    binary = {q: {d: 1 for d, grade in row.items() if grade > 0} for q, row in qrels.items()}
    queries = [q for q, row in binary.items() if row and q in run]
    report = report_of({q: binary[q] for q in queries}, {q: run[q] for q in queries})
    retrieved = [list(row.sample.retrieved_context_ids or ()) for row in report.rows]
    return report, [list(binary[q]) for q in queries], retrieved


def test_haystack() -> None:
    """Each measure equals that of Haystack's evaluators, which compare documents by content."""
    from haystack import Document
    from haystack.components.evaluators import (
        DocumentMAPEvaluator,
        DocumentMRREvaluator,
        DocumentNDCGEvaluator,
        DocumentRecallEvaluator,
    )

    report, relevant, retrieved = lists_of(9)
    truth, found = (
        [[Document(content=name) for name in row] for row in rows] for rows in (relevant, retrieved)
    )
    for evaluator, measure in (
        (DocumentRecallEvaluator(mode="multi_hit"), Recall),
        (DocumentRecallEvaluator(mode="single_hit"), parse("hit")),
        (DocumentMRREvaluator(), RR),
        (DocumentMAPEvaluator(), AP),
        (DocumentNDCGEvaluator(), nDCG),
    ):
        theirs = evaluator.run(ground_truth_documents=truth, retrieved_documents=found)
        assert theirs["individual_scores"] == pytest.approx(report.values(measure).tolist())


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Return a context of Spark on this machine."""
    from pyspark import SparkContext

    context = SparkContext("local[1]", "peers")
    yield context
    context.stop()


def test_spark(spark: Any) -> None:
    """Each metric equals Spark's, under Spark's name."""
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import SparkSession

    SparkSession(spark)
    report, relevant, retrieved = lists_of(10)
    metrics = RankingMetrics(spark.parallelize([*zip(retrieved, relevant, strict=True)]))
    for name in ("precisionAt", "recallAt", "ndcgAt", "meanAveragePrecisionAt"):
        for k in (1, 3, 10):
            ours = report.values(parse(f"{name}({k})")).mean()
            assert getattr(metrics, name)(k) == pytest.approx(ours), (name, k)
    whole = report.values(parse("meanAveragePrecision")).mean()
    assert metrics.meanAveragePrecision == pytest.approx(whole)
