"""`complete`: judge what nobody labeled, and say how complete the references are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from fullrecall.errors import ParameterError
from fullrecall.evaluation.run import SampleLike, as_samples
from fullrecall.judges.flow import side_by_side
from fullrecall.judges.judge import Flow, Judge
from fullrecall.parameters import check_k
from fullrecall.run.budget import models_of
from fullrecall.run.drivers import retrieved
from fullrecall.run.retrievers import RetrieverLike
from fullrecall.sample import Sample
from fullrecall.testset.completed import CompletedSet
from fullrecall.testset.execution import ModelOptions, Plan, carried_out
from fullrecall.testset.pool import Pair, Pool, Ranked


def complete(
    samples: Iterable[SampleLike],
    retrievers: Mapping[str, RetrieverLike],
    judge: Judge,
    *,
    depth: int = 20,
    seed: int = 0,
    **options: Unpack[ModelOptions],
) -> CompletedSet:
    """Pool what several retrievers return, judge what nobody labeled, and draw what to label.

    `retrievers` are, by their names, whatever `evaluate` takes: functions of the question, or
    `observed` chains, graphs and engines; asked for `depth` contexts where they take a `k`.
    Every retriever that is to be compared belongs here. All of their first `depth` that have a
    text are judged; people's labels of a sample then say how complete the references are. Nothing
    is said of what no retriever has there.

    - `judge`: an `LLMJudge`, or any other.
    - `options`: those of `evaluate`: `store`, `budget`, `max_concurrency`, … With a store, the
      same call again costs nothing: run it once more when the labels are there.

    Raises `ParameterError` for arguments out of range, and `InputError` for what is no sample.
    """
    check_k(depth, "depth")
    if not all(hasattr(judge, method) for method in ("attribute", "relevance")):
        raise ParameterError(f"judge: expected a Judge, got {type(judge).__name__}")
    if not isinstance(retrievers, Mapping) or not retrievers:
        raise ParameterError('retrievers: expected a mapping, such as {"bm25": search}')
    parsed = list(as_samples(samples))
    limits = options.get("max_concurrency", 16), options.get("timeout", 60.0)
    lists = [
        [Ranked.of(sample, depth) for sample in retrieved(parsed, retriever, depth, *limits)]
        for retriever in retrievers.values()
    ]
    # That lists overlap says nothing of what all of them miss: on Cranfield, capture and recapture
    # put a completeness of .57 at .93. So all of it is judged, and people label a sample.
    plan = _judged(parsed, Pool.of(parsed, lists), judge)
    pool, spent = carried_out(plan, models_of(judge), options)
    return CompletedSet(parsed, pool, depth, tuple(retrievers), seed, spent=spent)


def _judged(samples: Sequence[Sample], pool: Pool, judge: Judge) -> Plan[list[Pair], Pool]:
    """Judge the whole frame, question by question."""
    to_judge = [[pair for pair in pairs if pair.is_open] for pairs in pool.pairs]
    questions = [number for number, pairs in enumerate(to_judge) if pairs]
    outcomes = yield [
        _assessed(judge, samples[number], pool.targets[number].claims, to_judge[number])
        for number in questions
    ]
    for number, outcome in zip(questions, outcomes, strict=True):
        without_verdict = [replace(pair, problem=outcome.problem) for pair in to_judge[number]]
        to_judge[number] = outcome.value or without_verdict
    pairs = []
    for own, judged in zip(pool.pairs, map(iter, to_judge), strict=True):
        pairs.append([next(judged) if pair.is_open else pair for pair in own])
    return replace(pool, pairs=pairs)


def _assessed(
    judge: Judge, sample: Sample, claims: Sequence[str], pairs: Sequence[Pair]
) -> Flow[list[Pair]]:
    """Return pairs with the verdict on each text.

    All texts are judged by their relevance first, together. Where the question has claims, each
    text that may be relevant is then judged alone: it counts if it supports a whole claim.
    """
    texts = [pair.context.text or "" for pair in pairs]
    reference = sample.reference or " ".join(claims) or None
    question = sample.user_input
    screened = yield from judge.relevance(texts, question=question, reference=reference)
    near = [at for at, verdict in enumerate(screened) if verdict.helps and claims]
    # Alone: beside others a text gets credit for what only all of them together support.
    attributed = yield from side_by_side(
        [judge.attribute(claims, [texts[at]], question=question) for at in near]
    )
    assessed = []
    for pair, verdict in zip(pairs, screened, strict=True):
        relevant = None if verdict.label is None else verdict.label == "supported"
        assessed.append(replace(pair, relevant=relevant, problem=verdict.problem))
    for at, verdicts in zip(near, attributed, strict=True):
        supported = frozenset(
            n for n, verdict in enumerate(verdicts) if verdict.label == "supported"
        )
        problems = [verdict.problem for verdict in verdicts if verdict.label is None]
        is_silent = bool(problems) and not supported
        assessed[at] = replace(
            pairs[at],
            relevant=None if is_silent else bool(supported),
            claims=supported,
            problem=problems[0] if is_silent else "",
        )
    return assessed
