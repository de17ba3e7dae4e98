"""Every entry point of the adapter ("door"), and the verdict on its recall of an application.

The public names are those of `fullrecall`, `fullrecall.measures`, `fullrecall.read` and
`langchain_fullrecall`.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from contextvars import copy_context
from functools import cache, lru_cache
from importlib.util import find_spec
from io import StringIO
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar
from uuid import UUID, uuid5

import langsmith
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda
from langsmith._internal._serde import dumps_json
from langsmith.schemas import Example, Run

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Measure
from fullrecall.read import from_spans
from langchain_apps.application import APPLICATIONS, Application, Values
from langchain_fullrecall import (
    RecallStringEvaluator,
    capture_retrievals,
    observed,
    offline_client,
    report_of,
)

_T = TypeVar("_T")

Verdict: TypeAlias = Literal["right", "wrong", "unscored", "needless", "by design"]
"""How a door's answer is judged.

Numbers are right or wrong; no number is "unscored" for a good reason, or "needless". "by design"
are the numbers that docs/langchain.md states for a case which the record cannot decide.
"""


class Answer(NamedTuple):
    """The answer of a door: each measure's value, or None, and the reason."""

    values: Mapping[Measure | str, float | None]
    reason: str
    raised: str = ""


def doors_of(application: Application) -> Iterator[str]:
    """Yield the names of the doors through which an application can be asked."""
    if application.kind != "experiment":
        for name, door in DOORS.items():
            if door.takes(application) and name not in application.skips:
                yield name
    yield from application.own_doors


@cache
def answer_of(name: str, door: str) -> Answer:
    """Return the answer of a door about the application of this name."""
    application = APPLICATIONS[name]
    try:
        if door in application.own_doors:
            return Answer(application.own_doors[door](), "")
        return DOORS[door].ask(application)
    except Exception as error:  # noqa: BLE001 - a door that raises gives no number
        return Answer({}, "", f"{type(error).__name__}: {error}")


_AT_ONCE = "the trace does not tell whether"
"""The reason where one of two searches in threads began and ended within the other one's time."""


def right_of(application: Application, door: str) -> Values:
    """Return the right values of an application's measures by this door."""
    one_list = {"view retrieved": application.retrieved, "view read": application.read}
    if door in one_list:
        value = one_list[door]
        return {} if value is None else {_RECALL: value}
    return application.right


def verdict_of(name: str, door: str) -> Verdict:
    """Return the verdict on a door's answer, by the numbers that the application states."""
    application, answer = APPLICATIONS[name], answer_of(name, door)
    right = right_of(application, door)
    values = {measure: answer.values.get(measure) for measure in right}
    has_number = any(value is not None for value in answer.values.values())
    stated = application.designed.get(door)
    if right and _equal(values, right):
        return "right"
    if stated is not None and _as_stated(answer, stated.values, has_number=has_number):
        return "by design"
    if has_number:
        return "wrong"
    excused = application.unscorable is not None or _AT_ONCE in answer.reason
    return "unscored" if excused and answer.reason and not answer.raised else "needless"


def _equal(values: Mapping[Measure | str, float | None], right: Values) -> bool:
    return all(
        value is not None and abs(value - right[each]) < 1e-9 for each, value in values.items()
    )


def _as_stated(answer: Answer, values: Values | None, *, has_number: bool) -> bool:
    if values is None:
        return bool(answer.reason) and not answer.raised and not has_number
    return _equal({measure: answer.values.get(measure) for measure in values}, values)


def table() -> str:
    """Return the table of verdicts by door."""
    counts: dict[str, Counter[Verdict]] = {}
    for name, application in APPLICATIONS.items():
        for door in doors_of(application):
            counts.setdefault(door, Counter())[verdict_of(name, door)] += 1
    columns: list[Verdict] = ["right", "wrong", "unscored", "by design", "needless"]
    total: Counter[Verdict] = sum(counts.values(), Counter())
    lines = ["door".ljust(24) + "".join(column.rjust(11) for column in columns)]
    for door, counted in [*counts.items(), ("all", total)]:
        lines.append(door.ljust(24) + "".join(str(counted[each]).rjust(11) for each in columns))
    return "\n".join(lines)


@cache
def _runner() -> asyncio.Runner:
    """Return one event loop for all doors that await, since a loop costs as much as an answer."""
    return asyncio.Runner()


