"""Random programs of LangChain and LlamaIndex, read from the spans of real instrumentors.

The true list is independent of the readers: the documents in the model's prompt, or those returned.
`FULLRECALL_RUNS` sets the number of programs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import random_parts as llama_index_parts
import random_programs as llama_index
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fullrecall import Retrieval, Sample, read
from fullrecall.observe import RetrievalProcessor
from fullrecall.observe.span import of_sdk
from fullrecall.run.retrievers import as_retriever

pytestmark = [
    pytest.mark.frameworks,
    # An instrumentor swallows its own exceptions: a warning as an error would lose its spans.
    pytest.mark.filterwarnings("ignore"),
]

PROGRAMS = int(os.environ.get("FULLRECALL_RUNS", "12"))
_TESTS = Path(__file__).parents[2] / "integrations" / "langchain" / "tests"


def _langchain_programs() -> Any:
    spec = spec_from_file_location("langchain_programs", _TESTS / "test_fuzz.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # The reader of programs needs its annotations.
    spec.loader.exec_module(module)
    return module


langchain = _langchain_programs()


class Traced:
    """The records of a program's spans, live and exported, and the truth; None if a step failed."""

    def __init__(self, live: Retrieval, exported: list[Sample], truth: set[str] | None) -> None:
        self.live = live
        self.exported = exported
        self.truth = truth


