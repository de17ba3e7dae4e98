"""A calibration prints its figures and what is behind them; labels that are too few are refused."""

from __future__ import annotations

import re

import pytest

from fullrecall import Label, Report, calibrate
from fullrecall.errors import InputError, ParameterError, ReportError
from fullrecall.measures import Precision
from fullrecall.scorers.result import Method

from .conftest import MakeReport

SIMPLE = """\
                                             95% interval
─────────────────────────────────────────────────────────
mean recall, claim_recall
  judged                           0.587   0.481 to 0.685
  corrected (prediction-powered)   0.674   0.492 to 0.856

judge against people
  sensitivity                      1.000   0.846 to 1.000
  specificity                      1.000   0.786 to 1.000
  balanced accuracy                1.000   0.868 to 1.000

30 of 53 claims labeled, in 15 of 25 samples in 13 groups
the labels came without probabilities: taken for a simple random sample of the claims
λ = 1.00: how much of the judge the prediction-powered mean uses
1 sample unscored, in neither mean: the corrected one would be 0.648 if they were all 0, and 0.686 \
if all 1
1 claim without a verdict, in neither mean
"""
DRAWN = """\
                                             90% interval
─────────────────────────────────────────────────────────
mean recall, claim_recall
  judged                           0.587   0.500 to 0.669
  corrected (prediction-powered)   0.677   0.518 to 0.836

judge against people
  sensitivity                      1.000   0.832 to 1.000
  specificity                      1.000   0.834 to 1.000
  balanced accuracy                1.000   0.881 to 1.000

30 of 53 claims labeled, in 15 of 25 samples in 13 groups
2 drawn and not labeled: taken to be like the others of their verdict
1 sample unscored, in neither mean: the corrected one would be 0.651 if they were all 0, and 0.689 \
if all 1
1 claim without a verdict, in neither mean
"""


@pytest.fixture
def judged(make_report: MakeReport) -> Report:
    """Return a report in groups of two samples; one is unscored, and one claim is unmeasured."""
    letters = ["s", "sn", "ssn", "snsn", "sp", "n"] * 4 + [None, "s?"]
    return make_report(letters, partial_credit=0.5, groups=[f"g{n // 2}" for n in range(26)])


def labels_of(report: Report) -> list[Label]:
    """Return a label of each claim: the judge's if it is supported, else partial or not."""
    labels = []
    for row in report:
        for finding in row.results[0].findings:
            other = "partial" if row.position % 3 else "not_supported"
            label = "supported" if finding.verdict == "supported" else other
            labels.append(Label(row.label, finding.target.label, label))  # type: ignore[arg-type]
    return labels


def test_a_calibration_in_full(judged: Report) -> None:
    """The means, the agreement, the numbers of labels, and all that is left out are printed."""
    labels = labels_of(judged)
    calibration = calibrate(judged, labels[:30])
    assert str(calibration) == SIMPLE
    assert calibration.to_markdown().startswith("### Calibration of claim\\_recall\n\n|  |  | 95% ")
    assert repr(calibration) == f"Calibration(claim_recall, 30 labels)\n{SIMPLE}"
    drawn = [label._replace(probability=0.5) for label in labels[:32]]
    drawn[30:] = [label._replace(label=None) for label in drawn[30:]]
    assert str(calibrate(judged, drawn, confidence=0.9)) == DRAWN


def test_a_calibration_without_omissions(make_report: MakeReport) -> None:
    """Notes are left out if no sample is in a group, unscored, or without a verdict."""
    report = make_report(["s", "sn", "n", "ss"] * 4)
    notes = [*calibrate(report, [each._replace(probability=1.0) for each in labels_of(report)])
             .notes()]  # fmt: skip
    assert notes == ["24 of 24 claims labeled, in 16 of 16 samples"]


@pytest.mark.parametrize(
    ("count", "probability", "problem"),
    [
        (0, None, "no claim is labeled: fill in the column label"),
        (1, None, "expected 2 labels of the 53 claims judged 'all', got 1; labels in 10 samples,"),
        (2, None, "calibrate: expected labels in 10 samples, got 2"),
        (3, 0.5, "expected 2 labels of the 20 claims judged 'not_supported', got 1; 2 labels of"),
        (3, 0.5, "2 labels of the 4 claims judged 'partial', got 0; labels in 10 samples, got 2"),
    ],
)
def test_too_few_labels(
    judged: Report, count: int, probability: float | None, problem: str
) -> None:
    """The error has the number of labels that each verdict needs."""
    labels = [label._replace(probability=probability) for label in labels_of(judged)[:count]]
    with pytest.raises(InputError, match=re.escape(problem)):
        calibrate(judged, labels)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ({("q0", "claim 0 of 0"): "maybe"}, "label must be supported, not_supported, partial, or"),
        ({("q0", "claim 0 of 0"): "contradicted"}, "or empty, got 'contradicted'"),
        ({"q0": "yes"}, "a label's key must be (sample, claim), got 'q0'"),
        ({("q0",): "yes"}, "a label's key must be (sample, claim)"),
        (["yes"], "labels must be Label objects or a mapping from (sample, claim), got 'yes'"),
        ([Label("q0", "claim 0 of 0", "supported", 0.0)], "must be above 0 and at most 1, got 0.0"),
        ([Label("q0", "claim 0 of 0", "supported", 1.5)], "must be above 0 and at most 1, got 1.5"),
    ],
)
def test_values_that_are_no_labels(judged: Report, labels: object, problem: str) -> None:
    """An error shows the value that is no label."""
    with pytest.raises(InputError, match=re.escape(problem)):
        calibrate(judged, labels)  # type: ignore[arg-type]


def test_only_a_recall_by_a_judge_is_calibrated(make_report: MakeReport) -> None:
    """A score of contexts has no claims, and without contexts no claim was judged."""
    precision = Method("context_precision", {"judge": "a judge"}, Precision)
    report = make_report(["s"], methods=[precision])
    with pytest.raises(ReportError, match="context_precision is not a recall: it judges contexts"):
        report.to_label(5, score="context_precision")
    with pytest.raises(ReportError, match="no sample has a claim that claim_recall judged by a"):
        make_report(["0n", "0n"]).to_label(5)


def test_a_call_is_checked_before_the_claims(make_report: MakeReport) -> None:
    """A value that is no report, and a path that is no sheet, are refused first."""
    with pytest.raises(ParameterError, match=r"report must be a Report, got 'report.jsonl'"):
        calibrate("report.jsonl", {})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"path must end in .csv, got 'labels.txt'"):
        make_report(["0n"]).to_label(5, "labels.txt")
