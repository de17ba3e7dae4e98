"""Retrievers asked for more than they bring by themselves."""

from __future__ import annotations

import pytest
from llama_index.core import MockEmbedding, SummaryIndex, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode

from fullrecall import IdRecall, ParameterError, Sample
from fullrecall.diagnosis import Cause, diagnose
from llama_index.evaluation.fullrecall import evaluate_retriever, searcher

NODES = [TextNode(text=f"text {n}", id_=f"n{n}") for n in range(9)]


@pytest.fixture
def index() -> VectorStoreIndex:
    """Return an index of nine nodes."""
    return VectorStoreIndex(NODES, embed_model=MockEmbedding(embed_dim=4))


def test_every_kind_brings_as_many_as_it_is_asked_for(index: VectorStoreIndex) -> None:
    """An index, its retriever, a fusion of retrievers, a function."""
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=9)],
        llm=MockLLM(),
        num_queries=1,
        similarity_top_k=2,
        use_async=False,
    )
    for retriever in (index, index.as_retriever(), fusion, lambda _, k: NODES[:k]):
        assert len(searcher(retriever)("question", 7)) == 7


def test_the_retriever_itself_stays_as_it_was(index: VectorStoreIndex) -> None:
    """The user's object brings as many as before."""
    retriever = index.as_retriever(similarity_top_k=1)
    searcher(retriever)("question", 7)
    assert len(retriever.retrieve("question")) == 1


def test_what_cannot_go_deeper_says_so() -> None:
    """A retriever that brings everything there is has no depth, and a text is none."""
    with pytest.raises(ParameterError, match="has no similarity_top_k"):
        searcher(SummaryIndex(NODES).as_retriever())
    with pytest.raises(ParameterError, match="got str"):
        searcher("retriever")  # type: ignore[arg-type]


def test_a_diagnosis_finds_the_rank(index: VectorStoreIndex) -> None:
    """What the deeper search brings is beyond k, at the rank where it stands there."""
    ranked = [context.id for context in searcher(index)("question", 9)]
    sample = Sample(id="s", user_input="question", reference_context_ids=[ranked[6]])
    retriever = index.as_retriever(similarity_top_k=2)
    report = evaluate_retriever(retriever, [sample], IdRecall(), progress=False)
    (miss,) = diagnose(report, retriever=searcher(retriever))
    assert (miss.cause, miss.rank) == (Cause.BEYOND_K, 7)
