"""What the page's script reads: an index of all samples, and their details in blocks.

The index is what the table sorts and filters by, and is read at once. Details, contexts and texts
come in blocks that are read when a sample is opened or searched. Each text and each context stands
once, however many samples hold it, and is named by its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, TypeAlias

from fullrecall.views.page.causes import Causes
from fullrecall.views.page.choices import Choice, first_shown, labels_of
from fullrecall.views.page.columns import Column
from fullrecall.views.page.details import Details
from fullrecall.views.page.encoding import ScriptJson, as_json, as_text, escaped
from fullrecall.views.page.groupings import Groupings
from fullrecall.views.page.readings import STATUSES, Figures, Misses, Reader, Reading, Rows
from fullrecall.views.page.turns import Turns
from fullrecall.report.pairs import Gap
from fullrecall.report.row import Row
from fullrecall.result import Status

SAMPLES_IN_BLOCK = 100
"""Samples whose details are read together."""

_QUESTION_SHOWN = 300
"""Characters of a question that the table can show; the details have all of it."""

FAILING_SHOWN = 5
"""Samples that the first screen names."""


@dataclass(frozen=True)
class Payload:
    """The data of a page as JSON, each block by the ID that the script reads it by.

    `misses[side][score][choice]` are those of all scored samples, `failing` those of the choice
    that the page opens with, and `turned` what of it changed between the sides.
    """

    blocks: list[tuple[str, ScriptJson]]
    first: int
    misses: list[list[list[Misses]]]
    failing: Failing
    turned: Turned


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


@dataclass(frozen=True)
class Turned:
    """What became of the samples from the first side to the last, of the `compared` ones.

    `newly` miss something on the last side and missed nothing on the first, `mended` the other way
    round, `still` on both. `worst` is that of the first of these; see `Failing`.
    """

    compared: int
    newly: int
    mended: int
    still: int
    worst: Sequence[tuple[str, str, int]]


def payload(  # noqa: PLR0917 - what a page is made of
    samples: Iterable[Rows],
    columns: Sequence[Column],
    choices: Sequence[Choice],
    sides: Sequence[str],
    causes: Causes,
    groupings: Groupings,
    of_all: Sequence[tuple[int, int]] = (),
    turned_of_all: Sequence[Turns] = (),
) -> Payload:
    """Return the data of a page: each sample with its row on each of the `sides`.

    The page opens with the choice that `causes` were told for, else with the headline. `of_all`
    says, where the samples are not all that there are, how many of all miss something by each
    choice, and how many are scored; `turned_of_all` what became of them between two sides.
    """
    details = Details(causes, SAMPLES_IN_BLOCK)
    totals = [[Counter[Figures]() for _ in columns] for _ in sides]
    entries: list[str] = []
    first = first_shown(choices, columns, causes.labels)
    failing = _Failures(first)
    readers = [Reader(column, nth, choices) for nth, column in enumerate(columns)]
    for position, rows in enumerate(samples):
        one = next(row for row in rows if row is not None)
        readings = [reader.read(rows) for reader in readers]
        found = details.add(rows, one, readings)
        entries.append(_entry(rows, one, readings, found, groupings.of(position)))
        failing.add(position, rows, one, readings)
        for each in readings:
            for side, cell in each.cells.items():
                totals[side][each.nth][cell.figures] += 1
    blocks = dict(details.blocks())
    index: dict[str, Any] = {
        "sides": list(sides),
        "choices": [choice.label for choice in choices],
        "first": first,
        "scores": [_score(nth, column, choices, columns) for nth, column in enumerate(columns)],
        "causes": [[line.cause, line.name] for line in causes.lines],
        "statuses": [str(status) for status in STATUSES],
        "gaps": list(_GAPS.values()),
        "groupings": groupings.named,
        "failing": list(map(list, of_all)),
        "turned": list(map(list, turned_of_all)),
        "samples": [],
        "perBlock": SAMPLES_IN_BLOCK,
        "contextsPerBlock": details.contexts_per_block,
        "texts": details.texts_per_block,
    }
    before, after = as_json(index).split('"samples":[]', 1)
    whole = escaped(f'{before}"samples":[{",".join(entries)}]{after}')
    return Payload(
        [("index", whole), *blocks.items()],
        first,
        [[_summed(score, len(choices)) for score in side] for side in totals],
        failing.told(),
        failing.turned(),
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


def _summed(counts: Mapping[Figures, int], choices: int) -> list[Misses]:
    """Return the sums over all samples, by each choice."""
    return [
        Misses(
            sum(figures.missed[nth] * times for figures, times in counts.items()),
            sum(figures.targets[nth] * times for figures, times in counts.items()),
        )
        for nth in range(choices)
    ]


_Missing: TypeAlias = tuple[float, int, int, Row]
"""A sample that misses something: its lowest value, the most missed below 0, its place."""


class _Failures:
    """Counts the samples that miss something by a choice on the last side."""

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._missing: list[_Missing] = []
        self._scored = self._unscored = 0
        # Of what both ends measured: whether it missed something there, with the place above.
        self._turns: Counter[tuple[bool, bool]] = Counter()
        self._newly: list[_Missing] = []

    def add(self, position: int, rows: Rows, one: Row, readings: Sequence[Reading]) -> None:
        """Count a sample."""
        last, choice = len(rows) - 1, self._choice
        if rows[last] is None:
            return
        cells = [each.cells[last] for each in readings]
        found = [cell.figures for cell in cells]
        values = [value for of in found if (value := of.values[choice]) is not None]
        if not values:
            self._unscored += all(cell.read.status is Status.UNSCORED for cell in cells)
            return
        self._scored += 1
        missed = max([of.missed[choice] for of in found])
        told = min(values), -missed, position, one
        if missed:
            self._missing.append(told)
        if not last:
            return
        earlier = [each.cells[0].figures for each in readings if 0 in each.cells]
        if any(of.values[choice] is not None for of in earlier):
            missed_before = any(of.missed[choice] for of in earlier)
            self._turns[missed_before, bool(missed)] += 1
            if missed and not missed_before:
                self._newly.append(told)

    def told(self) -> Failing:
        """Return what was counted, with the worst of them."""
        return Failing(len(self._missing), self._scored, self._unscored, _worst(self._missing))

    def turned(self) -> Turned:
        """Return what changed from the first side to the last."""
        turns = self._turns
        return Turned(
            turns.total(),
            turns[False, True],
            turns[True, False],
            turns[True, True],
            _worst(self._newly),
        )


def _worst(of: Sequence[_Missing]) -> list[tuple[str, str, int]]:
    worst = nsmallest(FAILING_SHOWN, of)  # places differ: rows are never compared
    return [(row.label, _brief(row.sample.user_input), at) for *_, at, row in worst]


def _entry(
    rows: Rows,
    one: Row,
    readings: Sequence[Reading],
    causes: str,
    groups: list[list[int]],
) -> str:
    """Return as JSON what the table shows of a sample: on each side, for each score, three values.

    They are the number of its status, and by each choice its value, None where there is none, and
    how many targets it missed.
    """
    sides = [
        "null"
        if row is None
        else f"[{','.join([each.cells[side].figures.json for each in readings])}]"
        for side, row in enumerate(rows)
    ]
    made = f'"l":{as_text(one.label)},"q":{as_text(_brief(one.sample.user_input))}'
    if one.sample.group is not None:
        made += f',"g":{as_text(one.sample.group)}'
    if causes:
        made += f',"c":{causes}'
    if len(rows) > 1:
        gaps = [None if each.gap is None else _GAP_NUMBERS[each.gap] for each in readings]
        made += f',"n":{as_json(gaps)}'
    if groups:
        made += f',"s":{as_json(groups)}'
    return f'{{{made},"v":[{",".join(sides)}]}}'


def _brief(question: str | None) -> str:
    question = question or ""
    return question if len(question) <= _QUESTION_SHOWN else f"{question[:_QUESTION_SHOWN]}…"
