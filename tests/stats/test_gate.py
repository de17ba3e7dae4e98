"""A gate's outcomes, and the reasons it gives."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.precision_by_id import PrecisionById
from tests.stats.gate_reports import report_of

from fullrecall import Context, Gate, IdRecall, Report, Sample, TextRecall, compare, evaluate
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import RR, Recall, nDCG
from fullrecall.report import Outcome

PASS, FAIL, CANNOT_TELL = Outcome.PASS, Outcome.FAIL, Outcome.CANNOT_TELL


class TestThresholds:
    """`Gate(Recall >= 0.9)` decides by a threshold."""

    @pytest.mark.parametrize(
        ("found", "missed", "outcome"),
        [
            (200, 0, PASS),
            (195, 5, PASS),
            (190, 10, PASS),
            (185, 15, CANNOT_TELL),
            (180, 20, CANNOT_TELL),
            (160, 40, FAIL),
            (0, 200, FAIL),
            (20, 0, CANNOT_TELL),
            (1, 0, CANNOT_TELL),
            (0, 0, CANNOT_TELL),
        ],
    )
    def test_verdicts(self, found: int, missed: int, outcome: Outcome) -> None:
        """Proved above is PASS, proved below is FAIL, and neither is CANNOT TELL."""
        assert Gate(Recall >= 0.9).check(report_of(found, missed)).outcome is outcome

    def test_how_many_would_do(self) -> None:
        """The number of samples in the reason is enough at the same mean; one less is not."""
        (check,) = Gate(Recall >= 0.9).check(report_of(20)).checks
        assert check.needed == 29
        assert "about 29 samples with these values would settle it" in check.reason
        assert Gate(Recall >= 0.9).check(report_of(28)).outcome is CANNOT_TELL
        assert Gate(Recall >= 0.9).check(report_of(29)).outcome is PASS

    def test_exactly_at_the_line(self) -> None:
        """A mean of exactly the threshold is undecided at any number of samples."""
        (check,) = Gate(Recall >= 0.9).check(report_of(180, 20)).checks
        assert check.needed is None
        assert "more samples with this mean would not settle it" in check.reason

    def test_any_measure(self) -> None:
        """Each rule has its own measure, and each must pass."""
        result = Gate(Recall @ 3 >= 0.9, RR >= 0.3, nDCG @ 10 >= 0.6).check(report_of(100))
        assert [check.outcome for check in result.checks] == [PASS, PASS, FAIL]
        assert [check.rule for check in result.checks] == [
            "id_recall@3 >= 0.9",
            "id_recall.rr >= 0.3",
            "id_recall.ndcg@10 >= 0.6",
        ]

    def test_fail_is_adjusted_for_the_number_of_rules(self) -> None:
        """FAIL is corrected by Holm's method; PASS is not corrected."""
        rules = [Recall @ 3 >= 0.9, Recall @ 5 >= 0.9, Recall @ 10 >= 0.9]
        one, *_ = Gate(*rules).check(report_of(160, 40)).checks
        (alone,) = Gate(rules[0]).check(report_of(160, 40)).checks
        assert alone.p_fail is not None
        assert one.p_fail == pytest.approx(3 * alone.p_fail)
        assert Gate(*rules).check(report_of(171, 29)).outcome is not FAIL
        assert Gate(rules[0]).check(report_of(171, 29)).outcome is FAIL

    def test_confidence(self) -> None:
        """A report may pass at a low confidence and not at a higher one."""
        report = report_of(93, 7)
        assert Gate(Recall >= 0.9, confidence=0.5).check(report).outcome is PASS
        assert Gate(Recall >= 0.9, confidence=0.99).check(report).outcome is CANNOT_TELL

    def test_the_worst_of_several_scores(self) -> None:
        """The worst of several named scores decides; without a name there must be one score."""
        rows = [
            Sample(
                retrieved_contexts=[{"id": "a", "text": "x" * 30}],
                expected_ids=["a"],
                expected_texts=["y" * 30],
            )
        ] * 100
        report = evaluate(rows, [IdRecall(), TextRecall()], progress=False)
        names = ["id_recall", "text_recall"]
        result = Gate(Recall >= 0.9, scores=names).check(report)
        assert [check.outcome for check in result.checks] == [PASS, FAIL]
        assert result.outcome is FAIL
        with pytest.raises(ReportError, match="choose one by its name"):
            Gate(Recall >= 0.9).check(report)

    def test_the_only_recall_beside_other_scores_is_meant(self) -> None:
        """A gate of recall needs no name where one score is a recall."""
        rows = [
            Sample(retrieved_context_ids=["x", "a"], reference_context_ids=["a"]) for _ in range(9)
        ]
        report = evaluate(rows, [PrecisionById(), IdRecall()], progress=False)
        (check,) = Gate(Recall >= 0.5).check(report).checks
        assert (check.outcome, check.reason[:9]) == (PASS, "id_recall")


