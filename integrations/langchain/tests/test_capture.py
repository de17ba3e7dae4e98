"""Callbacks record retrievers' results, without tracing, in the block that asked."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.config import ContextThreadPoolExecutor
from langchain_core.tracers.context import _configure_hooks

from fullrecall import Sample
from langchain_fullrecall import capture_retrievals
from langchain_fullrecall.capture import LangChainCapture
from langchain_fullrecall.recorder import LangChainRecorder, capturing

QUESTIONS = [f"question {n}" for n in range(200)]


class Echo(BaseRetriever):
    """A retriever that returns two documents named after the question, or one for all questions."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(query, id=f"id of {query}"), Document("common", id="common")]


class Merging(BaseRetriever):
    """A retriever that merges its parts, the last part first, with a chain between them."""

    parts: list[BaseRetriever]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        config: Any = {"callbacks": run_manager.get_child()}
        chains = [RunnableLambda(str.strip) | part for part in self.parts]
        return [found for chain in reversed(chains) for found in chain.invoke(query, config)]


def ids(handler: LangChainCapture) -> list[str | None] | None:
    """Return the IDs of the retrieved documents."""
    contexts = handler.contexts()
    return None if contexts is None else [context.id for context in contexts]


def of(question: str) -> list[str]:
    """Return the IDs that `Echo` returns for a question."""
    return [f"id of {question}", "common"]


async def drain(stream: Any) -> None:
    """Read a stream to its end."""
    async for _ in stream:
        pass


CHAIN = RunnableLambda(str.strip) | Echo() | (lambda documents: f"{len(documents)} documents")


def test_200_concurrent_tasks_each_see_their_own() -> None:
    """Blocks in 200 tasks of one event loop do not mix."""

    async def ask(question: str) -> bool:
        with capture_retrievals() as seen:
            await asyncio.sleep(0)
            await CHAIN.ainvoke(question)
            await asyncio.sleep(0)
        return ids(seen) == of(question)

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*map(ask, QUESTIONS))

    assert sum(asyncio.run(all_of_them())) == 200


def test_threads_see_the_block_where_they_have_its_context() -> None:
    """A plain thread pool records nothing; a copied context, and LangChain's own pool, do."""

    def captured(submit: Callable[[Any], Any]) -> list[str | None] | None:
        with capture_retrievals() as seen:
            submit(lambda: Echo().invoke("q")).result()
        return ids(seen)

    with ThreadPoolExecutor(1) as plain:
        assert captured(plain.submit) is None
        assert captured(lambda work: plain.submit(contextvars.copy_context().run, work)) == of("q")
    with ContextThreadPoolExecutor(1) as carrying:
        assert captured(carrying.submit) == of("q")


def test_a_block_right_within_a_block(retriever_of: Any) -> None:
    """In nested blocks, the outer one also gets the calls, their nesting and their errors."""
    merging = Merging(parts=[Echo(name="one")])
    failing = retriever_of(ConnectionError("down"))
    with capture_retrievals() as outer:
        Echo().invoke("first")
        with capture_retrievals() as inner:
            (RunnableLambda(str.strip) | merging).invoke("second")
            with suppress(ConnectionError):
                failing.invoke("q")
        Echo().invoke("third")
    assert [call.query for call in inner.retrieval().calls] == ["second", "q"]
    assert [call.query for call in outer.retrieval().calls] == ["first", "second", "q", "third"]
    for seen in (inner.retrieval().calls, outer.retrieval().calls[1:]):
        assert [below.source for below in seen[0].children] == ["one"]
        assert [context.id for context in seen[0].contexts or ()] == of("second")
        assert (seen[1].contexts, seen[1].error) == (None, "ConnectionError: down")


def test_a_block_in_a_generator_that_is_given_up() -> None:
    """A stream that another task closes, without a block of its own, ends the block."""

    async def stream() -> AsyncIterator[Any]:
        with capture_retrievals() as seen:
            await Echo().ainvoke("q")
            yield seen
            yield seen

    async def run() -> Any:
        begun = stream()

        async def first() -> Any:
            return await anext(begun)

        seen = await asyncio.create_task(first())
        await begun.aclose()  # type: ignore[attr-defined]
        return seen

    assert ids(asyncio.run(run())) == of("q")


def test_an_awaited_call_is_noted_where_it_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """An awaited call is recorded in the loop's own thread, before documents can change."""
    threads: list[int] = []
    ended = LangChainRecorder.on_retriever_end

    def noting(self: LangChainRecorder, *args: Any, **kwargs: Any) -> None:
        threads.append(threading.get_ident())
        ended(self, *args, **kwargs)

    monkeypatch.setattr(LangChainRecorder, "on_retriever_end", noting)
    with capture_retrievals() as seen:
        asyncio.run(Echo().ainvoke("q"))
    assert threads == [threading.get_ident()]
    assert ids(seen) == of("q")


