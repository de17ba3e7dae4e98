"""Parts of random programs: retrievers, postprocessors, models, engines and workflows.

Each document has a marker in its text. A part that draws gets its program.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from html import escape
from typing import Any

from known_steps import NoPrompts
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import (
    Context,
    Event,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)

_MARKER = re.compile(r"\b(d\d{1,2})(?:w\d+)?\b(?=\W)")


def text_of(name: str) -> str:
    """Return the text of a node, with a marker in it."""
    words = " ".join(f"{name}w{number}" for number in range(10))
    return f"All that is known about <{name}> stands here: {words}."


def markers(text: str) -> set[str]:
    """Return the documents that a text has."""
    return {*_MARKER.findall(text)}


class Brings(BaseRetriever):
    """A retriever of nodes with these IDs: new objects, or the same ones each time."""

    def __init__(self, *names: str, shared: bool = False) -> None:
        self.names = names
        self.shared = self._nodes() if shared else None
        super().__init__()

    def _nodes(self) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=name, text=text_of(name)), score=1 / (n + 1))
            for n, name in enumerate(self.names)
        ]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes() if self.shared is None else list(self.shared)


class Down(BaseRetriever):
    """A retriever that fails."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise TimeoutError("down")


class Tries(BaseRetriever):
    """A retriever that asks another one if the first one is down."""

    def __init__(self, other: BaseRetriever) -> None:
        self.other = other
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        try:
            return Down().retrieve(query_bundle)
        except TimeoutError:
            return self.other.retrieve(query_bundle)


class Changes(BaseNodePostprocessor):
    """A postprocessor that cuts, sorts, copies, shortens, merges, or changes IDs, in one way."""

    seed: int

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self.changed(nodes)

    def changed(  # noqa: C901, PLR0911 - a kind each
        self, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        """Return the nodes, changed."""
        chance = random.Random(self.seed)
        most = max(1, len(nodes) - chance.randrange(3))
        kind = chance.randrange(13)
        if kind == 0:
            return nodes[:most]
        if kind == 1:
            return nodes[::-1][:most]
        if kind == 2:
            return sorted(nodes, key=lambda node: node.text, reverse=chance.random() < 0.5)[:most]
        if kind == 3:
            return [NodeWithScore(node=node.node, score=0.5) for node in nodes]
        if kind == 4:
            return [NodeWithScore(node=n.node.model_copy(), score=1) for n in nodes[:most]]
        if kind == 5:
            return [NodeWithScore(node=TextNode(text=n.text[:60]), score=1) for n in nodes[:most]]
        if kind == 6:
            return [_new(f"[{n}] {node.text}") for n, node in enumerate(nodes[:most], start=1)]
        if kind == 7:
            return [_new(f"<source>{escape(node.text)}</source>") for node in nodes[:most]]
        if kind == 8:
            return [_new("\n".join(node.text for node in nodes[:2])), *nodes[2:]][: len(nodes)]
        if kind == 9:
            return [_new(f"[{n}] {node.text[:60]}") for n, node in enumerate(nodes[:most], start=1)]
        if kind == 10:
            return [_new("\n".join(node.text[:60] for node in nodes[:2])), *nodes[2:]]
        if kind == 11:
            first, *others = [node.text for node in nodes[:2]] or [""]
            return [_new("\n".join([first, *(text[:60] for text in others)])), *nodes[2:]]
        return list({node.text: node for node in nodes}.values())


def _new(text: str) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text), score=1)


class Selects(NoPrompts, BaseSelector):
    """A selector of the tools at fixed positions."""

    def __init__(self, *places: int) -> None:
        self.places = places

    def _select(self, choices: Any, query: Any) -> SelectorResult:
        return SelectorResult(
            selections=[SingleSelection(index=place, reason="fixed") for place in self.places]
        )

    async def _aselect(self, choices: Any, query: Any) -> SelectorResult:
        return self._select(choices, query)


class Rewrites(NoPrompts, BaseQueryTransform):
    """A query transform that makes another question."""

    def _run(self, query_bundle: QueryBundle, metadata: Any) -> QueryBundle:
        return QueryBundle(f"again: {query_bundle.query_str}")