def _run(awaited: Coroutine[Any, Any, _T]) -> _T:
    return _runner().run(awaited, context=copy_context())


# From results to answers

_RECALL = IdRecall().method.headline


def _of_result(application: Application, result: Any) -> Answer:
    return Answer({each: result[each] for each in application.measures}, result.reason)


def _of_row(application: Application, row: Any) -> Answer:
    return _of_result(application, row.results[0])


def _scored(application: Application, sample: Sample) -> Answer:
    return _of_result(application, IdRecall().score(sample))


def _of_strings(application: Application, outcome: Mapping[str, Any]) -> Answer:
    values = dict(zip(application.measures, outcome["scores"].values(), strict=True))
    return Answer(values, outcome["reasoning"])


def _of_feedback(application: Application, feedback: list[Any]) -> Answer:
    scores = [each.score for each in feedback]
    return Answer(dict(zip(application.measures, scores, strict=True)), feedback[0].comment)


def _evaluator(application: Application) -> RecallStringEvaluator:
    return RecallStringEvaluator(IdRecall(), *application.measures, **application.options)


def _sample(application: Application) -> Sample:
    return Sample(
        user_input=application.question, reference_context_ids=tuple(application.references)
    )


def _text_of(output: Any) -> str:
    """Return the answer's text in an output, as a user's target returns it, without documents."""
    if isinstance(output, BaseMessage):
        return output.text
    if isinstance(output, dict) and output.get("messages"):
        return _text_of(output["messages"][-1])
    if isinstance(output, dict):
        named = (output.get(key) for key in ("answer", "result", "output", "output_text"))
        return next((_text_of(each) for each in named if each is not None), "done")
    return output if isinstance(output, str) else f"done: {type(output).__name__}"


_KEPT = 4
"""Runs that are kept: the doors of one application, which follow each other, share them."""

# Doors that observe


def _retriever(application: Application, thing: Any) -> Any:
    options: dict[str, Any] = {"config": application.config or None}
    return observed(thing, **{**options, **application.options, **application.observing})


@lru_cache(maxsize=_KEPT)
def _observed_row(name: str) -> Any:
    """Return the row of a report of an application that was observed."""
    application = APPLICATIONS[name]
    retriever = _retriever(application, application.build())
    report = evaluate([_sample(application)], IdRecall(), retriever=retriever, progress=False)
    return report[0]


def _observed(application: Application) -> Answer:
    return _of_row(application, _observed_row(application.name))


def _observed_async(application: Application) -> Answer:
    retriever = _retriever(application, application.build())
    record = _run(retriever.aretrieve(_sample(application)))
    return _scored(application, _sample(application).with_retrieval(record))


def _observed_function(application: Application) -> Answer:
    """Observe a function that asks the application, and returns the text of its answer."""
    thing = application.build()
    retriever = observed(lambda _: _text_of(application.ask(thing)), **application.options)
    record = retriever.retrieve(_sample(application))
    return _scored(application, _sample(application).with_retrieval(record))


def _view_retrieved(application: Application) -> Answer:
    sample = _observed_row(application.name).sample
    result = IdRecall().score(sample.in_view("retrieved"))
    return Answer({_RECALL: result[_RECALL]}, result.reason)


def _view_read(application: Application) -> Answer:
    sample = _observed_row(application.name).sample
    result = IdRecall().score(sample.in_view("read"))
    return Answer({_RECALL: result[_RECALL]}, result.reason)


# Doors around a block


def _captured(application: Application) -> Answer:
    thing = application.build()
    with capture_retrievals(**application.options) as seen:
        application.ask(thing)
    return _scored(application, seen.sample(_sample(application)))


def _captured_async(application: Application) -> Answer:
    async def asked() -> Sample:
        thing = application.build()
        with capture_retrievals(**application.options) as seen:
            await application.aask(thing)
        return seen.sample(_sample(application))

    return _scored(application, _run(asked()))


def _captured_stream(application: Application) -> Answer:
    thing = application.build()
    with capture_retrievals(**application.options) as seen:
        for _ in thing.stream(application.as_input(application.question), application.config):
            pass
    return _scored(application, seen.sample(_sample(application)))


