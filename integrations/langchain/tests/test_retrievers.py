"""Retrievers are run over samples, outside of any eval run."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from fullrecall import (
    ContextPrecision,
    IdRecall,
    InputError,
    ParameterError,
    Sample,
    SpanRecall,
    TextRecall,
)
from langchain_fullrecall import (
    IdLevelWarning,
    aevaluate_retriever,
    aretrieved,
    evaluate_retriever,
    retrieved,
)

SAMPLES = [
    Sample(id="1", user_input="Paris is the capital of France.", reference_context_ids=["d0"]),
    Sample(id="2", user_input="The Tiber flows through Rome.", reference_context_ids=["d3", "d9"]),
]


def test_a_report_on_a_vector_store(store: InMemoryVectorStore) -> None:
    """A store, or a retriever of it with its own parameters; mappings are samples too."""
    report = evaluate_retriever(store, SAMPLES, [IdRecall(k=1)], progress=False)
    assert [row.results[0].score for row in report.rows] == [1.0, 0.5]
    retriever = store.as_retriever(search_kwargs={"k": 1})
    mappings = [sample.to_dict() for sample in SAMPLES]
    (row, _) = evaluate_retriever(retriever, mappings, IdRecall(), progress=False).rows
    assert [context.id for context in row.sample.retrieved_contexts or ()] == ["d0"]


def test_ids_and_places_are_read_as_asked(retriever_of: Any) -> None:
    """`id_key` and `source_key` mean what they mean in `contexts`."""
    text = "Some forty characters stand in this line."
    retriever = retriever_of([Document(text, metadata={"source": "a", "start_index": 100})])
    sample = Sample(
        user_input="q",
        reference_context_ids=["a:100"],
        reference_contexts=[{"text": text[:20], "source": "a", "start": 100, "end": 120}],
    )
    report = evaluate_retriever(
        retriever,
        [sample],
        [IdRecall(), SpanRecall()],
        id_key=("source", "start_index"),
        source_key="source",
        progress=False,
    )
    assert [result.score for result in report.rows[0].results] == [1.0, 1.0]


def test_a_retriever_that_raises_ends_nothing(retriever_of: Any, documents: list[Document]) -> None:
    """Its sample is unscored with the error; the others are scored."""
    retriever = retriever_of({SAMPLES[0].user_input: ConnectionError("no route"),
                              SAMPLES[1].user_input: documents})  # fmt: skip
    first, second = evaluate_retriever(retriever, SAMPLES, IdRecall(), progress=False).rows
    assert first.results[0].score is None
    assert first.results[0].reason == "no retrieval: ConnectionError: no route"
    assert second.results[0].score == 0.5


@pytest.mark.parametrize("output", [None, "text", {"answer": "a"}, [7], 3])
def test_what_returns_no_documents_has_failed(output: object) -> None:
    """Something else was wired up: no score, and the reason says what came."""
    (sample, _) = retrieved(RunnableLambda(lambda _question: output), SAMPLES)
    assert sample.retrieved_contexts is None
    assert sample.retrieval_error is not None
    assert sample.retrieval_error.startswith("InputError: ")


@pytest.mark.parametrize(
    ("output", "ids"),
    [
        ([], []),
        (["text"], [None]),
        ({"output": ["text"]}, [None]),
        ({"context": [Document("t", id="d0")], "answer": "a"}, ["d0"]),
        ({"documents": ["one", "two"], "retrieved_ids": ["d0", 3]}, ["d0", "3"]),
        ({"retrieved_ids": ["d0", None]}, ["d0", None]),
    ],
)
def test_chains_are_retrievers_too(output: object, ids: list[str | None]) -> None:
    """Their output holds the documents, or the IDs."""
    (sample, _) = retrieved(RunnableLambda(lambda _question: output), SAMPLES)
    assert list(sample.retrieved_context_ids or ()) == ids
    assert sample.has_retrieval


def test_the_rest_of_a_sample_stays(retriever_of: Any, documents: list[Document]) -> None:
    """Only the retrieval is replaced, an old one or an old error included."""
    old = Sample(
        user_input="q", reference="r", reference_context_ids={"d0": 2}, group="g",
        retrieval={"error": "old"}, metadata={"n": 1},
    )  # fmt: skip
    (new,) = retrieved(retriever_of(documents[:1]), [old])
    assert new == Sample(
        user_input="q", reference="r", reference_context_ids={"d0": 2}, group="g",
        retrieved_contexts=[{"id": "d0", "text": documents[0].page_content,
                             "metadata": documents[0].metadata}], metadata={"n": 1},
            retrieval={},
    )  # fmt: skip


def test_a_sample_that_asks_nothing_is_not_asked(retriever_of: Any) -> None:
    """It has no score, and the reason is its own."""
    retriever = retriever_of([])
    (sample,) = retrieved(retriever, [Sample(reference_context_ids=["a"])])
    assert sample.retrieval_error == "the sample has no user_input to ask it"
    assert retriever.asked == []


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_stream_is_read_no_further_than_needed(retriever_of: Any, at_once: int) -> None:
    """A stream of samples is never held as a whole: so many are asked ahead as at the same time."""
    retriever = retriever_of([])
    read: list[int] = []

    def stream() -> Iterator[Sample]:
        for n in range(100):
            read.append(n)
            yield Sample(id=n, user_input="q")

    samples = retrieved(retriever, stream(), max_concurrency=at_once)
    assert retriever.asked == []
    assert next(samples).id == "0"
    assert len(read) <= at_once + 1
    samples.close()
    assert len(retriever.asked) <= at_once + 1


def test_questions_are_asked_at_the_same_time() -> None:
    """As many as `max_concurrency` says and no more; what comes back is in the samples' order."""
    going_on = Counter[str]()
    together = threading.Barrier(4, timeout=10)

    def search(question: str) -> list[Document]:
        going_on["now"] += 1
        going_on["most"] = max(going_on["most"], going_on["now"])
        together.wait()
        going_on["now"] -= 1
        return [Document("", id=question)]

    samples = [Sample(user_input=str(n)) for n in range(12)]
    found = list(retrieved(search, samples, max_concurrency=4))
    assert going_on["most"] == 4
    assert [sample.retrieved_context_ids for sample in found] == [(str(n),) for n in range(12)]


