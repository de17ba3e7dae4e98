"""The mean over a whole experiment, as a LangSmith summary evaluator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from langsmith.evaluation.evaluator import EvaluationResult, EvaluationResults

from fullrecall import Report, Sample
from fullrecall.files.reports.records import plain_method
from fullrecall.measures import Measure
from fullrecall.report import Row
from langchain_fullrecall.measurement import Measured

if TYPE_CHECKING:
    from langsmith.schemas import Example, Run

    from fullrecall.report import ScoreSummary


class RecallSummary:
    """The mean of an evaluator's scores over an experiment, with the counts of its runs.

    It is the `summary` of an evaluator. Pass it to `evaluate(…, summary_evaluators=[…])`. LangSmith
    passes the runs to a summary evaluator without their scores. So this object remembers the
    evaluator's result for each run, and no run is judged twice. Runs that the evaluator has not
    measured are measured here.

    The key is the score's, followed by ".mean". The mean is over the runs with a score; the
    comment and `evaluator_info` count the runs without one, with the reasons. If no reference ID
    was retrieved in the whole experiment, the comment has the most frequent hint about IDs.
    """

    def __init__(
        self,
        measured: Callable[[Run, Example | None], Measured],
        keys: Mapping[str, Measure],
    ) -> None:
        self._measured = measured
        self._keys = keys
        self._measured_runs: dict[UUID, Measured] = {}
        # LangSmith names the trace after this attribute.
        self.__name__ = f"{next(iter(keys))}.mean"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({next(iter(self._keys))!r})"

    def remember(self, run_id: UUID, measured: Measured) -> None:
        """Keep the result of a run, without the sample and its texts."""
        self._measured_runs[run_id] = measured._replace(sample=Sample())

    def __call__(
        self, runs: Sequence[Run], examples: Sequence[Example]
    ) -> EvaluationResult | EvaluationResults:
        """Return the mean over these runs for each measure of the evaluator."""
        for run, example in zip(runs, examples, strict=True):
            if run.id not in self._measured_runs:
                self.remember(run.id, self._measured(run, example))
        measured = [self._measured_runs[run.id] for run in runs]
        if not measured:
            return EvaluationResults(results=[])
        rows = (
            # The runs of a repeated example have its ID, so that they count as one group.
            Row(number, Sample(id=str(example.id)), (each.result,))
            for number, (each, example) in enumerate(zip(measured, examples, strict=True), start=1)
        )
        report = Report.of([measured[0].result.method], rows)
        (score,) = report.summary(*self._keys.values())
        means = [_feedback(score, each, key, measured) for key, each in self._keys.items()]
        return means[0] if len(means) == 1 else EvaluationResults(results=means)


def _feedback(
    summary: ScoreSummary,
    measure: Measure,
    key: str,
    measured: Sequence[Measured],
) -> EvaluationResult:
    estimate = summary[measure]
    parts = [f"mean of {summary.scored} of {len(measured)} runs"]
    if summary.undefined:
        parts.append(f"{summary.undefined} undefined, without reference items")
    if summary.unjudged:
        parts.append(f"{summary.unjudged} unjudged, without a relevance judgment")
    if summary.unscored:
        reasons = ", ".join(f"{reason} ({n})" for reason, n in summary.reasons.items())
        parts.append(f"{summary.unscored} unscored: {reasons}")
    parts += _id_hints(measured)
    return EvaluationResult(
        key=f"{key}.mean",
        score=estimate.mean,
        comment="; ".join(parts),
        evaluator_info={
            "fullrecall": {
                **summary.to_dict(),
                "method": plain_method(summary.method),
                "measure": measure.name,
                "runs": len(measured),
                "interval": None if estimate.interval is None else list(estimate.interval),
            }
        },
    )


def _id_hints(measured: Sequence[Measured]) -> list[str]:
    """Return the most frequent hint about IDs; [] if any run found a reference ID."""
    if any(each.result.score for each in measured):
        return []
    hints = Counter(each.hint for each in measured if each.hint)
    return [
        f"no reference ID was retrieved: {hint} (in {count} of {len(measured)})"
        for hint, count in hints.most_common(1)
    ]
