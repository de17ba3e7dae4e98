"""What changed between reports, as sheets, and the word for it: better, worse, or CANNOT TELL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fullrecall.counts import counted
from fullrecall.errors import ParameterError
from fullrecall.results.change import Direction
from fullrecall.results.question_cost import cost_change, question_cost
from fullrecall.views import markdown
from fullrecall.views.sheet import Cell, CellLike, Line, Section, Sheet
from fullrecall.views.summaries import measure_lines, partial
from fullrecall.views.text import NOTHING, chance, first_of, one_line, shown, signed, signed_between

if TYPE_CHECKING:
    from fullrecall.results.change import Difference
    from fullrecall.results.comparison import Comparison, Comparisons, ScoreComparison

_NAMED = 5
"""How many samples or targets a sentence names of many."""


_VERDICTS: Mapping[Direction, Cell] = {
    Direction.BETTER: Cell("Better", "good"),
    Direction.WORSE: Cell("Worse", "bad"),
    Direction.CANNOT_TELL: Cell("CANNOT TELL", "unsure"),
}


def verdict_of(difference: Difference) -> Cell:
    """Return better or worse as the outcome has it; unchanged where no sample changed."""
    if difference.samples and not difference.wins and not difference.losses:
        return Cell("Unchanged", "unsure")
    return _VERDICTS[difference.outcome]


def change_sentence(label: str, difference: Difference) -> str:
    """Return how a mean changed, with its interval, and how many samples would settle it."""
    change, interval = difference.difference, difference.interval
    if change is None or interval is None:
        return f"{label}: no sample was compared"
    sure = f"{100 * interval.confidence:g}% interval"
    way = "rose" if change > 0 else "fell" if change < 0 else "stayed"
    text = (
        f"{label} {way} from {shown(difference.before)} to {shown(difference.after)}: "
        f"{signed(change)} ({sure} {signed_between(interval)}, "
        f"{counted(difference.samples, 'sample')})"
    )
    if verdict_of(difference) is not _VERDICTS[Direction.CANNOT_TELL]:
        return text
    # The interval is at its own confidence, the outcome at one error rate for all measures.
    if not interval.low <= 0 <= interval.high:
        return f"{text}; not shown at one error rate for all that was compared (Holm)"
    if difference.needed is None:
        return f"{text}; more samples with this mean change would not settle it"
    needed = counted(difference.needed, "sample")
    return f"{text}; about {needed} with these changes would settle it"


def comparison_sentences(comparison: Comparison) -> list[str]:
    """Return what a comparison comes to: each change asked for, then what else differs."""
    verdicts = [
        f"{verdict_of(each).text}: {change_sentence(score.method.label(each.measure), each)}"
        for score in comparison
        for each in score.values()
        if each.p_adjusted is not None or (each is score.main and not each.samples)
    ]
    cost = cost_change(*comparison.costs)
    costs = [f"A question costs {cost}"] if cost else []
    return [*verdicts, *costs, *comparison.drift]


def comparison_sheet(comparison: Comparison) -> Sheet:
    """Return a comparison: for each measure the means, their difference, its interval, p."""
    sections = [
        Section(
            score.name,
            [
                Line(label, difference_cells(score[measure]))
                for label, (measure,) in measure_lines([score])
                if measure is not None and score[measure].difference is not None
            ],
        )
        for score in comparison
    ]
    heads = difference_heads(comparison.confidence)
    lead = comparison_sentences(comparison)
    return Sheet(heads, sections, comparison_notes(comparison), lead=lead)


def difference_heads(confidence: float) -> list[str]:
    """Return the heads of `difference_cells`."""
    interval = f"{100 * confidence:g}% interval"
    return ["before", "after", "difference", interval, "p", "better/\nsame/worse"]


def difference_cells(compared: Difference) -> list[Cell]:
    """Return what one line of a comparison shows of a difference: its p is what decides."""
    # Corrected where several measures were asked for, or it would contradict the verdict.
    p = compared.p if compared.p_adjusted is None else compared.p_adjusted
    return [
        Cell(shown(compared.before)),
        Cell(shown(compared.after)),
        Cell(signed(compared.difference), "strong"),
        Cell(signed_between(compared.interval)),
        Cell(chance(p)),
        Cell(f"{compared.wins:,}/{compared.ties:,}/{compared.losses:,}"),
    ]


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return one sentence for all that a comparison stands on, and for what it leaves out."""
    how = "their IDs" if comparison.paired_by == "id" else "their position: they have no IDs"
    notes = [f"{counted(len(comparison.pairing.before), 'sample')}, paired by {how}"]
    for report, side in ((comparison.before, "before"), (comparison.after, "after")):
        if report.stopped is not None:
            count = f"the report {side} has {counted(len(report), 'sample')}"
            notes.append(partial(count, report.stopped))
    before, after = comparison.tokenizers
    if set(before) != set(after) or len(before) > 1:
        notes.append(
            f"tokens were counted by {', '.join(before) or 'nobody'} before, "
            f"{', '.join(after) or 'nobody'} after: these budgets do not compare; "
            "Report.with_tokens counts all alike"
        )
    for score in comparison:
        notes += _score_notes(score)
    for labels, side in ((comparison.only_before, "before"), (comparison.only_after, "after")):
        if labels:
            first = first_of(labels, _NAMED, 40)
            notes.append(f"{len(labels):,} only in the report {side}: {first}")
    if comparison.unmatched:
        notes.append(f"scored in one report only: {', '.join(comparison.unmatched)}")
    return notes


