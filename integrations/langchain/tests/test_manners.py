"""The adapter behaves well inside LangChain and LangSmith, and leaves settings alone."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from typing import Any
from uuid import uuid4

import pytest
from langchain_classic.evaluation import StringEvaluator
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langsmith import Client
from langsmith.evaluation import evaluate
from langsmith.schemas import Run
from langsmith.utils import get_env_var

from fullrecall import ClaimRecall, IdRecall, LLMJudge, Sample
from fullrecall.measures import Recall
from langchain_fullrecall import (
    LangChainChatModel,
    RecallStringEvaluator,
    capture_retrievals,
    live,
    observed,
    recorder,
    selfcheck,
)
from langchain_fullrecall.classic import ClassicStringEvaluator

pytestmark = pytest.mark.filterwarnings("ignore:.upload_results. parameter is in beta")


class Store(BaseRetriever):
    """A retriever of two documents with long texts."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(f"{letter} " * 500, id=letter) for letter in "ab"]


class Hearing(BaseCallbackHandler):
    """A callback handler that counts models' requests."""

    def __init__(self) -> None:
        self.asked = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        """Count a call."""
        self.asked += 1


def judging() -> RecallStringEvaluator:
    """Return an evaluator whose judge gives no usable answer."""
    model = FakeListChatModel(responses=["nothing"])
    return RecallStringEvaluator(ClaimRecall(judge=LLMJudge(LangChainChatModel(model))))


GIVEN: dict[str, Any] = {
    "prediction": "x", "reference": "Paris is the capital of France.", "input": "q",
    "retrieved_documents": ["Paris is a city in France."],
}  # fmt: skip


@pytest.mark.parametrize("awaited", [False, True])
def test_callbacks_reach_the_judge(*, awaited: bool) -> None:
    """The caller's callbacks reach the judge, as every model in LangChain."""
    hearing, evaluator = Hearing(), judging()
    given = {**GIVEN, "callbacks": [hearing]}
    if awaited:
        asyncio.run(evaluator.aevaluate_strings(**given))
    else:
        evaluator.evaluate_strings(**given)
    assert hearing.asked > 0


def run_of(**fields: Any) -> Run:
    """Return a run that LangSmith stored."""
    plain = {
        "id": str(uuid4()),
        "name": "r",
        "run_type": "chain",
        "inputs": {"question": "q"},
        "start_time": "2025-01-01T00:00:00Z",
        "end_time": "2025-01-01T00:00:01Z",
    }
    return Run(**{**plain, "trace_id": str(uuid4()), **fields})


def test_feedback_names_the_run_that_judged(example: Any) -> None:
    """Feedback names the run of the judge's calls; a scorer without a judge has no run."""
    run = run_of(outputs={"documents": [{"page_content": "Paris.", "id": "a"}]})
    row = example(reference="Paris is the capital.", reference_context_ids=["a"])
    own = uuid4()
    judged: Any = judging().evaluate_run(run, row, evaluator_run_id=own)
    assert judged.source_run_id == own
    plain: Any = RecallStringEvaluator().evaluate_run(run, row, evaluator_run_id=own)
    assert (plain.score, plain.source_run_id) == (1.0, None)


def test_feedback_has_no_texts_where_ids_are_compared(client: Client, example: Any) -> None:
    """Feedback on IDs has no texts, since the run has them."""
    (row,) = evaluate(
        lambda inputs: {"documents": Store().invoke(inputs["question"])},
        data=[example(reference_context_ids=["a"])],
        evaluators=[RecallStringEvaluator()],
        client=client,
        upload_results=False,
    )
    (found,) = row["evaluation_results"]["results"]
    assert found.score == 1.0
    assert len(str(found.evaluator_info)) < 1500


def test_a_string_evaluator_of_langchain_classic() -> None:
    """Only the adapter's module for it loads `langchain_classic`, whose base class it inherits."""
    program = (
        "from langchain_fullrecall import RecallStringEvaluator\n"
        "evaluator = RecallStringEvaluator()\n"
        "import sys; assert 'langchain_classic' not in sys.modules\n"
        "from langchain_classic.evaluation import StringEvaluator\n"
        "from langchain_fullrecall.classic import ClassicStringEvaluator\n"
        "assert not isinstance(evaluator, StringEvaluator)\n"
        "assert issubclass(ClassicStringEvaluator, (StringEvaluator, RecallStringEvaluator))\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_the_string_evaluator_of_langchain_classic_gives_the_same_score() -> None:
    """LangChain's string evaluator gives the same score, sync, async, and by its inner method."""
    documents = [{"page_content": letter, "id": letter} for letter in "ab"]
    arguments: dict[str, Any] = {"prediction": documents, "reference": ["a", "c"], "input": "q"}
    evaluator, plain = ClassicStringEvaluator(), RecallStringEvaluator()
    assert isinstance(evaluator, StringEvaluator)
    returned = [
        evaluator.evaluate_strings(**arguments, callbacks=[]),
        asyncio.run(evaluator.aevaluate_strings(**arguments)),
        evaluator._evaluate_strings(**arguments),
    ]
    assert [each["score"] for each in returned] == [0.5] * 3
    assert returned[0]["reasoning"] == plain.evaluate_strings(**arguments)["reasoning"]


def test_a_comparison_is_by_each_measure(example: Any) -> None:
    """Comparisons are one evaluator per measure, since LangSmith takes one score from each."""
    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 1, Recall @ 2)
    documents = [{"page_content": letter, "id": letter} for letter in "ab"]
    runs = [run_of(outputs={"documents": documents[:n]}) for n in (1, 2)]
    row = example(reference_context_ids=["a", "b"])
    with pytest.raises(ValueError, match=r"evaluator.each\(\)"):
        evaluator(runs, row)
    compared = [each(runs, row) for each in evaluator.each()]
    assert [found["key"] for found in compared] == ["id_recall@1", "id_recall@2"]
    assert [list(found["scores"].values()) for found in compared] == [[0.5, 0.5], [0.5, 1.0]]


