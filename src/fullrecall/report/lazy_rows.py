"""Rows that are not in memory: what a report needs of them to be summed up, sliced and searched."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fullrecall.measures import Measure
from fullrecall.report.row import Row


class Tallied(NamedTuple):
    """Equal rows: how they were scored, their group, and how often they stand in the report.

    `row` has the results that were asked for, of targets without names, and of its sample no more
    than group and metadata. What any measure or slice makes of one of them, it makes of all.
    """

    row: Row
    group: str | None
    times: int


class LazyRows(Sequence[Row]):
    """The rows of a report that is read from files piece by piece."""

    @abstractmethod
    def tallied(
        self, places: Sequence[int], measures: Iterable[Measure] = (), *, metadata: bool = False
    ) -> Iterator[Iterable[Tallied]]:
        """Yield all rows with the results at these places, equal ones together.

        Each of the iterables has all rows of the groups that it has any of, so that a group's mean
        is known at its end. `measures` are those that will be read: one that is not fullrecall's
        own may read the names of targets, and gets rows that have them.
        """

    @property
    @abstractmethod
    def groups(self) -> Sequence[str | None]:
        """The group of each row; see `Report.groups`."""

    @property
    @abstractmethod
    def retrievals(self) -> Mapping[str, int]:
        """Of how many samples the retrieval was a union of calls, or had a failed call."""

    @abstractmethod
    def most_retrieved(self, place: int) -> int:
        """Return how many contexts the longest list of a scored result has."""

    @abstractmethod
    def places_of(self, label: str) -> Sequence[int]:
        """Return the places of the rows with a label."""
