"""`evaluate_strings`, LangChain's evaluator method, gives scores and reasons."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from langchain_classic.smith.evaluation.string_run_evaluator import StringRunEvaluatorChain
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langsmith.schemas import DataType, Example

from fullrecall import (
    ClaimRecall,
    ContextPrecision,
    EntityRecall,
    IdRecall,
    Sample,
    SpanRecall,
    TextRecall,
)
from fullrecall.errors import InputError, ParameterError
from fullrecall.lexical import LexicalJudge
from fullrecall.measures import Measure, Recall
from fullrecall.scorers import Method, Result, Scorer, Status
from langchain_fullrecall import RecallStringEvaluator
from langchain_fullrecall.classic import ClassicStringEvaluator

CLAIMS = ClaimRecall(judge=LexicalJudge())


class CountRecall:
    """A user's scorer without `k` and `ascore`, which is no dataclass."""

    method = Method("count")

    def score(self, sample: Sample) -> Result:
        """Return an unscored result that names the sample's fields."""
        note = f"{len(sample.retrieved_contexts or ())} for {sample.reference}"
        return Result(self.method, Status.UNSCORED, note=note)


def score_of(evaluator: RecallStringEvaluator, **arguments: Any) -> float | None:
    """Return the score, and check that sync and async agree."""
    returned = evaluator.evaluate_strings(**arguments)
    assert asyncio.run(evaluator.aevaluate_strings(**arguments)) == returned
    score: float | None = returned["score"]
    return score


def test_the_result_has_langchains_keys(documents: list[Document]) -> None:
    """The returned mapping has LangChain's keys, the score's key, and the whole result."""
    returned = RecallStringEvaluator().evaluate_strings(
        prediction=documents, reference=["d0", "d9"], input="q"
    )
    result = returned.pop("result")
    assert returned == {
        "key": "id_recall",
        "score": 0.5,
        "value": "scored",
        "reasoning": "1 of 2 found in 4 retrieved; missed: d9",
        "scores": {"id_recall": 0.5},
    }
    assert result.missed == ("d9",)
    assert result[Recall @ 1] == 0.5


@pytest.mark.parametrize("arguments", [{}, {"input": "q"}, {"reference": ["d0"]}])
def test_input_and_reference_are_optional(
    documents: list[Document], arguments: dict[str, Any]
) -> None:
    """No warning for given arguments, and no error for missing ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        returned = RecallStringEvaluator().evaluate_strings(prediction=documents, **arguments)
    expected = 1.0 if "reference" in arguments else None
    assert returned["score"] == expected


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda found: found, id="list"),
        pytest.param(tuple, id="tuple"),
        pytest.param(lambda found: [(document, 0.5) for document in found], id="with scores"),
        pytest.param(lambda found: [dumpd(document) for document in found], id="dumped"),
        *(
            pytest.param(lambda found, key=key: {key: found, "answer": "a"}, id=key)
            for key in (
                "context",
                "contexts",
                "documents",
                "source_documents",
                "retrieved_documents",
                "retrieved_contexts",
                "docs",
                "output",
                "hits",
            )
        ),
        pytest.param(
            lambda found: {
                "context": "\n".join(document.page_content for document in found),
                "source_documents": found,
            },
            id="context as one text",
        ),
        pytest.param(
            lambda found: {"documents": found, "context": list(found)}, id="twice the same"
        ),
    ],
)
def test_forms_of_a_prediction(wrap: Any, documents: list[Document]) -> None:
    """A prediction is documents from a retriever, or a chain's output that holds them."""
    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1)
    assert score_of(evaluator, prediction=wrap(documents), reference=["d0", "d1"]) == 0.5


def test_documents_given_are_those_that_count(documents: list[Document]) -> None:
    """`retrieved_documents` take precedence over documents in the prediction, in any form."""
    output = {"documents": documents, "context": documents[:1]}
    evaluator = RecallStringEvaluator()
    assert score_of(evaluator, prediction=output, retrieved_documents=[], reference=["d0"]) == 0.0


