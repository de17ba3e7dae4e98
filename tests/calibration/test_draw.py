"""`Report.to_label`: the drawn claims, the written file, and files that are not overwritten."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fullrecall import Context, Label, Report, evaluate
from fullrecall.errors import InputError, ParameterError, ReportError
from fullrecall.measures import MeanPrecision
from fullrecall.scorers import ClaimRecall, IdRecall
from fullrecall.scorers.result import Method

MakeReport = Callable[..., Report]


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows that a program reads from a CSV file that Excel takes for UTF-8."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


class TestDrawing:
    """Claims are drawn for labeling."""

    def test_as_many_as_are_asked_for(self, report: Report) -> None:
        """As many claims as asked for are drawn, none twice; all claims, if there are fewer."""
        for n in (10, 31, 52, 1_000):
            items = [claim.item for claim in report.to_label(n)]
            assert len(items) == len(set(items)) == min(n, 52)

    def test_a_seed_is_a_drawing(self, report: Report) -> None:
        """The same seed draws the same claims, another seed different ones."""
        assert report.to_label(12, seed=3) == report.to_label(12, seed=3)
        assert report.to_label(12, seed=3) != report.to_label(12, seed=4)

    def test_a_larger_drawing_has_the_claims_of_a_smaller(self, make_report: MakeReport) -> None:
        """A larger drawing has nine in ten claims of a smaller one, so labels are kept."""
        large = make_report(["s", "sn", "ssn", "snsn", "ss", "n"] * 30)
        few = {claim.item for claim in large.to_label(60)}
        more = {claim.item for claim in large.to_label(120)}
        assert len(few & more) >= 54
        other = {claim.item for claim in large.to_label(120, seed=1)}
        assert len(few & other) < 54

    def test_both_verdicts_are_drawn(self, make_report: MakeReport) -> None:
        """A rare verdict has at least two drawn claims, and more than its share."""
        rare = make_report(["ssss"] * 30 + ["sssn"] * 3)
        verdicts = Counter(claim.verdict for claim in rare.to_label(30, show_verdicts=True))
        assert verdicts["not_supported"] == 3
        assert verdicts["supported"] == 27
        assert len(rare.to_label(1)) == 4

    def test_chances_add_up(self, report: Report) -> None:
        """The drawn claims, weighted by their probabilities, add up to the mean of each verdict."""
        drawn = report.to_label(20, show_verdicts=True)
        shares = {claim.sample: 0 for claim in drawn}
        for row in report:
            shares[row.label] = len(row.results[0].findings)
        stood = {"supported": 0.0, "not_supported": 0.0}
        for claim in drawn:
            stood[claim.verdict] += 1 / shares[claim.sample] / claim.probability
        recall = sum(row.results[0].score or 0.0 for row in report)
        assert stood["supported"] == pytest.approx(recall)
        assert stood["not_supported"] == pytest.approx(len(report) - recall)

    def test_what_nothing_was_retrieved_for_needs_no_label(self, make_report: MakeReport) -> None:
        """Claims of a sample without contexts are not drawn: no context supports them."""
        some = make_report(["sn", "0nn", "sn"])
        assert {claim.sample for claim in some.to_label(100)} == {"q0", "q2"}
        with pytest.raises(ReportError, match="no sample has a claim that claim_recall judged"):
            make_report(["0n", "0n"]).to_label(5)

    def test_unmeasured_and_unscored_are_not_drawn(self, make_report: MakeReport) -> None:
        """Claims without a verdict are not drawn, since there is nothing to check."""
        claims = {claim.claim for claim in make_report(["s?", None, "n"]).to_label(9)}
        assert claims == {"claim 0 of 0", "claim 0 of 2"}

    def test_the_item_is_claim_and_contexts(self, make_report: MakeReport) -> None:
        """A claim's item is the same under another judge, and differs with other contexts."""
        items = [claim.item for claim in make_report(["s", "n"]).to_label(2)]
        assert [claim.item for claim in make_report(["n", "n"]).to_label(2)] == items
        others = make_report(["s", "n"], contexts=["Something else."]).to_label(2)
        assert not {claim.item for claim in others} & set(items)

    def test_verdicts_are_hidden(self, report: Report, tmp_path: Path) -> None:
        """Verdicts are hidden, since a rater who sees the judge's verdict tends to agree."""
        assert {claim.verdict for claim in report.to_label(20)} == {""}
        report.to_label(20, tmp_path / "a.csv")
        assert "supported" not in (tmp_path / "a.csv").read_text("utf-8")

    def test_labels_are_carried_over(self, report: Report, tmp_path: Path) -> None:
        """Labels of an earlier drawing are filled in, with a row for each of two raters."""
        first = report.to_label(20)
        words = ("supported", "not_supported")
        labels = [
            Label(claim.sample, claim.claim, word, claim.probability, claim.item, rater)
            for claim in first[:5]
            for word, rater in zip(words, ("ann", "bob"), strict=True)
        ]
        again = report.to_label(30, tmp_path / "more.csv", labels=labels)
        filled = [claim for claim in again if claim.label]
        kept = {claim.item for claim in first[:5]} & {claim.item for claim in again}
        assert kept
        assert {claim.item for claim in filled} == kept
        assert Counter(claim.rater for claim in filled) == {"ann": len(kept), "bob": len(kept)}
        assert len({claim.item for claim in again}) == 30
        with pytest.raises(InputError, match="1 of 1 labels match no claim"):
            report.to_label(30, labels=[Label("q0", "another claim", "supported")])


