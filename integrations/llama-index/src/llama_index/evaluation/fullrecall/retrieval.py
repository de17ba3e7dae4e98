"""Samples with what a LlamaIndex retriever or query engine brings for their questions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall import InputError, ParameterError, Report, Retrieval, Sample, Scorer
from fullrecall.evaluation import run
from fullrecall.evaluation.progress import ACounted, Counted
from fullrecall.evaluation.run import SampleLike, as_samples, check_scorers
from fullrecall.evaluation.side_by_side import in_tasks, in_threads
from fullrecall.result import check_k
from llama_index.evaluation.fullrecall.attaching import Capture, capture_retrievals
from llama_index.evaluation.fullrecall.carried import Carried, carried
from llama_index.evaluation.fullrecall.mismatch import MismatchWatch
from llama_index.evaluation.fullrecall.nodes import IdKey, NodeLike, NodeReader
from llama_index.evaluation.fullrecall.refusing import got
from llama_index.evaluation.fullrecall.responses import is_response, response_text


def retrieved(
    retriever: BaseRetriever,
    samples: Iterable[SampleLike],
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    max_concurrency: int = 16,
) -> Generator[Sample]:
    """Yield each sample, in order, with what `retriever.retrieve(sample.user_input)` brings.

    Up to `max_concurrency` questions are asked at the same time, in threads; with 1, one by one
    in this very thread. `id_key`, `metadata_mode`, `offsets` and `expand` are those of
    `contexts`. `Sample.stages` has what the retrievers brought that this one asks, if any.

    Where the retriever raises, the sample says so in `retrieval_error`, scorers leave it
    unscored, and the others go on. Warns at the end where no expected ID was retrieved, but some
    are known under another key. Raises `ParameterError` for a `retriever` that is none,
    `InputError`, naming the position, for an item that is no sample.
    """
    reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)
    return _watched(_Retriever(retriever, reader), samples, check_k(max_concurrency, _AT_ONCE))


def aretrieved(
    retriever: BaseRetriever,
    samples: Iterable[SampleLike],
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    max_concurrency: int = 16,
) -> AsyncGenerator[Sample]:
    """Yield the same as `retrieved`, by `aretrieve`, without blocking the event loop."""
    reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)
    return _awatched(_Retriever(retriever, reader), samples, check_k(max_concurrency, _AT_ONCE))


def answered(
    engine: BaseQueryEngine,
    samples: Iterable[SampleLike],
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    max_concurrency: int = 16,
) -> Generator[Sample]:
    """Yield each sample with what `engine.query(sample.user_input)` gave its model, and answered.

    `retrieved_contexts` is what the answer was made from, after reranking and filtering, as seen
    in the call itself: nodes that the engine writes of its own, such as answers to sub-questions,
    never count. `Sample.stages` has what came before: "retrieved", and what each
    postprocessor handed on; `fullrecall.evaluate_stages` scores them all. Where nothing was seen
    of a retrieval, the source nodes of the response count; where it has none either, the sample
    is left unscored. A streamed answer is not read, and has no text.

    Everything else is as for `retrieved`. An engine that only retrieves is made with
    `response_synthesizer=NoText(llm=MockLLM())`; `response_mode="no_text"` looks up
    `Settings.llm`, and wants a key, though no model is asked.
    """
    reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)
    return _watched(_Engine(engine, reader), samples, check_k(max_concurrency, _AT_ONCE))


def aanswered(
    engine: BaseQueryEngine,
    samples: Iterable[SampleLike],
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    max_concurrency: int = 16,
) -> AsyncGenerator[Sample]:
    """Yield the same as `answered`, by `aquery`, without blocking the event loop."""
    reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)
    return _awatched(_Engine(engine, reader), samples, check_k(max_concurrency, _AT_ONCE))


def evaluate_retriever(
    retriever: BaseRetriever,
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    max_concurrency: int = 16,
    **options: Any,
) -> Report:
    """Return the report of `scorers` over what a retriever brings for each sample's question.

    The parameters are those of `retrieved`; `max_concurrency` and `options` go to
    `fullrecall.evaluate`, and what either raises is raised.
    """
    scorers = check_scorers(scorers)
    asked = retrieved(
        retriever,
        samples,
        id_key=id_key,
        metadata_mode=metadata_mode,
        offsets=offsets,
        expand=expand,
        max_concurrency=max_concurrency,
    )
    found = Counted(asked, samples)
    with closing(asked):
        return run.evaluate(found, scorers, max_concurrency=max_concurrency, **options)


async def aevaluate_retriever(
    retriever: BaseRetriever,
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    max_concurrency: int = 16,
    **options: Any,
) -> Report:
    """Return the same as `evaluate_retriever`, by `aretrieve` and `fullrecall.aevaluate`."""
    scorers = check_scorers(scorers)
    asked = aretrieved(
        retriever,
        samples,
        id_key=id_key,
        metadata_mode=metadata_mode,
        offsets=offsets,
        expand=expand,
        max_concurrency=max_concurrency,
    )
    found = ACounted(asked, samples)
    async with aclosing(asked):
        return await run.aevaluate(found, scorers, max_concurrency=max_concurrency, **options)


def evaluate_query_engine(
    engine: BaseQueryEngine,
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    max_concurrency: int = 16,
    **options: Any,
) -> Report:
    """Return the report of `scorers` over what a query engine answers to each sample's question.

    The parameters are those of `answered`; `max_concurrency` and `options` go to
    `fullrecall.evaluate`, and what either raises is raised. The report is of what the answers
    were made from; its samples have the stages before, so that
    `evaluate_stages([row.sample for row in report], scorers)` scores what was retrieved before
    reranking beside it, and tells which stage lost what.
    """
    scorers = check_scorers(scorers)
    asked = answered(
        engine,
        samples,
        id_key=id_key,
        metadata_mode=metadata_mode,
        offsets=offsets,
        expand=expand,
        max_concurrency=max_concurrency,
    )
    found = Counted(asked, samples)
    with closing(asked):
        return run.evaluate(found, scorers, max_concurrency=max_concurrency, **options)


async def aevaluate_query_engine(
    engine: BaseQueryEngine,
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    expand: BaseDocumentStore | None = None,
    max_concurrency: int = 16,
    **options: Any,
) -> Report:
    """Return the same as `evaluate_query_engine`, by `aquery` and `fullrecall.aevaluate`."""
    scorers = check_scorers(scorers)
    asked = aanswered(
        engine,
        samples,
        id_key=id_key,
        metadata_mode=metadata_mode,
        offsets=offsets,
        expand=expand,
        max_concurrency=max_concurrency,
    )
    found = ACounted(asked, samples)
    async with aclosing(asked):
        return await run.aevaluate(found, scorers, max_concurrency=max_concurrency, **options)


_AT_ONCE = "max_concurrency"


class _Asked(NamedTuple):
    """A sample with what was brought for it, and the nodes that this was read from."""

    sample: Sample
    nodes: Sequence[NodeLike] = ()


@dataclass(frozen=True)
class _Retriever:
    """How a retriever is asked, and what it answers read."""

    thing: BaseRetriever
    reader: NodeReader

    def __post_init__(self) -> None:
        if not isinstance(self.thing, BaseRetriever):
            raise ParameterError(
                f"retriever is a LlamaIndex retriever, such as index.as_retriever(), "
                f"{got(self.thing)}"
            )

    def ask(self, question: str) -> object:
        return self.thing.retrieve(question)

    async def aask(self, question: str) -> object:
        return await self.thing.aretrieve(question)

    def read(self, answer: object, capture: Capture) -> Carried:
        """Return what it returned, with what the retrievers inside of it brought before."""
        found = carried(answer, self.reader, "final")
        seen = capture.read(self.reader, "retrieved")
        return found._replace(brought=found.brought._replace(stages=seen.stages))


@dataclass(frozen=True)
class _Engine:
    """How a query engine is asked, and what it answers read."""

    thing: BaseQueryEngine
    reader: NodeReader

    def __post_init__(self) -> None:
        if not isinstance(self.thing, BaseQueryEngine):
            raise ParameterError(
                f"engine is a LlamaIndex query engine, such as index.as_query_engine(), "
                f"{got(self.thing)}"
            )

    def ask(self, question: str) -> object:
        return self.thing.query(question)

    async def aask(self, question: str) -> object:
        return await self.thing.aquery(question)

    def read(self, answer: object, capture: Capture) -> Carried:
        """Return what was seen to reach the model, else the source nodes."""
        return carried(answer, self.reader, "final", capture)


def _ask(asks: _Retriever | _Engine, sample: Sample) -> _Asked:
    if sample.user_input is None:
        return _unasked(sample)
    try:
        with capture_retrievals() as capture:
            answer = asks.ask(sample.user_input)
        return _told(asks, sample, answer, capture)
    except Exception as error:  # noqa: BLE001 - whatever a retriever, engine or LLM raises
        return _failed(sample, error)


async def _aask(asks: _Retriever | _Engine, sample: Sample) -> _Asked:
    if sample.user_input is None:
        return _unasked(sample)
    try:
        with capture_retrievals() as capture:
            answer = await asks.aask(sample.user_input)
        return _told(asks, sample, answer, capture)
    except Exception as error:  # noqa: BLE001 - whatever a retriever, engine or LLM raises
        return _failed(sample, error)


def _told(asks: _Retriever | _Engine, sample: Sample, answer: object, capture: Capture) -> _Asked:
    found = asks.read(answer, capture)
    text = response_text(answer) if is_response(answer) else None
    return _Asked(sample.with_retrieval(found.brought.recorded(text)), found.nodes)


def _unasked(sample: Sample) -> _Asked:
    return _Asked(sample.with_retrieval(Retrieval(error="the sample has no user_input to ask")))


def _failed(sample: Sample, error: Exception) -> _Asked:
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    return _Asked(sample.with_retrieval(Retrieval(error=f"{kind}{error}")))


def _watched(
    asks: _Retriever | _Engine, samples: Iterable[SampleLike], at_once: int
) -> Generator[Sample]:
    watch = MismatchWatch(asks.reader)
    found = in_threads(lambda sample: _ask(asks, sample), as_samples(samples), at_once)
    with closing(found):
        for asked in found:
            watch.see(asked.sample, asked.nodes)
            yield asked.sample
    watch.warn()


async def _awatched(
    asks: _Retriever | _Engine, samples: Iterable[SampleLike], at_once: int
) -> AsyncGenerator[Sample]:
    watch = MismatchWatch(asks.reader)
    found = in_tasks(lambda sample: _aask(asks, sample), as_samples(samples), at_once)
    async with aclosing(found):
        async for asked in found:
            watch.see(asked.sample, asked.nodes)
            yield asked.sample
    watch.warn()