def test_documents_that_differ_under_two_keys_are_not_guessed_at(
    documents: list[Document],
) -> None:
    """If two keys have different documents, `documents_key` has to name the right list."""
    output = {"documents": documents, "context": documents[:1]}
    with pytest.raises(InputError, match="documents_key"):
        RecallStringEvaluator().evaluate_strings(prediction=output, reference=["d1"])
    for key, score in (("documents", 1.0), ("context", 0.0)):
        evaluator = RecallStringEvaluator(documents_key=key)
        assert score_of(evaluator, prediction=output, reference=["d1"]) == score


@pytest.mark.parametrize("prediction", ["text", {"documents": []}, {"docs": None}])
def test_an_output_without_the_named_key_is_an_error(prediction: object) -> None:
    """The error names the key that is missing."""
    with pytest.raises(InputError, match="the output has no 'docs': "):
        RecallStringEvaluator(documents_key="docs").evaluate_strings(prediction=prediction)


def test_an_id_that_is_missing_keeps_its_rank() -> None:
    """A document without an ID is found for no reference, but those below keep their ranks."""
    output = {"retrieved_ids": ["d9", None, "d0"]}
    for k, score in ((2, 0.0), (3, 1.0)):
        evaluator = RecallStringEvaluator(IdRecall(), Recall @ k)
        assert score_of(evaluator, prediction=output, reference=["d0"]) == score


def test_only_the_tools_messages_are_searches(documents: list[Document]) -> None:
    """A long answer in a conversation is no text of a tool whose documents are unknown."""
    found = ToolMessage("found", name="search", tool_call_id="1", artifact=documents)
    output = {"messages": [HumanMessage("q"), found, AIMessage("It flows on and on. " * 50)]}
    assert score_of(RecallStringEvaluator(), prediction=output, reference=["d0"]) == 1.0


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        ("an answer", "the output is str"),
        (None, "the output is NoneType"),
        (AIMessage("an answer"), "AIMessage"),
        ({"answer": "a", "sources": "s"}, "the output has 'answer', 'sources'"),
        ({"documents": None}, "the output has 'documents'"),
        ({}, "the output has nothing"),
    ],
)
def test_no_retrieval_is_not_an_empty_one(prediction: object, reason: str) -> None:
    """Without documents there is no score, and the reason names the given value."""
    returned = RecallStringEvaluator().evaluate_strings(prediction=prediction, reference=["d0"])
    assert (returned["score"], returned["value"]) == (None, "unscored")
    assert "no retrieval observed" in returned["reasoning"]
    assert reason in returned["reasoning"]


def test_one_string_is_one_reference(documents: list[Document]) -> None:
    """One string is one reference, as in the contract of LangChain's string evaluators."""
    for scorer in (TextRecall(), SpanRecall()):
        assert score_of(RecallStringEvaluator(scorer), prediction=["x"], reference="x") == 1.0
    assert score_of(RecallStringEvaluator(), prediction=documents, reference="d0") == 1.0


@pytest.mark.parametrize("prediction", [[], {"documents": []}, {"output": []}])
def test_nothing_retrieved_scores_zero(prediction: object) -> None:
    """An empty list of documents scores 0."""
    assert score_of(RecallStringEvaluator(), prediction=prediction, reference=["d0"]) == 0.0


def test_no_reference_items_leave_it_undefined(documents: list[Document]) -> None:
    """Without a reference item the sample is undefined: no score, counted apart from failures."""
    returned = RecallStringEvaluator().evaluate_strings(prediction=documents, reference=[])
    assert (returned["score"], returned["value"]) == (None, "undefined")
    assert returned["reasoning"] == "undefined: no reference items"


