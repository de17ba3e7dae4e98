"""Gates have rules other than `>=`: upper bounds, slices, and scorers' parameters."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.precision_by_id import PrecisionById
from tests.stats.gate_reports import TEXTS, kinds, report_of

from fullrecall import ClaimRecall, Gate, SpanRecall, TextRecall, evaluate, measures
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import RR, Recall, parse_threshold
from fullrecall.report import Outcome

PASS, FAIL, CANNOT_TELL = Outcome.PASS, Outcome.FAIL, Outcome.CANNOT_TELL


class TestAtMost:
    """`Gate(Recall <= 0.1)` bounds a mean from above, as for `Leak @ 10 <= 0.01`."""

    @pytest.mark.parametrize(
        ("found", "missed", "outcome", "said"),
        [
            (
                5,
                195,
                PASS,
                "id_recall is at most 0.052 (one-sided, 95% confidence, 200 samples)",
            ),
            (
                60,
                140,
                FAIL,
                "id_recall is at least 0.246 (one-sided, 95% confidence, 200 samples)",
            ),
            (20, 180, CANNOT_TELL, "id_recall is from 0.062 to 0.151 (95% interval"),
        ],
    )
    def test_it_mirrors_at_least(
        self, found: int, missed: int, outcome: Outcome, said: str
    ) -> None:
        """A mean shown to be below passes, one above fails, and the reason says which."""
        (check,) = Gate(Recall <= 0.1).check(report_of(found, missed)).checks
        assert (check.outcome, check.rule) == (outcome, "id_recall <= 0.1")
        assert check.reason.startswith(said)
        assert re.search(r"; allowed: 0\.100(; more samples .*)?$", check.reason)

    def test_unscored_samples_count_as_one_for_pass(self) -> None:
        """Every unscored sample may leak, so many of them leave the gate undecided."""
        assert Gate(Recall <= 0.1).check(report_of(0, 200)).outcome is PASS
        assert Gate(Recall <= 0.1).check(report_of(0, 200, 40)).outcome is CANNOT_TELL

    def test_bounds_at_the_ends_always_pass(self) -> None:
        """`<= 1` and `>= 0` always pass, because every mean is within 0 to 1."""
        report = report_of(3, 2)
        assert Gate(Recall <= 1, Recall >= 0).check(report).outcome is PASS


class TestSlices:
    """`Gate(Recall >= 0.9, slices="kind")` checks each slice."""

    def test_each_value_of_a_field_must_pass(self) -> None:
        """A slice that fails makes the gate fail, even if the whole report passes."""
        report = kinds(text=(400, 0), table=(20, 40))
        assert Gate(Recall >= 0.8).check(report).outcome is PASS
        result = Gate(Recall >= 0.8, slices="kind").check(report)
        assert [(check.rule, check.outcome) for check in result.checks] == [
            ("id_recall >= 0.8", PASS),
            ("id_recall [kind=table] >= 0.8", FAIL),
            ("id_recall [kind=text] >= 0.8", PASS),
        ]
        assert result.sentence.startswith("FAIL: id_recall [kind=table] is at most")

    def test_fails_are_corrected_for_the_number_of_slices(self) -> None:
        """A result that would fail alone is not enough evidence among twenty slices."""
        bad = {"bad": (20, 8)}
        others = {f"k{n}": (28, 0) for n in range(19)}
        alone = Gate(Recall >= 0.9).check(kinds(**bad))
        assert alone.outcome is FAIL
        together = Gate(Recall >= 0.9, slices="kind").check(kinds(**bad, **others))
        (check,) = [each for each in together.checks if "bad" in each.rule]
        assert check.outcome is CANNOT_TELL
        assert None not in (check.p_fail, alone.checks[0].p_fail)
        assert check.p_fail == pytest.approx(20 * alone.checks[0].p_fail, rel=0.2)

    def test_changes_are_decided_in_each_slice_too(self) -> None:
        """A drop in one slice fails the gate, even if the whole report does not drop."""
        before = kinds(text=(300, 0), table=(60, 0))
        after = kinds(text=(300, 0), table=(20, 40))
        result = Gate(Recall, margin=0.2, slices="kind").check(after, before)
        outcomes = {check.rule.split(" >=")[0]: check.outcome for check in result.checks}
        assert outcomes["change of id_recall [kind=table]"] is FAIL
        assert outcomes["change of id_recall [kind=text]"] is PASS

    def test_a_field_that_no_sample_has(self) -> None:
        """The error names the unknown field, and the known ones."""
        with pytest.raises(ReportError, match="'sort' to slice by: choose one of kind"):
            Gate(Recall >= 0.8, slices="sort").check(kinds(text=(3, 0)))


class TestParameters:
    """Scorer parameters that differ from the defaults appear beside the outcome, in one line."""

    LINE = "Parameters that differ from the defaults: text_recall(threshold=0.05, comparison='gt')."

    @staticmethod
    def gated(*scorers: Any, **parameters: Any) -> Any:
        """Return the result of a gate on a report of these scorers."""
        report = evaluate([TEXTS] * 60, scorers, progress=False)
        return Gate(Recall >= 0.5, **parameters).check(report)

    def test_defaults_add_no_line(self) -> None:
        """Scorers with their defaults, and a user's own, add no line to the rules."""
        for scorer in (TextRecall(), SpanRecall(name="spans"), PrecisionById()):
            result = self.gated(scorer)
            assert result.parameters == ()
            assert len(str(result).splitlines()) == 1
            assert "differ" not in result.to_markdown()

    def test_a_loosened_scorer_is_seen(self) -> None:
        """A PASS with a text threshold of 0.05 shows that parameter, in every output."""
        result = self.gated(TextRecall(threshold=0.05, comparison="gt"))
        assert result.outcome is PASS
        assert str(result).splitlines()[1:] == [self.LINE]
        assert result.to_dict()["parameters"] == ["text_recall(threshold=0.05, comparison='gt')"]
        (note,) = [line for line in result.to_markdown().splitlines() if line.startswith("- ")]
        assert "text\\_recall\\(threshold=0.05, comparison='gt'\\)" in note

    def test_only_scores_that_decide(self) -> None:
        """Only the parameters of the scores that the gate reads are printed."""
        scorers = (TextRecall(threshold=0.05, name="loose"), SpanRecall(min_run=8))
        assert self.gated(*scorers, scores=["span_recall"]).parameters == (
            "span_recall(min_run=8)",
        )
        assert self.gated(*scorers, scores=["loose", "span_recall"]).parameters == (
            "loose(threshold=0.05)",
            "span_recall(min_run=8)",
        )

    @pytest.mark.rooms
    def test_judged_scores_name_a_judge_of_your_own(self) -> None:
        """A judge other than the built-in one, and partial credit, are named."""
        sample = {
            "retrieved_contexts": ["It is in Paris."],
            "reference_claims": ["It is in Paris."],
        }
        from fullrecall.lexical import LexicalJudge  # a room

        lenient = ClaimRecall(partial_credit=0.5, min_measured=0.2)
        another = ClaimRecall(judge=LexicalJudge(threshold=0.3), require_evidence=True, name="own")
        report = evaluate([sample] * 3, [ClaimRecall(name="plain"), lenient, another])
        result = Gate(Recall >= 0.5, scores=["plain", "claim_recall", "own"]).check(report)
        assert result.parameters == (
            "claim_recall(partial_credit=0.5, min_measured=0.2)",
            "own(judge='lexical:0.3', require_evidence=True)",
        )


