"""The gate: its verdicts, the reasons it gives, and the command with all of its exits."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.precision_by_id import PrecisionById
from typer.testing import CliRunner

from fullrecall import (
    ClaimRecall,
    Context,
    Gate,
    IdRecall,
    Report,
    Sample,
    SpanRecall,
    TextRecall,
    compare,
    evaluate,
    measures,
)
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import RR, Recall, nDCG, parse_threshold
from fullrecall.report import Outcome

PASS, FAIL, CANNOT_TELL = Outcome.PASS, Outcome.FAIL, Outcome.CANNOT_TELL


def report_of(
    found: int,
    missed: int = 0,
    unscored: int = 0,
) -> Report:
    """Return a report of this many samples that found their one target, at rank 3, or did not."""
    retrieved = [["x", "y", "a"]] * found + [["x", "y"]] * missed + [None] * unscored
    samples = [
        Sample(id=n, retrieved_ids=ids, expected_ids=["a"]) for n, ids in enumerate(retrieved)
    ]
    return evaluate(samples, IdRecall(), progress=False)


class TestThresholds:
    """`Gate(Recall >= 0.9)`."""

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
        """No number of samples tells whether a mean of 0.9 is above or below 0.9."""
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
        """Each score named must pass; without a name there must be one."""
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
    """An unscored sample is not counted as 0, and not ignored."""

    def test_the_verdict_holds_whatever_they_would_have_scored(self) -> None:
        """A few unscored samples change nothing; many make the verdict uncertain."""
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
    """`margin`."""

    @pytest.mark.parametrize(
        ("found", "outcome"),
        [(180, PASS), (190, PASS), (174, CANNOT_TELL), (160, FAIL)],
    )
    def test_verdicts(self, found: int, outcome: Outcome) -> None:
        """A loss of more than the margin has to be ruled out, or shown."""
        result = Gate(margin=0.04).check(report_of(found, 200 - found), report_of(180, 20))
        assert result.outcome is outcome

    def test_the_same_report_twice(self) -> None:
        """A pull request that changes no list passes by fact; equal values alone prove little."""
        report = report_of(30)
        (check,) = Gate(margin=0.02).check(report, report_of(30)).checks
        assert (check.outcome, check.interval, check.bound) == (PASS, None, None)
        assert check.reason == "change of id_recall is 0: all lists of 30 samples are the same"
        lists = [row.sample.with_retrieval([Context(id="a")]) for row in report]
        other = evaluate(lists, IdRecall(), progress=False)
        (check,) = Gate(margin=0.02).check(report, other).checks
        assert (check.outcome, check.needed) == (CANNOT_TELL, 149)

    def test_there_is_one_interval(self) -> None:
        """A gate has the interval of the summary or comparison, and its one-sided bound apart."""
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
        """A least recall and a margin are two checks."""
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
    """The parameter and the value are named before any report is read."""
    with pytest.raises(ParameterError, match=message):
        Gate(*rules, **parameters)


def test_a_threshold_out_of_range() -> None:
    """A percent in place of a share is an error when the threshold is made."""
    with pytest.raises(ParameterError, match="a threshold must be a number from 0 to 1, got 90"):
        Recall >= 90  # noqa: B015 - it raises


def test_margin_and_baseline_go_together() -> None:
    """A margin without a baseline, or a baseline without a margin, is an error."""
    for gate, baseline in ((Gate(margin=0.1), None), (Gate(Recall >= 1), report_of(3))):
        with pytest.raises(ParameterError, match="go together"):
            gate.check(report_of(3), baseline)


class TestWritten:
    """A verdict as text, JSON, and Markdown."""

    RESULT = Gate(Recall >= 0.9, margin=0.04).check(report_of(180, 20), report_of(200))

    def test_text_and_json(self) -> None:
        """One line for each check; every figure in JSON."""
        assert str(self.RESULT).splitlines()[0].startswith("CANNOT TELL: id_recall is from 0.8")
        plain = json.loads(json.dumps(self.RESULT.to_dict()))
        assert plain["outcome"] == "fail"
        assert plain["checks"][0]["value"] == 0.9
        assert plain["checks"][0]["coverage"] == 1.0

    def test_markdown(self) -> None:
        """A head with the verdict and a row for each check, with as many cells as the head."""
        lines = self.RESULT.to_markdown().splitlines()
        assert lines[0].startswith("### ❌ Recall gate: FAIL\\: change of id\\_recall is at most")
        rows = [line for line in lines if line.startswith("|")]
        assert len(rows) == 4
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}


TEXTS = {"retrieved_contexts": ["On the Champ de Mars."], "reference_contexts": ["In Paris."]}


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
        """A PASS that a text threshold of 0.05 earned says so: as text, Markdown, and JSON."""
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
        """The built-in judge is the default; partial credit and another judge are not."""
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


class TestCommand:
    """`fullrecall gate REPORT`, on the demo's collection."""

    @pytest.fixture(autouse=True)
    def _terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("NO_COLOR", "1")

    def run(self, *arguments: object) -> Any:
        """Run the command line in this process."""
        from fullrecall.cli import app

        return CliRunner().invoke(app, ["gate", *map(str, arguments)], catch_exceptions=False)

    @pytest.mark.rooms
    @pytest.mark.parametrize(
        ("least", "code", "said"),
        [
            (0.1, 0, "PASS id_recall@10 is at least 0.1"),
            (0.2, 3, "CANNOT TELL id_recall@10 is from"),
            (0.4, 1, "FAIL id_recall@10 is at most 0.2"),
        ],
    )
    def test_least_recall(
        self, saved: Mapping[str, Path], least: float, code: int, said: str
    ) -> None:
        """A real retriever gives all three exit codes."""
        result = self.run(saved["main"], "--require", f"recall@10>={least}")
        assert result.exit_code == code
        assert said in " ".join(result.stdout.split())
        assert result.stderr == ""

    @pytest.mark.rooms
    def test_min_recall_is_a_threshold_of_recall(self, saved: Mapping[str, Path]) -> None:
        """--min-recall is --require for recall, over all or over the first --k."""
        for options, rule in ((("--k", 10), "recall@10>=0.2"), ((), "recall>=0.2")):
            short = self.run(saved["main"], "--min-recall", 0.2, *options)
            long = self.run(saved["main"], "--require", rule)
            assert (short.exit_code, short.stdout) == (long.exit_code, long.stdout)
        both = self.run(saved["main"], "--min-recall", 0.1, "--require", "rr>=0.01").stdout
        assert len(re.findall(r"^[A-Z ]+  id_recall", both, re.MULTILINE)) == 2
        alone = self.run(saved["main"], "--k", 10)
        assert alone.exit_code == 2
        assert "--min-recall" in alone.stderr

    @pytest.mark.rooms
    @pytest.mark.parametrize(
        ("name", "code"), [("main", 0), ("worse", 0), ("unclear", 3), ("worst", 1)]
    )
    def test_baseline(self, saved: Mapping[str, Path], name: str, code: int) -> None:
        """A retriever that was made worse fails, one a little worse passes within the margin."""
        result = self.run(saved[name], "--baseline", saved["main"], "--margin", 0.05)
        assert result.exit_code == code
        if code == 3:
            assert re.search(
                r"141 samples\).*about [\d,]+ samples with these values",
                " ".join(result.stdout.split()),
            )

    @pytest.mark.rooms
    def test_other_parameters_are_printed(self, tmp_path: Path) -> None:
        """Other parameters are printed after the rules, on the terminal and in Markdown."""
        path, summary = tmp_path / "report.jsonl", tmp_path / "summary.md"
        evaluate([TEXTS] * 60, TextRecall(threshold=0.05), progress=False).save(path)
        printed = self.run(path, "--min-recall", 0.5, "--markdown", summary).stdout
        assert " ".join(printed.split()).endswith(
            "differ from the defaults: text_recall(threshold=0.05)."
        )
        assert "(threshold=0.05" in summary.read_text("utf-8")

    @pytest.mark.rooms
    def test_as_a_process(self, saved: Mapping[str, Path]) -> None:
        """The exit codes are those of the process."""
        codes = []
        for least in (0.1, 0.2, 0.4):
            command = [sys.executable, "-c", "from fullrecall.cli import main; main()"]
            arguments = ["gate", str(saved["main"]), "--require", f"recall>={least}"]
            codes.append(subprocess.run([*command, *arguments], check=False).returncode)
        assert codes == [0, 3, 1]

    @pytest.mark.rooms
    def test_json_is_all_that_is_printed(self, saved: Mapping[str, Path]) -> None:
        """--json prints what `to_dict` gives, and the exit code is the same."""
        result = self.run(saved["main"], "--require", "recall>=0.2", "--json")
        expected = Gate(Recall >= 0.2).check(Report.load(saved["main"])).to_dict()
        assert json.loads(result.stdout) == json.loads(json.dumps(expected))
        assert result.exit_code == 3

    @pytest.mark.rooms
    def test_options_reach_the_gate(self, saved: Mapping[str, Path]) -> None:
        """--confidence, --score are parameters of the gate."""
        assert (
            self.run(saved["main"], "--require", "recall>=0.2", "--confidence", 0.8).exit_code == 0
        )
        arguments = ("--require", "recall>=0.1", "--score", "id_recall")
        assert self.run(saved["main"], *arguments).exit_code == 0

    @pytest.mark.rooms
    def test_markdown_is_appended(self, saved: Mapping[str, Path], tmp_path: Path) -> None:
        """Markdown is appended to a job's summary, and keeps its earlier text."""
        summary = tmp_path / "summary.md"
        summary.write_text("# Job\n\n")
        self.run(saved["main"], "--require", "recall>=0.1", "--markdown", summary)
        written = summary.read_text("utf-8")
        assert written.startswith("# Job\n\n### ✅ Recall gate: PASS")

    @pytest.mark.rooms
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["{main}"], "expected --min-recall or --require, or --baseline with --margin"),
            (["{main}", "--baseline", "{main}"], "expected --baseline and --margin together"),
            (["{main}", "--margin", "0.1"], "expected --baseline and --margin together"),
            (["{main}", "--require", "recall>=90"], "must be a number from 0 to 1"),
            (["{main}", "--require", "recall@0>=0.9"], "whole number of at least 1"),
            (["{main}", "--require", "recall>=0.9", "--score", "x"], "no score 'x' in the report"),
            (["{main}x", "--require", "recall>=0.9"], "No such file"),
            (["{script}", "--require", "recall>=0.9"], "is not a saved report"),
            (["--require", "recall>=0.9"], "REPORT"),
        ],
    )
    def test_wrong_usage_and_input(
        self, saved: Mapping[str, Path], arguments: list[str], said: str
    ) -> None:
        """Wrong usage or input exits with 2, in one block without a traceback."""
        places = {"main": saved["main"], "script": __file__}
        result = self.run(*(argument.format(**places) for argument in arguments))
        assert result.exit_code == 2
        assert said in " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
        assert "Traceback" not in result.output


