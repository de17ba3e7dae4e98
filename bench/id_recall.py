"""ID recall at several k: fullrecall, bare loops over sets, and other libraries.

The unit is hand-written code: a loop over sets. Every contender's numbers are compared
with the loop's before anything is timed. "End to end" starts from the same raw lists of `str`
and includes building a library's own input; "prepared" starts from the built input. A peer's
warm-up (Numba's compilation in ranx) is outside the timing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from side_by_side import CLOCKS, Contender, comparison, interleaved, say, setting

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import AllFound, Recall, nDCG
from fullrecall.measures.lists import Floats
from fullrecall.samples.sample import SampleLike
from fullrecall.scorers import Result

KS = (1, 3, 5, 10, 20, 100)
RETRIEVED, RELEVANT = 100, 10
AT_K = [Recall @ k for k in KS]
THREE = (Recall @ 10, nDCG @ 10, AllFound @ 10)
SCORER = IdRecall()
Recalls = list[list[float]]
"""Recall of each query at each of `KS`."""


@dataclass(frozen=True)
class Queries:
    """Columns of raw IDs, one item for each query."""

    retrieved: list[list[str]]
    relevant: list[list[str]]

    def __len__(self) -> int:
        return len(self.retrieved)

    def first(self, count: int) -> Queries:
        """Return the first `count` queries."""
        return Queries(self.retrieved[:count], self.relevant[:count])

    def pairs(self) -> zip[tuple[list[str], list[str]]]:
        """Iterate over retrieved and relevant IDs, query by query."""
        return zip(self.retrieved, self.relevant, strict=True)


def make(queries: int, seed: int = 7, corpus: int = 1_000_000) -> Queries:
    """Return random queries: half of the relevant IDs are retrieved, at random ranks.

    No list holds an ID twice, since the formats of the IR libraries cannot.
    """
    rng = random.Random(seed)
    columns = Queries([], [])
    for _ in range(queries):
        count = rng.randint(RELEVANT - 4, RELEVANT + 4)
        numbers = rng.sample(range(corpus), RETRIEVED + count - count // 2)
        relevant = numbers[:count]
        retrieved = numbers[count - count // 2 :]
        rng.shuffle(retrieved)
        rng.shuffle(relevant)
        columns.retrieved.append([f"doc_{number}" for number in retrieved])
        columns.relevant.append([f"doc_{number}" for number in relevant])
    return columns


def set_loop(queries: Queries) -> Recalls:
    """Compute recall by a hand-written loop, the unit of the table."""
    rows = []
    for retrieved, reference in queries.pairs():
        relevant = set(reference)
        rows.append([len(set(retrieved[:k]) & relevant) / len(relevant) for k in KS])
    return rows


def lean_set_loop(queries: Queries) -> Recalls:
    """Compute recall by a loop without building a set of the retrieved IDs."""
    rows = []
    for retrieved, reference in queries.pairs():
        relevant = set(reference)
        rows.append([len(relevant.intersection(retrieved[:k])) / len(relevant) for k in KS])
    return rows


def samples_of(queries: Queries) -> list[Sample]:
    """Return the queries as fullrecall's samples."""
    return list(starmap(_sample, queries.pairs()))


def scored(samples: Sequence[Sample]) -> Recalls:
    """Score samples and read recall at all k from each `Result`."""
    return [_recalls(SCORER.score(sample)) for sample in samples]


def scored_with_findings(samples: Sequence[Sample]) -> Recalls:
    """Score samples, read recall at all k, and read every finding."""
    rows = []
    for sample in samples:
        result = SCORER.score(sample)
        rows.append(_recalls(result))
        for _ in result.findings:
            pass
    return rows


def built_and_scored(queries: Queries) -> Recalls:
    """Build a `Sample` for each query and score it."""
    return [
        _recalls(SCORER.score(_sample(retrieved, relevant)))
        for retrieved, relevant in queries.pairs()
    ]


def _recalls(result: Result) -> list[float]:
    return [result[measure] or 0.0 for measure in AT_K]


def evaluated(samples: Sequence[Sample]) -> dict[int, float | None]:
    """Return the means at all k by `evaluate`."""
    summary = evaluate(samples, SCORER, progress=False).summary(*AT_K)["id_recall"]
    return {k: summary[measure].mean for k, measure in zip(KS, AT_K, strict=True)}


