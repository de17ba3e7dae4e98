"""`compare`: did a change of the retriever change what it finds, and for which questions?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from fullrecall.dataframes import Backend
from fullrecall.errors import ParameterError
from fullrecall.garbage import uncollected
from fullrecall.measures import Measure
from fullrecall.parameters import check_k, check_share
from fullrecall.report.bounds import CONFIDENCE
from fullrecall.report.difference import Difference, Settings, difference
from fullrecall.report.lazy_rows import LazyRows
from fullrecall.report.match import KeptMatch, Match
from fullrecall.report.multiplicity import holm
from fullrecall.report.pairs import PairedBy, paired, same_methods
from fullrecall.report.report import Report, diagnosed
from fullrecall.report.row import Row
from fullrecall.report.sign_flips import RESAMPLES
from fullrecall.report.summary import default_measures
from fullrecall.report.totals import Totals
from fullrecall.result import Method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fullrecall.views.diagnosed import Diagnosis


@dataclass(frozen=True, repr=False)
class ScoreComparison(Mapping[Measure, Difference]):
    """One score in both reports: `score[Recall @ 5].difference`.

    `unpaired` counts what is not compared: samples that only one report has, and those without a
    score in one or in both: `unscored` in any, else `undefined_in_one`, `undefined` in both, or
    `no_common_targets`. `differing` counts the samples compared of which one report has other
    targets too: only the common ones count.
    """

    method: Method
    differences: Mapping[Measure, Difference]
    unpaired: Mapping[str, int]
    differing: int

    def __getitem__(self, measure: Measure) -> Difference:
        try:
            return self.differences[measure]
        except KeyError:
            names = ", ".join(map(repr, self.differences))
            raise KeyError(f"no measure {measure!r} in this comparison: it has {names}") from None

    def __iter__(self) -> Iterator[Measure]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    def __repr__(self) -> str:
        one = self.main
        label = self.method.label(one.measure)
        if one.difference is None:
            return f"ScoreComparison(no difference, {label}: no sample compared)"
        return (
            f"ScoreComparison({one.difference:+.3f}, {label}: {one.before:.3f} to {one.after:.3f}, "
            f"p = {one.p:.4f}, {one.samples:,} samples)"
        )

    @property
    def name(self) -> str:
        """The score's name."""
        return self.method.name

    @property
    def main(self) -> Difference:
        """The headline over all that was retrieved, or the first measure where that is not here."""
        return self.differences.get(self.method.headline) or next(iter(self.differences.values()))

    @property
    def at(self) -> dict[int, Difference]:
        """The differences of the headline by k, ascending."""
        cut = {measure.k: measure for measure in self if measure.whole == self.method.headline}
        return {k: self[cut[k]] for k in sorted(k for k in cut if k is not None)}

    @property
    def coverage(self) -> float | None:
        """The share of samples compared, among those that should have a score in both reports.

        Samples that only the report `after` has are new, and those without targets in both have
        no recall: neither counts.
        """
        due = self.main.samples + self.gaps
        return self.main.samples / due if due else None

    @property
    def gaps(self) -> int:
        """How many samples are not compared that should be; see `coverage`."""
        kinds = ("only_before", "unscored", "undefined_in_one", "no_common_targets")
        return sum(self.unpaired[kind] for kind in kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "differences": [one.to_dict() for one in self.differences.values()],
            "unpaired": dict(self.unpaired),
            "differing": self.differing,
        }


