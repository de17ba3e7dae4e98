"""Rows that are not in memory: what a report needs of them to be summed up, sliced and searched."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, overload

from fullrecall.measures import Measure
from fullrecall.report.groups import groups_of
from fullrecall.report.row import Missed, Row
from fullrecall.result import Result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    def figures(
        self,
        place: int,
        measures: Sequence[Measure],
        figure: Callable[[Result, Sequence[Measure]], Sequence[float]],
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield some rows at a time: where they start, and the figures of the result at a place.

        `figure` returns those of one result, as many for each, and is called once for equal ones.
        """

    @abstractmethod
    def rows_at(self, places: Sequence[int]) -> Iterator[Row]:
        """Yield the rows at these places, which ascend."""

    @abstractmethod
    def with_contexts(self) -> Iterator[Row]:
        """Yield the rows whose sample may have retrieved contexts beside their IDs."""

    @abstractmethod
    def saved_at(self, path: str | Path) -> LazyRows:
        """Return the same rows after they were saved at a path, which may be where they were."""

    @abstractmethod
    def places_of(self, label: str) -> Sequence[int]:
        """Return the places of the rows with a label."""


class LazyMissed(Sequence[Missed]):
    """What a report in files missed: read anew by each pass over it, and never held whole.

    Its length, and what stands at a place, take a pass too.
    """

    def __init__(self, read: Callable[[], Iterator[Missed]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Missed]:
        return self._read()

    def __len__(self) -> int:
        return sum(1 for _ in self._read())

    @overload
    def __getitem__(self, key: int) -> Missed: ...
    @overload
    def __getitem__(self, key: slice) -> list[Missed]: ...
    def __getitem__(self, key: int | slice) -> Missed | list[Missed]:
        if isinstance(key, int) and key >= 0:
            for one in islice(self._read(), key, None):
                return one
            raise IndexError(f"no missed target {key}: there are {len(self):,}")
        if isinstance(key, slice) and not _from_the_end(key):  # read no further than it reaches
            return list(islice(self._read(), key.start, key.stop, key.step))
        return list(self._read())[key]


def _from_the_end(key: slice) -> bool:
    """Whether a slice needs to know how many there are."""
    return any(number is not None and number < 0 for number in (key.start, key.stop, key.step))


def passes(
    rows: Sequence[Row], places: Sequence[int], measures: Iterable[Measure] = ()
) -> Iterator[Iterable[Tallied]]:
    """Yield rows, in memory or not, with the results at some places; see `LazyRows.tallied`."""
    if isinstance(rows, LazyRows):
        yield from rows.tallied(places, measures)
        return
    groups = groups_of([row.sample for row in rows])
    yield (
        Tallied(Row(row.position, row.sample, tuple(row.results[n] for n in places)), group, 1)
        for row, group in zip(rows, groups, strict=True)
    )
