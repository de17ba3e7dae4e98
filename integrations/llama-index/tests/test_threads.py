"""A thread without its call's context never gives a record that only looks complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Thread
from typing import Any

import pytest
from known_engines import is_complete
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall import IdRecall, Sample
from fullrecall.scorers import Status
from llama_index.evaluation.fullrecall import capture_retrievals, observed
from llama_index.evaluation.fullrecall.capture import capture_in


class Brings(BaseRetriever):
    """A retriever of nodes with these IDs."""

    def __init__(self, *names: str) -> None:
        self.names = names
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=name, text=name), score=1.0) for name in self.names]


class Both(CustomQueryEngine):
    """An engine that asks one retriever here and the other one by `ask`."""

    first: Any = Brings("a")
    second: Any = Brings("b")
    ask: Any = None

    def custom_query(self, query_str: str) -> str:
        """Answer with the number of nodes."""
        return str(len([*self.first.retrieve(query_str), *self.ask(self.second, query_str)]))


def bare(retriever: Any, question: str) -> Any:
    """Ask in a thread with an empty context."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(retriever.retrieve, question).result()


def handed_on(retriever: Any, question: str) -> Any:
    """Ask in a thread with the call's context."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, retriever.retrieve, question).result()


async def in_executor(question: str) -> str:
    """Ask as `run_in_executor` does: it copies no context, unlike `asyncio.to_thread`."""
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(None, Brings("b").retrieve, question)
    return str(len([*await Brings("a").aretrieve(question), *found]))


def engine_in_thread(question: str) -> str:
    """Have a whole engine asked in a thread without a context."""
    answers: list[str] = []
    thread = Thread(target=lambda: answers.append(str(Both(ask=handed_on).query(question))))
    thread.start()
    thread.join()
    return answers[0]


@pytest.mark.parametrize(
    "thing",
    [
        Both(ask=bare),
        in_executor,
        lambda question: Both(ask=bare).custom_query(question),
        lambda question: str(len(bare(Brings("a"), question))),
        engine_in_thread,
    ],
)
def test_a_thread_without_the_context_leaves_the_sample_unscored(thing: Any) -> None:
    """A thread without the context leaves the sample unscored with the reason."""
    sample = Sample(user_input="q", reference_context_ids=["a", "b"])
    found = asyncio.run(observed(thing).aretrieve(sample))
    result = IdRecall().score(sample.with_retrieval(found))
    assert (result.status, result.score) == (Status.UNSCORED, None)
    assert "asked in a thread without the call's context" in result.reason
    assert "copy_context().run" in result.reason


@pytest.mark.parametrize("ask", [bare, handed_on])
def test_parts_of_an_attached_engine_in_a_bare_thread_are_noticed(ask: Callable[..., Any]) -> None:
    """Parts of an attached engine that are asked in a bare thread are no complete record."""
    engine = Both(ask=ask)
    with capture_retrievals():
        capture = capture_in(engine.query("q"))
    assert capture is not None
    assert is_complete(capture) == (ask is handed_on)
    assert (capture.retrieval().error is None) == (ask is handed_on)


def test_blocks_and_observed_things_side_by_side_are_complete() -> None:
    """Each of 40 calls in 8 threads has its own complete record."""

    def asked(n: int) -> bool:
        with capture_retrievals() as capture:
            Both(ask=handed_on).query(str(n))
        return is_complete(capture)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(asked, range(40)))
