"""An evaluation: every sample with its results, and their means, misses and slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar, overload

import numpy as np

from fullrecall._util.parameters import check_k, listed
from fullrecall._util.values import shown
from fullrecall.errors import ParameterError
from fullrecall.judge.usage import Spent
from fullrecall.measures import DEFAULT_KS, Measure, Recall, as_measures, as_shares
from fullrecall.measures.budgets import Cut, Unit, check_cut
from fullrecall.measures.lists import Floats, Integers
from fullrecall.scorers.result import Method
from fullrecall.stats.bounds import CONFIDENCE
from fullrecall.stats.estimates import default_measures
from fullrecall.stats.missed import Leaked, MissedTargets, leaked
from fullrecall.stats.named import index_of
from fullrecall.stats.summary import Summary
from fullrecall.table.origin import Origin
from fullrecall.table.row import Row
from fullrecall.table.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fullrecall.samples.retrieval import View
    from fullrecall.stats.slices import By, Slices
    from fullrecall.stats.smallest_k import SmallestK


_INSTEAD = {
    ("mean", "score", "scores", "recall", "results"): 'report.summary(Recall @ 5)["id_recall"]',
    ("to_pandas", "to_df", "to_dataframe", "to_polars", "df"): "report.to_frame()",
    ("to_json", "to_dict", "json"): 'report.save("report.jsonl"), or report.summary().to_dict()',
}
"""The way to read the data here, by the attributes in which other libraries have them."""


class Evaluation:
    """The scored samples of an evaluation; iterate over it, or read `rows`, for each sample.

    `fullrecall.Report` is an evaluation that can also be shown, saved, and loaded.
    """

    def __init__(self, methods: Sequence[Method], *, table: Table | None = None) -> None:
        self.methods = tuple(listed(methods, "methods", Method, "methods of scorers"))
        self.table = Table(methods) if table is None else table
        """The samples with their results, as columns."""
        self.spent: Spent | None = None
        """The requests and cost of the run that made this report; None for a loaded report."""
        self.stopped: str | None = None
        """The reason why the run ended early, with samples missing; None if it is complete."""
        self.origin = Origin()
        """The labels' corpus, and which lists were scored; see `corpus` and `view`."""

    @classmethod
    def of(cls, methods: Sequence[Method], rows: Iterable[Row]) -> Self:
        """Return an evaluation with rows that are already scored."""
        evaluation = cls(methods)
        for row in rows:
            evaluation.add(row)
        return evaluation

    def add(self, row: Row) -> None:
        """Add one sample's results."""
        if not isinstance(row, Row):
            raise ParameterError(f"must be a row of a report, got {shown(row)}", "row")
        self.table.append(row.sample, row.results)

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.table)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.table)

    @overload
    def __getitem__(self, key: int | str) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __getitem__(self, key: int | str | slice) -> Row | Self:
        """Return the row of a sample by its ID or index; for a slice of indices, return a report.

        The ID of a sample without one is "#" and its 1-based position, such as "#3".

        Raises `KeyError` for an ID that no sample has, or several samples have, and `IndexError`
        for an index out of range.
        """
        if isinstance(key, slice):
            return self.selected(range(len(self))[key])
        if not isinstance(key, str):
            if not hasattr(key, "__index__"):  # Accept NumPy's integers, which have it.
                raise ParameterError(f"must be a sample's ID or index, got {shown(key)}", "key")
            if not -len(self) <= key < len(self):
                raise IndexError(f"no sample {shown(key)}: the report has {len(self):,}")
            return self.rows[key]
        labels = [name or f"#{row}" for row, name in enumerate(self.table.ids, start=1)]
        rows = [row for row, label in enumerate(labels) if label == key]
        if len(rows) == 1:
            return self.table.row(rows[0])
        if rows:
            raise KeyError(f"{len(rows):,} samples have the ID {key!r}: use filter")
        if any(method.name == key for method in self.methods):
            raise KeyError(f"{key!r} is a score: report.summary()[{key!r}]")
        such = f": their IDs are such as {labels[0]!r}" if labels else ""
        raise KeyError(f"no sample {key!r} among {len(self):,}{such}")

    def filter(self, keep: Callable[[Row], object]) -> Self:
        """Return a report of the rows for which `keep` is true, in their order.

        Its means are over these samples only.
        """
        if not callable(keep):
            raise ParameterError(f"must be a function of a row, got {shown(keep)}", "keep")
        return self.selected(index for index, row in enumerate(self) if keep(row))

    def selected(self, rows: Iterable[int]) -> Self:
        """Return a report of the rows at these indices, in the order given.

        It is incomplete if this report is incomplete (`stopped`).
        """
        numbers: Integers = np.fromiter(map(self._index, rows), np.int64)
        part = type(self)(self.methods, table=self.table.selected(numbers))
        part.stopped, part.origin = self.stopped, self.origin
        return part

    def _index(self, row: int) -> int:
        if not hasattr(row, "__index__") or not 0 <= row < len(self):
            raise ParameterError(f"must be from 0 to {len(self) - 1:,}, got {shown(row)}", "rows")
        return row

    def drawn(self, n: int, *, seed: int = 0) -> Self:
        """Return a report of `n` samples drawn at random, in their order; all if there are fewer.

        A mean over them estimates the mean over all, with its own interval. Raises
        `ParameterError` for an `n` below 1.
        """
        from random import Random

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
        """Return the mean of a measure for each value of a field of the samples, lowest first.

        `by` is "group", "source" (the documents of the reference contexts), a key of the metadata
        such as "kind" or "testset.kind", or a function of a row that returns one value or a list.
        Intervals hold for all slices together, at `confidence`. `measure` is the score's headline
        if it is None; `score` may be left out if there is only one. Raises `ReportError` for a
        field that no sample has.
        """
        from fullrecall.stats.slices import slices_of

        index = index_of(self.methods, score)
        measure = measure or self.methods[index].headline
        return slices_of(self.table, by, index, measure, confidence)

    @property
    def corpus(self) -> str | None:
        """The fingerprint of the corpus that was labeled, or None; see `evaluate`."""
        return self.origin.corpus

    @property
    def view(self) -> View:
        """Which list of each record was scored: "contexts", "retrieved" or "read".

        See `evaluate`.
        """
        return self.origin.view

    @property
    def rows(self) -> Sequence[Row]:
        """The samples with their results, as views that are created when read."""
        return self.table

    @overload
    def values(self, measure: Measure, /, *, score: str | None = None) -> Floats: ...
    @overload
    def values(self, *measures: Measure, score: str | None = None) -> dict[str, Floats]: ...
    def values(self, *measures: Measure, score: str | None = None) -> Floats | dict[str, Floats]:
        """Return a measure of each sample as an array of floats, in the samples' order.

        Values are in [0, 1], unless the measure is a count. A value is NaN if the sample is
        unscored or the measure is undefined; `table.status` distinguishes these. Several measures
        give a dict of arrays by their names, such as `id_recall@5`. Without measures, the dict has
        the score's headline, at k = 1, 3, 5, 10 and over all contexts. `score` may be left out if
        there is only one. Raises `ReportError` for a score that the report does not have.
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
        """Return the mean of each measure of each score, with its number of samples.

        The default is each score's headline measure (recall for most scorers) at k = 1, 3, 5, 10
        and over all retrieved contexts.
        """
        return Summary(self.table, as_measures(measures), self.stopped)

    def metrics(self, *measures: Measure) -> dict[str, float]:
        """Return `summary` as one flat dict of finite numbers, for experiment trackers.

        Examples of keys: `id_recall/recall` (over all retrieved contexts), `id_recall/recall_at_5`,
        `id_recall/ndcg_at_10`. Keys that end in `_low` and `_high` are the ends of the 95%
        interval. The keys `id_recall/n_scored`, `…/n_undefined`, `…/n_unscored` and `…/n_unjudged`
        count samples. A mean without a sample is left out. MLflow's `log_metrics` and the `log` of
        Weights & Biases accept this dict.
        """
        from fullrecall.stats.exports import metrics

        return metrics(self.summary(*measures))

    def missed(self, k: Cut | None = None, *, score: str | None = None) -> MissedTargets:
        """Return every target that was not found in full, sample by sample.

        The targets are those of `score`, or of all scores if it is None. Returns a sequence of
        `Missed`. Its length is counted now; each item is created when it is read. Targets count as
        found within `k` ranks or a budget such as `calls(2)`; None means the whole list. Only
        scored samples count: an unmeasured target is not missed. Raises `ReportError` for a score
        that the report does not have.
        """
        if score is not None:
            # This raises for an unknown score, which would otherwise have no misses.
            index_of(self.methods, score)
        return MissedTargets(self.table, k if k is None else check_cut(k), score)

    def leaked(self, k: int | None = None) -> list[Leaked]:
        """Return every forbidden context that was retrieved, with its rank and its step.

        Contexts count within `k` ranks, or in the whole list if `k` is None; see
        `Sample.forbidden_ids`.
        """
        return list(leaked(self.table, k))

    def with_tokens(self, count: Callable[[str], int], *, tokenizer: str) -> Self:
        """Return this report with the tokens of each context, counted by `count(text)`.

        Without this, a token is estimated as 4 characters. `tokenizer` names the counter, such as
        "cl100k_base". The metadata of each context gets `tokens` and `tokenizer`, also in saved
        reports. A summary or a comparison with several tokenizers says so. Each distinct text is
        counted once. The returned report has all samples in memory. Raises `ParameterError` for a
        count that is not a whole number of at least 0, and for a tokenizer without a name.
        """
        from fullrecall.table.tokens import with_tokens

        counted = type(self)(self.methods, table=with_tokens(self.table, count, tokenizer))
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

        k counts contexts. With `unit` "calls", "tokens" or "seconds", it is a budget: any number of
        calls, or round numbers of tokens or seconds. `score` may be left out if there is only one.
        The search tests the largest k first, which includes all retrieved contexts, and then
        smaller ones until one fails.
        `confidence` holds over the whole search. If no k reaches the target, the result's `k` is
        None and its `reason` explains why.

        Raises `ReportError` if the report does not have the score, and `ParameterError` for a value
        out of range, or for a measure that may be smaller at a larger k, such as `Precision`.
        """
        from fullrecall.stats.smallest_k import smallest_k

        index, (share,) = index_of(self.methods, score), as_shares([measure])
        return smallest_k(self.table, index, target, share, confidence=confidence, unit=unit)

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
        Each score is one line; `scores` selects some of them. `ax` are the axes to draw on; None
        creates new ones. The plot is not shown or saved. `label` names the report if several are
        drawn. Raises `ReportError` if no score has a mean, `KeyError` for a score that the report
        does not have, `ParameterError` for budgets of several units, `MissingExtraError` without
        Matplotlib.
        """
        from fullrecall.show.plots import PlotLine, drawn

        (measure,) = as_shares([measure])
        cuts = as_shares(measure @ check_cut(k) for k in ks)
        units = {each.unit for each in cuts}
        if not units:
            raise ParameterError("is empty: pass at least one, such as 5", "ks")
        if len(units) > 1:
            names = ", ".join(sorted(unit or "contexts" for unit in units))
            raise ParameterError(f"must be of one unit, got {names}: draw a plot for each", "ks")
        summary = self.summary(*cuts)
        chosen = summary if scores is None else map(summary.__getitem__, scores)
        curves = [
            PlotLine(
                score.name if label is None else f"{label}: {score.name}",
                score.scored,
                summary.samples,
                [
                    (float(each.amount or 0), score[each].mean, score[each].interval)
                    for each in cuts
                ],
            )
            for score in chosen
        ]
        return drawn(curves, ax, measure.whole, units.pop())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    if not TYPE_CHECKING:  # Hide it from type checkers, which would accept any attribute.

        def __getattr__(self, name: str) -> NoReturn:
            way = next((way for names, way in _INSTEAD.items() if name in names), "")
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{way and f': use {way}'}"
            )

    def __repr__(self) -> str:
        names = ", ".join(method.name for method in self.methods)
        return f"{type(self).__name__}({len(self)} samples, {names})\n{self.summary()}"

    @property
    def complete(self) -> bool:
        """Whether the report has every sample of its run, scored or not."""
        return self.stopped is None


AnyEvaluation = TypeVar("AnyEvaluation", bound=Evaluation)
"""An evaluation, or a `fullrecall.Report`; functions return the type that the caller passes."""


def sliced(reports: Sequence[Evaluation], by: str) -> dict[str, list[Evaluation]]:
    """Divide reports by the values that a field has in the first report.

    Returns a mapping from each value to the parts of all reports that have this value.
    """
    from fullrecall.stats.slices import parted

    rows = [parted(each.table, by, required=not number)[0] for number, each in enumerate(reports)]
    return {
        value: [each.selected(own.get(value, ())) for each, own in zip(reports, rows, strict=True)]
        for value in sorted(rows[0])
    }


def check_evaluation(value: object, caller: str) -> None:
    """Raise `ParameterError` unless a value is an evaluation; the error tells how to get one."""
    if isinstance(value, Evaluation):
        return
    if caller == "compare" and isinstance(value, (list, tuple)):
        way = "pass them one by one, or several by name: {'bm25': a, 'dense': b}"
        raise ParameterError(f"{caller} takes Reports, got a {type(value).__name__} of them: {way}")
    raise ParameterError(
        f"{caller} takes Reports, got {type(value).__name__}: evaluate(samples, scorers) makes "
        "one, Report.load(path) reads a saved one"
    )