@pytest.mark.parametrize(
    ("scorer", "reference", "score"),
    [
        (IdRecall(), ["d0", "d9"], 0.5),
        (IdRecall(), {"d0": 3, "d9": 1}, 0.5),
        (IdRecall(), [["d0", "d9"], ["d8"]], 0.5),
        (IdRecall(), {"reference_context_ids": ["d0", "d9"]}, 0.5),
        (IdRecall(), {"expected_ids": ["d0", "d9"], "topic": "geography"}, 0.5),
        (IdRecall(), {"reference": 2, "d0": 1}, 0.5),
        (IdRecall(), [Document("", id="d0"), Document("", id="d9")], 0.5),
        (IdRecall(), {"reference_context_ids": [[Document("", id="d0"), "d9"]]}, 1.0),
        (IdRecall(), [dumpd(Document("", id="d0")), "d9"], 0.5),
        (TextRecall(), ["Rome is the capital of Italy.", "?"], 0.5),
        (TextRecall(), [Document("Rome is the capital of Italy.")], 1.0),
        (TextRecall(), {"reference_contexts": ["Rome is the capital of Italy."]}, 1.0),
        (SpanRecall(), ["Rome is the capital of Italy."], 1.0),
        (EntityRecall(), ["Rome", "Madrid"], 0.5),
        (CLAIMS, "Rome is the capital of Italy.", 1.0),
        (CLAIMS, {"answer": "In Madrid.", "ground_truth": "Rome is the capital of Italy."}, 1.0),
        (CLAIMS, {"answer": "Rome is the capital of Italy.", "ground_truth": None}, 1.0),
        (ContextPrecision(), "Rome is the capital of Italy.", 1 / 3),
    ],
)
def test_forms_of_a_reference(
    scorer: Scorer, reference: object, score: float, documents: list[Document]
) -> None:
    """A reference has the scorer's own form, or is a mapping with the names of any tool."""
    evaluator = RecallStringEvaluator(scorer)
    found = score_of(evaluator, prediction=documents, reference=reference)
    assert found == pytest.approx(score)


@pytest.mark.parametrize(
    ("scorer", "reference", "message"),
    [
        (IdRecall(), [1.5], "1.5 is not an ID"),
        (IdRecall(), [Document("some text")], "'some text' has no ID"),
        (IdRecall(), {"docs": ["d0"]}, "none of the keys 'docs'"),
        (CLAIMS, {"reference_claims": [Document("a", id="d0")]}, "expected a claim, a str or"),
        (ContextPrecision(), ["d0"], "context_precision accepts"),
        (CountRecall(), ["d0"], "count accepts"),
    ],
)
def test_a_reference_that_may_be_anything_is_refused(
    scorer: Scorer, reference: object, message: str, documents: list[Document]
) -> None:
    """An ambiguous reference is an error that says how to write it."""
    with pytest.raises(InputError, match=message):
        RecallStringEvaluator(scorer).evaluate_strings(prediction=documents, reference=reference)


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        (Recall @ 1, "0 of 2 found in 1 retrieved; missed: d1, d9"),
        (Recall @ 2, "1 of 2 found in 2 retrieved; missed: d9"),
        (Recall @ 50, "1 of 2 found in 4 retrieved; missed: d9"),
    ],
)
def test_the_reason_is_that_of_the_measures_k(
    measure: Measure, reason: str, documents: list[Document]
) -> None:
    """Targets and contexts are counted within k, which may be more than were retrieved."""
    evaluator = RecallStringEvaluator(IdRecall(), measure)
    returned = evaluator.evaluate_strings(prediction=documents, reference=["d1", "d9"])
    assert returned["reasoning"] == reason


def test_outputs_without_the_needed_reference_are_named(documents: list[Document]) -> None:
    """An answer alone does not say which other output has the IDs: the comment names them."""
    outputs = {"answer": "Paris", "sources": ["d0"]}
    feedback = RecallStringEvaluator()(
        inputs={"question": "q"}, outputs=documents, reference_outputs=outputs
    )
    assert "'answer', 'sources': name the one with reference_key=" in str(feedback)


def test_an_output_may_say_that_retrieval_failed() -> None:
    """An output with an error beside an empty list is a failed retrieval."""
    output = {"documents": [], "retrieval_error": "TimeoutError: 30 s"}
    returned = RecallStringEvaluator().evaluate_strings(prediction=output, reference=["d0"])
    assert returned["score"] is None
    assert returned["reasoning"] == "unscored: no retrieval: TimeoutError: 30 s"