class Scripted(CustomLLM):
    """A model that gives one answer to any prompt, and keeps the prompts."""

    prompts: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        """Return a model's metadata with a large window."""
        return LLMMetadata(model_name="scripted", context_window=100_000)

    @llm_completion_callback()
    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Return the same answer to any prompt."""
        self.prompts.append(prompt)
        return CompletionResponse(text="an answer")

    @llm_completion_callback()
    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponseGen:
        """Yield the same answer to any prompt."""
        yield self.complete(prompt)


class Found(Event):
    """An event that passes nodes to the next step."""

    nodes: list[NodeWithScore]


class Steps(Workflow):
    """A workflow that retrieves, changes the nodes in another step, and ends."""

    def __init__(self, program: Any, retriever: BaseRetriever, *, answers: bool) -> None:
        super().__init__(timeout=60)
        self.program = program
        self.retriever = retriever
        self.change = program.change()
        self.answers = answers
        self.keeps_state = program.chance.random() < 0.3

    @step
    async def find(self, context: Context, event: StartEvent) -> Found:
        """Retrieve."""
        nodes = await self.retriever.aretrieve(event.query)
        await context.store.set("nodes", nodes)
        return Found(nodes=nodes)

    @step
    async def change_nodes(self, context: Context, event: Found) -> StopEvent:
        """Cut, sort or copy, and answer."""
        nodes = await context.store.get("nodes") if self.keeps_state else event.nodes
        return await self.ended(nodes)

    async def ended(self, nodes: list[NodeWithScore]) -> StopEvent:
        """Return the end of the workflow: changed nodes, or an answer to them."""
        nodes = self.change.changed(nodes)
        if self.answers:
            synthesizer = get_response_synthesizer(llm=self.program.llm)
            return StopEvent(result=str(await synthesizer.asynthesize("q", nodes)))
        self.program.returned = nodes
        return StopEvent(result=nodes)


class Waits(Steps):
    """A workflow that asks a human how many nodes to keep, between steps or within one."""

    inside = False

    @step
    async def find(self, context: Context, event: StartEvent) -> InputRequiredEvent | Found:
        """Retrieve, and ask."""
        nodes = await self.retriever.aretrieve(event.query)
        await context.store.set("nodes", nodes)
        if not self.inside:
            return InputRequiredEvent(prefix="how many?")
        reply = await context.wait_for_event(
            HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="how many?")
        )
        return Found(nodes=nodes[: int(reply.response)])

    @step
    async def keep(self, context: Context, event: HumanResponseEvent) -> Found | None:
        """Keep as many as the human says."""
        if self.inside:
            return None
        nodes = await context.store.get("nodes")
        return Found(nodes=nodes[: int(event.response)])

    @step
    async def change_nodes(self, context: Context, event: Found) -> StopEvent:
        """Cut, sort or copy, and answer."""
        return await self.ended(event.nodes)


def answered_by(human: str, flow: Any, argument: str) -> Callable[[str], Any]:
    """Return a function that runs a workflow, and answers its questions as a human."""

    async def run(question: str) -> Any:
        handler = flow.run(**{argument: question})
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response=human))
        return await handler

    return run


class ByHand(CustomQueryEngine):
    """A user's own engine with a cut between retriever and synthesizer."""

    program: Any
    retriever: Any
    change: Any

    def custom_query(self, query_str: str) -> Any:
        """Retrieve, change, answer."""
        nodes = self.change.changed(self.retriever.retrieve(query_str))
        response = get_response_synthesizer(llm=self.program.llm).synthesize(query_str, nodes)
        return response if self.program.seed % 2 else str(response)


class Composed(BaseRetriever):
    """A retriever that asks two retrievers, and changes their results."""

    def __init__(self, program: Any, first: BaseRetriever, second: BaseRetriever) -> None:
        self.first, self.second, self.change = first, second, program.change()
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = [*self.first.retrieve(query_bundle), *self.second.retrieve(query_bundle)]
        return self.change.changed(nodes)


class Returning(BaseRetriever):
    """A retriever that keeps the nodes that it returns."""

    def __init__(self, program: Any, inside: BaseRetriever) -> None:
        self.program, self.inside = program, inside
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.program.returned = self.inside.retrieve(query_bundle)
        return self.program.returned


class Keeping(CustomQueryEngine):
    """An engine without a model that keeps its nodes."""

    def __init__(self, program: Any, inside: Any) -> None:
        super().__init__()
        self._program, self._inside = program, inside

    def custom_query(self, query_str: str) -> Any:
        """Answer."""
        response = self._inside.query(query_str)
        self._program.returned = response.source_nodes
        return response


def drops_ids(change: Changes) -> bool:
    """Return whether a change gives nodes other IDs."""
    node = NodeWithScore(node=TextNode(id_="x", text="y"), score=1)
    return change.changed([node])[0].node_id != "x"
