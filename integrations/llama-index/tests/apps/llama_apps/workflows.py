"""Workflows that users build from steps and events."""

import asyncio
from functools import partial
from typing import Any

from llama_index.core import Document, SummaryIndex
from llama_index.core.postprocessor import LLMRerank
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step

from llama_apps.application import workflow
from llama_apps.parts import (
    Finds,
    FindsFor,
    answered,
    by_words,
    engine_of,
    model,
    nodes,
    vector_index,
)

answering = partial(workflow, returns="response")
"""A workflow whose result is the response of a synthesizer or an engine."""


class Retrieved(Event):
    """An event with the found nodes."""

    nodes: list[NodeWithScore]


class Reranked(Event):
    """An event with the reranked nodes."""

    nodes: list[NodeWithScore]


class Reranks(Workflow):
    """The tutorial's workflow, which searches, reranks, and streams an answer."""

    @step
    async def retrieve(self, ctx: Context, ev: StartEvent) -> Retrieved:
        """Search."""
        await ctx.store.set("query", ev.query)
        return Retrieved(nodes=await Finds("ferry tower fees").aretrieve(ev.query))

    @step
    async def rerank(self, ctx: Context, ev: Retrieved) -> Reranked:
        """Rank again."""
        ranker = LLMRerank(llm=model("Doc: 3, Relevance: 9\nDoc: 1, Relevance: 7"), top_n=2)
        query = await ctx.store.get("query")
        return Reranked(nodes=await ranker.apostprocess_nodes(ev.nodes, query_str=query))

    @step
    async def synthesize(self, ctx: Context, ev: Reranked) -> StopEvent:
        """Answer."""
        synthesizer = get_response_synthesizer(llm=model(), response_mode="compact")
        return StopEvent(result=await synthesizer.asynthesize("q", nodes=ev.nodes))


@answering(expects="tower fees", recall=0.5, first=0.5, retrieved=1.0, stages={"Finds": 1.0})
def reranking_workflow() -> Any:
    """A workflow searches, reranks, and answers."""
    return Reranks(timeout=60)


class Corrects(Workflow):
    """A workflow that grades the found nodes, and answers from an index of the good texts."""

    joins = False

    @step
    async def retrieve(self, ev: StartEvent) -> Retrieved:
        """Search."""
        return Retrieved(nodes=await Finds("ferry tower fees").aretrieve(ev.query))

    @step
    async def grade(self, ev: Retrieved) -> Reranked:
        """Grade each node."""
        llm = by_words("yes", seals="no")
        good = [each for each in ev.nodes if str(await llm.acomplete(each.text)) == "yes"]
        return Reranked(nodes=good)

    @step
    async def answer(self, ev: Reranked) -> StopEvent:
        """Index the texts again, and ask the new index."""
        texts = [each.text for each in ev.nodes]
        texts = ["\n".join(texts)] if self.joins else texts
        index = SummaryIndex.from_documents([Document(text=each) for each in texts])
        return StopEvent(result=index.as_query_engine(llm=model()).query("q"))


class CorrectsJoined(Corrects):
    """A workflow that joins all good texts in one document, and indexes it."""

    joins = True


@answering(expects="tower fees seals", recall=2 / 3, first=0.0, retrieved=2 / 3, renews=True)
def corrective_workflow() -> Any:
    """Relevant texts are indexed again (Corrective RAG)."""
    return Corrects(timeout=60)


@answering(expects="tower fees seals", recall=2 / 3, retrieved=2 / 3, renews=True)
def corrective_workflow_with_one_document() -> Any:
    """Relevant texts are joined, and indexed again (Corrective RAG)."""
    return CorrectsJoined(timeout=60)


class Cites(Workflow):
    """The tutorial's citation workflow, which numbers the sources."""

    keeps_ids = True

    @step
    async def retrieve(self, ev: StartEvent) -> Retrieved:
        """Search."""
        return Retrieved(nodes=await Finds("ferry tower").aretrieve(ev.query))

    @step
    async def number(self, ev: Retrieved) -> Reranked:
        """Make a numbered source of each node."""
        sources = []
        for position, each in enumerate(ev.nodes, start=1):
            source = each.node.model_copy() if self.keeps_ids else TextNode()
            source.text = f"Source {position}:\n{each.text}\n"
            sources.append(NodeWithScore(node=source, score=each.score))
        return Reranked(nodes=sources)

    @step
    async def synthesize(self, ev: Reranked) -> StopEvent:
        """Answer."""
        return StopEvent(
            result=await get_response_synthesizer(llm=model()).asynthesize("q", ev.nodes)
        )


@answering(expects="tower fees", recall=0.5, first=0.0)
def citing_workflow() -> Any:
    """Cited sources keep the IDs of their nodes."""
    return Cites(timeout=60)


