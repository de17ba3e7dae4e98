"""`calibrate`: the weight of each label, refused labels, and the note on the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fullrecall import Label, Report, calibrate
from fullrecall.calibration import Calibration, ToLabel
from fullrecall.errors import InputError, ParameterError, ReportError

MakeReport = Callable[..., Report]
Says = Callable[[ToLabel], str | None]


def by_the_judge(claim: ToLabel) -> str:
    """Agree with the judge."""
    return claim.verdict


def labeled(report: Report, n: int = 1_000, says: Says = by_the_judge) -> list[Label]:
    """Return the labels that a person gives to `n` drawn claims."""
    return [
        Label(claim.sample, claim.claim, says(claim), claim.probability, claim.item)  # type: ignore[arg-type]
        for claim in report.to_label(n, show_verdicts=True)
    ]


def all_of(report: Report, letters: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return labels of all claims of the samples in `letters`, without probabilities."""
    words = {"s": "supported", "n": "not_supported", "p": "partial"}
    return {
        (sample, claim.target.label): words[letter]
        for sample, said in letters.items()
        for letter, claim in zip(
            said, report.rows[int(sample[1:])].results[0].findings, strict=True
        )
    }


class TestMeans:
    """`calibrate` corrects the mean by the labels."""

    def test_a_judge_who_is_always_right(self, report: Report) -> None:
        """If all labels agree, the corrected mean is the judged mean, and agreement is complete."""
        found = calibrate(report, labeled(report))
        assert found.judged == pytest.approx(report.summary()["claim_recall"].mean)
        assert found.corrected.value == pytest.approx(found.judged)
        assert found.corrected.interval == pytest.approx(found.judged_interval)
        assert found.bias == pytest.approx(0)
        agreement = found.agreement
        assert agreement.balanced_accuracy is not None
        assert agreement.balanced_accuracy.value == pytest.approx(1)
        # 52 labels cannot show that the judge is never wrong.
        assert agreement.balanced_accuracy.interval is not None
        assert 0.8 < agreement.balanced_accuracy.interval.low < 0.99

    def test_every_sample_counts_the_same(self, make_report: MakeReport) -> None:
        """Every sample counts the same: one of one claim weighs as much as one of four."""
        of = make_report(["n", "ssss"] * 10)
        flipped = calibrate(of, labeled(of, says=lambda _: "supported"))
        assert flipped.judged == pytest.approx(0.5)
        assert flipped.corrected.value == pytest.approx(1)

    def test_what_nothing_was_retrieved_for_is_0(self, make_report: MakeReport) -> None:
        """A sample without contexts is 0 in the mean, needs no label, and credits no judge."""
        of = make_report(["s", "0n"] * 12)
        found = calibrate(of, labeled(of))
        assert found.labeled == 12
        assert found.claims == 24
        assert found.corrected.value == pytest.approx(0.5)

    def test_labels_that_are_all_alike(self, make_report: MakeReport) -> None:
        """Labels that are all alike give the mean, but no rates of the judge."""
        of = make_report(["ss", "sn"] * 10)
        found = calibrate(of, labeled(of, 16, says=lambda _: "supported"))
        assert found.corrected.value == pytest.approx(1)
        assert found.corrected.interval is not None
        assert found.corrected.interval.low < 0.99
        assert found.agreement.sensitivity is None

    def test_a_judge_no_better_than_chance(self, make_report: MakeReport) -> None:
        """The correction ignores a judge that is no better than chance."""
        of = make_report(["ssnn"] * 30)
        labels = all_of(of, {f"q{n}": "snsn" for n in range(15)})
        found = calibrate(of, labels)
        assert found.corrected.value == pytest.approx(0.5)

    def test_groups_are_counted_together(self, make_report: MakeReport) -> None:
        """Samples of a group count as one, so the variance is larger."""
        letters = ["sn", "sn", "ss", "ss", "nn", "nn"] * 8
        alone = make_report(letters)
        together = make_report(letters, groups=[f"g{n // 2}" for n in range(48)])
        wide, narrow = (calibrate(of, labeled(of)) for of in (together, alone))
        assert (wide.groups, narrow.groups) == (24, 48)
        assert wide.corrected.variance > 1.5 * narrow.corrected.variance
        assert "in 24 groups" in next(wide.notes())

    def test_one_group_has_no_interval(self, make_report: MakeReport) -> None:
        """Samples of one group have no interval, because one independent sample has no variance."""
        of = make_report(["sn"] * 12, groups=["g"] * 12)
        found = calibrate(of, labeled(of))
        assert found.corrected.interval is None
        assert found.judged_interval is None
        assert found.corrected.value == pytest.approx(0.5)


