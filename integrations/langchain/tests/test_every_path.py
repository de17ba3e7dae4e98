"""An application with a known retrieval gives one number on every path, every time.

The tests use threads, and collect garbage at any moment. `FULLRECALL_RUNS=200` asks 200 times.
"""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.config import ContextThreadPoolExecutor
from langchain_core.tracers.context import collect_runs
from langsmith import Client, aevaluate, evaluate

from fullrecall import IdRecall, Sample
from fullrecall import evaluate as evaluate_samples
from langchain_fullrecall import RecallStringEvaluator, capture_retrievals, observed

pytestmark = pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")

WANTED = {"reference_context_ids": ["a", "d", "z"]}
PROMPT = ChatPromptTemplate.from_template("Context: {context}\nQuestion: {question}")


class Letters(BaseRetriever):
    """A retriever of one new document for each known letter of the question, after a moment."""

    known: str = "abcdefgh"
    fails: bool = False

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if random.random() < 0.2:
            time.sleep(random.random() / 2000)
        if self.fails:
            raise ConnectionError("the index is gone")
        return [Document(f"text {one}", id=one) for one in query if one in self.known]


def hybrid() -> Any:
    """Return two retrievers and a fusion, which run in threads."""
    return EnsembleRetriever(
        retrievers=[Letters(name="one"), Letters(name="two", known="cba")], weights=[0.5, 0.5]
    )


def rewriting(documents: list[Document]) -> None:
    """Change every document in place."""
    for document in documents:
        document.id, document.page_content = "other", "other"


CHANGES: list[Callable[[list[Document]], Any]] = [
    rewriting,
    list.reverse,
    list.clear,
    list.pop,
    random.shuffle,
    lambda documents: documents.insert(0, Document("other", id="other")),
]


def answering(question: str) -> str:
    """Fuse two searches, and have a model answer from the first two documents."""
    found = hybrid() | (lambda documents: "\n".join(each.page_content for each in documents[:2]))
    model = FakeListChatModel(responses=["An answer."])
    chain: Any = {"context": found, "question": RunnablePassthrough()} | PROMPT | model
    return str(chain.invoke(question).text)


def changing(question: str) -> str:
    """Change the list, or the documents, right after the search."""
    random.choice(CHANGES)(hybrid().invoke(question))
    return "An answer."


def parallel(question: str) -> str:
    """Search twice in parallel, in any order, and drop the results."""
    retrievers = [Letters(name="one"), Letters(name="two", known="cba")]
    random.shuffle(retrievers)
    with ContextThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda each: each.invoke(question), retrievers):
            found.clear()
    return "An answer."


def falling_back(question: str) -> str:
    """Search in a retriever that always fails, with a fallback."""
    main = Letters(name="Main", fails=True).with_retry(
        stop_after_attempt=2, wait_exponential_jitter=False
    )
    main.with_fallbacks([Letters(name="Second")]).invoke(question)
    return "An answer."


def swallowing(question: str) -> str:
    """Search twice, and hide that one search failed."""
    try:
        Letters(name="Main", fails=True).invoke(question)
    except ConnectionError:
        Letters(name="Second").invoke(question)
    return "An answer."


APPLICATIONS = {
    answering: (1 / 3, "1 of 3 found in 2 retrieved; 2 of 2 in the prompt"),
    changing: (2 / 3, "2 of 3 found in 4 retrieved"),
    parallel: (2 / 3, "2 of 3 found in 4 retrieved; union of 2 calls"),
    falling_back: (2 / 3, "2 of 3 found in 4 retrieved; 1 failed and recovered"),
    swallowing: (None, "1 of 2 calls failed (Main: ConnectionError"),
}


@pytest.fixture
def collecting() -> Iterator[None]:
    """Collect garbage all the time, in a thread."""
    stop = threading.Event()

    def collect() -> None:
        while not stop.is_set():
            gc.collect(random.randrange(3))
            stop.wait(0.005)

    gc.collect()
    gc.freeze()
    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join()
    gc.unfreeze()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("collecting")
@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda one: one.__name__)
def test_one_number_on_every_path(
    application: Callable[[str], str], runs: int, example: Any, client: Client
) -> None:
    """Blocks, `observed`, `evaluate`, `aevaluate`, and all kinds of calls give one number."""
    expected, words = APPLICATIONS[application]
    evaluator = RecallStringEvaluator()
    sample = Sample(user_input="abcd", **WANTED)
    seen: dict[str, list[tuple[Any, str | None]]] = {}

    def captured(_: int) -> tuple[Any, str | None]:
        with capture_retrievals() as capture:
            application("abcd")
        result = IdRecall().score(capture.sample(sample))
        return result.score, result.reason

    with ThreadPoolExecutor(8) as pool:
        seen["capture"] = list(pool.map(captured, range(runs)))
    report = evaluate_samples(
        [sample] * runs, IdRecall(), retriever=observed(application), progress=False
    )
    seen["observed"] = [(row.results[0].score, row.results[0].reason) for row in report]

    def target(inputs: dict[str, Any]) -> dict[str, str]:
        return {"answer": application(inputs["question"])}

    async def atarget(inputs: dict[str, Any]) -> dict[str, str]:
        return await asyncio.to_thread(target, inputs)

    def feedback(rows: Any) -> list[tuple[Any, str | None]]:
        each = [one for row in rows for one in row["evaluation_results"]["results"]]
        return [(one.score, one.comment) for one in each]

    options: dict[str, Any] = {
        "data": [example("abcd", **WANTED) for _ in range(runs)],
        "evaluators": [evaluator],
        "client": client,
        "upload_results": False,
        "max_concurrency": 8,
    }
    seen["evaluate"] = feedback(evaluate(target, **options))

    async def rows() -> list[Any]:
        return [row async for row in await aevaluate(atarget, **options)]

    seen["aevaluate"] = feedback(asyncio.run(rows()))
    runnable = RunnableLambda(application)

    async def streamed() -> list[str]:
        return [part for _ in range(runs) async for part in runnable.astream("abcd")]

    for name, call in {
        "invoke": lambda: [runnable.invoke("abcd") for _ in range(runs)],
        "batch": lambda: runnable.batch(["abcd"] * runs),
        "abatch": lambda: asyncio.run(runnable.abatch(["abcd"] * runs)),
        "stream": lambda: [part for _ in range(runs) for part in runnable.stream("abcd")],
        "astream": lambda: asyncio.run(streamed()),
    }.items():
        if application in (changing, parallel, falling_back):
            # Outside of an experiment a trace has the changed lists, and does not show a fallback.
            continue
        with collect_runs() as collected:
            call()
        given = [evaluator.evaluate_run(run, example(**WANTED)) for run in collected.traced_runs]
        seen[name] = [(one.score, one.comment) for one in given]  # type: ignore[union-attr]

    for path, found in seen.items():
        assert len(found) == runs, path
        assert {score for score, _ in found} == {expected}, path
        assert all(words in (told or "") for _, told in found), (path, found[0])
        assert len({told for _, told in found}) == 1, path