class Comparison(Sequence[ScoreComparison]):
    """One `ScoreComparison` for each score that both reports have: `comparison["id_recall"]`.

    Prints as a table. `before` and `after` are the reports, `pairs` their rows side by side,
    `paired_by` says how; `only_before` and `only_after` are the labels of the samples that one
    report alone has, `unmatched` the names of such scores.
    """

    def __init__(
        self,
        before: Report,
        after: Report,
        *measures: Measure,
        confidence: float = CONFIDENCE,
        margin: float | None = None,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> None:
        for report in (before, after):
            if not isinstance(report, Report):
                raise ParameterError(
                    f"compare takes two Reports, got {type(report).__name__}: Report.load(path) "
                    "reads a saved one"
                )
        self.before, self.after = before, after
        self.measures = measures
        self.confidence = check_share(confidence, "confidence", whole=False)
        self.margin = None if margin is None else check_share(margin, "margin")
        self.resamples, self.seed = check_k(resamples, "resamples"), seed
        common, unmatched = same_methods(before, after)
        self._match = _matched(before, after)
        self.pairs: Sequence[tuple[Row, Row]] = self._match.pairs
        self.paired_by: PairedBy = self._match.by
        self.only_before: Sequence[str] = self._match.only_before
        self.only_after: Sequence[str] = self._match.only_after
        self.unmatched = tuple(unmatched)
        self.places: Mapping[str, tuple[int, int]] = {
            before.methods[place].name: (place, other) for place, other in common
        }
        """Where the results of each score stand in the rows before and after."""
        scores = [self._compared(*places) for places in common]
        self.scores = _adjusted(scores, all_asked=bool(measures))

    @overload
    def __getitem__(self, key: int | str) -> ScoreComparison: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[ScoreComparison]: ...
    def __getitem__(self, key: int | str | slice) -> ScoreComparison | Sequence[ScoreComparison]:
        if isinstance(key, str):
            for score in self.scores:
                if key == score.name:
                    return score
            names = ", ".join(score.name for score in self.scores)
            raise KeyError(f"no score {key!r}: choose one of {names}")
        return self.scores[key]

    def __iter__(self) -> Iterator[ScoreComparison]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def rows(self) -> Iterator[tuple[Row | None, Row | None]]:
        """Every sample as before and after: the pairs, then those of one report alone."""
        return self._match.rows

    def drawn(self, n: int, *, seed: int = 0) -> Iterator[tuple[Row, Row]]:
        """Yield `n` of the pairs, drawn at random, in their order; all if there are fewer.

        Raises `ParameterError` for an `n` below 1.
        """
        return self._match.drawn(check_k(n, "n"), seed)

    def changes(self, score: str, measure: Measure) -> tuple[Totals, Totals]:
        """Return the changes of a measure with what is not measured at its worst and at its best.

        A sample that has no score after may have lost or gained all there is to; one that has
        none before may come from anywhere; where both are missing, the change may be -1 or 1.
        """
        return self._match.ends(self.places[score], measure)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "paired_by": self.paired_by,
            "pairs": len(self.pairs),
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "unmatched": list(self.unmatched),
            "confidence": self.confidence,
            "margin": self.margin,
            "resamples": self.resamples,
            "seed": self.seed,
            "scores": [score.to_dict() for score in self],
        }

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return one row per sample: each measure before and after, and what was gained and lost.

        Columns are named `id_recall@5_before`, `_after`, `_change`, the last over the targets that
        both reports have. `id_recall_pairing` says "compared" or why not, `id_recall_gained` and
        `id_recall_lost` name targets as a JSON array. The library is chosen,
        and errors are raised, as in `Report.to_frame`.
        """
        from fullrecall.views import frames

        return frames.changes(self, backend)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, `to_dict` as one JSON object, for other programs."""
        from fullrecall.views import exports

        return exports.written(exports.comparison_as_json(self), path)

    def to_csv(self, path: str | Path | None = None, *, delimiter: str = ",") -> str:
        """Return, and write to `path`, the columns of `to_frame` as CSV; needs no library.

        As safe in spreadsheets, and with the same choice of `delimiter`, as `Report.to_csv`.
        """
        from fullrecall.views import exports

        return exports.written_table(exports.comparison_as_csv(self, delimiter), path)

    def to_markdown(self, path: str | Path | None = None, *, flips: int = 5) -> str:
        """Return, and write to `path`, the comparison in GitHub's Markdown, for a pull request.

        A table of all differences, the samples that changed most, `flips` of each score, and what
        the numbers stand on. Raises `ParameterError` for `flips` below 0.
        """
        from fullrecall.views import exports
        from fullrecall.views.comparisons import comparison_markdown

        return exports.written(comparison_markdown(self, flips), path)

    @uncollected()
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnoses: tuple[Diagnosis | None, Diagnosis | None] | Literal[False] | None = None,
        title: str | None = None,
    ) -> str:
        """Return the comparison as one HTML page, and write it to `path` if one is given.

        The page is whole, as that of `Report.to_html`. It answers first what fails now that did
        not, why, and what to change; then the differences with their intervals, the curves before
        and after, slices, and every sample with both retrievals side by side. `diagnoses`, of the
        report before and of the one after, say why each target was missed; None diagnoses the one
        after by what it alone tells, False leaves it out.
        """
        from fullrecall.views import exports
        from fullrecall.views.page import comparison_page, write

        if diagnoses is None:
            diagnoses = None, diagnosed(self.after, self.measures)
        page = comparison_page(self, diagnoses=diagnoses or (None, None), title=title)
        if path is not None:
            write(page, path)
        return exports.kept(page, path)

    def plot(
        self,
        measure: Measure | None = None,
        ax: Axes | None = None,
        *,
        scores: Iterable[str] | None = None,
    ) -> Axes:
        """Draw the mean of each score over k before and after, and return the axes.

        Of `measure`, or of each score's headline, at every k that was compared; means are over
        the samples compared. A band shows the interval of the change, from the mean before: where
        it holds that mean, no change is shown. On `ax`, or on new axes if it is None; nothing is
        shown or saved. `scores` names which. Raises `ReportError` where there is nothing to draw,
        `MissingExtraError` without Matplotlib.
        """
        from fullrecall.views.plots import before_after

        return before_after(self, measure, ax, scores=scores)

    def _repr_html_(self) -> str:
        from fullrecall.views import html
        from fullrecall.views.comparisons import comparison_sheet

        return html.text_of(comparison_sheet(self))

    def __str__(self) -> str:
        # Imported when a comparison is shown: `terminal` draws with rich.
        from fullrecall.views import terminal
        from fullrecall.views.comparisons import comparison_sheet

        return terminal.text_of(comparison_sheet(self))

    __repr__ = __str__

    def _compared(self, place: int, other: int) -> ScoreComparison:
        method = self.before.methods[place]
        settings = Settings(self.confidence, self.margin, self.resamples, self.seed)
        found = self._match.compared((place, other), self.measures or default_measures(method))
        return ScoreComparison(
            method,
            {each.measure: difference(each, settings) for each in found.changes},
            found.unpaired,
            found.differing,
        )