def test_lists_of_messages_are_outputs_and_references() -> None:
    """Lists of messages are outputs and references, as agentevals passes them."""
    found = [Document("Paris.", id="a")]
    outputs = [
        {"role": "user", "content": "where?"},
        {"role": "tool", "content": "Paris.", "artifact": found, "name": "search"},
        {"role": "assistant", "content": "In Paris."},
    ]
    scored = RecallStringEvaluator()(
        inputs={}, outputs=outputs, reference_outputs={"reference_context_ids": ["a"]}
    )
    assert scored["score"] == 1.0
    refused = RecallStringEvaluator()(inputs={}, outputs=outputs, reference_outputs=outputs)
    assert refused["score"] is None


def test_an_evaluator_leaves_other_retrievals_alone() -> None:
    """An evaluator records nothing outside of an experiment, and nothing once it is deleted."""
    evaluator = RecallStringEvaluator()
    before = dict(live._experiments._recorders)
    Store().invoke("q")
    assert live._experiments._recorders == before
    assert live._experiments.get() is None
    gone = weakref.ref(evaluator)
    del evaluator
    gc.collect()
    assert gone() is None


def test_copies_are_freed_with_the_evaluator(client: Client, example: Any) -> None:
    """Copies of documents belong to an experiment, and are freed with its evaluator."""
    evaluator = RecallStringEvaluator()
    results = evaluate(
        lambda inputs: len(Store().invoke(inputs["question"])),
        data=[example(reference_context_ids=["a"])],
        evaluators=[evaluator],
        client=client,
        upload_results=False,
    )
    assert [row["evaluation_results"]["results"][0].score for row in results] == [1.0]
    assert live._experiments._recorders
    del evaluator, results
    gc.collect()
    live._experiments.evaluators.clear()  # Evaluators of other tests may still be registered.
    Store().invoke("q")
    assert not live._experiments._recorders


def test_recorders_of_evaluated_runs_are_released(
    client: Client, example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorders of finished runs are released, for any length of the experiment."""
    monkeypatch.setattr(live, "_MOST_EVALUATED", 2)
    live._experiments._recorders.clear()
    evaluators = [RecallStringEvaluator(), RecallStringEvaluator(IdRecall(), Recall @ 1)]
    results = evaluate(
        lambda inputs: len(Store().invoke(inputs["question"])),
        data=[example(reference_context_ids=["a"]) for _ in range(6)],
        evaluators=evaluators,
        client=client,
        upload_results=False,
        max_concurrency=0,
    )
    scores = [[e.score for e in row["evaluation_results"]["results"]] for row in results]
    assert scores == [[1.0, 1.0]] * 6
    assert len(live._experiments._recorders) == 2


def test_a_record_counts_the_bytes_that_it_keeps() -> None:
    """A record's size counts bytes: wide characters, documents and steps take more."""
    sizes = []
    for text in ("a" * 1000, "\u754c" * 1000):
        known = recorder.LangChainReader()
        known.read([Document(text)])
        sizes.append(known.size)
    assert sizes[0] > 1500
    assert sizes[1] > sizes[0] + 900


def test_more_text_than_a_record_may_keep_is_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record with more text than allowed is unscored, and the reason says so."""
    original = recorder.LangChainReader
    monkeypatch.setattr(recorder, "LangChainReader", lambda: original(limit=100))
    found = observed(Store()).retrieve(Sample(user_input="q"))
    assert found.error == "the record is partial: more text passed than a record may keep"


def test_an_unknown_version_is_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    """If LangChain reports runs in an unknown way, they are unscored, with the versions named."""
    selfcheck.broken.cache_clear()
    monkeypatch.setattr(recorder, "FALLBACKS", "")
    try:
        found = observed(Store()).retrieve(Sample(user_input="q"))
        assert "langchain-core" in (found.error or "")
        assert "cannot be recorded" in (found.error or "")
    finally:
        selfcheck.broken.cache_clear()


@pytest.mark.parametrize("tracing", ["true", "false", None])
@pytest.mark.parametrize("first_tracing", ["true", None])
def test_tracing_does_not_disturb_the_check(
    monkeypatch: pytest.MonkeyPatch, tracing: str | None, first_tracing: str | None
) -> None:
    """Neither tracing nor the variable of LangChain's first tracer disturbs the check."""
    values = {"LANGSMITH_TRACING": tracing, "LANGCHAIN_TRACING_V2": tracing,
              "LANGCHAIN_TRACING": first_tracing}  # fmt: skip
    for name, value in values.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    get_env_var.cache_clear()
    try:
        assert selfcheck.broken.__wrapped__() is None
    finally:
        get_env_var.cache_clear()


def test_run_names_change_no_score() -> None:
    """Names of runs change no score."""
    name = {"run_name": "x"}
    broken = RunnableLambda(lambda question: 1 / 0)
    chain = (broken.with_config(**name)).with_fallbacks([Store().with_config(**name)])
    chains: Any = chain.with_config(run_name="y") | RunnableLambda(lambda docs: docs[:1])
    found = observed(chains.with_config(**name)).retrieve(Sample(user_input="q"))
    assert [context.id for context in found.contexts or ()] == ["a"]


def test_a_block_of_many_calls() -> None:
    """In a block of many calls each is recorded once, quickly."""
    store = Store()
    with capture_retrievals() as seen:
        for number in range(300):
            store.invoke(f"question {number}")
    assert len(seen.retrieval().calls) == 300
