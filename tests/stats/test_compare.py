"""`compare` and `smallest_k`: their answers, their errors, and their printed forms."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.files.reports.sealing import seal

from fullrecall import ContextPrecision, Gate, IdRecall, Report, Sample, TextRecall, evaluate
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import Hit, Leak, Measure, Precision, Recall, nDCG
from fullrecall.report import Comparison, Flip, compare

TARGETS = ["a", "b"]


def report_of(
    found: list[list[str] | None], *, ids: bool = True, group: int | None = None, **parameters: Any
) -> Report:
    """Return the report of samples that expect a and b, with these retrieved IDs."""
    samples = [
        Sample(
            id=f"q{n}" if ids else None,
            user_input=f"question {n}?",
            retrieved_ids=retrieved,
            expected_ids=TARGETS,
            group=None if group is None else n // group,
        )
        for n, retrieved in enumerate(found)
    ]
    return evaluate(samples, IdRecall(**parameters), progress=False)


BEFORE: list[list[str] | None] = [["a", "x"], ["a", "b"], ["x"], ["a", "b"], None, ["b", "a"]]
AFTER: list[list[str] | None] = [["a", "b"], ["a", "x"], ["x"], ["b", "a"], ["a"], ["b", "a"]]


class TestPairs:
    """Samples of two reports are paired by ID, question, or position."""

    def test_by_id_whatever_the_order(self) -> None:
        """IDs pair samples; a report in another order gives the same comparison."""
        before, after = report_of(BEFORE), report_of(AFTER)
        turned = Report.of(after.methods, reversed(after.rows))
        assert compare(before, after).paired_by == "id"
        assert compare(before, turned).to_dict() == compare(before, after).to_dict()

    def test_by_question_without_ids(self) -> None:
        """Without IDs the same questions are pairs in any order, and the report says so."""
        before, after = report_of(BEFORE, ids=False), report_of(AFTER, ids=False)
        turned = Report.of(after.methods, reversed(after.rows[:5]))
        comparison = compare(before, turned)
        assert comparison.paired_by == "question"
        assert "paired by their questions: they have no IDs" in str(comparison)
        assert comparison.only_before == ("#6",)
        same = compare(report_of(BEFORE[:5]), report_of(AFTER[:5]))
        assert comparison["id_recall"].main.difference == same["id_recall"].main.difference

    def test_by_position_where_a_question_repeats(self) -> None:
        """Repeated questions at the same positions are pairs; another number of them is refused."""
        reports = [
            Report.of(one.methods, [*one.rows, *one.rows])
            for one in (report_of(BEFORE, ids=False), report_of(AFTER, ids=False))
        ]
        comparison = compare(*reports)
        assert comparison.paired_by == "position"
        assert "paired by their position" in str(comparison)
        with pytest.raises(ReportError, match="12 samples before and 6 after, none with an ID"):
            compare(reports[0], report_of(AFTER, ids=False))

    def test_samples_of_one_report_are_listed(self) -> None:
        """Samples and scores of one report alone are counted and named, and enter no mean."""
        comparison = compare(report_of(BEFORE), report_of([*AFTER[:4]]))
        assert comparison.only_before == ("q4", "q5")
        assert comparison["id_recall"].main.samples == 4
        assert comparison["id_recall"].unpaired["only_before"] == 2
        assert "2 only in the report before: q4; q5" in str(comparison)

    def test_only_pairs_scored_in_both_count(self) -> None:
        """A pair with an unscored sample is counted and left out of both means, not scored as 0."""
        score = compare(report_of(BEFORE), report_of(AFTER))["id_recall"]
        assert (score.main.samples, score.unpaired["unscored"]) == (5, 1)
        assert score.main.before == pytest.approx(3.5 / 5)

    def test_undefined_in_one_or_both(self) -> None:
        """Samples undefined or unjudged in one report, and those in both, are counted apart."""

        def report(expected: list[list[str] | None]) -> Report:
            rows = [
                Sample(id=n, retrieved_ids=["a"], expected_ids=e, judged=e is not None)
                for n, e in enumerate(expected)
            ]
            return evaluate(rows, IdRecall(), progress=False)

        before = report([["a"], [], ["a"], None, None, None, []])
        score = compare(before, report([["a"], [], [], None, None, ["a"], None]))["id_recall"]
        counts = [score.unpaired[name] for name in ("undefined", "undefined_in_one", "unjudged")]
        assert counts == [2, 2, 2]

    def test_nothing_scored_in_both(self) -> None:
        """Without a pair of two scores there is no figure and no p-value."""
        comparison = compare(report_of([None, ["a"]]), report_of([["a"], None]))
        score = comparison["id_recall"].main
        assert (score.samples, score.difference, score.interval, score.p) == (0, None, None, None)
        assert comparison.sentences == (
            "CANNOT TELL: id_recall: no sample was compared",
            "A question costs the same: 1 context",
        )

    @pytest.mark.parametrize(
        ("before", "after", "message"),
        [
            (
                {"ids": False},
                {"ids": True},
                r"6 of the 6 samples of the report 'before' have no ID",
            ),
            ({"name": "mine"}, {}, "no score in common: mine before, id_recall after"),
        ],
    )
    def test_what_is_ambiguous_is_refused(
        self, before: dict[str, Any], after: dict[str, Any], message: str
    ) -> None:
        """Which samples or scores belong together is never guessed."""
        one = report_of(**{"found": BEFORE, **before})
        two = report_of(**{"found": AFTER, **after})
        with pytest.raises(ReportError, match=message):
            compare(one, two)

    @pytest.mark.rooms
    def test_scores_that_were_computed_differently_are_refused(self) -> None:
        """Scores of the same name are refused if their parameters or their main measures differ."""
        texts = [Sample(retrieved_contexts=["a b"], reference_contexts=["a b"])]
        for one, other, field in (
            (TextRecall(threshold=0.5), TextRecall(threshold=0.6), "threshold=0.5"),
            (TextRecall(name="x"), ContextPrecision(name="x"), "comparison='ge'"),
        ):
            reports = [evaluate(texts, scorer, progress=False) for scorer in (one, other)]
            with pytest.raises(ReportError, match=f"was scored with {field} before and "):
                compare(*reports)

    def test_what_is_no_report_is_refused(self) -> None:
        """A path in place of a report is an error that says how to load it."""
        with pytest.raises(ParameterError, match=r"Reports, got str: .*Report\.load\(path\)"):
            compare(report_of(BEFORE), "after.jsonl")  # type: ignore[arg-type]

    def test_an_id_twice(self) -> None:
        """The error for a repeated ID names the ID and a fix."""
        report = report_of(BEFORE)
        twice = Report.of(report.methods, [*report.rows, report.rows[2]])
        with pytest.raises(ReportError, match=r"'q2' appears twice in the report 'after'.*group"):
            compare(report, twice)

    def test_other_questions_at_one_position(self) -> None:
        """Repeated questions without IDs, in another order, are an error."""
        rows = [*report_of(BEFORE, ids=False).rows] * 2
        before, after = (
            Report.of(report_of(BEFORE).methods, order) for order in (rows, reversed(rows))
        )
        with pytest.raises(ReportError, match="asks 'question 0\\?' before and 'question 5\\?'"):
            compare(before, after)

    def test_a_reworded_question_under_its_id(self) -> None:
        """Samples with one ID and different questions are paired, with a warning."""
        before, after = (
            evaluate(
                [Sample(id=1, user_input=text, retrieved_ids=["a"], expected_ids=["a"])] * 1,
                IdRecall(),
                progress=False,
            )
            for text in ("Where?", "Where is it?")
        )
        with pytest.warns(UserWarning, match="the same ID and another question, such as '1'"):
            compare(before, after)

    def test_no_sample_in_common(self) -> None:
        """Reports of two data sets are refused."""
        other = evaluate(
            [Sample(id="z", retrieved_ids=[], expected_ids=["a"])],
            IdRecall(),
            progress=False,
        )
        with pytest.raises(ReportError, match=r"no sample is in both.*'q0' before and 'z' after"):
            compare(report_of(BEFORE), other)

    def test_a_loaded_report_is_the_same_measure(self, tmp_path: Path) -> None:
        """Parameters that JSON turned from tuples into lists are the same parameters."""
        before = report_of(BEFORE)
        before.save(tmp_path / "before.jsonl")
        loaded = Report.load(tmp_path / "before.jsonl")
        assert (
            compare(loaded, report_of(AFTER)).to_dict()
            == compare(before, report_of(AFTER)).to_dict()
        )


class TestFigures:
    """A comparison has means, intervals, p-values, and the samples that changed."""

    def test_by_hand(self) -> None:
        """Means, wins, ties, losses, flips and the effect at each k are those counted by hand."""
        score = compare(report_of(BEFORE), report_of(AFTER))["id_recall"]
        one = score.main
        assert (one.wins, one.ties, one.losses) == (1, 3, 1)
        assert (one.difference, one.p) == (0.0, 1.0)
        assert one.flips == (
            Flip("q0", "question 0?", 0.5, 1.0, ("b",), ()),
            Flip("q1", "question 1?", 1.0, 0.5, (), ("b",)),
        )
        assert list(score) == [Recall @ 1, Recall @ 3, Recall @ 5, Recall @ 10, Recall]
        assert score[Recall @ 1].difference == 0.0
        assert score[Recall @ 3].after == pytest.approx(3.5 / 5)

    @pytest.mark.parametrize(
        ("measure", "groups"), [(Recall @ 3, 0), (nDCG @ 3, 0), (Leak @ 3, 0), (Recall @ 3, 9)]
    )
    def test_parts_are_compared_one_after_another(
        self, measure: Measure, groups: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Reports in parts compare as whole ones, also where targets differ or none are left."""
        before, after = (
            [
                Sample(
                    id=f"q{n}",
                    retrieved_ids=[f"d{(n * step + rank) % 7}" for rank in range(3)],
                    expected_ids=[f"d{n % 5}" if n % 8 else extra[0], *extra[n % 4 : n % 4 + 1]],
                    forbidden_ids=["d6"] if n % 3 else None,
                    group=n % groups if groups else None,
                )
                for n in range(40)
            ]
            for step, extra in ((2, ["x"]), (3, ["y", "z"]))
        )

        def compared() -> dict[str, Any]:
            reports = (evaluate(some, IdRecall(), progress=False) for some in (before, after))
            return compare(*reports, measure).to_dict()

        whole = compared()
        monkeypatch.setattr("fullrecall._util.pieces._LARGEST", 7)
        assert compared() == whole
        assert whole["scores"][0]["differing"]
        assert whole["scores"][0]["unpaired"]["no_common_targets"]

    def test_any_measure(self) -> None:
        """Measures keep the order asked, p is adjusted for all, and an error lists them."""
        score = compare(report_of(BEFORE), report_of(AFTER), nDCG @ 2, Recall @ 1)["id_recall"]
        assert list(score) == [nDCG @ 2, Recall @ 1]
        assert all(one.p_adjusted is not None for one in score.values())
        with pytest.raises(KeyError, match="no measure Hit in this comparison: it has nDCG @ 2"):
            _ = score[Hit]

    def test_groups_are_what_counts(self) -> None:
        """Pairs of one group count as one: the p-value cannot fall below that of their number."""
        before, after = [["x"]] * 12, [["a"]] * 12
        alone = compare(report_of(before), report_of(after))["id_recall"].main
        together = compare(report_of(before, group=3), report_of(after, group=3))["id_recall"].main
        assert (alone.groups, together.groups) == (12, 4)
        assert alone.p == pytest.approx(2 * (2 / 3) ** 12)
        assert together.p == pytest.approx(2 * (2 / 3) ** 4)

    def test_holm_over_the_scores(self) -> None:
        """The p-values of several scores are adjusted; one of them alone is not."""
        rows = [
            [
                Sample(
                    id=n,
                    retrieved_contexts=[{"id": i, "text": i * 9}],
                    expected_ids=["a"],
                    reference_contexts=["a" * 9],
                )
                for n in range(8)
            ]
            for i in "xa"
        ]
        scorers = [IdRecall(), TextRecall()]
        both = compare(*(evaluate(each, scorers, progress=False) for each in rows))
        one = compare(*(evaluate(each, scorers[0], progress=False) for each in rows))
        alone = one[0].main.p_adjusted
        assert alone == one[0].main.p
        assert [score.main.p_adjusted for score in both] == pytest.approx([2 * alone] * 2)

    def test_scores_of_one_report_are_named(self) -> None:
        """A score that only one report has is named and not compared."""
        rows = [
            Sample(
                id=1, contexts=["a"], retrieved_ids=["a"], expected_ids=["a"], expected_texts=["a"]
            )
        ]
        both = evaluate(rows, [IdRecall(), TextRecall()], progress=False)
        comparison = compare(both, evaluate(rows, IdRecall(), progress=False))
        assert comparison.unmatched == ("text_recall",)
        assert "scored in one report only: text_recall" in str(comparison)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"confidence": 95}, "confidence must be a number between 0 and 1"),
        ],
    )
    def test_parameters_out_of_range(self, parameters: Any, message: str) -> None:
        """The parameter and the value are named."""
        with pytest.raises(ParameterError, match=message):
            compare(report_of(BEFORE), report_of(AFTER), **parameters)

    def test_it_is_json(self) -> None:
        """`to_dict` has plain values with every figure."""
        plain = json.loads(json.dumps(compare(report_of(BEFORE), report_of(AFTER)).to_dict()))
        assert plain["scores"][0]["differences"][-1]["flips"][1]["lost"] == ["b"]
        assert plain["scores"][0]["unpaired"]["unscored"] == 1

    def test_by_name(self) -> None:
        """Scores are found by their name; another name lists them."""
        comparison = compare(report_of(BEFORE), report_of(AFTER))
        assert comparison["id_recall"] is comparison[0]
        with pytest.raises(KeyError, match="choose one of id_recall"):
            _ = comparison["recall"]


