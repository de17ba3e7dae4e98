"""A workflow step that waits for a human begins anew, and its first attempt does not count."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)
from random_parts import answered_by

from fullrecall import Sample
from llama_index.evaluation.fullrecall import observed


class NewIds(BaseRetriever):
    """A retriever of three nodes, each time under other IDs."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=f"About {name}.")) for name in "abc"]


class Asking(Workflow):
    """A workflow that asks how many of the retrieved nodes to keep."""

    def __init__(self, *, once: bool) -> None:
        super().__init__(timeout=60)
        self.once = once

    @step
    async def only(self, context: Context, event: StartEvent) -> StopEvent:
        """Retrieve each time, or the first time only, and ask."""
        nodes = await context.store.get("nodes", None)
        if nodes is None or not self.once:
            nodes = await NewIds().aretrieve(event.query)
            await context.store.set("nodes", nodes)
        reply = await context.wait_for_event(
            HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="how many?")
        )
        return StopEvent(result=nodes[: int(reply.response)])


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_a_step_that_waited_counts_once(count: int, *, once: bool) -> None:
    """A step that waited counts once, whether it retrieves again or keeps the earlier nodes."""
    asked = observed(answered_by(str(count), Asking(once=once), "query"))
    found = asyncio.run(asked.aretrieve(Sample(user_input="q")))
    texts = [context.text for context in found.contexts or ()]
    assert texts == [f"About {name}." for name in "abc"][:count]
