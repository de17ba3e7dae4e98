"""`compare`: did a change of the retriever change what it finds, and for which questions?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from fullrecall.errors import ParameterError
from fullrecall.report.choosing import place_of
from fullrecall.report.pairing import PairedBy, paired, same_methods
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.report.statistics import (
    CONFIDENCE,
    Interval,
    check_share,
    difference_bounds,
    difference_interval,
    holm,
    sign_flip,
)
from fullrecall.report.totals import spread_of
from fullrecall.result import Method, Result, Status, check_k

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fullrecall.report.page import Diagnosis

_NO_CHANGE = 1e-9
"""Scores that differ by less differ by rounding."""


class Difference(NamedTuple):
    """A mean before and after, over the same samples; `p` is that of no difference."""

    before: float
    after: float
    difference: float
    interval: Interval | None
    p: float


class Flip(NamedTuple):
    """A sample whose score changed: the targets that are now found, and those that no longer are.

    `sample` is its label, as in `Row.label`.
    """

    sample: str
    question: str | None
    before: float
    after: float
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def change(self) -> float:
        """The score after less the score before."""
        return self.after - self.before


@dataclass(frozen=True)
class ScoreComparison:
    """One score over the samples that have it in both reports.

    `samples` counts them, `groups` how many of them are independent. `before`, `after` and
    `difference` are means over these samples alone, None if there are none. `interval` is that of
    the difference, `bounds` its two one-sided bounds to decide by. `p` is the two-sided sign-flip
    p-value of no difference, `p_adjusted` the same by Holm for all scores compared. `at` has the
    same for each k that both reports have, its p-values not adjusted. `flips` has every sample
    whose score changed, the largest change first.

    `unpaired` counts what is not compared: samples that only one report has, and those without a
    score in one or in both: `unscored` in any, else `undefined_in_one`, or `undefined` in both.
    """

    method: Method
    samples: int
    groups: int
    before: float | None
    after: float | None
    difference: float | None
    interval: Interval | None
    bounds: Interval | None
    p: float | None
    p_adjusted: float | None
    wins: int
    ties: int
    losses: int
    at: Mapping[int, Difference]
    flips: tuple[Flip, ...]
    unpaired: Mapping[str, int]
    margin: float | None = None

    @property
    def name(self) -> str:
        """The score's name with its cut-off."""
        return self.method.label

    @property
    def non_inferior(self) -> bool | None:
        """Whether the loss is smaller than the margin; None without one, and if it is not known.

        True if the one-sided lower bound of the difference is not below -margin.
        """
        if self.margin is None or self.bounds is None:
            return None
        return self.bounds.low >= -self.margin

    @property
    def coverage(self) -> float | None:
        """The share of samples compared, among those that should have a score in both reports.

        Samples that only the report `after` has are new, and those without reference items in
        both have no recall: neither counts.
        """
        gaps = sum(self.unpaired[kind] for kind in ("only_before", "unscored", "undefined_in_one"))
        return self.samples / (self.samples + gaps) if self.samples + gaps else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "samples": self.samples,
            "groups": self.groups,
            "before": self.before,
            "after": self.after,
            "difference": self.difference,
            "interval": _plain(self.interval),
            "bounds": _plain(self.bounds),
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "at": {
                k: {**one._asdict(), "interval": _plain(one.interval)} for k, one in self.at.items()
            },
            "margin": self.margin,
            "non_inferior": self.non_inferior,
            "unpaired": dict(self.unpaired),
            "flips": [
                {**flip._asdict(), "gained": list(flip.gained), "lost": list(flip.lost)}
                for flip in self.flips
            ],
        }


