"""The published table's rows of recall by text, beside bare RapidFuzz and ragas."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import text_recall
from figures import OURS
from side_by_side import Contender
from task import Task, installed

from fullrecall import Sample, evaluate
from fullrecall.measures import Recall


def text_tasks(samples: int, *, peers: bool) -> list[Task]:
    """Return the rows of text recall; raise `ValueError` if decisions differ."""
    texts = text_recall.make(samples)
    text_recall.check(texts, text_recall.rapidfuzz_decisions)
    bare = Contender("bare loop", lambda: text_recall.rapidfuzz_decisions(texts))
    cut = Contender("bare loop, cut at the threshold", lambda: _cut_decisions(texts))
    others = installed("ragas", lambda: [_ragas_texts(texts)]) if peers else []
    summary = Contender(OURS, lambda: _text_summary(texts))
    return [
        Task(
            "recall by text; bare RapidFuzz = 1",
            bare,
            [Contender(OURS, lambda: _text_mean(texts)), *others],
            [cut],
            goal="≤ 1.2",
            per=samples,
        ),
        Task(
            "recall by text at 4 k and over all, evaluate().summary(); bare RapidFuzz = 1",
            bare,
            [summary, *others],
            [cut],
            per=samples,
        ),
        Task(
            "the same by the wall, on all cores; bare RapidFuzz = 1",
            bare,
            [summary, *others],
            [cut],
            per=samples,
            clock="wall",
        ),
    ]


def _samples(texts: Sequence[text_recall.Texts]) -> list[Sample]:
    return [
        Sample(retrieved_contexts=one.retrieved, reference_contexts=one.references) for one in texts
    ]


def _text_mean(texts: Sequence[text_recall.Texts]) -> float | None:
    report = evaluate(_samples(texts), text_recall.SCORER, progress=False)
    return report.summary(Recall)[0].mean


def _text_summary(texts: Sequence[text_recall.Texts]) -> str:
    return str(evaluate(_samples(texts), text_recall.SCORER, progress=False).summary().to_dict())


def _cut_decisions(texts: Sequence[text_recall.Texts]) -> list[list[bool]]:
    """Decide each reference in a loop that compares equal texts first and may stop early."""
    from rapidfuzz.distance import Levenshtein

    least = text_recall.THRESHOLD
    return [
        [
            wanted in one.retrieved
            or any(
                Levenshtein.normalized_similarity(wanted, chunk, score_cutoff=least) > least
                for chunk in one.retrieved
            )
            for wanted in one.references
        ]
        for one in texts
    ]


def _ragas_texts(texts: Sequence[text_recall.Texts]) -> Contender:
    from ragas.dataset_schema import SingleTurnSample

    metric = text_recall._ragas_metric()

    async def each() -> list[float]:
        return [
            await metric.single_turn_ascore(
                SingleTurnSample(
                    retrieved_contexts=one.retrieved, reference_contexts=one.references
                )
            )
            for one in texts
        ]

    return Contender("ragas", lambda: asyncio.run(each()))