class TestSmallestK:
    """`smallest_k` finds the smallest k that reaches a target recall."""

    def report(self, rank: int, count: int = 60) -> Report:
        """Return a report of `count` samples with one target each, at `rank` of ten."""
        ids = [f"d{n}" for n in range(1, 11)]
        rows = [Sample(retrieved_ids=ids, expected_ids=[f"d{rank}"])] * count
        return evaluate(rows, IdRecall(), progress=False)

    def test_the_rank_where_all_is_found(self) -> None:
        """Every target at rank 4: k is 4, at the cost of four contexts."""
        answer = self.report(4).smallest_k(0.9)
        assert (answer.k, answer.largest, answer.mean) == (4, 10, 1.0)
        assert [tested.k for tested in answer.tested] == [3, 4, 5, 6, 7, 8, 9, 10]
        assert "reaches 0.9 at k = 4" in str(answer)

    def test_no_k_is_an_answer(self) -> None:
        """A target that is not retrieved is found at no k, and the reason says so."""
        answer = self.report(99).smallest_k(0.9)
        assert (answer.k, answer.mean, answer.needed) == (None, 0.0, None)
        assert "reaches 0.9 at no k up to 10: the mean at 10 is 0.000" in answer.reason

    def test_too_few_samples(self) -> None:
        """Ten perfect samples do not prove 0.9; the reason says how many would, and is right."""
        answer = self.report(3, count=10).smallest_k(0.9)
        assert answer.k is None
        assert "at least 0.741 (one-sided, 95% confidence) at 10" in answer.reason
        assert "about 29 samples with these values would show it" in answer.reason
        assert self.report(3, count=28).smallest_k(0.9).k is None
        assert self.report(3, count=29).smallest_k(0.9).k == 3

    def test_one_sample_and_none(self) -> None:
        """One sample is too few for any k, and so is an empty report."""
        assert "at least 0.050" in self.report(1, count=1).smallest_k(0.5).reason
        assert "no sample has a score" in self.report(1, count=0).smallest_k(0.5).reason

    def test_unscored_samples_count_as_0(self) -> None:
        """Unscored samples count as 0 in the bound, and the reason says so."""
        found = [Sample(retrieved_ids=["a"], expected_ids=["a"])] * 95
        report = evaluate([*found, *[Sample(expected_ids=["a"])] * 5], IdRecall(), progress=False)
        answer = report.smallest_k(0.95)
        assert (answer.k, answer.mean, answer.unscored) == (None, 1.0, 5)
        assert "5 unscored count as 0 in the bound" in answer.reason
        assert report.smallest_k(0.85).k == 1

    def test_the_search_stops_at_the_first_failure(self) -> None:
        """The search stops at the first k that fails, and does not test smaller ones."""
        answer = self.report(4).smallest_k(0.9)
        assert answer.k == 4
        assert [tested.k for tested in answer.tested] == [3, 4, *range(5, answer.largest + 1)]

    def test_which_score(self) -> None:
        """With several scores, one must be named."""
        rows = [
            Sample(contexts=["a"], retrieved_ids=["a"], expected_ids=["a"], expected_texts=["a"])
        ]
        report = evaluate(rows * 40, [IdRecall(), TextRecall()], progress=False)
        with pytest.raises(ReportError, match=r"2 scores.*choose one by its name"):
            report.smallest_k(0.9)
        assert report.smallest_k(0.9, score="text_recall").k == 1
        with pytest.raises(ReportError, match="no score 'recall'"):
            report.smallest_k(0.9, score="recall")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [((90,), "target must be a number"), ((-0.1,), "target must be")],
    )
    def test_out_of_range(self, arguments: tuple[Any, ...], message: str) -> None:
        """A percent in place of a share is an error that names it."""
        with pytest.raises(ParameterError, match=message):
            self.report(1).smallest_k(*arguments)


