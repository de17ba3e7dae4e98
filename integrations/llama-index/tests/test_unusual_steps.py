"""Calls with unusually nested steps or lists have the right retrieved and final nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from known_engines import asked
from known_engines import retrieved as retrieved_by
from llama_index.core import Settings
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.evaluation import RelevancyEvaluator
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine, RetryQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer, get_response_synthesizer
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool, ToolOutput
from llama_index.core.tools.types import BaseTool, ToolMetadata

from fullrecall import Sample
from llama_index.evaluation.fullrecall import capture_retrievals, observed
from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture


class Brings(BaseRetriever):
    """A retriever of nodes with these IDs, new each time, which first runs a function."""

    def __init__(self, *names: str, first: Callable[[str], Any] = str) -> None:
        self.names = names
        self.first = first
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.first(query_bundle.query_str)
        return nodes(*self.names)


class Keeps(BaseNodePostprocessor):
    """A postprocessor that keeps the first nodes, after running a function."""

    top_n: int
    first: Callable[[Sequence[NodeWithScore]], Any] = list

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        self.first(nodes)
        return nodes[: self.top_n]


class KeepsAwaited(Keeps):
    """The same postprocessor with its own async method, which has no span in LlamaIndex."""

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[: self.top_n]


def nodes(*names: str) -> list[NodeWithScore]:
    """Return nodes of these IDs, with texts of their own."""
    return [NodeWithScore(node=TextNode(id_=name, text=f"The {name}."), score=1) for name in names]


def retrieved(capture: LlamaIndexCapture) -> list[str]:
    """Return the IDs of the retrieved nodes."""
    return [item.id for item in retrieved_by(capture)]


def final(capture: LlamaIndexCapture) -> list[str]:
    """Return the IDs of the nodes that reached the model."""
    return [str(item.id) for item in capture.contexts() or ()]


def stages(capture: LlamaIndexCapture) -> dict[str, str | None]:
    """Return the stages with their successors."""
    return {stage.name: stage.into for stage in capture.sample().stages}


def engine_over(retriever: BaseRetriever, synthesizer: BaseSynthesizer) -> BaseQueryEngine:
    """Return an engine."""
    return RetrieverQueryEngine(retriever, synthesizer)


@pytest.mark.parametrize("where", ["retriever", "postprocessor", "synthesizer"])
def test_a_model_that_reads_on_the_way_is_not_the_one_that_answers(
    where: str, llm: MockLLM
) -> None:
    """A prompt of a retriever, reranker or inner synthesizer is not the final prompt."""
    compact = get_response_synthesizer(llm=llm)

    class Reads(NoText):
        def synthesize(self, query: Any, nodes: Any, *_: Any, **__: Any) -> Any:
            reads(query)
            return super().synthesize(query, nodes)

    def reads(_: object) -> None:
        compact.synthesize("what is this about?", nodes("read before"))

    retriever = Brings("a", "b", first=reads if where == "retriever" else str)
    postprocessor = Keeps(top_n=1, first=reads if where == "postprocessor" else list)
    synthesizer = Reads(llm=llm) if where == "synthesizer" else NoText(llm=llm)
    with capture_retrievals() as capture:
        RetrieverQueryEngine(retriever, synthesizer, node_postprocessors=[postprocessor]).query("q")
    assert (retrieved(capture), final(capture)) == (["a", "b"], ["a"])


# Tools


def test_a_tool_whose_reranker_dropped_all_hands_on_nothing() -> None:
    """If a tool's reranker drops all nodes, the empty list is the final list."""
    tool = RetrieverTool.from_defaults(
        Brings("a"), node_postprocessors=[KeepsAwaited(top_n=0)], description="d"
    )
    with capture_retrievals() as capture:
        asyncio.run(tool.acall("q"))
    assert (retrieved(capture), final(capture)) == (["a"], [])


# From step to step


def test_a_part_that_filters_what_it_brings_is_one_stage() -> None:
    """A retriever that overrides `retrieve`, and calls its own class, is one stage."""

    class Filters(Brings):
        def retrieve(self, str_or_query_bundle: Any) -> list[NodeWithScore]:
            return super().retrieve(str_or_query_bundle)[:1]

    with capture_retrievals() as capture:
        Brings("c", first=Filters("a", "b").retrieve).retrieve("q")
    (part,) = capture.sample().stages
    assert (part.name, part.into) == ("Filters", None)
    assert [context.id for context in part.contexts] == ["a"]


def test_nodes_that_were_wrapped_anew_are_the_same() -> None:
    """Nodes in new wrappers, as for new scores, are the same nodes."""
    with capture_retrievals() as capture:
        found = Brings("a", "b").retrieve("q")
        Keeps(top_n=1).postprocess_nodes([NodeWithScore(node=item.node) for item in found])
    assert stages(capture) == {"Brings": None}
    assert final(capture) == ["a"]


# Evaluators, which read the retrieved nodes again


def test_two_retrievers_of_one_text_in_a_retried_engine(
    llm: MockLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two retrievers with one text under two IDs are both counted in a retried engine."""
    monkeypatch.setattr(Settings, "_llm", llm)

    class Copies(Brings):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(node=TextNode(id_=f"copy of {name}", text=f"The {name}."))
                for name in self.names
            ]

    both = Brings("a", first=Copies("a").retrieve)
    engine = RetryQueryEngine(
        engine_over(both, get_response_synthesizer(llm=llm)),
        RelevancyEvaluator(llm=llm),
        max_retries=1,
    )
    with capture_retrievals() as capture:
        engine.query("q")
    assert [each.retriever for each in asked(capture)][:2] == ["Brings", "Copies"]


class Reports(BaseTool):
    """A tool that searches, and reports a failure instead of raising."""

    @property
    def metadata(self) -> ToolMetadata:
        """Return the tool's name."""
        return ToolMetadata(name="search", description="d")

    def __call__(self, input: Any) -> ToolOutput:  # noqa: A002 - LlamaIndex's name
        """Search, and report a failure."""
        Brings("a").retrieve(input)
        return ToolOutput(
            tool_name="search",
            content="the index is gone",
            raw_input={},
            raw_output=None,
            is_error=True,
        )


def test_a_tool_that_reports_its_failure_failed() -> None:
    """A tool that reports its failure leaves the sample unscored."""
    record = observed(lambda question: str(Reports()(question))).retrieve(Sample(user_input="q"))
    assert "the index is gone" in str(record.error)
