"""500 evaluated runs leave as little memory in use as 100 do."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence

import langsmith
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda
from langsmith import Client
from langsmith.schemas import Example

from fullrecall import IdRecall, Sample
from langchain_fullrecall import RecallStringEvaluator, capture_retrievals, observed

WORDS = 40


def long_documents(asked: str) -> list[Document]:
    """Return five long documents for one question only."""
    texts = [" ".join(f"{asked}.{n}.{word}" for word in range(WORDS)) for n in range(5)]
    return [Document(text, id=f"{asked} {n}") for n, text in enumerate(texts)]


class Long(BaseRetriever):
    """A retriever of five long documents for each question."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return long_documents(query)


CHAIN: Runnable[str, str] = Long() | RunnableLambda(lambda found: found[0].page_content[:9])


def held_after(call: Callable[[Sequence[str]], None], marks: Sequence[int]) -> list[int]:
    """Return the bytes in use after so many calls, each with a question of its own."""
    call([f"first {number}" for number in range(10)])
    tracemalloc.start()
    held, done = [], 0
    for mark in marks:
        call([f"q{number}" for number in range(done, mark)])
        done = mark
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return held


@pytest.mark.long
def test_blocks_and_observed_calls_are_released() -> None:
    """Blocks and observed calls keep little memory between call 50 and call 500."""

    def call(questions: Sequence[str]) -> None:
        for question in questions:
            with capture_retrievals() as seen:
                CHAIN.invoke(question)
            assert len(seen.contexts() or ()) == 5
            found = observed(CHAIN).retrieve(Sample(user_input=question))
            assert len(found.contexts or ()) == 5

    first, last = held_after(call, [50, 500])
    assert last - first < 200_000, (first, last)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.upload_results. parameter is in beta")
def test_runs_of_experiments_are_released(client: Client, example: Callable[..., Example]) -> None:
    """Recorders of the last runs are kept for other evaluators, and no more after 500 runs."""
    evaluator = RecallStringEvaluator(IdRecall(), keep=False)

    def call(questions: Sequence[str]) -> None:
        results = langsmith.evaluate(
            lambda inputs: {"answer": CHAIN.invoke(inputs["question"])},
            data=[example(q, reference_context_ids=[f"{q} 0"]) for q in questions],
            evaluators=[evaluator],
            client=client,
            upload_results=False,
            max_concurrency=0,
        )
        scores = [row["evaluation_results"]["results"][0].score for row in results]
        assert scores == [1.0] * len(questions)

    first, last = held_after(call, [100, 500])
    assert last - first < 400_000, (first, last)