def kinds(**found: tuple[int, int]) -> Report:
    """Return a report with `kind` metadata, and (found, missed) numbers of samples of each kind."""
    samples = [
        Sample(
            id=f"{kind}{n}",
            retrieved_ids=["a"] if n < hits else ["x"],
            expected_ids=["a"],
            metadata={"kind": kind},
        )
        for kind, (hits, misses) in found.items()
        for n in range(hits + misses)
    ]
    return evaluate(samples, IdRecall(), progress=False)


class TestAtMost:
    """`Gate(Recall <= 0.1)`, as `Leak @ 10 <= 0.01`."""

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
        """An upper bound passes, a lower bound fails, and the sentence says which."""
        (check,) = Gate(Recall <= 0.1).check(report_of(found, missed)).checks
        assert (check.outcome, check.rule) == (outcome, "id_recall <= 0.1")
        assert check.reason.startswith(said)

    def test_unscored_samples_count_as_one_for_pass(self) -> None:
        """Every unscored sample may leak, so many of them leave the gate undecided."""
        assert Gate(Recall <= 0.1).check(report_of(0, 200)).outcome is PASS
        assert Gate(Recall <= 0.1).check(report_of(0, 200, 40)).outcome is CANNOT_TELL

    def test_one_is_always_kept(self) -> None:
        """`<= 1` and `>= 0` always pass, because no mean is outside 0 to 1."""
        report = report_of(3, 2)
        assert Gate(Recall <= 1, Recall >= 0).check(report).outcome is PASS