class TestCommand:
    """`fullrecall compare BEFORE AFTER` compares two saved reports."""

    @pytest.fixture(autouse=True)
    def _terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("NO_COLOR", "1")

    @pytest.fixture
    def saved(self, tmp_path: Path) -> tuple[Path, Path]:
        """Return the paths of two saved reports."""
        paths = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
        for path, found in zip(paths, (BEFORE, AFTER), strict=True):
            report_of(found).save(path)
        return paths

    def run(self, *arguments: object) -> Any:
        """Run the command line in this process."""
        from tests.cli.command_line import run

        return run("compare", *arguments)

    @pytest.mark.rooms
    def test_it_prints_the_comparison(self, saved: tuple[Path, Path]) -> None:
        """The table, its sample counts, and the flipped samples are printed in 80 columns."""
        result = self.run(*saved)
        assert result.exit_code == 0
        assert re.search(r"^  all retrieved +0.700 +0.700 +\+.000 ", result.stdout, re.MULTILINE)
        assert "1 better, 3 the same, 1 worse, of 5" in result.stdout
        assert "q1  question 1?\n  1.000 → 0.500\n  lost: b\n" in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 80

    @pytest.mark.rooms
    def test_a_reworded_question_is_noted(self, saved: tuple[Path, Path]) -> None:
        """A warning about a reworded question is printed as a note, without a line of code."""
        saved[1].write_text(saved[1].read_text("utf-8").replace("question 3?", "Q3?"), "utf-8")
        seal(saved[1])
        result = self.run(*saved)
        assert result.exit_code == 0
        assert result.stderr.startswith("Note: 1 sample with the same ID and another question")
        assert "UserWarning" not in result.stderr

    @pytest.mark.rooms
    def test_json_is_all_of_it(self, saved: tuple[Path, Path]) -> None:
        """--json prints what `to_dict` gives."""
        result = self.run(*saved, "--json", "--confidence", 0.9)
        expected = compare(*map(Report.load, saved), confidence=0.9)
        assert isinstance(expected, Comparison)
        assert json.loads(result.stdout) == json.loads(json.dumps(expected.to_dict()))

    @pytest.mark.rooms
    def test_no_flips_are_listed_if_none_are_asked_for(self, saved: tuple[Path, Path]) -> None:
        """--flips 0 leaves the list out, --flips 1 shows the largest change."""
        assert "changed in id_recall" not in self.run(*saved, "--flips", 0).stdout
        assert (
            "2 samples changed in id_recall, the largest change:"
            in self.run(*saved, "--flips", 1).stdout
        )

    @pytest.mark.rooms
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["{before}", "{before}x"], "No such file"),
            (["{before}", "{samples}"], "is not a saved report"),
            (["{before}", "{after}", "--confidence", "2"], "must be a number"),
            (["{before}", "{after}", "--confidence", "95"], "from 0 to 1, such as 0.9, got"),
            (["{before}"], "AFTER"),
        ],
    )
    def test_wrong_usage_and_input(
        self, saved: tuple[Path, Path], tmp_path: Path, arguments: list[str], said: str
    ) -> None:
        """Exit 2, one block, no traceback."""
        (tmp_path / "samples").write_text("{}")
        places = {"before": saved[0], "after": saved[1], "samples": tmp_path / "samples"}
        result = self.run(*(argument.format(**places) for argument in arguments))
        assert result.exit_code == 2
        assert said in " ".join(result.stderr.split())
        assert "Traceback" not in result.output


