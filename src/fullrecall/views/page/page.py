"""The page of one report or of several: what it says first, its tables, and all of its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from fullrecall.results.bounds import CONFIDENCE
from fullrecall.views.comparisons import comparison_notes
from fullrecall.views.page.causes import Causes, gaining
from fullrecall.views.page.census import MOST_ROWS, Census
from fullrecall.views.page.choices import Choice, Rows, Subject, choices, columns
from fullrecall.views.page.document import rendered
from fullrecall.views.page.funnel import funnel_sheet
from fullrecall.views.page.head import about, cost_sentence, leak_verdicts, verdict
from fullrecall.views.page.payload import Payload
from fullrecall.views.page.readings import Reader
from fullrecall.views.page.slices import Slicer
from fullrecall.views.page.tables import changes_sheet, others_sheet, panels, scores_sheet
from fullrecall.views.summaries import notes as summary_notes

if TYPE_CHECKING:
    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.measures import Measure
    from fullrecall.report.report import Report
    from fullrecall.results.comparison import Comparison
    from fullrecall.results.comparisons import Comparisons
    from fullrecall.results.summary import Summary
    from fullrecall.views.page.readings import Misses


def report_page(
    report: Report,
    *,
    measures: Sequence[Measure] = (),
    diagnosis: Diagnosis | Literal[False] = False,
    explain: Callable[[Report], Diagnosis] | None = None,
    title: str | None = None,
) -> str:
    """Return the page of `report` as HTML; see `Report.to_html`.

    `explain` diagnoses the samples that the page shows where `diagnosis` is of others.
    """
    groups = report.groups
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
    return _page(
        subject, [diagnosis or None], title or "Context recall", report.summary(*measures), explain
    )


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
    explain: Callable[[Report], Diagnosis] | None = None,
) -> str:
    causes = Causes(diagnoses, subject.columns)
    first, diagnosis = subject.first_shown(causes.labels), diagnoses[-1]
    census, slicer = Census(subject, first), Slicer(subject, first)
    data, reader, partly = Payload(subject, first, causes), Reader(subject), ""
    for position, rows in enumerate(subject.rows()):
        readings = reader.read(rows)
        census.add(position, rows, readings)
        first_row = next(row for row in rows if row is not None)
        slicer.add(first_row, subject.group(position, rows), readings)
        if subject.count <= MOST_ROWS:
            data.add(rows, readings)
    if subject.count > MOST_ROWS:
        chosen, partly = census.chosen()
        partly += _explained(subject, chosen, causes, diagnosis, explain)
        for rows in chosen:
            data.add(rows, reader.read(rows))
    groupings, looked_at = slicer.groupings()
    turns, leaks = census.turns(), leak_verdicts(subject)
    return rendered(
        data.blocks(turns, groupings),
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
        lists=data,
        partly=partly,
        diagnosed=diagnosis is not None,
        changes=gaining(diagnosis),
        causes=causes.lines,
        groupings=groupings,
        looked_at=looked_at,
        **_tables(subject, summary, first, census.misses()),
        **_provenance(subject, summary),
    )


def _beside(subject: Subject) -> str:
    """Return what a question costs, and what differs beside the retriever."""
    drift = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in subject.drift]
    return " ".join(filter(None, [cost_sentence(subject.reports), *drift]))


def _tables(
    subject: Subject,
    summary: Summary | None,
    first: int,
    misses: Sequence[Sequence[Misses]],
) -> dict[str, Any]:
    """Return the tables and charts of a page, by the names of the template."""
    drawn, notes = panels(subject, summary), list(_notes(subject, summary, first))
    if summary is None:
        return {
            "overview": changes_sheet(subject),
            "others": None,
            "panels": drawn,
            "notes": notes,
            "funnel": None,
        }
    charted = {nth for panel in drawn for nth in panel.choices if _cut(subject.choices[nth])}
    return {
        "overview": scores_sheet(subject, summary, misses),
        "others": others_sheet(subject, summary, first, charted),
        "funnel": funnel_sheet(summary),
        "panels": drawn,
        "notes": notes,
    }


def _provenance(subject: Subject, summary: Summary | None) -> dict[str, Any]:
    """Return how the reports came about, what they cost, and what is missing in them."""
    return {
        "cost": _beside(subject),
        "about": about(subject.last) if summary is not None else [],
        "stopped": [
            (name, report.stopped) for name, report in subject.reports.items() if report.stopped
        ],
    }


def _explained(
    subject: Subject,
    chosen: Sequence[Rows],
    causes: Causes,
    diagnosis: Diagnosis | None,
    explain: Callable[[Report], Diagnosis] | None,
) -> str:
    """Return what a diagnosis of some samples is of; the causes of those on the page are added."""
    if diagnosis is None or diagnosis.samples >= len(subject.last):
        return ""
    if explain is not None:
        shown = [row for *_, row in chosen if row is not None]
        causes.explain(0, explain(type(subject.last).of(subject.last.methods, shown)))
    return f" Causes and changes are from {diagnosis.samples:,} samples drawn at random."


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


def _cut(choice: Choice) -> bool:
    return all(measure.k is not None for measure in choice.measures)


def _group(_: int, rows: Rows) -> str | None:
    """Return the group of a sample: that of the first report that knows one."""
    groups = (row.sample.group for row in rows if row is not None)
    return next((group for group in groups if group is not None), None)
