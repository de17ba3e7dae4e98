"""Every entry point of the adapter ("door"), and the verdict on its recall of an application.

The public names are those of `fullrecall`, `fullrecall.measures` and
`llama_index.evaluation.fullrecall`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import cache
from math import isnan
from typing import Any, Literal, NamedTuple, TypeAlias

from llama_index.core.evaluation import BatchEvalRunner, RetrieverEvaluator

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Recall
from llama_apps.application import APPLICATIONS, Application
from llama_index.evaluation.fullrecall import (
    RecallEvaluator,
    RecallMetric,
    capture_retrievals,
    observed,
)

Verdict: TypeAlias = Literal["right", "wrong", "unscored", "needless", "by design"]
"""How a door's answer is judged.

A number is right or wrong; no number is "unscored" for a good reason, or "needless". "by design"
is the recall of the nodes that a block saw, where plain code goes on behind the last step that it
sees; and a comparison of IDs that the application renewed, which says that it was not recorded.
"""

NOT_RECORDED = "not recorded"
"""The note beside a number that was read from source nodes alone has these words."""


CAPTURE_HAS_IT = "pass the capture"
"""The reason for no number, where the response carries no record of its block, has these words."""


class Answer(NamedTuple):
    """The answer of a door: recall and recall at 1, or None and the reason; the note beside it."""

    recall: float | None
    first: float | None
    reason: str
    note: str = ""


def doors_of(application: Application) -> Iterator[str]:
    """Yield the names of the doors through which an application can be asked."""
    for name, door in DOORS.items():
        if door.takes(application) and name not in application.skips:
            yield name
    for stage in application.stages:
        yield f"{_STAGE}{stage}"


@cache
def answer_of(name: str, door: str) -> Answer:
    """Return the answer of one entry point about the application of this name."""
    application = APPLICATIONS[name]
    if door.startswith(_STAGE):
        return _at_stage(application, door.removeprefix(_STAGE))
    return DOORS[door].ask(application)


def verdict_of(name: str, door: str) -> Verdict:
    """Return the verdict on a door's answer, by the right one that the application states."""
    application, answer = APPLICATIONS[name], answer_of(name, door)
    if answer.recall is None:
        excused = application.unscorable or _is_hidden(application, door, answer)
        return "unscored" if answer.reason and excused else "needless"
    right = _right_answer(application, door)
    if (answer.recall, answer.first if right[1] is not None else None) == right:
        return "right"
    if _ends_in_code(application) and door in _BLOCKS and answer.recall == application.retrieved:
        return "by design"
    if application.renews and not _records(door) and NOT_RECORDED in answer.note:
        return "by design"
    return "wrong"


def _records(door: str) -> bool:
    return door not in DOORS or DOORS[door].records


def _is_hidden(application: Application, door: str, answer: Answer) -> bool:
    if _records(door):
        # The capture of the block has the number, so the reason should point to it.
        return door in application.hidden and CAPTURE_HAS_IT in answer.reason
    return application.renews or "plain" in application.hidden


def _right_answer(application: Application, door: str) -> tuple[float | None, float | None]:
    if door.startswith(_STAGE):
        return application.stages[door.removeprefix(_STAGE)], None
    if door.startswith(_RETRIEVED):
        return application.retrieved, None
    if door.startswith(_READ):
        return application.read, None
    return application.recall, application.first


# From results to answers


def _evaluator(application: Application, **options: Any) -> RecallEvaluator:
    return RecallEvaluator(IdRecall(), Recall, Recall @ 1, **application.options, **options)


def _from_evaluator(result: Any) -> Answer:
    recall, first = result.scores.values()
    return Answer(recall, first, result.invalid_reason or "", result.feedback or "")


def _from_result(result: Any) -> Answer:
    return Answer(result[Recall], result[Recall @ 1], result.reason, result.note)


def _from_report(report: Any) -> Answer:
    return _from_result(report[0].results[0])


def _evaluated(application: Application, response: Any, **options: Any) -> Answer:
    evaluator = _evaluator(application, score_stages=False, **options)
    result = evaluator.evaluate_response(
        application.question, response, expected_ids=application.references
    )
    return _from_evaluator(result)


