"""Results as views, which read numbers from columns and create other fields on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

import numpy as np

from fullrecall.measures import Measure
from fullrecall.measures.lists import Floats
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result, ResultSource, Status, result_view
from fullrecall.table.part import Part


class ScoreView(ResultSource):
    """The results of one score of a part, as views; `read` returns a measure of all its rows."""

    def __init__(
        self, part: Part, score: int, method: Method, read: Callable[[Measure], Floats]
    ) -> None:
        super().__init__()
        columns, statuses = part.columns(score), tuple(Status)
        self._part, self._score, self._method, self._read = part, score, method, read
        self._statuses = [statuses[code] for code in columns.status.tolist()]
        self._retrieved = columns.retrieved.tolist()
        self._kept = part.kept_results(score)

    def result(self, row: int) -> Result:
        """Return the result of a row; if the part keeps objects, always the same one."""
        if self._kept is not None:
            return self._kept[row].viewed(self, row)
        return result_view(self, row, self._method, self._statuses[row], self._retrieved[row])

    def results(self) -> Iterator[Result]:
        """Return an iterator over the results of all rows."""
        rows = range(len(self._statuses))
        if self._kept is not None:
            return map(self.result, rows)
        method = repeat(self._method)
        return map(result_view, repeat(self), rows, method, self._statuses, self._retrieved)

    def read(self, measure: Measure) -> Sequence[float | None]:
        """Return the measure's value for each row; None for a row without a value."""
        values = self._read(measure)
        read: list[float | None] = values.tolist()
        for row in np.flatnonzero(np.isnan(values)).tolist():
            read[row] = None
        return read

    def made(self, row: int) -> Result:
        """Return the result of a row as an object of its own, with findings."""
        return self._part.result(row, self._score)

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        return self._part.sample(row)
