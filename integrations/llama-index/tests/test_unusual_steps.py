"""Calls whose steps are nested or handed on in unusual ways: what was retrieved, what was final."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from known_engines import asked, retrieved as retrieved_by
from llama_index.core import Settings, SummaryIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.evaluation import RelevancyEvaluator
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    RetryQueryEngine,
)
from llama_index.core.response_synthesizers import BaseSynthesizer, get_response_synthesizer
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.retrievers import RecursiveRetriever
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool, RetrieverTool

from llama_index.evaluation.fullrecall import capture_retrievals
from llama_index.evaluation.fullrecall.capture import Capture


class Brings(BaseRetriever):
    """Brings nodes of these IDs, new objects each time, after doing something else."""

    def __init__(self, *names: str, first: Callable[[str], Any] = str) -> None:
        self.names = names
        self.first = first
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.first(query_bundle.query_str)
        return nodes(*self.names)


class Keeps(BaseNodePostprocessor):
    """Keeps the first nodes, as many as it is told to, after doing something else."""

    top_n: int
    first: Callable[[Sequence[NodeWithScore]], Any] = list

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        self.first(nodes)
        return nodes[: self.top_n]


class KeepsAwaited(Keeps):
    """The same with an async method of its own, which LlamaIndex does not tell of."""

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[: self.top_n]


def nodes(*names: str) -> list[NodeWithScore]:
    """Return nodes of these IDs, with texts of their own."""
    return [NodeWithScore(node=TextNode(id_=name, text=f"The {name}."), score=1) for name in names]


def retrieved(capture: Capture) -> list[str]:
    """Return the IDs of what was retrieved."""
    return [item.id for item in retrieved_by(capture)]


def final(capture: Capture) -> list[str]:
    """Return the IDs of what reached the model."""
    return [str(item.id) for item in capture.contexts() or ()]


def stages(capture: Capture) -> dict[str, str | None]:
    """Return the stages with those that they went into."""
    return {stage.name: stage.into for stage in capture.sample().stages}


def engine_over(retriever: BaseRetriever, synthesizer: BaseSynthesizer) -> BaseQueryEngine:
    """Return an engine."""
    return RetrieverQueryEngine(retriever, synthesizer)


def test_a_node_that_is_retrieved_twice_stands_twice() -> None:
    """One list alone stays as it is: scorers decide what a duplicate is worth."""
    with capture_retrievals() as capture:
        # LlamaIndex's own retrievers leave the second out; others tell it as it is.
        get_dispatcher().event(
            RetrievalEndEvent(str_or_query_bundle="q", nodes=nodes("a", "a", "b"))
        )
    assert retrieved(capture) == final(capture) == ["a", "a", "b"]


def test_what_a_reranker_of_a_retriever_looks_up_is_a_part_of_it() -> None:
    """Two levels down it is a part still: only what came out of the retriever was retrieved."""
    inner = Keeps(top_n=1, first=lambda _: Brings("looked up").retrieve("q"))
    outer = Brings("a", first=lambda _: inner.postprocess_nodes(nodes("b")))
    with capture_retrievals() as capture:
        outer.retrieve("q")
    assert retrieved(capture) == ["a"]
    assert [(one.is_part, len(one.nodes or ())) for one in asked(capture)] == [
        (False, 1),
        (True, 1),
    ]


@pytest.mark.parametrize("where", ["retriever", "postprocessor", "synthesizer"])
def test_a_model_that_reads_on_the_way_is_not_the_one_that_answers(
    where: str, llm: MockLLM
) -> None:
    """What a retriever, a reranker or a synthesizer asks a model about first is not final."""
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


def test_a_node_that_holds_an_engines_answer_by_chance_counts(llm: MockLLM) -> None:
    """Only what no retriever brought is an engine's own words."""
    answer = "text text text text text"  # the model's
    link = IndexNode(id_="link", text="see there", index_id="engine")
    own = TextNode(id_="own", text=f"Known before: {answer}.")
    recursive = RecursiveRetriever(
        "root",
        {"root": SummaryIndex([link, own]).as_retriever()},
        query_engine_dict={
            "engine": engine_over(Brings("inner"), get_response_synthesizer(llm=llm))
        },
    )
    with capture_retrievals() as capture:
        brought = recursive.retrieve("q")
    assert sum(answer in item.text for item in brought) == 2
    assert set(retrieved(capture)) == {"own", "inner"}


