"""Which samples a page holds where there are too many for one file, and what it says of all.

Up to 10,000 samples a page has all of them. Of more it has those that matter, and says so: the
figures are of all samples, the table is of some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from fullrecall.counts import counted
from fullrecall.measures import Measure
from fullrecall.report.lazy_rows import LazyRows
from fullrecall.views.page.choices import Choice
from fullrecall.views.page.columns import Column
from fullrecall.views.page.readings import Misses
from fullrecall.report.row import Row
from fullrecall.result import Result, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_ROWS = 10_000
"""Samples of which a page holds all."""

LOWEST = 1_000
"""Samples with the lowest scores that a page of more holds."""

DRAWN = 1_000
"""Others that miss something, drawn at random."""

UNSCORED = 200
"""Samples that no score could measure, drawn at random."""

_BATCH = 10_000


@dataclass(frozen=True)
class Selection:
    """The samples of a page: `rows`; of all of them if `sentence` is empty.

    `misses[score][choice]` and `failing[choice]`, the samples that miss something and those that
    are scored, are of all samples, and so is `unscored`, those that no score could measure.
    """

    rows: Sequence[Row]
    sentence: str = ""
    misses: Sequence[Sequence[Misses]] = ()
    failing: Sequence[tuple[int, int]] = ()
    unscored: int = 0


def selection(
    rows: Sequence[Row], columns: Sequence[Column], choices: Sequence[Choice], first: int
) -> Selection:
    """Return which samples the page of a report holds, by the choice that it opens with."""
    if len(rows) <= MOST_ROWS:
        return Selection(list(rows))
    import numpy as np

    counts = [_Counts(len(choices)) for _ in columns]
    failing = np.zeros((len(choices), 2), np.int64)
    lowest, drawn, unscored = _Least(LOWEST), _Least(LOWEST + DRAWN), _Least(UNSCORED)
    rng, without = np.random.default_rng(0), 0
    for start, figures in _figures(rows, columns, choices):
        for count, figure in zip(counts, figures, strict=True):
            count.add(figure)
        places = start + np.arange(len(figures[0]))
        chance = rng.random(len(places))
        for nth in range(len(choices)):
            values = np.stack([figure[:, 3 * nth + 1] for figure in figures])
            missed = np.stack([figure[:, 3 * nth + 2] for figure in figures]).max(axis=0)
            scored = ~np.isnan(values).all(axis=0)
            missing = scored & (missed > 0)
            failing[nth] += missing.sum(), scored.sum()
            if nth == first:
                least = np.where(np.isnan(values), 2.0, values).min(axis=0)
                lowest.add(places[missing], least[missing], -missed[missing])
                drawn.add(places[missing], chance[missing])
        gap = np.all([figure[:, 0] == 1 for figure in figures], axis=0)
        unscored.add(places[gap], chance[gap])
        without += int(gap.sum())
    worst = lowest.places
    others = [place for place in drawn.places if place not in set(worst)][:DRAWN]
    chosen = sorted({*worst, *others, *unscored.places})
    every = int(failing[first][0])
    parts = [f"the {len(worst):,} lowest of the {every:,} that miss something"] if worst else []
    parts += [f"{len(others):,} more of these, drawn at random"] if others else []
    if without:
        parts.append(f"{len(unscored.places):,} of the {without:,} that no score could measure")
    sentence = (
        f"The table below holds {counted(len(chosen), 'sample')} of {len(rows):,}: "
        f"{', '.join(parts) or 'none misses anything'}. What is filtered, searched and sorted is "
        "these; means, intervals, slices and counts of what fails are of all."
    )
    return Selection(
        _at(rows, chosen),
        sentence,
        [count.misses for count in counts],
        [(int(missing), int(scored)) for missing, scored in failing],
        without,
    )


def _at(rows: Sequence[Row], places: Sequence[int]) -> list[Row]:
    if isinstance(rows, LazyRows):
        return list(rows.rows_at(places))
    return [rows[place] for place in places]


def _figures(
    rows: Sequence[Row], columns: Sequence[Column], choices: Sequence[Choice]
) -> Iterator[tuple[int, list[Floats]]]:
    """Yield some rows at a time: where they start, and the figures of each score, a row each.

    They are 1.0 for an unscored result, and for each choice the value, NaN where there is none,
    the targets that were missed, and those that count.
    """
    import numpy as np

    scores = [
        (column.positions[-1], [choice.measures[nth] for choice in choices])
        for nth, column in enumerate(columns)
    ]
    if isinstance(rows, LazyRows):
        sides = [rows.figures(place, measures, _of_result) for place, measures in scores]
        for together in zip(*sides, strict=True):
            yield together[0][0], [figures for _, figures in together]
        return
    for start in range(0, len(rows), _BATCH):
        some = rows[start : start + _BATCH]
        yield (
            start,
            [
                np.array([_of_result(row.results[place], measures) for row in some])
                for place, measures in scores
            ],
        )


def _of_result(result: Result, measures: Sequence[Measure]) -> list[float]:
    """Return the figures of one result; see `_figures`."""
    made = [float(result.status is Status.UNSCORED)]
    for measure in measures:
        value = result[measure]
        missed = targets = 0
        if result.status is Status.SCORED:
            findings = measure.counted(result.ranked)
            targets = len(findings)
            missed = sum(not finding.found_at(measure.k) for finding in findings)
        made += [float("nan") if value is None else value, missed, targets]
    return made


class _Counts:
    """What all results of one score missed, by each choice."""

    def __init__(self, choices: int) -> None:
        self._sums = [(0, 0)] * choices

    def add(self, figures: Floats) -> None:
        """Add the figures of some rows."""
        sums = figures.sum(axis=0, where=figures == figures)  # noqa: PLR0124 - all but NaN
        self._sums = [
            (missed + int(sums[3 * nth + 2]), targets + int(sums[3 * nth + 3]))
            for nth, (missed, targets) in enumerate(self._sums)
        ]

    @property
    def misses(self) -> list[Misses]:
        """What was missed, of how many targets."""
        return [Misses(*one) for one in self._sums]


class _Least:
    """The rows with the least of some numbers: of equal ones by the next, at last the first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[float, ...]] = []

    def add(self, places: NDArray[np.int64], *numbers: Floats) -> None:
        """Add rows by their places, each with its numbers."""
        import numpy as np

        if not len(places):
            return
        if len(self._kept) == self._most:  # most rows are beyond the last that is kept
            near = numbers[0] <= self._kept[-1][0]
            places, numbers = places[near], tuple(each[near] for each in numbers)
        order = np.lexsort((places, *reversed(numbers)))[: self._most]
        new = zip(*(each[order].tolist() for each in numbers), places[order].tolist(), strict=True)
        self._kept = sorted([*self._kept, *new])[: self._most]

    @property
    def places(self) -> list[int]:
        """The places of the rows, the least first."""
        return [int(one[-1]) for one in self._kept]


def heads(rows: Sequence[Row]) -> Iterable[Row]:
    """Return the rows that tell how a report came about: all, or the first of too many."""
    return rows if len(rows) <= MOST_ROWS else islice(rows, MOST_ROWS)
