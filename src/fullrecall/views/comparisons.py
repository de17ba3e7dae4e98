"""What changed between reports, as sheets, and the word for it: better, worse, or CANNOT TELL."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from fullrecall.counts import counted
from fullrecall.errors import ParameterError
from fullrecall.results.sign_flips import NULL
from fullrecall.views import markdown
from fullrecall.views.sheet import Cell, Emphasis, Line, Section, Sheet
from fullrecall.views.summaries import measure_lines, partial
from fullrecall.views.text import chance, first_of, one_line, shown, signed, signed_between

if TYPE_CHECKING:
    from fullrecall.results.comparison import Comparison, ScoreComparison
    from fullrecall.results.comparisons import Comparisons
    from fullrecall.results.difference import Difference

_NAMED = 5
"""How many samples or targets a sentence names of many."""


class Verdict(StrEnum):
    """What the interval of a difference decides."""

    BETTER = "Better"
    WORSE = "Worse"
    UNCHANGED = "Unchanged"
    CANNOT_TELL = "CANNOT TELL"

    @property
    def emphasis(self) -> Emphasis:
        """How it stands out."""
        kinds: dict[Verdict, Emphasis] = {Verdict.BETTER: "good", Verdict.WORSE: "bad"}
        return kinds.get(self, "unsure")


def verdict_of(one: Difference) -> Verdict:
    """Return better or worse where the interval leaves out 0; unchanged where no sample changed."""
    if one.samples and not one.wins and not one.losses:
        return Verdict.UNCHANGED
    if one.interval is None or one.interval.low <= 0 <= one.interval.high:
        return Verdict.CANNOT_TELL
    rises = one.interval.low > 0
    return Verdict.WORSE if rises == one.measure.lower_is_better else Verdict.BETTER


def comparison_sheet(comparison: Comparison) -> Sheet:
    """Return a comparison: for each measure the means, their difference, its interval, p."""
    several = asked_for_several(comparison)
    sections = [
        Section(
            score.name,
            [
                Line(label, difference_cells(score[measure], several=several))
                for label, (measure,) in measure_lines([score])
                if measure is not None and score[measure].difference is not None
            ],
        )
        for score in comparison
    ]
    heads = difference_heads(comparison.confidence, several=several)
    return Sheet(heads, sections, comparison_notes(comparison))


def asked_for_several(comparison: Comparison) -> bool:
    """Return whether p-values are adjusted for several measures that were asked for."""
    adjusted = [one for score in comparison for one in score.values() if one.p_adjusted is not None]
    return len(adjusted) > 1


def difference_heads(confidence: float, *, several: bool) -> list[str]:
    """Return the heads of `difference_cells`."""
    heads = ["before", "after", "difference", f"{100 * confidence:g}% interval", "p"]
    return [*heads, *["p (Holm)"] * several, "better/\nsame/worse"]


def difference_cells(one: Difference, *, several: bool) -> list[Cell]:
    """Return what one line of a comparison shows of a difference; `several` adds Holm's p."""
    counts = f"{one.wins:,}/{one.ties:,}/{one.losses:,}"
    return [
        Cell(shown(one.before)),
        Cell(shown(one.after)),
        Cell(signed(one.difference), "strong"),
        Cell(signed_between(one.interval)),
        Cell(chance(one.p)),
        *[Cell(chance(one.p_adjusted))] * several,
        Cell(counts),
    ]


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return one sentence for all that a comparison stands on, and for what it leaves out."""
    how = "their IDs" if comparison.paired_by == "id" else "their position: they have no IDs"
    notes = [f"{counted(len(comparison.pairs), 'sample')}, paired by {how}"]
    for report, which in ((comparison.before, "before"), (comparison.after, "after")):
        if report.stopped is not None:
            has = f"the report {which} has {counted(len(report), 'sample')}"
            notes.append(partial(has, report.stopped))
    if comparison.corpus_changed:
        notes.append(
            f"the corpora differ: {comparison.before.corpus} before, {comparison.after.corpus} "
            "after; what changed is not the retriever alone"
        )
    before, after = comparison.tokenizers
    if set(before) != set(after) or len(before) > 1:
        notes.append(
            f"tokens were counted by {', '.join(before) or 'nobody'} before, "
            f"{', '.join(after) or 'nobody'} after: these budgets do not compare; "
            "Report.with_tokens counts all alike"
        )
    for score in comparison:
        notes += _score_notes(score)
    for labels, which in ((comparison.only_before, "before"), (comparison.only_after, "after")):
        if labels:
            first = one_line(", ".join(labels[:_NAMED]), 120)
            more = f", … and {len(labels) - _NAMED:,} more" if len(labels) > _NAMED else ""
            notes.append(f"{len(labels):,} only in the report {which}: {first}{more}")
    if comparison.unmatched:
        notes.append(f"scored in one report only: {', '.join(comparison.unmatched)}")
    if any(one.p is not None for score in comparison for one in score.values()):
        notes.append(NULL)
    return notes


_UNPAIRED = {
    "no_common_targets": "no target in common",
    "unscored": "unscored in one report or both",
    "undefined_in_one": "without reference items in one report",
    "undefined": "without reference items",
}


def _score_notes(score: ScoreComparison) -> Iterator[str]:
    one = score.main
    in_groups = f" in {counted(one.groups, 'group')}" if one.groups < one.samples else ""
    yield (
        f"{score.method.label(one.measure)}: {one.wins:,} better, {one.ties:,} the same, "
        f"{one.losses:,} worse, of {one.samples:,}{in_groups}"
    )
    for each in score.values():
        if each.p_adjusted is not None and each.margin is not None:
            yield f"{score.method.label(each.measure)}: {_inferiority(each)}"
    for each in score.values():
        if each.p_adjusted is not None and each.samples:
            yield f"{score.method.label(each.measure)}: {_outcome(each)}"
    if score.differing:
        yield (
            f"{score.differing:,} compared in {score.name} over common targets only: their "
            "targets differ"
        )
    for kind, why in _UNPAIRED.items():
        if score.unpaired[kind]:
            yield f"{score.unpaired[kind]:,} not compared in {score.name}: {why}"


def _outcome(one: Difference) -> str:
    """Return what the interval of a difference shows, and what would settle it."""
    verdict = verdict_of(one)
    if verdict is not Verdict.CANNOT_TELL:
        return f"{verdict}"
    if one.needed is None:
        return f"{verdict}: more samples with this mean change would not settle it"
    return f"{verdict}: about {counted(one.needed, 'sample')} with these changes would settle it"


def _inferiority(one: Difference) -> str:
    margin = f"{one.margin:g}"
    if one.non_inferior is None:
        return f"no sample shows whether the drop is below {margin}"
    if one.non_inferior:
        return f"the drop is below {margin}"
    return f"a drop of {margin} is not ruled out"


def flips_sheet(score: ScoreComparison, limit: int) -> Sheet:
    """Return the `limit` samples whose score changed most, with the targets that made it.

    Raises `ParameterError` for a limit below 0.
    """
    if limit < 0:
        raise ParameterError(f"flips must be at least 0, got {limit}")
    changed = score.main.flips if limit else ()
    most = "largest change" if limit == 1 else f"{limit:,} largest changes"
    first = f", the {most}" if len(changed) > limit else ""
    lines = [
        Line(
            one_line(flip.sample, 60),
            [
                one_line(flip.question or "", 200),
                Cell(
                    f"{shown(flip.before)} → {shown(flip.after)}",
                    "good" if flip.change > 0 else "bad",
                ),
                first_of(flip.gained, _NAMED, 120),
                first_of(flip.lost, _NAMED, 120),
            ],
        )
        for flip in changed[:limit]
    ]
    label = score.method.label(score.main.measure)
    return Sheet(
        ["question", "score", "found now", "lost"],
        [Section("", lines)],
        title=f"{counted(len(changed), 'sample')} changed in {label}{first}:",
        corner="sample",
        sides="ltrtt",
    )


def runs_sheet(runs: Comparisons) -> Sheet:
    """Return reports below each other: each measure of their scores, and its change at last."""
    heads: list[str] = []
    cells: dict[str, list[str]] = {name: [] for name in runs}
    for method in runs.scores:
        for measure in runs.measures or (method.headline,):
            heads += [method.label(measure), f"since {one_line(runs.baseline, 20)}", "p (Holm)"]
            changes = runs.changes(method.name, measure)
            for name, report in runs.items():
                one = changes.get(name)
                mean = shown(report.summary(measure)[method.name][measure].mean)
                change = "" if one is None or one.difference is None else signed(one.difference)
                cells[name] += [mean, change, "" if one is None else chance(one.p_adjusted)]
    lines = [Line(one_line(name, 60), of) for name, of in cells.items()]
    return Sheet(heads, [Section("mean", lines)])


def comparison_markdown(comparison: Comparison, flips: int = 5) -> str:
    """Return a comparison in GitHub's Markdown, with `flips` samples of each score.

    The heading says better, worse, or CANNOT TELL where there is one score. Raises
    `ParameterError` for `flips` below 0.
    """
    samples = counted(len(comparison.pairs), "sample")
    folded = [
        markdown.folded(flips_sheet(score, flips), "What was found and lost")
        for score in comparison
    ]
    text = markdown.text_of(
        f"Context recall, before and after: {samples}", comparison_sheet(comparison)
    )
    return "\n".join([text, *filter(None, folded)])