class Adds(BaseNodePostprocessor):
    """Adds a node, as one that brings the next ones in a document."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [*nodes, NodeWithScore(node=TextNode(id_="next", text="What comes next."))]


def test_what_a_postprocessor_adds_reaches_the_model(llm: MockLLM) -> None:
    """Beside an engine's own words, which do not count, stand nodes that no retriever brought."""
    link = IndexNode(id_="link", text="see there", index_id="engine")
    recursive = RecursiveRetriever(
        "root",
        {"root": SummaryIndex([link]).as_retriever()},
        query_engine_dict={
            "engine": engine_over(Brings("inner"), get_response_synthesizer(llm=llm))
        },
    )
    with capture_retrievals() as capture:
        RetrieverQueryEngine(
            recursive, get_response_synthesizer(llm=llm), node_postprocessors=[Adds()]
        ).query("q")
    assert (retrieved(capture), final(capture)) == (["inner"], ["inner", "next"])


def test_an_engine_that_goes_on_after_its_own_query_is_one_engine(llm: MockLLM) -> None:
    """A subclass that asks a model once more, about nodes of its own, has that model read them."""

    class GoesOn(RetrieverQueryEngine):
        def query(self, str_or_query_bundle: Any) -> Any:
            super().query(str_or_query_bundle)
            return get_response_synthesizer(llm=llm).synthesize("q", nodes("own"))

    with capture_retrievals() as capture:
        GoesOn(Brings("a"), get_response_synthesizer(llm=llm)).query("q")
    assert (retrieved(capture), set(final(capture))) == (["a"], {"a", "own"})


@pytest.mark.parametrize(
    "texts",
    [
        {"both": "One two. Three four.", "first": "One two."},
        {"one": "One two.", "copy": "One two."},
        {"copy": "One two.", "other": "Five six.", "one": "One two."},
    ],
    ids=["a part", "a copy", "a copy further on"],
)
def test_citations_of_equal_words_are_of_several_nodes(texts: dict[str, str], llm: MockLLM) -> None:
    """Sources stand in the order of the nodes, so that one node's words end where they repeat."""

    class Sentences(TokenTextSplitter):
        def split_text(self, text: str) -> list[str]:
            return [f"{words}." for words in text.split(".") if words.strip()]

    found = [TextNode(id_=name, text=text) for name, text in texts.items()]
    engine = CitationQueryEngine(
        SummaryIndex(found).as_retriever(), llm=llm, text_splitter=Sentences()
    )
    with capture_retrievals() as capture:
        engine.query("q")
    assert final(capture) == list(texts)


# Tools


def test_a_tool_that_returns_an_empty_list_may_have_retrieved_nothing() -> None:
    """Where no retriever is behind it, the list may be of anything: nothing was seen."""
    with capture_retrievals() as capture:
        FunctionTool.from_defaults(list, name="orders", description="d").call()
    assert capture.contexts() is None


def test_a_tool_may_bring_nodes_without_a_retriever() -> None:
    """Nodes that it read from a store itself reached whoever called it."""
    with capture_retrievals() as capture:
        FunctionTool.from_defaults(lambda: nodes("a"), name="store", description="d").call()
    assert capture.contexts() is not None
    assert final(capture) == ["a"]
    assert capture.sample().retrieval_error is None
    with capture_retrievals(scored="retrieved") as capture:
        FunctionTool.from_defaults(lambda: nodes("a"), name="store", description="d").call()
    assert (capture.retrieval().error or "").startswith("no retrieval was seen")


def test_a_tool_whose_reranker_dropped_all_hands_on_nothing() -> None:
    """An empty list that a retriever is behind is what was left."""
    tool = RetrieverTool.from_defaults(
        Brings("a"), node_postprocessors=[KeepsAwaited(top_n=0)], description="d"
    )
    with capture_retrievals() as capture:
        asyncio.run(tool.acall("q"))
    assert (retrieved(capture), final(capture)) == (["a"], [])


# From step to step


def test_an_empty_list_is_handed_on_too() -> None:
    """A filter that drops all hands on to the next one, which has nothing to do."""
    with capture_retrievals() as capture:
        left = Keeps(top_n=0).postprocess_nodes(Brings("a").retrieve("q"))
        KeepsAwaited(top_n=2).postprocess_nodes(left)
    assert stages(capture) == {"Brings": "Keeps", "Keeps": None}
    assert capture.retrieval().calls[0].source == "KeepsAwaited"
    assert final(capture) == []


