"""What `calibrate` returns: the judge's agreement with people, and the mean recall corrected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fullrecall.calibration.estimation import Estimate
from fullrecall.calibration.needed import labels_needed
from fullrecall.calibration.raters import RaterAgreement
from fullrecall.counts import counted
from fullrecall.results.bounds import Interval
from fullrecall.views.sheet import Sheet
from fullrecall.views.shown import Shown


class Confusion(NamedTuple):
    """Labeled claims by the judge's verdict and the label; where raters differ, in parts.

    Plain counts: claims were drawn with different chances, so no rate follows from them.
    """

    both_supported: float
    judge_alone: float
    people_alone: float
    neither: float


class Agreement(NamedTuple):
    """The judge's verdicts against the labels, each claim weighing what it does in the mean.

    Both are about what is supported in full: "partial" is not.

    `sensitivity` is the share found of what people call supported, `specificity` the share not
    found of what they do not, `balanced_accuracy` the mean of both; all three are None where the
    labels are of one kind. `kappa` is Cohen's κ, None where chance alone makes both agree.
    """

    sensitivity: Estimate | None
    specificity: Estimate | None
    balanced_accuracy: Estimate | None
    kappa: Estimate | None


@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """A judged mean recall beside the same corrected by labels. Prints as a table.

    `judged` is the mean as the judge has it, `corrected` by prediction-powered inference, whose
    tuned `power` in [0, 1] tells how much of the judge it uses, `rogan_gladen` by the judge's
    rates: None where these are no better than chance, or the judge gives partial credit. Where
    the labels are drawn by verdict, both corrections are one and the same. `samples` and `claims`
    count what was judged, `groups` the independent samples among them, `labeled` the claims with
    a label, `unlabeled` those drawn without. `unscored` samples and
    `unmeasured` claims are in neither mean; see `bounds` for the first. `graded` says that the
    judge gives partial credit, `drawn` that the labels came with probabilities.
    """

    score: str
    confidence: float
    judged: float
    judged_interval: Interval | None
    corrected: Estimate
    power: float
    rogan_gladen: Estimate | None
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
    graded: bool
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
        return labels_needed(
            self.corrected, width, self.confidence, labeled=self.labeled, claims=self.claims
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "score": self.score,
            "confidence": self.confidence,
            "judged": {"value": self.judged, "interval": _interval(self.judged_interval)},
            "corrected": {**(_estimate(self.corrected) or {}), "power": self.power},
            "rogan_gladen": _estimate(self.rogan_gladen),
            "bias": self.bias,
            "bounds": list(self.bounds),
            "agreement": {
                name: _estimate(figure) for name, figure in self.agreement._asdict().items()
            },
            "confusion": self.confusion._asdict(),
            "raters": [
                {
                    "raters": list(pair.raters),
                    "claims": pair.claims,
                    "agreed": pair.agreed,
                    "kappa": pair.kappa,
                    "interval": _interval(pair.interval),
                }
                for pair in self.raters
            ],
            "samples": self.samples,
            "groups": self.groups,
            "claims": self.claims,
            "labeled": self.labeled,
            "labeled_samples": self.labeled_samples,
            "unlabeled": self.unlabeled,
            "unscored": self.unscored,
            "unmeasured": self.unmeasured,
            "drawn": self.drawn,
        }

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
        if self.corrected.clipped or (self.rogan_gladen is not None and self.rogan_gladen.clipped):
            yield "what lay outside 0 to 1 is cut off there"
        if self.rogan_gladen is None:
            why = (
                "the judge gives partial credit"
                if self.graded
                else "the judge's verdicts tell no more than chance, or all labels are of one kind"
            )
            yield f"no Rogan-Gladen correction: {why}"
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
        from fullrecall.calibration.printout import sheets

        return sheets(self)

    def to_markdown(self) -> str:
        """Return the calibration in GitHub's Markdown, for a pull request or a job's summary."""
        from fullrecall.views import markdown

        return markdown.text_of(f"Calibration of {markdown.escaped(self.score)}", *self.sheets)

    def __repr__(self) -> str:
        return f"Calibration({self.score}, {self.labeled} labels)\n{self}"


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "value": estimate.value,
        "interval": _interval(estimate.interval),
        "clipped": estimate.clipped,
    }
