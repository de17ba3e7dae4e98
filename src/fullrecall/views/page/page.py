"""The page of one report or of several: what it says first, its tables, and all of its samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from fullrecall.results.bounds import CONFIDENCE
from fullrecall.views.comparisons import comparison_notes
from fullrecall.views.page.causes import Causes
from fullrecall.views.page.census import Census
from fullrecall.views.page.choices import Rows, Subject, choices, columns
from fullrecall.views.page.document import rendered
from fullrecall.views.page.head import about, cost_sentence, leak_verdicts, verdict
from fullrecall.views.page.readings import Reader
from fullrecall.views.page.samples import PER_BLOCK, Samples
from fullrecall.views.page.slices import Slicer
from fullrecall.views.page.tables import tables
from fullrecall.views.summaries import notes as summary_notes

if TYPE_CHECKING:
    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.measures import Measure
    from fullrecall.report.report import Report
    from fullrecall.results.comparison import Comparison, Comparisons
    from fullrecall.results.summary import Summary


def report_page(
    report: Report,
    *,
    measures: Sequence[Measure] = (),
    diagnosis: Diagnosis | Literal[False] = False,
    title: str | None = None,
) -> str:
    """Return the page of `report` as HTML; see `Report.to_html`."""
    groups = report.table.groups
    subject = Subject(
        {"": report},
        columns(report.methods, [(nth,) for nth in range(len(report.methods))]),
        choices(report.methods, measures),
        lambda: ((row,) for row in report.rows),
        len(report),
        lambda position, _: groups[position],
        lambda *_: (),
        CONFIDENCE,
        (),
    )
    summary = report.summary(*measures)
    return _page(subject, [diagnosis or None], title or "Context recall", summary)


def comparison_page(
    comparison: Comparison,
    *,
    diagnoses: tuple[Diagnosis | None, Diagnosis | None] = (None, None),
    title: str | None = None,
) -> str:
    """Return the page of `comparison` as HTML; see `Comparison.to_html`."""
    methods = [score.method for score in comparison]
    subject = Subject(
        {"before": comparison.before, "after": comparison.after},
        columns(methods, [comparison.score_indices[score.name] for score in comparison]),
        choices(methods, comparison.measures),
        lambda: comparison.rows,
        max(len(comparison.before), len(comparison.after)),
        _group,
        lambda score, measure: [comparison[score][measure]],
        comparison.confidence,
        comparison_notes(comparison),
        comparison.drift,
    )
    return _page(subject, diagnoses, title or "Context recall, before and after")


def runs_page(
    runs: Comparisons, *, diagnosis: Diagnosis | None = None, title: str | None = None
) -> str:
    """Return the page of `runs` as HTML; see `Comparisons.to_html`."""
    names = [[method.name for method in report.methods] for report in runs.values()]
    positions = [tuple(of.index(method.name) for of in names) for method in runs.scores]
    subject = Subject(
        dict(runs),
        columns(runs.scores, positions),
        choices(runs.scores, runs.measures),
        lambda: runs.rows,
        max(map(len, runs.values())),
        _group,
        lambda score, measure: list(runs.changes(score, measure).values()),
        runs.confidence,
        [
            f"{name}: {note}"
            for name, comparison in runs.comparisons.items()
            for note in comparison_notes(comparison)[:1]
        ],
        [
            f"{name}: {sentence}"
            for name, comparison in runs.comparisons.items()
            for sentence in comparison.drift
        ],
    )
    diagnoses = [*[None] * (len(runs) - 1), diagnosis]
    return _page(subject, diagnoses, title or "Context recall, run by run")


def _page(
    subject: Subject,
    diagnoses: Sequence[Diagnosis | None],
    title: str,
    summary: Summary | None = None,
) -> str:
    causes = Causes(diagnoses, subject.columns)
    first, diagnosis = subject.first_shown(causes.labels), diagnoses[-1]
    census, slicer = Census(subject, first), Slicer(subject, first)
    reader = Reader(subject)
    for position, rows in enumerate(subject.rows()):
        readings = reader.read(rows)
        census.add(rows, readings)
        sample = next(row for row in rows if row is not None).sample
        slicer.add(sample, subject.group(position, rows), readings)
    groupings, looked_at = slicer.groupings()
    turns, (chosen, partly) = census.turns(), census.chosen()
    samples, leaks = Samples(causes, groupings), leak_verdicts(subject)
    index = {
        **_index(subject, causes),
        "first": first,
        "turns": [turn._asdict() for turn in turns],
        "samples": [samples.add(rows, readings) for _, _, rows, readings in chosen],
    }
    if partly and diagnosis is not None and diagnosis.samples < len(subject.last):
        partly += f" Causes and changes are from {diagnosis.samples:,} samples drawn at random."
    return rendered(
        [("index", index), *samples.blocks()],
        title=title,
        subject=subject,
        first=first,
        confidence=CONFIDENCE,
        samples=census.samples,
        unscored=census.unscored,
        turns=turns[first],
        verdicts=[
            [*leaks, *verdict(subject, summary, nth, turn)] for nth, turn in enumerate(turns)
        ],
        partly=partly,
        diagnosed=diagnosis is not None,
        changes=[change for change in diagnosis.changes if change.gain > 0] if diagnosis else [],
        causes=causes.lines,
        groupings=groupings,
        looked_at=looked_at,
        notes=list(_notes(subject, summary, first)),
        cost=cost_sentence(subject),
        about=about(subject.last) if summary is not None else [],
        stopped=[(name, each.stopped) for name, each in subject.reports.items() if each.stopped],
        **tables(subject, summary, census.misses),
    )


def _index(subject: Subject, causes: Causes) -> dict[str, Any]:
    """Return what the script must know of the reports, their scores, and the causes."""
    return {
        "sides": subject.names,
        "choices": [choice.label for choice in subject.choices],
        "scores": [
            {
                "letter": column.letter,
                "name": column.method.name,
                "measures": [
                    {"label": column.method.label(measure), "k": measure.amount}
                    for measure in (choice.measures[nth] for choice in subject.choices)
                ],
            }
            for nth, column in enumerate(subject.columns)
        ],
        "causes": [[line.cause, line.name] for line in causes.lines],
        "perBlock": PER_BLOCK,
    }


def _notes(subject: Subject, summary: Summary | None, choice: int) -> Iterator[str]:
    if summary is None:
        yield from subject.notes
        return
    measures = subject.choices[choice].measures
    for label, score, measure in zip(subject.labels(choice), summary, measures, strict=True):
        estimate = score[measure]
        if estimate.groups < estimate.samples:
            yield (
                f"{label}: the mean is over {estimate.groups:,} groups of "
                f"{estimate.samples:,} samples; each group counts once, by the mean of its samples"
            )
    yield from summary_notes(summary)


def _group(_: int, rows: Rows) -> str | None:
    """Return the group of a sample: that of the first report that knows one."""
    groups = (row.sample.group for row in rows if row is not None)
    return next((group for group in groups if group is not None), None)
