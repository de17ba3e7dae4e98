"""`calibrate`: the agreement of a report with human labels, and the corrected mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from fullrecall._util.counts import counted
from fullrecall._util.parameters import check_share
from fullrecall.calibration.estimation import (
    Agreement,
    CalibrationEstimate,
    Design,
    Labeled,
    agreement,
    mean_interval,
    prediction_powered,
    spread_of,
    sums,
)
from fullrecall.calibration.judged import JudgedClaims, judged_claims, labels_by_item
from fullrecall.calibration.labels import HumanLabels, Label, as_labels
from fullrecall.errors import InputError
from fullrecall.show.sheet import Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import NOTHING, from_to, shown
from fullrecall.stats.bounds import CONFIDENCE, Interval
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.plain import plain_of

FEWEST = 10
"""The fewest samples with labels for a large-sample interval."""


@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """The mean recall by a judge, and the mean corrected by human labels. Prints as a table.

    - `score`: the name of the score; `confidence`: the confidence of all intervals, in (0, 1).
    - `judged`: the mean by the judge's verdicts; `judged_interval`: None for fewer than two groups.
    - `corrected`: the mean by prediction-powered inference, in which the judge has the weight
      `power`, in [0, 1].
    - `agreement`: how often the verdicts agree with the labels.
    - `samples`, `claims`: the numbers of judged samples and claims; `groups`: the number of
      independent groups of samples.
    - `labeled`: the number of claims with a label, in `labeled_samples` samples; `unlabeled`: the
      number of claims that were drawn and have no label.
    - `unscored`: the number of samples without a score; `unmeasured`: the number of claims without
      a verdict. Neither mean includes them; `bounds` covers the unscored samples.
    - `drawn`: whether the labels have probabilities.
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
        """The judged mean minus the corrected mean."""
        return self.judged - self.corrected.value

    @property
    def bounds(self) -> tuple[float, float]:
        """The corrected mean if all unscored samples were 0, and if all were 1."""
        total = self.samples + self.unscored
        earned = self.corrected.value * self.samples
        return earned / total, (earned + self.unscored) / total

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**plain_of(self), "bias": self.bias, "bounds": list(self.bounds)}

    def notes(self) -> Iterator[str]:
        """Yield a sentence on each assumption behind the figures, and on each omission."""
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
        """The means and the agreement, with notes."""
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
    ends = from_to(interval) or NOTHING
    return [shown(value), ends]


def calibrate(
    report: Evaluation,
    labels: HumanLabels,
    *,
    score: str | None = None,
    confidence: float = CONFIDENCE,
) -> Calibration:
    """Return the agreement of a judge's verdicts with human labels, and the corrected mean recall.

    `labels` say whether the judged contexts support a claim. They are `Label` objects, as
    `fullrecall.read.read_labels` returns them, or a mapping from (sample, claim) to "supported",
    "not_supported" or "partial". In the mean, a partial label counts as the scorer's
    `partial_credit`; the agreement counts only full support. Several labels of a claim count as
    their mean.

    The estimate is the mean recall that would result if people labeled *all* judged claims, over
    the samples with a score, with claims weighted as in the score. Unscored samples and unmeasured
    claims are excluded and counted. Labels drawn by `Report.to_label` are weighted by the inverse
    of their probability. Then the weights of the labels of each verdict are scaled: they add up to
    the weight that all claims with this verdict have in the mean. A drawn claim without a label
    counts as the average labeled claim of its verdict. Labels without a probability are treated as
    a simple random sample of the claims; if they were chosen by any other rule, the figures are
    wrong.

    Raises `InputError` for labels that are not in the report, are given twice or are only partly
    from a draw. Also raises it for too few labels, with the number needed. Raises `ReportError` if
    the report keeps no rows or the score is ambiguous, and `ParameterError` for a confidence out of
    range.
    """
    check_share(confidence, "confidence", whole=False)
    judged = judged_claims(report, score)
    listed = as_labels(labels)
    drawn = [label.probability is not None for label in listed]
    if any(drawn) and not all(drawn):
        raise InputError(
            "some labels have the probability with which they were drawn, others have none: "
            "calibrate with labels of one draw"
        )
    worth = float(judged.method.parameters.get("partial_credit", 0.0))
    by_item = labels_by_item(judged, listed)
    design = design_of(judged, by_item, worth)
    _check_enough(design)
    # The scorer decides the credit of a partial label; agreement counts only full support.
    in_full = design_of(judged, by_item, 0.0) if 0 < worth < 1 else design
    corrected, power = prediction_powered(design, confidence)
    return Calibration(
        score=judged.method.name,
        confidence=confidence,
        judged=fsum(judged.credits) / len(judged.credits),
        judged_interval=mean_interval(spread_of(judged.credits, judged.cluster), confidence),
        corrected=corrected,
        power=power,
        agreement=agreement(in_full, confidence),
        samples=len(judged.rows),
        groups=len(set(judged.cluster)),
        claims=len(judged.claims),
        labeled=len(design.labeled),
        labeled_samples=len({labeled.claim.row for labeled in design.labeled}),
        unlabeled=sum(all(label.label is None for label in group) for group in by_item.values()),
        unscored=judged.unscored,
        unmeasured=judged.unmeasured,
        drawn=any(drawn),
    )


