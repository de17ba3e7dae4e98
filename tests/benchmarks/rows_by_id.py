"""Rows of the published table: recall by ID, from lists, columns, and mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import id_recall
from figures import OURS
from fullrecall.distributed.batches import BatchScorer
from side_by_side import Contender
from task import Task, installed

from fullrecall import evaluate
from fullrecall.evaluation.run import SampleLike
from fullrecall.measures import Precision, nDCG
from fullrecall.results.bounds import Interval, _inverted
from fullrecall.results.summary import Summary


def id_tasks(queries: int, *, peers: bool) -> list[Task]:
    """Return the rows of ID recall; raise `ValueError` where a contender's numbers differ."""
    ids = id_recall.make(queries)
    loop = Contender("set loop", lambda: id_recall.lean_set_loop(ids))
    one_pass = Contender("one pass in C", lambda: _pass(ids))
    numbers = Numbers(ids)
    at_k = id_recall.AT_K
    ranked = (*at_k, nDCG @ 10, Precision @ 10)
    id_recall.check_ours(ids)
    _check_means(ids)
    others = _id_peers(ids) if peers else []
    return [
        Task(
            "recall@k by ID at 6 k, columns of texts",
            loop,
            [Contender(OURS, lambda: id_recall.columns(ids)), *others],
            [one_pass],
            readme=True,
        ),
        Task(
            "the same, Arrow columns of numbers",
            loop,
            [Contender(OURS, numbers.ours), *(numbers.peers() if peers else [])],
            [Contender("numpy", numbers.numpy)],
            readme=True,
        ),
        Task(
            "the same, a result for each query",
            loop,
            [Contender(OURS, lambda: id_recall.built_and_scored(ids)), *others],
            [one_pass],
            readme=True,
        ),
        Task(
            "a result for each query, with nDCG@10 and precision@10",
            loop,
            [
                Contender(OURS, lambda: _results(ids, ranked)),
                *(_ranked_peers(ids) if peers else []),
            ],
            [one_pass],
            readme=True,
        ),
        Task(
            "means at 6 k, evaluate().summary()",
            loop,
            [Contender(OURS, lambda: _means(id_recall.samples_of(ids))), *others],
            [one_pass],
            readme=True,
        ),
        Task(
            "the same of mappings",
            loop,
            [Contender(OURS, lambda: _means(_mappings(ids)))],
            [one_pass],
        ),
        Task(
            'the same of mappings, keep="summary"',
            loop,
            [Contender(OURS, lambda: _totals(ids))],
            [one_pass],
        ),
        Task(
            "the same of samples, with 95% intervals, which take as long for any number of queries",
            loop,
            [Contender(OURS, lambda: _intervals(ids))],
            [one_pass],
        ),
        Task(
            "means at 6 k of an Arrow table of numbers, BatchScorer",
            loop,
            [Contender(OURS, numbers.totals)],
            [Contender("numpy", numbers.numpy)],
        ),
    ]


def _check_means(ids: id_recall.Queries) -> None:
    columns = zip(*id_recall.set_loop(ids), strict=True)
    expected = [sum(column) / len(ids) for column in columns]
    for means in (_means(id_recall.samples_of(ids)), _means(_mappings(ids)), _totals(ids)):
        id_recall._equal("means", [[mean or 0.0 for mean in means]], [expected])


def _pass(ids: id_recall.Queries) -> list[int]:
    """Look at each retrieved ID once, all within one call for each query."""
    return [len(set(relevant).intersection(retrieved)) for retrieved, relevant in ids.pairs()]


