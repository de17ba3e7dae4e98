"""A task without its call's context never gives a record that only looks complete."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from known_engines import is_complete
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

from fullrecall import IdRecall, Sample
from fullrecall.scorers import Status
from llama_index.evaluation.fullrecall import capture_retrievals, observed
from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture, capture_in


class Brings(BaseRetriever):
    """A retriever of one node named after the question, after a while."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=query_bundle.query_str, text="t"), score=1.0)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(0)
        gc.collect() if random.random() < 0.05 else None
        return self._retrieve(query_bundle)


def engine() -> RetrieverQueryEngine:
    """Return an engine that sends nothing to a model."""
    return RetrieverQueryEngine(Brings(), NoText(llm=MockLLM()))


async def asks(names: str) -> AsyncIterator[LlamaIndexCapture]:
    """Ask one question after the other in one block."""
    with capture_retrievals() as capture:
        for name in names:
            await Brings().aretrieve(name)
            yield capture


async def asks_engines(names: str) -> AsyncIterator[LlamaIndexCapture]:
    """Ask an engine, in a block that a stack closes."""
    async with AsyncExitStack() as stack:
        capture = stack.enter_context(capture_retrievals())
        for name in names:
            await engine().aquery(name)
            yield capture


async def asks_in_tasks(names: str) -> AsyncIterator[LlamaIndexCapture]:
    """Ask in tasks that the advancing task starts."""
    with capture_retrievals() as capture:
        for name in names:
            await asyncio.gather(Brings().aretrieve(name), Brings().aretrieve(name))
            yield capture


def asks_at_once(names: str) -> Iterator[LlamaIndexCapture]:
    """Ask in a generator that is not awaited."""
    with capture_retrievals() as capture:
        for name in names:
            Brings().retrieve(name)
            yield capture


async def asks_tools(names: str) -> AsyncIterator[LlamaIndexCapture]:
    """Ask a tool, which returns a text."""
    with capture_retrievals() as capture:
        for name in names:
            await RetrieverTool.from_defaults(Brings()).acall(name)
            yield capture


class Flow(Workflow):
    """A workflow that asks a retriever."""

    @step
    async def ask(self, event: StartEvent) -> StopEvent:
        """Ask the retriever."""
        return StopEvent(result=len(await Brings().aretrieve(event.query)))


async def asks_workflows(names: str) -> AsyncIterator[LlamaIndexCapture]:
    """Run a workflow."""
    with capture_retrievals() as capture:
        for name in names:
            await Flow().run(query=name)
            yield capture


async def following(generator: Any) -> LlamaIndexCapture:
    """Advance a generator by one."""
    capture: LlamaIndexCapture = (
        await anext(generator) if hasattr(generator, "asend") else next(generator)
    )
    return capture


GENERATORS = [asks, asks_engines, asks_in_tasks, asks_at_once, asks_tools, asks_workflows]


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("lives", [False, True], ids=["first task ends", "first task lives"])
def test_a_retrieval_of_a_later_task_leaves_the_sample_unscored(
    make: Callable[[str], Any], runs: int, *, lives: bool
) -> None:
    """A retrieval by a later task leaves the sample unscored, inside the block and after it."""

    async def run() -> list[tuple[str]]:
        generator, began_once, over = make("xy"), asyncio.Event(), asyncio.Event()

        async def first() -> None:
            await following(generator)
            began_once.set()
            if lives:
                await over.wait()

        began = asyncio.create_task(first())
        await began_once.wait()
        if not lives:
            await began
        capture = await asyncio.create_task(following(generator))
        inside = capture.retrieval()
        with pytest.raises((StopIteration, StopAsyncIteration, RuntimeError)):
            await asyncio.create_task(following(generator))
        over.set()
        await began
        return [(each.error or "",) for each in (inside, capture.retrieval())]

    found = {each for _ in range(max(1, runs // 10)) for each in asyncio.run(run())}
    ((error,),) = found
    assert "in a task without it" in error
    assert "let one task alone advance a generator" in error


@pytest.mark.parametrize("make", GENERATORS)
def test_a_generator_that_one_task_advances_is_complete(make: Callable[[str], Any]) -> None:
    """A generator that one task, or tasks that it started, advance is complete."""

    async def run() -> set[str]:
        generator = make("xyz")
        await following(generator)
        await following(generator)
        capture = await asyncio.create_task(following(generator))
        assert is_complete(capture)
        return {str(context.id).strip() for context in capture.contexts() or ()}

    assert asyncio.run(run()) == {"x", "y", "z"}


class Workers:
    """A worker task that was started before the calls that it serves."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[tuple[str, asyncio.Future[Any]]] = asyncio.Queue()
        self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while True:
            question, answer = await self.waiting.get()
            answer.set_result(await Brings().aretrieve(question))

    async def ask(self, question: str) -> Any:
        """Have a question asked."""
        answer = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait((question, answer))
        return await answer


async def with_worker(use: Callable[[Workers], Awaitable[Any]]) -> Any:
    """Return what `use` makes of a worker."""
    workers = Workers()
    try:
        return await use(workers)
    finally:
        workers.task.cancel()


def test_a_retrieval_of_a_worker_leaves_the_samples_unscored(runs: int) -> None:
    """A worker's retrievals leave parallel samples unscored, since their call is unknown."""

    async def ask(workers: Workers, name: str) -> LlamaIndexCapture:
        with capture_retrievals() as capture:
            nodes = [*await Brings().aretrieve(f"own {name}"), *await workers.ask(name)]
            await NoText(llm=MockLLM()).asynthesize(name, nodes)
        return capture

    async def run(workers: Workers) -> list[LlamaIndexCapture]:
        return await asyncio.gather(*(ask(workers, str(n)) for n in range(runs)))

    for capture in asyncio.run(with_worker(run)):
        assert "in a task without it" in str(capture.retrieval().error)


def test_unused_nodes_of_a_worker_leave_the_sample_unscored() -> None:
    """Nodes of a worker that no call returned leave the sample unscored."""

    async def run(workers: Workers) -> Any:
        async def half(question: str) -> str:
            await Brings().aretrieve("a")
            return str(len(await workers.ask(question)))

        return await observed(half).aretrieve(sample)

    sample = Sample(user_input="q", reference_context_ids=["a", "q"])
    result = IdRecall().score(sample.with_retrieval(asyncio.run(with_worker(run))))
    assert (result.status, result.score) == (Status.UNSCORED, None)
    assert "Brings was asked in a thread" in result.reason


def test_tasks_with_their_own_record_flag_no_sample(runs: int) -> None:
    """Blocks, attached engines, and their parts in one loop leave no sample unscored."""
    attached = engine()

    async def block(name: str) -> bool:
        with capture_retrievals() as capture:
            for part in "xy":
                await Brings().aretrieve(name + part)
        return is_complete(capture) and len(capture.contexts() or ()) == 2

    async def whole(name: str) -> bool:
        capture = capture_in(await attached.aquery(name))
        return capture is not None and is_complete(capture)

    async def run() -> list[bool]:
        kinds = [block, whole] * runs
        random.shuffle(kinds)
        return await asyncio.gather(*(ask(f"{n % 5}") for n, ask in enumerate(kinds)))

    with capture_retrievals():
        assert all(asyncio.run(run()))
