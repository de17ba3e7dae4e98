"""Retrievers return more documents than by default when they are asked for more."""

from __future__ import annotations

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from fullrecall import IdRecall, Sample, diagnose, evaluate
from fullrecall.diagnosis import Cause
from fullrecall.errors import ParameterError
from langchain_fullrecall import observed

DOCUMENTS = [Document(f"text {n}", id=f"d{n}", metadata={"page": f"p{n}"}) for n in range(9)]


class Listing(BaseRetriever):
    """A retriever that returns its first `k` documents."""

    depth: int = 2

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return DOCUMENTS[: self.depth]


class Fixed(BaseRetriever):
    """A retriever of two documents without an option for more."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return DOCUMENTS[:2]


@pytest.fixture
def store() -> InMemoryVectorStore:
    """Return a vector store of nine documents."""
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents(DOCUMENTS)
    return store


def test_every_kind_returns_as_many_as_it_is_asked_for(store: InMemoryVectorStore) -> None:
    """Stores, their retrievers, ensembles and chains return as many documents as asked."""
    part = store.as_retriever(search_kwargs={"k": 1})
    retrievers = [
        store,
        part,
        store.as_retriever(search_type="mmr", search_kwargs={"k": 1, "fetch_k": 2}),
        Listing(),
        EnsembleRetriever(retrievers=[part, Listing()], weights=[0.5, 0.5]),
        part | (lambda documents: documents),
    ]
    for retriever in retrievers:
        assert len(observed(retriever)("question", 7)) == 7
    assert len(part.invoke("question")) == 1  # The user's object returns as many as before.


def test_ids_are_those_of_id_key() -> None:
    """`id_key` gives the same IDs as in the evaluation."""
    assert [c.id for c in observed(Listing(), id_key="page")("q", 3)] == ["p0", "p1", "p2"]


def test_a_retriever_that_cannot_go_deeper_is_named() -> None:
    """A retriever that cannot go deeper is an error that lists the fields looked for."""
    with pytest.raises(ParameterError, match="Fixed has no field k or top_k or depth"):
        observed(Fixed())("q", 5)


def test_a_diagnosis_finds_the_rank() -> None:
    """A document at rank 8 is diagnosed as beyond k; one that is never returned is not."""
    sample = Sample(id="s", user_input="question", reference_context_ids=["d0", "d7", "gone"])
    asked = observed(Listing())
    report = evaluate([sample], IdRecall(), retriever=asked, progress=False)
    found = diagnose(report, retriever=asked, corpus=[f"x{n}" for n in range(3)])
    assert [(miss.target, miss.cause, miss.rank) for miss in found] == [
        ("d7", Cause.BEYOND_K, 8),
        ("gone", Cause.UNKNOWN, None),
    ]
