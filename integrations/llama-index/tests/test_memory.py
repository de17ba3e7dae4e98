"""500 evaluated calls leave as little memory in use as 50 do."""

from __future__ import annotations

import contextvars
import gc
import inspect
import tracemalloc
import weakref
from collections.abc import Callable

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.llm import LLMCompletionStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers.simple_summarize import SimpleSummarize
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall import Sample, record
from llama_index.evaluation.fullrecall import RecallEvaluator, capture_retrievals, observed
from llama_index.evaluation.fullrecall.listening import recording

WORDS = 40


class Long(BaseRetriever):
    """A retriever of five long nodes for each question."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        asked = query_bundle.query_str
        texts = [" ".join(f"{asked}.{n}.{word}" for word in range(WORDS)) for n in range(5)]
        return [
            NodeWithScore(node=TextNode(id_=f"{asked} {n}", text=text), score=1)
            for n, text in enumerate(texts)
        ]


def in_a_block(number: int) -> None:
    """Ask an engine in a block, and score its answer."""
    engine = RetrieverQueryEngine(Long(), SimpleSummarize(llm=MockLLM(max_tokens=1)))
    with capture_retrievals():
        response = engine.query(f"q{number}")
    result = RecallEvaluator().evaluate_response(
        f"q{number}", response, expected_ids=[f"q{number} 0"]
    )
    assert result.score == 1.0


def through_observed(number: int) -> None:
    """Ask a new engine through `observed`, since LlamaIndex keeps a trace in each engine."""
    engine = RetrieverQueryEngine(Long(), SimpleSummarize(llm=MockLLM(max_tokens=1)))
    found = observed(engine).retrieve(Sample(user_input=f"q{number}"))
    assert len(found.contexts or ()) == 5


@pytest.mark.long
@pytest.mark.parametrize("call", [in_a_block, through_observed])
def test_memory_is_flat(call: Callable[[int], None]) -> None:
    """Memory stays flat between call 50 and call 500."""
    for number in range(10):
        call(number)
    tracemalloc.start()
    held = []
    for number in range(500):
        call(number)
        if number + 1 in (50, 500):
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[1] - held[0] < 200_000, held


def test_a_span_that_never_ends_keeps_no_recording() -> None:
    """A stream that nobody reads to its end sends no event, but its recording is released."""
    with recording() as recorder:
        get_dispatcher().span_enter("endless", inspect.signature(len).bind("x"))
    kept = weakref.ref(recorder)
    del recorder
    gc.collect()
    assert kept() is None


def test_a_closed_recorder_takes_no_further_steps() -> None:
    """A context that keeps a closed recorder adds no prompts, retrievals or reports to it."""
    query, nodes = QueryBundle("q"), [NodeWithScore(node=TextNode(id_="d", text="text"))]
    with recording() as outer:
        with recording() as recorder:
            inside = contextvars.copy_context()
            record([{"id": "d"}])
            dispatcher = get_dispatcher()
            arguments = inspect.signature(len).bind("x")
            dispatcher.span_enter("late", arguments)
        dispatcher.span_exit("late", arguments, result="an answer")
        for call in (
            lambda: dispatcher.event(
                LLMCompletionStartEvent(prompt="p", model_dict={}, additional_kwargs={})
            ),
            lambda: dispatcher.event(RetrievalEndEvent(str_or_query_bundle=query, nodes=nodes)),
            lambda: record([{"id": "e"}]),
            lambda: Long().retrieve("q"),
        ):
            inside.run(call)
        assert len(outer.steps) == 6
    assert len(recorder.steps) == len(recorder.log.steps) == 2
    assert [(step.id, bool(step.texts)) for step in recorder.steps[1:]] == [("late", False)]
