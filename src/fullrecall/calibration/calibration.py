"""What `calibrate` returns: the judge's agreement with people, and the mean recall corrected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fullrecall._util.counts import counted
from fullrecall.calibration.estimation import Agreement, CalibrationEstimate
from fullrecall.show.sheet import Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import NOTHING, shown
from fullrecall.stats.bounds import Interval
from fullrecall.stats.plain import plain_of

FEWEST = 10
"""Samples with labels below which a large-sample interval is not worth its name."""


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
    corrected: CalibrationEstimate
    power: float
    agreement: Agreement
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**plain_of(self), "bias": self.bias, "bounds": list(self.bounds)}

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

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The means with the agreement, and notes."""
        means = [
            ("judged", _cells(self.judged, self.judged_interval)),
            ("corrected (prediction-powered)", _estimate(self.corrected)),
        ]
        figures = [
            (name.replace("_", " "), _estimate(figure))
            for name, figure in vars(self.agreement).items()
        ]
        sections = [
            Section(f"mean recall, {self.score}", [Line(*of) for of in means]),
            Section("judge against people", [Line(*of) for of in figures]),
        ]
        return [
            Sheet(["", f"{100 * self.confidence:g}% interval"], sections),
            Sheet([], [], list(self.notes())),
        ]

    def to_markdown(self) -> str:
        """Return the calibration in GitHub's Markdown, for a pull request or a job's summary."""
        from fullrecall.show import markdown

        return markdown.text_of(f"Calibration of {markdown.escaped(self.score)}", *self.sheets)

    def __repr__(self) -> str:
        return f"Calibration({self.score}, {self.labeled} labels)\n{self}"


def _estimate(estimate: CalibrationEstimate | None) -> list[str]:
    return [NOTHING] * 2 if estimate is None else _cells(estimate.value, estimate.interval)


def _cells(value: float, interval: Interval | None) -> list[str]:
    ends = NOTHING if interval is None else f"{shown(interval.low)} to {shown(interval.high)}"
    return [shown(value), ends]