class TestPartialCredit:
    """Judges and people may give partial support."""

    def test_is_worth_what_the_scorer_says(self, make_report: MakeReport) -> None:
        """In the mean a partial label earns as much as a partial verdict."""
        strict, half = (make_report(["sp", "n"] * 10, partial_credit=c) for c in (0.0, 0.5))
        found = calibrate(half, labeled(half))
        assert found.judged == pytest.approx(0.375)
        assert found.corrected.value == pytest.approx(0.375)
        found = calibrate(strict, labeled(strict))
        assert found.corrected.value == pytest.approx(0.25)

    def test_agreement_is_on_full_support(self, make_report: MakeReport) -> None:
        """A partial verdict or label counts as not supported in the agreement, at any credit."""
        for credit in (0.0, 0.5):
            of = make_report(["sp", "n"] * 10, partial_credit=credit)
            found = calibrate(of, labeled(of))
            assert found.agreement.balanced_accuracy is not None
            assert found.agreement.balanced_accuracy.value == pytest.approx(1)


class TestWhatIsMissing:
    """Unscored samples, unmeasured claims, and labels that were never given are counted."""

    def test_is_counted_and_said(self, make_report: MakeReport) -> None:
        """Unscored samples are in neither mean, and the bounds show their possible effect."""
        of = make_report(["sn", "s?", None, "n"] * 10)
        found = calibrate(of, labeled(of))
        assert (found.samples, found.unscored, found.unmeasured) == (30, 10, 10)
        assert found.judged == pytest.approx(0.5)
        assert found.bounds == pytest.approx((15 / 40, 25 / 40))
        notes = " ".join(found.notes())
        assert "10 samples unscored, in neither mean" in notes
        assert "0.375 if they were all 0, and 0.625 if all 1" in notes
        assert "10 claims without a verdict" in notes

    def test_labels_left_empty_are_like_the_others(self, make_report: MakeReport) -> None:
        """Claims without a label leave the mean as it is, widen the interval, and are noted."""
        of = make_report(["sn", "sns", "nn", "s"] * 20)

        def wrong(claim: ToLabel) -> str:
            return "not_supported" if claim.item[-1] in "01234" else claim.verdict

        drawn = labeled(of, says=wrong)
        half = [label._replace(label=None) if n % 2 else label for n, label in enumerate(drawn)]
        whole, part = calibrate(of, drawn), calibrate(of, half)
        assert part.unlabeled == len(drawn) // 2
        assert "not labeled: taken to be like the others" in " ".join(part.notes())
        assert part.corrected.variance > 1.2 * whole.corrected.variance
        # Deleting the empty rows gives the same result, but for their count.
        without = calibrate(of, [label for label in half if label.label])
        assert without.corrected == part.corrected
        assert without.unlabeled == 0

    def test_too_few_are_refused(self, make_report: MakeReport) -> None:
        """Fewer than two labels of a verdict, or than ten labeled samples, are refused."""
        of = make_report(["sn"] * 30)
        with pytest.raises(InputError, match="labels in 10 samples, got 1"):
            calibrate(of, {("q0", "claim 0 of 0"): "supported"})
        drawn = labeled(of, 40)
        only = [label for label in drawn if label.label == "supported"]
        with pytest.raises(InputError, match="2 labels of the 30 claims judged 'not_su"):
            calibrate(of, only)
        with pytest.raises(InputError, match="no claim is labeled"):
            calibrate(of, [])

    def test_ten_samples_are_not_asked_of_fewer(self, make_report: MakeReport) -> None:
        """A report of fewer than ten samples is calibrated if all its claims are labeled."""
        of = make_report(["sn"] * 4)
        assert calibrate(of, labeled(of)).corrected.value == pytest.approx(0.5)


