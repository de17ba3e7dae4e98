"""One score in two reports: its changes, the samples that changed most, the unpaired samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

from fullrecall._util.counts import counted
from fullrecall._util.truth import NoTruth
from fullrecall.errors import ParameterError
from fullrecall.measures import Measure
from fullrecall.scorers.result import Method
from fullrecall.show.sheet import Cell, CellLike, Line, Section, Sheet
from fullrecall.show.text import first_of, one_line, shown
from fullrecall.stats.bounds import holm
from fullrecall.stats.change import Difference, Direction
from fullrecall.stats.change_sheets import change_sentence
from fullrecall.stats.named import ByMeasure
from fullrecall.stats.plain import plain, plain_of

NAMED = 5
"""How many samples or targets a sentence names of many."""


@dataclass(frozen=True, repr=False)
class ScoreComparison(NoTruth, ByMeasure[Difference]):
    """One score in both reports: `score[Recall @ 5].difference`.

    `unpaired` counts the samples that are not compared: those that only one report has, and those
    without a score in one or both: `unscored` in any, else `undefined_in_one`, `undefined` or
    `unjudged` in both, or `no_common_targets`. `differing` counts the compared samples with other
    targets in one report: only the common targets count.
    """

    kind: ClassVar[str] = "comparison"

    method: Method
    measured: Mapping[Measure, Difference]
    unpaired: Mapping[str, int]
    differing: int

    def __repr__(self) -> str:
        main = self.main
        sentence = change_sentence(self.method.label(main.measure), main)
        return f"ScoreComparison({sentence})"

    @property
    def outcome(self) -> Direction:
        """The outcome of `main`."""
        return self.main.outcome

    @property
    def gaps(self) -> int:
        """How many samples that should have a score in both reports are not compared.

        Samples that only the report `after` has are new, and those without targets in both have
        no recall: neither counts.
        """
        kinds = ("only_before", "unscored", "undefined_in_one", "no_common_targets")
        return sum(self.unpaired[kind] for kind in kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        differences = plain(tuple(self.values()))
        return {**plain_of(self, "name", "unpaired", "differing"), "differences": differences}


def adjusted(scores: Sequence[ScoreComparison], *, all_asked: bool) -> tuple[ScoreComparison, ...]:
    """Return the comparisons with one error rate for all requested measures, or each main one.

    By Holm's method, the probability that any is wrongly called better or worse is
    1 - confidence at most, for any dependence between them. Each interval remains its own.
    """
    tested = [list(score.values()) if all_asked else [score.main] for score in scores]
    every = list(chain(*tested))
    p_values = zip(
        holm([1.0 if each.p is None else each.p for each in every]),
        holm([1.0 if each.p_t is None else each.p_t for each in every]),
        strict=True,
    )
    return tuple(
        replace(
            score,
            measured={
                **score.measured,
                **{each.measure: each.corrected(*next(p_values)) for each in differences},
            },
        )
        for score, differences in zip(scores, tested, strict=True)
    )


_UNPAIRED = {
    "no_common_targets": "no target in common",
    "unscored": "unscored in one report or both",
    "undefined_in_one": "without reference items in one report",
    "undefined": "without reference items",
    "unjudged": "without a relevance judgment",
}


def unpaired_notes(score: ScoreComparison) -> Iterator[str]:
    """Yield how many samples changed, and how many were not compared, with the reason."""
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
        raise ParameterError(f"must be at least 0, got {limit}", "flips")
    changed = score.main.flips if limit else ()
    most = "largest change" if limit == 1 else f"{limit:,} largest changes"
    first = f", the {most}" if len(changed) > limit else ""
    lines = []
    for flip in changed[:limit]:
        values = f"{shown(flip.before)} → {shown(flip.after)}"
        cells: list[CellLike] = [
            one_line(flip.question or "", 200),
            Cell(values, "good" if flip.change > 0 else "bad"),
            *(first_of(labels, NAMED, 120) for labels in (flip.gained, flip.lost)),
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
