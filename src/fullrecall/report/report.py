"""The report of an evaluation: every sample with its results, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall.errors import ReportError
from fullrecall.report import frames, saving
from fullrecall.report.row import Missed, Row
from fullrecall.report.statistics import CONFIDENCE
from fullrecall.report.summary import Summary, Tally
from fullrecall.result import Method, Status
from fullrecall.usage import Spent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from fullrecall.calibration import HumanLabels, Strata, ToLabel
    from fullrecall.report.page import Diagnosis
    from fullrecall.report.smallest_k import SmallestK


class Report:
    """What `evaluate` returns. Iterate over it, or read `rows`, for the samples one by one."""

    def __init__(self, methods: Sequence[Method], *, keep_rows: bool = True) -> None:
        self.methods = tuple(methods)
        self.spent: Spent | None = None
        """What the run that made this report sent and paid; None for one that was loaded."""
        self.stopped: str | None = None
        """Why samples are missing: what ended the run early. None where it came to its end."""
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
        return Summary([tally.summary() for tally in self.tallies], len(self), self.stopped)

    def totals(self) -> dict[str, Any]:
        """Return what the summary is made from, as plain JSON values for `of_totals`.

        Small however many samples there are: what a worker sends of its part of a data set.
        """
        return {
            "samples": len(self),
            "stopped": self.stopped,
            "tallies": [tally.to_dict() for tally in self.tallies],
        }

    @classmethod
    def of_totals(cls, parts: Iterable[Mapping[str, Any]]) -> Report:
        """Return a report without rows from the `totals` of its parts.

        Its summary is that of the whole to the last bit, however the samples were parted. Raises
        `ReportError` where parts were scored in different ways, or there are none.
        """
        reports = []
        for plain in parts:
            tallies = [Tally.from_dict(tally) for tally in plain["tallies"]]
            part = cls([tally.method for tally in tallies], keep_rows=False)
            part._tallies, part._length = tallies, plain["samples"]
            part.stopped = plain["stopped"]
            reports.append(part)
        return cls.merged(reports)

    @classmethod
    def merged(cls, reports: Iterable[Report]) -> Report:
        """Return the parts of one evaluation as a whole, in the order given.

        It keeps rows, numbered anew, if all of the parts do, and lacks samples if one of them
        does. Raises `ReportError` where parts
        were scored in different ways, or there are none.
        """
        parts = list(reports)
        if not parts:
            raise ReportError("no report to merge: give at least one")
        for part in parts:
            if part.methods != parts[0].methods:
                raise ReportError(
                    f"reports of {_names(parts[0].methods)} and of {_names(part.methods)} are no "
                    "parts of one evaluation: give each the same scorers with the same parameters"
                )
        if all(part.keeps_rows for part in parts):
            rows = (row for part in parts for row in part.rows)
            whole = cls.of(
                parts[0].methods,
                (replace(row, position=position) for position, row in enumerate(rows, start=1)),
            )
        else:
            whole = cls(parts[0].methods, keep_rows=False)
            for part in parts:
                whole._length += len(part)
                for ours, theirs in zip(whole._tallies, part.tallies, strict=True):
                    ours.merge(theirs)
        whole.stopped = next((part.stopped for part in parts if part.stopped is not None), None)
        return whole

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

    def smallest_k(
        self,
        target: float,
        confidence: float = CONFIDENCE,
        *,
        score: str | None = None,
        measure: str | None = None,
        largest: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> SmallestK:
        """Return the smallest k at which the mean reaches `target` with `confidence`.

        The mean of the headline of `score` (which may be left out where there is one score), or
        of another `measure` of it, at each k from `largest` down: as many contexts as were
        retrieved at most, if it is None. `confidence` holds over the whole search. "No k reaches
        it" is an answer too: its `k` is None, its `reason` says why. What the contexts cost is
        counted in characters, and in tokens as `count_tokens(text)` counts them, else one for
        every 4 characters.

        Raises `ReportError` where the report keeps no rows or does not have the score,
        `ParameterError` for a value out of range, `MissingExtraError` without SciPy.
        """
        from fullrecall.report.smallest_k import smallest_k

        return smallest_k(
            self,
            target,
            confidence,
            score=score,
            measure=measure,
            largest=largest,
            count_tokens=count_tokens,
        )

    def to_label(
        self,
        n: int,
        path: str | Path | None = None,
        *,
        seed: int = 0,
        score: str | None = None,
        strata: Strata | None = None,
        show_verdicts: bool = False,
        labels: HumanLabels = (),
    ) -> tuple[ToLabel, ...]:
        """Return `n` claims for people to label, drawn at random, and write them to `path`.

        All claims if there are fewer, and two of each stratum at least. `path` ends in .csv, for a
        spreadsheet, or in .jsonl; there must be no such file yet, since it may hold labels. The
        column `label` is to be filled with "supported", "not_supported" or "partial", by what the
        contexts say; then `fullrecall.datasets.read_labels` and `calibrate` take it from there.

        Claims are drawn within `strata` (`fullrecall.calibration.by_verdict` if None, a function
        of a `JudgedClaim`), with chances that are kept beside them. `score` may be left out where
        a judge has made one score only. The judge's verdicts are hidden, so that they do not sway
        people, unless `show_verdicts`. `labels` that there are already are filled in: the same
        `seed` with a larger `n` draws nearly all of the same claims again, and more.

        Raises `ParameterError` for a bad `n` or path, `InputError` for labels of other claims,
        `ReportError` where the report keeps no rows, or no judge made a recall of it.
        """
        from fullrecall.calibration import by_verdict, drawing, sheet

        if path is not None:
            sheet.check(path)
        drawn = drawing.to_label(
            self,
            n,
            seed=seed,
            score=score,
            strata=strata or by_verdict,
            show_verdicts=show_verdicts,
            labels=labels,
        )
        if path is not None:
            sheet.write(drawn, path)
        return drawn

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per sample and one column per score, with its status and reason.

        A score's own column is named after it (`id_recall`, `id_recall@5` with k=5), and there
        is one for each of its ks. No score is NaN in the frame; the status tells why.
        """
        return frames.scores(self)

    def findings_to_pandas(self) -> pd.DataFrame:
        """Return one row per target: found or not, at which rank, with which credit."""
        return frames.findings(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, one JSON object: the summary and each sample's scores.

        `save` keeps everything, contexts and evidence included; this is for other programs.
        """
        from fullrecall.report import exports

        return exports.written(exports.as_json(self), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, the columns of `to_pandas` as CSV; needs no pandas.

        A text that a spreadsheet would run as a formula gets an apostrophe in front.
        """
        from fullrecall.report import exports

        return exports.written(exports.as_csv(self), path)

    def to_junit(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, JUnit's XML: a suite for each score, a case for each sample.

        A sample that misses something is a failure, an unscored one an error, an undefined one is
        skipped.
        """
        from fullrecall.report import exports, junit

        return exports.written(junit.of_report(self), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, the summary as tables in GitHub's Markdown."""
        from fullrecall.report import exports, markdown

        return exports.written(markdown.of_summary(self.summary()), path)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnosis: Diagnosis | None = None,
        title: str | None = None,
    ) -> str:
        """Return the report as one HTML page, and write it to `path` if one is given.

        The page is whole: it needs no server and fetches nothing. It shows the summary, the
        curves over k, and every sample with its contexts, targets and evidence, to be sorted,
        filtered and searched. A `diagnosis` adds why each target was missed. A file of that name
        is replaced once all is written. Raises `ReportError` where the report keeps no rows.
        """
        from fullrecall.report.page import report_page, write

        page = report_page(self, diagnosis=diagnosis, title=title)
        if path is not None:
            write(page, path)
        return page

    def plot_recall_at_k(
        self, ax: Axes | None = None, *, scores: Iterable[str] | None = None
    ) -> Axes:
        """Draw the mean of each score over its ks, with 95% intervals as bands; return the axes.

        On `ax`, or on new axes if it is None; nothing is shown or saved. `scores` names which,
        without it all whose headline is recall. Raises `ReportError` where none has a mean,
        `MissingExtraError` without Matplotlib.
        """
        from fullrecall.report.plots import recall_at_k

        return recall_at_k(self, ax, scores=scores)

    def save(self, path: str | Path) -> None:
        """Write the report as JSON lines: the methods, one line per sample, and an end.

        A file of that name is replaced once all is written. Raises `ReportError` for metadata
        that JSON cannot hold.
        """
        part = Path(f"{path}.part")
        try:
            with saving.Writer(part, self.methods) as writer:
                for row in self.rows:
                    writer.write(row)
                writer.stopped = self.stopped
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read a saved report; raises `ReportError` for a file that is none.

        What an interrupted or killed run has left is read too: `stopped` then says what ended it,
        and a last line that is cut off is left out with a warning.
        """
        methods, rows, stopped = saving.read(path)
        report = cls.of(methods, rows)
        report.stopped = stopped
        return report

    def _repr_html_(self) -> str:
        from fullrecall.notebook import report_html

        return report_html(self)

    def __repr__(self) -> str:
        return f"Report({len(self)} samples, {_names(self.methods)})\n{self.summary()}"

    @property
    def complete(self) -> bool:
        """Whether the report has every sample that it was to have, scored or not."""
        return self.stopped is None

    @property
    def keeps_rows(self) -> bool:
        """Whether the report has the samples one by one, and not their totals only."""
        return self._rows is not None

    @property
    def tallies(self) -> list[Tally]:
        """The running totals of each score, with every row in them."""
        if self._rows is not None:
            for row in self._rows[self._counted :]:
                self._count(row)
            self._counted = len(self._rows)
        return self._tallies

    def _count(self, row: Row) -> None:
        for tally, result in zip(self._tallies, row.results, strict=True):
            tally.add(result, row.sample.group)


def _names(methods: Iterable[Method]) -> str:
    return ", ".join(method.label for method in methods)
