"""The report of an evaluation: every sample with its results, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from fullrecall.dataframes import Backend
from fullrecall.errors import ReportError
from fullrecall.garbage import uncollected
from fullrecall.measures import DEFAULT_KS, Measure, Recall
from fullrecall.parameters import check_k
from fullrecall.report.bounds import CONFIDENCE
from fullrecall.report.draws import drawn_places
from fullrecall.report.found_rows import FoundRows
from fullrecall.report.groups import groups_of
from fullrecall.report.lazy_rows import LazyMissed, LazyRows
from fullrecall.report.row import Missed, Row
from fullrecall.report.summary import Summary
from fullrecall.report.tally import Tallies
from fullrecall.result import Method, Status
from fullrecall.usage import Spent

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from fullrecall.calibration import HumanLabels, Strata, ToLabel
    from fullrecall.report.page import Diagnosis
    from fullrecall.report.portions import Portion
    from fullrecall.report.slices import By, Slices
    from fullrecall.report.smallest_k import SmallestK


_CLOSE = 10_000
"""Samples among whose labels one is looked for that is like a wrong one."""


class Report:
    """What `evaluate` returns. Iterate over it, or read `rows`, for the samples one by one."""

    def __init__(
        self,
        methods: Sequence[Method],
        *,
        keep_rows: bool = True,
        measures: Sequence[Measure] = (),
        rows: FoundRows | None = None,
    ) -> None:
        self.methods = tuple(methods)
        self.spent: Spent | None = None
        """What the run that made this report sent and paid; None for one that was loaded."""
        self.stopped: str | None = None
        """Why samples are missing: what ended the run early. None where it came to its end."""
        self.bad_rows: dict[int, str] = {}
        """Rows of a batch that are no samples, by position, and why: unscored, and counted so.

        At most the first 1,000 where the report keeps no rows.
        """
        self._rows: list[Row] | FoundRows | LazyRows | None = None
        if keep_rows:
            self._rows = [] if rows is None else rows
        self._tallies = Tallies.by(self.methods, measures)
        self.portions: tuple[Portion, ...] = ()
        """The parts that are counted, where it was made of totals of parts."""
        self._counted: tuple[Measure, ...] | None = None
        """The measures by which all rows are counted; None where they are to be counted anew."""

    @classmethod
    def of(cls, methods: Sequence[Method], rows: Iterable[Row]) -> Report:
        """Return the report of rows that were scored before."""
        report = cls(methods)
        for row in rows:
            report.add(row)
        return report

    @classmethod
    def counted(cls, methods: Sequence[Method], tallies: Tallies) -> Report:
        """Return a report without rows, of which these are the totals."""
        report = cls(methods, keep_rows=False)
        report._tallies = tallies
        return report

    @property
    def tallies(self) -> Tallies:
        """What the summary is made from: a report without rows has nothing else."""
        if isinstance(self._rows, LazyRows):  # those that are merged know IDs and groups by name
            tallies = Tallies.by(self.methods)
            for row in self._rows:
                tallies.add(row)
            return tallies
        return self._counts()

    def add(self, row: Row) -> None:
        """Add one sample's results; raises `ReportError` for a report that `open` reads."""
        if self._rows is None:
            self._tallies.add(row)
        elif isinstance(self._rows, LazyRows):
            raise ReportError("this report is read from its directory: Report.load(path) reads all")
        else:
            self._in_hand(self._rows).append(row)
            self._counted = None

    def __len__(self) -> int:
        """The number of samples."""
        return self._tallies.samples if self._rows is None else len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, key: int | str) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Report: ...
    def __getitem__(self, key: int | str | slice) -> Row | Report:
        """Return a sample by its ID, or by its place; or a report of a slice of places.

        Raises `KeyError` for an ID that no sample or several have, `IndexError` for a place.
        """
        if isinstance(key, slice):
            return self._with(self.rows[key])
        rows = self.rows
        if not isinstance(key, str):
            if not -len(rows) <= key < len(rows):
                raise IndexError(f"no sample at place {key}: there are {len(rows):,}")
            return rows[key]
        if isinstance(rows, LazyRows):
            places = rows.places_of(key)
        else:
            places = [place for place, row in enumerate(rows) if row.label == key]
        if len(places) == 1:
            return rows[places[0]]
        if places:
            raise KeyError(f"{len(places):,} samples have the ID {key!r}: use filter")
        close = get_close_matches(key, [row.label for row in islice(rows, _CLOSE)], 1)
        raise KeyError(f"no sample {key!r}{f': did you mean {close[0]!r}?' if close else ''}")

    def filter(self, keep: Callable[[Row], object]) -> Report:
        """Return a report of the rows for which `keep` is true, in their order.

        Its means are those of these samples alone. Raises `ReportError` if only totals were kept.
        """
        return self._with(row for row in self.rows if keep(row))

    def drawn(self, n: int, *, seed: int = 0) -> Report:
        """Return a report of `n` samples drawn at random, in their order; all if there are fewer.

        A mean over them estimates that over all, with the interval that it says. Raises
        `ReportError` if only totals were kept, `ParameterError` for an `n` below 1.
        """
        rows = self.rows
        if check_k(n, "n") >= len(rows):
            return self._with(rows)
        places = drawn_places(len(rows), n, seed)
        if isinstance(rows, LazyRows):
            return self._with(rows.rows_at(places))
        return self._with(rows[place] for place in places)

    def slices(
        self,
        by: By,
        measure: Measure | None = None,
        *,
        score: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> Slices:
        """Return the mean of a measure over each kind of samples, the lowest first.

        `by` is "group", "source" (the documents of the reference contexts), a key of the metadata
        such as "kind" or "testset.kind", or a function of a row that returns a value or several.
        Intervals hold for all slices together, at `confidence`. `measure` is the score's headline
        if it is None; `score` may be left out where there is one. Raises `ReportError` for a field
        that no sample has, and if only totals were kept.
        """
        from fullrecall.report.choice import place_of
        from fullrecall.report.slices import slices_of

        place = place_of(self, score)
        measure = measure or self.methods[place].headline
        return slices_of(self.rows, by, place, measure, confidence)

    @property
    def rows(self) -> Sequence[Row]:
        """The samples with their results; raises `ReportError` if only totals were kept."""
        if self._rows is None:
            raise ReportError('this report keeps no rows: evaluate(…, keep="rows") does')
        return self._rows if isinstance(self._rows, LazyRows) else self._in_hand(self._rows)

    @property
    def groups(self) -> list[str | None]:
        """The group of each row, None for one that stands for itself.

        Rows of one group or of one sample ID are not independent, and share a group. Raises
        `ReportError` if only totals were kept.
        """
        rows = self.rows
        if isinstance(rows, LazyRows):
            return list(rows.groups)
        return groups_of([row.sample for row in rows])

    def summary(self, *measures: Measure) -> Summary:
        """Return the mean of each measure of each score, with how many samples it stands on.

        By default each score's headline, recall, at k = 1, 3, 5, 10 and over all that was
        retrieved. Raises `ReportError` for a measure that a report without rows has not counted,
        and where samples of one ID stand in it more than once: their groups are not known.
        """
        counts = self._counts(measures)
        scores = counts.summaries(measures)
        return Summary(scores, len(self), self.stopped, counts.retrievals)

    def metrics(self, *measures: Measure) -> dict[str, float]:
        """Return what `summary` reads as one flat dict of finite numbers, for experiment trackers.

        Keys such as `id_recall/all` (over all that was retrieved), `id_recall/at_5`,
        `id_recall/ndcg_at_10`; `…_low` and `…_high` are the ends of the 95% interval,
        `id_recall/n_scored`, `n_undefined` and `n_unscored` count samples. A mean of no sample is
        left out. MLflow's `log_metrics` and the `log` of Weights & Biases take it as it is.
        """
        from fullrecall.report.metrics import metrics

        return metrics(self.summary(*measures))

    def totals(self, part: str | None = None) -> dict[str, Any]:
        """Return what the summary is made from, as plain JSON values for `of_totals`.

        Small however many samples there are: what a worker sends of its part of a data set. `part`
        names it, so that a task that is tried again counts once; without a name it is known by
        what it counts. Raises `ReportError` for a name where parts were merged.
        """
        from fullrecall.report.portions import KIND, VERSION, Portion

        tallies = self.tallies.to_dict()
        if part is not None and self.portions:
            raise ReportError(
                f"part={part!r} names one part, and this report was merged of several"
            )
        portions = self.portions or (Portion.of(tallies, part),)
        return {
            "kind": KIND,
            "version": VERSION,
            "stopped": self.stopped,
            "parts": [portion._asdict() for portion in portions],
            **tallies,
        }

    @classmethod
    def of_totals(
        cls, parts: Iterable[Mapping[str, Any]], *, expected: Iterable[str] | None = None
    ) -> Report:
        """Return a report without rows from the `totals` of its parts.

        Its summary is that of the whole to the last bit, however the samples were parted, in any
        order, and however often a part comes. `expected` names all parts: the report then lacks
        those that did not come, and `stopped` says which. Raises `ReportError` where parts were
        scored in different ways, overlap, hold what no report gives, or there are none, and where
        nothing tells whether one of them came twice.
        """
        from fullrecall.report.portions import distinct, missing

        every = [cls._of_part(plain) for plain in parts]
        for one in every:
            _check_parts(every[0].methods, one.methods)
        stopped = [one.stopped is not None for one in every]
        chosen = [every[n] for n in distinct([one.portions for one in every], stopped)]
        whole: Report = cls.merged(chosen)
        whole.portions = tuple(portion for one in chosen for portion in one.portions)
        if expected is not None:
            whole.stopped = missing(whole.portions, expected) or whole.stopped
        return whole

    @classmethod
    def merged(cls, reports: Iterable[Report]) -> Report:
        """Return the parts of one evaluation as a whole, in the order given.

        It keeps rows, numbered anew, if all of the parts do, and lacks samples if one of them
        does. Rows of one sample ID are one group; without rows, a summary of them is refused.
        Raises `ReportError` where parts were scored in different ways, or there are none.
        """
        parts = list(reports)
        if not parts:
            raise ReportError("no report to merge: pass at least one")
        for part in parts:
            _check_parts(parts[0].methods, part.methods)
        kept = (part._tallies for part in parts if not part.keeps_rows)  # noqa: SLF001 - its own
        totals = next(kept, None)
        whole = cls(parts[0].methods, keep_rows=totals is None)
        if totals is None:
            every = (row for part in parts for row in part.rows)
            for position, row in enumerate(every, start=1):
                whole.add(replace(row, position=position))
        else:
            whole._tallies = totals.emptied()
            for part in parts:
                whole._tallies.merge(part._counted_as(totals))  # noqa: SLF001 - its own
        whole.stopped = next((part.stopped for part in parts if part.stopped is not None), None)
        return whole

    def missed(self, k: int | None = None, *, score: str | None = None) -> Sequence[Missed]:
        """Return every target that was not found, sample by sample, for each score or for one.

        Within `k` ranks, or in all that was retrieved if it is None. Only scored samples count:
        what was not measured was not missed. A list; of a report that `open` reads from a
        directory a sequence that reads it by each pass, and holds none.
        """
        if isinstance(self.rows, LazyRows):
            return LazyMissed(partial(self._missed, k, score))
        return list(self._missed(k, score))

    def _missed(self, k: int | None, score: str | None) -> Iterator[Missed]:
        for row in self.rows:
            for result in row.results:
                if result.status is not Status.SCORED or score not in (None, result.method.name):
                    continue
                for finding in result.ranked:
                    if not finding.found_at(k):
                        target, credit = finding.target.label, finding.credit_at(k)
                        question, name = row.sample.user_input, result.method.name
                        yield Missed(row.label, question, name, target, credit, finding.rank)

    def smallest_k(
        self,
        target: float,
        measure: Measure = Recall,
        *,
        confidence: float = CONFIDENCE,
        score: str | None = None,
        largest: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> SmallestK:
        """Return the smallest k at which the mean of `measure @ k` reaches `target`.

        `score` may be left out where there is one. Each k is tested from `largest` down: as many
        contexts as were retrieved at most, if it is None. `confidence` holds over the whole
        search. "No k reaches it" is an answer too: its `k` is None, its `reason` says why. What
        the contexts cost is counted in characters, and in tokens as `count_tokens(text)` counts
        them, else one for every 4 characters.

        Raises `ReportError` where the report keeps no rows or does not have the score,
        `ParameterError` for a value out of range.
        """
        from fullrecall.report.smallest_k import smallest_k

        return smallest_k(
            self,
            target,
            measure,
            confidence=confidence,
            score=score,
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
        contexts say; then `fullrecall.read.read_labels` and `calibrate` take it from there.

        Claims are drawn within `strata` (`fullrecall.calibration.by_verdict` if None, a function
        of a `JudgedClaim`), with chances that are kept beside them. `score` may be left out where
        a judge has made one score only. The judge's verdicts are hidden, so that they do not sway
        people, unless `show_verdicts`. `labels` that there are already are filled in: the same
        `seed` with a larger `n` draws nearly all of the same claims again, and more.

        Raises `ParameterError` for a bad `n` or path, `InputError` for labels of other claims,
        `ReportError` where the report keeps no rows, or no judge made a recall of it.
        """
        from fullrecall.calibration import by_verdict, draw, sheet

        if path is not None:
            sheet.check(path)
        drawn = draw.to_label(
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

    def to_frame(self, *measures: Measure, backend: Backend = "pandas") -> Any:
        """Return a data frame: one row per sample and one column per measure of each score.

        `backend` is the library that it is of: "pandas", "polars", or "pyarrow". Columns are named
        `id_recall`, `id_recall@5`, `id_recall.ndcg@10`; by default those that `summary` reads. A
        score's status and reason stand beside them. No value is missing without a status that says
        why. Raises `ParameterError` for another backend, and `MissingExtraError` where the library
        is not installed.
        """
        from fullrecall.report import frames

        return frames.scores(self, measures, backend)

    def to_arrow(self, *measures: Measure) -> pa.RecordBatchReader:
        """Return the rows and columns of `to_frame` as Arrow batches, made as they are read.

        For reports of any size: polars, DuckDB, and narwhals take the reader, and so does
        `pyarrow.parquet.ParquetWriter` batch by batch. Raises `MissingExtraError` without pyarrow.
        """
        from fullrecall.report import frames

        reader: pa.RecordBatchReader = frames.score_batches(self, measures)
        return reader

    def findings_to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return one row per target: found or not, at which rank, with which credit.

        The library is chosen, and errors are raised, as in `to_frame`.
        """
        from fullrecall.report import frames

        return frames.findings(self, backend)

    def to_json(self, path: str | Path | None = None, *, measures: Sequence[Measure] = ()) -> str:
        """Return, and write to `path`, one JSON object: the summary and each sample's scores.

        `save` keeps everything, contexts and evidence included; this is for other programs.
        """
        from fullrecall.report import exports

        return exports.written(exports.as_json(self, measures), path)

    def to_csv(
        self,
        path: str | Path | None = None,
        *,
        measures: Sequence[Measure] = (),
        delimiter: str = ",",
    ) -> str:
        """Return, and write to `path`, the columns of `to_frame` as CSV; needs no library.

        A text that a spreadsheet would run as a formula gets an apostrophe in front. The file
        begins with a byte order mark, for Excel; where a comma is the decimal sign, Excel expects
        `delimiter=";"`. Raises `ParameterError` for another delimiter than a comma, a semicolon,
        or a tab.
        """
        from fullrecall.report import exports

        return exports.written_table(exports.as_csv(self, measures, delimiter), path)

    def to_junit(self, path: str | Path | None = None, *, measures: Sequence[Measure] = ()) -> str:
        """Return, and write to `path`, JUnit's XML: a suite for each score, a case for each sample.

        The means are properties of the suites. A sample that misses something in all that was
        retrieved is a failure, an unscored one an error, an undefined one is skipped.
        """
        from fullrecall.report import exports, junit

        return exports.written(junit.of_report(self, measures), path)

    def to_markdown(
        self, path: str | Path | None = None, *, measures: Sequence[Measure] = ()
    ) -> str:
        """Return, and write to `path`, the summary as tables in GitHub's Markdown."""
        from fullrecall.report import exports, markdown

        return exports.written(markdown.of_summary(self.summary(*measures)), path)

    @uncollected()
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        measures: Sequence[Measure] = (),
        diagnosis: Diagnosis | Literal[False] | None = None,
        title: str | None = None,
    ) -> str:
        """Return the report as one HTML page, and write it to `path` if one is given.

        The page is whole: it needs no server and fetches nothing. It answers first what fails,
        why, and what to change; then the summary, the curves over k, slices, and every sample
        with its contexts, targets and evidence, to be sorted, filtered and searched, all by
        whichever of the `measures` the reader chooses; by default those that `summary` reads.
        `diagnosis` says why each target was missed; None diagnoses by what the report alone
        tells, at the k of the measure that the page opens with; False leaves it out. A file of
        that name is replaced once all is written.

        Of more than 10,000 samples the page holds those that matter, and says which: its figures
        are of all. Raises `ReportError` where the report keeps no rows.
        """
        from fullrecall.report import exports
        from fullrecall.report.page import report_page, write

        explain = None
        if diagnosis is None:
            explain = partial(diagnosed, measures=measures)
            diagnosis = explain(self)
        page = report_page(
            self, measures=measures, diagnosis=diagnosis, explain=explain, title=title
        )
        if path is not None:
            write(page, path)
        return exports.kept(page, path)

    def plot(
        self,
        measure: Measure = Recall,
        ax: Axes | None = None,
        *,
        scores: Iterable[str] | None = None,
        ks: Sequence[int] = DEFAULT_KS,
    ) -> Axes:
        """Draw the mean of `measure` at each of `ks` with its 95% intervals; return the axes.

        One line per score, or for the `scores` named. On `ax`, or on new axes if it is None;
        nothing is shown or saved. Raises `ReportError` where none has a mean, `MissingExtraError`
        without Matplotlib.
        """
        from fullrecall.report.plots import curves

        return curves(self, measure, ax, scores=scores, ks=ks)

    def save(self, path: str | Path, *, default: Callable[[Any], Any] | None = None) -> None:
        """Write the report to one file, or to a directory where it is too large for one.

        One file is JSON lines: the methods, one line per sample, and an end. A path that ends in
        "/" or ".parquet", or is a directory, takes Parquet files of some 20,000 samples each and a
        manifest that names them. What `load` reads of either is equal to this report. What was
        there is replaced once all is written. Raises `ReportError` for metadata that JSON would
        change or cannot hold, unless `default`, such as `str`, makes values of it that JSON can
        hold, and for a directory with other files; `MissingExtraError` without pyarrow.
        """
        from fullrecall.distributed.parquet import directory
        from fullrecall.report import file

        if directory.is_directory(path):
            with directory.Writer(path, self.methods, default=default, replace=True) as parts:
                for row in self.rows:
                    parts.write(row)
                parts.stopped = self.stopped
            if isinstance(self._rows, LazyRows):
                self._rows = self._rows.saved_at(path)
            return
        part = Path(f"{path}.part")
        try:
            with file.Writer(part, self.methods, default=default) as writer:
                for row in self.rows:
                    writer.write(row)
                writer.stopped = self.stopped
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read a saved report into memory; `ReportError` names line and field of what is wrong.

        Values that no run can give are wrong, and so is a directory with a part that is missing,
        cut off, edited, or of another report. What an interrupted or killed run has left is read
        too: `stopped` then says what ended it, and a last line that is cut off is left out with a
        warning.
        """
        from fullrecall.distributed.parquet import directory
        from fullrecall.report import file

        with uncollected():
            if directory.is_directory(path):
                return cls.open(path)[:]
            methods, rows, stopped = file.read(path)
            report = cls.of(methods, rows)
            report.stopped = stopped
            return report

    @classmethod
    def open(cls, path: str | Path) -> Report:
        """Open a saved report: one that is a directory is read as it is asked, piece by piece.

        It has the methods of any report, and as much in memory as a few thousand samples take,
        with some 40 bytes for each sample more where two reports are compared or IDs repeat. Its
        files must stay as they are: each is checked when it is first read. One file is read into
        memory, as by `load`, which says what raises `ReportError`.
        """
        from fullrecall.distributed.parquet import directory

        if not directory.is_directory(path):
            return cls.load(path)
        from fullrecall.distributed.parquet.stored_rows import StoredRows

        rows = StoredRows(path)
        report = cls(rows.methods)
        report._rows, report.stopped = rows, rows.manifest.incomplete
        return report

    def _repr_html_(self) -> str:
        from fullrecall.report.notebook import report_html

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
    def totaled(self) -> Sequence[Sequence[Measure]]:
        """The measures of each score that are totaled as rows are added: none where rows stay."""
        if self._rows is not None:
            return [()] * len(self.methods)
        return [tuple(score.totals) for score in self._tallies.scores]

    def _with(self, rows: Iterable[Row]) -> Report:
        """Return a report of some of the rows, which lacks what this one lacks."""
        part = Report.of(self.methods, rows)
        part.stopped = self.stopped
        return part

    @classmethod
    def _of_part(cls, plain: Mapping[str, Any]) -> Report:
        from fullrecall.records import PortionsRecord
        from fullrecall.report.portions import Portion, check_version

        check_version(plain)
        PortionsRecord.read(plain)
        tallies = Tallies.from_dict(plain)
        part = cls([score.method for score in tallies.scores], keep_rows=False)
        part._tallies, part.stopped = tallies, plain["stopped"]
        part.portions = tuple(Portion(**portion) for portion in plain["parts"])
        return part

    def _in_hand(self, rows: list[Row] | FoundRows) -> list[Row]:
        if isinstance(rows, FoundRows):
            rows = self._rows = rows.rows()
        return rows

    def _counts(self, measures: Sequence[Measure] = ()) -> Tallies:
        """Return the totals by `measures`: those that are kept, or all rows counted."""
        if self._rows is not None and self._counted != tuple(measures):
            self._tallies = Tallies.by(self.methods, measures)
            self._tallies.add_all(self._rows)
            self._counted = tuple(measures)
        return self._tallies

    def _counted_as(self, other: Tallies) -> Tallies:
        """Return the totals by the measures of others: those that are kept, or all rows counted."""
        if self._rows is None:
            return self._tallies
        tallies = other.emptied()
        tallies.add_all(self._rows)
        return tallies


def diagnosed(report: Report, measures: Sequence[Measure]) -> Diagnosis:
    """Return why targets were missed, by what the report alone tells.

    At the k of the measure that a page of these `measures` opens with.
    """
    from fullrecall.diagnosis import diagnose

    whole = not measures or any(method.headline in measures for method in report.methods)
    return diagnose(report, k=None if whole else measures[0].k)


def _check_parts(ours: Sequence[Method], theirs: Sequence[Method]) -> None:
    if ours != theirs:
        raise ReportError(
            f"reports of {_names(ours)} and of {_names(theirs)} are not parts of one evaluation"
            f"{_difference(ours, theirs)}: score each by the same scorers with the same parameters"
        )


def _difference(ours: Sequence[Method], theirs: Sequence[Method]) -> str:
    """Return the first parameter, such as the judge, by which scores of one name differ."""
    for one, two in zip(ours, theirs, strict=False):
        if one.name == two.name:
            for name in sorted(one.parameters.keys() | two.parameters.keys()):
                values = one.parameters.get(name), two.parameters.get(name)
                if values[0] != values[1]:
                    return f": {name} of {one.name} is {values[0]!r} and {values[1]!r}"
    return ""


def _names(methods: Iterable[Method]) -> str:
    return ", ".join(method.name for method in methods)
