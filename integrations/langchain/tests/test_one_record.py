"""One application with a known retrieval gives one number on every path, in all conditions."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langsmith import evaluate, traceable
from langsmith.schemas import Run

from fullrecall import IdRecall, Sample
from fullrecall.measures import Recall
from langchain_fullrecall import RecallStringEvaluator, capture_retrievals, observed, offline_client

pytestmark = pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")


class Letters(BaseRetriever):
    """A retriever of one new document for each known letter of the question."""

    known: str = "abcdefgh"
    fails: list[bool] = []  # noqa: RUF012 - pydantic copies a default

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.fails and self.fails.pop(0):
            raise ConnectionError("the index is gone")
        return [Document(f"text {one}", id=one) for one in query if one in self.known]


def scores(example: Any, target: Callable[..., Any], evaluator: Any, **wanted: Any) -> list[Any]:
    """Return score and comment of a target, live and from its trace in JSON."""
    row = example("abc", **wanted)
    kept: list[Run] = []

    measure_run = evaluator.measure_run

    def keeping(run: Run, *args: Any) -> Any:
        kept.append(run)
        return measure_run(run, *args)

    evaluator.measure_run = keeping
    outcome = evaluate(
        target, data=[row], evaluators=[evaluator], client=offline_client(), upload_results=False
    )
    (live,) = [each for entry in outcome for each in entry["evaluation_results"]["results"]]
    stored = evaluator.evaluate_run(reloaded(kept[0]), row)
    return [(each.score, each.comment) for each in (live, stored)]


def reloaded(run: Run) -> Run:
    """Return a run as LangSmith returns it: from JSON, under IDs that are new to this process."""
    fields = {name: getattr(run, name, None) for name in _KEPT}
    plain = json.loads(json.dumps(fields, default=_plain))
    children = [reloaded(child) for child in run.child_runs or ()]
    return Run(**{**plain, "id": uuid4(), "trace_id": uuid4(), "child_runs": children})


_KEPT = ("name", "run_type", "inputs", "outputs", "error", "extra", "tags", "dotted_order",
         "start_time", "end_time")  # fmt: skip


def _plain(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else str(value)


def reversing(documents: list[Document]) -> None:
    """Turn the list around."""
    documents.reverse()


def rewriting(documents: list[Document]) -> None:
    """Change every document in place."""
    for document in documents:
        document.id, document.page_content = "other", "other"
        document.metadata["source"] = "other"


def replacing(documents: list[Document]) -> None:
    """Replace the documents by others."""
    documents[:] = [Document("other", id="other")]


MUTATIONS = [
    reversing,
    rewriting,
    replacing,
    list.clear,
    list.pop,
    random.Random(7).shuffle,
    lambda documents: documents.insert(0, Document("other", id="other")),
    lambda documents: documents.sort(key=lambda document: document.id, reverse=True),
]


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_a_target_that_changes_its_lists_changes_no_score(
    mutate: Callable[[Any], Any], example: Any
) -> None:
    """The retriever's output at its return counts, live and in the stored run."""
    retriever = Letters()

    def target(inputs: dict[str, Any]) -> dict[str, str]:
        mutate(retriever.invoke(inputs["question"]))
        return {"answer": "done"}

    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1)
    (live, _) = scores(example, target, evaluator, reference_context_ids=["a", "z"])
    assert live == (0.5, "1 of 2 found in 1 retrieved; missed: z")
    with capture_retrievals() as seen:
        target({"question": "abc"})
    assert seen.sample(user_input="abc").retrieved_context_ids == ("a", "b", "c")
    found = observed(RunnableLambda(lambda question: target({"question": question}))).retrieve(
        Sample(user_input="abc")
    )
    assert [context.id for context in found.contexts or ()] == ["a", "b", "c"]


def test_arrays_in_metadata_are_written_anew() -> None:
    """A reranker may replace arrays in metadata, whose comparison has no truth value."""

    def search(question: str) -> list[Document]:
        documents = Letters().invoke(question)
        for document in documents:
            document.metadata["vector"] = np.array([1.0, 2.0])
        return documents

    def rerank(documents: list[Document]) -> list[Document]:
        for document in documents:
            document.metadata["vector"] = np.array([2.0, 1.0])
        return documents[::-1]

    found = observed(RunnableLambda(search) | rerank).retrieve(Sample(user_input="abc"))
    assert [context.id for context in found.contexts or ()] == ["c", "b", "a"]