_UNPAIRED = {
    "no_common_targets": "no target in common",
    "unscored": "unscored in one report or both",
    "undefined_in_one": "without reference items in one report",
    "undefined": "without reference items",
}


def _score_notes(score: ScoreComparison) -> Iterator[str]:
    main = score.main
    in_groups = f" in {counted(main.groups, 'group')}" if main.groups < main.samples else ""
    yield (
        f"{score.method.label(main.measure)}: {main.wins:,} better, {main.ties:,} the same, "
        f"{main.losses:,} worse, of {main.samples:,}{in_groups}"
    )
    for kind, why in _UNPAIRED.items():
        if score.unpaired[kind]:
            yield f"{score.unpaired[kind]:,} not compared in {score.name}: {why}"


def flips_sheet(score: ScoreComparison, limit: int) -> Sheet:
    """Return the `limit` samples whose score changed most, with the targets that made it.

    Raises `ParameterError` for a limit below 0.
    """
    if limit < 0:
        raise ParameterError(f"flips must be at least 0, got {limit}")
    changed = score.main.flips if limit else ()
    most = "largest change" if limit == 1 else f"{limit:,} largest changes"
    first = f", the {most}" if len(changed) > limit else ""
    lines = []
    for flip in changed[:limit]:
        values = f"{shown(flip.before)} → {shown(flip.after)}"
        cells: list[CellLike] = [
            one_line(flip.question or "", 200),
            Cell(values, "good" if flip.change > 0 else "bad"),
            *(first_of(labels, _NAMED, 120) for labels in (flip.gained, flip.lost)),
        ]
        lines.append(Line(one_line(flip.sample, 60), cells))
    label = score.method.label(score.main.measure)
    return Sheet(
        ["question", "score", "found now", "lost"],
        [Section("", lines)],
        title=f"{counted(len(changed), 'sample')} changed in {label}{first}:",
        corner="sample",
        sides="ltrtt",
    )


def runs_sheet(runs: Comparisons) -> Sheet:
    """Return reports below each other: each measure of their scores, its change, and the cost."""
    heads: list[str] = []
    lead: list[str] = []
    cells: dict[str, list[CellLike]] = {name: [] for name in runs.reports}
    for method in runs.scores:
        for measure in runs.measures or (method.headline,):
            label = method.label(measure)
            heads += [label, f"since {one_line(runs.baseline, 20)}"]
            heads += [f"{100 * runs.confidence:g}% interval", ""]
            changes = runs.changes(method.name, measure)
            for name, report in runs.reports.items():
                cells[name].append(shown(report.summary(measure)[method.name][measure].mean))
                cells[name] += _change_cells(changes.get(name))
            lead += [
                f"{one_line(name, 60)}: {verdict_of(change).text}: {change_sentence(label, change)}"
                for name, change in changes.items()
            ]
    for name, report in runs.reports.items():
        cells[name].append(str(question_cost(report.table) or NOTHING))
    notes = [
        "intervals: each at its own confidence; better and worse: at one error rate for all (Holm)",
        *(
            f"{one_line(name, 60)}: {sentence}"
            for name, comparison in runs.named.items()
            for sentence in comparison.drift
        ),
    ]
    lines = [Line(one_line(name, 60), shown_of) for name, shown_of in cells.items()]
    heads.append("a question costs")
    return Sheet(heads, [Section("mean", lines)], notes, lead=lead)


def _change_cells(change: Difference | None) -> list[CellLike]:
    if change is None:
        return ["", "", ""]
    return [signed(change.difference), signed_between(change.interval), verdict_of(change)]


def comparison_markdown(comparison: Comparison, flips: int = 5) -> str:
    """Return a comparison in GitHub's Markdown, with `flips` samples of each score.

    What the comparison comes to is the heading. Raises `ParameterError` for `flips` below 0.
    """
    sheet = comparison_sheet(comparison)
    heading, *sentences = sheet.lead or ["Context recall, before and after"]
    folded = [
        markdown.folded(flips_sheet(score, flips), "What was found and lost")
        for score in comparison
    ]
    text = markdown.text_of(markdown.escaped(heading), replace(sheet, lead=sentences))
    return "\n".join([text, *filter(None, folded)])
