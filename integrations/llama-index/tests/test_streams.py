"""Dropping streams, canceled calls and generators at any time changes no record.

`FULLRECALL_RUNS=200` runs each test 200 times.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest
from known_engines import retrieved as retrieved_by
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall import IdRecall, Sample
from fullrecall.samples import Call
from llama_index.evaluation.fullrecall import RecallEvaluator, capture_retrievals, observed
from llama_index.evaluation.fullrecall.capture import LlamaIndexCapture, capture_in

pytestmark = pytest.mark.usefixtures("nothing_is_left_open")


def collected() -> None:
    """Collect unreachable objects, from time to time."""
    if random.random() < 0.05:
        gc.collect()


class Brings(BaseRetriever):
    """A retriever of three nodes that name the question, all new objects."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        collected()
        return [
            NodeWithScore(node=TextNode(id_=f"{own} {query_bundle.query_str}", text=f"On {own}."))
            for own in "abc"
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(random.random() / 2000)
        return self._retrieve(query_bundle)


class LastFirst(BaseNodePostprocessor):
    """A reranker that reverses the list, and keeps two nodes."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        collected()
        return nodes[::-1][:2]


@pytest.fixture
def engine() -> RetrieverQueryEngine:
    """Return an engine that streams its answer."""
    return RetrieverQueryEngine.from_args(
        Brings(), llm=MockLLM(max_tokens=5), node_postprocessors=[LastFirst()], streaming=True
    )


def tree(call: Call) -> str:
    """Return a call as text, `LastFirst: c b (Brings: a b c)`, with the IDs' first letters."""
    ids = " ".join(str(context.id)[0] for context in call.contexts or ())
    parts = f" ({' + '.join(map(tree, call.children))})" if call.children else ""
    return f"{call.source}: {ids}{parts}"


RECORD = ("LastFirst: c b (Brings: a b c)", 0.5)


def record(capture: LlamaIndexCapture | None, question: str) -> Any:
    """Return the record of a call that asked `question`, and its recall of two nodes."""
    assert capture is not None
    assert capture.question == question
    wanted = [f"a {question}", f"b {question}"]
    found = capture.retrieval()
    score = IdRecall().score(capture.sample(reference_context_ids=wanted)).score
    # If the prompt is sent while the stream is read, the call has ended, and the parts read are
    # unknown.
    assert found.read in (None, ("yes", "yes"))
    return " + ".join(map(tree, found.calls)), score


def read(response: Any, how: str) -> None:
    """Read a stream to its end, in part, or not at all."""
    words = iter(response.response_gen)
    if how == "whole":
        assert "".join(words).split() == ["text"] * 5
    elif how == "midway":
        next(words)
        words.close()
    elif how == "response":
        assert capture_in(response.get_response()) is capture_in(response)
        score = RecallEvaluator().evaluate("q", response.get_response(), expected_ids=["x"]).score
        assert score == 0.0


async def aread(response: Any, how: str) -> None:
    """Read an async stream to its end, in part, or not at all."""
    words = response.async_response_gen()
    if how == "whole":
        assert "".join([word async for word in words]).split() == ["text"] * 5
    elif how == "midway":
        await anext(words)
        await words.aclose()
    elif how == "response":
        assert capture_in(await response.get_response()) is capture_in(response)


HOWS = ("whole", "midway", "dropped", "response")


def test_streams_in_threads_have_their_records(engine: RetrieverQueryEngine, runs: int) -> None:
    """Streams in threads are read to the end, left midway, dropped, or made a response."""

    def ask(number: int) -> Any:
        question, how = f"q{number}", HOWS[number % len(HOWS)]
        response = engine.query(question)
        collected()
        read(response, how)
        capture = capture_in(response)
        del response
        collected()
        return record(capture, question)

    with capture_retrievals() as block, ThreadPoolExecutor(8) as pool:
        asked_in = [pool.submit(copy_context().run, ask, number) for number in range(runs)]
        assert {each.result() for each in asked_in} == {RECORD}
    assert len(block.calls) == runs


def test_streams_in_tasks_have_their_records(engine: RetrieverQueryEngine, runs: int) -> None:
    """Some streams in tasks are canceled, which does not affect the others."""

    async def ask(number: int) -> Any:
        question, how = f"q{number}", HOWS[number % len(HOWS)]
        response = await engine.aquery(question)
        await aread(response, how)
        capture = capture_in(response)
        del response
        collected()
        return record(capture, question)

    async def ask_all() -> list[Any]:
        tasks = [asyncio.create_task(ask(number)) for number in range(runs)]
        for task in tasks[::3]:
            await asyncio.sleep(random.random() / 2000)
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with capture_retrievals() as block:
        results = asyncio.run(ask_all())
    assert {each for each in results if not isinstance(each, BaseException)} == {RECORD}
    assert all(isinstance(each, (tuple, asyncio.CancelledError)) for each in results)
    for capture in block.calls:
        if capture.error is None:
            assert record(capture, str(capture.question)) == RECORD
        else:
            assert capture.error == "CancelledError"
            assert capture.sample().retrieval_error == "CancelledError"


def test_chats_that_stream_have_their_records(runs: int) -> None:
    """A chat engine that streams in a thread or task has its record."""

    def chat() -> CondensePlusContextChatEngine:
        memory = ChatMemoryBuffer.from_defaults(token_limit=999)
        return CondensePlusContextChatEngine.from_defaults(
            Brings(), llm=MockLLM(max_tokens=5), memory=memory, node_postprocessors=[LastFirst()]
        )

    async def ask(number: int) -> Any:
        question, engine = f"q{number}", chat()
        with capture_retrievals():
            if number % 2:
                response: Any = engine.stream_chat(question)
                list(response.response_gen)
            else:
                response = await engine.astream_chat(question)
                words = response.async_response_gen()
                await anext(words)
                await words.aclose()
        capture = capture_in(response)
        del response, engine
        collected()
        return record(capture, question)

    async def ask_all() -> list[Any]:
        return await asyncio.gather(*map(ask, range(runs)))

    assert set(asyncio.run(ask_all())) == {RECORD}


def test_generators_that_tasks_take_turns_at(engine: RetrieverQueryEngine, runs: int) -> None:
    """A generator that several tasks advance, close, or drop has its record."""

    async def asks(number: int, keep: Callable[[Any], None]) -> AsyncIterator[int]:
        question = f"q{number}"
        with capture_retrievals() as capture:
            nodes = await Brings().aretrieve(question)
            yield 1
            LastFirst().postprocess_nodes(nodes)
            yield 2
        keep((question, capture))
        yield 3

    async def advance(number: int, keep: Callable[[Any], None]) -> None:
        generator: Any = asks(number, keep)
        for _ in range((1, 2, 3)[number % 3]):
            await asyncio.create_task(anext(generator))
            collected()
        if number % 2:
            await generator.aclose()

    async def run() -> list[Any]:
        kept: list[Any] = []
        await asyncio.gather(*(advance(number, kept.append) for number in range(runs)))
        gc.collect()
        await asyncio.sleep(0)
        return kept

    kept = asyncio.run(run())
    assert len(kept) == len(range(2, runs, 3))
    for question, capture in kept:
        ids = [item.id for item in retrieved_by(capture)]
        assert ids == [f"{own} {question}" for own in "abc"]
        assert capture.error is None


def tokens(question: str) -> Iterator[str]:
    """Answer in pieces, from the retrieved documents."""
    Brings().retrieve(question)
    yield from ("An ", "answer.")


def nodes(question: str) -> Iterator[NodeWithScore]:
    """Hand on two of three nodes."""
    yield from Brings().retrieve(question)[:2]


async def awaited_tokens(question: str) -> AsyncIterator[str]:
    """Answer in pieces, from the retrieved documents."""
    await Brings().aretrieve(question)
    for token in ("An ", "answer."):
        yield token


@pytest.mark.parametrize(
    ("function", "ids", "answer"),
    [
        (tokens, ["a q", "b q", "c q"], "An answer."),
        (awaited_tokens, ["a q", "b q", "c q"], "An answer."),
        (nodes, ["a q", "b q"], None),
    ],
)
def test_documents_of_a_generator_are_read(
    function: Callable[[str], Any], ids: list[str], answer: str | None
) -> None:
    """Tokens that a generator yields are an answer, and nodes are the final list."""
    sample = Sample(user_input="q", reference_context_ids=["a q"])
    asked = observed(function)
    for retrieval in (asked.retrieve(sample), asyncio.run(asked.aretrieve(sample))):
        assert [context.id for context in retrieval.contexts or ()] == ids
        assert (retrieval.response, retrieval.error) == (answer, None)