def _sample(application: Application) -> Sample:
    return Sample(user_input=application.question, reference_context_ids=application.references)


# Doors that record


@cache
def _captured(name: str) -> tuple[Any, Any]:
    """Return the capture of a block, and the response that was made in it."""
    application = APPLICATIONS[name]
    thing = application.build()
    with capture_retrievals(**application.options) as capture:
        response = application.ask(thing)
    return capture, response


def _capture(application: Application) -> Answer:
    return _evaluated(application, _captured(application.name)[0])


def _block(application: Application) -> Answer:
    return _evaluated(application, _captured(application.name)[1])


def _record(application: Application) -> Answer:
    record = _captured(application.name)[0].retrieval()
    return _from_result(
        IdRecall().score(retrieval=record, reference_context_ids=application.references)
    )


def _saved(application: Application) -> Sample:
    """Return a sample that was saved with its retrieval, and read again."""
    record = _captured(application.name)[0].retrieval()
    return Sample(**{**_sample(application).to_dict(), "retrieval": record.to_dict()})


def _row(application: Application) -> Answer:
    return _from_result(IdRecall().score(_saved(application)))


def _retrieved_row(application: Application) -> Answer:
    return _from_result(IdRecall().score(_saved(application).in_view("retrieved")))


def _read_row(application: Application) -> Answer:
    return _from_result(IdRecall().score(_saved(application).in_view("read")))


def _read_capture(application: Application) -> Answer:
    return _evaluated(application, _captured(application.name)[0], view="read")


def _retrieved_capture(application: Application) -> Answer:
    return _evaluated(application, _captured(application.name)[0], view="retrieved")


def _block_async(application: Application) -> Answer:
    async def asked() -> Any:
        thing = application.build()
        with capture_retrievals(**application.options):
            response = await application.aask(thing)
        evaluator = _evaluator(application)
        return await evaluator.aevaluate_response(
            application.question, response, expected_ids=application.references
        )

    return _from_evaluator(asyncio.run(asked()))


@cache
def _report(name: str) -> Any:
    """Return the report of an evaluation that asks an application, which is observed."""
    application = APPLICATIONS[name]
    retriever = observed(application.build(), **application.options)
    sample = _sample(application)
    return evaluate([sample], IdRecall(), retriever=retriever, progress=False)


def _observed(application: Application) -> Answer:
    return _from_report(_report(application.name))


@cache
def _found(name: str) -> Any:
    """Return the record of an application that was observed and awaited."""
    application = APPLICATIONS[name]
    if not _can_be_called(application):
        return _report(name)[0].sample.retrieval
    retriever = observed(application.build(), **application.options)
    return asyncio.run(retriever.aretrieve(_sample(application)))


def _observed_async(application: Application) -> Answer:
    sample = _sample(application).with_retrieval(_found(application.name))
    return _from_result(IdRecall().score(sample))


def _retrieved_observed(application: Application) -> Answer:
    sample = _sample(application).with_retrieval(_found(application.name))
    return _from_result(IdRecall().score(sample.in_view("retrieved")))


def _at_stage(application: Application, stage: str) -> Answer:
    sample = _sample(application).with_retrieval(_found(application.name))
    return _from_result(IdRecall().score(sample.at_stage(stage)))


def _observed_call(application: Application, form: Callable[[Any], Any] = lambda it: it) -> Answer:
    """Observe a function that asks the application, and returns its answer."""
    thing, sample = application.build(), _sample(application)
    retriever = observed(lambda _: form(application.ask(thing)), **application.options)
    return _from_result(IdRecall().score(sample.with_retrieval(retriever.retrieve(sample))))


def _observed_text(application: Application) -> Answer:
    """Observe a function that asks the application, and returns the text of its answer."""
    return _observed_call(application, str)


def _batch(application: Application) -> Answer:
    with capture_retrievals(**application.options):
        return _batch_without_block(application)


# Doors that see source nodes only


def _function(application: Application) -> Answer:
    """Pass the function to an evaluation as it is."""
    retriever = application.build()
    report = evaluate([_sample(application)], IdRecall(), retriever=retriever, progress=False)
    return _from_report(report)


