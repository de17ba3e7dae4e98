"""Applications in each style of LangChain, and every path on which they are measured."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langsmith import Client
from langsmith._internal._serde import dumps_json
from langsmith.evaluation import aevaluate, evaluate
from langsmith.schemas import Example, Run

from fullrecall import Retrieval, Sample
from langchain_fullrecall import RecallStringEvaluator, observed
from langchain_fullrecall.measurement import Measured

Ids = list[str | None] | None


class Store(BaseRetriever):
    """A retriever that returns new copies of its documents, or raises."""

    letters: str = "abc"
    down: bool = False
    shared: bool = False
    texts: dict[str, str] = {}  # noqa: RUF012 - pydantic copies a default

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.down:
            raise ConnectionError("the index is gone")
        return [doc(letter) for letter in self.letters]


TEXTS = {
    letter: f"marker-{letter} " + " ".join(f"{letter}{number}x{letter}" for number in range(12))
    for letter in "abcdefghijklmnop"
}


def doc(letter: str, *, named: bool = True) -> Document:
    """Return a new document of this letter, with its ID or without one."""
    return Document(TEXTS[letter], id=letter if named else None)


def joined(documents: list[Document]) -> str:
    """Return documents joined as in a prompt."""
    return "\n\n".join(each.page_content for each in documents)


class Model(FakeListChatModel):
    """A model that always gives the same answer, and keeps the requests."""

    responses: list[str] = ["An answer."]  # noqa: RUF012 - pydantic copies a default
    prompts: list[str] = []  # noqa: RUF012 - pydantic copies a default

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.prompts.append("\n".join(str(message.content) for message in messages))
        return super()._call(messages, *args, **kwargs)


def ids_of(found: Retrieval) -> Ids:
    """Return the IDs of the contexts; None without a scorable retrieval."""
    if found.error is not None or found.contexts is None:
        return None
    return [context.id for context in found.contexts]


class Watching(RecallStringEvaluator):
    """An evaluator that keeps its measurements and the runs."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seen: list[tuple[Run, Ids]] = []

    def _named(self, measured: Measured) -> Measured:
        sample = measured.sample
        ids = None if sample.retrieval is None else ids_of(sample.retrieval)
        self.ids = ids
        return super()._named(measured)

    def measure_run(self, run: Run, example: Example | None) -> Measured:
        """Measure a run, and keep the result."""
        measured = super().measure_run(run, example)
        self.seen.append((run, self.ids))
        return measured


def reloaded(run: Run) -> Run:
    """Return a run as LangSmith returns it: from JSON, under IDs that are new to this process."""
    fields = {name: getattr(run, name, None) for name in _KEPT}
    plain = json.loads(dumps_json(fields))
    children = [reloaded(child) for child in run.child_runs or ()]
    return Run(**{**plain, "id": uuid4(), "trace_id": uuid4(), "child_runs": children})


_KEPT = ("name", "run_type", "inputs", "outputs", "error", "extra", "tags", "dotted_order",
         "start_time", "end_time")  # fmt: skip


def paths(make: Callable[[], Any], client: Client) -> Iterator[tuple[str, Ids]]:
    """Yield each path's name with the retrieved IDs that it reports.

    `observed` sees the application's output; the target of an experiment returns only an answer, or
    the whole output.
    """
    sample = Sample(user_input="q")
    yield "observed", ids_of(observed(make()).retrieve(sample))
    yield "awaited", ids_of(asyncio.run(observed(make()).aretrieve(sample)))
    with ThreadPoolExecutor(2) as pool:
        kept = observed(make())
        for found in pool.map(lambda _: kept.retrieve(sample), range(2)):
            yield "threads", ids_of(found)

    def answering(inputs: dict[str, Any]) -> dict[str, str]:
        return {"answer": f"{len(str(call(make(), inputs['question'])))} characters"}

    def streaming(inputs: dict[str, Any]) -> dict[str, str]:
        parts = list(make().stream(as_input(make(), inputs["question"])))
        return {"answer": f"{len(parts)} parts"}

    def returning(inputs: dict[str, Any]) -> Any:
        return call(make(), inputs["question"])

    async def awaiting(inputs: dict[str, Any]) -> dict[str, str]:
        found = make()
        return {"answer": str(len(str(await found.ainvoke(as_input(found, inputs["question"])))))}

    options: dict[str, Any] = {"client": client, "upload_results": False}
    for target in (answering, streaming, returning):
        evaluator = Watching()
        data = [Example(id=uuid4(), inputs={"question": "q"}, outputs={"expected_ids": ["a"]})]
        list(evaluate(target, data=data, evaluators=[evaluator], **options))
        ((run, ids),) = evaluator.seen
        yield target.__name__, ids
        if target is answering:
            stored = Watching()
            stored.measure_run(reloaded(run), data[0])
            yield "stored", stored.ids

    async def wait() -> Ids:
        evaluator = Watching()
        data = [Example(id=uuid4(), inputs={"question": "q"}, outputs={"expected_ids": ["a"]})]
        async for _ in await aevaluate(awaiting, data=data, evaluators=[evaluator], **options):
            pass
        return evaluator.ids

    yield "aevaluate", asyncio.run(wait())


def as_input(runnable: Any, question: str) -> Any:
    """Return the input that asks a question."""
    from langchain_fullrecall.retriever import input_of

    return input_of(runnable)(question)


def call(runnable: Any, question: str) -> Any:
    """Return an application's output for a question."""
    return runnable.invoke(as_input(runnable, question))