def _captured_events(application: Application) -> Answer:
    async def asked() -> Sample:
        thing = application.build()
        inputs = application.as_input(application.question)
        with capture_retrievals(**application.options) as seen:
            async for _ in thing.astream_events(inputs, application.config, version="v2"):
                pass
        return seen.sample(_sample(application))

    return _scored(application, _run(asked()))


def _captured_batch(application: Application) -> Answer:
    """Capture a batch of two questions; the second is the sample's."""
    thing = application.build()
    questions = ["Is there coffee on board?", application.question]
    with capture_retrievals(**application.options) as seen:
        thing.batch([application.as_input(each) for each in questions])
    return _scored(application, seen.sample(_sample(application)))


# Doors that see an output alone


@lru_cache(maxsize=_KEPT)
def _output(name: str) -> Any:
    application = APPLICATIONS[name]
    return application.ask(application.build())


def _strings(application: Application) -> Answer:
    outcome = _evaluator(application).evaluate_strings(
        prediction=_output(application.name),
        reference=application.references,
        input=application.question,
    )
    return _of_strings(application, outcome)


def _function(application: Application) -> Answer:
    output = _output(application.name)
    scores: Any = _evaluator(application)(
        inputs={"question": application.question},
        outputs=output if isinstance(output, dict) else {"output": output},
        reference_outputs={"reference_context_ids": application.references},
    )
    scores = scores if isinstance(scores, list) else [scores]
    values = dict(zip(application.measures, (each["score"] for each in scores), strict=True))
    return Answer(values, scores[0]["comment"])


# Doors of LangSmith


class _Experiment(NamedTuple):
    """An experiment of one run."""

    results: Any
    run: Run
    example: Example
    feedback: list[Any]


_EXAMPLES = UUID("5b0f9d4e-54f1-4c8e-9a53-6d5f1f3f7b10")


def _example(application: Application) -> Example:
    return Example(
        id=uuid5(_EXAMPLES, application.name),
        inputs={"question": application.question},
        outputs={"reference_context_ids": application.references},
    )


def _experiment_of(results: list[Any]) -> _Experiment:
    (row,) = results
    return _Experiment(results, row["run"], row["example"], row["evaluation_results"]["results"])


