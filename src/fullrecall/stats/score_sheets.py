"""The lines, cells and notes of one score, for the sheets of summaries and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fullrecall._util.counts import counted
from fullrecall.measures import Measure
from fullrecall.show.sheet import Cell, Line, Section
from fullrecall.show.text import between, one_line, shown
from fullrecall.stats.bounds import Interval
from fullrecall.stats.estimates import ScoreSummary
from fullrecall.stats.named import ByMeasure


def measure_lines(scores: Sequence[ByMeasure[Any]]) -> list[tuple[str, list[Measure | None]]]:
    """Return the lines of a table: each with its label and the measure of each score there."""
    lines: dict[str, list[Measure | None]] = {}
    # If one score's headline was requested for another score too, the line needs its name.
    named = {each for score in scores for each in score if each.whole != score.method.headline}
    for column, score in enumerate(scores):
        for measure in score:
            if measure in named or measure.whole != score.method.headline:
                label = measure.name
            else:
                label = "all retrieved" if measure.k is None else f"@{measure.k}"
            lines.setdefault(label, [None] * len(scores))[column] = measure
    return list(lines.items())


def mean_cell(mean: float | None = None, interval: Interval | None = None) -> Cell:
    """Return a mean with its interval below it."""
    return Cell(shown(mean), small="" if interval is None else between(interval))


def coverage(scores: Sequence[ScoreSummary]) -> Section:
    """Return the numbers of samples behind each mean."""
    rows = {"scored": [score.scored for score in scores]}
    if any(score.main.groups < score.main.samples for score in scores):
        rows["in groups"] = [score.main.groups for score in scores]
    rows["undefined"] = [score.undefined for score in scores]
    rows["unscored"] = [score.unscored for score in scores]
    if any(score.unjudged for score in scores):
        rows["unjudged"] = [score.unjudged for score in scores]
    return Section(
        "samples", [Line(name, [f"{n:,}" for n in counts]) for name, counts in rows.items()]
    )


def score_notes(score: ScoreSummary) -> Iterator[str]:
    """Yield the reasons why a mean says less than it seems to say."""
    name = score.name
    if not any((score.scored, score.undefined, score.unscored, score.unjudged)):
        yield f"{name}: no sample was given"
    if score.undefined:
        yield f"{score.undefined:,} undefined in {name}: no reference items"
    if score.unjudged:
        yield f"{score.unjudged:,} unjudged in {name}: no relevance judgment; left out"
    if score.rewrite is not None:
        yield f"{name}: {one_line(score.rewrite.sentence, 400)}"
    for reason, count in score.reasons.items():
        yield f"{count:,} unscored in {name}: {one_line(reason, 300)}"
    if score.unscored and score.scored and score.bounds is not None:
        low, high = map(shown, score.bounds)
        label = score.method.label(score.main.measure)
        yield f"{label}: {low} to {high}, depending on unscored samples"
    for estimate in score.values():
        if estimate.undefined > score.undefined:
            unit = estimate.measure.unit
            why = "no target counts" if unit is None else f"the {unit} are not known"
            yield (
                f"{estimate.undefined - score.undefined:,} more undefined in "
                f"{score.method.label(estimate.measure)}: {why}"
            )
    yield from _judging(score)
    if score.over_calls is not None:
        yield _over_calls(score)


def _judging(score: ScoreSummary) -> Iterator[str]:
    """Yield the credit share on unverified quotes, and the targets that a second judge decided."""
    if score.unverified:
        share = f"{score.unverified:.1%}"
        yield f"{share} of the credit in {score.name} rests on quotes that were not verified"
    if score.referred is not None:
        targets, of, calls, tokens = score.referred
        cost = f"{counted(calls, 'call')}, {counted(tokens, 'token')}"
        yield f"{targets:,} of {of:,} targets in {score.name} went to the second judge ({cost})"


def _over_calls(score: ScoreSummary) -> str:
    """Return the means over calls, and the call after which nothing more was found."""
    curve = score.over_calls
    assert curve is not None  # noqa: S101 - whoever calls has looked
    means = " ".join(map(shown, curve.means))
    new = " ".join(f"{count:,}" for count in curve.new_targets)
    sentence = f"{score.name} after call 1, 2, …: {means}; new targets: {new}"
    if len(curve.means) < curve.most:
        sentence += f"; after all {curve.most:,} calls {shown(curve.total)}"
    if curve.last_gain is not None and curve.last_gain < curve.most:
        tokens = "" if curve.tokens is None else f", {curve.tokens:.0%} of the tokens"
        measure_name = curve.measure.text.replace("_", " ")
        sentence += f"; stop after call {curve.last_gain}: the same {measure_name}{tokens}"
    return sentence


def partial(samples: str, stopped: str) -> str:
    """Return the sentence that says that a report is incomplete."""
    return f"{samples}, not all: {one_line(stopped, 300)}"