def test_every_measure_of_one_scoring(documents: list[Document]) -> None:
    """One scoring gives every measure by its key, the first as the score."""
    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1, Recall)
    returned = evaluator.evaluate_strings(prediction=documents, reference=["d0", "d1"])
    assert (returned["key"], returned["score"]) == ("id_recall@1", 0.5)
    assert returned["scores"] == {"id_recall@1": 0.5, "id_recall": 1.0}
    assert returned["result"][Recall @ 2] == 1.0
    with pytest.raises(ParameterError, match="evaluate_strings has no parameter 'k'"):
        evaluator.evaluate_strings(prediction=documents, reference=["d0"], k=1)


@pytest.mark.parametrize("scorer", [IdRecall, "id_recall", 5])
def test_an_object_that_is_not_a_scorer_is_refused(scorer: Any) -> None:
    """An object that is not a scorer is refused at once, not in the middle of a run."""
    with pytest.raises(ParameterError, match="is not a scorer"):
        RecallStringEvaluator(scorer)


def test_a_mistyped_argument_is_an_error(documents: list[Document]) -> None:
    """A mistyped argument is an error, since it would pass for a run without documents."""
    with pytest.raises(ParameterError, match=r"did you mean retrieved_documents\?"):
        RecallStringEvaluator().evaluate_strings(
            prediction="a", reference=["d0"], retreived_documents=documents
        )


def test_a_retriever_is_asked_the_question(retriever_of: Any, documents: list[Document]) -> None:
    """The retriever is asked once if no documents are given, even if given ones are empty."""
    retriever = retriever_of({"where?": documents})
    evaluator = RecallStringEvaluator(retriever=retriever)
    assert score_of(evaluator, input="where?", reference=["d0"]) == 1.0
    assert score_of(evaluator, input={"question": "where?"}, reference=["d0"]) == 1.0
    assert score_of(evaluator, prediction="Rome", input="where?", reference=["d9"]) == 0.0
    assert retriever.asked == ["where?"] * 6  # There are two ways for each.
    assert score_of(evaluator, prediction=[], input="where?", reference=["d0"]) == 0.0
    assert len(retriever.asked) == 6


@pytest.mark.parametrize("answer", [ConnectionError("no route"), None, "text", {"x": 1}, [1]])
def test_a_retriever_that_fails_is_no_zero(retriever_of: Any, answer: object) -> None:
    """A retriever that raises, or returns no documents, gives no score, and the reason."""
    retriever = (
        retriever_of(answer)
        if isinstance(answer, Exception)
        else RunnableLambda(lambda _question: answer)
    )
    evaluator = RecallStringEvaluator(retriever=retriever)
    assert score_of(evaluator, input="q", reference=["d0"]) is None
    returned = evaluator.evaluate_strings(input="q", reference=["d0"])
    assert returned["reasoning"].startswith("unscored: no retrieval: ")
    if isinstance(answer, Exception):
        assert returned["reasoning"].endswith("ConnectionError: no route")


def test_a_retriever_needs_a_question(retriever_of: Any, documents: list[Document]) -> None:
    """Without a question the retriever is not asked, and the reason says so."""
    returned = RecallStringEvaluator(retriever=retriever_of(documents)).evaluate_strings(
        reference=["d0"]
    )
    assert returned["score"] is None
    assert "no question" in returned["reasoning"]


def test_an_asynchronous_retriever_is_awaited(documents: list[Document]) -> None:
    """A retriever that can only be awaited is asked without an event loop, too."""

    async def search(_question: str) -> list[Document]:
        return documents

    evaluator = RecallStringEvaluator(retriever=RunnableLambda(search))
    assert score_of(evaluator, input="q", reference=["d0"]) == 1.0


def test_awaiting_does_not_block(documents: list[Document]) -> None:
    """While one evaluation awaits its retriever, others go on."""

    async def three_at_once() -> list[Any]:
        together = asyncio.Barrier(3)

        async def search(_question: str) -> list[Document]:
            async with asyncio.timeout(5):
                await together.wait()
            return documents

        evaluator = RecallStringEvaluator(retriever=RunnableLambda(lambda _q: [], afunc=search))
        calls = [evaluator.aevaluate_strings(input="q", reference=["d0"]) for _ in range(3)]
        return list(await asyncio.gather(*calls))

    assert [returned["score"] for returned in asyncio.run(three_at_once())] == [1.0] * 3