def test_async_questions_are_asked_at_the_same_time() -> None:
    """The same with `ainvoke`: in tasks of one loop, which nothing blocks."""

    async def run() -> tuple[list[Sample], int]:
        going_on, most, together = 0, 0, asyncio.Barrier(4)

        async def search(question: str) -> list[Document]:
            nonlocal going_on, most
            going_on += 1
            most = max(most, going_on)
            async with asyncio.timeout(10):
                await together.wait()
            going_on -= 1
            return [Document("", id=question)]

        samples = [Sample(user_input=str(n)) for n in range(12)]
        asked = aretrieved(search, samples, max_concurrency=4)
        return [sample async for sample in asked], most

    found, most = asyncio.run(run())
    assert most == 4
    assert [sample.retrieved_context_ids for sample in found] == [(str(n),) for n in range(12)]


def test_no_task_outlives_its_iterator() -> None:
    """Who stops reading stops the asking: what was asked ahead is cancelled."""

    async def run() -> list[str]:
        ended: list[str] = []

        async def search(question: str) -> list[Document]:
            try:
                await asyncio.sleep(0 if question == "0" else 60)
            except asyncio.CancelledError:
                ended.append(question)
                raise
            return []

        asked = aretrieved(search, [Sample(user_input=str(n)) for n in range(9)], max_concurrency=3)
        await anext(asked)
        await asked.aclose()
        return ended

    assert asyncio.run(run()) == ["1", "2"]


def test_async_agrees(store: InMemoryVectorStore, retriever_of: Any) -> None:
    """`aevaluate_retriever` gives the same report, errors and gaps included."""
    answers = {SAMPLES[0].user_input: ConnectionError("down"), SAMPLES[1].user_input: []}
    for retriever in (store, retriever_of(answers)):
        samples = [*SAMPLES, Sample(id="3")]
        report = evaluate_retriever(retriever, samples, IdRecall(k=1), progress=False)
        areport = asyncio.run(
            aevaluate_retriever(retriever, samples, IdRecall(k=1), progress=False)
        )
        assert [row.sample for row in areport] == [row.sample for row in report]
        assert [row.results for row in areport] == [row.results for row in report]


def test_retries_are_the_frameworks() -> None:
    """A retriever that fails once is asked again if it was told so."""
    tries: list[str] = []

    def search(question: str) -> list[Document]:
        tries.append(question)
        if len(tries) == 1:
            raise ConnectionError("once")
        return [Document("", id="d0")]

    patient = RunnableLambda(search).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    (row,) = evaluate_retriever(patient, SAMPLES[:1], IdRecall(), progress=False)
    assert (row.results[0].score, len(tries)) == (1.0, 2)