def test_several_calls_are_joined(documents: list[Document], retriever_of: Any) -> None:
    """Several calls are joined in the order of their start; `name` selects one of them."""
    first, second = retriever_of(documents[:2], name="A"), retriever_of(documents[1:3])

    def seen_by(**how: Any) -> Any:
        with capture_retrievals(**how) as seen:
            for retriever in (first, second):
                retriever.invoke("q")
        return ids(seen)

    assert seen_by() == ["d0", "d1", "d2"]
    assert seen_by(name="A") == ["d0", "d1"]
    assert seen_by(id_key="source", collapse=True) == ["fr", "it"]


def test_shared_objects_may_change_later(documents: list[Document], retriever_of: Any) -> None:
    """Order, IDs, texts and metadata are those at the return, even if objects change later."""
    with capture_retrievals() as seen:
        found = retriever_of(documents).invoke("q")
        found.reverse()
        found[-1].id, found[-1].page_content = "changed", "changed"
        found[-1].metadata["source"] = "changed"
        found.pop()
    first = (seen.contexts() or [])[0]
    assert ids(seen) == ["d0", "d1", "d2", "d3"]
    assert (first.text, first.metadata["source"]) == ("Paris is the capital of France.", "fr")


def test_a_retry_counts_by_what_worked(retriever_of: Any, documents: list[Document]) -> None:
    """The failed attempts of a retry are calls too, and the successful one counts."""
    attempts: Iterator[Any] = iter([ConnectionError("once"), ConnectionError("twice"), documents])

    class Shaky(BaseRetriever):
        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> list[Document]:
            answer = next(attempts)
            if isinstance(answer, Exception):
                raise answer
            found: list[Document] = answer
            return found

    patient = Shaky().with_retry(stop_after_attempt=3, wait_exponential_jitter=False)
    with capture_retrievals() as seen:
        patient.invoke("q")
    assert [call.error for call in seen.retrieval().calls] == [
        "ConnectionError: once",
        "ConnectionError: twice",
        None,
    ]
    assert ids(seen) == ["d0", "d1", "d2", "d3"]


def test_a_call_that_has_not_ended_is_no_retrieval() -> None:
    """An unfinished call is unknown, and is not an empty retrieval."""
    looked: list[Any] = []

    class Looking(Echo):
        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> list[Document]:
            looked.append(seen.retrieval())
            return []

    with capture_retrievals() as seen:
        Looking().invoke("q")
    assert looked[0].error == "Looking has not ended"
    assert ids(seen) == []


def test_a_stream_that_is_left_early_is_seen() -> None:
    """A generator that is closed in another task raises nothing, and its calls are recorded."""

    async def first_chunk() -> LangChainCapture:
        async def chunks() -> Any:
            with capture_retrievals() as seen:
                async for chunk in CHAIN.astream("q"):
                    yield seen, chunk

        async for seen, _ in chunks():
            return seen  # type: ignore[no-any-return]
        raise AssertionError

    assert ids(asyncio.run(first_chunk())) == of("q")
    assert capturing.get() is None


def test_a_result_without_documents_is_an_error(retriever_of: Any) -> None:
    """A result that is not documents is an error that names the retriever."""
    with capture_retrievals() as bad:
        retriever_of([7], name="Bad").invoke("q")
    unread = "Bad returned nothing that can be read as documents"
    assert (bad.contexts(), bad.retrieval().error) == (None, unread)
    with capture_retrievals() as lazy:
        found = retriever_of((n for n in "ab"), name="Lazy").invoke("q")
    assert list(found) == ["a", "b"]
    assert lazy.retrieval().error == unread.replace("Bad", "Lazy")


def test_200_inputs_of_a_batch_each_have_their_own() -> None:
    """Each of 200 parallel inputs of a batch has the documents retrieved for its own question."""
    wanted = [Sample(user_input=question) for question in QUESTIONS]
    for awaited in (False, True):
        with capture_retrievals() as seen:
            if awaited:
                asyncio.run(CHAIN.abatch(QUESTIONS, {"max_concurrency": 16}))
            else:
                CHAIN.batch(QUESTIONS, {"max_concurrency": 16})
        for sample in wanted:
            found = seen.sample(sample)
            assert list(found.retrieved_context_ids or ()) == of(str(sample.user_input))
            assert found.ranks is None
            assert found.response == "2 documents"


def test_langchain_keeps_one_hook_for_all_blocks() -> None:
    """All blocks use one hook, since LangChain never removes hooks, and each one costs time."""
    before = len(_configure_hooks)
    for _ in range(5):
        with capture_retrievals():
            Echo().invoke("q")
    assert len(_configure_hooks) == before
    assert [var for var, *_ in _configure_hooks].count(capturing) == 1
