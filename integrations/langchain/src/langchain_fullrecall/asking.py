"""Putting a question to a retriever, whatever plays one, and reading what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from fullrecall import InputError, ParameterError, Sample
from fullrecall.identifiers import shown
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.outputs import read_output
from langchain_fullrecall.retrieval import Retrieval, brief

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
    if isinstance(retriever, type):
        raise ParameterError(
            f"a retriever is an object, got the class {retriever.__name__} itself: make one of it"
        )
    made = getattr(retriever, "as_retriever", None)
    if made is None and not callable(retriever):
        raise ParameterError(
            "a retriever is a Runnable, a VectorStore or a function of the question, got "
            f"{shown(retriever)}"
        )
    if made is None:
        return RunnableLambda(cast("Callable[[str], Any]", retriever))
    found: Runnable[str, Any] = made()
    return found


def is_async_only(retriever: Runnable[str, Any]) -> bool:
    """Return whether a retriever is an async function, which `invoke` can only refuse."""
    return isinstance(retriever, RunnableLambda) and not hasattr(retriever, "func")


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


def _read(output: object, reader: DocumentReader) -> Retrieval:
    """Return what a retriever's output holds; raise `InputError` where it holds no documents."""
    read = read_output(output, reader)
    if read.items is not None:
        return Retrieval(reader.contexts(read.items))
    if read.retrieval is None:
        raise InputError(f"it returned no documents, but {type(output).__name__} {shown(output)}")
    Sample(**read.retrieval.sample_fields())  # IDs that do not fit the documents fail here
    return read.retrieval
