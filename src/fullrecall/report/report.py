"""The report of an evaluation: every sample with its results, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fullrecall.errors import ReportError
from fullrecall.report import frames, saving
from fullrecall.report.row import Missed, Row
from fullrecall.report.summary import Summary, Tally
from fullrecall.result import Method, Status

if TYPE_CHECKING:
    import pandas as pd


class Report:
    """What `evaluate` returns. Iterate over it, or read `rows`, for the samples one by one."""

    def __init__(self, methods: Sequence[Method], *, keep_rows: bool = True) -> None:
        self.methods = tuple(methods)
        self._rows: list[Row] | None = [] if keep_rows else None
        self._tallies = [Tally(method) for method in self.methods]
        self._counted = 0
        self._length = 0

    @classmethod
    def of(cls, methods: Sequence[Method], rows: Iterable[Row]) -> Report:
        """Return the report of rows that were scored before."""
        report = cls(methods)
        for row in rows:
            report.add(row)
        return report

    def add(self, row: Row) -> None:
        """Add one sample's results."""
        self._length += 1
        if self._rows is None:
            self._count(row)
        else:
            self._rows.append(row)

    def __len__(self) -> int:
        """The number of samples."""
        return self._length

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def rows(self) -> Sequence[Row]:
        """The samples with their results; raises `ReportError` if only totals were kept."""
        if self._rows is None:
            raise ReportError('this report keeps no rows: evaluate(…, keep="rows") does')
        return self._rows

    def summary(self) -> Summary:
        """Return the mean of each score, at each k, with how many samples it stands on."""
        if self._rows is not None:
            for row in self._rows[self._counted :]:
                self._count(row)
            self._counted = len(self._rows)
        return Summary([tally.summary() for tally in self._tallies], len(self))

    def missed(self, k: int | None = None) -> list[Missed]:
        """Return every target that was not found, sample by sample.

        Within `k` ranks, or within each scorer's own k if it is None. Only scored samples count:
        what was not measured was not missed.
        """
        found = []
        for row in self.rows:
            for result in row.results:
                cut = result.method.k if k is None else k
                found += [
                    Missed(
                        row.label,
                        row.sample.user_input,
                        result.method.name if cut is None else f"{result.method.name}@{cut}",
                        finding.target.label,
                        finding.credit_at(cut),
                        finding.rank,
                    )
                    for finding in result.findings
                    if result.status is Status.SCORED and not finding.found_at(cut)
                ]
        return found

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per sample and one column per score, with its status and reason.

        A score's own column is named after it (`id_recall`, `id_recall@5` with k=5), and there
        is one for each of its ks. No score is NaN in the frame; the status tells why.
        """
        return frames.scores(self)

    def findings_to_pandas(self) -> pd.DataFrame:
        """Return one row per target: found or not, at which rank, with which credit."""
        return frames.findings(self)

    def save(self, path: str | Path) -> None:
        """Write the report as JSON lines: a head with the methods, then one line per sample.

        A file of that name is replaced once all is written. Raises `ReportError` for metadata
        that JSON cannot hold.
        """
        part = Path(f"{path}.part")
        try:
            with saving.Writer(part, self.methods) as writer:
                for row in self.rows:
                    writer.write(row)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read a saved report; raises `ReportError` for a file that is none.

        A last line that an interrupted run has cut off is left out with a warning.
        """
        methods, rows = saving.read(path)
        return cls.of(methods, rows)

    def __repr__(self) -> str:
        names = ", ".join(method.label for method in self.methods)
        return f"Report({len(self)} samples, {names})\n{self.summary()}"

    def _count(self, row: Row) -> None:
        for tally, result in zip(self._tallies, row.results, strict=True):
            tally.add(result)
