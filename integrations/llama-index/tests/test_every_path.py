"""A function, an engine or a block has one number on every path."""

from __future__ import annotations

import asyncio
import gc
import random
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RetrieverQueryEngine,
)
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

from fullrecall import Context, Sample
from fullrecall.samples import Retrieval
from llama_index.evaluation.fullrecall import observed, selfcheck
from llama_index.evaluation.fullrecall.listening import recorders

SAMPLE = Sample(user_input="q", reference_context_ids=["a"])


def text_of(name: str) -> str:
    """Return the text of a node, with a marker in it."""
    return f"All that is known about <{name}> stands here."


class Brings(BaseRetriever):
    """A retriever of nodes with these IDs, all new objects."""

    def __init__(self, *names: str) -> None:
        self.names = names
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=name, text=text_of(name)), score=1 / (n + 1))
            for n, name in enumerate(self.names)
        ]


class Cuts(Brings):
    """A retriever that cuts its result in the public method."""

    def retrieve(self, str_or_query_bundle: Any) -> list[NodeWithScore]:
        """Return the last node."""
        return super().retrieve(str_or_query_bundle)[-1:]

    async def aretrieve(self, str_or_query_bundle: Any) -> list[NodeWithScore]:
        """Return the last node."""
        return (await super().aretrieve(str_or_query_bundle))[-1:]


class Down(Brings):
    """A retriever that fails."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise TimeoutError("down")


class Keeps(BaseNodePostprocessor):
    """A postprocessor that reverses a list, and keeps the first node."""

    top_n: int

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[::-1][: self.top_n]


def answered(nodes: list[NodeWithScore]) -> Any:
    """Return the answer of a model to nodes."""
    return get_response_synthesizer(llm=MockLLM(max_tokens=5)).synthesize("q", nodes)


def shortened(nodes: list[NodeWithScore]) -> list[NodeWithScore]:
    """Return copies of nodes with the beginnings of their texts."""
    return [NodeWithScore(node=TextNode(text=node.text[:30]), score=1.0) for node in nodes]


def with_fallback(question: str) -> list[NodeWithScore]:
    """Ask one retriever, and another one if it fails."""
    try:
        return Down().retrieve(question)
    except TimeoutError:
        return Brings("c").retrieve(question)


def in_a_loop(question: str) -> list[NodeWithScore]:
    """Ask two stores; one of them is down."""
    found = []
    for retriever in (Down(), Brings("a")):
        try:
            found += retriever.retrieve(question)
        except TimeoutError:
            continue
    return found


class Swallows(CustomQueryEngine):
    """An engine that answers from one of two retrievers."""

    def custom_query(self, query_str: str) -> Any:
        """Answer, and swallow a retriever's failure."""
        return answered(in_a_loop(query_str))


def in_threads(question: str) -> list[NodeWithScore]:
    """Ask two retrievers at once."""
    with ThreadPoolExecutor(2) as pool:
        asked = [
            pool.submit(copy_context().run, Brings(name, f"{name}2").retrieve, question)
            for name in "ab"
        ]
        return [each.result()[0] for each in asked]


class Flow(Workflow):
    """A workflow that retrieves, and returns the remaining nodes."""

    @step
    async def find(self, event: StartEvent) -> StopEvent:
        """Retrieve, and cut by hand."""
        return StopEvent(result=(await Brings("a", "b").aretrieve(event.query))[1:])


