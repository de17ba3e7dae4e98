"""The page of a report or a comparison: its verdicts, its tables, and all of its samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fullrecall._util.counts import counted
from fullrecall.diagnosis import Diagnosis, described, diagnose
from fullrecall.errors import ReportError
from fullrecall.measures import Measure
from fullrecall.page.samples import PER_BLOCK, Samples
from fullrecall.page.single_file import rendered
from fullrecall.page.subject import Causes, Subject, Turns, columns, reading_of, turns_of, unscored
from fullrecall.page.tables import tables
from fullrecall.show.sheet import Cell, Line, Sheet
from fullrecall.show.text import between, shown
from fullrecall.stats.bounds import CONFIDENCE
from fullrecall.stats.change import change_sentence, verdict_of
from fullrecall.stats.comparison import Comparison, comparison_notes
from fullrecall.stats.estimates import Estimate
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.missed import leaked
from fullrecall.stats.question_cost import cost_change
from fullrecall.stats.summary import Summary, named_leaks
from fullrecall.stats.summary import notes as summary_notes

_NAMED = 4
"""The most scores with a line at the top of a page."""


def verdict(subject: Subject, summary: Summary | None, choice: int, turns: Turns) -> list[Line]:
    """Return the first lines of a page for a choice of measures: the means, or the changes.

    `summary` is the report's summary, or None for a comparison. Each line has an emphasized word
    and a sentence.
    """
    labels, measures = subject.labels(choice), subject.choices[choice]
    if summary is not None:
        estimates = [score[measure] for score, measure in zip(summary, measures, strict=True)]
        return _mean_verdicts(dict(zip(labels, estimates, strict=True)), turns)
    verdicts = []
    comparison = () if subject.comparison is None else subject.comparison
    for label, score, measure in zip(labels, comparison, measures, strict=True):
        change = score[measure]
        verdicts.append(Line(verdict_of(change), [change_sentence(label, change)]))
    return verdicts[:_NAMED]


def leak_verdicts(subject: Subject) -> list[Line]:
    """Return a line for each report in which forbidden contexts were retrieved.

    These lines come first on a page. Contexts for unanswerable questions are left out, since most
    retrievers always return some.
    """
    verdicts = []
    for name, report in subject.reports.items():
        contexts = list(leaked(report.table, unanswerable=False))
        if contexts:
            leaking = counted(len({each.sample for each in contexts}), "question")
            word = Cell(f"LEAK {name}" if name else "LEAK", "bad")
            verdicts.append(Line(word, [f"in {leaking}: {named_leaks(contexts)}"]))
    return verdicts


def _mean_verdicts(estimates: Mapping[str, Estimate], turns: Turns) -> list[Line]:
    verdicts: list[Line] = []
    missing = f"; {turns.missing:,} of {turns.scored:,} questions miss something"
    for label, estimate in estimates.items():
        questions = counted(estimate.samples, "question")
        over = f"over {questions} ({CONFIDENCE:.0%} interval {between(estimate.interval)})"
        sentence = f"{label} {over}" if estimate.samples else f"{label}: no question has a score"
        if turns.scored and not verdicts:
            sentence += missing
        verdicts.append(Line(Cell(shown(estimate.mean), "strong"), [sentence]))
    return verdicts[:_NAMED]


def cost_sentence(subject: Subject, summary: Summary | None) -> str:
    """Return sentences on a question's cost and on the differences between two reports, if any."""
    comparison, drift = subject.comparison, []
    cost: object = None if summary is None else summary.cost
    if comparison is not None:
        cost = cost_change(*comparison.costs)
        drift = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in comparison.drift]
    return " ".join([*([f"A question costs {cost}."] if cost else []), *drift])


MOST_ROWS = 10_000
"""The most samples of a page."""


def check_size(report: Evaluation) -> None:
    """Raise `ReportError` for a report with more samples than a page may have."""
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
        diagnosis = diagnosed(report, measures)
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
    names: tuple[str, str] = ("before", "after"),
    among: Sheet | None = None,
) -> str:
    """Return the page of `comparison` as HTML; see `Comparison.to_html`.

    `names` are the names of the two reports; `among` is a table with further reports.
    """
    check_size(comparison.before)
    check_size(comparison.after)
    if diagnosis is None:
        diagnosis = diagnosed(comparison.after, comparison.measures)
    methods = [score.method for score in comparison]
    positions = [comparison.score_indices[score.name] for score in comparison]
    subject = Subject(
        dict(zip(names, (comparison.before, comparison.after), strict=True)),
        columns(methods, positions, comparison.measures),
        comparison,
    )
    title = title or f"Context recall, {names[0]} and {names[1]}"
    return _page(subject, diagnosis or None, title, comparison_notes(comparison), among=among)


def diagnosed(
    report: Evaluation,
    measures: Sequence[Measure],
    *,
    corpus: Any = None,
    retriever: Any = None,
) -> Diagnosis:
    """Return the diagnosis of a report, at the k of the measure that its page shows first.

    That measure is the first of `measures`. But if `measures` is empty, or has the headline measure
    of any score, the page first shows the headline measures. `corpus` and `retriever` are those of
    `diagnose`.
    """
    whole = not measures or any(method.headline in measures for method in report.methods)
    k = None if whole else measures[0].top
    return diagnose(report, k=k, corpus=corpus, retriever=retriever)


def _page(
    subject: Subject,
    diagnosis: Diagnosis | None,
    title: str,
    notes: Sequence[str],
    summary: Summary | None = None,
    *,
    among: Sheet | None = None,
) -> str:
    last = described([*subject.reports.values()][-1])
    if diagnosis is not None and diagnosis.of not in ("", last):
        raise ReportError(
            f"the diagnosis is of {diagnosis.of}, and the page of {last}: diagnose this one"
        )
    causes = Causes(diagnosis, subject.columns)
    first = subject.first_shown(causes.labels.values())
    # Read the report once for all choices, since each pass over a saved report creates its rows
    # again.
    samples = [(rows, reading_of(subject, nth, rows)) for nth, rows in enumerate(subject.rows)]
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
        # The page has verdicts for every choice, since its script computes no intervals.
        verdicts=[
            [*leaks, *verdict(subject, summary, nth, turn)] for nth, turn in enumerate(turns)
        ],
        diagnosed=diagnosis is not None,
        changes=[change for change in diagnosis.changes if change.gain > 0] if diagnosis else [],
        causes=causes.lines,
        among=among,
        notes=notes,
        cost=cost_sentence(subject, summary),
        stopped=[(name, each.stopped) for name, each in subject.reports.items() if each.stopped],
        **tables(subject, summary, readings),
    )


def _index(subject: Subject, causes: Causes) -> dict[str, Any]:
    """Return the data on reports, choices, scores, and causes that the script needs."""
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
