"""The progress of a run, shown as a bar on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from fullrecall.run.work import Run
from fullrecall.scorers.result import Status
from fullrecall.table.row import Row

if TYPE_CHECKING:
    from fullrecall.table.part import Part

_DELAY_SECONDS = 1.0
"""The seconds before a bar is shown, so that short runs show no bar."""

_LOG_SECONDS = 30.0
"""The seconds before the first update, and between updates, if standard error is not a terminal."""


class Meter:
    """Counts a run's rows and shows a progress bar, which is updated less often without a terminal.

    Call `close` at the end, which removes the bar.
    """

    def __init__(self, run: Run, *, total: int | None) -> None:
        self._run = run
        self._total = total
        self._after = _DELAY_SECONDS if sys.stderr.isatty() else _LOG_SECONDS
        self._bar: Any = None
        self._samples = self._unscored = 0

    def add(self, row: Row) -> None:
        """Count a row, and update the bar."""
        self._count(1, sum(result.status is Status.UNSCORED for result in row.results))

    def add_part(self, part: Part, scores: int) -> None:
        """Count the rows of a part, which `scores` scorers have scored, and update the bar."""
        from fullrecall.measures.found import UNSCORED

        statuses = [part.columns(score).status for score in range(scores)]
        self._count(len(part), sum(int((status == UNSCORED).sum()) for status in statuses))

    def _count(self, samples: int, unscored: int) -> None:
        self._samples += samples
        self._unscored += unscored
        if self._run.seconds >= self._after:
            self._draw()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def _draw(self) -> None:
        if self._bar is None:
            from tqdm import tqdm  # A short run does not load tqdm.

            often = 0.1 if self._after == _DELAY_SECONDS else _LOG_SECONDS
            self._bar = tqdm(total=self._total, unit=" samples", mininterval=often, leave=False)
        if self._run.spent.calls or self._unscored:
            self._bar.set_postfix_str(self._details(), refresh=False)
        self._bar.update(self._samples - self._bar.n)

    def _details(self) -> str:
        """Return the text beside the number of samples: the unscored samples, and the requests."""
        unscored = f"{self._unscored:,} unscored" if self._unscored else ""
        sent = self._run.spent.sent() if self._run.spent.calls else ""
        return ", ".join(filter(None, (unscored, sent)))
