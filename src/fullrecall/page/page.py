"""The page of a report or a comparison: what it says first, its tables, and all of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from fullrecall.diagnosis import diagnose
from fullrecall.errors import ReportError
from fullrecall.page.causes import Causes
from fullrecall.page.census import turns_of, unscored
from fullrecall.page.choices import Subject, columns
from fullrecall.page.head import cost_sentence, leak_verdicts, verdict
from fullrecall.page.readings import reading_of
from fullrecall.page.samples import PER_BLOCK, Samples
from fullrecall.page.single_file import rendered
from fullrecall.page.tables import tables
from fullrecall.stats.bounds import CONFIDENCE
from fullrecall.stats.comparison import comparison_notes
from fullrecall.stats.summary import notes as summary_notes

if TYPE_CHECKING:
    from fullrecall.diagnosis import Diagnosis
    from fullrecall.measures import Measure
    from fullrecall.stats.comparison import Comparison
    from fullrecall.stats.evaluation import Evaluation
    from fullrecall.stats.summary import Summary


MOST_ROWS = 10_000
"""Samples that a page holds."""


def check_size(report: Evaluation) -> None:
    """Raise `ReportError` for a report of more samples than a page holds."""
    if len(report) > MOST_ROWS:
        raise ReportError(
            f"a page holds at most {MOST_ROWS:,} samples, got {len(report):,}: write that of "
            f"some, such as report.drawn({MOST_ROWS})"
        )


def report_page(
    report: Evaluation,
    *,
    measures: Sequence[Measure] = (),
    diagnosis: Diagnosis | Literal[False] | None = None,
    title: str | None = None,
) -> str:
    """Return the page of `report` as HTML; see `Report.to_html`."""
    check_size(report)
    if diagnosis is None:
        diagnosis = _diagnosed(report, measures)
    positions = [(nth,) for nth in range(len(report.methods))]
    subject = Subject({"": report}, columns(report.methods, positions, measures))
    summary = report.summary(*measures)
    notes = list(summary_notes(summary))
    return _page(subject, diagnosis or None, title or "Context recall", notes, summary)


def comparison_page(
    comparison: Comparison,
    *,
    diagnosis: Diagnosis | Literal[False] | None = None,
    title: str | None = None,
) -> str:
    """Return the page of `comparison` as HTML; see `Comparison.to_html`."""
    check_size(comparison.before)
    check_size(comparison.after)
    if diagnosis is None:
        diagnosis = _diagnosed(comparison.after, comparison.measures)
    methods = [score.method for score in comparison]
    positions = [comparison.score_indices[score.name] for score in comparison]
    subject = Subject(
        {"before": comparison.before, "after": comparison.after},
        columns(methods, positions, comparison.measures),
        comparison,
    )
    title = title or "Context recall, before and after"
    return _page(subject, diagnosis or None, title, comparison_notes(comparison))


def _diagnosed(report: Evaluation, measures: Sequence[Measure]) -> Diagnosis:
    """Return why targets were missed, at the k of the measure that the page opens with."""
    whole = not measures or any(method.headline in measures for method in report.methods)
    return diagnose(report, k=None if whole else measures[0].top)


def _page(
    subject: Subject,
    diagnosis: Diagnosis | None,
    title: str,
    notes: Sequence[str],
    summary: Summary | None = None,
) -> str:
    causes = Causes(diagnosis, subject.columns)
    first = subject.first_shown(causes.labels.values())
    # Read once for all choices: the rows of a report on disk are made anew at each pass.
    samples = [(rows, reading_of(subject, rows)) for rows in subject.rows]
    readings = [reading for _, reading in samples]
    turns = [turns_of(readings, choice) for choice in range(len(subject.choices))]
    data, leaks = Samples(causes, len(subject.reports) - 1), leak_verdicts(subject)
    index = {
        **_index(subject, causes),
        "first": first,
        "turns": [turn._asdict() for turn in turns],
        "samples": [data.add(rows, reading) for rows, reading in samples],
    }
    return rendered(
        [("index", index), *data.blocks()],
        title=title,
        subject=subject,
        first=first,
        confidence=CONFIDENCE,
        samples=len(samples),
        unscored=unscored(readings),
        turns=turns[first],
        # For every choice: the script that switches between them computes no interval.
        verdicts=[
            [*leaks, *verdict(subject, summary, nth, turn)] for nth, turn in enumerate(turns)
        ],
        diagnosed=diagnosis is not None,
        changes=[change for change in diagnosis.changes if change.gain > 0] if diagnosis else [],
        causes=causes.lines,
        notes=notes,
        cost=cost_sentence(subject, summary),
        stopped=[(name, each.stopped) for name, each in subject.reports.items() if each.stopped],
        **tables(subject, summary, readings),
    )


def _index(subject: Subject, causes: Causes) -> dict[str, Any]:
    """Return what the script must know of the reports, their scores, and the causes."""
    return {
        "sides": list(subject.reports),
        "choices": subject.choice_labels,
        "scores": [
            {
                "letter": column.letter,
                "name": column.method.name,
                "measures": [
                    {
                        "label": column.method.label(measure),
                        "k": measure.amount,
                        "least": measure.parameters.get("min_grade"),
                    }
                    for measure in column.measures
                ],
            }
            for column in subject.columns
        ],
        "causes": [[line.cause, line.name] for line in causes.lines],
        "perBlock": PER_BLOCK,
    }
