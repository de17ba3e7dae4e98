"""Retrievers are run over samples, outside of any eval run."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from fullrecall import IdRecall, InputError, ParameterError, Sample, SpanRecall
from langchain_fullrecall import evaluate_retriever, retrieved

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
        retrieved_contexts=["old"], retrieval_error="old", metadata={"n": 1},
    )  # fmt: skip
    (new,) = retrieved(retriever_of(documents[:1]), [old])
    assert new == Sample(
        user_input="q", reference="r", reference_context_ids={"d0": 2}, group="g",
        retrieved_contexts=[{"id": "d0", "text": documents[0].page_content,
                             "metadata": documents[0].metadata}], metadata={"n": 1},
    )  # fmt: skip


def test_a_sample_that_asks_nothing_is_not_asked(retriever_of: Any) -> None:
    """It has no score, and the reason is its own."""
    retriever = retriever_of([])
    (sample,) = retrieved(retriever, [Sample(reference_context_ids=["a"])])
    assert sample.retrieval_error == "the sample has no user_input to ask it"
    assert retriever.asked == []


def test_samples_are_asked_one_by_one(retriever_of: Any) -> None:
    """A stream of samples is never held as a whole."""
    retriever = retriever_of([])
    stream = retrieved(retriever, iter(SAMPLES))
    assert retriever.asked == []
    next(stream)
    assert retriever.asked == [SAMPLES[0].user_input]


def test_wrong_arguments_are_named() -> None:
    """What is no retriever, what is no sample, what is no option."""
    with pytest.raises(ParameterError, match="a Runnable or a VectorStore, got function"):
        retrieved(lambda question: [question], SAMPLES)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="id_key"):
        retrieved(RunnableLambda(str), SAMPLES, id_key="")
    with pytest.raises(InputError, match="sample 1: a Sample or a mapping"):
        evaluate_retriever(RunnableLambda(str), [7], IdRecall(), progress=False)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="concurency"):
        evaluate_retriever(RunnableLambda(str), SAMPLES, IdRecall(), concurency=3)
