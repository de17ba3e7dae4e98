"""The span processor beside anything: threads, any order, spans that never end, forks, memory."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import Span, TracerProvider

from fullrecall import IdRecall, Sample
from fullrecall.errors import ParameterError
from fullrecall.run.retrievers import as_retriever
from fullrecall.traces import RetrievalProcessor

RUNS = int(os.environ.get("FULLRECALL_RUNS", "8"))


class Application:
    """Makes traces by hand, span by span."""

    def __init__(self, **options: Any) -> None:
        self.samples: list[Sample] = []
        self.processor = RetrievalProcessor(self.samples.append, **options)
        self.provider = TracerProvider()
        self.provider.add_span_processor(self.processor)
        self._tracer = self.provider.get_tracer("tests")

    def start(self, name: str, parent: Span | None = None, ids: tuple[str, ...] = ()) -> Any:
        """Start a span: a retriever that returns `ids`, or a chain."""
        context = None if parent is None else otel.set_span_in_context(parent)
        span = self._tracer.start_span(name, context or otel.set_span_in_context(otel.INVALID_SPAN))
        span.set_attribute("openinference.span.kind", "RETRIEVER" if ids else "CHAIN")
        # Each call has a query of its own: the same one asked again would make a failure good.
        span.set_attribute("input.value", " ".join([name, *ids]))
        for n, own in enumerate(ids):
            span.set_attribute(f"retrieval.documents.{n}.document.id", own)
        return span


def ids_of(sample: Sample) -> list[Any]:
    """Return the retrieved IDs in any order: no order of calls is a rank."""
    return sorted(sample.retrieved_context_ids or ())


def is_unscored(sample: Sample) -> bool:
    """Return whether what was recorded is no measurement."""
    asked = Sample(retrieval=sample.retrieval, reference_context_ids=["a"])
    return IdRecall().score(asked).status == "unscored"


@pytest.mark.parametrize("seed", range(RUNS))
def test_any_interleaving_gives_each_trace_once(seed: int) -> None:
    """Threads start, end, and end again the spans of many traces, in any order."""
    rng = random.Random(seed)
    app = Application()
    expected: dict[str, tuple[list[str], bool]] = {}
    work: list[Any] = []
    for number in range(12):
        root = app.start(f"q{number}")
        found: list[str] = []
        spans = [root]
        for call in range(rng.randint(0, 4)):
            ids = tuple(f"{number}.{call}.{n}" for n in range(rng.randint(1, 3)))
            spans.append(app.start("search", rng.choice([root, root, *spans[:1]]), ids))
            found += ids
        never = rng.random() < 0.2
        ends = [span for span in spans if not (never and span is spans[-1])]
        expected[f"q{number}"] = (sorted(found), never)
        work += ends + rng.sample(ends, k=rng.randint(0, len(ends)))  # some are ended twice
    again = [span for span in work if rng.random() < 0.2]
    rng.shuffle(work)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda span: span.end(), work))
        list(pool.map(app.processor.on_end, again))  # a provider that reports an end twice
    gc.collect()
    ended = {question for question, (_, never) in expected.items() if not never}
    assert Counter(sample.user_input for sample in app.samples) == dict.fromkeys(ended, 1)
    for sample in app.samples:
        assert ids_of(sample) == expected[str(sample.user_input)][0]
    app.provider.shutdown()
    assert Counter(sample.user_input for sample in app.samples) == dict.fromkeys(expected, 1)
    for sample in app.samples:
        if expected[str(sample.user_input)][1]:
            assert is_unscored(sample)


@pytest.mark.parametrize("seed", range(RUNS // 4))
def test_blocks_at_the_same_time_keep_apart(seed: int) -> None:
    """Each block has the spans that ran in it, whatever ends between, and no sample besides."""
    app = Application()

    def block(number: int) -> bool:
        rng = random.Random(f"{seed} {number}")
        with app.processor.capture() as seen:
            root = app.start(f"q{number}")
            spans = [app.start("search", root, (f"{number}.{n}",)) for n in range(3)]
            rng.shuffle(spans)
            for span in spans:
                span.end()
            root.end()
        return sorted(context.id for context in seen.retrieval().contexts or ()) == [
            f"{number}.{n}" for n in range(3)
        ]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(block, range(50)))
    assert app.samples == []


@pytest.mark.parametrize(
    "result",
    [["c", "a"], [("c", 0.9), ("a", 0.1)], {"answer": "x", "hits": [{"id": "c"}, {"id": "a"}]}],
)
def test_what_an_application_returns_counts_in_any_form(result: Any) -> None:
    """IDs and rows name documents that its spans have."""
    application = Application()

    def ask(question: str) -> Any:
        application.start("search", ids=("a", "b", "c")).end()
        return result

    found = as_retriever(application.processor.observed(ask)).retrieve(Sample(user_input="q"))
    assert found.error is None
    assert [context.id for context in found.contexts or ()] == ["c", "a"]


def test_traces_that_never_end_make_room() -> None:
    """No more than `max_open` traces are held, and no span of one that was handed out."""
    app = Application(max_open=10)
    roots = [app.start(f"q{n}") for n in range(100)]
    assert [sample.user_input for sample in app.samples] == [f"q{n}" for n in range(90)]
    held = [weakref.ref(root) for root in roots]
    del roots
    gc.collect()
    assert sum(each() is not None for each in held) <= 10


def test_a_trace_that_goes_on_for_ever_is_bounded() -> None:
    """A worker's root never ends: its spans are let go, `max_spans` of them at a time."""
    app = Application(max_spans=50)
    root = app.start("worker")
    for n in range(1000):
        app.start("search", root, (f"d{n}",)).end()
    assert len(app.samples) >= 19
    assert all(map(is_unscored, app.samples))
    (left,) = app.processor._traces.values()
    assert len(left.steps()) <= 50
    root.end()


