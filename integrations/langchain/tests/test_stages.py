"""Each stage of a composite retriever is in the record, under a stable name."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from fullrecall import IdRecall, Sample, aevaluate, diagnose, evaluate
from fullrecall.samples import Stage
from langchain_fullrecall import observed

Shape = list[tuple[str, list[str | None], str | None]]


class Letters(BaseRetriever):
    """A retriever of one document for each letter that it holds, or of the question."""

    letters: str | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return of(query if self.letters is None else self.letters)


class Keeping(BaseDocumentCompressor):
    """A compressor that keeps the documents whose IDs it has, in its own order."""

    letters: str

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return the documents that it keeps."""
        held = {document.id: document for document in documents}
        return [held[letter] for letter in self.letters if letter in held]


class Plain(BaseDocumentCompressor):
    """A compressor that drops the last document, and takes no callbacks."""

    def compress_documents(  # type: ignore[override]
        self, documents: Sequence[Document], query: str
    ) -> Sequence[Document]:
        """Return all but the last."""
        return documents[:-1]

    async def acompress_documents(  # type: ignore[override]
        self, documents: Sequence[Document], query: str
    ) -> Sequence[Document]:
        """Return all but the last."""
        return documents[:-1]


class Reversing(BaseDocumentTransformer):
    """A transformer that reverses the order."""

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Return the documents in reverse order."""
        return documents[::-1]


def of(letters: Iterable[str]) -> list[Document]:
    """Return one document for each letter, which is its ID."""
    return [Document(f"text {letter}", id=letter) for letter in letters]


def letters(name: str, held: str | None = None) -> Letters:
    """Return a retriever of that name."""
    return Letters(name=name, letters=held)


def queries_from(*answers: str) -> GenericFakeChatModel:
    """Return a chat model that writes these queries, one a line."""
    return GenericFakeChatModel(messages=iter(map(AIMessage, answers)))


def shape(sample: Sample) -> Shape:
    """Return the names, IDs and successors of a sample's stages."""
    return [
        (name, [context.id for context in contexts], into) for name, contexts, into in sample.stages
    ]


def final(sample: Sample) -> str:
    """Return the IDs of the final list as one word."""
    return "".join(map(str, sample.retrieved_context_ids or ()))


def both_ways(retriever: Any, question: str = "q", **options: Any) -> Sample:
    """Return the retrieved sample, which must be the same by `invoke` and `ainvoke`."""
    asked = Sample(user_input=question)
    seen = observed(retriever, **options)
    sample = asked.with_retrieval(seen.retrieve(asked))
    assert asked.with_retrieval(asyncio.run(seen.aretrieve(asked))) == sample
    return sample


def test_the_children_of_an_ensemble() -> None:
    """The children of an ensemble are stages by name, numbered in order if names are equal."""
    named = EnsembleRetriever(
        retrievers=[letters("BM25", "ab"), letters("dense", "bc")], weights=[0.5, 0.5]
    )
    sample = both_ways(named)
    assert shape(sample) == [("BM25", ["a", "b"], None), ("dense", ["b", "c"], None)]
    assert final(sample) == "bac"
    alike = EnsembleRetriever(
        retrievers=[Letters(letters="ab"), letters("dense", "bc"), Letters(letters="c")],
        weights=[1, 1, 1],
    )
    assert [name for name, *_ in shape(both_ways(alike))] == [
        "Letters",
        "dense",
        "Letters 2",
    ]


def test_the_children_of_a_merger() -> None:
    """An empty child of a merger is a stage without documents."""
    merger = MergerRetriever(retrievers=[Letters(letters=""), Letters(letters="ab")])
    assert shape(both_ways(merger)) == [
        ("Letters", [], None),
        ("Letters 2", ["a", "b"], None),
    ]


def test_a_child_that_is_tried_again_keeps_its_place() -> None:
    """A failed attempt of a child is not a stage, and a wrapper does not hide the child."""
    tries = iter([ConnectionError("once"), None, ConnectionError("once"), None])

    class Flaky(Letters):
        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> list[Document]:
            if (error := next(tries)) is not None:
                raise error
            return of("x")

    flaky = Flaky(name="R").with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    ensemble = EnsembleRetriever(retrievers=[letters("R", "a"), flaky], weights=[1, 1])
    assert shape(both_ways(ensemble)) == [
        ("R", ["a"], None),
        ("R 2", ["x"], None),
    ]


@pytest.mark.parametrize("way_out", ["retry", "fallback"])
def test_documents_of_a_failed_attempt_are_no_stage(way_out: str) -> None:
    """Documents of a failed attempt are no stage, since another attempt made the list."""

    class Failing(Keeping):
        def compress_documents(self, *args: Any, **kwargs: Any) -> Sequence[Document]:
            if next(tries):
                raise TimeoutError("no answer")
            return super().compress_documents(*args, **kwargs)

    reranked = ContextualCompressionRetriever(
        base_compressor=Failing(letters="a"), base_retriever=letters("dense", "ab")
    )
    if way_out == "retry":
        tries = iter([True, False] * 2)
        patient = reranked.with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
        assert shape(both_ways(patient)) == [("dense", ["a", "b"], None)]
    else:
        tries = iter([True] * 2)
        sample = both_ways(reranked.with_fallbacks([letters("other", "z")]))
        assert (shape(sample), final(sample)) == ([], "z")


def test_the_queries_of_a_multi_query_retriever() -> None:
    """A multi-query retriever's queries are numbered, since their words differ by sample."""
    model = queries_from("ab\nbc", "ab\nbc", "c", "c")
    retriever = MultiQueryRetriever.from_llm(letters("R"), llm=model)
    assert shape(both_ways(retriever)) == [
        ("R", ["a", "b"], None),
        ("R 2", ["b", "c"], None),
    ]
    assert shape(both_ways(retriever)) == [("R", ["c"], None)]