class TestFacts:
    """Lists decide before statistics, at any number of questions."""

    @staticmethod
    def report(*lists: Sequence[str]) -> Report:
        """Return the report of these retrieved lists; each question expects d and e."""
        samples = [
            Sample(id=n, expected_ids=["d", "e"], retrieved_ids=each)
            for n, each in enumerate(lists)
        ]
        return evaluate(samples, IdRecall(), progress=False)

    def test_the_same_lists_are_the_same(self) -> None:
        """Equal lists are a fact for any number of questions, unless a sample is missing."""
        report = self.report(["d"], ["x"])
        change = compare(report, self.report(["d"], ["x"]))["id_recall"].main
        assert change.outcome == "same"
        other = compare(report, self.report(["d"], ["y"]))["id_recall"].main
        assert (other.outcome, other.wins, other.losses) == ("cannot_tell", 0, 0)
        assert compare(report, report[:1])["id_recall"].main.outcome == "cannot_tell"

    def test_a_list_that_goes_on_is_not_worse(self) -> None:
        """Recall only gains, at a printed cost; precision may lose; the gate passes."""
        before = self.report(["d"], ["x"])
        after = self.report(["d", "e"], ["x", "y", "z"])
        comparison = compare(before, after, Recall, Precision)
        assert comparison["id_recall"][Recall].outcome == "not_worse"
        assert comparison["id_recall"][Precision].outcome == "cannot_tell"
        assert compare(after, before)["id_recall"].main.outcome == "cannot_tell"
        text = str(comparison)
        assert "Not worse: id_recall rose from 0.250 to 0.500: +.250" in text
        assert "by fact: every list after begins with the one before" in text
        assert "A question costs 2.5 times the contexts (1 to 2.5)" in text
        (check,) = Gate(Recall, margin=0).check(after, before).checks
        assert (check.outcome, check.value) == ("pass", 0.25)
        assert check.reason.endswith("all lists of 2 samples begin with the baseline's")
        assert Gate(Precision, margin=0).check(after, before).outcome == "cannot_tell"

    def test_lists_after_empty_ones_show_nothing(self) -> None:
        """Empty lists before prove no fact, because any list continues an empty one."""
        change = compare(self.report([], []), self.report(["d"], ["x"]))["id_recall"].main
        assert change.outcome == "cannot_tell"

    @pytest.mark.rooms
    def test_the_page_and_markdown_say_what_is_likely(self) -> None:
        """The page and Markdown have the likely direction, and say when the t-test is wrong."""
        before = self.report(*[["x"]] * 100)
        after = self.report(*[["d"]] * 6, *[["y"]] * 94)
        comparison = compare(before, after, Recall)
        assert (comparison.outcome, comparison["id_recall"].main.likely) == (
            "cannot_tell",
            "better",
        )
        said = "CANNOT TELL for every distribution; likely better (t-test, approximate)"
        assert said in str(comparison)
        for text in (comparison.to_markdown().replace("\\", ""), comparison.to_html()):
            assert said in text
            assert "where losses are rare and large" in text
        result = Gate(Recall, margin=0).check(after, before)
        assert result.outcome == "cannot_tell"

    def test_several_reports_are_decided_by_facts_too(self) -> None:
        """Holm's correction does not change a decision by fact."""
        before, after = self.report(["d"], ["x"]), self.report(["d", "e"], ["x", "y", "z"])
        several = compare({"a": before, "b": after, "c": before}, Recall)
        outcomes = [each["id_recall"].main.outcome for each in several]
        assert outcomes == ["not_worse", "same"]
