"""Running retrievers over samples, outside of any eval run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.runnables import Runnable, RunnableConfig

from fullrecall import InputError, ParameterError, Report, Sample, Scorer, evaluate
from fullrecall.evaluation.run import as_samples
from fullrecall.identifiers import shown
from langchain_fullrecall.documents import DocumentReader, IdKey
from langchain_fullrecall.outputs import read_output
from langchain_fullrecall.retrieval import Retrieval, brief

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

RetrieverLike: TypeAlias = "Runnable[str, Any] | VectorStore"
"""A retriever; a runnable that takes a question and returns documents, or a chain's output that
holds them; or a vector store, which is asked through its `as_retriever()`."""


def as_retriever(retriever: RetrieverLike) -> Runnable[str, Any]:
    """Return what answers `invoke(question)`; raise `ParameterError` for what does not."""
    if isinstance(retriever, Runnable):
        return retriever
    made = getattr(retriever, "as_retriever", None)
    if made is None:
        raise ParameterError(
            f"a retriever is a Runnable or a VectorStore, got {type(retriever).__name__}"
        )
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
) -> Iterator[Sample]:
    """Yield each sample with what `retriever` brings for its `user_input`, one after the other.

    Where the retriever raises, or a sample asks nothing, the sample has a `retrieval_error`.
    Raises `ParameterError` for what is no retriever, `InputError` for what is no sample.
    """
    runnable, reader = as_retriever(retriever), DocumentReader(id_key, source_key)
    return (_with_retrieval(sample, runnable, reader) for sample in as_samples(samples))


def evaluate_retriever(
    retriever: RetrieverLike,
    samples: Iterable[Sample | Mapping[str, Any]],
    scorers: Sequence[Scorer] | Scorer,
    *,
    id_key: IdKey = None,
    source_key: str | None = None,
    **options: Any,
) -> Report:
    """Ask `retriever` every sample's question, and return `fullrecall.evaluate`'s report.

    `options` are `evaluate`'s own, such as `progress`. A sample for which the retriever raises is
    in the report as "unscored", with the error. Raises what `evaluate` and `retrieved` raise.
    """
    asked = retrieved(retriever, samples, id_key=id_key, source_key=source_key)
    return evaluate(asked, scorers, **options)


def _with_retrieval(
    sample: Sample, retriever: Runnable[str, Any], reader: DocumentReader
) -> Sample:
    if sample.user_input is None:
        return sample.with_retrieval(None, error="the sample has no user_input to ask it")
    found = retrieve(retriever, sample.user_input, reader)
    seen = sample.with_retrieval(found.contexts, error=found.error)
    return seen if found.ids is None else Sample(**seen.to_dict(), retrieved_context_ids=found.ids)


def _read(output: object, reader: DocumentReader) -> Retrieval:
    """Return what a retriever's output holds; raise `InputError` where it holds no documents."""
    read = read_output(output, reader)
    if read.items is not None:
        return Retrieval(reader.contexts(read.items))
    if read.retrieval is None:
        raise InputError(f"it returned no documents, but {type(output).__name__} {shown(output)}")
    Sample(**read.retrieval.sample_fields())  # IDs that do not fit the documents fail here
    return read.retrieval
