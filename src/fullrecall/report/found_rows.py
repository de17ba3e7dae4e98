"""Rows of which no more is kept than where IDs were found: results are made when someone looks.

A summary reads the ranks of all samples at once. Who reads a row gets what scoring would have
given, and nothing that is made then can fail: all that could was done before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fullrecall.measures.ranks import RankLists
from fullrecall.report.row import Row
from fullrecall.result import Result
from fullrecall.sample import Sample


class ByRanks(Protocol):
    """A scorer whose result follows from the ranks of single reference IDs."""

    def by_ranks(self, sample: Sample, hits: list[int], /) -> Result:
        """Return the result for a sample whose reference IDs were found at these ranks."""
        ...


class FoundRows:
    """Rows in order: a sample and the ranks of its reference IDs, or a row that is there already.

    Samples whose ranks alone are kept have single reference IDs, all of a grade above 0, retrieved
    IDs of which none is missing, and no record of their retrieval. `graded` tells whether any has
    other grades than 1.
    """

    __slots__ = ("_made", "_scorers", "graded", "ranks", "samples", "there")

    def __init__(self, scorers: Sequence[ByRanks]) -> None:
        self._scorers = tuple(scorers)
        self.graded = False
        self.samples: list[Sample] = []
        self.ranks: list[list[int]] = []
        self.there: dict[int, Row] = {}
        """The rows that are there, by their places, of which no ranks are told."""
        self._made: dict[str, list[Row]] = {}

    def add(self, sample: Sample, ranks: list[int]) -> None:
        """Add the next sample, with the ranks at which its references are found."""
        self.samples.append(sample)
        self.ranks.append(ranks)
        if sample.single_ids.grades is not None:  # type: ignore[union-attr] # of these samples
            self.graded = True

    def clear(self) -> None:
        """Forget all rows."""
        self.samples.clear()
        self.ranks.clear()
        self.there.clear()
        self.graded = False

    def add_row(self, row: Row) -> None:
        """Add the next row."""
        self.there[len(self.samples)] = row
        self.samples.append(row.sample)
        self.ranks.append([])

    def told(self, places: Sequence[int] | None = None) -> RankLists:
        """Return what ranks tell of all rows, or of those at some places; of none that is there."""
        samples, ranks = self.samples, self.ranks
        if places is not None:
            samples = [samples[place] for place in places]
            ranks = [ranks[place] for place in places]
        return RankLists(
            [len(sample.single_ids.ids) for sample in samples],  # type: ignore[union-attr]
            ranks,
            [len(sample.listed_ids) for sample in samples],  # type: ignore[arg-type]
        )

    def __len__(self) -> int:
        return len(self.samples)

    def rows(self) -> list[Row]:
        """Return all rows: one list, whoever asks and however many threads do."""
        made = self._made.get("rows")
        if made is None:
            made = self._made.setdefault("rows", [*map(self._row, range(len(self)))])
        return made

    def _row(self, place: int) -> Row:
        if place in self.there:
            return self.there[place]
        sample, ranks = self.samples[place], self.ranks[place]
        results = tuple([scorer.by_ranks(sample, ranks) for scorer in self._scorers])
        return Row(place + 1, sample, results)