class TestWhichScore:
    """The score must be named if the report has several scorers."""

    def test_the_only_judged_one(self) -> None:
        """The only judged score of a report need not be named."""
        sample = {
            "user_input": "?",
            "retrieved_contexts": [Context(id="a", text="Paris is in France.")],
            "reference_context_ids": ["a"],
            "reference_claims": ["Paris is in France."],
        }
        report = evaluate([sample] * 3, [IdRecall(), ClaimRecall()], progress=False)
        assert {claim.score for claim in report.to_label(3)} == {"claim_recall"}

    def test_of_two_one_is_named(self, make_report: MakeReport) -> None:
        """If a report has two judged scores, one has to be named."""
        methods = [Method(name, parameters={"judge": name}) for name in ("claim_one", "claim_two")]
        both = make_report(["sn"] * 4, methods=methods)
        with pytest.raises(ReportError, match="got claim_one, claim_two: name the score"):
            both.to_label(3)
        assert {claim.score for claim in both.to_label(3, score="claim_two")} == {"claim_two"}

    def test_no_judge_at_all(self, make_report: MakeReport) -> None:
        """A report without a judged recall is refused, even if it has IDs or precision."""
        with pytest.raises(
            ReportError, match="no judge decided any score of the report, which has "
        ):
            make_report(["sn"], methods=[Method("id_recall")]).to_label(3)
        precision = Method("context_precision", {"judge": "j"}, MeanPrecision)
        with pytest.raises(ReportError, match="context_precision is not a recall"):
            make_report(["sn"], methods=[precision]).to_label(3, score="context_precision")


class TestFile:
    """The drawn claims are written to a file for the raters."""

    def test_csv_is_for_people(self, report: Report, tmp_path: Path) -> None:
        """The label comes first, each context has a column, and Excel sees that it is UTF-8."""
        path = tmp_path / "labels.csv"
        drawn = report.to_label(7, path)
        rows = rows_of(path)
        assert path.read_bytes().startswith(b"\xef\xbb\xbflabel,claim,question,context_1")
        assert [row["claim"] for row in rows] == [claim.claim for claim in drawn]
        assert [float(row["probability"]) for row in rows] == [one.probability for one in drawn]
        assert rows[0]["context_2"] == "The second."

    def test_no_labels_are_overwritten(self, report: Report, tmp_path: Path) -> None:
        """An existing file of labels is not overwritten, and an unknown ending is refused."""
        path = tmp_path / "labels.csv"
        path.write_text("hours of work", "utf-8")
        with pytest.raises(ParameterError, match="exists and may hold labels"):
            report.to_label(5, path)
        assert path.read_text("utf-8") == "hours of work"
        with pytest.raises(ParameterError, match=r"end in \.csv, got 'labels\.xlsx'"):
            report.to_label(5, tmp_path / "labels.xlsx")
        with pytest.raises(ParameterError, match="n must be a whole number of at least 1, got 0"):
            report.to_label(0)
