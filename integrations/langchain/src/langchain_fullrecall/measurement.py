"""From what an adapter has read to a result, written once for callers that wait and that await."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias

from fullrecall import Sample
from fullrecall.id_levels import IdsSeen, ids_seen
from fullrecall.result import Result, Status
from fullrecall.retrieval import Retrieval, Retriever, View
from fullrecall.run.retrievers import as_retrieval, failed
from fullrecall.scorers import Scorer
from langchain_fullrecall.references import reads_ids


class Case(NamedTuple):
    """One thing to score: a sample with what was retrieved, or why no retrieval was observed.

    `view` is which list of its record is scored; see `fullrecall.evaluate`.
    """

    sample: Sample
    unseen: str | None = None
    view: View = "contexts"


class Measured(NamedTuple):
    """A sample with its result, and what a human should know besides.

    Where the scorer compares IDs, `ids` is what they tell, and `retrieved` lists them.
    """

    sample: Sample
    result: Result
    hint: str = ""
    ids: IdsSeen | None = None
    retrieved: Sequence[str] = ()


class _Ask(NamedTuple):
    """A sample whose question the retriever is to be asked."""

    sample: Sample


_Steps: TypeAlias = Generator["_Ask | Sample", Any, Measured]
"""Yields what to ask and receives a `Retrieval`; then a sample, and receives its `Result`."""


def measure(case: Case, scorer: Scorer, retriever: Retriever | None = None) -> Measured:
    """Return the result of a case."""
    steps = _steps(case, scorer, asks=retriever is not None)
    reply: Any = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as done:
            measured: Measured = done.value
            return measured
        if isinstance(step, Sample):
            reply = scorer.score(step)
        elif retriever is not None:
            reply = _retrieved(retriever, step.sample)


async def ameasure(case: Case, scorer: Scorer, retriever: Retriever | None = None) -> Measured:
    """Return the same as `measure`; nothing in it blocks."""
    steps = _steps(case, scorer, asks=retriever is not None)
    reply: Any = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as done:
            measured: Measured = done.value
            return measured
        if isinstance(step, Sample):
            ascore = getattr(scorer, "ascore", None)
            scoring = asyncio.to_thread(scorer.score, step) if ascore is None else ascore(step)
            reply = await scoring
        elif retriever is not None:
            try:
                reply = as_retrieval(await retriever.aretrieve(step.sample))
            except Exception as error:  # noqa: BLE001 - whatever a retriever raises: it failed
                reply = failed(error)


def unscored(scorer: Scorer, reason: str, sample: Sample | None = None) -> Measured:
    """Return the result of what could not be measured."""
    sample = sample or Sample()
    result = Result(scorer.method, Status.UNSCORED, note=reason).asked_of(sample)
    return Measured(sample, result)


def _retrieved(retriever: Retriever, sample: Sample) -> Retrieval:
    try:
        if getattr(retriever, "asynchronous", False):
            return asyncio.run(retriever.aretrieve(sample))
        return as_retrieval(retriever.retrieve(sample))
    except Exception as error:  # noqa: BLE001 - whatever a retriever raises: it failed
        return failed(error)


def _steps(case: Case, scorer: Scorer, *, asks: bool) -> _Steps:
    sample, unseen, view = case
    if asks and unseen is not None:
        if sample.user_input is None:
            why = "no retrieval observed, and no question to retrieve with"
            return unscored(scorer, why, sample)
        sample = sample.with_retrieval((yield _Ask(sample)))
        unseen = None
    if unseen is not None:
        return unscored(scorer, f"no retrieval observed: {unseen}", sample)
    sample = sample.in_view(view)
    result = yield sample
    if not reads_ids(scorer):
        return Measured(sample, result)
    seen = ids_seen(sample)
    retrieved = tuple(own or "(no ID)" for own in sample.retrieved_context_ids or ())
    return Measured(sample, result, seen.hint(sample), seen, retrieved)
