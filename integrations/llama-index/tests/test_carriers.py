"""Captures that outlive what carried them, and calls that begin and end in different places."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from known_engines import retrieved as retrieved_by
from llama_index.core import Settings, SummaryIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.indices.composability import ComposableGraph
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall import Sample
from llama_index.evaluation.fullrecall import capture_retrievals, observed
from llama_index.evaluation.fullrecall.capture import Capture, capture_of


class Brings(BaseRetriever):
    """Returns two nodes that name the question."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(id_=f"{own} {query_bundle.query_str}", text=f"About {own}.")
            )
            for own in "ab"
        ]


class First(BaseNodePostprocessor):
    """Keeps the first node."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[:1]


class FirstAwaited(First):
    """The same, with an async method of its own."""

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[:1]


def engine(*, streaming: bool = False) -> RetrieverQueryEngine:
    """Return an engine that retrieves two nodes, and keeps one."""
    return RetrieverQueryEngine.from_args(
        Brings(), llm=MockLLM(max_tokens=5), node_postprocessors=[First()], streaming=streaming
    )


def test_a_generator_that_several_tasks_advance_is_captured() -> None:
    """It is ended in another context than it began in: the user's own error comes through."""

    async def asks(names: str) -> AsyncIterator[Capture]:
        with capture_retrievals() as capture:
            for name in names:
                await Brings().aretrieve(name)
                yield capture
            raise LookupError("the user's own")

    async def advance() -> Capture:
        generator = asks("xy")
        steps = [await asyncio.create_task(anext(generator)) for _ in range(2)]  # type: ignore[arg-type]
        with pytest.raises(LookupError, match="the user's own"):
            await asyncio.create_task(anext(generator))  # type: ignore[arg-type]
        return steps[0]

    capture = asyncio.run(advance())
    assert [item.id for item in retrieved_by(capture)] == ["a x", "b x"]
    assert capture.error == "LookupError: the user's own"


class Raises(BaseSpanHandler[BaseSpan]):
    """Another tool's handler, which fails in every way."""

    def new_span(self, *_: Any, **__: Any) -> None:
        """Fail."""
        raise RuntimeError("another tool's")

    def prepare_to_exit_span(self, *_: Any, **__: Any) -> None:
        """Fail."""
        raise RuntimeError("another tool's")

    def prepare_to_drop_span(self, *_: Any, **__: Any) -> None:
        """Fail."""
        raise RuntimeError("another tool's")


@pytest.mark.parametrize("first", [False, True])
def test_another_tools_handlers_change_nothing(*, first: bool) -> None:
    """Before ours or behind them, and where their list was made anew."""
    root = get_dispatcher()
    before = list(root.span_handlers)
    attached = engine()
    try:
        root.span_handlers = [Raises(), *before] if first else [Raises()]
        with capture_retrievals():
            capture = capture_of(attached.query("q"))
    finally:
        root.span_handlers = before
    assert capture is not None
    assert [str(item.id) for item in capture.contexts() or ()] == ["a q"]


class Ones(BaseEmbedding):
    """One vector for everything."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [1.0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return [1.0]


def test_the_answers_that_a_graph_generates_are_no_contexts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A graph's engine answers from answers: what these were made of is what was retrieved."""
    monkeypatch.setattr(Settings, "_llm", MockLLM(max_tokens=5))
    leaf = SummaryIndex([TextNode(id_="a", text="About a."), TextNode(id_="b", text="About b.")])
    graph = ComposableGraph.from_indices(SummaryIndex, [leaf], index_summaries=["on a and b"])
    found = observed(graph.as_query_engine()).retrieve(Sample(user_input="q"))
    assert {context.id for context in found.contexts or ()} == {"a", "b"}