SHAPES: dict[str, tuple[Any, str]] = {
    "reranks": (lambda q: Brings("a", "b", "c").retrieve(q)[::-1][:2], "c b"),
    "returns texts": (lambda q: [n.text for n in Brings("a", "b", "c").retrieve(q)[:2]], "a b"),
    "returns a mapping": (lambda q: {"x": "y", "nodes": Brings("a", "b").retrieve(q)[1:]}, "b"),
    "returns mappings": (
        lambda q: [{"id": n.node_id, "text": n.text} for n in Brings("a", "b").retrieve(q)[1:]],
        "b",
    ),
    "returns contexts": (
        lambda q: [Context(n.text, id=n.node_id) for n in Brings("a", "b").retrieve(q)[1:]],
        "b",
    ),
    "joins texts": (lambda q: "\n".join(n.text for n in Brings("a", "b").retrieve(q)[:1]), "a"),
    "returns nothing": (lambda q: Brings("a", "b").retrieve(q)[:0], ""),
    "answers from a part": (lambda q: str(answered(Brings("a", "b").retrieve(q)[:1])), "a"),
    "answers from all, sorted": (
        lambda q: str(answered(Brings("a", "b").retrieve(q)[::-1])),
        "b a",
    ),
    "answers from one list of two, sorted": (
        lambda q: str(answered([*Brings("a", "b").retrieve(q), *Brings("c").retrieve(q)][1::-1])),
        "b a",
    ),
    "answers from a shortened copy": (
        lambda q: str(
            answered(shortened([*Brings("a").retrieve(q), *Brings("b").retrieve(q)][:1]))
        ),
        "a",
    ),
    "falls back": (with_fallback, "c"),
    "loops": (in_a_loop, "unscored"),
    "swallows": (Swallows(), "unscored"),
    "threads": (in_threads, "a b"),
    "workflow": (Flow(), "b"),
    "cuts by itself": (Cuts("a", "b", "c"), "c"),
    "engine": (
        RetrieverQueryEngine.from_args(
            Brings("a", "b", "c"),
            llm=MockLLM(max_tokens=5),
            node_postprocessors=[Keeps(top_n=2)],
        ),
        "c b",
    ),
}


def listed(found: Retrieval) -> str:
    """Return the IDs, or a note that the record is unscored."""
    return "unscored" if found.error else " ".join(str(c.id) for c in found.contexts or ())


@pytest.mark.parametrize("name", SHAPES)
def test_observed_gives_the_list_passed_on(name: str, runs: int) -> None:
    """`observed` gives the list passed on, one by one, in threads, and awaited."""
    thing, expected = SHAPES[name]
    retriever = observed(thing)

    def ask(_: int) -> str:
        gc.collect() if random.random() < 0.02 else None
        return listed(retriever.retrieve(SAMPLE))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(runs))) == {expected}
    assert listed(asyncio.run(retriever.aretrieve(SAMPLE))) == expected
    assert recorders.get() is None


def test_a_cache_changes_nothing() -> None:
    """The returned nodes count, even if they come from a cache."""
    cache: dict[str, list[NodeWithScore]] = {}

    def cached(question: str) -> list[NodeWithScore]:
        if question not in cache:
            cache[question] = Brings("a", "b", "c").retrieve(question)[:2]
        return cache[question]

    retriever = observed(cached)
    assert [listed(retriever.retrieve(SAMPLE)) for _ in range(2)] == ["a b", "a b"]


def test_a_version_that_reports_otherwise_is_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that reports in another way is unscored, and the reason names it."""
    selfcheck.broken.cache_clear()

    def run() -> Any:
        raise ValueError("spans have no callers")

    monkeypatch.setattr(selfcheck, "_run", run)
    try:
        found = observed(Brings("a")).retrieve(SAMPLE)
    finally:
        selfcheck.broken.cache_clear()
    assert "llama-index-core 0." in (found.error or "")
    assert "spans have no callers" in (found.error or "")


@pytest.mark.parametrize("text", ["Yes.", text_of("the same")])
@pytest.mark.parametrize(("most", "expected"), [(2, "b a"), (1, "b")])
def test_cited_sources_of_one_text(text: str, most: int, expected: str) -> None:
    """Equal sources that lose their IDs by citation numbers are identified by their order."""

    class Twins(Brings):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(id_=own, text=text)) for own in self.names]

    engine = CitationQueryEngine.from_args(
        None,  # type: ignore[arg-type]  # the index, which a retriever stands for
        retriever=Twins("a", "b"),
        llm=MockLLM(max_tokens=5),
        node_postprocessors=[Keeps(top_n=most)],
    )
    assert listed(observed(engine).retrieve(SAMPLE)) == expected
