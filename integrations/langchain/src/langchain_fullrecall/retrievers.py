"""Running retrievers over samples, outside of any eval run."""

from __future__ import annotations

import asyncio
import warnings
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ContextThreadPoolExecutor, merge_configs

from fullrecall import InputError, ParameterError, Report, Sample, Scorer, evaluate
from fullrecall.evaluation.progress import known_length, with_progress
from fullrecall.evaluation.run import aevaluate, as_samples, check_scorers
from fullrecall.identifiers import shown
from fullrecall.result import check_k
from langchain_fullrecall.documents import DocumentReader, IdKey
from langchain_fullrecall.ids import IdLevelWarning, id_mismatch, ids_seen
from langchain_fullrecall.outputs import read_output
from langchain_fullrecall.references import reads_ids
from langchain_fullrecall.retrieval import Retrieval, brief
from langchain_fullrecall.stages import RetrievalTrace, observed

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

RetrieverLike: TypeAlias = (
    "Runnable[str, Any] | VectorStore | Callable[[str], Any] | Callable[[str], Awaitable[Any]]"
)
"""A retriever; a runnable or a function that takes a question and returns documents, or a chain's
output that holds them; or a vector store, which is asked through its `as_retriever()`."""


def as_retriever(retriever: RetrieverLike) -> Runnable[str, Any]:
    """Return what answers `invoke(question)`; raise `ParameterError` for what does not."""
    if isinstance(retriever, Runnable):
        return retriever
    made = getattr(retriever, "as_retriever", None)
    if isinstance(retriever, type) or not (made is not None or callable(retriever)):
        raise ParameterError(
            "a retriever is a Runnable, a VectorStore or a function of the question, got "
            f"{shown(retriever)}"
        )
    if made is None:
        return RunnableLambda(cast("Callable[[str], Any]", retriever))
    found: Runnable[str, Any] = made()
    return found


def retrieve(
    retriever: Runnable[str, Any],
    question: str,
    reader: DocumentReader,
    config: RunnableConfig | None = None,
) -> Retrieval:
    """Return what a retriever brings for a question; what it raises is in the result."""
    try:
        return _read(retriever.invoke(question, config), reader)
    except Exception as error:  # noqa: BLE001 - whatever a retriever raises: it failed
        return Retrieval(error=brief(error))


async def aretrieve(
    retriever: Runnable[str, Any],
    question: str,
    reader: DocumentReader,
    config: RunnableConfig | None = None,
) -> Retrieval:
    """Return the same as `retrieve`, by `ainvoke`."""
    try:
        return _read(await retriever.ainvoke(question, config), reader)
    except Exception as error:  # noqa: BLE001 - whatever a retriever raises: it failed
        return Retrieval(error=brief(error))


def retrieved(
    retriever: RetrieverLike,
    samples: Iterable[Sample | Mapping[str, Any]],
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    max_concurrency: int = 16,
    config: RunnableConfig | None = None,
) -> Iterator[Sample]:
    """Yield each sample, in order, with what `retriever` brings for its `user_input`.

    `retrieval_stages` says what the retrievers, compressors and steps inside of it handed on, as
    seen in the same call. Up to `max_concurrency` questions are asked at the same time, in
    threads; with 1 in this very thread. `config` goes with every call. How often a failing
    retriever is asked again is for the framework to say: `retriever.with_retry()`.

    Where the retriever raises, or a sample asks nothing, the sample has a `retrieval_error`.
    Raises `ParameterError` for what is no retriever, `InputError` for what is no sample.
    """
    asking = _Asking.of(retriever, DocumentReader(id_key, source_key, collapse), config)
    return _in_threads(asking.ask, as_samples(samples), _checked(max_concurrency))


def aretrieved(
    retriever: RetrieverLike,
    samples: Iterable[Sample | Mapping[str, Any]],
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    max_concurrency: int = 16,
    config: RunnableConfig | None = None,
) -> AsyncIterator[Sample]:
    """Yield the same as `retrieved`, by `ainvoke`, without blocking the event loop."""
    asking = _Asking.of(retriever, DocumentReader(id_key, source_key, collapse), config)
    return _in_tasks(asking.aask, as_samples(samples), _checked(max_concurrency))


