"""What the page's script reads: an index of all samples, and their details in blocks.

The index is what the table sorts and filters by, and is read at once. Details, contexts and texts
come in blocks that are read when a sample is opened or searched. Each text and each context stands
once, however many samples hold it, and is named by its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from fullrecall.report.page.causes import Causes
from fullrecall.report.page.choices import Choice, first_shown, labels_of
from fullrecall.report.page.columns import Column
from fullrecall.report.page.details import Details
from fullrecall.report.page.groupings import Groupings
from fullrecall.report.page.readings import Misses, Reading, Rows, reading
from fullrecall.report.page.tables import given
from fullrecall.report.pairs import Gap
from fullrecall.report.row import Row
from fullrecall.result import Status

SAMPLES_IN_BLOCK = 100
"""Samples whose details are read together."""

_QUESTION_SHOWN = 300
"""Characters of a question that the table can show; the details have all of it."""

FAILING_SHOWN = 5
"""Samples that the first screen names."""

_STATUSES = list(Status)
_NUMBER_OF = {status: number for number, status in enumerate(_STATUSES)}
_UNSCORED = _NUMBER_OF[Status.UNSCORED]


@dataclass(frozen=True)
class Payload:
    """The data of a page as plain JSON values, each block by the ID that the script reads it by.

    `misses[side][score][choice]` are those of all scored samples, `failing` those of the choice
    that the page opens with.
    """

    blocks: list[tuple[str, Any]]
    first: int
    misses: list[list[list[Misses]]]
    failing: Failing


@dataclass(frozen=True)
class Failing:
    """The samples that miss something by any score on the last side, of the `scored` ones.

    `unscored` counts the samples that no score could measure. `worst` has the label, the question,
    and the place of those with the lowest scores.
    """

    samples: int
    scored: int
    unscored: int
    worst: Sequence[tuple[str, str, int]]


def payload(  # noqa: PLR0917 - what a page is made of
    samples: Iterable[Rows],
    columns: Sequence[Column],
    choices: Sequence[Choice],
    sides: Sequence[str],
    causes: Causes,
    groupings: Groupings,
    failing: Sequence[tuple[int, int]] = (),
) -> Payload:
    """Return the data of a page: each sample with its row on each of the `sides`.

    The page opens with the choice that `causes` were told for, else with the headline. `failing`
    says, where the samples are not all that there are, how many of all miss something by each
    choice, and how many are scored.
    """
    details = Details(causes)
    totals = [[[[0, 0] for _ in choices] for _ in columns] for _ in sides]
    entries: list[dict[str, Any]] = []
    for position, rows in enumerate(samples):
        one = next(row for row in rows if row is not None)
        readings = [reading(rows, column, nth, choices) for nth, column in enumerate(columns)]
        found = details.add(rows, one, readings)
        entries.append(_entry(rows, one, readings, found, groupings.of(position)))
        _add(totals, readings)
    blocks = dict(details.blocks(SAMPLES_IN_BLOCK))
    first = first_shown(choices, columns, causes.labels)
    index: dict[str, Any] = {
        "sides": list(sides),
        "choices": [choice.label for choice in choices],
        "first": first,
        "scores": [_score(nth, column, choices, columns) for nth, column in enumerate(columns)],
        "causes": [[line.cause, line.name] for line in causes.lines],
        "statuses": [str(status) for status in _STATUSES],
        "gaps": list(_GAPS.values()),
        "groupings": groupings.named,
        "failing": list(map(list, failing)),
        "samples": entries,
        "perBlock": SAMPLES_IN_BLOCK,
        "contextsPerBlock": details.contexts_per_block,
        "texts": [len(block) for name, block in blocks.items() if name.startswith("texts-")],
    }
    return Payload(
        [("index", index), *blocks.items()],
        first,
        [[[Misses(*one) for one in score] for score in side] for side in totals],
        _failing(entries, first),
    )


_GAPS: Mapping[Gap, str] = {
    "only_before": "only before",
    "only_after": "only after",
    "unscored": "unscored",
    "undefined": "undefined",
    "undefined_in_one": "undefined in one",
    "no_common_targets": "no common targets",
}
"""Why a score of a sample is not compared, by its number."""

_GAP_NUMBERS = {gap: number for number, gap in enumerate(_GAPS)}


def _score(
    nth: int, column: Column, choices: Sequence[Choice], columns: Sequence[Column]
) -> dict[str, Any]:
    return {
        "letter": column.letter,
        "name": column.method.name,
        "measures": [
            {"label": labels_of(choice, columns)[nth], "k": choice.measures[nth].k}
            for choice in choices
        ],
    }


def _add(totals: list[list[list[list[int]]]], readings: Sequence[Reading]) -> None:
    for one in readings:
        for side, cell in one.cells.items():
            for so_far, missed, targets in zip(
                totals[side][one.nth], cell.missed, cell.targets, strict=True
            ):
                so_far[0] += missed
                so_far[1] += targets


def _failing(entries: Sequence[dict[str, Any]], choice: int) -> Failing:
    """Return which samples miss something by a choice on the last side, from the index."""
    failing: list[tuple[float, int, int]] = []
    scored = unscored = 0
    for position, entry in enumerate(entries):
        cells = entry["v"][-1] or ()
        values = [cell[1][choice] for cell in cells if cell[1][choice] is not None]
        if not values:
            unscored += bool(cells) and all(cell[0] == _UNSCORED for cell in cells)
            continue
        scored += 1
        missed = max(cell[2][choice] for cell in cells)
        if missed:
            failing.append((min(values), -missed, position))
    worst = [
        (entries[position]["l"], entries[position]["q"], position)
        for *_, position in nsmallest(FAILING_SHOWN, failing)
    ]
    return Failing(len(failing), scored, unscored, worst)


def _entry(
    rows: Rows,
    one: Row,
    readings: Sequence[Reading],
    causes: list[list[int]],
    groups: list[list[int]],
) -> dict[str, Any]:
    """Return what the table shows of a sample: on each side, for each score, a list of three.

    They are the number of its status, and by each choice its value, None where there is none, and
    how many targets it missed.
    """
    question = one.sample.user_input or ""
    entry: dict[str, Any] = {
        "l": one.label,
        "q": question if len(question) <= _QUESTION_SHOWN else f"{question[:_QUESTION_SHOWN]}…",
        "v": [
            None
            if row is None
            else [
                [_NUMBER_OF[cell.result.status], cell.values, cell.missed]
                for cell in [each.cells[side] for each in readings]
            ]
            for side, row in enumerate(rows)
        ],
    }
    gaps = None
    if len(rows) > 1:
        gaps = [None if each.gap is None else _GAP_NUMBERS[each.gap] for each in readings]
    return entry | given(g=one.sample.group, c=causes or None, n=gaps, s=groups or None)