def test_a_part_that_filters_what_it_brings_is_one_stage() -> None:
    """A retriever that overrides `retrieve`, and asks its own class in it, brought the outcome."""

    class Filters(Brings):
        def retrieve(self, str_or_query_bundle: Any) -> list[NodeWithScore]:
            return super().retrieve(str_or_query_bundle)[:1]

    with capture_retrievals() as capture:
        Brings("c", first=Filters("a", "b").retrieve).retrieve("q")
    (part,) = capture.sample().stages
    assert (part.name, part.into) == ("Filters", None)
    assert [context.id for context in part.contexts] == ["a"]


def test_lists_that_were_put_together_are_not_changed() -> None:
    """In whatever order several lists are joined, and where nodes come from nowhere, none is."""
    with capture_retrievals() as capture:
        first, second = Brings("a").retrieve("q"), Brings("b").retrieve("q")
        Keeps(top_n=2).postprocess_nodes([*second, *first])
    assert "before Keeps" not in stages(capture)
    with capture_retrievals() as capture:
        Keeps(top_n=1).postprocess_nodes(nodes("a", "b"))
    assert [call.source for call in capture.retrieval().calls] == ["Keeps"]
    assert stages(capture) == {}


def test_nodes_that_were_wrapped_anew_are_the_same() -> None:
    """Code that gives new scores makes new objects: the nodes tell whose list it was."""
    with capture_retrievals() as capture:
        found = Brings("a", "b").retrieve("q")
        Keeps(top_n=1).postprocess_nodes([NodeWithScore(node=item.node) for item in found])
    assert stages(capture) == {"Brings": None}
    assert final(capture) == ["a"]


def test_of_two_equal_lists_the_one_that_was_handed_on_is_taken() -> None:
    """Two retrievals of the same nodes: what is reranked is the one, the other stays final."""
    retriever, other = Brings("a", "b"), Brings("a", "b")
    with capture_retrievals() as capture:
        first = retriever.retrieve("q")
        other.retrieve("q")
        Keeps(top_n=1).postprocess_nodes(first)
    assert final(capture) == ["a", "b"]
    taken, left = sorted(capture.retrieval().calls, key=lambda call: call.source, reverse=True)
    assert (taken.source, left.source) == ("Keeps", "Brings")
    assert [part.source for part in taken.children] == ["Brings"]


# Evaluators, which read again what was retrieved


def test_what_an_evaluator_reads_again_is_no_retrieval(llm: MockLLM) -> None:
    """Evaluated in the same block, an answer is judged by its texts: nothing was retrieved anew."""
    engine = engine_over(Brings("a", "b"), get_response_synthesizer(llm=llm))
    with capture_retrievals() as capture:
        RelevancyEvaluator(llm=llm).evaluate_response("q", engine.query("q"))
    assert [one.retriever for one in asked(capture)] == ["Brings"]
    assert retrieved(capture) == final(capture) == ["a", "b"]


def test_retrying_an_engine_without_text(llm: MockLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of no words is in no evaluator's question: the retrying engine is known by name."""
    monkeypatch.setattr(Settings, "_llm", llm)
    engine = RetryQueryEngine(
        engine_over(Brings("a"), NoText(llm=llm)), RelevancyEvaluator(llm=llm), max_retries=1
    )
    with capture_retrievals() as capture:
        engine.query("q")
    assert {one.retriever for one in asked(capture)} == {"Brings"}
    assert retrieved(capture) == final(capture) == ["a"]


def test_two_retrievers_of_one_text_in_a_retried_engine(
    llm: MockLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same text under another ID is no evaluator's, if another kind of retriever brings it."""
    monkeypatch.setattr(Settings, "_llm", llm)

    class Copies(Brings):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(id_=f"copy of {name}", text=f"The {name}."))
                    for name in self.names]  # fmt: skip

    both = Brings("a", first=Copies("a").retrieve)
    engine = RetryQueryEngine(
        engine_over(both, get_response_synthesizer(llm=llm)),
        RelevancyEvaluator(llm=llm),
        max_retries=1,
    )
    with capture_retrievals() as capture:
        engine.query("q")
    assert [one.retriever for one in asked(capture)][:2] == ["Brings", "Copies"]