class TestLabels:
    """Labels must belong to claims of the report."""

    def test_by_sample_and_claim(self, report: Report) -> None:
        """Labels may be a mapping by sample and claim: a simple random sample, as a note says."""
        letters = {"q0": "s", "q1": "sn", "q2": "ssn", "q3": "snsn", "q4": "ss", "q5": "n"}
        again = {f"q{int(key[1:]) + 6}": said for key, said in letters.items()}
        found = calibrate(report, all_of(report, letters | again))
        assert not found.drawn
        assert "came without probabilities" in " ".join(found.notes())
        assert f"λ = {found.power:.2f}" in " ".join(found.notes())
        assert found.labeled == 26
        assert found.corrected.value == pytest.approx(found.judged)

    def test_of_no_claim(self, report: Report, make_report: MakeReport) -> None:
        """Labels of an unknown claim or of other contexts belong to another report: refused."""
        with pytest.raises(InputError, match="1 of 1 labels match no claim that claim_recall"):
            calibrate(report, {("q0", "something else"): "supported"})
        others = make_report(["s", "sn"] * 12, contexts=["Other."])
        with pytest.raises(InputError, match="of another report, or of another score"):
            calibrate(report, labeled(others))

    def test_twice(self, report: Report) -> None:
        """Two labels of one claim by one rater are refused."""
        labels = labeled(report)
        with pytest.raises(InputError, match="is labeled twice: keep one"):
            calibrate(report, [*labels, labels[0]])

    def test_of_two_drawings(self, report: Report) -> None:
        """Labels with and without probabilities are refused together."""
        labels = labeled(report)
        mixed = [labels[0]._replace(probability=None), *labels[1:]]
        with pytest.raises(InputError, match="labels of one draw"):
            calibrate(report, mixed)

    @pytest.mark.parametrize(
        ("labels", "problem"),
        [
            ({("q0", "claim 0 of 0"): "perhaps"}, "got 'perhaps'"),
            ({"q0": "supported"}, "key must be"),
            (["supported"], "labels must be Label objects or a mapping"),
            ([Label("q0", "claim 0 of 0", "supported", 1.5)], "above 0 and at most 1"),
        ],
    )
    def test_that_are_none(self, report: Report, labels: Any, problem: str) -> None:
        """The error names the given value."""
        with pytest.raises(InputError, match=problem):
            calibrate(report, labels)

    def test_the_same_claim_twice_in_a_sample(self, make_report: MakeReport) -> None:
        """A claim that a sample has twice is named by the label's item, not by its text."""
        of = make_report(["ss"] * 12)
        for row in of:
            one, other = row.results[0].findings
            object.__setattr__(row.results[0], "findings", (one, other._replace(target=one.target)))
        with pytest.raises(InputError, match="more than once: set the label's item"):
            calibrate(of, {("q0", "claim 0 of 0"): "supported"})
        assert calibrate(of, labeled(of)).labeled == 24

    def test_of_another_judge(self, make_report: MakeReport) -> None:
        """Labels of one judge's report calibrate another judge of the same claims and contexts."""
        one, other = make_report(["sn", "ss"] * 15), make_report(["ss", "sn"] * 15)
        labels = labeled(one)
        found = calibrate(other, labels)
        assert found.corrected.value == pytest.approx(0.75)


class TestRaters:
    """Two people may label the same claims."""

    def test_disagreeing_labels_count_as_their_mean(self, report: Report) -> None:
        """A claim that two raters label counts as the mean of both labels."""
        ann = [label._replace(rater="ann") for label in labeled(report)]
        bob = [
            label._replace(rater="bob", label="supported" if n < 4 else label.label)
            for n, label in enumerate(ann)
        ]
        found = calibrate(report, [*ann, *bob])
        changed = sum(label.label == "not_supported" for label in ann[:4])
        assert changed
        alone = calibrate(report, ann), calibrate(report, bob)
        means = [each.corrected.value for each in alone]
        assert means[1] > means[0]
        assert found.labeled == 52
        assert found.corrected.value == pytest.approx(sum(means) / 2)


class TestShown:
    """A calibration prints as a table and exports as JSON."""

    def test_prints_as_a_table(self, report: Report) -> None:
        """The table has both means with their intervals, the agreement, and the notes."""
        found = calibrate(report, labeled(report, 40))
        assert isinstance(found, Calibration)
        lines = str(found).splitlines()
        assert any(line.split()[:1] == ["judged"] for line in lines)
        for part in ("95% interval", "balanced accuracy", "40 of 52"):
            assert any(part in line for line in lines), part
        assert repr(found).startswith("Calibration(claim_recall, 40 labels)")

    def test_is_plain_json(self, report: Report) -> None:
        """`to_dict` has all figures, and nothing that JSON lacks."""
        found = calibrate(report, labeled(report, 40), confidence=0.9)
        plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert plain["confidence"] == plain["corrected"]["interval"]["confidence"] == 0.9
        assert plain["corrected"]["value"] == found.corrected.value
        assert plain["agreement"]["balanced_accuracy"]["value"] == pytest.approx(1)
        assert (plain["labeled"], plain["claims"], plain["drawn"]) == (40, 52, True)

    def test_clipping_is_said(self, make_report: MakeReport) -> None:
        """An interval that would leave 0 to 1 is cut off there, and a note says so."""
        of = make_report(["ssss"] * 20 + ["n"])
        found = calibrate(of, labeled(of, 15))
        assert found.corrected.clipped
        assert found.corrected.interval is not None
        assert found.corrected.interval.high == 1.0
        assert "cut off" in " ".join(found.notes())


class TestRefusals:
    """Calibration refuses wrong arguments."""

    def test_bad_arguments(self, report: Report) -> None:
        """The error for a wrong argument names the parameter, or the unknown score."""
        with pytest.raises(ParameterError, match="confidence"):
            calibrate(report, labeled(report), confidence=95)
        with pytest.raises(ReportError, match="no score 'claims'"):
            calibrate(report, labeled(report), score="claims")