class Comparison(Sequence[ScoreComparison]):
    """One `ScoreComparison` for each score that both reports have: `comparison["id_recall"].p`.

    Prints as a table. `before` and `after` are the reports, `pairs` their rows side by side,
    `paired_by` says how; `only_before` and `only_after` are the labels of the samples that one
    report alone has, `unmatched` the names of such scores.
    """

    def __init__(
        self,
        before: Report,
        after: Report,
        *,
        confidence: float = CONFIDENCE,
        margin: float | None = None,
        resamples: int = 9_999,
        seed: int = 0,
    ) -> None:
        for report in (before, after):
            if not isinstance(report, Report):
                raise ParameterError(
                    f"compare takes two Reports, got {type(report).__name__}: Report.load(path) "
                    "reads a saved one"
                )
        self.before, self.after = before, after
        self.confidence = check_share(confidence, "confidence", whole=False)
        self.margin = None if margin is None else check_share(margin, "margin")
        self.resamples, self.seed = check_k(resamples, "resamples"), seed
        common, unmatched = same_methods(before, after)
        pairing = paired(before, after)
        self.pairs: Sequence[tuple[Row, Row]] = pairing.pairs
        self.paired_by: PairedBy = pairing.by
        self.only_before = pairing.only_before
        self.only_after = pairing.only_after
        self.unmatched = tuple(unmatched)
        scores = [self._compared(*places) for places in common]
        known = [score.p for score in scores if score.p is not None]
        adjusted = iter(holm(known))
        self.scores = tuple(
            score if score.p is None else replace(score, p_adjusted=next(adjusted))
            for score in scores
        )

    @overload
    def __getitem__(self, key: int | str) -> ScoreComparison: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[ScoreComparison]: ...
    def __getitem__(self, key: int | str | slice) -> ScoreComparison | Sequence[ScoreComparison]:
        if isinstance(key, str):
            for score in self.scores:
                if key in (score.method.name, score.name):
                    return score
            names = ", ".join(score.method.name for score in self.scores)
            raise KeyError(f"no score {key!r}: there are {names}")
        return self.scores[key]

    def __iter__(self) -> Iterator[ScoreComparison]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def changes(self, score: str, k: int | None = None) -> tuple[list[float], list[str | None]]:
        """Return the change of each pair that has the score in both reports, and its group.

        At `k`, or at the score's own if it is None; in the order of `pairs`.
        """
        before, after = (place_of(report, score) for report in (self.before, self.after))
        changes, groups = [], []
        for row, later in self.pairs:
            results = row.results[before], later.results[after]
            if _gap(*results) is None:
                old, new = (each.score if k is None else each.at[k] for each in results)
                changes.append((new or 0.0) - (old or 0.0))
                groups.append(_group(row, later))
        return changes, groups

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

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnoses: tuple[Diagnosis | None, Diagnosis | None] = (None, None),
        title: str | None = None,
    ) -> str:
        """Return the comparison as one HTML page, and write it to `path` if one is given.

        The page is whole, as that of `Report.to_html`: the differences with their intervals, the
        curves before and after, and every sample with both retrievals side by side. `diagnoses`,
        of the report before and of the one after, add why each target was missed.
        """
        from fullrecall.report.page import comparison_page, write

        page = comparison_page(self, diagnoses=diagnoses, title=title)
        if path is not None:
            write(page, path)
        return page

    def plot(self, ax: Axes | None = None, *, scores: Iterable[str] | None = None) -> Axes:
        """Draw the mean of each score over k before and after, and return the axes.

        Means are over the samples compared. On `ax`, or on new axes if it is None; nothing is
        shown or saved. `scores` names which. Raises `ReportError` where there is nothing to draw,
        `MissingExtraError` without Matplotlib.
        """
        from fullrecall.report.plots import before_after

        return before_after(self, ax, scores=scores)

    def _repr_html_(self) -> str:
        from fullrecall.notebook import comparison_html

        return comparison_html(self)

    def __str__(self) -> str:
        # Imported when a comparison is shown: `terminal` draws with rich, and reads this module.
        from fullrecall.report import terminal

        console = terminal.console(StringIO(), width=terminal.WIDEST)
        notes = terminal.comparison_notes(self)
        return terminal.printed(console, [terminal.comparison_table(self), *notes])

    __repr__ = __str__

    def _compared(self, place: int, other: int) -> ScoreComparison:
        ours, theirs = self.before.methods[place], self.after.methods[other]
        pairs, unpaired = [], Counter(self._only_in_one())
        for one, two in self.pairs:
            gap = _gap(one.results[place], two.results[other])
            if gap is None:
                pairs.append((one, two))
            else:
                unpaired[gap] += 1
        ks = [k for k in ours.ks if k in theirs.ks]
        results = [(one.results[place], two.results[other]) for one, two in pairs]
        groups = [_group(one, two) for one, two in pairs]
        before = [_figures(result, ks) for result, _ in results]
        after = [_figures(result, ks) for _, result in results]
        empty = ScoreComparison(
            ours, len(pairs), 0, *(None,) * 7, 0, 0, 0, {}, (), dict(unpaired), self.margin
        )  # fmt: skip
        if not pairs:
            return empty
        columns = [
            [b - a for a, b in zip(row, later, strict=True)]
            for row, later in zip(before, after, strict=True)
        ]
        p_values = sign_flip(columns, groups, resamples=self.resamples, seed=self.seed)
        figures = [
            self._difference([r[n] for r in before], [r[n] for r in after], groups, p)
            for n, p in enumerate(p_values)
        ]
        changes = [row[0] for row in columns]
        spread = spread_of(changes, groups)
        headline = figures[0]
        return replace(
            empty,
            groups=0 if spread is None else spread.groups,
            **headline._asdict(),
            bounds=difference_bounds(spread, self.confidence),
            p_adjusted=headline.p,
            wins=sum(change > _NO_CHANGE for change in changes),
            ties=sum(abs(change) <= _NO_CHANGE for change in changes),
            losses=sum(change < -_NO_CHANGE for change in changes),
            at=dict(zip(ks, figures[1:], strict=True)),
            flips=_flips(pairs, results, changes),
        )

    def _difference(
        self,
        before: Sequence[float],
        after: Sequence[float],
        groups: Sequence[str | None],
        p: float,
    ) -> Difference:
        differences = [b - a for a, b in zip(before, after, strict=True)]
        interval = difference_interval(spread_of(differences, groups), self.confidence)
        return Difference(_mean(before), _mean(after), _mean(differences), interval, p)

    def _only_in_one(self) -> dict[str, int]:
        return {
            "only_before": len(self.only_before),
            "only_after": len(self.only_after),
            "unscored": 0,
            "undefined_in_one": 0,
            "undefined": 0,
        }