def test_a_traced_function_is_read_from_the_offline_client(example: Any) -> None:
    """A function under `@traceable`, without later changes, is read unchanged."""

    @traceable(run_type="retriever")
    def search(question: str) -> list[Document]:
        return Letters().invoke(question)

    def target(inputs: dict[str, Any]) -> dict[str, int]:
        return {"answer": len(search(inputs["question"]))}

    results = scores(example, target, RecallStringEvaluator(), reference_context_ids=["a", "z"])
    assert [score for score, _ in results] == [0.5, 0.5]


def retried() -> Any:
    """Return a retriever that fails once and is asked again."""
    return Letters(fails=[True]).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)


def fallen_back() -> Any:
    """Return a retriever that always fails, with another one behind it."""
    return Letters(name="Main", fails=[True] * 9).with_fallbacks([Letters(name="Second")])


def fallen_back_in_a_chain() -> Any:
    """Return a chain with fallbacks as a step, which LangChain reports as called by the chain."""
    return RunnableLambda(lambda question: question) | fallen_back()


def fallen_back_in_a_function() -> Any:
    """Return a function that asks a retriever with fallbacks."""
    found = fallen_back()
    return RunnableLambda(lambda question: found.invoke(question))  # noqa: PLW0108 - takes no config


def fallen_back_twice() -> Any:
    """Return a function that asks a retriever whose fallback has a fallback; the last one works."""
    broken = [Letters(name=name, fails=[True] * 9) for name in ("First", "Second")]
    inner = broken[1].with_fallbacks([Letters(name="Third")])
    found = broken[0].with_fallbacks([inner])
    return RunnableLambda(lambda question: found.invoke(question))  # noqa: PLW0108 - takes no config


def searched_after_a_fallback() -> Any:
    """Return a function that asks a retriever with fallbacks, then a search that fails."""
    found, broken = fallen_back(), Letters(name="Broken", fails=[True] * 9)

    def search(question: str) -> list[Document]:
        documents: list[Document] = found.invoke(question)
        try:
            return broken.invoke(question)
        except ConnectionError:
            return documents

    return RunnableLambda(search)


def swallowing() -> Any:
    """Return a function that hides that one of its two retrievers fails."""
    broken, working = Letters(name="Broken", fails=[True] * 9), Letters(name="Working")

    def search(question: str) -> list[Document]:
        try:
            return broken.invoke(question)
        except ConnectionError:
            return working.invoke(question)

    return RunnableLambda(search)