@lru_cache(maxsize=_KEPT)
def _experiment(name: str, target: Literal["answer", "output", "stream"]) -> _Experiment:
    """Return an experiment whose target returns the answer's text, or the whole output."""
    application = APPLICATIONS[name]
    thing = application.build()

    def answering(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": _text_of(application.ask(thing, inputs["question"]))}

    def returning(inputs: dict[str, Any]) -> Any:
        return application.ask(thing, inputs["question"])

    def streaming(inputs: dict[str, Any]) -> dict[str, Any]:
        parts = thing.stream(application.as_input(inputs["question"]), application.config)
        return {"answer": f"{len(list(parts))} parts"}

    targets = {"answer": answering, "output": returning, "stream": streaming}
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        results = langsmith.evaluate(
            targets[target],
            data=[_example(application)],
            evaluators=[_evaluator(application)],
            client=_client(),
            upload_results=False,
            max_concurrency=0,
        )
        return _experiment_of(list(results))


@cache
def _client() -> langsmith.Client:
    return offline_client()


def _langsmith(application: Application) -> Answer:
    return _of_feedback(application, _experiment(application.name, "answer").feedback)


def _langsmith_output(application: Application) -> Answer:
    return _of_feedback(application, _experiment(application.name, "output").feedback)


def _langsmith_stream(application: Application) -> Answer:
    return _of_feedback(application, _experiment(application.name, "stream").feedback)


def _langsmith_async(application: Application) -> Answer:
    thing = application.build()

    async def answering(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": _text_of(await application.aask(thing))}

    async def evaluated() -> _Experiment:
        results = await langsmith.aevaluate(
            answering,
            data=[_example(application)],
            evaluators=[_evaluator(application)],
            client=_client(),
            upload_results=False,
            max_concurrency=0,
        )
        return _experiment_of([row async for row in results])

    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return _of_feedback(application, _run(evaluated()).feedback)


def _report(application: Application) -> Answer:
    return _of_row(application, report_of(_experiment(application.name, "answer").results)[0])


def _stored_run(application: Application, target: Literal["answer", "output"]) -> Answer:
    experiment = _experiment(application.name, target)
    pair = (reloaded(experiment.run), experiment.example)
    return _of_row(application, report_of([pair], _evaluator(application))[0])


def _stored(application: Application) -> Answer:
    return _stored_run(application, "answer")


def _stored_output(application: Application) -> Answer:
    return _stored_run(application, "output")


_STORED = (
    "name",
    "run_type",
    "inputs",
    "outputs",
    "error",
    "extra",
    "tags",
    "dotted_order",
    "start_time",
    "end_time",
)


def reloaded(run: Any) -> Run:
    """Return a run as LangSmith returns it later: made of JSON, under an ID of another process."""
    fields = json.loads(dumps_json({name: getattr(run, name, None) for name in _STORED}))
    own_id = uuid5(_EXAMPLES, str(run.id))
    children = [reloaded(child) for child in run.child_runs or ()]
    return Run(**fields, id=own_id, trace_id=own_id, child_runs=children)


# Spans


def _spans(application: Application) -> Answer:
    """Read the spans of OpenInference's instrumentor, as a trace file has them."""
    from openinference.instrumentation.langchain import LangChainInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    thing, exporter, provider = application.build(), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        whole = RunnableLambda(lambda question: _text_of(application.ask(thing, question)))
        whole.invoke(application.question)
    finally:
        instrumentor.uninstrument()
        provider.shutdown()
    sample = next(from_spans(exporter.get_finished_spans(), **application.options))
    fields = {**sample.to_dict(), "reference_context_ids": application.references}
    return _scored(application, Sample(**fields))


def forget() -> None:
    """Drop all answers, their evaluators and experiments, and the event loop."""
    _runner().close()
    for kept in (answer_of, _runner, _observed_row, _output, _experiment, _client):
        kept.cache_clear()


# Which door takes which application


class Door(NamedTuple):
    """A door: a way to ask an application, and the condition for applications that it takes."""

    ask: Callable[[Application], Answer]
    takes: Callable[[Application], bool]


def _any(application: Application) -> bool:
    return True


def _holds_documents(application: Application) -> bool:
    return application.output != "text"


def _can_be_awaited(application: Application) -> bool:
    return application.kind == "runnable" or application.is_awaited


def _hides_documents(application: Application) -> bool:
    """Return whether a function of the answer shows less than the application itself."""
    return application.kind == "runnable" or _holds_documents(application)


def _streams(application: Application) -> bool:
    return application.kind == "runnable" and application.streams


def _batches(application: Application) -> bool:
    return application.batches


def _has_retrieved(application: Application) -> bool:
    return application.retrieved is not None


def _has_prompt(application: Application) -> bool:
    return application.read is not None


def _can_be_spans(application: Application) -> bool:
    """Return whether spans have these options too, and the instrumentor is installed."""
    known = application.options.keys() <= {"id_key", "failed_calls", "tool_documents"}
    return known and _has_instrumentor()


@cache
def _has_instrumentor() -> bool:
    try:
        return find_spec("openinference.instrumentation.langchain") is not None
    except ModuleNotFoundError:  # The package that would contain the instrumentor is missing.
        return False


DOORS: dict[str, Door] = {
    "observed": Door(_observed, _any),
    "observed async": Door(_observed_async, _can_be_awaited),
    "observed function": Door(_observed_function, _hides_documents),
    "captured": Door(_captured, _any),
    "captured async": Door(_captured_async, _can_be_awaited),
    "captured stream": Door(_captured_stream, _streams),
    "captured events": Door(_captured_events, _streams),
    "captured batch": Door(_captured_batch, _batches),
    "strings": Door(_strings, _holds_documents),
    "function": Door(_function, _holds_documents),
    "langsmith": Door(_langsmith, _any),
    "langsmith output": Door(_langsmith_output, _holds_documents),
    "langsmith stream": Door(_langsmith_stream, _streams),
    "langsmith async": Door(_langsmith_async, _can_be_awaited),
    "report": Door(_report, _any),
    "stored": Door(_stored, _any),
    "stored output": Door(_stored_output, _holds_documents),
    "spans": Door(_spans, _can_be_spans),
    "view retrieved": Door(_view_retrieved, _has_retrieved),
    "view read": Door(_view_read, _has_prompt),
}
"""Every door by its name."""
