"""The published table's rows of recall by ID, from lists, columns, and mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import id_recall
from figures import OURS
from side_by_side import Contender
from task import Task, installed

from fullrecall import evaluate
from fullrecall.measures import Precision, nDCG
from fullrecall.report import Interval, Summary
from fullrecall.samples.sample import SampleLike


def id_tasks(queries: int, *, peers: bool) -> list[Task]:
    """Return the rows of ID recall; raise `ValueError` if a contender's numbers differ."""
    ids = id_recall.make(queries)
    loop = Contender("set loop", lambda: id_recall.lean_set_loop(ids))
    one_pass = Contender("one pass in C", lambda: _pass(ids))
    at_k = id_recall.AT_K
    ranked = (*at_k, nDCG @ 10, Precision @ 10)
    id_recall.check_ours(ids)
    _check_means(ids)
    others = _id_peers(ids) if peers else []
    return [
        Task(
            "recall@k by ID at 6 k of each query, evaluate().values()",
            loop,
            [Contender(OURS, lambda: id_recall.values(id_recall.mappings_of(ids))), *others],
            [one_pass],
            goal="≤ 1.6, first",
            per=queries,
        ),
        Task(
            "the same, a result for each query",
            loop,
            [Contender(OURS, lambda: _results(ids, at_k)), *others],
            [one_pass],
            goal="≤ 2.8, first",
            per=queries,
        ),
        Task(
            "a result for each query, with nDCG@10 and precision@10",
            loop,
            [
                Contender(OURS, lambda: _results(ids, ranked)),
                *(_ranked_peers(ids) if peers else []),
            ],
            [one_pass],
            goal="≤ 4.5, first",
            per=queries,
        ),
        Task(
            "means at 6 k, evaluate().summary()",
            loop,
            [Contender(OURS, lambda: means(id_recall.samples_of(ids))), *others],
            [one_pass],
            goal="≤ 2.8, first",
            per=queries,
        ),
        Task(
            "the same of mappings",
            loop,
            [Contender(OURS, lambda: means(id_recall.mappings_of(ids)))],
            [one_pass],
            goal="≤ 2, first",
            per=queries,
        ),
        Task(
            "the same of samples, with 95% intervals",
            loop,
            [Contender(OURS, lambda: _intervals(ids))],
            [one_pass],
            per=queries,
        ),
    ]


def _check_means(ids: id_recall.Queries) -> None:
    columns = zip(*id_recall.set_loop(ids), strict=True)
    expected = [sum(column) / len(ids) for column in columns]
    for found in (means(id_recall.samples_of(ids)), means(id_recall.mappings_of(ids))):
        id_recall._equal("means", [[mean or 0.0 for mean in found]], [expected])


def _pass(ids: id_recall.Queries) -> list[int]:
    """Read each retrieved ID once, in one call for each query."""
    return [len(set(relevant).intersection(retrieved)) for retrieved, relevant in ids.pairs()]


def _results(ids: id_recall.Queries, measures: Sequence[object]) -> list[list[float]]:
    report = evaluate(id_recall.samples_of(ids), id_recall.SCORER, progress=False)
    return [
        [row.results[0][measure] or 0.0 for measure in measures]  # type: ignore[index]
        for row in report.rows
    ]


def means(samples: Iterable[SampleLike]) -> list[float | None]:
    """Return the means at all k."""
    report = evaluate(samples, id_recall.SCORER, progress=False)
    return _read(report.summary(*id_recall.AT_K))


def _read(summary: Summary) -> list[float | None]:
    return [summary[0][measure].mean for measure in id_recall.AT_K]


def _intervals(ids: id_recall.Queries) -> list[Interval | None]:
    report = evaluate(id_recall.samples_of(ids), id_recall.SCORER, progress=False)
    score = report.summary(*id_recall.AT_K)[0]
    return [score[measure].interval for measure in id_recall.AT_K]


def _id_peers(ids: id_recall.Queries) -> list[Contender]:
    """Return the libraries that are installed, each from raw lists to recall at all k."""
    expected = id_recall.set_loop(ids)
    part = ids.first(max(1, len(ids) // 20))

    def peer(name: str, make: Callable[[], Callable[[], id_recall.Recalls]]) -> list[Contender]:
        def contender() -> list[Contender]:
            run = make()
            id_recall._equal(name, run(), expected)
            return [Contender(name, run)]

        return installed(name, contender)

    def ragas() -> list[Contender]:
        run = id_recall.Ragas(part, len(part)).end_to_end
        id_recall._equal("ragas", run(), expected[: len(part)])
        return [Contender("ragas", run, share=len(part) / len(ids))]

    return [
        *peer("pytrec_eval", lambda: id_recall.PytrecEval(ids).end_to_end),
        *peer("ir_measures", lambda: id_recall.IrMeasures(ids).end_to_end),
        *peer("ranx", lambda: id_recall.Ranx(ids).end_to_end),
        *peer("LlamaIndex", lambda: id_recall.LlamaIndex(ids).end_to_end),
        *installed("ragas", ragas),
    ]


def _ranked_peers(ids: id_recall.Queries) -> list[Contender]:
    """Return the libraries that also compute nDCG@10 and precision@10."""
    ks = id_recall.KS
    expected = _results(ids, (*id_recall.AT_K, nDCG @ 10, Precision @ 10))

    def pytrec_eval() -> list[list[float]]:
        import pytrec_eval

        asked = {f"recall.{','.join(map(str, ks))}", "ndcg_cut.10", "P.10"}
        run = id_recall._run(ids)
        evaluator = pytrec_eval.RelevanceEvaluator(id_recall._qrels(ids), asked)
        names = [*(f"recall_{k}" for k in ks), "ndcg_cut_10", "P_10"]
        found = evaluator.evaluate(run)
        return [[found[query][name] for name in names] for query in run]

    def ir_measures() -> list[list[float]]:
        import ir_measures as library

        asked = [*(library.R @ k for k in ks), library.nDCG @ 10, library.P @ 10]
        run = id_recall._run(ids)
        evaluator = library.evaluator(asked, id_recall._qrels(ids))
        values = {(one.query_id, one.measure): one.value for one in evaluator.iter_calc(run)}
        return [[values[query, measure] for measure in asked] for query in run]

    def ranx() -> list[list[float]]:
        import ranx as library

        names = [*(f"recall@{k}" for k in ks), "ndcg@10", "precision@10"]
        qrels, run = library.Qrels(id_recall._qrels(ids)), library.Run(id_recall._run(ids))
        values = library.evaluate(qrels, run, names, return_mean=False)
        columns = [values[name] for name in names]
        by_query = dict(zip(qrels.keys(), zip(*columns, strict=True), strict=True))
        return [list(map(float, by_query[query])) for query in id_recall._names(ids)]

    def peer(run: Callable[[], list[list[float]]]) -> list[Contender]:
        def make() -> list[Contender]:
            id_recall._equal(run.__name__, run(), expected)
            return [Contender(run.__name__, run)]

        return installed(run.__name__, make)

    return [*peer(pytrec_eval), *peer(ir_measures), *peer(ranx)]