def design_of(judged: JudgedClaims, labels: Mapping[str, Sequence[Label]], worth: float) -> Design:
    """Return the claims with the values of their labels; `worth` is the value of a partial label.

    Labels with probabilities are in strata by verdict; a simple random sample has one stratum.
    """
    value = {"supported": 1.0, "partial": worth, "not_supported": 0.0}
    values_of = {
        item: [value[label.label] for label in group if label.label is not None]
        for item, group in labels.items()
    }
    drawn = any(label.probability is not None for group in labels.values() for label in group)
    candidates = judged.to_be_labeled
    # In a simple random sample, every claim has the same chance: the share of labeled claims.
    count = sum(bool(values_of.get(claim.item)) for claim in candidates)
    chance = count / max(1, len(candidates))
    shares: dict[str, dict[int, float]] = {}
    labeled = []
    for claim in candidates:
        stratum = claim.stratum if drawn else "all"
        by_row = shares.setdefault(stratum, {})
        by_row[claim.row] = by_row.get(claim.row, 0.0) + claim.share
        if values := values_of.get(claim.item):
            probability = labels[claim.item][0].probability or chance
            mean = fsum(values) / len(values)
            labeled.append(Labeled(claim, stratum, mean, claim.share / probability, probability))
    return Design(judged, _with_answer_rates(labeled, shares) if drawn else labeled, shares)


def _with_answer_rates(
    labeled: Sequence[Labeled], shares: Mapping[str, Mapping[int, float]]
) -> list[Labeled]:
    """Return labeled claims with the probability that a claim is both drawn and labeled.

    If all drawn claims of a stratum are labeled, their probability stays that of being drawn.
    """
    represented = sums((each.stratum, each.weight) for each in labeled)
    rates = {
        stratum: min(1.0, total / fsum(shares[stratum].values()))
        for stratum, total in represented.items()
    }
    return [
        # The sums are floats: if all are labeled, the rate is 1 apart from rounding.
        each._replace(probability=each.probability * rate)
        if (rate := rates[each.stratum]) < 1 - 1e-9
        else each
        for each in labeled
    ]


def _check_enough(design: Design) -> None:
    """Raise `InputError` for too few labels, with the number needed in each stratum."""
    if not design.labeled:
        raise InputError("no claim is labeled: fill in the column label")
    candidates = design.judged.to_be_labeled
    problems = []
    for stratum in design.shares:
        size = sum(stratum in (claim.stratum, "all") for claim in candidates)
        label_count = sum(labeled.stratum == stratum for labeled in design.labeled)
        if label_count < min(2, size):
            problems.append(
                f"{counted(min(2, size), 'label')} of the {counted(size, 'claim')} judged "
                f"{stratum!r}, got {label_count}"
            )
    fewest = min(FEWEST, len({claim.row for claim in candidates}))
    sample_count = len({labeled.claim.row for labeled in design.labeled})
    if sample_count < fewest:
        problems.append(f"labels in {counted(fewest, 'sample')}, got {sample_count}")
    if problems:
        raise InputError(f"too few labels to calibrate: expected {'; '.join(problems)}")
