"""Captures work if their response is gone, or if a call begins and ends in different places."""

from __future__ import annotations

from typing import Any

import pytest
from known_engines import First
from llama_index.core import Settings, SummaryIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.composability import ComposableGraph
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall import Sample
from llama_index.evaluation.fullrecall import capture_retrievals, observed
from llama_index.evaluation.fullrecall.capture import capture_in


class Brings(BaseRetriever):
    """A retriever of two nodes that name the question."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(id_=f"{own} {query_bundle.query_str}", text=f"About {own}.")
            )
            for own in "ab"
        ]


def engine(*, streaming: bool = False) -> RetrieverQueryEngine:
    """Return an engine that retrieves two nodes, and keeps one."""
    return RetrieverQueryEngine.from_args(
        Brings(), llm=MockLLM(max_tokens=5), node_postprocessors=[First()], streaming=streaming
    )


class Raises(BaseSpanHandler[BaseSpan]):
    """Another tool's handler, which fails in every method."""

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
    """Another tool's failing handlers, before or after fullrecall's, change nothing."""
    root = get_dispatcher()
    before = list(root.span_handlers)
    attached = engine()
    try:
        root.span_handlers = [Raises(), *before] if first else [Raises()]
        with capture_retrievals():
            capture = capture_in(attached.query("q"))
    finally:
        root.span_handlers = before
    assert capture is not None
    assert [str(item.id) for item in capture.contexts() or ()] == ["a q"]


def test_the_answers_that_a_graph_generates_are_no_contexts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A graph's answers are no contexts: the nodes behind them are the retrieval."""
    monkeypatch.setattr(Settings, "_llm", MockLLM(max_tokens=5))
    leaf = SummaryIndex([TextNode(id_="a", text="About a."), TextNode(id_="b", text="About b.")])
    graph = ComposableGraph.from_indices(SummaryIndex, [leaf], index_summaries=["on a and b"])
    found = observed(graph.as_query_engine()).retrieve(Sample(user_input="q"))
    assert {context.id for context in found.contexts or ()} == {"a", "b"}