class Tracing:
    """A process whose frameworks are instrumented."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        self.processor = RetrievalProcessor()
        limits = SpanLimits(max_span_attributes=10_000)  # Phoenix's own provider has this setting.
        self.provider = TracerProvider(span_limits=limits)
        self.provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.provider.add_span_processor(self.processor)

    def langchain(self, seed: int) -> Traced:
        """Run a program of LangChain."""
        program = langchain.Random(seed)
        runnable = program.program()
        outputs: list[Any] = []

        def call(question: str) -> Any:
            outputs.append(runnable.invoke(langchain.shapes.as_input(runnable, question)))
            return outputs[-1]

        live = self._live(call)
        raised = not outputs
        truth = None if program.failed or raised else langchain.truth(program, outputs[-1])
        return Traced(live, self._exported(), truth)

    def llama_index(self, seed: int) -> Traced:
        """Run a LlamaIndex program that waits for no human, since such steps have no spans."""
        program = llama_index.Program(seed)
        while program.kind in (program.waiting, program.approved):
            seed += 10_000
            program = llama_index.Program(seed)

        def call(question: str) -> Any:
            return ask(program.thing, question)

        live = self._live(call)
        # A function has no span, and a workflow's span has only the number of its nodes.
        is_shown = program.kind != program.function and (
            bool(program.llm.prompts) or program.kind != program.workflow
        )
        exported = self._exported() if is_shown else []
        return Traced(live, exported, None if program.fails else program.truth)

    def _live(self, call: Callable[[str], Any]) -> Retrieval:
        self.spans.clear()
        return as_retriever(self.processor.observed(call)).retrieve(Sample(user_input="q"))

    def _exported(self) -> list[Sample]:
        return list(read.from_spans(self.spans.get_finished_spans()))


def ask(thing: Any, question: str) -> Any:
    """Ask an engine, a retriever, an agent, a workflow or a function."""
    for method in ("query", "retrieve", "chat"):
        if hasattr(thing, method):
            return getattr(thing, method)(question)
    if not hasattr(thing, "run"):
        return thing(question)
    is_agent = hasattr(thing, "tools") or hasattr(thing, "agents")
    name = "user_msg" if is_agent else "query"

    async def run() -> Any:
        return await thing.run(**{name: question})

    loop = asyncio.new_event_loop()  # `asyncio.run` would remove the current event loop.
    try:
        return loop.run_until_complete(run())
    finally:
        loop.close()


@pytest.fixture(scope="module")
def tracing() -> Iterator[Tracing]:
    """Instrument both frameworks while this module runs."""
    made = Tracing()
    instrumentors = (LangChainInstrumentor(), LlamaIndexInstrumentor())
    for instrumentor in instrumentors:
        instrumentor.instrument(tracer_provider=made.provider)
    logging.disable(logging.CRITICAL)  # These spans fail on purpose.
    loop = asyncio.new_event_loop()  # LlamaIndex would make one, and leave it open
    asyncio.set_event_loop(loop)
    yield made
    asyncio.set_event_loop(None)
    loop.close()
    logging.disable(logging.NOTSET)
    for instrumentor in instrumentors:
        instrumentor.uninstrument()
    made.provider.shutdown()


MARKERS = {"langchain": re.compile(r"marker-([a-p])\b"), "llama_index": llama_index_parts._MARKER}


def outcome(retrieval: Retrieval, truth: set[str] | None, marker: re.Pattern[str]) -> str:
    """Return whether a record is right, wrong, or unscored and why."""
    if retrieval.error is not None or retrieval.contexts is None:
        return f"unscored: {retrieval.error}" if truth is not None else "rightly unscored"
    said = {
        own
        for each in retrieval.contexts
        for own in marker.findall(each.text or f"<{each.id}> marker-{each.id}")
    }
    return "right" if said == truth else f"wrong: {sorted(said)} for {sorted(truth or ())}"


def outcomes(tracing: Tracing, framework: str, seed: int) -> Iterator[str]:
    """Yield the outcome of a program live, and that of its spans if they are one trace."""
    traced = getattr(tracing, framework)(seed)
    yield f"live {outcome(traced.live, traced.truth, MARKERS[framework])}"
    if len(traced.exported) == 1:
        retrieval = traced.exported[0].retrieval or Retrieval(error="no retrieval")
        said = outcome(retrieval, traced.truth, MARKERS[framework])
        # Spans do not show how a function changes their output; only the live reader knows.
        yield f"exported {said}"


@pytest.mark.parametrize("framework", MARKERS)
def test_no_number_is_wrong(framework: str, tracing: Tracing) -> None:
    """No record has a wrong number, and most programs are scored."""
    counts: Counter[str] = Counter()
    wrong = []
    # 88: a node passes a cut list to an outer graph, and its span has the list in an exception
    # only.
    #
    # 9044: an agent returns the outputs of its tools, one as nodes and one as a text.
    for seed in {*range(PROGRAMS), 88, 9044}:
        for said in outcomes(tracing, framework, seed):
            path, result, *_ = said.replace(":", "").split()
            counts[f"{path} {result}"] += 1
            if result == "wrong":
                wrong.append((seed, said))
    assert not wrong
    assert counts["live unscored"] <= PROGRAMS / 2, counts


RENAMED = (
    "openinference.span.kind", "input.value", "output.value", "retrieval.documents", "document.id",
    "document.content", "llm.input_messages", "message.content", "llm.prompts",
)  # fmt: skip


@pytest.mark.parametrize("name", RENAMED)
@pytest.mark.parametrize("framework", MARKERS)
def test_another_name_of_an_attribute_is_never_wrong(
    framework: str, name: str, tracing: Tracing
) -> None:
    """A renamed attribute, in one span or in all, never gives a wrong number."""
    # 53: no span has the documents' texts, so a model's prompt cannot be matched with them.
    #
    # 9: a node waits for a human, and its exception was read as an output with a known name.
    for seed in {*range(max(6, PROGRAMS // 5)), 9, 53}:
        traced = getattr(tracing, framework)(seed)
        if len(traced.exported) != 1:
            continue
        spans = [of_sdk(span) for span in tracing.spans.get_finished_spans()]
        renamed = [
            replace(
                span,
                name="a step",
                attributes={key.replace(name, "new"): v for key, v in span.attributes.items()},
            )
            for span in spans
        ]
        (sample,) = read.from_spans(renamed)
        found = sample.retrieval or Retrieval(error="no retrieval")
        said = outcome(found, traced.truth, MARKERS[framework])
        assert not said.startswith("wrong"), (seed, said)