class TestCoverage:
    """An unscored sample is neither counted as 0 nor ignored."""

    def test_the_verdict_holds_whatever_they_would_have_scored(self) -> None:
        """A few unscored samples change no outcome; many make it uncertain."""
        gate = Gate(Recall >= 0.9)
        assert gate.check(report_of(400, 0, 4)).outcome is PASS
        assert gate.check(report_of(100, 300, 100)).outcome is FAIL
        (check,) = gate.check(report_of(400, 0, 60)).checks
        assert check.outcome is CANNOT_TELL
        assert "the 13.0% of samples without a value decide it" in check.reason
        assert check.coverage == pytest.approx(400 / 460)

    def test_a_cut_off_report_is_no_pass(self) -> None:
        """Samples of the baseline that are missing count against the coverage; new ones do not."""
        whole = report_of(200)
        cut = Report.of(whole.methods, whole.rows[:120])
        assert Gate(margin=0.1).check(cut, whole).outcome is CANNOT_TELL
        assert Gate(margin=0.1).check(whole, cut).outcome is PASS


class TestBaseline:
    """`margin` bounds the drop against a baseline."""

    @pytest.mark.parametrize(
        ("found", "outcome"),
        [(180, PASS), (190, PASS), (174, CANNOT_TELL), (160, FAIL)],
    )
    def test_verdicts(self, found: int, outcome: Outcome) -> None:
        """A drop beyond the margin is excluded, shown, or undecided."""
        result = Gate(margin=0.04).check(report_of(found, 200 - found), report_of(180, 20))
        assert result.outcome is outcome

    def test_other_targets_are_named(self) -> None:
        """References that were renamed since the baseline leave no target to compare."""
        samples = [{"id": str(n), "retrieved_ids": ["a"], "expected_ids": ["a"]} for n in range(9)]
        renamed = [{**sample, "expected_ids": ["b"]} for sample in samples]
        reports = [evaluate(each, IdRecall(), progress=False) for each in (samples, renamed)]
        (check,) = Gate(margin=0.1).check(*reports).checks
        assert check.outcome is CANNOT_TELL
        assert check.reason.endswith("no sample with a value: no target in common (9 samples)")

    def test_the_same_report_twice(self) -> None:
        """Equal lists pass with certainty, but equal values of other lists do not decide."""
        report = report_of(30)
        for n in (30, 200):  # equal values of 200 samples would suffice
            (check,) = Gate(margin=0.02).check(report_of(n), report_of(n)).checks
            assert (check.outcome, check.interval, check.bound) == (PASS, None, None)
            reason = f"change of id_recall is 0: all lists of {n} samples are the same"
            assert check.reason == reason
        lists = [row.sample.with_retrieval([Context(id="a")]) for row in report]
        other = evaluate(lists, IdRecall(), progress=False)
        (check,) = Gate(margin=0.02).check(report, other).checks
        assert (check.outcome, check.needed) == (CANNOT_TELL, 149)

    def test_there_is_one_interval(self) -> None:
        """A gate shows the summary's or comparison's interval, and its one-sided bound apart."""
        before, after = report_of(28, 12), report_of(33, 7)
        (unsure,) = Gate(Recall >= 0.8).check(after).checks
        assert unsure.interval == after.summary(Recall)["id_recall"].interval
        assert unsure.bound is None
        (change,) = Gate(margin=0.3).check(after, before).checks
        assert change.interval == compare(before, after, Recall)["id_recall"].main.interval
        assert change.bound is not None
        assert change.interval is not None
        assert change.bound > change.interval.low
        assert "(one-sided, 95% confidence, 40 samples)" in change.reason
        shown = re.findall(r"0(\.\d{3})", unsure.reason)[:2]
        assert "–".join(shown) in str(after.summary(Recall))

    def test_both_rules(self) -> None:
        """A threshold and a margin are two checks."""
        result = Gate(Recall >= 0.5, margin=0.04).check(report_of(180, 20), report_of(200))
        assert [check.outcome for check in result.checks] == [PASS, FAIL]