def _matched(before: Report, after: Report) -> Match:
    if isinstance(before.rows, LazyRows) or isinstance(after.rows, LazyRows):
        from fullrecall.distributed.join.reports import Join

        return Join(before, after)
    return KeptMatch(paired(before, after))


def compare(
    before: Report,
    after: Report,
    *measures: Measure,
    confidence: float = CONFIDENCE,
    margin: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare two reports of the same samples, sample by sample and target by target.

    Samples are paired by their IDs, by position where none has one; of each pair only the targets
    that both reports have count. For each of the `measures` of each score (default: its headline,
    and that at k = 1, 3, 5, 10): the mean difference with its interval, a sign-flip test (all
    subsets of groups where there are no more than `resamples`, else that many drawn by `seed`),
    an interval that assumes nothing, wins, ties and losses, and the samples that changed. With a
    `margin` in [0, 1], `non_inferior` tells whether the mean is shown, at `confidence`, to have
    fallen by less.

    Raises `ReportError` where it is ambiguous which samples or scores belong together or a report
    keeps no rows, `ParameterError` for a value out of range.
    """
    return Comparison(
        before,
        after,
        *measures,
        confidence=confidence,
        margin=margin,
        resamples=resamples,
        seed=seed,
    )


def _adjusted(scores: Sequence[ScoreComparison], *, all_asked: bool) -> tuple[ScoreComparison, ...]:
    """Return the comparisons with p-values adjusted for all that was asked, or each's main one."""
    asked = {
        (score.name, one.measure): one.p
        for score in scores
        for one in (score.values() if all_asked else [score.main])
        if one.p is not None
    }
    adjusted = dict(zip(asked, holm(list(asked.values())), strict=True))
    return tuple(
        replace(
            score,
            differences={
                measure: replace(one, p_adjusted=adjusted.get((score.name, measure)))
                for measure, one in score.items()
            },
        )
        for score in scores
    )
