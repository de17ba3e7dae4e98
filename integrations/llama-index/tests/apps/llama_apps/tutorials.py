"""Programs of tutorials, written before any try: teams, loaders, and fused engines."""

import json
from typing import Any

from llama_index.core import Document
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.readers.base import BaseReader
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.response_synthesizers.base import BaseSynthesizer
from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.ondemand_loader_tool import OnDemandLoaderTool
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)
from pydantic import BaseModel

from llama_apps.agents import _agent, _call, _hits, _thinking, search_tool
from llama_apps.application import agent, function, retriever
from llama_apps.parts import ANSWER, TEXTS, Finds, FindsFor, calling, model
from llama_apps.retrievers import FindsNodes, _family, _store

_UNSEEN = "the agent's output has no nodes, but its block's capture has them"
_HIDDEN = dict.fromkeys(("plain", "block"), _UNSEEN)


# Agents


@agent(expects="tower fees", recall=0.5, first=0.0)
def agent_with_a_protocol_result() -> Any:
    """A tool returns a result of MCP as a mapping, with JSON text in its block."""

    async def search(input: str) -> dict[str, Any]:  # noqa: A002 - LlamaIndex's name
        """Search the island's guide."""
        text = json.dumps({"documents": _hits("ferry tower")})
        return {"content": [{"type": "text", "text": text}], "isError": False}

    return _agent(calling([_call("search")]), FunctionTool.from_defaults(async_fn=search))


class Hit(BaseModel):
    """A hit of a search service."""

    id: str
    text: str
    score: float


@agent(expects="tower fees", recall=1.0, first=1.0, hidden=_HIDDEN)
def reacting_agent_with_two_tools() -> Any:
    """An agent's model writes its calls as text, to an engine and a function of texts."""
    fees = Finds("fees hours")

    async def prices(input: str) -> str:  # noqa: A002
        """Look up prices."""
        return "\n".join(each.text for each in await fees.aretrieve(input))

    llm = _thinking(
        'Thought: I search.\nAction: search\nAction Input: {"input": "tower"}',
        'Thought: I look.\nAction: prices\nAction Input: {"input": "costs"}',
        f"Thought: I can answer.\nAnswer: {ANSWER}",
    )
    tools = [search_tool("tower"), FunctionTool.from_defaults(async_fn=prices)]
    return ReActAgent(name="guide", description="d", tools=tools, llm=llm, streaming=False)


class Guide(BaseReader):
    """A loader of one document of the island's guide."""

    def load_data(self, name: str) -> list[Document]:
        """Return the document of this name."""
        return [Document(text=TEXTS[each][1], doc_id=each) for each in ("puffins", name)]


@agent(
    expects="tower fees",
    recall=0.5,
    options={"id_key": "ref_doc_id"},
    hidden=_HIDDEN,
)
def agent_with_a_loader() -> Any:
    """An agent's tool loads documents, makes an index of them, and asks it."""
    loader = OnDemandLoaderTool.from_defaults(Guide(), name="load", description="Loads.")
    given = {"name": "tower", "query_str": "When was the lighthouse tower finished?"}
    return _agent(calling([("load", given)]), loader)


# Engines and retrievers


@retriever(expects="building fees", recall=1.0, first=0.5)
def fusion_of_a_merging_search() -> Any:
    """A search that merges two chunks into their parent is fused with another one."""
    family = _family("building", "tower lamp")
    merging = AutoMergingRetriever(FindsNodes(*family[1:]), _store(*family), verbose=False)
    return QueryFusionRetriever(
        [merging, Finds("fees ferry")],
        llm=model(),
        num_queries=1,
        similarity_top_k=3,
        use_async=False,
        mode="simple",
    )


class Cites(BaseSynthesizer):
    """A synthesizer that answers from the first node alone, without a model."""

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """Have no prompts to update."""

    def get_response(self, query_str: str, text_chunks: Any, **_: Any) -> str:
        """Return an answer."""
        return f"As the guide says: {text_chunks[0][:20]}"

    async def aget_response(self, query_str: str, text_chunks: Any, **_: Any) -> str:
        """Return an answer."""
        return self.get_response(query_str, text_chunks)


# Chat engines


def _memory() -> ChatMemoryBuffer:
    return ChatMemoryBuffer.from_defaults(token_limit=9999)


# Code around the parts


class Confirms(Workflow):
    """A workflow that searches, asks a human for another query, and searches again."""

    @step
    async def look(self, ctx: Context, ev: StartEvent) -> InputRequiredEvent:
        """Search, and ask."""
        found = await Finds("ferry tower").aretrieve(ev.query)
        await ctx.store.set("found", found)
        return InputRequiredEvent(prefix="What else?")

    @step
    async def answer(self, ctx: Context, ev: HumanResponseEvent) -> StopEvent:
        """Search again, and answer from both lists."""
        found: list[NodeWithScore] = await ctx.store.get("found")
        found += await FindsFor(admission="fees").aretrieve(ev.response)
        synthesizer = get_response_synthesizer(llm=model())
        return StopEvent(result=await synthesizer.asynthesize("q", nodes=found))


@function(expects="tower fees", recall=1.0, first=0.0, returns="response")
def confirmed_by_a_human() -> Any:
    """The tutorial's program reads the workflow's events, and sends an answer."""

    async def ask(question: str) -> Any:
        handler = Confirms(timeout=60).run(query=question)
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="admission"))
        return await handler

    return ask
