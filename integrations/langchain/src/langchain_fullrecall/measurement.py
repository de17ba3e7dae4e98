"""From what an adapter has read to a result, written once for callers that wait and that await."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fullrecall import Result, Sample, Scorer, Status
from langchain_fullrecall.asking import aretrieve, retrieve
from langchain_fullrecall.ids import IdsSeen, id_hint, ids_seen
from langchain_fullrecall.references import reads_ids
from langchain_fullrecall.retrieval import Retrieval

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

    from langchain_fullrecall.documents import DocumentReader


class Case(NamedTuple):
    """One thing to score: what was retrieved, the question, and the other fields of a sample."""

    retrieval: Retrieval
    question: str | None
    fields: dict[str, Any]


class Measured(NamedTuple):
    """A result, and what a human should know besides.

    Where the scorer compares IDs, `ids` is what they tell, and `retrieved` lists them.
    """

    result: Result
    hint: str = ""
    ids: IdsSeen | None = None
    retrieved: Sequence[str] = ()


class Asking(NamedTuple):
    """The retriever that is asked where a case shows no retrieval, and how it is asked."""

    retriever: Runnable[str, Any]
    reader: DocumentReader
    config: RunnableConfig | None = None


_Steps: TypeAlias = Generator[str | Sample, Any, Measured]
"""Yields a question and receives a `Retrieval`; then a sample, and receives its `Result`."""


def measure(case: Case, scorer: Scorer, asking: Asking | None = None) -> Measured:
    """Return the result of a case; raise `InputError` where its fields make no sample."""
    steps = _steps(case, scorer, asks=asking is not None)
    reply: object = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as done:
            measured: Measured = done.value
            return measured
        if isinstance(step, Sample):
            reply = scorer.score(step)
        elif asking is not None:
            reply = retrieve(asking.retriever, step, asking.reader, asking.config)


async def ameasure(case: Case, scorer: Scorer, asking: Asking | None = None) -> Measured:
    """Return the same as `measure`; nothing in it blocks."""
    steps = _steps(case, scorer, asks=asking is not None)
    reply: object = None
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
        elif asking is not None:
            reply = await aretrieve(asking.retriever, step, asking.reader, asking.config)


def unscored(scorer: Scorer, reason: str) -> Measured:
    """Return the result of what could not be measured."""
    return Measured(Result(scorer.method, Status.UNSCORED, note=reason))


def _steps(case: Case, scorer: Scorer, *, asks: bool) -> _Steps:
    retrieval = case.retrieval
    if asks and retrieval.unseen is not None:
        if case.question is None:
            return unscored(scorer, "no retrieval observed: there is no question to ask for one")
        retrieval = yield case.question
    if retrieval.unseen is not None:
        return unscored(scorer, f"no retrieval observed: {retrieval.unseen}")
    sample = Sample(user_input=case.question, **retrieval.sample_fields(), **case.fields)
    result = yield sample
    if not reads_ids(scorer):
        return Measured(result)
    seen = ids_seen(sample)
    retrieved = tuple(own or "(no ID)" for own in sample.retrieved_context_ids or ())
    return Measured(result, id_hint(sample, seen), seen, retrieved)
