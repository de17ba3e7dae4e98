"""The base of all writers of reports, which write rows while a run scores them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

from fullrecall._util.ending import ending
from fullrecall.files.reports.records import Default
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result
from fullrecall.table.origin import UNKNOWN, Origin
from fullrecall.table.part import MemoryPart, Part

MOST_SECONDS = 20.0
"""Rows that have waited for this many seconds are written when the next row comes.

A killed run thus loses little work.
"""


class RowWriter(ABC):
    """Writes rows while they are scored; use it as a context manager.

    With `after`, the writer continues the report at its path: it keeps the first `after` rows and
    drops later ones. `stopped` is saved as the reason why a run ended early; an error inside the
    context sets it. Raises `ReportError` if another run writes to its path. Methods raise `OSError`
    if a file cannot be written, and `ReportError` for metadata that JSON would change or cannot
    hold, unless `default` converts it.
    """

    stopped: str | None = None
    together = 1
    """The number of rows that `write` collects before they are written."""

    def __init__(
        self,
        path: Path | str,
        methods: Sequence[Method],
        origin: Origin = UNKNOWN,
        *,
        default: Default = None,
        after: int | None = None,
    ) -> None:
        self.path = path
        self.methods = methods
        self.origin = origin
        self.default = default
        self._settled_at = monotonic()
        self._waiting: list[tuple[Sample, Sequence[Result]]] = []
        if after is None:
            self.begin()
        else:
            self.resume(after)

    @abstractmethod
    def begin(self) -> None:
        """Make the file or directory for the rows."""

    @abstractmethod
    def resume(self, rows: int) -> None:
        """Open the report at the path, and drop all rows after the first `rows`."""

    def add(self, part: Part) -> None:
        """Write the waiting rows, then those of a part."""
        self.settle()
        self.put(part)

    def write(self, sample: Sample, results: Sequence[Result]) -> None:
        """Write one row, perhaps later, together with the next rows."""
        self._waiting.append((sample, results))
        late = monotonic() - self._settled_at > MOST_SECONDS
        if len(self._waiting) >= self.together or late:
            self.settle()

    def settle(self) -> None:
        """Write the waiting rows."""
        self._settled_at = monotonic()
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            samples, results = zip(*waiting, strict=True)
            self.put(MemoryPart.of(samples, results))

    @abstractmethod
    def put(self, part: Part) -> None:
        """Write the rows of a part."""

    @abstractmethod
    def finish(self) -> None:
        """Complete the report."""

    @abstractmethod
    def close(self) -> None:
        """Close the file or directory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.stopped = ending(error)
        # After an error, ignore a failure to write the rest, so that the first error is raised.
        with suppress(OSError) if error is not None else nullcontext():
            try:
                if not isinstance(error, OSError):  # do not write after half a row
                    self.settle()
                    self.finish()
            finally:
                self.close()
