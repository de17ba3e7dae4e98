"""Observers of what fires no callback, on a copy of the retriever.

These are the steps of a pipeline of compressors, and the chunks that a multi-vector retriever
searches. The user's own object stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.retrievers import BaseRetriever

from langchain_fullrecall.parts import rebuilt
from langchain_fullrecall.tree import Node, going_on, snapshot

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

T = TypeVar("T")

_SEARCHES = frozenset(
    f"{a}{search}"
    for a in ("", "a")
    for search in (
        "similarity_search",
        "max_marginal_relevance_search",
        "similarity_search_with_score",
        "similarity_search_with_relevance_scores",
    )
)


def with_observers(runnable: T) -> T:
    """Return a runnable that does the same, with observers where no callback tells of a stage.

    Retrievers are found where `rebuilt` looks for them: in fields of others and in chains, however
    deep, and not in functions.
    """
    return rebuilt(runnable, _exchanged)


def _exchanged(value: Any, name: str | None, owner: Any) -> Any:
    if isinstance(owner, BaseRetriever) and name == "base_compressor":
        return _steps_observed(value)
    if isinstance(owner, BaseRetriever) and name == "vectorstore" and hasattr(owner, "docstore"):
        return _ObservedStore(value, getattr(owner, "id_key", None) or "doc_id")
    return value


def _steps_observed(compressor: Any) -> Any:
    """Return a pipeline of compressors with all of its steps observed but the last one.

    What the last one returns is what the retriever returns.
    """
    steps = getattr(compressor, "transformers", None)
    if not isinstance(compressor, BaseDocumentCompressor) or not isinstance(steps, list):
        return compressor
    inner = [_steps_observed(step) for step in steps]
    last = [] if _reorders(inner[-1:]) else inner[-1:]  # what only reorders is seen by itself
    watched = [
        _step_observed(step, type(step).__name__) for step in inner[: len(inner) - len(last)]
    ]
    return compressor.model_copy(update={"transformers": [*watched, *last]})


def _reorders(steps: Sequence[Any]) -> bool:
    return any(type(step).__name__ == "LongContextReorder" for step in steps)


def _step_observed(step: Any, name: str) -> Any:
    if isinstance(step, BaseDocumentCompressor):
        return _CompressorStep.model_construct(inner=step, called=name)
    return _TransformerStep(step, name)


class _CompressorStep(BaseDocumentCompressor):
    """A compressor whose output is noted."""

    inner: Any
    called: str

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        compress = self.inner.compress_documents
        given = {"callbacks": callbacks} if _takes_callbacks(compress) else {}
        return _noted(compress(documents, query, **given), self.called)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        compress = self.inner.acompress_documents
        given = {"callbacks": callbacks} if _takes_callbacks(compress) else {}
        return _noted(await compress(documents, query, **given), self.called)


class _TransformerStep(BaseDocumentTransformer):
    """A transformer of documents whose output is noted."""

    def __init__(self, inner: BaseDocumentTransformer, called: str) -> None:
        self._inner = inner
        self._called = called

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        return _noted(self._inner.transform_documents(documents, **kwargs), self._called)

    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        return _noted(await self._inner.atransform_documents(documents, **kwargs), self._called)


class _ObservedStore:
    """A vector store whose searches are noted; everything else is the store's own."""

    def __init__(self, store: VectorStore, chunk_key: str) -> None:
        self._store = store
        self._chunk_key = chunk_key

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return _watched(found, self._chunk_key) if name in _SEARCHES else found


def _watched(search: Callable[..., Any], chunk_key: str) -> Callable[..., Any]:
    if iscoroutinefunction(search):

        @wraps(search)
        async def asearched(*args: Any, **kwargs: Any) -> Any:
            return _noted(await search(*args, **kwargs), "chunks", chunk_key)

        return asearched

    @wraps(search)
    def searched(*args: Any, **kwargs: Any) -> Any:
        return _noted(search(*args, **kwargs), "chunks", chunk_key)

    return searched


def _noted(documents: T, name: str, chunk_key: str | None = None) -> T:
    """Return `documents`, and tell the retriever run that is going on of them."""
    node = going_on()
    if node is None:
        return documents
    if chunk_key is not None:
        name = f"{node.name} {name}"
    contexts, _ = snapshot(documents)
    step = Node(name, "step", chunk_key=chunk_key, contexts=contexts, ended=True, parent=node)
    node.children.append(step)
    return documents


def _takes_callbacks(compress: Callable[..., Any]) -> bool:
    return "callbacks" in signature(compress).parameters
