"""The samples of two reports side by side, and what changed between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, get_args

from fullrecall.measures import Measure
from fullrecall.report.difference import Changed, Changes
from fullrecall.report.draws import drawn_places
from fullrecall.report.pairs import (
    Common,
    Gap,
    PairedBy,
    Pairing,
    common_targets,
    ends_of_change,
    gap_before,
)
from fullrecall.table.row import Row
from fullrecall.report.totals import Totals

Places = tuple[int, int]
"""Where the results of one score stand in the rows before and after."""


class Compared(NamedTuple):
    """One score in both reports: why samples are not compared, and the changes of its measures.

    `differing` counts the samples of which one report has other targets too.
    """

    unpaired: Mapping[str, int]
    differing: int
    changes: Sequence[Changes]


class Match(ABC):
    """The samples of two reports: those that both have, and those of one report alone.

    `only_before` and `only_after` are the labels of the latter.
    """

    by: PairedBy
    pairs: Sequence[tuple[Row, Row]]
    only_before: Sequence[str]
    only_after: Sequence[str]

    @property
    @abstractmethod
    def rows(self) -> Iterator[tuple[Row | None, Row | None]]:
        """Every sample as before and after: the pairs, then those of one report alone."""

    @abstractmethod
    def drawn(self, n: int, seed: int) -> Iterator[tuple[Row, Row]]:
        """Yield `n` of the pairs, drawn at random, in their order; all if there are fewer."""

    @abstractmethod
    def compared(self, places: Places, measures: Sequence[Measure]) -> Compared:
        """Return what changed in the score that stands at these places."""

    @abstractmethod
    def ends(self, places: Places, measure: Measure) -> tuple[Totals, Totals]:
        """Return the changes with what is not measured at its worst and at its best."""


class KeptMatch(Match):
    """Samples of reports that are in memory."""

    def __init__(self, pairing: Pairing) -> None:
        self.by = pairing.by
        self.pairs = pairing.pairs
        self.only_before = tuple(row.label for row in pairing.only_before)
        self.only_after = tuple(row.label for row in pairing.only_after)
        self._gone, self._new = pairing.only_before, pairing.only_after

    @property
    def rows(self) -> Iterator[tuple[Row | None, Row | None]]:
        """Every sample as before and after: the pairs, then those of one report alone."""
        yield from self.pairs
        yield from ((row, None) for row in self._gone)
        yield from ((None, row) for row in self._new)

    def drawn(self, n: int, seed: int) -> Iterator[tuple[Row, Row]]:
        """Yield `n` of the pairs, drawn at random, in their order; all if there are fewer."""
        for nth in drawn_places(len(self.pairs), n, seed):
            yield self.pairs[nth]

    def compared(self, places: Places, measures: Sequence[Measure]) -> Compared:
        """Return what changed in the score that stands at these places."""
        place, other = places
        unpaired = gaps(len(self._new))
        unpaired.update(gap_before(row.results[place]) for row in self._gone)
        changes = [Changes(measure) for measure in measures]
        changed: list[list[tuple[float, Changed]]] = [[] for _ in measures]
        differing = 0
        for one, two in self.pairs:
            both = common_targets(one.results[place], two.results[other])
            if not isinstance(both, Common):
                unpaired[both] += 1
                continue
            differing += both.differ
            group = group_of(one, two)
            for each, moved in zip(changes, changed, strict=True):
                before, after = both.before[each.measure], both.after[each.measure]
                if before is None or after is None:
                    continue
                gained = each.add(before, after, group)
                if gained:
                    moved.append((gained, Changed(one, two, both)))
        for each, moved in zip(changes, changed, strict=True):
            each.changed = partial(_ordered, moved)
        return Compared(plain(unpaired), differing, changes)

    def ends(self, places: Places, measure: Measure) -> tuple[Totals, Totals]:
        """Return the changes with what is not measured at its worst and at its best."""
        place, other = places
        low, high = Totals(), Totals()
        for one, two in self.rows:
            if one is None:
                continue
            after = None if two is None else two.results[other]
            ends = ends_of_change(one.results[place], after, measure)
            if ends is not None:
                group = one.sample.group if two is None else group_of(one, two)
                low.add(ends[0], group)
                high.add(ends[1], group)
        return low, high


def gaps(only_after: int) -> Counter[Gap]:
    """Return counts of why samples are not compared, with those that one report alone has."""
    unpaired: Counter[Gap] = Counter(dict.fromkeys(get_args(Gap), 0))
    unpaired["only_after"] = only_after
    return unpaired


def plain(unpaired: Counter[Gap]) -> dict[str, int]:
    """Return the counts as a comparison has them."""
    return {str(why): count for why, count in unpaired.items()}


def group_of(before: Row, after: Row) -> str | None:
    """Return the group of a sample that two reports have."""
    return before.sample.group if before.sample.group is not None else after.sample.group


def _ordered(moved: Sequence[tuple[float, Changed]]) -> list[Changed]:
    return [one for _, one in sorted(moved, key=lambda one: -abs(one[0]))]
