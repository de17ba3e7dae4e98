"""Retrievers search deeper when `diagnose` asks them to."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall import IdRecall, diagnose, evaluate
from fullrecall.errors import ParameterError
from llama_index.evaluation.fullrecall import observed

QUESTION = "Where in Paris does the Eiffel Tower stand?"


def test_a_retriever_and_an_index_search_deeper(index: VectorStoreIndex) -> None:
    """A retriever and an index search exactly as deep as asked, and stay unchanged."""
    retriever: Any = index.as_retriever(similarity_top_k=1)
    for thing in (retriever, index):
        search = observed(thing, id_key="ref_doc_id")
        assert [c.id for c in search(QUESTION, 2)] == ["doc-tower", "doc-tower"]
        assert len(search(QUESTION, 100)) == 5
    assert retriever.similarity_top_k == 1


def test_the_parts_of_a_fusion_search_deeper_too(index: VectorStoreIndex) -> None:
    """The parts of a fusion search deeper, too, since two candidates each make no list of five."""
    parts = [index.as_retriever(similarity_top_k=1) for _ in range(2)]
    fused = QueryFusionRetriever(parts, llm=MockLLM(), num_queries=1, similarity_top_k=1)
    outer = QueryFusionRetriever([fused], llm=MockLLM(), num_queries=1, similarity_top_k=1)
    for thing in (fused, outer):
        assert len(observed(thing)(QUESTION, 5)) == 5
    assert [part.similarity_top_k for part in parts] == [1, 1]


class Strict(BaseRetriever):
    """A retriever that refuses a k above its corpus, as bm25s does."""

    def __init__(self, corpus_size: int) -> None:
        self.corpus_size = corpus_size
        self._similarity_top_k = 1
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._similarity_top_k > self.corpus_size:
            raise ValueError("k of 18 is larger than the number of available scores, which is 3")
        return [
            NodeWithScore(node=TextNode(id_=str(n), text=f"text {n}"))
            for n in range(self._similarity_top_k)
        ]


def test_a_k_above_the_corpus_is_the_whole_corpus() -> None:
    """A k above the corpus returns the whole corpus, alone and in a fusion."""
    assert len(observed(Strict(3))(QUESTION, 18)) == 3
    fused = QueryFusionRetriever([Strict(3)], llm=MockLLM(), num_queries=1)
    assert len(observed(fused)(QUESTION, 18)) == 3


def test_diagnose_tells_the_rank_of_what_lies_deeper(index: VectorStoreIndex) -> None:
    """`diagnose` gives the rank of a deeper document, by asking the measured retriever."""
    retriever = observed(index.as_retriever(similarity_top_k=1))
    samples = [{"query": QUESTION, "expected_ids": ["height"]}]
    report = evaluate(samples, IdRecall(), retriever=retriever, progress=False)
    (miss,) = diagnose(report, retriever=retriever, deep_k=5).misses
    assert (miss.cause, miss.rank) == ("beyond_k", 2)


def test_a_retriever_that_cannot_search_deeper_is_named(index: VectorStoreIndex) -> None:
    """An engine, and a retriever without a size, cannot search deeper, and the error says so."""

    class Own(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return []

    with pytest.raises(ParameterError, match="Own has no similarity_top_k: pass the index"):
        observed(Own())(QUESTION, 5)
    with pytest.raises(ParameterError, match="only a retriever can search deeper, got Retriever"):
        observed(index.as_query_engine(llm=MockLLM()))(QUESTION, 5)