def test_callbacks_reach_the_retriever(retriever_of: Any, documents: list[Document]) -> None:
    """The caller's callbacks, tags and metadata are those of the retriever's run."""
    seen: list[object] = []

    class Listener(BaseCallbackHandler):
        def on_retriever_start(self, *args: Any, **kwargs: Any) -> None:
            seen.append((kwargs["tags"], kwargs["metadata"]["run"]))

    RecallStringEvaluator(retriever=retriever_of(documents)).evaluate_strings(
        input="q", reference=["d0"], callbacks=[Listener()], tags=["t"], metadata={"run": 7}
    )
    assert seen == [(["t"], 7)]


def test_the_reason_helps_when_ids_do_not_meet(documents: list[Document]) -> None:
    """If IDs do not match, the reason shows a random ID of the store, or a missing one."""
    evaluator = RecallStringEvaluator()
    without = [Document(d.page_content, metadata=d.metadata) for d in documents]
    returned = evaluator.evaluate_strings(prediction=without, reference=["x"])
    assert returned["score"] is None
    assert "name its field with id_key= (it has 'source', 'page'" in returned["reasoning"]
    returned = evaluator.evaluate_strings(prediction=documents, reference=["fr"])
    assert returned["reasoning"].endswith(
        "missed: fr; retrieved: d0, d1, d2, d3; the references are in other fields: "
        "id_key='source' would find them"
    )
    by_source = RecallStringEvaluator(id_key="source")
    assert score_of(by_source, prediction=without, reference=["fr"]) == 1.0
    some = [*without[:2], documents[2]]
    returned = evaluator.evaluate_strings(prediction=some, reference=["d2"])
    assert (returned["score"], returned["reasoning"]) == (
        1.0,
        "1 of 1 found in 3 retrieved; 2 of 3 retrieved contexts have no ID",
    )


def test_reasons_stay_short(documents: list[Document]) -> None:
    """Reasons stay short, for any number and length of missed targets."""
    texts = [f"{n} {'word ' * 200}" for n in range(50)]
    returned = RecallStringEvaluator(TextRecall()).evaluate_strings(
        prediction=documents, reference=texts
    )
    assert len(returned["reasoning"]) < 1000
    assert returned["reasoning"].endswith("and 40 more")


def test_langchains_own_chain_keeps_the_score(
    retriever_of: Any, documents: list[Document], example: Callable[..., Example]
) -> None:
    """`StringRunEvaluatorChain`, which fails on unknown keys, keeps the score."""
    evaluator = ClassicStringEvaluator()
    chain = StringRunEvaluatorChain.from_run_and_data_type(
        evaluator, "chain", DataType.kv, reference_key="ids"
    )
    collector = RunCollectorCallbackHandler()
    wrapped = RunnableLambda(lambda inputs: inputs["question"]) | retriever_of(documents)
    wrapped.invoke({"question": "q"}, {"callbacks": [collector]})
    row = example(ids=["d0", "d9"], difficulty="easy")
    for feedback in (
        chain.evaluate_run(collector.traced_runs[0], row),
        asyncio.run(chain.aevaluate_run(collector.traced_runs[0], row)),
    ):
        assert (feedback.key, feedback.score) == ("id_recall", 0.5)
        assert feedback.evaluator_info["fullrecall"]["missed"] == ["d9"]
        assert "row" in feedback.evaluator_info["fullrecall"]


def test_the_signature_tells_what_it_takes() -> None:
    """The sync and async methods take the same named arguments, all optional."""
    parameters = inspect.signature(RecallStringEvaluator.evaluate_strings).parameters
    assert parameters == inspect.signature(RecallStringEvaluator.aevaluate_strings).parameters
    assert list(parameters) == [
        "self",
        "prediction",
        "reference",
        "input",
        "retrieved_documents",
        "callbacks",
        "tags",
        "metadata",
        "include_run_info",
    ]