def summarized(samples: Sequence[Sample]) -> dict[str, float | None]:
    """Return the means of three measures, nDCG among them, by `evaluate`."""
    summary = evaluate(samples, SCORER, progress=False).summary(*THREE)["id_recall"]
    return {measure.name: summary[measure].mean for measure in THREE}


def mappings_of(queries: Queries) -> list[dict[str, list[str]]]:
    """Return the queries as rows of a file."""
    return [{"retrieved_ids": ids, "expected_ids": wanted} for ids, wanted in queries.pairs()]


def values(rows: Iterable[SampleLike]) -> list[Floats]:
    """Return recall at each k of all rows, as arrays, by `evaluate` and `Report.values`."""
    report = evaluate(rows, SCORER, progress=False)
    return [report.values(measure) for measure in AT_K]


def ours(queries: Queries) -> list[Contender]:
    """Return the hand-written loops, and fullrecall's ways."""
    samples = samples_of(queries)
    return [
        Contender("set loop", lambda: set_loop(queries)),
        Contender("set loop, leaner", lambda: lean_set_loop(queries)),
        Contender(
            "evaluate(…, IdRecall).values(…)",
            lambda: values(mappings_of(queries)),
            remark="end to end",
        ),
        Contender("IdRecall.score", lambda: scored(samples), remark="prepared"),
        Contender(
            "IdRecall.score, all findings read",
            lambda: scored_with_findings(samples),
            remark="prepared",
        ),
        Contender(
            "IdRecall.score, building the Sample",
            lambda: built_and_scored(queries),
            remark="end to end",
        ),
        Contender(
            "evaluate(…, IdRecall).summary()",
            lambda: evaluated(samples),
            remark="prepared; means of 8 measures",
        ),
    ]


def check_ours(queries: Queries) -> None:
    """Raise `ValueError` unless every way of fullrecall gives the set loop's numbers."""
    expected = set_loop(queries)
    samples = samples_of(queries)
    _equal("set loop, leaner", lean_set_loop(queries), expected)
    _equal("IdRecall.score", scored(samples), expected)
    _equal("IdRecall.score, all findings read", scored_with_findings(samples), expected)
    _equal("IdRecall.score, building the Sample", built_and_scored(queries), expected)
    by_row = list(zip(*values(mappings_of(queries)), strict=True))
    _equal("evaluate(…, IdRecall).values(…)", by_row, expected)
    means = [sum(column) / len(queries) for column in zip(*expected, strict=True)]
    mean = evaluated(samples)
    _equal("evaluate", [[mean[k] or 0.0 for k in KS]], [means])


class PytrecEval:
    """The contenders of pytrec_eval, with dictionaries of dictionaries in and out."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        self._evaluator, self._run = self._inputs()

    def contenders(self) -> list[Contender]:
        """Return the contenders: end to end, and on pytrec_eval's own inputs."""
        return [
            Contender("pytrec_eval", self.end_to_end, remark="end to end"),
            Contender(
                "pytrec_eval", lambda: self._evaluator.evaluate(self._run), remark="prepared"
            ),
        ]

    def end_to_end(self) -> Recalls:
        """Build the inputs, evaluate, and read recall at all k."""
        evaluator, run = self._inputs()
        names = [f"recall_{k}" for k in KS]
        results = evaluator.evaluate(run)
        return [[results[query][name] for name in names] for query in run]

    def _inputs(self) -> tuple[Any, dict[str, dict[str, float]]]:
        import pytrec_eval

        measure = f"recall.{','.join(map(str, KS))}"
        return pytrec_eval.RelevanceEvaluator(_qrels(self.queries), {measure}), _run(self.queries)


class IrMeasures:
    """The contenders of ir_measures, with the same dictionaries in, and a stream of values out."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        self._evaluator, self._run = self._inputs()

    def contenders(self) -> list[Contender]:
        """Return the contenders: end to end, and on ir_measures' own inputs."""
        return [
            Contender("ir_measures", self.end_to_end, remark="end to end"),
            Contender(
                "ir_measures",
                lambda: list(self._evaluator.iter_calc(self._run)),
                remark="prepared",
            ),
        ]

    def end_to_end(self) -> Recalls:
        """Build the inputs, evaluate, and read recall at all k."""
        evaluator, run = self._inputs()
        values = {(m.query_id, m.measure["cutoff"]): m.value for m in evaluator.iter_calc(run)}
        return [[values[query, k] for k in KS] for query in run]

    def _inputs(self) -> tuple[Any, dict[str, dict[str, float]]]:
        import ir_measures

        measures = [ir_measures.R @ k for k in KS]
        return ir_measures.evaluator(measures, _qrels(self.queries)), _run(self.queries)