def test_mapped_queries_are_in_their_order_whichever_starts_first() -> None:
    """Mapped queries keep their order, even if the first one ends last."""

    class HoldingUp(BaseCallbackHandler):
        def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
            assert query != "a" or second.wait(10)

        def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
            if documents[0].id == "b":
                second.set()

    second = threading.Event()
    chain = RunnableLambda(list) | letters("R").map() | (lambda found: found[0] + found[1])
    sample = Sample(user_input="ab")
    seen = observed(chain, config={"callbacks": [HoldingUp()]})
    sample = sample.with_retrieval(seen.retrieve(sample))
    assert shape(sample) == [("R", ["a"], None), ("R 2", ["b"], None)]
    assert second.is_set()


def test_before_and_after_a_reranker() -> None:
    """The base retriever's list is a stage, and the compressed list is the final one."""
    reranked = ContextualCompressionRetriever(
        base_compressor=Keeping(letters="ca"), base_retriever=letters("dense", "abc")
    )
    sample = both_ways(reranked)
    assert (shape(sample), final(sample)) == ([("dense", ["a", "b", "c"], None)], "ca")


def test_steps_of_a_chain() -> None:
    """A step from documents to documents is a stage, and the last step makes the final list."""

    def drop(documents: list[Document]) -> list[Document]:
        return documents[1:]

    def rerank(documents: list[Document]) -> list[Document]:
        # The list is changed in place: the recorded list must not change with it.
        documents.reverse()
        return documents

    chain = letters("dense", "abc") | RunnableLambda(drop) | RunnableLambda(rerank)
    sample = both_ways(chain)
    assert shape(sample) == [("dense", ["a", "b", "c"], "drop"), ("drop", ["b", "c"], None)]
    assert final(sample) == "cb"
    rewritten = RunnableLambda(lambda question: question * 2) | letters("dense")
    assert shape(both_ways(rewritten)) == []


@pytest.mark.parametrize("wrap", ["with_config", "with_retry", "with_fallbacks"])
def test_wrappers_that_change_nothing_add_no_stage(wrap: str) -> None:
    """A wrapper passes on the list of the retriever inside."""
    arguments: dict[str, Any] = {
        "with_config": {"tags": ["t"]},
        "with_retry": {"stop_after_attempt": 2},
        "with_fallbacks": {"fallbacks": [letters("other", "z")]},
    }
    reranked = ContextualCompressionRetriever(
        base_compressor=DocumentCompressorPipeline(transformers=[Reversing(), Plain()]),
        base_retriever=letters("dense", "abc"),
    )
    sample = both_ways(getattr(reranked, wrap)(**arguments[wrap]))
    assert final(sample) == "cb"
    assert shape(sample) == [("dense", ["a", "b", "c"], None)]


def test_calls_at_the_same_time_do_not_mix() -> None:
    """Each of two hundred questions, in threads and in tasks, has its own stages."""
    reranked = ContextualCompressionRetriever(
        base_compressor=DocumentCompressorPipeline(transformers=[Reversing(), Plain()]),
        base_retriever=EnsembleRetriever(
            retrievers=[letters("one"), letters("two")], weights=[0.5, 0.5]
        ),
    )
    words = [f"{chr(ord('a') + n % 26)}{chr(ord('A') + n // 26)}" for n in range(200)]
    samples = [Sample(user_input=word) for word in words]
    options: Any = {"retriever": observed(reranked), "progress": False}
    in_tasks = asyncio.run(aevaluate(samples, IdRecall(), **options))
    for report in (evaluate(samples, IdRecall(), **options), in_tasks):
        found = [row.sample for row in report]
        assert [(shape(sample)[0][1], shape(sample)[-1][1], final(sample)) for sample in found] == [
            (list(word), list(word), word[1]) for word in words
        ]


def test_an_id_key_that_fails_on_a_stage_is_told() -> None:
    """An `id_key` that fails on a stage's documents is reported, though the final ones have IDs."""
    reranked = ContextualCompressionRetriever(
        base_compressor=Keeping(letters="a"), base_retriever=letters("dense", "ab")
    )

    def numbered(document: Document) -> int:
        return {"a": 1}[str(document.id)]

    sample = both_ways(reranked, id_key=numbered)
    assert sample.retrieval_error == "retriever 'dense': id_key raised KeyError: 'b'"


def test_a_miss_is_blamed_on_the_stage_that_dropped_it() -> None:
    """A miss is attributed to the reranker or filter that dropped it, or to no retrieval."""
    pipeline = DocumentCompressorPipeline(
        transformers=[Keeping(letters="ab"), Keeping(letters="a")]
    )
    retriever = ContextualCompressionRetriever(
        base_compressor=pipeline, base_retriever=letters("dense", "abc")
    )
    wanted = [Sample(user_input="q", reference_context_ids=list("abcd"))]
    found = [sample.with_retrieval(observed(retriever).retrieve(sample)) for sample in wanted]
    assert [IdRecall().score(sample.at_stage("dense")).score for sample in found] == [0.75]
    report = evaluate(found, IdRecall(), progress=False)
    assert report.rows[0].results[0].score == 0.25
    misses = diagnose(report)
    assert [miss.target for miss in misses if miss.cause == "dropped_by_stage"] == ["b", "c"]


def test_stages_survive_the_way_to_a_file() -> None:
    """Stages are part of the sample, and are saved with it."""
    sample = both_ways(
        EnsembleRetriever(retrievers=[letters("A", "a"), letters("B", "b")], weights=[1, 1])
    )
    assert Sample(**sample.to_dict()) == sample
    assert isinstance((sample.stages)[0], Stage)