class TestSlices:
    """`Gate(Recall >= 0.9, slices="kind")`."""

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
        """A result that fails a single slice is not enough evidence among twenty slices."""
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


class TestWhatIsNoThreshold:
    """Comparisons that Python would turn into something else."""

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

    def test_what_is_already_true_or_false_is_no_rule(self) -> None:
        """A comparison of numbers is not a rule."""
        with pytest.raises(ParameterError, match="a rule must be such as"):
            Gate(True)  # type: ignore[arg-type]  # noqa: FBT003

    @pytest.mark.parametrize("text", ["recall@5>=0.9", "precision <= 0.25", "ndcg@3<=1"])
    def test_text_and_threshold_are_the_same(self, text: str) -> None:
        """Both signs parse, and print as they are written in Python."""
        threshold = parse_threshold(text)
        assert threshold.at_most == ("<=" in text)
        assert eval(repr(threshold), vars(measures)) == threshold  # noqa: S307 - our own


def test_the_first_line_of_a_comment_is_the_verdict() -> None:
    """The first line of the Markdown has the outcome."""
    passed = Gate(Recall >= 0.5, Recall @ 3 >= 0.5).check(report_of(200))
    assert passed.to_markdown().splitlines()[0].startswith("### ✅ Recall gate: PASS\\: 2 rules")
    unsure = Gate(Recall >= 0.9).check(report_of(9, 1))
    assert "CANNOT TELL" in unsure.to_markdown().splitlines()[0]
    assert unsure.sentence.startswith("CANNOT TELL: id_recall is from")
