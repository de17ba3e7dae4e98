"""Rows of which no more is kept than where IDs were found: results are made when someone looks.

A summary reads the ranks of all samples at once. Who reads a row gets what scoring would have
given, and nothing that is made then can fail: all that could was done before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from fullrecall.report.row import Row
from fullrecall.result import Result
from fullrecall.sample import Sample


class ByRanks(Protocol):
    """A scorer whose result follows from the ranks of single reference IDs of grade 1."""

    def by_ranks(self, sample: Sample, hits: list[int], /) -> Result:
        """Return the result for a sample whose reference IDs were found at these ranks."""
        ...


class FoundRows:
    """Rows in order: a sample and the ranks of its reference IDs, or a row that is there already.

    The samples that are kept with ranks have single reference IDs of grade 1, retrieved IDs of
    which none is missing, and no recorded retrieval.
    """

    __slots__ = ("_made", "_scorers", "found", "samples")

    def __init__(self, scorers: Sequence[ByRanks]) -> None:
        self._scorers = tuple(scorers)
        self.samples: list[Sample] = []
        self.found: list[list[int] | Row] = []
        self._made: dict[str, list[Row]] = {}

    def add(self, sample: Sample, found: list[int] | Row) -> None:
        """Add the next sample, with the ranks at which its references are, or with its row."""
        self.samples.append(sample)
        self.found.append(found)

    def __len__(self) -> int:
        return len(self.samples)

    def told(self) -> Iterator[tuple[list[int], int, int] | None]:
        """Yield of each row the ranks, how many targets there are, and how much was retrieved.

        None for a row that is there already.
        """
        for sample, found in zip(self.samples, self.found, strict=True):
            if type(found) is list:
                yield found, len(sample.single_ids.ids), len(sample.listed_ids)
            else:
                yield None

    def rows(self) -> list[Row]:
        """Return all rows: one list, whoever asks and however many threads do."""
        made = self._made.get("rows")
        if made is None:
            made = self._made.setdefault("rows", [*map(self._row, range(len(self)))])
        return made

    def _row(self, place: int) -> Row:
        sample, found = self.samples[place], self.found[place]
        if isinstance(found, Row):
            return found
        results = tuple([scorer.by_ranks(sample, found) for scorer in self._scorers])
        return Row(place + 1, sample, results)