def _plain(application: Application) -> Answer:
    return _evaluated(application, application.ask(application.build()))


def _batch_without_block(application: Application) -> Answer:
    runner = BatchEvalRunner({"recall": _evaluator(application)}, workers=2)
    results = runner.evaluate_queries(
        application.build(),
        [application.question],
        recall={"expected_ids": [application.references]},
    )
    return _from_evaluator(results["recall"][0])


def _retriever_evaluator(application: Application) -> Answer:
    evaluator = RetrieverEvaluator(
        metrics=[RecallMetric(measure=Recall), RecallMetric(measure=Recall @ 1)],
        retriever=application.build(),
    )
    result = evaluator.evaluate(application.question, application.references)
    metric = result.metric_dict[Recall.name]
    recall, first = (each.score for each in result.metric_dict.values())
    reason = metric.metadata["reason"]
    return Answer(*(None if isnan(each) else each for each in (recall, first)), reason, reason)


# Which door takes which application


class Door(NamedTuple):
    """A door: a way to ask an application, and the condition for applications that it takes.

    `records` says whether it records the steps of an application; `is_final`, whether it scores the
    final list.
    """

    ask: Callable[[Application], Answer]
    takes: Callable[[Application], bool]
    records: bool = True
    is_final: bool = True


def _any(application: Application) -> bool:
    return True


def _carries_nodes(application: Application) -> bool:
    return application.returns in ("response", "agent output")


def _returns_sources(application: Application) -> bool:
    return application.returns != "text"


def _is_engine(application: Application) -> bool:
    return application.kind == "engine"


def _can_be_called(application: Application) -> bool:
    """Return whether there is a sync call; agents and workflows are always awaited."""
    return application.kind not in ("agent", "workflow")


def _is_called(application: Application) -> bool:
    return application.kind in ("retriever", "engine", "chat")


def _answers(application: Application) -> bool:
    return application.kind in ("engine", "chat")


def _is_retriever(application: Application) -> bool:
    """Return whether LlamaIndex's evaluator takes this retriever: node IDs without alternatives."""
    by_node_id = not application.options.keys() & {"id_key", "expand"}
    flat = all(isinstance(each, str) for each in application.references)
    return application.kind == "retriever" and by_node_id and flat


def _has_later_step(application: Application) -> bool:
    return application.retrieved is not None


def _ends_in_code(application: Application) -> bool:
    """Return whether code makes the last change of the nodes, and hands them to no step."""
    return application.kind == "function" and application.returns in ("nodes", "other")


def _returns_own_ids(application: Application) -> bool:
    """Return whether a function is evaluated as it is, by the IDs that it returns."""
    return _ends_in_code(application) and not application.renews


_BLOCKS = ("capture", "record", "row")


def _states_what_was_read(application: Application) -> bool:
    return application.read is not None


_STAGE = "stage "
_RETRIEVED = "retrieved"
_READ = "read"

DOORS: dict[str, Door] = {
    "capture": Door(_capture, _any),
    "record": Door(_record, _any),
    "row": Door(_row, _any),
    "block": Door(_block, _carries_nodes),
    "block async": Door(_block_async, _answers),
    "batch in a block": Door(_batch, _is_engine),
    "observed": Door(_observed, _any),
    "observed async": Door(_observed_async, _can_be_called),
    "observed call": Door(_observed_call, _is_called),
    "observed text": Door(_observed_text, _answers),
    "retrieved of a row": Door(_retrieved_row, _has_later_step, is_final=False),
    "retrieved of a capture": Door(_retrieved_capture, _has_later_step, is_final=False),
    "retrieved observed": Door(_retrieved_observed, _has_later_step, is_final=False),
    "read of a row": Door(_read_row, _states_what_was_read, is_final=False),
    "read of a capture": Door(_read_capture, _states_what_was_read, is_final=False),
    "function": Door(_function, _returns_own_ids, records=False),
    "plain": Door(_plain, _returns_sources, records=False),
    "batch without a block": Door(_batch_without_block, _is_engine, records=False),
    "RetrieverEvaluator": Door(_retriever_evaluator, _is_retriever, records=False),
}
"""Every door by its name; beside these, each stage that an application names is one."""
