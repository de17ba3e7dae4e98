"""Whole evaluations of retrievers and query engines."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
import warnings
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from fullrecall import IdRecall, InputError, ParameterError, Reference, Sample, TextRecall
from fullrecall.evaluation.stages import evaluate_stages
from llama_index.evaluation.fullrecall import (
    aevaluate_query_engine,
    aevaluate_retriever,
    answered,
    aretrieved,
    evaluate_query_engine,
    evaluate_retriever,
    retrieved,
)

PLACE = TextNode(
    id_="place",
    text="The Eiffel Tower stands in Paris.",
    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc-tower")},
)

SAMPLES = [
    Sample(
        id="tower",
        user_input="Where in Paris does the Eiffel Tower stand?",
        reference_context_ids=["place", "rome"],
        reference_contexts=["The Eiffel Tower stands in Paris."],
    ),
    Sample(
        id="fruit",
        user_input="What do bananas hold?",
        reference_context_ids=["banana"],
        reference_contexts=["Bananas hold much potassium."],
    ),
]


class Fails(BaseRetriever):
    """Finds a place for every question but the second."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle.query_str)
        if len(self.asked) == 2:
            raise TimeoutError("the vector store did not answer")
        return [NodeWithScore(node=PLACE)]


class FindsNothing(BaseRetriever):
    """Finds nothing for any question."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return []


class Echoes(BaseRetriever):
    """Finds the node that is named after the question, and counts how many wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = self.most_at_once = 0
        self._lock = threading.Lock()

    def _enter(self, by: int) -> None:
        with self._lock:
            self.waiting += by
            self.most_at_once = max(self.most_at_once, self.waiting)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self._enter(1)
        time.sleep(0.01)
        self._enter(-1)
        return [NodeWithScore(node=TextNode(id_=f"node-{query_bundle.query_str}", text="x"))]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self._enter(1)
        await asyncio.sleep(0.01)
        self._enter(-1)
        return [NodeWithScore(node=TextNode(id_=f"node-{query_bundle.query_str}", text="x"))]


