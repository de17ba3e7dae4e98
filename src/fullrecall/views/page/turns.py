"""What became of samples between two reports, counted where a page cannot hold all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from fullrecall.views.page.choices import Choice
from fullrecall.views.page.columns import Column
from fullrecall.views.page.readings import Figures, Reader
from fullrecall.report.row import Row

MOST_TURNED = 20_000
"""Pairs that are read to count them: of more, so many are drawn at random."""


class Turns(NamedTuple):
    """Of the `compared` samples: how many miss something in the second report alone, and so on.

    `newly` miss something there and missed nothing in the first, `mended` the other way round,
    `still` in both.
    """

    compared: int
    newly: int
    mended: int
    still: int


def turns(
    pairs: Iterable[tuple[Row, Row]], columns: Sequence[Column], choices: Sequence[Choice]
) -> list[Turns]:
    """Return what became of samples by each choice; a score that either side lacks is left out."""
    readers = [Reader(column, nth, choices) for nth, column in enumerate(columns)]
    seen: Counter[tuple[_Side, _Side]] = Counter()
    for pair in pairs:
        cells = [reader.read(pair).cells for reader in readers]
        before, after = (tuple([each[side].figures for each in cells]) for side in (0, 1))
        seen[before, after] += 1
    return [_counted(seen, choice) for choice in range(len(choices))]


_Side: TypeAlias = tuple[Figures, ...]


def _counted(seen: Counter[tuple[_Side, _Side]], choice: int) -> Turns:
    found: Counter[tuple[bool, bool]] = Counter()
    for (before, after), times in seen.items():
        old, new = _fails(before, choice), _fails(after, choice)
        if old is not None and new is not None:
            found[old, new] += times
    return Turns(found.total(), found[False, True], found[True, False], found[True, True])


def _fails(side: _Side, choice: int) -> bool | None:
    """Return whether any score misses something; None where none has a value."""
    if all(figures.values[choice] is None for figures in side):
        return None
    return any(figures.missed[choice] for figures in side)
