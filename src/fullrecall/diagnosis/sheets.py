"""A diagnosis as sheets: what to change, why targets were missed, and some of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fullrecall.counts import counted
from fullrecall.errors import ParameterError
from fullrecall.views.sheet import Line, Section, Sheet
from fullrecall.views.text import NOTHING, one_line

if TYPE_CHECKING:
    from fullrecall.diagnosis.diagnosis import Diagnosis


def sheets(diagnosis: Diagnosis) -> list[Sheet]:
    """Return the changes by their gain, and the causes of each score's misses with what to do."""
    drawn = ""
    if diagnosis.drawn_from not in (None, diagnosis.samples):
        drawn = f" drawn at random of {diagnosis.drawn_from:,}"
    samples = f"{counted(diagnosis.samples, 'sample')}{drawn}"
    if not diagnosis.misses:
        return [Sheet([], [], [f"Nothing was missed in {samples}."])]
    notes = [f"Diagnosed from {samples}."] if drawn else []
    return [_changes(diagnosis), _causes(diagnosis, notes)]


def examples(diagnosis: Diagnosis, most: int) -> Sheet:
    """Return `most` misses of each cause; raises `ParameterError` below 0."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise ParameterError(f"misses must be a whole number of at least 0, got {most!r}")
    sections: dict[str, list[Line]] = {str(cause): [] for cause in diagnosis.counts()}
    for miss in diagnosis.misses:
        lines = sections[str(miss.cause)]
        if len(lines) < most:
            target, detail = one_line(miss.target, 80), one_line(miss.detail, 200)
            lines.append(Line(one_line(miss.sample, 40), [miss.score, target, detail]))
    return Sheet(
        ["score", "target", "why"],
        [Section(_words(cause), lines) for cause, lines in sections.items() if lines],
        corner="sample",
        sides="lltt",
    )


def _changes(diagnosis: Diagnosis) -> Sheet:
    several = len(diagnosis.scores) > 1
    lines = [
        Line(
            change.action,
            [
                change.gain_text,
                "" if change.cost is None else change.cost.text,
                *[change.score] * several,
            ],
        )
        for change in diagnosis.changes
    ]
    heads = ["gain", "cost", *["score"] * several]
    sides = f"trl{'l' * several}"
    return Sheet(heads, [Section("", lines)], (), "What to change", "what to change", sides)


def _causes(diagnosis: Diagnosis, notes: list[str]) -> Sheet:
    by_score = {score: Counter(diagnosis.counts(score)) for score in diagnosis.scores}
    lines = [
        Line(_words(cause), [_cell(counts[cause], counts.total()) for counts in by_score.values()])
        for cause in diagnosis.counts()
    ]
    missed = Line("missed", [f"{counts.total():,}" for counts in by_score.values()])
    fixes = [f"{_words(cause)}: {fix}" for cause, fix in diagnosis.fixes.items()]
    sections = [Section("cause", lines), Section("targets", [missed])]
    return Sheet(list(by_score), sections, [*fixes, *notes])


def _words(cause: object) -> str:
    return str(cause).replace("_", " ")


def _cell(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.0%})" if count else NOTHING
