"""The contract crosses each kind of engine with each step that renews the IDs of nodes.

A search finds two expected nodes behind an unexpected one. The step renews all of them and drops
the last, so that one expected node is left, at rank 2. Every door must give that number, or no
number and the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from known_steps import Asks
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import ImageNode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step
from random_programs import Selects

from llama_apps.application import Application, Kind, Returns, add
from llama_apps.parts import (
    READS_PICTURES,
    Finds,
    answered,
    calling,
    chat_model,
    engine_of,
    model,
    picture,
    tool_of,
)

Found: TypeAlias = list[NodeWithScore]

_KEPT = 2


# Searches


class FindsImages(Finds):
    """A store of pictures, which have no text."""

    def _retrieve(self, query_bundle: QueryBundle) -> Found:
        return [
            NodeWithScore(node=picture(name), score=1 / rank)
            for rank, name in enumerate(self.names.split(), start=1)
        ]


# Steps


def _renewed(text: str, old: NodeWithScore) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text), score=old.score)


def same(found: Found) -> Found:
    """Copy the texts into new nodes."""
    return [_renewed(each.text, each) for each in found[:_KEPT]]


def prefix(found: Found) -> Found:
    """Number the texts."""
    return [_renewed(f"[{n}] {each.text}", each) for n, each in enumerate(found[:_KEPT], start=1)]


def cut(found: Found) -> Found:
    """Keep the first sentence of each text."""
    return [_renewed(f"{each.text.partition('. ')[0]}.", each) for each in found[:_KEPT]]


def merge(found: Found) -> Found:
    """Join the texts in one node."""
    return [_renewed("\n\n".join(each.text for each in found[:_KEPT]), found[0])]


def compress(found: Found) -> Found:
    """Have a model say each text in fewer words of its own."""
    briefly = {"ferry": "Two boats daily.", "tower": "Built by Brandt.", "hours": "Open by day."}
    llm = model(lambda prompt: next((t for w, t in briefly.items() if w in prompt), "A light."))
    return [_renewed(llm.complete(f"Shorten: {each.text}").text, each) for each in found[:_KEPT]]


def image(found: Found) -> Found:
    """Make new nodes of the same pictures."""
    return [
        NodeWithScore(node=ImageNode(image=each.node.image), score=each.score)
        for each in found[:_KEPT]
    ]


def answer(found: Found) -> Found:
    """Have a model answer from the nodes, and return the answer as a node."""
    return [_renewed(str(answered(found[:_KEPT])), found[0])]


Step: TypeAlias = Callable[[Found], Found]
STEPS: dict[str, Step] = {
    each.__name__: each for each in (same, prefix, cut, merge, compress, image, answer)
}

_TWINS = {
    "observed text": "the same as an observed call, for these engines",
    "batch without a block": "the same as a plain response",
}
_COMPRESSED = "the new nodes share neither an ID nor words with those that were retrieved"


class Renews(BaseNodePostprocessor):
    """A postprocessor that applies the step."""

    work: Step

    def _postprocess_nodes(self, nodes: Found, query_bundle: QueryBundle | None = None) -> Found:
        return self.work(nodes)


class FindsAndRenews(BaseRetriever):
    """A retriever that applies the step to another retriever's nodes."""

    def __init__(self, inside: BaseRetriever, work: Step) -> None:
        self.inside, self.work = inside, work
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> Found:
        return self.work(self.inside.retrieve(query_bundle))


# Engines


class Parts(NamedTuple):
    """The parts of an engine: two searches and the step."""

    work: Step
    finds: type[Finds]

    @property
    def first(self) -> Finds:
        """Return a search that finds "tower" and "fees" behind "ferry"."""
        return self.finds("ferry tower fees")

    @property
    def second(self) -> Finds:
        """Return a search that finds "lamp" and "keeper" behind "hours"."""
        return self.finds("hours lamp keeper")

    @property
    def renews(self) -> Renews:
        """Return the step as a postprocessor."""
        return Renews(work=self.work)

    @property
    def tools(self) -> list[Any]:
        """Return both searches, as engines with the step, as tools."""
        return [
            tool_of(engine_of(self.first, self.renews), "building"),
            tool_of(engine_of(self.second, self.renews), "visits"),
        ]


def retriever(parts: Parts) -> Any:
    """A user's own retriever applies the step."""
    return FindsAndRenews(parts.first, parts.work)


def fusion(parts: Parts) -> Any:
    """Two retrievers with the step are fused by their scores."""
    return QueryFusionRetriever(
        [FindsAndRenews(each, parts.work) for each in (parts.first, parts.second)],
        llm=model(),
        num_queries=1,
        similarity_top_k=10,
        use_async=False,
    )