def evaluate_retriever(
    retriever: RetrieverLike,
    samples: Iterable[Sample | Mapping[str, Any]],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    max_concurrency: int = 16,
    config: RunnableConfig | None = None,
    progress: bool = True,
    **options: Any,
) -> Report:
    """Ask `retriever` every sample's question, and return `fullrecall.evaluate`'s report.

    The first parameters are those of `retrieved`, `max_concurrency` and `options` are
    `evaluate`'s own. A sample for which the retriever raises is in the report as "unscored", with
    the error. `evaluate_stages(row.sample for row in report)`, with the same scorers, tells what
    each stage of the retriever had.

    Warns with `IdLevelWarning` if no reference ID was retrieved in the whole run, and names the
    metadata keys that would have matched. Raises what `evaluate` and `retrieved` raise.
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
    total = known_length(samples)
    found = list(with_progress(asked, show=progress, total=total, unit="question"))
    _warn_of_wrong_level(found, scorers)
    return evaluate(found, scorers, max_concurrency=max_concurrency, progress=progress, **options)


async def aevaluate_retriever(
    retriever: RetrieverLike,
    samples: Iterable[Sample | Mapping[str, Any]],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    collapse: bool = False,
    max_concurrency: int = 16,
    config: RunnableConfig | None = None,
    progress: bool = True,
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
    found = [sample async for sample in asked]
    _warn_of_wrong_level(found, scorers)
    return await aevaluate(
        found, scorers, max_concurrency=max_concurrency, progress=progress, **options
    )


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
            stages = trace.stages(self.reader) or None
        except Exception as error:  # noqa: BLE001 - a user's `id_key` may raise anything
            return sample.with_retrieval(None, error=f"reading a stage: {brief(error)}")
        seen = sample.with_retrieval(found.contexts, error=found.error, stages=stages)
        if found.ids is None:
            return seen
        return Sample(**seen.to_dict(), retrieved_context_ids=found.ids)


def _checked(max_concurrency: int) -> int:
    return check_k(max_concurrency, "max_concurrency")


def _unasked(sample: Sample) -> Sample:
    return sample.with_retrieval(None, error="the sample has no user_input to ask it")


def _in_threads(
    ask: Callable[[Sample], Sample], samples: Iterator[Sample], at_once: int
) -> Iterator[Sample]:
    """Yield each sample asked, in order; no more than `at_once` are read ahead."""
    if at_once == 1:
        yield from map(ask, samples)
        return
    with ContextThreadPoolExecutor(at_once) as executor:
        pending = deque(executor.submit(ask, sample) for sample in islice(samples, at_once))
        try:
            while pending:
                done = pending.popleft().result()
                pending += [executor.submit(ask, sample) for sample in islice(samples, 1)]
                yield done
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


async def _in_tasks(
    ask: Callable[[Sample], Coroutine[Any, Any, Sample]], samples: Iterator[Sample], at_once: int
) -> AsyncIterator[Sample]:
    """Yield the same as `_in_threads`, in tasks; none of them outlives the iterator."""
    pending = deque(asyncio.create_task(ask(sample)) for sample in islice(samples, at_once))
    try:
        while pending:
            done = await pending[0]
            pending.popleft()
            pending += [asyncio.create_task(ask(sample)) for sample in islice(samples, 1)]
            yield done
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def _warn_of_wrong_level(samples: Iterable[Sample], scorers: Sequence[Scorer]) -> None:
    problem = id_mismatch(map(ids_seen, samples)) if any(map(reads_ids, scorers)) else None
    if problem is not None:
        warnings.warn(problem, IdLevelWarning, stacklevel=3)


def _read(output: object, reader: DocumentReader) -> Retrieval:
    """Return what a retriever's output holds; raise `InputError` where it holds no documents."""
    read = read_output(output, reader)
    if read.items is not None:
        return Retrieval(reader.contexts(read.items))
    if read.retrieval is None:
        raise InputError(f"it returned no documents, but {type(output).__name__} {shown(output)}")
    Sample(**read.retrieval.sample_fields())  # IDs that do not fit the documents fail here
    return read.retrieval
