"""A LangSmith experiment as a report: for `compare`, `Gate`, `diagnose` and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fullrecall import Report, Sample
from fullrecall.errors import InputError, ReportError
from fullrecall.report import Row
from langchain_fullrecall.evaluator import RecallStringEvaluator
from langchain_fullrecall.feedback import measured_in
from langchain_fullrecall.measurement import Measured

if TYPE_CHECKING:
    from langsmith import Client
    from langsmith.schemas import Example, Run


class _EvaluatedRun(NamedTuple):
    """One run of an experiment, with its example and the `evaluator_info` of each of its scores."""

    run: Run
    example: Example | None = None
    infos: Sequence[Any] = ()


def report_of(
    experiment: Any,
    *evaluators: RecallStringEvaluator,
    client: Client | None = None,
) -> Report:
    """Return an experiment's results as a report, one row for each run, in the examples' order.

        results = langsmith.evaluate(target, data=…, evaluators=[evaluator])
        Gate(Recall @ 5 >= 0.9).check(report_of(results))

    `experiment` is the return value of `langsmith.evaluate` or `await langsmith.aevaluate`; the
    name of an experiment in LangSmith; or runs, or pairs of a run and its example. A
    `RecallStringEvaluator` keeps its results beside its score, with verdicts, evidence and usage.
    These results are read from there, without judging again. Each of the `evaluators` measures
    the runs without a result of it. Rows have the example's ID, by which `compare` pairs them.

    Raises `ReportError` if a run lacks results that none of the `evaluators` measures; `InputError`
    for anything but an experiment.
    """
    # LangSmith returns runs in the order in which they ended. Sort them by their start, which
    # follows the order of the examples.
    evaluated_runs = sorted(
        _evaluated_runs(experiment, client), key=lambda evaluated: evaluated.run.dotted_order
    )
    scored = [_results(evaluated, evaluators) for evaluated in evaluated_runs]
    methods = list(dict.fromkeys(name for each in scored for name in each))
    if not methods:
        raise ReportError(
            "no run has results of a RecallStringEvaluator: pass one, "
            "report_of(experiment, RecallStringEvaluator(IdRecall()))"
        )
    rows = []
    for position, (evaluated, each) in enumerate(zip(evaluated_runs, scored, strict=True), start=1):
        missing = [name for name in methods if name not in each]
        if missing:
            raise ReportError(
                f"run {evaluated.run.id} has no result of {missing[0]}: pass the evaluator that "
                "gave the others"
            )
        run, example, sample = evaluated.run, evaluated.example, each[methods[0]].sample
        example_id = run.reference_example_id if example is None else example.id
        if sample.id is None and example_id is not None:
            sample = Sample(**{**sample.to_dict(), "id": str(example_id)})
        rows.append(Row(position, sample, tuple(each[name].result for name in methods)))
    return Report.of([scored[0][name].result.method for name in methods], rows)


def _results(
    evaluated: _EvaluatedRun, evaluators: Iterable[RecallStringEvaluator]
) -> dict[str, Measured]:
    """Return the results of one run, by the names of their scores.

    Results that LangSmith keeps are read; `evaluators` measure the missing ones.
    """
    noted = filter(None, map(measured_in, evaluated.infos))
    results = {measured.result.method.name: measured for measured in noted}
    for evaluator in evaluators:
        name = evaluator.method.name
        if name not in results:
            results[name] = evaluator.measure_run(evaluated.run, evaluated.example)
    return results


def _evaluated_runs(experiment: Any, client: Client | None) -> Iterable[_EvaluatedRun]:
    if isinstance(experiment, str):
        return _stored(experiment, client)
    if isinstance(experiment, AsyncIterator):
        experiment = _finished(experiment)
    if not isinstance(experiment, Iterable) or isinstance(experiment, (bytes, Mapping)):
        raise InputError(
            f"expected an experiment's results, its name, or runs, got {type(experiment).__name__}"
        )
    return (_evaluated_run(entry) for entry in experiment)


def _finished(results: AsyncIterator[Any]) -> Iterator[Any]:
    """Yield the rows of finished asynchronous results, without an event loop.

    Raises `InputError` if the experiment has not ended.
    """
    while True:
        waiting = cast("Coroutine[Any, Any, Any]", anext(results))
        try:
            waiting.send(None)
        except StopIteration as row:
            yield row.value
        except StopAsyncIteration:
            return
        else:
            waiting.close()
            raise InputError(
                "the experiment has not ended: pass report_of([row async for row in results])"
            )


def _evaluated_run(entry: Any) -> _EvaluatedRun:
    if isinstance(entry, Mapping) and "run" in entry:
        results = (entry.get("evaluation_results") or {}).get("results") or ()
        return _EvaluatedRun(
            entry["run"], entry.get("example"), [each.evaluator_info for each in results]
        )
    if isinstance(entry, tuple) and len(entry) == 2:  # noqa: PLR2004 - a pair
        return _EvaluatedRun(*entry)
    if hasattr(entry, "run_type"):
        return _EvaluatedRun(entry)
    raise InputError(f"expected a run, or a run with its example, got {type(entry).__name__}")


def _stored(name: str, client: Client | None) -> Iterable[_EvaluatedRun]:
    if client is None:
        from langsmith import Client

        client = Client()
    runs = [run for run in client.list_runs(project_name=name) if run.parent_run_id is not None]
    roots = list(client.list_runs(project_name=name, is_root=True))
    if not roots:
        raise InputError(f"experiment {name!r} has no runs")
    trees = {run.id: run for run in (*roots, *runs)}
    for run in trees.values():
        run.child_runs = []
    for run in runs:
        parent = trees.get(run.parent_run_id)
        if parent is not None and parent.child_runs is not None:
            parent.child_runs.append(run)
    ids = [run.reference_example_id for run in roots if run.reference_example_id is not None]
    examples = {each.id: each for each in client.list_examples(example_ids=ids)} if ids else {}
    infos: dict[Any, list[Any]] = {run.id: [] for run in roots}
    for note in client.list_feedback(run_ids=[run.id for run in roots]):
        source = note.feedback_source
        infos.setdefault(note.run_id, []).append(None if source is None else source.metadata)
    return [
        _EvaluatedRun(run, examples.get(run.reference_example_id), infos[run.id]) for run in roots
    ]