class DropsFirst(BaseNodePostprocessor):
    """A postprocessor that loses the best node."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[1:]


class OwnEngine(CustomQueryEngine):
    """Asks a retriever, if it has one, and answers what it is told to."""

    answer: Any
    retriever: Any = None

    def custom_query(self, query_str: str) -> Any:
        """Return the answer, or raise it."""
        if self.retriever is not None:
            self.retriever.retrieve(query_str)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_retriever_is_evaluated(index: VectorStoreIndex) -> None:
    """One call asks every question and scores IDs and texts of what came back."""
    report = evaluate_retriever(
        index.as_retriever(similarity_top_k=2), SAMPLES, [IdRecall(), TextRecall()], progress=False
    )
    assert [[result.score for result in row.results] for row in report.rows] == [
        [0.5, 1.0],
        [1.0, 1.0],
    ]
    assert [row.label for row in report.rows] == ["tower", "fruit"]
    assert report.rows[0].sample.retrieved_context_ids == ("place", "height")
    assert [missed.target for missed in report.missed()] == ["rome"]


def test_a_retriever_that_fails_once_costs_one_sample() -> None:
    """The others are scored, and the row says what the retriever raised."""
    samples = [*SAMPLES, SAMPLES[0]]
    report = evaluate_retriever(Fails(), samples, IdRecall(), max_concurrency=1, progress=False)
    results = [row.results[0] for row in report.rows]
    assert [result.score for result in results] == [0.5, None, 0.5]
    assert results[1].reason == ("no retrieval: TimeoutError: the vector store did not answer")
    assert report.rows[1].sample.id == "fruit"


def test_samples_are_asked_one_by_one_as_they_are_read() -> None:
    """A stream without end can be evaluated: nothing is asked before it is wanted."""
    retriever = Fails()
    stream = retrieved(retriever, itertools.repeat(SAMPLES[0]), max_concurrency=1)
    assert retriever.asked == []
    assert next(stream).retrieved_context_ids == ("place",)
    assert len(retriever.asked) == 1


def test_mappings_are_samples_and_earlier_retrievals_are_replaced() -> None:
    """Rows of a data set are taken as they are; what they hold of another run is not kept."""
    row = {"query": "Q", "expected_ids": ["place"], "retrieved_ids": ["old", "older"]}
    (sample,) = retrieved(Fails(), [row])
    assert sample.retrieved_context_ids == ("place",)
    assert sample.reference_context_ids == (Reference(("place",)),)


def test_a_sample_without_a_question_is_unscored_and_not_asked() -> None:
    """There is nothing to ask: the row says so, and the retriever is left alone."""
    retriever = Fails()
    report = evaluate_retriever(
        retriever, [{"reference_context_ids": ["a"]}], IdRecall(), progress=False
    )
    assert report.rows[0].results[0].reason.endswith("the sample has no user_input to ask")
    assert retriever.asked == []


def test_nodes_that_cannot_be_read_leave_their_sample_unscored(index: VectorStoreIndex) -> None:
    """An ID function that fails is told in the row, not raised in the middle of a run."""
    report = evaluate_retriever(
        index.as_retriever(),
        SAMPLES,
        IdRecall(),
        id_key=lambda node: node.metadata["page"],
        progress=False,
    )
    assert [row.results[0].status for row in report.rows] == ["unscored", "unscored"]
    assert "KeyError: 'page'" in report.rows[0].results[0].reason


def test_the_id_key_and_the_text_mode_are_the_callers(index: VectorStoreIndex) -> None:
    """Data sets that name documents are scored by `ref_doc_id`, texts as the LLM reads them."""
    sample = {"question": "What do bananas hold?", "expected_ids": ["doc-fruit"]}
    retriever = index.as_retriever(similarity_top_k=1)
    report = evaluate_retriever(
        retriever, [sample], IdRecall(), id_key="ref_doc_id", progress=False
    )
    assert report.rows[0].results[0].score == 1.0
    (asked,) = retrieved(retriever, [sample], id_key="ref_doc_id", metadata_mode="llm")
    assert asked.retrieved_contexts is not None
    assert asked.retrieved_contexts[0].text == "title: Banana\n\nBananas hold much potassium."


def test_expected_ids_of_another_kind_are_warned_of_once(index: VectorStoreIndex) -> None:
    """A data set of document IDs scores 0 in every row: the run says which key to use."""
    samples = [
        {"question": "Where does the Eiffel Tower stand?", "expected_ids": ["doc-tower"]},
        {"question": "What do bananas hold?", "expected_ids": ["doc-fruit"]},
    ]
    with pytest.warns(UserWarning, match="use id_key='ref_doc_id'") as caught:
        report = evaluate_retriever(index.as_retriever(), samples, IdRecall(), progress=False)
    assert len(caught) == 1
    assert [row.results[0].score for row in report.rows] == [0.0, 0.0]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_run_in_which_one_expected_id_matched_is_not_warned_of(rank: int) -> None:
    """One match shows that the IDs are of the right kind; a coincidence elsewhere is none."""
    engine = OwnEngine(answer=Response("x", [NodeWithScore(node=PLACE)]))
    samples = [{"question": "Q", "expected_ids": ["doc-tower"]} for _ in range(2)]
    samples.insert(rank, {"question": "Q", "expected_ids": ["place"]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(answered(engine, samples))) == 3
    assert caught == []


def test_a_query_engine_is_evaluated(index: VectorStoreIndex, llm: MockLLM) -> None:
    """Its source nodes are scored, and what it answered is kept with the sample."""
    engine = index.as_query_engine(llm=llm, similarity_top_k=2)
    report = evaluate_query_engine(engine, SAMPLES, IdRecall(), progress=False)
    assert [row.results[0].score for row in report.rows] == [0.5, 1.0]
    assert {row.sample.response for row in report.rows} == {"text text text text text"}


def test_a_streaming_engine_is_evaluated_without_reading(
    index: VectorStoreIndex, llm: MockLLM
) -> None:
    """The nodes are scored; no token is waited for, so the sample keeps the response it had."""
    engine = index.as_query_engine(llm=llm, streaming=True, similarity_top_k=2)
    sample = {"question": "What do bananas hold?", "expected_ids": ["banana"], "answer": "before"}
    report = evaluate_query_engine(engine, [sample], IdRecall(), progress=False)
    assert report.rows[0].results[0].score == 1.0
    assert report.rows[0].sample.response == "before"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RuntimeError("quota used up"), "no retrieval: RuntimeError: quota used up"),
        ({"not": "a response"}, "no retrieval was seen: no retriever was asked"),
        (Response("x", None), "no retrieval was seen: no retriever was asked"),  # type: ignore[arg-type]
        (Response("x", []), "no retrieval was seen: no retriever was asked"),
        ("a text alone", "no retrieval was seen: no retriever was asked"),
    ],
    ids=["raises", "dict", "no list", "empty list", "text"],
)
def test_an_engine_that_fails_leaves_its_sample_unscored(answer: Any, reason: str) -> None:
    """Whatever an engine raises or returns, the run ends and the row says what happened."""
    report = evaluate_query_engine(OwnEngine(answer=answer), SAMPLES, IdRecall(), progress=False)
    assert len(report.rows) == 2
    assert reason in report.rows[0].results[0].reason


def test_an_engine_that_found_nothing_scores_zero(llm: MockLLM) -> None:
    """A retriever that was asked and brought nothing is an answer: unlike none that was asked."""
    engine = RetrieverQueryEngine.from_args(FindsNothing(), llm=llm)
    report = evaluate_query_engine(engine, SAMPLES, IdRecall(), progress=False)
    assert [row.results[0].score for row in report.rows] == [0.0, 0.0]
    assert {row.sample.response for row in report.rows} == {"Empty Response"}


def test_an_engine_that_answers_with_a_text_is_scored(index: VectorStoreIndex) -> None:
    """Its response has no source nodes at all: what its retriever brought is seen in the call."""
    engine = OwnEngine(answer="a text", retriever=index.as_retriever(similarity_top_k=2))
    report = evaluate_query_engine(engine, SAMPLES, IdRecall(), progress=False)
    assert [row.results[0].score for row in report.rows] == [0.5, 1.0]
    assert {row.sample.response for row in report.rows} == {"a text"}


def test_nodes_that_the_engine_made_up_never_count(index: VectorStoreIndex) -> None:
    """Its own words among the source nodes would raise recall: what was retrieved is scored."""
    own = NodeWithScore(node=TextNode(id_="rome", text="Rome is the capital of Italy."))
    engine = OwnEngine(
        answer=Response("x", [own]), retriever=index.as_retriever(similarity_top_k=1)
    )
    (sample,) = answered(engine, SAMPLES[:1])
    assert sample.retrieved_context_ids == ("place",)


def test_both_lists_of_an_engine_are_kept_and_scored(index: VectorStoreIndex, llm: MockLLM) -> None:
    """Recall lost by a reranker shows: the samples hold what was retrieved before it."""
    engine = index.as_query_engine(llm=llm, similarity_top_k=3, node_postprocessors=[DropsFirst()])
    samples = [Sample(user_input=SAMPLES[0].user_input, reference_context_ids=["place", "height"])]
    report = evaluate_query_engine(engine, samples, IdRecall(), progress=False)
    assert report.rows[0].results[0].missed == ("place",)
    stages = evaluate_stages((row.sample for row in report), IdRecall(), progress=False)
    assert {name: stages[name].rows[0].results[0].score for name in stages} == {
        "retrieved": 1.0,
        "DropsFirst": 0.5,
        "final": 0.5,
    }
    assert [(lost.target, lost.had, lost.by) for lost in stages.lost()] == [
        ("place", "retrieved", "DropsFirst")
    ]


def test_the_parts_of_a_retriever_are_its_stages(index: VectorStoreIndex) -> None:
    """A fusion of retrievers is scored by its own list, and its parts stand beside it."""
    parts = [index.as_retriever(similarity_top_k=k) for k in (1, 2)]
    fusion = QueryFusionRetriever(
        parts, llm=MockLLM(), num_queries=1, similarity_top_k=1, use_async=False
    )
    (sample,) = retrieved(fusion, SAMPLES[:1])
    assert sample.retrieved_context_ids == ("place",)
    assert sample.stages is not None
    assert {len(stage.contexts) for stage in sample.stages} == {1, 2}
    (plain,) = retrieved(parts[1], SAMPLES[:1])
    assert plain.stages == ()


@pytest.mark.parametrize("at_once", [1, 3, 50])
def test_many_questions_at_once_stay_with_their_samples(at_once: int) -> None:
    """Each sample has what was brought for its own question, in the samples' order."""
    samples = [{"id": n, "query": f"{n}", "expected_ids": [f"node-{n}"]} for n in range(40)]
    slow = Echoes()
    ids = [
        (s.id, s.retrieved_context_ids) for s in retrieved(slow, samples, max_concurrency=at_once)
    ]
    assert ids == [(f"{n}", (f"node-{n}",)) for n in range(40)]
    assert slow.most_at_once <= at_once
    assert (slow.most_at_once > 1) is (at_once > 1)

    async def awaited() -> list[Any]:
        asked = aretrieved(slow, samples, max_concurrency=at_once)
        return [(sample.id, sample.retrieved_context_ids) async for sample in asked]

    slow.most_at_once = 0
    assert asyncio.run(awaited()) == ids
    assert slow.most_at_once == min(at_once, 40)


