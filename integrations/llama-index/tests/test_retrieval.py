"""Whole evaluations of retrievers and query engines."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from fullrecall import IdRecall, InputError, ParameterError, Reference, Sample, TextRecall
from llama_index.evaluation.fullrecall import (
    answered,
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


class OwnEngine(CustomQueryEngine):
    """Answers what it is told to."""

    answer: Any

    def custom_query(self, query_str: str) -> Any:
        """Return the answer, or raise it."""
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
    report = evaluate_retriever(Fails(), samples, IdRecall(), progress=False)
    results = [row.results[0] for row in report.rows]
    assert [result.score for result in results] == [0.5, None, 0.5]
    assert results[1].reason == ("no retrieval: TimeoutError: the vector store did not answer")
    assert report.rows[1].sample.id == "fruit"


def test_samples_are_asked_one_by_one_as_they_are_read() -> None:
    """A stream without end can be evaluated: nothing is asked before it is wanted."""
    retriever = Fails()
    stream = retrieved(retriever, itertools.repeat(SAMPLES[0]))
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
        ({"not": "a response"}, "the engine returned a dict, which carries no source nodes"),
        (Response("x", None), "the engine returned a Response, which carries no source nodes"),  # type: ignore[arg-type]
    ],
    ids=["raises", "dict", "no list"],
)
def test_an_engine_that_fails_leaves_its_sample_unscored(answer: Any, reason: str) -> None:
    """Whatever an engine raises or returns, the run ends and the row says what happened."""
    report = evaluate_query_engine(OwnEngine(answer=answer), SAMPLES, IdRecall(), progress=False)
    assert len(report.rows) == 2
    assert reason in report.rows[0].results[0].reason


def test_an_engine_that_found_nothing_scores_zero() -> None:
    """An empty list of source nodes is an answer of the retriever."""
    engine = OwnEngine(answer=Response("I do not know", []))
    report = evaluate_query_engine(engine, SAMPLES, IdRecall(), progress=False)
    assert [row.results[0].score for row in report.rows] == [0.0, 0.0]


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


def test_progress_is_shown_over_the_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar knows how many questions there are, and moves as they are asked."""
    import tqdm

    shown: list[int | None] = []

    def bar(items: Any, **settings: Any) -> Any:
        shown.append(settings["total"])
        return items

    monkeypatch.setattr(tqdm, "tqdm", bar)
    evaluate_retriever(Fails(), SAMPLES, IdRecall())
    evaluate_retriever(Fails(), SAMPLES, IdRecall(), progress=False)
    assert shown == [2]