class TestWhatIsNoThreshold:
    """Comparisons of a measure that cannot be a threshold are errors."""

    @pytest.mark.parametrize(
        "write",
        [
            lambda: (Recall @ 5 >= 0.9) and (RR >= 0.7),
            lambda: (Recall @ 5 >= 0.9) or (RR >= 0.7),
            lambda: not (Recall @ 5 >= 0.9),
            lambda: 0.5 <= Recall @ 5 <= 0.9,
            lambda: bool(Recall <= 0.1),
        ],
    )
    def test_a_threshold_has_no_truth_value(self, write: Any) -> None:
        """`and` between two thresholds, which would drop one, is an error with the right form."""
        with pytest.raises(ParameterError, match="no truth value: pass each rule by itself"):
            write()

    def test_strict_comparisons_say_what_to_write(self) -> None:
        """`>` and `<` are refused, because a confidence bound cannot show them."""
        with pytest.raises(ParameterError, match=r"write Recall @ 5 >= 0.9"):
            Gate(Recall @ 5 > 0.9)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match=r"write Recall @ 5 <= 0.9"):
            Gate(Recall @ 5 < 0.9)  # type: ignore[arg-type]

    def test_a_truth_value_is_no_rule(self) -> None:
        """A comparison of plain numbers, True or False, is not a rule."""
        with pytest.raises(ParameterError, match="a rule must be such as"):
            Gate(True)  # type: ignore[arg-type]  # noqa: FBT003

    @pytest.mark.parametrize("text", ["recall@5>=0.9", "precision <= 0.25", "ndcg@3<=1"])
    def test_text_and_threshold_are_the_same(self, text: str) -> None:
        """Texts with either sign parse to a threshold, and print as they are written in Python."""
        threshold = parse_threshold(text)
        assert threshold.at_most == ("<=" in text)
        named = {name: getattr(measures, name) for name in measures.__all__}
        assert eval(repr(threshold), named) == threshold  # noqa: S307 - our own