def test_a_config_goes_with_every_call(retriever_of: Any) -> None:
    """The caller's callbacks, tags and metadata reach the retriever, beside our own."""
    seen: list[object] = []

    class Listener(BaseCallbackHandler):
        def on_retriever_start(self, *args: Any, **kwargs: Any) -> None:
            seen.append((kwargs["tags"], kwargs["metadata"]["run"]))

    config: RunnableConfig = {"callbacks": [Listener()], "tags": ["t"], "metadata": {"run": 7}}
    assert len(list(retrieved(retriever_of([]), SAMPLES, config=config))) == 2
    assert seen == [(["t"], 7)] * 2


def test_a_run_that_never_meets_a_reference_id_warns(documents: list[Document]) -> None:
    """The references name sources, the documents have IDs of chunks: it says which key has them."""
    wanted = [Sample(user_input="q", reference_context_ids=[name]) for name in ("fr", "it")]

    def search(_question: str) -> list[Document]:
        return documents

    for scorer in (IdRecall(), ContextPrecision(by=IdRecall())):
        with pytest.warns(IdLevelWarning, match="id_key='source' .in 2 of 2. would find") as caught:
            evaluate_retriever(search, wanted, scorer, progress=False)
        assert caught[0].filename == __file__
    with pytest.warns(IdLevelWarning, match="id_key='source'"):
        asyncio.run(aevaluate_retriever(search, wanted, IdRecall(), progress=False))
    # Not where IDs are not asked after, nor where they meet.
    evaluate_retriever(search, wanted, TextRecall(), progress=False)
    evaluate_retriever(search, wanted, IdRecall(), id_key="source", progress=False)


@pytest.mark.parametrize("route", ["sync", "async"])
def test_samples_are_scored_as_they_are_asked(route: str) -> None:
    """A stream that fits into no memory: it is never held, and totals are enough."""
    read: list[int] = []
    held: list[int] = []

    def stream() -> Iterator[Sample]:
        for n in range(60):
            read.append(n)
            yield Sample(id=n, user_input=str(n), reference_context_ids=[str(n)])

    class Noting(IdRecall):
        def score(self, sample: Any = None, /, **fields: Any) -> Any:
            held.append(len(read) - int(sample.id))
            return super().score(sample, **fields)

    def search(question: str) -> list[Document]:
        return [Document("", id=question)]

    options: dict[str, Any] = {"max_concurrency": 2, "keep": "summary", "progress": False}
    if route == "sync":
        report = evaluate_retriever(search, stream(), Noting(), **options)
    else:
        report = asyncio.run(aevaluate_retriever(search, stream(), Noting(), **options))
    (summary,) = report.summary()
    assert (summary.mean, summary.scored) == (1.0, 60)
    assert max(held) <= 4


@pytest.mark.parametrize("route", ["sync", "async"])
def test_what_is_no_sample_costs_nothing_that_came_before(route: str) -> None:
    """The error has the report of all samples up to it, though they were asked at the same time."""
    given: list[Any] = [*SAMPLES * 5, 7]

    def search(_question: str) -> list[Document]:
        return [Document("", id="d0")]

    def run() -> None:
        if route == "sync":
            evaluate_retriever(search, given, IdRecall(), progress=False)
        else:
            asyncio.run(aevaluate_retriever(search, given, IdRecall(), progress=False))

    with pytest.raises(InputError, match="sample 11: a Sample or a mapping") as caught:
        run()
    assert len(caught.value.report or ()) == 10


def test_how_far_the_run_is_shows_while_questions_are_asked() -> None:
    """Of so many samples so many are done: where the samples tell how many they are."""
    seen: list[tuple[int, int | None]] = []

    def note(progress: Any) -> None:
        seen.append((progress.done, progress.total))

    options: dict[str, Any] = {"progress": False, "on_progress": note}
    evaluate_retriever(lambda _question: [], SAMPLES, IdRecall(), **options)
    evaluate_retriever(lambda _question: [], iter(SAMPLES), IdRecall(), **options)
    asyncio.run(aevaluate_retriever(lambda _question: [], SAMPLES, IdRecall(), **options))
    assert seen == [(1, 2), (2, 2), (1, None), (2, None), (1, 2), (2, 2)]


def test_a_run_that_ends_early_leaves_nothing_behind() -> None:
    """Whatever ends it: questions that were asked ahead are cancelled before it returns."""

    async def run() -> list[str]:
        ended: list[str] = []

        async def search(question: str) -> list[Document]:
            try:
                await asyncio.sleep(0 if question == "0" else 60)
            except asyncio.CancelledError:
                ended.append(question)
                raise
            return []

        def stop(_progress: object) -> None:
            raise RuntimeError("enough")

        samples = [Sample(user_input=str(n)) for n in range(9)]
        with pytest.raises(RuntimeError, match="enough"):
            await aevaluate_retriever(
                search, samples, IdRecall(), max_concurrency=3, progress=False, on_progress=stop
            )
        return list(ended)  # now, and not when the loop is closed

    assert asyncio.run(run()) == ["1", "2"]