def compare(
    before: Report,
    after: Report,
    *,
    confidence: float = CONFIDENCE,
    margin: float | None = None,
    resamples: int = 9_999,
    seed: int = 0,
) -> Comparison:
    """Compare two reports of the same samples, sample by sample.

    Samples are paired by their IDs, by position where none has one. For each score: the mean
    difference with its interval, a sign-flip permutation test (all patterns where there are no
    more than `resamples` + 1, else that many drawn by `seed`), wins, ties and losses, and the
    samples that changed. With a `margin` in [0, 1], `non_inferior` tells whether the loss, if
    there is one, is smaller than it.

    Raises `ReportError` where it is ambiguous which samples or scores belong together or a report
    keeps no rows, `ParameterError` for a value out of range, `MissingExtraError` without SciPy.
    """
    return Comparison(
        before, after, confidence=confidence, margin=margin, resamples=resamples, seed=seed
    )


def _gap(before: Result, after: Result) -> str | None:
    """Return why a pair cannot be compared; None if it can."""
    statuses = {before.status, after.status}
    if Status.UNSCORED in statuses:
        return "unscored"
    if statuses == {Status.UNDEFINED}:
        return "undefined"
    return "undefined_in_one" if Status.UNDEFINED in statuses else None


def _group(before: Row, after: Row) -> str | None:
    return before.sample.group if before.sample.group is not None else after.sample.group


def _figures(result: Result, ks: Sequence[int]) -> list[float]:
    """Return the headline of a scored result, then the headline at each of `ks`."""
    return [value or 0.0 for value in (result.score, *result.at.values_at(ks))]


def _flips(
    pairs: Sequence[tuple[Row, Row]],
    results: Sequence[tuple[Result, Result]],
    changes: Sequence[float],
) -> tuple[Flip, ...]:
    flips = []
    for (row, _), (before, after), change in zip(pairs, results, changes, strict=True):
        if abs(change) <= _NO_CHANGE:
            continue
        found, now = _found(before), _found(after)
        flips.append(
            Flip(
                row.label,
                row.sample.user_input,
                before.score or 0.0,
                after.score or 0.0,
                tuple(label for label in now if label not in found),
                tuple(label for label in found if label not in now),
            )
        )
    return tuple(sorted(flips, key=lambda flip: (-abs(flip.change), flip.change)))


def _found(result: Result) -> dict[str, None]:
    k = result.method.k
    return {finding.target.label: None for finding in result.findings if finding.found_at(k)}


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()