class Ranx:
    """The contenders of ranx, which turns dictionaries into arrays for compiled code."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        self._inputs = self._build()
        self._evaluate(self._inputs)  # compiles

    def contenders(self) -> list[Contender]:
        """Return the contenders: end to end, and on ranx's own inputs."""
        return [
            Contender("ranx", self.end_to_end, remark="end to end, compiled before"),
            Contender(
                "ranx", lambda: self._evaluate(self._inputs), remark="prepared, compiled before"
            ),
        ]

    def end_to_end(self) -> Recalls:
        """Build the inputs, evaluate, and read recall at all k."""
        inputs = self._build()
        values = self._evaluate(inputs)
        by_query = dict(zip(inputs[0].keys(), zip(*values, strict=True), strict=True))
        return [list(map(float, by_query[query])) for query in _names(self.queries)]

    def _build(self) -> tuple[Any, Any]:
        import ranx

        return ranx.Qrels(_qrels(self.queries)), ranx.Run(_run(self.queries))

    def _evaluate(self, inputs: tuple[Any, Any]) -> list[Any]:
        import ranx

        names = [f"recall@{k}" for k in KS]
        values = ranx.evaluate(*inputs, names, return_mean=False)
        return [values[name] for name in names]


class LlamaIndex:
    """The contenders of LlamaIndex's `Recall`, which gets the ranking cut at each k."""

    def __init__(self, queries: Queries) -> None:
        from llama_index.core.evaluation.retrieval.metrics import Recall

        self.queries = queries
        self._metric = Recall()

    def contenders(self) -> list[Contender]:
        """Return the contenders: for the whole list, and for all k."""
        return [
            Contender("LlamaIndex Recall", self.whole, remark="end to end; one value, no k"),
            Contender("LlamaIndex Recall", self.end_to_end, remark="end to end; a call for each k"),
        ]

    def whole(self) -> list[float]:
        """Compute recall over the whole list."""
        return [self._recall(*query) for query in self.queries.pairs()]

    def end_to_end(self) -> Recalls:
        """Compute recall at all k."""
        return [
            [self._recall(retrieved[:k], relevant) for k in KS]
            for retrieved, relevant in self.queries.pairs()
        ]

    def _recall(self, retrieved: list[str], relevant: list[str]) -> float:
        return self._metric.compute(expected_ids=relevant, retrieved_ids=retrieved).score


class Ragas:
    """The contenders of ragas's `IDBasedContextRecall`, without a k, on some queries."""

    def __init__(self, queries: Queries, part: int) -> None:
        from ragas.metrics._context_recall import IDBasedContextRecall

        self.queries = queries.first(part)
        self._share = len(self.queries) / len(queries)
        self._metric = IDBasedContextRecall()
        self._samples = self._build()

    def contenders(self) -> list[Contender]:
        """Return the contenders: whole list and all k, awaited one by one and by `evaluate`."""
        ascore = "ragas, single_turn_ascore"
        return [
            Contender(name, run, share=self._share, remark=remark)
            for name, run, remark in (
                (ascore, self.whole, "end to end; one value, no k"),
                (ascore, lambda: self._each(self._samples), "prepared; one value, no k"),
                (ascore, self.end_to_end, "end to end; a call for each k"),
                (
                    "ragas, evaluate",
                    lambda: self._evaluate(self._samples),
                    "prepared; one value, no k",
                ),
                ("ragas, evaluate", self.evaluate_all, "end to end; a call for each k"),
            )
        ]

    def whole(self) -> list[float]:
        """Compute recall over the whole list: build ragas's samples and score them one by one."""
        return self._each(self._build())

    def end_to_end(self) -> Recalls:
        """Compute recall at all k, on the ranking cut at each k."""
        return list(map(list, zip(*(self._each(self._build(k)) for k in KS), strict=True)))

    def _build(self, k: int = RETRIEVED) -> list[Any]:
        from ragas.dataset_schema import SingleTurnSample

        return [
            SingleTurnSample(retrieved_context_ids=retrieved[:k], reference_context_ids=relevant)
            for retrieved, relevant in self.queries.pairs()
        ]

    def _each(self, samples: Sequence[Any]) -> list[float]:
        async def each() -> list[float]:
            return [await self._metric.single_turn_ascore(sample) for sample in samples]

        return asyncio.run(each())

    def evaluate_all(self) -> Recalls:
        """Compute recall at all k by ragas's `evaluate`."""
        by_k = (self._evaluate(self._build(k))[self._metric.name] for k in KS)
        return list(map(list, zip(*by_k, strict=True)))

    def _evaluate(self, samples: Sequence[Any]) -> Any:
        from ragas import EvaluationDataset
        from ragas import evaluate as ragas_evaluate

        dataset = EvaluationDataset(samples=list(samples))
        return ragas_evaluate(dataset, [self._metric], show_progress=False)