@pytest.mark.parametrize("option", ["max_open", "max_spans"])
def test_a_bound_below_1_is_refused(option: str) -> None:
    """Nothing could be recorded."""
    with pytest.raises(ParameterError, match=f"{option} must be at least 1, got 0"):
        RetrievalProcessor(**{option: 0})  # type: ignore[arg-type]


def test_an_end_that_two_threads_report_counts_once() -> None:
    """A provider that reports an end twice, at the same time."""
    app = Application()
    switches = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for n in range(10 * RUNS):
            root = app.start(f"q{n}")
            child = app.start("search", root, (f"d{n}",))
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(app.processor.on_end, [child, child, root, root, child, root]))
    finally:
        sys.setswitchinterval(switches)
    assert [(sample.user_input, ids_of(sample)) for sample in app.samples] == [
        (f"q{n}", [f"d{n}"]) for n in range(10 * RUNS)
    ]


def test_what_on_sample_raises_loses_no_other_trace() -> None:
    """It is raised in the application; the processor goes on."""
    seen = []

    def receive(sample: Sample) -> None:
        seen.append(sample.user_input)
        if sample.user_input == "q1":
            raise RuntimeError("the queue is full")

    provider = TracerProvider()
    processor = RetrievalProcessor(receive)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("tests")
    for n in range(3):
        span = tracer.start_span(f"q{n}")
        span.set_attribute("input.value", f"q{n}")
        if n == 1:
            with pytest.raises(RuntimeError, match="the queue is full"):
                span.end()
        else:
            span.end()
    assert seen == ["q0", "q1", "q2"]


FORK = """
import os, sys, threading
from opentelemetry.sdk.trace import TracerProvider
from fullrecall.traces import RetrievalProcessor

samples = []
processor = RetrievalProcessor(samples.append)
provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(processor)
tracer = provider.get_tracer("tests")
parents = tracer.start_span("of the parent")
processor._lock.acquire()  # as a thread may hold it while another one forks
child = os.fork()
if child == 0:
    span = tracer.start_span("of the child")
    span.end()
    provider.shutdown()
    os._exit(0 if len(samples) == 1 else 1)
processor._lock.release()
_, status = os.waitpid(child, 0)
parents.end()
sys.exit(os.waitstatus_to_exitcode(status) or (0 if len(samples) == 1 else 2))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_forked_process_begins_anew() -> None:
    """A lock that was held does not stop the child, nor does it hand out its parent's traces."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_processor_that_nobody_has_is_let_go() -> None:
    """What is kept for forks keeps none alive."""
    app = Application()
    held = weakref.ref(app.processor)
    app.provider.shutdown()
    threads = threading.active_count()
    del app
    gc.collect()
    assert held() is None
    assert threading.active_count() <= threads
