"""Measure a sample that an adapter has read, for synchronous and asynchronous callers."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from fullrecall import IdRecall, Sample
from fullrecall.diagnosis import id_hint
from fullrecall.run.alone import SingleScoring
from fullrecall.run.retrievers import as_retrieval, failed, is_asynchronous
from fullrecall.samples import Retrieval, Retriever
from fullrecall.scorers import Result, Scorer, Status


class ObservedSample(NamedTuple):
    """A sample to score.

    `unseen` is the reason why no retrieval was observed, and `problem` the reason why the sample
    cannot be read; otherwise, they are None.
    """

    sample: Sample
    unseen: str | None = None
    problem: str | None = None

    @property
    def may_be_asked(self) -> bool:
        """Whether a retriever can be asked, because no retrieval was observed."""
        return self.unseen is not None and self.sample.user_input is not None

    def answered(self, retrieval: Retrieval) -> ObservedSample:
        """Return the sample with a retriever's record."""
        return self._replace(sample=self.sample.with_retrieval(retrieval), unseen=None)


class Measured(NamedTuple):
    """A sample with its result.

    `hint` is a remark about the sample's IDs, for the comment of the feedback, or "". `by_id` is
    True if the scorer compares IDs.
    """

    sample: Sample
    result: Result
    hint: str = ""
    by_id: bool = False


def measure(
    case: ObservedSample, scoring: SingleScoring, retriever: Retriever | None = None
) -> Measured:
    """Return the result of a sample; without an observed retrieval, ask the `retriever`, if any."""
    if retriever is not None and case.may_be_asked:
        if is_asynchronous(retriever):
            return asyncio.run(ameasure(case, scoring, retriever))
        try:
            case = case.answered(as_retrieval(retriever.retrieve(case.sample)))
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises: it failed
            case = case.answered(failed(error))
    if case.unseen or case.problem:
        return _unscored(case, scoring.scorer, retriever)
    sample = scoring.viewed(case.sample)
    return _explained(scoring.scorer, sample, scoring.score(sample))


async def ameasure(
    case: ObservedSample, scoring: SingleScoring, retriever: Retriever | None = None
) -> Measured:
    """Return the result of `measure`, without blocking the event loop."""
    if retriever is not None and case.may_be_asked:
        try:
            case = case.answered(as_retrieval(await retriever.aretrieve(case.sample)))
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises: it failed
            case = case.answered(failed(error))
    if case.unseen or case.problem:
        return _unscored(case, scoring.scorer, retriever)
    sample = scoring.viewed(case.sample)
    return _explained(scoring.scorer, sample, await scoring.ascore(sample))


def _unscored(case: ObservedSample, scorer: Scorer, retriever: Retriever | None) -> Measured:
    """Return an unscored result, with the reason why the sample was not measured."""
    unseen = case.unseen if retriever is None else "no question to retrieve with"
    note = case.problem or f"no retrieval observed: {unseen}"
    result = Result(scorer.method, Status.UNSCORED, note=note).asked_of(case.sample)
    return Measured(case.sample, result)


def _explained(scorer: Scorer, sample: Sample, result: Result) -> Measured:
    if not isinstance(scorer, IdRecall):
        return Measured(sample, result)
    return Measured(sample, result, id_hint(sample) or "", by_id=True)
