"""Each measure that trec_eval has too is equal on 2,000 random runs, by pytrec_eval.

Opt-in: `-m peers`, with pytrec_eval-terrier.
"""

from __future__ import annotations

from math import isnan
from random import Random
from typing import Any

import pytest
from random_runs import merged, qrels_and_run

from fullrecall import IdRecall, evaluate
from fullrecall.measures import FBeta, Measure, Retrieved, parse
from fullrecall.read import from_qrels_run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

CUTS = (1, 3, 5, 10, 30)
FAMILIES = ("P", "recall", "success", "map_cut", "ndcg_cut")
SINGLE = ("map", "recip_rank", "Rprec", "bpref", "ndcg", "set_P", "set_recall", "set_F")
COUNTS = ("num_ret", "num_rel", "num_rel_ret")
LEVELS = [f"iprec_at_recall_{level / 10:.2f}" for level in range(11)]
NAMES = [*(f"{family}_{k}" for family in FAMILIES for k in CUTS), *SINGLE, *COUNTS, *LEVELS]
ASKED = {
    *(f"{family}.{','.join(map(str, CUTS))}" for family in FAMILIES),
    *SINGLE,
    *COUNTS,
    "iprec_at_recall",
}


def evaluated(qrels: Any, run: Any, names: set[str], level: int = 1) -> dict[str, dict[str, float]]:
    """Return the values of trec_eval by query."""
    import pytrec_eval

    values: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(
        qrels, names, relevance_level=level
    ).evaluate(run)
    return values


def ours(name: str, level: int) -> Measure:
    """Return the measure that trec_eval's name means, at its relevance level."""
    measure = parse(name)
    return measure(min_grade=level) if level > 1 and hasattr(measure, "min_grade") else measure


@pytest.mark.parametrize("level", [1, 2])
def test_every_query_of_2000_runs(level: int) -> None:
    """Each query's values agree to 1e-12, with `zero_division=0.0` where trec_eval needs it."""
    qrels, run = merged(Random(49 + level), 2_000)
    theirs = evaluated(qrels, run, ASKED, level)
    report = evaluate(from_qrels_run(qrels, run), IdRecall(), progress=False)
    ids = report.table.ids
    assert {query for query in qrels if query in run} == set(theirs)
    names = [name for name in NAMES if level == 1 or not name.startswith("ndcg")]
    measures = {name: ours(name, level)(zero_division=0.0) for name in names}
    for trec_name, measure in measures.items():
        by_query = dict(zip(ids, report.values(measure).tolist(), strict=True))
        for query, row in theirs.items():
            assert by_query[query] == pytest.approx(row[trec_name], abs=1e-12), (trec_name, query)
        unmeasured = [by_query[query] for query in by_query if query not in theirs]
        assert all(map(isnan, unmeasured)), trec_name


def test_means_of_100_runs() -> None:
    """Unjudged queries, and those that the run lacks, are in no mean, as in trec_eval."""
    rng = Random(7)
    names = ["map", "P_5", "ndcg_cut_10", "recip_rank", "num_ret"]
    for _ in range(100):
        qrels, run = qrels_and_run(rng, 12)
        theirs = evaluated(qrels, run, set(names) - {"P_5", "ndcg_cut_10"} | {"P.5", "ndcg_cut.10"})
        measures = [parse(name)(zero_division=0.0) for name in names]
        report = evaluate(from_qrels_run(qrels, run), IdRecall(), progress=False)
        (score,) = report.summary(*measures)
        for name, measure in zip(names, measures, strict=True):
            mean = sum(row[name] for row in theirs.values()) / len(theirs)
            assert score[measure].mean == pytest.approx(mean, abs=1e-12), name
        assert score.unjudged == len(run.keys() - qrels.keys())
        assert score[Retrieved(zero_division=0.0)].interval is None


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_f_beta(beta: float) -> None:
    """F-beta agrees with trec_eval's set_F, whose parameter is the square of β."""
    qrels, run = merged(Random(3), 300)
    name = f"set_F.{beta**2}"
    theirs = evaluated(qrels, run, {name})
    report = evaluate(from_qrels_run(qrels, run), IdRecall(), progress=False)
    values = report.values(FBeta(beta=beta, zero_division=0.0)).tolist()
    by_query = dict(zip(report.table.ids, values, strict=True))
    for query, row in theirs.items():
        assert by_query[query] == pytest.approx(next(iter(row.values())), abs=1e-12)
