"""Random judgments and runs, with ties, grades, and queries that only one side has."""

from __future__ import annotations

from random import Random

Numbers = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

GRADES = (-1, 0, 0, 0, 1, 1, 2, 3, 4)


def qrels_and_run(rng: Random, queries: int, *, least_grade: int = -1) -> tuple[Numbers, Scores]:
    """Return judgments and a run of some queries, of which either side lacks a few."""
    documents = [f"d{number}" for number in range(rng.randint(3, 30))]
    qrels: Numbers = {}
    run: Scores = {}
    for query in map(str, range(queries)):
        judged = rng.sample(documents, rng.randint(1, len(documents)))
        grades = [grade for grade in GRADES if grade >= least_grade]
        if rng.random() < 0.9:
            qrels[query] = {name: rng.choice(grades) for name in judged}
        returned = rng.sample(documents, rng.randint(1, len(documents)))
        # Few distinct scores make ties; two of them differ in double precision alone.
        scores = [rng.choice((0.5, 1, 1 + 1e-9, 2, -3.25)) for _ in returned]
        if rng.random() < 0.3:
            scores = [rng.random() for _ in returned]
        if rng.random() < 0.9:
            run[query] = dict(zip(returned, map(float, scores), strict=True))
    return qrels, run


def merged(rng: Random, count: int, *, least_grade: int = -1) -> tuple[Numbers, Scores]:
    """Return the queries of so many random runs as one: `41` is query 1 of run 4."""
    all_qrels: Numbers = {}
    all_runs: Scores = {}
    for number in range(count):
        qrels, run = qrels_and_run(rng, rng.randint(1, 5), least_grade=least_grade)
        all_qrels |= {f"{number}{query}": grades for query, grades in qrels.items()}
        all_runs |= {f"{number}{query}": scores for query, scores in run.items()}
    return all_qrels, all_runs


def untied(run: Scores) -> Scores:
    """Return a run of the same documents in which no two have one score."""
    return {
        query: {name: score + 9.0 * n for n, (name, score) in enumerate(row.items())}
        for query, row in run.items()
    }
