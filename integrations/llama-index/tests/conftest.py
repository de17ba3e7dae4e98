"""A small collection, indexed by LlamaIndex itself, offline and with a meaningful order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from zlib import crc32

import pytest
from known_engines import Echo, First
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from llama_index.evaluation.fullrecall import listening
from llama_index.evaluation.fullrecall.listening import recorders

DIMENSIONS = 512

TEXTS = {
    "capital": ("doc-france", "Paris is the capital of France."),
    "place": ("doc-tower", "The Eiffel Tower stands in Paris."),
    "height": ("doc-tower", "The Eiffel Tower is 330 metres high."),
    "rome": ("doc-italy", "Rome is the capital of Italy."),
    "banana": ("doc-fruit", "Bananas hold much potassium."),
}
"""Node ID: the ID of the document that it was cut from, and its text."""


class WordEmbedding(BaseEmbedding):
    """Embeddings that count hashed words, so that texts with common words are similar."""

    def _get_text_embedding(self, text: str) -> list[float]:
        vector = [0.0] * DIMENSIONS
        for word in re.findall(r"\w+", text.lower()):
            vector[crc32(word.encode()) % DIMENSIONS] += 1.0
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def _node(name: str) -> TextNode:
    document, text = TEXTS[name]
    # The nodes are made by hand, without nltk, and with known IDs.
    return TextNode(
        id_=name,
        text=text,
        metadata={"title": name.title()},
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
    )


@pytest.fixture
def scored() -> Callable[..., list[NodeWithScore]]:
    """Return a function that makes new nodes of the collection, as a retriever returns them."""
    return lambda *names: [NodeWithScore(node=_node(name), score=0.5) for name in names]


@pytest.fixture
def index() -> VectorStoreIndex:
    """Return the collection in LlamaIndex's own vector store."""
    return VectorStoreIndex([_node(name) for name in TEXTS], embed_model=WordEmbedding())


@pytest.fixture
def llm() -> MockLLM:
    """Return a model that answers `text text text text text`."""
    return MockLLM(max_tokens=5)


@pytest.fixture
def echo(llm: MockLLM) -> BaseQueryEngine:
    """Return an engine whose answers show the retrieved nodes."""
    return RetrieverQueryEngine.from_args(Echo(), llm=llm, node_postprocessors=[First()])


@pytest.fixture
def nothing_is_left_open() -> Iterator[None]:
    """Check after the test that no recording is active, and no step or call is kept."""
    yield
    assert not recorders.get()
    assert listening._running == {}
    assert listening._calls == {}


@pytest.fixture(scope="session")
def runs() -> int:
    """Return the number of repetitions of a test: 7, or `FULLRECALL_RUNS`."""
    return int(os.environ.get("FULLRECALL_RUNS", "7"))
