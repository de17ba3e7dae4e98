"""The report of an evaluation: every sample with its results, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from fullrecall.dataframes import Backend, frame_of
from fullrecall.errors import ParameterError, ReportError
from fullrecall.garbage import uncollected
from fullrecall.measures import DEFAULT_KS, Measure, Recall, as_measures
from fullrecall.measures.budgets import Cut, Unit, check_cut
from fullrecall.parameters import check_k
from fullrecall.result import Method
from fullrecall.results.bounds import CONFIDENCE
from fullrecall.results.missed import Leaked, Missed, leaked, missed
from fullrecall.results.named import index_of
from fullrecall.results.origin import Origin
from fullrecall.results.slices import By, Slices, slices_of
from fullrecall.results.smallest_k import SmallestK, smallest_k
from fullrecall.results.summary import Summary, default_measures
from fullrecall.table.lists import Floats, Integers
from fullrecall.table.row import Row
from fullrecall.table.table import Table
from fullrecall.usage import Spent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fullrecall.calibration import HumanLabels, ToLabel
    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.retrieval import View


class Report:
    """What `evaluate` returns. Iterate over it, or read `rows`, for the samples one by one."""

    def __init__(self, methods: Sequence[Method], *, table: Table | None = None) -> None:
        self.methods = tuple(methods)
        self.table = Table(methods) if table is None else table
        """The samples with their results, as columns."""
        self.spent: Spent | None = None
        """What the run that made this report sent and paid; None for one that was loaded."""
        self.stopped: str | None = None
        """Why samples are missing: what ended the run early. None where it came to its end."""
        self.origin = Origin()
        """What the scores are of; see `corpus` and `view`."""

    @classmethod
    def of(cls, methods: Sequence[Method], rows: Iterable[Row]) -> Report:
        """Return the report of rows that were scored before."""
        report = cls(methods)
        for row in rows:
            report.add(row)
        return report

    def add(self, row: Row) -> None:
        """Add one sample's results."""
        self.table.append(row.sample, row.results)

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.table)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.table)

    @overload
    def __getitem__(self, key: int | str) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Report: ...
    def __getitem__(self, key: int | str | slice) -> Row | Report:
        """Return a sample by its ID, or by its index; or a report of a slice of indices.

        Raises `KeyError` for an ID that no sample or several have, `IndexError` for an index.
        """
        if isinstance(key, slice):
            return self.selected(range(len(self))[key])
        if not isinstance(key, str):
            if not -len(self) <= key < len(self):
                raise IndexError(f"no sample {key}: the report has {len(self):,}")
            return self.rows[key]
        labels = (name or f"#{row}" for row, name in enumerate(self.table.ids, start=1))
        rows = [row for row, label in enumerate(labels) if label == key]
        if len(rows) == 1:
            return self.table.row(rows[0])
        if rows:
            raise KeyError(f"{len(rows):,} samples have the ID {key!r}: use filter")
        if any(method.name == key for method in self.methods):
            raise KeyError(f"{key!r} is a score: report.summary()[{key!r}]")
        raise KeyError(f"no sample {key!r} among {len(self):,}")

    def filter(self, keep: Callable[[Row], object]) -> Report:
        """Return a report of the rows for which `keep` is true, in their order.

        Its means are those of these samples alone.
        """
        return self.selected(index for index, row in enumerate(self) if keep(row))

    def selected(self, rows: Iterable[int]) -> Report:
        """Return a report of the rows at these indices, in the order given.

        Where this report is incomplete, so is that one: see `stopped`.
        """
        numbers: Integers = np.fromiter(rows, np.int64)
        part = Report(self.methods, table=self.table.selected(numbers))
        part.stopped, part.origin = self.stopped, self.origin
        return part

    def drawn(self, n: int, *, seed: int = 0) -> Report:
        """Return a report of `n` samples drawn at random, in their order; all if there are fewer.

        A mean over them estimates that over all, with the interval that it says. Raises
        `ParameterError` for an `n` below 1.
        """
        count = min(check_k(n, "n"), len(self))
        rows = Random(seed).sample(range(len(self)), count)  # noqa: S311 - no secret
        return self.selected(sorted(rows))

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
        that no sample has.
        """
        index = index_of(self.methods, score)
        measure = measure or self.methods[index].headline
        return slices_of(self.table, by, index, measure, confidence)

    @property
    def corpus(self) -> str | None:
        """The fingerprint of the corpus that labels were held against; see `evaluate`."""
        return self.origin.corpus

    @property
    def view(self) -> View:
        """Which list of each record was scored; see `evaluate`."""
        return self.origin.view

    @property
    def rows(self) -> Sequence[Row]:
        """The samples with their results: views, made when somebody looks."""
        return self.table

    @overload
    def values(self, measure: Measure, /, *, score: str | None = None) -> Floats: ...
    @overload
    def values(self, *measures: Measure, score: str | None = None) -> dict[str, Floats]: ...
    def values(self, *measures: Measure, score: str | None = None) -> Floats | dict[str, Floats]:
        """Return a measure of each sample as an array of floats in [0, 1], in the samples' order.

        NaN where a sample is unscored, or the measure is undefined: `table.status` says which.
        Several measures, or none (the score's headline and that at k = 1, 3, 5, 10), make a dict
        of arrays by their names, such as `id_recall@5`. `score` may be left out where there is
        one. Raises `ReportError` for a score that the report does not have.
        """
        index, measures = index_of(self.methods, score), as_measures(measures)
        if len(measures) == 1:
            return self.table.values(index, measures[0])
        method = self.methods[index]
        return {
            method.label(measure): self.table.values(index, measure)
            for measure in measures or default_measures(method)
        }

    def summary(self, *measures: Measure) -> Summary:
        """Return the mean of each measure of each score, with how many samples it stands on.

        By default each score's headline, recall, at k = 1, 3, 5, 10 and over all that was
        retrieved.
        """
        return Summary(self.table, as_measures(measures), self.stopped)

    def metrics(self, *measures: Measure) -> dict[str, float]:
        """Return what `summary` reads as one flat dict of finite numbers, for experiment trackers.

        Keys such as `id_recall/recall` (over all that was retrieved), `id_recall/recall_at_5`,
        `id_recall/ndcg_at_10`; `…_low` and `…_high` are the ends of the 95% interval,
        `id_recall/n_scored`, `n_undefined` and `n_unscored` count samples. A mean of no sample is
        left out. MLflow's `log_metrics` and the `log` of Weights & Biases take it as it is.
        """
        from fullrecall.views.exports import metrics

        return metrics(self.summary(*measures))

    def missed(self, k: Cut | None = None, *, score: str | None = None) -> list[Missed]:
        """Return every target that was not found, sample by sample, for each score or for one.

        Within `k` ranks or a budget such as `calls(2)`, in all that was retrieved if it is None.
        Only scored samples count: what was not measured was not missed.
        """
        return list(missed(self.table, k if k is None else check_cut(k), score))

    def leaked(self, k: int | None = None) -> list[Leaked]:
        """Return every forbidden context that was retrieved, with its rank and its step.

        Within `k` ranks, or in all that was retrieved if it is None; see `Sample.forbidden_ids`.
        """
        return list(leaked(self.table, k))

    def with_tokens(self, count: Callable[[str], int], *, tokenizer: str) -> Report:
        """Return this report with the tokens of each context as `count(text)` counts them.

        Without it a token is taken for 4 characters. `tokenizer` names what counts, such as
        "cl100k_base": the metadata of each context has `tokens` and `tokenizer`, also where it is
        saved, and a summary or a comparison of several tokenizers says so. Each distinct text is
        counted once; all samples are in memory. Raises `ParameterError` for a count that is no
        whole number of at least 0, and for a tokenizer without a name.
        """
        from fullrecall.results.tokens import with_tokens

        counted = Report(self.methods, table=with_tokens(self.table, count, tokenizer))
        counted.stopped, counted.origin, counted.spent = self.stopped, self.origin, self.spent
        return counted

    def smallest_k(
        self,
        target: float,
        measure: Measure = Recall,
        *,
        confidence: float = CONFIDENCE,
        score: str | None = None,
        unit: Unit | None = None,
    ) -> SmallestK:
        """Return the smallest k at which the mean of `measure @ k` reaches `target`.

        k counts contexts, or with `unit` "calls", "tokens" or "seconds" it is the smallest such
        budget: each number of calls, round numbers of the others. `score` may be left out where
        there is one. Each k is tested from what holds all that was retrieved down until one
        fails. `confidence` holds over the whole search. "No k reaches it" is
        an answer too: its `k` is None, its `reason` says why.

        Raises `ReportError` where the report does not have the score, `ParameterError` for a value
        out of range, and for a measure that may be smaller at a larger k, such as `Precision`.
        """
        index = index_of(self.methods, score)
        return smallest_k(self.table, index, target, measure, confidence=confidence, unit=unit)

    def to_label(
        self,
        n: int,
        path: str | Path | None = None,
        *,
        seed: int = 0,
        score: str | None = None,
        show_verdicts: bool = False,
        labels: HumanLabels = (),
    ) -> tuple[ToLabel, ...]:
        """Return `n` claims for people to label, drawn at random, and write them to `path`.

        All claims if there are fewer, and two of each verdict at least. `path` ends in .csv, for a
        spreadsheet; there must be no such file yet, since it may hold labels. The
        column `label` is to be filled with "supported", "not_supported" or "partial", by what the
        contexts say; then `fullrecall.read.read_labels` and `calibrate` take it from there.

        Claims are drawn verdict by verdict, with chances that are kept beside them. `score` may be
        left out where a judge has made one score only. The judge's verdicts are hidden, so that
        they do not sway people, unless `show_verdicts`. `labels` that there are already are filled
        in: the same `seed` with a larger `n` draws nearly all of the same claims again, and more.

        Raises `ParameterError` for a bad `n` or path, `InputError` for labels of other claims,
        `ReportError` where no judge made a recall of it.
        """
        from fullrecall.calibration import draw

        return draw.to_label(
            self,
            n,
            path,
            seed=seed,
            score=score,
            show_verdicts=show_verdicts,
            labels=labels,
        )

    def to_frame(self, *measures: Measure, backend: Backend = "pandas") -> Any:
        """Return a data frame: one row per sample and one column per measure of each score.

        `backend` is the library that it is of: "pandas", "polars", or "pyarrow". Columns are named
        `id_recall`, `id_recall@5`, `id_recall.ndcg@10`; by default those that `summary` reads. A
        score's status and reason stand beside them. No value is missing without a status that says
        why. Raises `ParameterError` for another backend, and `MissingExtraError` where the library
        is not installed.
        """
        from fullrecall.views import exports

        return frame_of(*exports.scores_of(self, measures), backend, "Report.to_frame()")

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
        from fullrecall.views import exports, spreadsheet

        columns, rows = exports.scores_of(self, measures)
        text = spreadsheet.table([[*columns], *rows], delimiter)
        return exports.written(text, path, spreadsheet.BOM)

    def to_markdown(
        self, path: str | Path | None = None, *, measures: Sequence[Measure] = ()
    ) -> str:
        """Return, and write to `path`, the summary as tables in GitHub's Markdown."""
        from fullrecall.views import exports
        from fullrecall.views.summaries import summary_markdown

        return exports.written(summary_markdown(self.summary(*measures)), path)

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
        why, and what to change; then the summary, the curves over k, and every sample with
        its contexts, targets and evidence, to be sorted, filtered and searched, all by whichever
        of the `measures` the reader chooses; by default those that `summary` reads.
        `diagnosis` says why each target was missed; None diagnoses by what the report alone
        tells, at the k of the measure that the page opens with; False leaves it out. A file of
        that name is replaced once all is written.

        Raises `ReportError` for a report of more than 10,000 samples.
        """
        from fullrecall.views import exports
        from fullrecall.views.page import check_size, report_page

        check_size(self)
        if diagnosis is None:
            diagnosis = diagnosed(self, measures)
        page = report_page(self, measures=measures, diagnosis=diagnosis, title=title)
        return exports.written(page, path)

    def plot(
        self,
        measure: Measure = Recall,
        ax: Axes | None = None,
        *,
        scores: Iterable[str] | None = None,
        ks: Sequence[Cut] = DEFAULT_KS,
        label: str | None = None,
    ) -> Axes:
        """Draw the mean of `measure` at each of `ks` with its 95% intervals; return the axes.

        `ks` are numbers of contexts, or budgets of one unit: `[calls(n) for n in range(1, 9)]`.
        One line per score, or for the `scores` named. On `ax`, or on new axes if it is None;
        nothing is shown or saved. `label` names the report where several are drawn. Raises
        `ReportError` where none has a mean, `KeyError` for another score, `ParameterError` for
        budgets of several units, `MissingExtraError` without Matplotlib.
        """
        from fullrecall.views.plots import curves

        return curves(self, measure, ax, scores=scores, ks=ks, label=label)

    def save(
        self,
        path: str | Path,
        *,
        replace: bool = False,
        default: Callable[[Any], Any] | None = None,
        sign: str | Path | None = None,
    ) -> None:
        """Write the report to a file, or to a directory of Parquet files.

        A path that ends in ".jsonl" is JSON lines, for people and diffs: the methods, one line per
        sample, and an end. One that ends in ".parquet" is a directory of Parquet files of 24,576
        samples each, and a manifest. What `load` reads of either is equal to this report.

        `sign` is a file with a secret key of at least 16 bytes: a signature is written beside the
        report, `report.jsonl.hmac`, which `load(signed=…)` and `fullrecall gate --signed` require.

        Raises `ReportError` for another suffix, for a path that exists unless `replace`, which
        replaces it once all is written, for a directory with other files, and for metadata that
        JSON would change or cannot hold, unless `default`, such as `str`, makes values of it that
        JSON can hold; `MissingExtraError` without pyarrow.
        """
        from fullrecall.results import files

        files.save(self, path, replace=replace, default=default, sign=sign)

    @classmethod
    def load(cls, path: str | Path, *, signed: str | Path | None = None) -> Report:
        """Read a saved report into memory; `ReportError` names line and field of what is wrong.

        What scorers found is derived again from the sample beside it: values that do not follow
        are wrong, and so is a directory with a part that is missing, cut off, edited, or of another
        report. `signed` is the key file that the report must be signed with (`save(sign=…)`). What
        an interrupted or killed run has left is read too: `stopped` then says what ended it, and a
        last line that is cut off is left out with a warning.
        """
        from fullrecall.results import files

        return files.load(path, signed=signed)

    @classmethod
    def open(cls, path: str | Path | Iterable[str | Path], *, rows: int | None = None) -> Report:
        """Open a saved report: one of Parquet files is read as it is asked, piece by piece.

        It has the methods of any report. One JSON Lines file is read into memory, as by `load`,
        which says what raises `ReportError`.
        """
        from fullrecall.results import files

        return files.open_report(path, rows=rows)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __repr__(self) -> str:
        return f"Report({len(self)} samples, {_names(self.methods)})\n{self.summary()}"

    @property
    def complete(self) -> bool:
        """Whether the report has every sample that it was to have, scored or not."""
        return self.stopped is None


def diagnosed(report: Report, measures: Sequence[Measure]) -> Diagnosis:
    """Return why targets were missed, by what the report alone tells.

    At the k of the measure that a page of these `measures` opens with.
    """
    from fullrecall.diagnosis import diagnose

    whole = not measures or any(method.headline in measures for method in report.methods)
    return diagnose(report, k=None if whole else measures[0].top)


def check_parts(ours: Sequence[Method], theirs: Sequence[Method]) -> None:
    """Raise `ReportError` for scores that were made in different ways."""
    if ours != theirs:
        raise ReportError(
            f"reports of {_names(ours)} and of {_names(theirs)} are not parts of one evaluation: "
            "score each by the same scorers with the same parameters"
        )


def _names(methods: Iterable[Method]) -> str:
    return ", ".join(method.name for method in methods)


def check_report(value: object, caller: str) -> None:
    """Raise `ParameterError` for what is not a report, with the way to one."""
    if isinstance(value, Report):
        return
    raise ParameterError(
        f"{caller} takes Reports, got {type(value).__name__}: evaluate(samples, scorers) makes "
        "one, Report.load(path) reads a saved one"
    )