class SubQuery(Event):
    """An event with one of several questions."""

    query: str


class SubAnswer(Event):
    """An event with the answer to one of several questions."""

    text: str


class FansOut(Workflow):
    """A workflow that asks several questions at once, and joins the answers."""

    @step
    async def split(self, ctx: Context, ev: StartEvent) -> SubQuery | None:
        """Send a question for each part."""
        await ctx.store.set("count", 2)
        for query in ("the lighthouse", "the prices"):
            ctx.send_event(SubQuery(query=query))

    @step(num_workers=2)
    async def ask(self, ev: SubQuery) -> SubAnswer:
        """Ask an engine."""
        engine = engine_of(FindsFor(lighthouse="tower lamp", prices="ferry fees"))
        return SubAnswer(text=str(await engine.aquery(ev.query)))

    @step
    async def join(self, ctx: Context, ev: SubAnswer) -> StopEvent | None:
        """Answer from the answers."""
        every = ctx.collect_events(ev, [SubAnswer] * await ctx.store.get("count"))
        if every is None:
            return None
        prompt = "Join: " + "; ".join(each.text for each in every)
        return StopEvent(result=str(await model().acomplete(prompt)))


@workflow(expects="tower fees seals", recall=2 / 3, first=1 / 3)
def parallel_workflow() -> Any:
    """A workflow asks sub-questions side by side."""
    return FansOut(timeout=60)


class Judges(Workflow):
    """A workflow that asks three engines, and returns the best answer."""

    @step
    async def ask(self, ev: StartEvent) -> StopEvent:
        """Ask each, and choose."""
        engines = [engine_of(Finds(each)) for each in ("seals", "ferry tower", "puffins")]
        responses = [await each.aquery(ev.query) for each in engines]
        choice = int(str(await model("2").acomplete("Which answer is the best?")))
        return StopEvent(result=responses[choice - 1])


@answering(expects="tower seals", recall=0.5, first=0.0)
def best_of_several_strategies() -> Any:
    """A workflow of several strategies returns one engine's response."""
    return Judges(timeout=60)


class Prompts(Workflow):
    """A workflow that puts the two best nodes into a prompt, and returns the answer's text."""

    @step
    async def search(self, ctx: Context, ev: StartEvent) -> Retrieved:
        """Search, and keep the nodes in the context."""
        found = await Finds("ferry tower fees").aretrieve(ev.query)
        await ctx.store.set("nodes", found[:2])
        return Retrieved(nodes=found[:2])

    @step
    async def answer(self, ctx: Context, ev: Retrieved) -> StopEvent:
        """Answer."""
        text = "\n\n".join(each.text for each in await ctx.store.get("nodes"))
        return StopEvent(result=str(await model().acomplete(f"Context: {text}\nAnswer:")))


@workflow(expects="tower fees", recall=0.5, first=0.0, retrieved=1.0, stages={"Finds": 1.0})
def prompting_workflow() -> Any:
    """A workflow fills a prompt by hand, with the two nodes that a step passes on."""
    return Prompts(timeout=60)


class Hands(Workflow):
    """A workflow that returns the remaining nodes, in a mapping."""

    @step
    async def search(self, ev: StartEvent) -> StopEvent:
        """Search, and cut."""
        found = await Finds("ferry tower fees").aretrieve(ev.query)
        return StopEvent(result={"answer": "In 1892.", "sources": found[:2]})


@workflow(
    expects="tower fees",
    recall=0.5,
    first=0.0,
    retrieved=1.0,
    stages={"Finds": 1.0},
    returns="other",
)
def workflow_that_returns_sources() -> Any:
    """A workflow's result is a mapping with nodes."""
    return Hands(timeout=60)


class Gathers(Workflow):
    """A workflow that asks two indexes at once, and ranks the nodes of both."""

    @step
    async def search(self, ev: StartEvent) -> Retrieved:
        """Ask both indexes."""
        searches = [Finds("ferry tower"), vector_index(nodes("fees seals")).as_retriever()]
        found = await asyncio.gather(*(each.aretrieve(ev.query) for each in searches))
        every = [each for part in found for each in part]
        wanted = {"tower": 0, "fees": 1}
        every.sort(key=lambda each: wanted.get(each.node_id, 9))
        return Retrieved(nodes=every[:2])

    @step
    async def answer(self, ev: Retrieved) -> StopEvent:
        """Answer."""
        return StopEvent(result=answered(ev.nodes))


@answering(expects="tower fees seals", recall=2 / 3, first=1 / 3, retrieved=1.0)
def gathering_workflow() -> Any:
    """A user's code ranks the nodes of two parallel searches."""
    return Gathers(timeout=60)