def peers(queries: Queries, part: int) -> list[Contender]:
    """Return the other libraries' contenders; raise `ValueError` if a number differs."""
    expected = set_loop(queries)
    whole = [row[KS.index(RETRIEVED)] for row in expected]
    pytrec, measures, ranx = PytrecEval(queries), IrMeasures(queries), Ranx(queries)
    llama, ragas = LlamaIndex(queries), Ragas(queries, part)
    for peer in (pytrec, measures, ranx, llama):
        _equal(type(peer).__name__, peer.end_to_end(), expected)
    _equal("LlamaIndex, whole", [llama.whole()], [whole])
    _equal("ragas", ragas.end_to_end(), expected[: len(ragas.queries)])
    _equal("ragas, evaluate", ragas.evaluate_all(), expected[: len(ragas.queries)])
    return [
        contender
        for peer in (pytrec, measures, ranx, llama, ragas)
        for contender in peer.contenders()
    ]


def _sample(retrieved: list[str], relevant: list[str]) -> Sample:
    return Sample(retrieved_context_ids=retrieved, reference_context_ids=relevant)


def _names(queries: Queries) -> list[str]:
    return [f"q{number}" for number in range(len(queries))]


def _qrels(queries: Queries) -> dict[str, dict[str, int]]:
    return {
        name: dict.fromkeys(relevant, 1)
        for name, relevant in zip(_names(queries), queries.relevant, strict=True)
    }


def _run(queries: Queries) -> dict[str, dict[str, float]]:
    scores = [1.0 / rank for rank in range(1, RETRIEVED + 1)]
    return {
        name: dict(zip(retrieved, scores, strict=True))
        for name, retrieved in zip(_names(queries), queries.retrieved, strict=True)
    }


def _equal(name: str, got: Sequence[Sequence[float]], expected: Sequence[Sequence[float]]) -> None:
    """Raise `ValueError` unless the numbers are equal but for rounding in the last digits."""
    close = len(got) == len(expected) and all(
        len(ours) == len(theirs)
        and all(abs(one - other) < 1e-12 for one, other in zip(ours, theirs, strict=True))
        for ours, theirs in zip(got, expected, strict=True)
    )
    if not close:
        raise ValueError(f"{name} differs from the set loop")


def main() -> None:
    """Check the numbers, time the contenders, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--part", type=int, default=500, help="how many queries ragas scores")
    parser.add_argument("--no-peers", action="store_true", help="fullrecall and the loops only")
    asked = parser.parse_args()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # No benchmark sends telemetry.
    queries = make(asked.queries)
    check_ours(queries)
    contenders = ours(queries) + ([] if asked.no_peers else peers(queries, asked.part))
    seconds = interleaved(contenders, asked.rounds, CLOCKS[asked.clock])
    units = {"set loop": "set loop", "values": "evaluate(…, IdRecall).values(…) (end to end)"}
    say(comparison(contenders, seconds, units=units, per=len(queries), per_name="query"))
    names = ("pytrec_eval-terrier", "ir-measures", "ranx", "llama-index-core", "ragas")
    if not asked.no_peers:
        say(f"\nragas scored {min(asked.part, len(queries)):,} of the queries; scaled to all.")
    say("\n" + setting("fullrecall", *names))


if __name__ == "__main__":
    main()
