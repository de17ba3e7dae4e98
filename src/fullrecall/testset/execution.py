"""Run flows by the engine of `evaluate`, with its store, budget, limits, progress and resume.

This is the only module of the package that uses the engine. A flow is a generator that asks models
and returns a value. A plan is a generator that yields batches of flows and receives the outcome of
each flow.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from fullrecall.errors import JudgeError, RunStopped
from fullrecall.judge.flow import run as run_flow
from fullrecall.judge.judge import Flow
from fullrecall.judge.models.chat import ChatModel
from fullrecall.judge.usage import Spent
from fullrecall.run.budget import Budget
from fullrecall.run.evaluate import EvaluateOptions, evaluated
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.stats.evaluation import Evaluation

T = TypeVar("T")
R = TypeVar("R")

_NOT_SENT = "the run's budget or deadline left nothing for it"


class FlowOutcome(NamedTuple, Generic[T]):
    """The value of a flow, or the reason why it has no value."""

    value: T | None
    problem: str = ""


Plan: TypeAlias = Generator[Sequence[Flow[T]], Sequence[FlowOutcome[T]], R]
"""The flows to run, batch by batch; a later batch may depend on an earlier one."""


def carried_out(
    plan: Plan[T, R], models: Sequence[ChatModel], options: EvaluateOptions
) -> tuple[R, Spent]:
    """Run a plan to its end; return its value, and the cost.

    A budget and a deadline hold for all batches together. If a model answers no request, each flow
    that needs it gets an outcome without a value, with the reason as its problem.
    """
    spent = Spent()
    try:
        batch = next(plan)
        while True:
            tasks = _Tasks(batch, tuple(models))
            samples = [Sample(id=number) for number in range(len(batch))]
            allowed, report = _left(options, spent), None
            if allowed is not None:
                try:
                    report = evaluated(samples, tasks, allowed, Evaluation)
                # The plan decides whether the finished part is enough.
                except RunStopped as stopped:
                    report = stopped.report
            if report is not None and report.spent is not None:
                spent = _sum(spent, report.spent)
            batch = plan.send(tasks.outcomes(report))
    except StopIteration as end:
        return end.value, spent


def _sum(first: Spent, second: Spent) -> Spent:
    costs = [spent.cost for spent in (first, second) if spent.cost is not None]
    counts = [part.name for part in fields(Spent) if part.name not in ("cost", "adjusted")]
    sums = {name: getattr(first, name) + getattr(second, name) for name in counts}
    both = Spent(**sums, cost=sum(costs) if costs else None)
    both.note((*first.adjusted, *second.adjusted))
    return both


@dataclass
class _Tasks:
    """Flows in the form of a scorer, which the engine can run; a sample's ID is a flow's number."""

    flows: Sequence[Flow[Any]]
    judges: tuple[ChatModel, ...] = ()
    method: Method = field(default_factory=lambda: Method("testset"))
    values: dict[int, Any] = field(default_factory=dict)

    def flow(self, sample: Sample) -> Flow[Result]:
        """Return the flow of a sample, and keep its value in `values`."""
        number, problem = int(sample.id or 0), ""
        try:
            self.values[number] = yield from self.flows[number]
        except JudgeError as error:
            problem = str(error)
        # The engine needs a result for each sample; the value is in `values`.
        return Result(self.method, Status.UNDEFINED, note=problem)

    def score(self, sample: Sample, /) -> Result:
        """Run the flow of one sample without the engine, and return its result."""
        return run_flow(self.flow(sample))[0]

    def outcomes(self, report: Evaluation | None) -> list[FlowOutcome[Any]]:
        """Return the outcome of each flow; its `problem` is the reason why it has no value."""
        reasons = [row.results[0].reason for row in report.rows] if report is not None else []
        reasons += [_NOT_SENT] * (len(self.flows) - len(reasons))
        return [
            FlowOutcome(self.values.get(number), "" if number in self.values else reason)
            for number, reason in enumerate(reasons)
        ]


def _left(options: EvaluateOptions, spent: Spent) -> EvaluateOptions | None:
    """Return the options for the next batch; None if the budget or the time is used up."""
    # Each batch is a separate run, which does not know the cost of earlier batches, so subtract it.
    deadline, budget = options.limits.deadline, options.limits.budget
    if deadline is not None:
        if deadline <= spent.seconds:
            return None
        deadline -= spent.seconds
    if isinstance(budget, Budget):
        calls = None if budget.calls is None else budget.calls - spent.calls
        tokens = None if budget.tokens is None else budget.tokens - spent.tokens
        cost = None if budget.cost is None else budget.cost - (spent.cost or 0.0)
        if any(bound is not None and bound <= 0 for bound in (calls, tokens, cost)):
            return None
        budget = replace(budget, calls=calls, tokens=tokens, cost=cost)
    limits = replace(options.limits, deadline=deadline, budget=budget)
    return replace(options, limits=limits)