FAILURES = {
    "retry": (retried, 1.0, "1 failed and recovered"),
    "fallback": (fallen_back, 1.0, "1 failed and recovered"),
    "fallback in a chain": (fallen_back_in_a_chain, 1.0, "1 failed and recovered"),
    "fallback in a function": (fallen_back_in_a_function, 1.0, "1 failed and recovered"),
    "fallback of a fallback": (fallen_back_twice, 1.0, "2 failed and recovered"),
    "after a fallback": (searched_after_a_fallback, None, "(Broken: Conn"),
    "swallowed": (swallowing, 1.0, "1 failed and recovered"),
    "always": (lambda: Letters(fails=[True] * 9), None, "no retrieval: ConnectionError"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_never_silent(name: str, example: Any) -> None:
    """A recovered failure is noted, any other leaves the sample unscored, on every path."""
    make, score, words = FAILURES[name]
    sample = Sample(user_input="abc", reference_context_ids=["a"])
    result = IdRecall().score(sample.with_retrieval(observed(make()).retrieve(sample)))
    assert (result.score, words in result.reason) == (score, True), result.reason
    awaited = asyncio.run(observed(make()).aretrieve(sample))
    assert IdRecall().score(sample.with_retrieval(awaited)).reason == result.reason

    def target(inputs: dict[str, Any]) -> dict[str, str]:
        try:
            found = make().invoke(inputs["question"])
        except ConnectionError:
            found = []
        return {"answer": f"{len(found)} documents"}

    for live in scores(example, target, RecallStringEvaluator(), reference_context_ids=["a"]):
        if name == "swallowed" and live[0] is None:
            continue  # A stored run does not show which object was returned.
        assert (live[0], words.partition(": Conn")[0] in live[1]) == (score, True), live


def fused(lists: list[list[Document]]) -> list[Document]:
    """Return reciprocal rank fusion of lists."""
    points: dict[str, float] = {}
    held: dict[str, Document] = {}
    for documents in lists:
        for rank, document in enumerate(documents):
            key = str(document.id)
            points[key] = points.get(key, 0.0) + 1 / (60 + rank)
            held[key] = document
    return sorted(held.values(), key=lambda document: -points[str(document.id)])


def test_a_fusion_is_ranked_and_a_union_is_not(example: Any) -> None:
    """`map() | rrf` ends with the fused list; without a fusion each list keeps its ranks."""
    queries = RunnableLambda(lambda question: [question, "cb", "cd"])
    rrf = queries | Letters().map() | RunnableLambda(fused)
    for chain, ranks in (
        (rrf | len | str, None),
        (queries | Letters().map() | str, (1, 1, 2, 2, 3)),
    ):
        found = observed(chain).retrieve(Sample(user_input="abc"))
        assert found.ranks == (None if ranks is None else ranks[: len(found.contexts or ())])
        wanted = {"reference_context_ids": ["c"]}
        evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1)
        results = scores(
            example, lambda inputs, c=chain: c.invoke(inputs["question"]), evaluator, **wanted
        )
        assert [score for score, _ in results] == [1.0, 1.0]


def test_a_reordering_for_the_prompt_is_no_ranking() -> None:
    """A reordering for the prompt is no ranking: ranks are those of the search."""

    def reorder(documents: list[Document]) -> list[Document]:
        ends: list[Document] = []
        for place, document in enumerate(reversed(documents)):
            ends.insert(0, document) if place % 2 == 0 else ends.append(document)
        return ends

    chain = Letters() | RunnableLambda(reorder)
    found = observed(chain).retrieve(Sample(user_input="abcdefgh"))
    assert "".join(c.id or "" for c in found.contexts or ()) == "abcdefgh"
    assert found.line == "ranks before reorder"


def test_texts_in_an_output_do_not_hide_the_trace(example: Any) -> None:
    """Texts in an output are the final list, with the trace's IDs; the rest was dropped."""

    def target(inputs: dict[str, Any], *, change: str = "") -> dict[str, Any]:
        found = Letters().invoke(inputs["question"])
        texts = [f"{one.page_content}{change}" for one in reversed(found)]
        return {"answer": "a", "contexts": texts}

    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1)
    same = scores(example, target, evaluator, reference_context_ids=["c"])
    # The application reversed the list: c is first.
    assert [score for score, _ in same] == [1.0, 1.0]
    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1)
    other = scores(
        example, lambda inputs: target(inputs, change="!"), evaluator, reference_context_ids=["a"]
    )
    assert [score for score, _ in other] == [1.0, 1.0]  # The calls count, not their documents.


def test_parts_with_a_config_stay_parts(example: Any) -> None:
    """`with_config` reports its caller's caller, but an ensemble's parts remain its parts."""
    parts = [Letters(name="one"), Letters().with_config(run_name="two")]
    chain = EnsembleRetriever(retrievers=parts, weights=[0.5, 0.5]) | (lambda found: found[:2])
    with capture_retrievals() as seen:
        chain.invoke("abc")

    def target(inputs: dict[str, Any]) -> dict[str, int]:
        return {"answer": len(chain.invoke(inputs["question"]))}

    kept: list[Any] = []

    class Keeping(RecallStringEvaluator):
        def evaluate_run(self, run: Run, example: Any = None, evaluator_run_id: Any = None) -> Any:
            kept.append(self.measure_run(run, example).sample.retrieval)
            return super().evaluate_run(run, example)

    rows = [example("abc", reference_context_ids=["a"])]
    evaluate(
        target, data=rows, evaluators=[Keeping()], client=offline_client(), upload_results=False
    )
    for record in (kept[0], seen.retrieval(), observed(chain).retrieve(Sample(user_input="abc"))):
        (call,) = record.calls
        (ensemble,) = call.children
        assert (ensemble.source, [part.source for part in ensemble.children]) == (
            "EnsembleRetriever",
            ["one", "two"],
        )