def test_engines_keep_their_samples_apart_too(index: VectorStoreIndex, llm: MockLLM) -> None:
    """Under threads and under tasks, each answer is scored by its own call's nodes."""
    engine = index.as_query_engine(llm=llm, similarity_top_k=2)
    samples = SAMPLES * 20
    report = evaluate_query_engine(engine, samples, IdRecall(), progress=False)
    again = asyncio.run(aevaluate_query_engine(engine, samples, IdRecall(), progress=False))
    assert [row.results[0].score for row in report] == [0.5, 1.0] * 20
    assert list(again) == list(report)


def test_a_reading_that_ends_early_leaves_nothing_running() -> None:
    """A stream without end may be left: no task and no thread goes on asking."""
    slow = Echoes()

    async def first() -> Any:
        stream = aretrieved(slow, itertools.repeat(SAMPLES[0]), max_concurrency=3)
        sample = await anext(stream)
        await stream.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return sample

    assert asyncio.run(first()).retrieved_context_ids is not None

    class AnswersOnce(Echoes):
        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            if query_bundle.query_str != "once":
                await asyncio.Event().wait()
            return self._retrieve(query_bundle)

    async def never_again() -> None:
        samples = [{"query": "once"}, {"query": "and"}, {"query": "again"}]
        stream = aretrieved(AnswersOnce(), samples, max_concurrency=3)
        await anext(stream)
        await stream.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(never_again())
    before = threading.active_count()
    stream = retrieved(slow, itertools.repeat(SAMPLES[0]), max_concurrency=3)
    assert next(stream).retrieved_context_ids is not None
    stream.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("at_once", [1, 4])
