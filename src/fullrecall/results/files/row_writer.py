"""What all writers of reports share: rows as they are scored, and an end that says how it went."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from types import TracebackType
from typing import Self

from fullrecall.report.text import ending
from fullrecall.result import Result
from fullrecall.sample import Sample
from fullrecall.table.part import Part


class Writer(ABC):
    """Writes rows as they come; use it as a context manager.

    `stopped` is what the end says of a run that ended early; an error within the context says it
    too. Methods raise `OSError` where a file cannot take a row, and `ReportError` for metadata that
    JSON would change or cannot hold.
    """

    stopped: str | None = None

    @abstractmethod
    def add(self, part: Part) -> None:
        """Write rows that were scored together."""

    @abstractmethod
    def write(self, sample: Sample, results: Sequence[Result]) -> None:
        """Write one row."""

    @abstractmethod
    def finish(self) -> None:
        """Write what waits, and the end."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open."""

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
        # After a failed write the same rows fail again on closing: the first error tells.
        with suppress(OSError) if error is not None else nullcontext():
            try:
                if not isinstance(error, OSError):  # half a row may stand there
                    self.finish()
            finally:
                self.close()
