"""Recall after each stage of a retrieval: where an item that was missed in the end was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fullrecall.errors import InputError, ParameterError
from fullrecall.evaluation.run import SampleLike, aevaluate, as_samples, evaluate
from fullrecall.findings import Finding
from fullrecall.measures import Recall
from fullrecall.report.report import Report
from fullrecall.result import Result, Status
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer
from fullrecall.table.row import Row
from fullrecall.views.sheet import Sheet, Shown

FINAL = "final"
"""What stands for the list that the retrieval ended with: `retrieved_contexts`."""

PROMPT = "prompt"
"""What stands for the part of it that the model's prompt had whole, where prompts were seen."""


class Lost(NamedTuple):
    """A target that a stage had and the final list has not, or has less of.

    `had` is the last stage that had it, there found in full at `rank`, None for in part; `by` is
    the next stage on its way that had less of it, "final" for the step into the final list.
    """

    sample: str
    question: str | None
    score: str
    target: str
    had: str
    rank: int | None
    by: str


class StageReports(Shown, dict[str, Report]):
    """One report for each stage, in the order of the pipeline; then "final", of the end.

    Where a model's prompts were seen, "prompt" comes last: the final contexts that they had whole.
    A sample in which a stage did not run is unscored in that stage's report. Prints as a table.
    """

    def __missing__(self, name: str) -> Report:
        raise KeyError(f"no stage {name!r}: choose one of {', '.join(self)}")

    @property
    def final(self) -> Report:
        """The report of the list that the retrieval ended with."""
        return self[FINAL]

    def lost(self) -> list[Lost]:
        """Return every target that some stage had more of than the final list, sample by sample.

        And every target that the final list has and the prompt has not. The whole lists count:
        an item that the final list has beyond some k was ranked low, not lost. Only recall is
        asked after, and only scored samples are.
        """
        return [
            Lost(
                row.label,
                row.sample.user_input,
                result.method.name,
                had.target.label,
                stage,
                had.rank,
                by,
            )
            for position, row in enumerate(self.final.rows)
            for nth, result in enumerate(row.results)
            if result.status is Status.SCORED and result.method.headline == Recall
            for stage, had, by in (
                *self._dropped(position, nth, row, result),
                *self._unread(position, nth, result),
            )
        ]

    def _found(self, stage: str, position: int, nth: int) -> dict[tuple[str, ...], Finding]:
        """Return what a stage had of each target; nothing where it was not measured."""
        result = self[stage].rows[position].results[nth] if stage in self else None
        if result is None or result.status is not Status.SCORED:
            return {}
        return {finding.target.any_of: finding for finding in result.findings}

    def _dropped(
        self, position: int, nth: int, row: Row, result: Result
    ) -> Iterator[tuple[str, Finding, str]]:
        """Yield the last stage that had more of a target than is left, and who dropped it."""
        into = {stage.name: stage.into or FINAL for stage in row.sample.stages}
        at_stage = {name: self._found(name, position, nth) for name in into}
        for finding in result.findings:
            target = finding.target.any_of
            had = {name: found[target] for name, found in at_stage.items() if target in found}
            # Stages stand in the order in which they ran: no later one had more than is left.
            last = next(
                (name for name in reversed(had) if _credit(had[name]) > _credit(finding)), None
            )
            if last is None:
                continue
            by = into[last]
            while by != FINAL and by not in had:  # what was not measured there is not blamed on it
                by = into[by]
            yield last, had[last], by

    def _unread(
        self, position: int, nth: int, result: Result
    ) -> Iterator[tuple[str, Finding, str]]:
        """Yield the targets that the final list has and the model's prompt lacks."""
        read = self._found(PROMPT, position, nth)
        for had in result.ranked:
            left = read.get(had.target.any_of)
            if left is not None and _credit(had) > _credit(left):
                yield FINAL, had, PROMPT

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The means at each stage, and how many targets it dropped."""
        from fullrecall.views.summaries import stages_sheet

        dropped = Counter((item.score, item.by) for item in self.lost())
        return [stages_sheet(self, dropped, self.final)]

    def __repr__(self) -> str:
        return f"StageReports({', '.join(self)})\n{self}"


def evaluate_stages(
    samples: Iterable[SampleLike], scorers: Sequence[Scorer] | Scorer, **options: Any
) -> StageReports:
    """Score each stage's list as if it had been the final one, and the final one itself.

    `samples` have a recorded `retrieval`, as the adapters fill it in; `options` are `evaluate`'s.
    All is one run of `evaluate`: a judge is asked once for each stage, but what does not depend on
    what was retrieved, such as the claims of a reference, is asked once.

    Raises what `evaluate` raises, and `InputError` for a stage that is named "final" or "prompt".
    """
    listed = list(as_samples(samples))
    names = _checked(listed, options)
    return _apart(evaluate(_each(listed, names), scorers, **options), names, len(listed))


async def aevaluate_stages(
    samples: Iterable[SampleLike], scorers: Sequence[Scorer] | Scorer, **options: Any
) -> StageReports:
    """Return the same as `evaluate_stages`, without blocking the event loop."""
    listed = list(as_samples(samples))
    names = _checked(listed, options)
    return _apart(await aevaluate(_each(listed, names), scorers, **options), names, len(listed))


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


def _checked(samples: Sequence[Sample], options: Mapping[str, Any]) -> list[str]:
    if options.get("view", "contexts") != "contexts":
        raise ParameterError("evaluate_stages takes no view=: it scores what each stage returned")
    names = stage_names(samples)
    for end in (FINAL, PROMPT):
        if end in names:
            raise InputError(
                f"a stage must not be named {end!r}, the name of the retrieval's end: rename it",
                field="retrieval",
            )
    is_recorded = any(sample.retrieval is not None and sample.retrieval.read for sample in samples)
    return [*names, FINAL, *([PROMPT] if is_recorded else [])]


def _each(samples: Sequence[Sample], names: Sequence[str]) -> list[Sample]:
    """Return the samples at each of the stages, one stage after the other."""
    return [_at(sample, name) for name in names for sample in samples]


def _at(sample: Sample, name: str) -> Sample:
    if name == FINAL:
        return sample
    return sample.in_view("read") if name == PROMPT else sample.at_stage(name)


def _apart(report: Report, names: Sequence[str], samples: int) -> StageReports:
    """Return the report of `_each`'s samples as one report for each stage."""
    rows = report.rows
    return StageReports(
        {
            name: Report.of(
                report.methods,
                (
                    replace(row, position=position)
                    for position, row in enumerate(
                        rows[nth * samples : (nth + 1) * samples], start=1
                    )
                ),
            )
            for nth, name in enumerate(names)
        }
    )


def _credit(finding: Finding) -> float:
    return finding.credit_at()
