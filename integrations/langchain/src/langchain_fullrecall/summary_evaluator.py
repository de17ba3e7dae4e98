"""The mean over a whole experiment, as a LangSmith summary evaluator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING
from uuid import UUID

from langsmith.evaluation.evaluator import EvaluationResult, EvaluationResults

from fullrecall import Method, Report, Sample
from fullrecall.report.row import Row
from langchain_fullrecall.feedback import seen_as
from langchain_fullrecall.ids import IdLevelWarning, IdWatch
from langchain_fullrecall.measurement import Measured

if TYPE_CHECKING:
    from langsmith.schemas import Example, Run

    from fullrecall.report.summary import ScoreSummary


class RecallSummary:
    """Gives the mean of an evaluator's scores over an experiment, with what it stands on.

    It is an evaluator's `summary`, and goes to `evaluate(…, summary_evaluators=[…])`, or to the
    `batch_evaluators` of a `RunEvalConfig`. LangSmith hands a summary evaluator the runs but not
    their scores: this one remembers what its evaluator measured for each run, so that no run is
    judged twice. A run that it has not seen it has measured then and there.

    The key is the score's with ".mean" behind it. The mean is over the runs that have a score;
    how many have none, and why, is in the comment and in `evaluator_info`. Where no reference ID
    was seen in the whole experiment the comment says so, and an `IdLevelWarning` is given.
    """

    def __init__(
        self, measured: Callable[[Run, Example | None], Measured], views: Sequence[Method]
    ) -> None:
        self._measured = measured
        self._views = views
        self._known: dict[UUID, Measured] = {}
        self._lock = Lock()
        self.__name__ = f"{views[0].label}.mean"  # LangSmith names the trace after it

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._views[0].label!r})"

    def remember(self, run_id: UUID, measured: Measured) -> None:
        """Keep what was measured for a run."""
        with self._lock:
            self._known[run_id] = measured

    def __call__(
        self, runs: Sequence[Run], examples: Sequence[Example]
    ) -> EvaluationResult | EvaluationResults:
        """Return the mean over these runs; several where the evaluator gives several scores."""
        measured = [self._of(run, example) for run, example in zip(runs, examples, strict=True)]
        problem = IdWatch(one.ids for one in measured if one.ids is not None).problem()
        if problem is not None:
            warnings.warn(problem, IdLevelWarning, stacklevel=2)
        report = Report(self._views, keep_rows=False)
        for position, one in enumerate(measured, start=1):
            results = tuple(seen_as(one.result, view) for view in self._views)
            report.add(Row(position, Sample(), results))
        means = [_feedback(summary, measured, problem) for summary in report.summary()]
        return means[0] if len(means) == 1 else EvaluationResults(results=means)

    def _of(self, run: Run, example: Example | None) -> Measured:
        with self._lock:
            known = self._known.get(run.id)
        if known is None:
            known = self._measured(run, example)
            self.remember(run.id, known)
        return known


def _feedback(
    summary: ScoreSummary, measured: Sequence[Measured], problem: str | None
) -> EvaluationResult:
    seen = [one.ids for one in measured if one.ids is not None]
    coverage = {
        "runs": len(measured),
        "scored": summary.scored,
        "undefined": summary.undefined,
        "unscored": summary.unscored,
        "reasons": dict(summary.reasons),
    }
    if seen:
        coverage["without_id"] = sum(one.without_id for one in seen)
    parts = [f"mean of {summary.scored} of {len(measured)} runs"]
    if summary.undefined:
        parts.append(f"{summary.undefined} undefined, without reference items")
    if summary.unscored:
        reasons = ", ".join(f"{reason} ({n})" for reason, n in summary.reasons.items())
        parts.append(f"{summary.unscored} unscored: {reasons}")
    if coverage.get("without_id"):
        total = sum(one.retrieved for one in seen)
        parts.append(f"{coverage['without_id']} of {total} documents have no ID")
    if problem is not None:
        parts.append(problem)
    return EvaluationResult(
        key=f"{summary.method.label}.mean",
        score=summary.mean,
        comment="; ".join(parts),
        evaluator_info={"fullrecall": {"method": summary.method.to_dict(), **coverage}},
    )
