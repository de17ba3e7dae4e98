"""Samples with what a LlamaIndex retriever or query engine brings for their questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode

from fullrecall import InputError, ParameterError, Report, Sample, Scorer, evaluate
from fullrecall.evaluation.progress import known_length, with_progress
from fullrecall.evaluation.run import SampleLike, as_samples
from llama_index.evaluation.fullrecall.mismatch import MismatchWatch
from llama_index.evaluation.fullrecall.nodes import IdKey, NodeLike, NodeReader
from llama_index.evaluation.fullrecall.responses import is_response, response_text, source_nodes

_Brought: TypeAlias = tuple[Sequence[NodeLike], str | None]
"""The nodes for a question, and the answer where one was made."""


def retrieved(
    retriever: BaseRetriever,
    samples: Iterable[SampleLike],
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
) -> Iterator[Sample]:
    """Yield each sample with what `retriever.retrieve(sample.user_input)` brings, one at a time.

    `id_key`, `metadata_mode` and `offsets` are those of `contexts`. Where the retriever raises,
    the sample says so in `retrieval_error`, scorers leave it unscored, and the others go on.
    Warns at the end where no expected ID was retrieved, but some are those of the nodes'
    documents. Raises `ParameterError` for a `retriever` that is none, `InputError`, naming the
    position, for an item that is no sample.
    """
    if not isinstance(retriever, BaseRetriever):
        raise ParameterError(
            f"retriever is a LlamaIndex retriever, such as index.as_retriever(), "
            f"got {type(retriever).__name__}"
        )

    def ask(question: str) -> _Brought:
        return retriever.retrieve(question), None

    return _asked(ask, samples, NodeReader(id_key, metadata_mode, offsets=offsets))


def answered(
    engine: BaseQueryEngine,
    samples: Iterable[SampleLike],
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
) -> Iterator[Sample]:
    """Yield each sample with the source nodes and the text of `engine.query(sample.user_input)`.

    Everything else is as for `retrieved`. Source nodes are what the answer was made from: after
    reranking, and in some engines rewritten (`CitationQueryEngine`) or invented
    (`SubQuestionQueryEngine`). A streamed answer is not read, and has no text.
    """
    if not isinstance(engine, BaseQueryEngine):
        raise ParameterError(
            f"engine is a LlamaIndex query engine, such as index.as_query_engine(), "
            f"got {type(engine).__name__}"
        )

    def ask(question: str) -> _Brought:
        response = engine.query(question)
        nodes = source_nodes(response) if is_response(response) else None
        if nodes is None:
            kind = type(response).__name__
            raise InputError(f"the engine returned a {kind}, which carries no source nodes")
        return nodes, response_text(response)

    return _asked(ask, samples, NodeReader(id_key, metadata_mode, offsets=offsets))


def evaluate_retriever(
    retriever: BaseRetriever,
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    progress: bool = True,
) -> Report:
    """Return the report of `scorers` over what a retriever brings for each sample's question.

    Everything else is as for `retrieved` and `fullrecall.evaluate`.
    """
    asked = retrieved(
        retriever,
        _shown(samples, progress=progress),
        id_key=id_key,
        metadata_mode=metadata_mode,
        offsets=offsets,
    )
    return evaluate(asked, scorers, progress=False)


def evaluate_query_engine(
    engine: BaseQueryEngine,
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    offsets: bool = False,
    progress: bool = True,
) -> Report:
    """Return the report of `scorers` over what a query engine answers to each sample's question.

    Everything else is as for `answered` and `fullrecall.evaluate`.
    """
    asked = answered(
        engine,
        _shown(samples, progress=progress),
        id_key=id_key,
        metadata_mode=metadata_mode,
        offsets=offsets,
    )
    return evaluate(asked, scorers, progress=False)


def _asked(
    ask: Callable[[str], _Brought], samples: Iterable[SampleLike], reader: NodeReader
) -> Iterator[Sample]:
    watch = MismatchWatch(reader)
    for sample in as_samples(samples):
        if sample.user_input is None:
            yield sample.with_retrieval(None, error="the sample has no user_input to ask")
            continue
        try:
            nodes, text = ask(sample.user_input)
            asked = sample.with_retrieval(reader.contexts(nodes), response=text)
        except Exception as error:  # noqa: BLE001 - whatever a retriever, engine or LLM raises
            kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            yield sample.with_retrieval(None, error=f"{kind}{error}")
            continue
        watch.see(asked, nodes)
        yield asked
    watch.warn()


def _shown(samples: Iterable[SampleLike], *, progress: bool) -> Iterator[Sample]:
    """Yield the samples with a bar that moves as they are asked for."""
    total = known_length(samples)
    return with_progress(as_samples(samples), show=progress, total=total, unit="sample")