def test_a_run_that_ends_early_waits_for_its_threads() -> None:
    """A retriever that is being asked cannot be cancelled: none is asked behind the user's back."""
    going_on: list[str] = []

    def search(question: str) -> list[Document]:
        going_on.append(question)
        time.sleep(0 if question == "0" else 0.3)
        going_on.remove(question)
        return []

    def stop(_progress: object) -> None:
        raise RuntimeError("enough")

    samples = [Sample(user_input=str(n)) for n in range(9)]
    with pytest.raises(RuntimeError, match="enough") as caught:
        evaluate_retriever(
            search, samples, IdRecall(), max_concurrency=3, progress=False, on_progress=stop
        )
    # What the traceback holds on to is not closed by the garbage collector.
    assert going_on == [], caught.traceback


def test_a_wrong_option_is_told_before_anything_is_asked() -> None:
    """Retrievers cost money too."""
    asked: list[str] = []
    with pytest.raises(TypeError, match="concurency"):
        evaluate_retriever(asked.append, SAMPLES, IdRecall(), concurency=3)
    with pytest.raises(ParameterError, match="keep is"):
        evaluate_retriever(asked.append, SAMPLES, IdRecall(), keep="all")
    assert asked == []


def test_a_generator_of_documents_is_read_once() -> None:
    """Whoever looks at it on the way would use it up, and leave an empty list: a recall of 0."""

    class Yielding(BaseRetriever):
        def _get_relevant_documents(  # type: ignore[override]
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> Iterator[Document]:
            yield Document("text", id=query)

    for retriever in (Yielding(), RunnableLambda(str.upper) | Yielding()):
        (sample,) = retrieved(retriever, [Sample(user_input="A")])
        assert sample.retrieved_context_ids == ("A",)


def test_one_question_without_a_hit_is_no_wrong_level(documents: list[Document]) -> None:
    """Nothing is warned of that five samples, or a metadata key, would have to show first."""
    wanted = [Sample(user_input="q", reference_context_ids=["d9"])]
    (row,) = evaluate_retriever(lambda _question: documents, wanted, IdRecall(), progress=False)
    assert row.results[0].score == 0.0
    with pytest.warns(IdLevelWarning, match="of 5 samples .* references look like 'd9'"):
        evaluate_retriever(lambda _question: documents, wanted * 5, IdRecall(), progress=False)


def test_chunks_collapse_to_their_source(documents: list[Document]) -> None:
    """Two chunks of a source take one rank, so that k counts sources."""
    wanted = [Sample(user_input="q", reference_context_ids=["it"])]
    for collapse, score in ((False, 0.0), (True, 1.0)):
        (row,) = evaluate_retriever(
            RunnableLambda(lambda _question: documents), wanted, IdRecall(k=2),
            id_key="source", collapse=collapse, progress=False,
        )  # fmt: skip
        assert row.results[0].score == score


def test_what_can_only_be_awaited_says_so() -> None:
    """At once, and not as an error of each sample."""

    async def search(_question: str) -> list[Document]:
        return [Document("", id="d0")]

    for form in (search, RunnableLambda(search)):
        with pytest.raises(ParameterError, match="async function: aretrieved and aevaluate_ret"):
            evaluate_retriever(form, SAMPLES, IdRecall(), progress=False)
    both = RunnableLambda(lambda _question: [Document("", id="d0")], search)
    assert len(list(retrieved(both, SAMPLES))) == 2


def test_wrong_arguments_are_named() -> None:
    """What is no retriever, what is no sample, what is no option."""
    for wrong in (7, None, "bm25", [RunnableLambda(str)]):
        with pytest.raises(ParameterError, match="a Runnable, a VectorStore or a function"):
            retrieved(wrong, SAMPLES)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="got the class InMemoryVectorStore itself"):
        retrieved(InMemoryVectorStore, SAMPLES)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="max_concurrency is a whole number >= 1"):
        retrieved(RunnableLambda(str), SAMPLES, max_concurrency=0)
    asked: list[str] = []
    with pytest.raises(ParameterError, match="scorers is empty"):
        evaluate_retriever(RunnableLambda(asked.append), SAMPLES, [], progress=False)
    assert asked == []
    with pytest.raises(ParameterError, match="id_key"):
        retrieved(RunnableLambda(str), SAMPLES, id_key="")
    with pytest.raises(InputError, match="sample 1: a Sample or a mapping"):
        evaluate_retriever(RunnableLambda(str), [7], IdRecall(), progress=False)  # type: ignore[list-item]
