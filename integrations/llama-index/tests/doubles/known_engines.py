"""Retrievers and engines with known results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture


class Echo(BaseRetriever):
    """A retriever of one node named after the question, after other tasks had a turn."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self.error is not None:
            raise self.error
        node = TextNode(id_=f"for {query_bundle.query_str}", text=query_bundle.query_str)
        return [NodeWithScore(node=node, score=1.0), NodeWithScore(node=TextNode(text="noise"))]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(0)
        return self._retrieve(query_bundle)


class Brings(BaseRetriever):
    """A retriever of nodes with these IDs."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=own, text=f"About {own}.")) for own in self.ids]


class First(BaseNodePostprocessor):
    """A postprocessor that keeps the first node."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[:1]


class Pipeline(CustomQueryEngine):
    """A user's own engine, which runs a given function."""

    work: Callable[[str], Any]

    def custom_query(self, query_str: str) -> Any:
        """Run the function."""
        return self.work(query_str)


class Asked(NamedTuple):
    """The result of one retriever's call; `is_part` says whether another retriever asked it."""

    retriever: str
    question: str | None
    nodes: int
    error: str | None
    is_part: bool


def asked(capture: LlamaIndexCapture) -> list[Asked]:
    """Return every retrieval, in the order of their beginning."""
    steps = [step for step in capture.steps if step.kind == "retriever"]
    known = {step.id: step for step in capture.steps}

    def is_part(step: Any) -> bool:
        over = known.get(step.parent)
        return over is not None and (over.kind == "retriever" or is_part(over))

    return [
        Asked(
            step.name,
            step.query,
            sum(len(each.documents) for each in step.returned),
            step.error,
            is_part(step),
        )
        for step in steps
    ]


def retrieved(capture: LlamaIndexCapture) -> list[Any]:
    """Return the retrieved contexts, whether kept or not."""
    return list(capture.retrieval().retrieved or ())


def is_complete(capture: LlamaIndexCapture) -> bool:
    """Return whether a record is known to lack nothing."""
    return "not recorded completely" not in (capture.retrieval().error or "")


def finals(capture: LlamaIndexCapture | None) -> list[str]:
    """Return the IDs of the nodes that reached the model."""
    assert capture is not None
    return [str(context.id) for context in capture.contexts() or ()]


def run(agent: Any, question: str) -> Any:
    """Return the awaitable of a run with a memory that needs no database."""
    return agent.run(user_msg=question, memory=ChatMemoryBuffer.from_defaults(token_limit=9999))
