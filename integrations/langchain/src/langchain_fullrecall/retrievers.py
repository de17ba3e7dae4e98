"""Running retrievers over samples, outside of any eval run."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from contextlib import aclosing, closing
from typing import Any, NamedTuple

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs

import fullrecall
from fullrecall import InputError, ParameterError, Report, Sample, Scorer, aevaluate, evaluate
from fullrecall.evaluation.progress import ACounted, Counted
from fullrecall.evaluation.run import SampleLike, as_samples, check_scorers
from fullrecall.evaluation.side_by_side import in_tasks, in_threads
from fullrecall.result import check_k
from fullrecall.retrieval import calls_of
from langchain_fullrecall.asking import (
    RetrieverLike,
    aretrieve,
    as_retriever,
    is_async_only,
    retrieve,
)
from langchain_fullrecall.documents import DocumentReader, IdKey
from langchain_fullrecall.ids import IdLevelWarning, IdWatch
from langchain_fullrecall.references import reads_ids
from langchain_fullrecall.retrieval import Retrieval
from langchain_fullrecall.stages import RetrievalTrace, observed


def retrieved(
    retriever: RetrieverLike,
    samples: Iterable[SampleLike],
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    max_concurrency: int = 16,
    config: RunnableConfig | None = None,
) -> Generator[Sample]:
    """Yield each sample, in order, with what `retriever` brings for its `user_input`.

    `Sample.stages` says what the retrievers, compressors and steps inside of it handed on, as
    seen in the same call. Up to `max_concurrency` questions are asked at the same time, in
    threads; with 1 in this very thread. `config` goes with every call. How often a failing
    retriever is asked again is for the framework to say: `retriever.with_retry()`.

    Where the retriever raises, or a sample asks nothing, the sample has a `retrieval_error`.
    Raises `ParameterError` for what is no retriever, `InputError` for what is no sample.
    """
    asking = _Asking.of(retriever, DocumentReader(id_key, source_key, collapse), config)
    if is_async_only(asking.retriever):
        raise ParameterError(
            "the retriever is an async function: aretrieved and aevaluate_retriever await it"
        )
    return in_threads(asking.ask, as_samples(samples), _checked(max_concurrency))


def aretrieved(
    retriever: RetrieverLike,
    samples: Iterable[SampleLike],
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    max_concurrency: int = 16,
    config: RunnableConfig | None = None,
) -> AsyncGenerator[Sample]:
    """Yield the same as `retrieved`, by `ainvoke`, without blocking the event loop."""
    asking = _Asking.of(retriever, DocumentReader(id_key, source_key, collapse), config)
    return in_tasks(asking.aask, as_samples(samples), _checked(max_concurrency))


def evaluate_retriever(
    retriever: RetrieverLike,
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    max_concurrency: int = 16,
    config: RunnableConfig | None = None,
    **options: Any,
) -> Report:
    """Ask `retriever` every sample's question, and return `fullrecall.evaluate`'s report.

    The first parameters are those of `retrieved`, `max_concurrency` and `options` are
    `evaluate`'s own. A sample is asked and scored as it is read: with `keep="summary"` memory
    stays flat however many samples a stream yields. One for which the retriever raises is in the
    report as "unscored", with the error. `evaluate_stages(row.sample for row in report)`, with
    the same scorers, tells what each stage of the retriever had.

    Warns with `IdLevelWarning` if no reference ID was retrieved in the whole run, and names the
    metadata keys that would have matched; where there are none, from five samples on. Raises what
    `evaluate` and `retrieved` raise.
    """
    scorers = check_scorers(scorers)
    asked = retrieved(
        retriever,
        samples,
        id_key=id_key,
        source_key=source_key,
        collapse=collapse,
        max_concurrency=max_concurrency,
        config=config,
    )
    watch = IdWatch()
    found = Counted((watch.noted(sample) for sample in asked), samples)
    with closing(asked):
        report = evaluate(found, scorers, max_concurrency=max_concurrency, **options)
    _warn_of_wrong_level(watch, scorers)
    return report


async def aevaluate_retriever(
    retriever: RetrieverLike,
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    max_concurrency: int = 16,
    config: RunnableConfig | None = None,
    **options: Any,
) -> Report:
    """Return the same as `evaluate_retriever`, without blocking the event loop."""
    scorers = check_scorers(scorers)
    asked = aretrieved(
        retriever,
        samples,
        id_key=id_key,
        source_key=source_key,
        collapse=collapse,
        max_concurrency=max_concurrency,
        config=config,
    )
    watch = IdWatch()
    found = ACounted((watch.noted(sample) async for sample in asked), samples)
    async with aclosing(asked):
        report = await aevaluate(found, scorers, max_concurrency=max_concurrency, **options)
    _warn_of_wrong_level(watch, scorers)
    return report


class _Asking(NamedTuple):
    """How samples are put to a retriever."""

    retriever: Runnable[str, Any]
    reader: DocumentReader
    config: RunnableConfig | None

    @classmethod
    def of(
        cls, retriever: RetrieverLike, reader: DocumentReader, config: RunnableConfig | None
    ) -> _Asking:
        return cls(observed(as_retriever(retriever)), reader, config)

    def ask(self, sample: Sample) -> Sample:
        """Return the sample with what the retriever brought, stage by stage."""
        if sample.user_input is None:
            return _unasked(sample)
        trace = RetrievalTrace()
        config = merge_configs(self.config, {"callbacks": [trace]})
        found = retrieve(self.retriever, sample.user_input, self.reader, config)
        return self._told(sample, found, trace)

    async def aask(self, sample: Sample) -> Sample:
        """Return the same as `ask`, by `ainvoke`."""
        if sample.user_input is None:
            return _unasked(sample)
        trace = RetrievalTrace()
        config = merge_configs(self.config, {"callbacks": [trace]})
        found = await aretrieve(self.retriever, sample.user_input, self.reader, config)
        return self._told(sample, found, trace)

    def _told(self, sample: Sample, found: Retrieval, trace: RetrievalTrace) -> Sample:
        try:
            stages = trace.stages(self.reader)
        except InputError as error:
            return sample.with_retrieval(fullrecall.Retrieval(error=f"reading a stage: {error}"))
        record = fullrecall.Retrieval(error=found.error, calls=calls_of(stages, found.contexts))
        plain = sample.to_dict()
        plain.pop("retrieved_context_ids", None)
        return Sample(
            **{
                **plain,
                "retrieved_contexts": found.contexts,
                "retrieved_context_ids": found.ids,
                "retrieval": record,
            }
        )


def _checked(max_concurrency: int) -> int:
    return check_k(max_concurrency, "max_concurrency")


def _unasked(sample: Sample) -> Sample:
    return sample.with_retrieval(
        fullrecall.Retrieval(error="the sample has no user_input to ask it")
    )


def _warn_of_wrong_level(watch: IdWatch, scorers: Sequence[Scorer]) -> None:
    problem = watch.problem() if any(map(reads_ids, scorers)) else None
    if problem is not None:
        warnings.warn(problem, IdLevelWarning, stacklevel=3)