class Numbers:
    """The same queries with whole numbers for IDs, as Arrow's columns of lists."""

    def __init__(self, ids: id_recall.Queries) -> None:
        import pyarrow as pa

        found, wanted = (
            [[int(one[4:]) for one in row] for row in column]
            for column in (ids.retrieved, ids.relevant)
        )
        self._found, self._wanted = pa.array(found), pa.array(wanted)
        self._table = pa.table(
            {
                "retrieved_ids": self._found,
                "expected_ids": self._wanted,
                "row": range(len(self._found)),
            }
        )
        self._expected = id_recall.set_loop(ids)
        scores = self.ours()
        by_row = list(zip(*map(scores.at, id_recall.KS), strict=True))
        id_recall._equal("score_columns of Arrow", by_row, self._expected)
        id_recall._equal("numpy", self.numpy(), self._expected)
        means = [sum(column) / len(ids) for column in zip(*self._expected, strict=True)]
        id_recall._equal("BatchScorer", [self.totals()], [means])

    def ours(self) -> Any:
        """Return recall at 6 k of each row."""
        return id_recall.SCORER.score_columns(self._found, self._wanted, ks=id_recall.KS)

    def totals(self) -> list[float]:
        """Return the means."""
        scorer = BatchScorer(
            id_recall.SCORER, keep="summary", measures=id_recall.AT_K, position="row"
        )
        rows = len(self._table)
        score = scorer.report(scorer(self._table), rows=rows).summary(*id_recall.AT_K)[0]
        return [score[measure].mean or 0.0 for measure in id_recall.AT_K]

    def numpy(self) -> Any:
        """Return recall at 6 k by arrays alone, of rows that retrieved equally many."""
        import numpy as np

        found = self._found.values.to_numpy().reshape(len(self._found), -1).astype("int32")
        offsets = self._wanted.offsets.to_numpy()
        lengths = offsets[1:] - offsets[:-1]
        wanted = np.full((len(lengths), lengths.max()), -1, dtype="int32")
        wanted[np.arange(wanted.shape[1]) < lengths[:, None]] = self._wanted.values.to_numpy()
        reached = np.empty((len(found), len(id_recall.KS)))
        for start in range(0, len(found), 500):  # what a processor's cache holds
            part = found[start : start + 500]
            hits = np.zeros(part.shape, dtype=bool)
            for column in wanted[start : start + 500].T:
                hits |= part == column[:, None]
            for place, k in enumerate(id_recall.KS):
                reached[start : start + 500, place] = np.count_nonzero(hits[:, :k], axis=1)
        return reached / lengths[:, None]

    def _lists(self) -> id_recall.Queries:
        columns = (self._found.to_pylist(), self._wanted.to_pylist())
        return id_recall.Queries(*([list(map(str, row)) for row in column] for column in columns))

    def peers(self) -> list[Contender]:
        """Return the libraries that take lists of texts, from the same Arrow columns."""

        def peer(name: str, kind: Any) -> list[Contender]:
            def make() -> list[Contender]:
                def run() -> id_recall.Recalls:
                    found: id_recall.Recalls = kind(self._lists()).end_to_end()
                    return found

                id_recall._equal(name, run(), self._expected)
                return [Contender(name, run)]

            return installed(name, make)

        return [
            *peer("pytrec_eval", _Late(id_recall.PytrecEval)),
            *peer("LlamaIndex", id_recall.LlamaIndex),
        ]


class _Late:
    """A peer whose constructor would build its inputs a second time: only the end-to-end way."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __call__(self, ids: id_recall.Queries) -> Any:
        made = self._kind.__new__(self._kind)
        made.queries = ids
        return made


def _results(ids: id_recall.Queries, measures: Sequence[object]) -> list[list[float]]:
    score = id_recall.SCORER.score
    return [
        [result[measure] or 0.0 for measure in measures]  # type: ignore[index]
        for result in (score(sample) for sample in id_recall.samples_of(ids))
    ]


def _mappings(ids: id_recall.Queries) -> Iterator[dict[str, list[str]]]:
    return ({"retrieved_ids": found, "expected_ids": wanted} for found, wanted in ids.pairs())


def _means(samples: Iterable[SampleLike]) -> list[float | None]:
    report = evaluate(samples, id_recall.SCORER, progress=False)
    return _read(report.summary(*id_recall.AT_K))


def _totals(ids: id_recall.Queries) -> list[float | None]:
    at_k = id_recall.AT_K
    rows = _mappings(ids)
    report = evaluate(rows, id_recall.SCORER, progress=False, keep="summary", measures=at_k)
    return _read(report.summary(*at_k))


def _read(summary: Summary) -> list[float | None]:
    return [summary[0][measure].mean for measure in id_recall.AT_K]


def _intervals(ids: id_recall.Queries) -> list[Interval | None]:
    _inverted.cache_clear()  # of the round before, whose scores were the same
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
    """Return the libraries that know nDCG@10 and precision@10 too."""
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
