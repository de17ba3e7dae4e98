"""What `calibrate` returns: the judge's agreement with people, and the mean recall corrected."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import sqrt
from typing import Any, NamedTuple

from fullrecall.calibration.estimation import Agreement, Estimate
from fullrecall.counts import counted
from fullrecall.parameters import check_share
from fullrecall.results.bounds import Interval
from fullrecall.results.special import t_quantile
from fullrecall.views.sheet import Section, Sheet, Shown, lines_of
from fullrecall.views.text import NOTHING, shown

FEWEST = 10
"""Samples with labels below which a large-sample interval is not worth its name."""


class Confusion(NamedTuple):
    """Labeled claims by the judge's verdict and the label; where raters differ, in parts.

    Plain counts: claims were drawn with different chances, so no rate follows from them.
    """

    both_supported: float
    judge_alone: float
    people_alone: float
    neither: float


class RaterAgreement(NamedTuple):
    """Cohen's κ of two raters over the claims that both have labeled; None where it has none.

    κ is over the three labels, each claim counting the same.
    """

    raters: tuple[str, str]
    claims: int
    agreed: int
    kappa: float | None


@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """A judged mean recall beside the same corrected by labels. Prints as a table.

    `judged` is the mean as the judge has it, `corrected` by prediction-powered inference, whose
    tuned `power` in [0, 1] tells how much of the judge it uses. `samples` and `claims` count what
    was judged, `groups` the independent samples among them, `labeled` the claims with a label,
    `unlabeled` those drawn without. `unscored` samples and `unmeasured` claims are in neither
    mean; see `bounds` for the first. `drawn` says that the labels came with probabilities.
    """

    score: str
    confidence: float
    judged: float
    judged_interval: Interval | None
    corrected: Estimate
    power: float
    agreement: Agreement
    confusion: Confusion
    raters: tuple[RaterAgreement, ...]
    samples: int
    groups: int
    claims: int
    labeled: int
    labeled_samples: int
    unlabeled: int
    unscored: int
    unmeasured: int
    drawn: bool

    @property
    def bias(self) -> float:
        """The judged mean less the corrected one."""
        return self.judged - self.corrected.value

    @property
    def bounds(self) -> tuple[float, float]:
        """The corrected mean if what is unscored were all 0, and if it were all 1."""
        total = self.samples + self.unscored
        earned = self.corrected.value * self.samples
        return earned / total, (earned + self.unscored) / total

    def labels_needed(self, width: float) -> int | None:
        """Return how many labels would make the corrected mean's interval `width` wide at most.

        Drawn as these were, in all, these included; None if all claims labeled would not do,
        since the samples are too few. Raises `ParameterError` for a width out of (0, 1).
        """
        check_share(width, "width", whole=False)
        corrected, claims = self.corrected, self.claims
        # What is due to the labels shrinks as 1/labels - 1/claims, the rest is the samples' own.
        fixed = max(0.0, corrected.variance - corrected.sampling)
        left = 1 / self.labeled - 1 / claims
        per_label = corrected.sampling / left if left > 0 else 0.0

        def is_narrow(n: int) -> bool:
            variance = fixed + per_label * (1 / n - 1 / claims)
            df = max(1.0, corrected.df / self.labeled * n)
            return 2 * t_quantile(df, self.confidence) * sqrt(variance) <= width

        numbers = range(min(FEWEST, claims), claims + 1)
        at = bisect_left(numbers, x=True, key=is_narrow)
        return numbers[at] if at < len(numbers) else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = {part.name: _plain(getattr(self, part.name)) for part in fields(self)}
        return {**values, "bias": self.bias, "bounds": list(self.bounds)}

    def notes(self) -> Iterator[str]:
        """Yield one sentence for all that the figures stand on, and for what they leave out."""
        in_groups = f" in {counted(self.groups, 'group')}" if self.groups < self.samples else ""
        yield (
            f"{self.labeled:,} of {counted(self.claims, 'claim')} labeled, in "
            f"{self.labeled_samples:,} of {counted(self.samples, 'sample')}{in_groups}"
        )
        if self.unlabeled:
            yield (
                f"{self.unlabeled:,} drawn and not labeled: taken to be like the others of "
                "their verdict"
            )
        if not self.drawn:
            yield (
                "the labels came without probabilities: taken for a simple random sample of the "
                "claims"
            )
            yield f"λ = {self.power:.2f}: how much of the judge the prediction-powered mean uses"
        if self.corrected.clipped:
            yield "what lay outside 0 to 1 is cut off there"
        if self.unscored:
            low, high = self.bounds
            yield (
                f"{counted(self.unscored, 'sample')} unscored, in neither mean: the corrected one "
                f"would be {low:.3f} if they were all 0, and {high:.3f} if all 1"
            )
        if self.unmeasured:
            yield f"{counted(self.unmeasured, 'claim')} without a verdict, in neither mean"
        for pair in self.raters:
            figure = "undefined: both gave one label" if pair.kappa is None else f"{pair.kappa:.3f}"
            first_rater, other = (rater or "someone unnamed" for rater in pair.raters)
            yield (
                f"{first_rater} and {other} agree on {pair.agreed:,} of {pair.claims:,} claims, "
                f"Cohen's κ {figure}"
            )

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The means with the agreement, the confusion of judge and people, and notes."""
        means = [
            ("judged", _cells(self.judged, self.judged_interval)),
            ("corrected (prediction-powered)", _estimate(self.corrected)),
        ]
        names = {"kappa": "Cohen's κ", "balanced_accuracy": "balanced accuracy"}
        figures = [
            (names.get(name, name), _estimate(figure))
            for name, figure in vars(self.agreement).items()
        ]
        sections = [
            Section(f"mean recall, {self.score}", lines_of(means)),
            Section("judge against people", lines_of(figures)),
        ]
        both, judge, people, neither = (f"{count:,g}" for count in self.confusion)
        verdicts = [("supported", [both, judge]), ("not supported", [people, neither])]
        confusion = [Section("claims, judge:", lines_of(verdicts))]
        return [
            Sheet(["", f"{100 * self.confidence:g}% interval"], sections),
            Sheet(["people:\nsupported", "people:\nnot supported"], confusion),
            Sheet([], [], list(self.notes())),
        ]

    def to_markdown(self) -> str:
        """Return the calibration in GitHub's Markdown, for a pull request or a job's summary."""
        from fullrecall.views import markdown

        return markdown.text_of(f"Calibration of {markdown.escaped(self.score)}", *self.sheets)

    def __repr__(self) -> str:
        return f"Calibration({self.score}, {self.labeled} labels)\n{self}"


def _estimate(estimate: Estimate | None) -> list[str]:
    return [NOTHING] * 2 if estimate is None else _cells(estimate.value, estimate.interval)


def _cells(value: float, interval: Interval | None) -> list[str]:
    ends = NOTHING if interval is None else f"{shown(interval.low)} to {shown(interval.high)}"
    return [shown(value), ends]


def _plain(value: Any) -> Any:
    """Return a figure as JSON values; of an estimate not the variances, which may be infinite."""
    if isinstance(value, Estimate):
        return {name: _plain(getattr(value, name)) for name in ("value", "interval", "clipped")}
    if isinstance(value, Agreement):
        return {name: _plain(part) for name, part in vars(value).items()}
    if isinstance(value, (Confusion, Interval, RaterAgreement)):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return list(map(_plain, value)) if isinstance(value, tuple) else value