def test_async_evaluation_gives_the_same_report(index: VectorStoreIndex, at_once: int) -> None:
    """`aevaluate_retriever` is `evaluate_retriever` in an event loop, failures included."""
    samples = [*SAMPLES, {"expected_ids": ["a"]}, *SAMPLES]
    retriever = index.as_retriever(similarity_top_k=2)
    scorers = [IdRecall(), TextRecall()]
    report = evaluate_retriever(
        retriever, samples, scorers, max_concurrency=at_once, progress=False
    )
    again = asyncio.run(
        aevaluate_retriever(retriever, samples, scorers, max_concurrency=at_once, progress=False)
    )
    assert list(again) == list(report)
    assert [row.results[0].score for row in again] == [0.5, 1.0, None, 0.5, 1.0]


def test_an_error_in_a_task_costs_one_sample() -> None:
    """The sample of the failing question is unscored with the reason; the others are asked on."""
    report = asyncio.run(
        aevaluate_retriever(
            Fails(), [*SAMPLES, SAMPLES[0]], IdRecall(), max_concurrency=1, progress=False
        )
    )
    assert [row.results[0].score for row in report] == [0.5, None, 0.5]


def test_options_of_evaluate_are_passed_on(index: VectorStoreIndex) -> None:
    """What `fullrecall.evaluate` takes is taken here, and what it refuses is refused."""
    retriever = index.as_retriever(similarity_top_k=2)
    report = evaluate_retriever(retriever, SAMPLES, IdRecall(), keep="summary", progress=False)
    assert (len(report), report.summary()["id_recall"].mean) == (2, 0.75)
    with pytest.raises(TypeError, match="unexpected keyword argument 'treshold'"):
        evaluate_retriever(retriever, SAMPLES, IdRecall(), treshold=1)
    with pytest.raises(ParameterError, match="max_concurrency is a whole number >= 1, got 0"):
        evaluate_retriever(retriever, SAMPLES, IdRecall(), max_concurrency=0)


def test_the_wrong_object_is_refused_before_anything_is_asked(
    index: VectorStoreIndex, llm: MockLLM
) -> None:
    """An index is no retriever, and a retriever no engine: the error says what is meant."""
    with pytest.raises(ParameterError, match=r"index\.as_retriever\(\), got VectorStoreIndex"):
        retrieved(index, SAMPLES)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"index\.as_query_engine\(\), got Fails"):
        answered(Fails(), SAMPLES)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="id_key is 'node_id'"):
        retrieved(Fails(), SAMPLES, id_key="doc_id")
    with pytest.raises(ParameterError, match="got the class Fails: give an object of it"):
        retrieved(Fails, SAMPLES)  # type: ignore[arg-type]
    retriever = Fails()
    with pytest.raises(ParameterError, match="scorers is empty"):
        evaluate_retriever(retriever, SAMPLES, [], progress=False)
    assert retriever.asked == []


def test_an_item_that_is_no_sample_is_named_with_what_was_scored() -> None:
    """The error says which item it is, and holds the report of the rows before it."""
    with pytest.raises(InputError, match="sample 2") as caught:
        evaluate_retriever(Fails(), [SAMPLES[0], 7], IdRecall(), progress=False)  # type: ignore[list-item]
    assert caught.value.report is not None
    assert len(caught.value.report) == 1


@pytest.mark.parametrize("samples", [SAMPLES, iter(SAMPLES)], ids=["list", "stream"])
def test_progress_counts_the_questions(samples: Any) -> None:
    """A display knows how many there are, where that is known, and moves as they are asked."""
    seen: list[Any] = []
    evaluate_retriever(Echoes(), samples, IdRecall(), progress=False, on_progress=seen.append)
    assert seen[-1].total == (2 if isinstance(samples, list) else None)
    assert len(seen) >= 2