@pytest.mark.parametrize(
    ("rules", "parameters", "message"),
    [
        ([], {}, "a gate needs a rule"),
        ([], {"margin": -0.02}, "margin must be a number from 0 to 1, got -0.02"),
        ([Recall >= 0.9], {"confidence": 1}, "confidence must be a number between 0 and 1"),
        ([Recall >= 0.9], {"scores": "id_recall"}, r"scores must be a list.*\['id_recall'\]"),
        ([Recall @ 10], {}, "Recall @ 10 needs a threshold"),
        ([0.9], {}, "a rule must be such as Recall @ 10 >= 0.9, got 0.9"),
    ],
)
def test_parameters_out_of_range(rules: Any, parameters: Any, message: str) -> None:
    """A parameter out of range is an error before any report is read."""
    with pytest.raises(ParameterError, match=message):
        Gate(*rules, **parameters)


def test_a_threshold_out_of_range() -> None:
    """A percent instead of a share is an error when the threshold is made."""
    with pytest.raises(ParameterError, match="a threshold must be a number from 0 to 1, got 90"):
        Recall >= 90  # noqa: B015 - it raises


def test_margin_and_baseline_go_together() -> None:
    """A margin without a baseline, or a baseline without a margin, is an error."""
    for gate, baseline in ((Gate(margin=0.1), None), (Gate(Recall >= 1), report_of(3))):
        with pytest.raises(ParameterError, match="go together"):
            gate.check(report_of(3), baseline)


class TestWritten:
    """A gate's result is written as text, JSON, and Markdown."""

    RESULT = Gate(Recall >= 0.9, margin=0.04).check(report_of(180, 20), report_of(200))

    def test_text_and_json(self) -> None:
        """One line for each check; every figure in JSON."""
        assert str(self.RESULT).splitlines()[0].startswith("CANNOT TELL: id_recall is from 0.8")
        plain = json.loads(json.dumps(self.RESULT.to_dict()))
        assert plain["outcome"] == "fail"
        assert plain["checks"][0]["value"] == 0.9
        assert plain["checks"][0]["coverage"] == 1.0

    def test_markdown(self) -> None:
        """Markdown has a head with the outcome and a row for each check."""
        lines = self.RESULT.to_markdown().splitlines()
        assert lines[0].startswith("### ❌ Recall gate: FAIL\\: change of id\\_recall is at most")
        rows = [line for line in lines if line.startswith("|")]
        assert len(rows) == 4
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}


def test_the_first_line_of_a_comment_is_the_verdict() -> None:
    """The first line of the Markdown has the outcome."""
    passed = Gate(Recall >= 0.5, Recall @ 3 >= 0.5).check(report_of(200))
    assert passed.to_markdown().splitlines()[0].startswith("### ✅ Recall gate: PASS\\: 2 rules")
    unsure = Gate(Recall >= 0.9).check(report_of(9, 1))
    assert "CANNOT TELL" in unsure.to_markdown().splitlines()[0]
    assert unsure.sentence.startswith("CANNOT TELL: id_recall is from")
    assert "more)" not in unsure.sentence