def engine(parts: Parts) -> Any:
    """An engine has a retriever, the step as a postprocessor, and a synthesizer."""
    return engine_of(parts.first, parts.renews)


def citation(parts: Parts) -> Any:
    """A citation engine numbers its sources after the step."""
    return CitationQueryEngine.from_args(
        None,
        retriever=parts.first,
        llm=chat_model(),
        node_postprocessors=[parts.renews],
        **({"multimodal": True} if parts.finds is FindsImages else {}),
    )


def router(parts: Parts) -> Any:
    """A selector chooses the first of two engines."""
    return RouterQueryEngine(Selects(0), parts.tools, llm=model())


def sub_questions(parts: Parts) -> Any:
    """Each of two engines answers a sub-question."""
    return SubQuestionQueryEngine.from_defaults(
        parts.tools, llm=model(), question_gen=Asks(), use_async=False, verbose=False
    )


class ByHand(CustomQueryEngine):
    """A user's own engine, with the step in its code."""

    retriever: Any
    work: Any

    def custom_query(self, query_str: str) -> Any:
        """Search, renew the nodes, and answer."""
        return answered(self.work(self.retriever.retrieve(query_str)))


def custom(parts: Parts) -> Any:
    """A user's own engine applies the step in its code."""
    return ByHand(retriever=parts.first, work=parts.work)


def chat(parts: Parts) -> Any:
    """A chat engine has the step as a postprocessor."""
    return ContextChatEngine.from_defaults(
        retriever=parts.first,
        llm=model(),
        node_postprocessors=[parts.renews],
        memory=ChatMemoryBuffer.from_defaults(token_limit=9999),
    )


def agent(parts: Parts) -> Any:
    """An agent's tool is a retriever with the step behind it."""
    tool = RetrieverTool.from_defaults(
        parts.first, node_postprocessors=[parts.renews], name="search", description="d"
    )
    llm = calling([("search", {"input": "the lighthouse"})])
    return FunctionAgent(name="guide", description="d", tools=[tool], llm=llm, streaming=False)


class NodesFound(Event):
    """An event that passes nodes to the next step."""

    nodes: Any


class Steps(Workflow):
    """A workflow that searches in one step, renews in another, and answers in a third."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(timeout=60)
        self.parts = parts

    @step
    async def search(self, event: StartEvent) -> NodesFound:
        """Search, and renew."""
        return NodesFound(nodes=self.parts.work(await self.parts.first.aretrieve(event.query)))

    @step
    async def write(self, event: NodesFound) -> StopEvent:
        """Answer."""
        return StopEvent(result=answered(event.nodes))


def function(parts: Parts) -> Any:
    """A function returns the new nodes."""
    return lambda question: parts.work(parts.first.retrieve(question))


def function_that_answers(parts: Parts) -> Any:
    """A function answers from the new nodes, and returns the text."""
    return lambda question: str(answered(parts.work(parts.first.retrieve(question))))


class _Engine(NamedTuple):
    make: Callable[[Parts], Any]
    kind: Kind
    returns: Returns
    searches: int = 1


_ENGINES: dict[str, _Engine] = {
    "retriever": _Engine(retriever, "retriever", "nodes"),
    "fusion": _Engine(fusion, "retriever", "nodes", 2),
    "engine": _Engine(engine, "engine", "response"),
    "citation": _Engine(citation, "engine", "response"),
    "router": _Engine(router, "engine", "response"),
    "sub-questions": _Engine(sub_questions, "engine", "response", 2),
    "custom": _Engine(custom, "engine", "response"),
    "chat": _Engine(chat, "chat", "response"),
    "agent": _Engine(agent, "agent", "agent output"),
    "workflow": _Engine(Steps, "workflow", "response"),
    "function": _Engine(function, "function", "nodes"),
    "function that answers": _Engine(function_that_answers, "function", "text"),
}

CONTRACT: list[str] = []
"""The names of these applications."""


def _add(name: str, made: _Engine, work: Step) -> None:
    both = made.searches > 1
    finds = FindsImages if work is image else Finds
    application = Application(
        name=f"{name} + {work.__name__}",
        kind=made.kind,
        returns=made.returns,
        build=lambda: made.make(Parts(work, finds)),
        # Two searches: "tower" and "lamp" are left of the three expected nodes.
        expects="tower fees lamp" if both else "tower fees",
        recall=2 / 3 if both else 0.5,
        first=None if work is merge else 0.0,
        retrieved=1.0,
        stages={} if both else {finds.__name__: 1.0},
        unscorable=_COMPRESSED if work is compress else None,
        renews=True,
        skips=_TWINS,
    )
    add(application)
    CONTRACT.append(application.name)


for _name, _made in _ENGINES.items():
    for _work in STEPS.values():
        if READS_PICTURES or _made.make is not citation or _work is not image:
            _add(_name, _made, _work)
