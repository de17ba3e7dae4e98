"""Retrievers asked for more than they bring by themselves."""

from __future__ import annotations

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from fullrecall import IdRecall, ParameterError, Sample
from fullrecall.diagnosis import Cause, diagnose
from langchain_fullrecall import evaluate_retriever, searcher

DOCUMENTS = [Document(f"text {n}", id=f"d{n}", metadata={"page": f"p{n}"}) for n in range(9)]


class Listing(BaseRetriever):
    """Brings the first documents, however many it is set to."""

    depth: int = 2

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return DOCUMENTS[: self.depth]


class Fixed(BaseRetriever):
    """Brings two documents, and cannot be told to bring more."""

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


def test_every_kind_brings_as_many_as_it_is_asked_for(store: InMemoryVectorStore) -> None:
    """Store, its retriever, its MMR retriever, a retriever with a field, a function."""
    retrievers = [
        store,
        store.as_retriever(search_kwargs={"k": 1}),
        store.as_retriever(search_type="mmr", search_kwargs={"k": 1, "fetch_k": 2}),
        Listing(),
        lambda _, k: DOCUMENTS[:k],
    ]
    for retriever in retrievers:
        assert len(searcher(retriever)("question", 7)) == 7


def test_the_retriever_itself_stays_as_it_was(store: InMemoryVectorStore) -> None:
    """The user's object brings as many as before."""
    retriever, listing = store.as_retriever(search_kwargs={"k": 1}), Listing()
    searcher(retriever)("question", 7)
    searcher(listing, k_field="depth")("question", 7)
    assert len(retriever.invoke("question")) == 1
    assert len(listing.invoke("question")) == 2


def test_ids_are_those_of_id_key() -> None:
    """The same `id_key` and `collapse` as in the evaluation, so that both count the same things."""
    assert [c.id for c in searcher(Listing(), id_key="page")("q", 3)] == ["p0", "p1", "p2"]
    by_half = searcher(
        Listing(), id_key=lambda document: str(str(document.id) < "d2"), collapse=True
    )
    assert [c.id for c in by_half("q", 4)] == ["True", "False"]


def test_what_cannot_go_deeper_says_so() -> None:
    """A retriever without such a field, a field that is not there, and what is no retriever."""
    with pytest.raises(ParameterError, match="Fixed has no field k or top_k or depth"):
        searcher(Fixed())
    with pytest.raises(ParameterError, match="Listing has no field limit"):
        searcher(Listing(), k_field="limit")
    with pytest.raises(ParameterError, match="got 'retriever'"):
        searcher("retriever")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="got <class"):
        searcher(Listing)  # type: ignore[arg-type]


def test_a_diagnosis_finds_the_rank() -> None:
    """What the retriever brings at rank 8 is beyond k, at rank 8; what it never had is not."""
    sample = Sample(id="s", user_input="question", reference_context_ids=["d0", "d7", "gone"])
    report = evaluate_retriever(Listing(), [sample], IdRecall(), progress=False)
    found = diagnose(report, retriever=searcher(Listing()), corpus=[f"x{n}" for n in range(3)])
    assert [(miss.target, miss.cause, miss.rank) for miss in found] == [
        ("d7", Cause.BEYOND_K, 8),
        ("gone", Cause.UNKNOWN, None),
    ]
