"""Recall after each stage of a retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fullrecall.errors import InputError, ParameterError
from fullrecall.evaluation.run import SampleLike, aevaluate, as_samples, evaluate
from fullrecall.report.report import Report
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer
from fullrecall.views.sheet import Sheet, Shown

FINAL = "final"
"""What stands for the list that the retrieval ended with: `retrieved_contexts`."""


class StageReports(Shown, dict[str, Report]):
    """One report for each stage, in the order of the pipeline; then "final", of the end.

    A sample in which a stage did not run is unscored in that stage's report. Prints as a table.
    """

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The means at each stage."""
        from fullrecall.views.summaries import stages_sheet

        return [stages_sheet(self)]

    def __repr__(self) -> str:
        return f"StageReports({', '.join(self)})\n{self}"


def evaluate_stages(
    samples: Iterable[SampleLike], scorers: Sequence[Scorer] | Scorer, **options: Any
) -> StageReports:
    """Score each stage's list as if it had been the final one, and the final one itself.

    `samples` have a recorded `retrieval`, as the adapters fill it in; `options` are `evaluate`'s.
    All is one run of `evaluate`: a judge is asked once for each stage, but what does not depend on
    what was retrieved, such as the claims of a reference, is asked once. `diagnose` says which
    stage dropped a target.

    Raises what `evaluate` raises, and `InputError` for a stage that is named "final".
    """
    listed = list(as_samples(samples))
    names = _names(listed, options)
    return _apart(evaluate(_at_each(listed, names), scorers, **options), names)


async def aevaluate_stages(
    samples: Iterable[SampleLike], scorers: Sequence[Scorer] | Scorer, **options: Any
) -> StageReports:
    """Return the same as `evaluate_stages`, without blocking the event loop."""
    listed = list(as_samples(samples))
    names = _names(listed, options)
    return _apart(await aevaluate(_at_each(listed, names), scorers, **options), names)


def stage_names(samples: Iterable[Sample]) -> list[str]:
    """Return the names of all stages of `samples`, in the order of the pipeline.

    A stage that only some samples have comes right behind the one that precedes it there.
    """
    names: list[str] = []
    for sample in samples:
        stage_index = 0
        for stage in sample.stages:
            if stage.name not in names:
                names.insert(stage_index, stage.name)
            stage_index = names.index(stage.name) + 1
    return names


def _names(samples: Sequence[Sample], options: Mapping[str, Any]) -> list[str]:
    if options.get("view", "contexts") != "contexts":
        raise ParameterError("evaluate_stages takes no view=: it scores what each stage returned")
    names = stage_names(samples)
    if FINAL in names:
        raise InputError(
            f"a stage must not be named {FINAL!r}, the name of the retrieval's end: rename it",
            field="retrieval",
        )
    return [*names, FINAL]


def _at_each(samples: Sequence[Sample], names: Sequence[str]) -> list[Sample]:
    """Return the samples at each of the stages, one stage after the other."""
    return [
        sample if name == FINAL else sample.at_stage(name) for name in names for sample in samples
    ]


def _apart(report: Report, names: Sequence[str]) -> StageReports:
    """Return the report of all stages as one report for each."""
    size = len(report) // len(names)
    starts = {name: nth * size for nth, name in enumerate(names)}
    return StageReports({name: report[start : start + size] for name, start in starts.items()})
