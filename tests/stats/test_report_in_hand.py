"""Reports are read in a shell: samples by ID, parts, slices, and printed forms."""

from __future__ import annotations

import pytest
from tests.precision_by_id import PrecisionById

from fullrecall import Context, Gate, IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import RR, Recall
from fullrecall.report import Comparisons


def report_of(n: int = 60, **names: str) -> Report:
    """Return a report of two kinds of samples; one kind is found half as often."""
    samples = [
        Sample(
            id=f"q{i}",
            user_input=f"question {i}?",
            retrieved_ids=["x", "d"] if i % 4 else ["x"],
            expected_ids=["d"],
            group=f"g{i // 2}",
            metadata={
                "kind": "even" if i % 2 == 0 else "odd",
                "testset": {"flags": ["a", "b"] if i % 3 == 0 else ["b"]},
                "unique": i,
            },
        )
        for i in range(n)
    ]
    return evaluate(samples, IdRecall(**names), progress=False)


class TestParts:
    """`[…]`, `filter` and `slices` give rows and parts of reports."""

    def test_a_sample_by_its_id_and_by_its_place(self) -> None:
        """`report[…]` takes an ID or a position; unknown or repeated IDs are errors."""
        report = report_of()
        assert report["q7"].label == "q7"
        assert report[-1].label == "q59"
        with pytest.raises(KeyError, match=r"no sample 'q777' among .*: their IDs are such as"):
            report["q777"]
        with pytest.raises(IndexError, match="no sample 60: the report has 60"):
            report[60]
        with pytest.raises(ParameterError, match="row must be a row of a report, got 'q7'"):
            Report.of(report.methods, ["q7"])  # type: ignore[list-item]
        twice = Report.of(report.methods, [*report[:5], *report[3:8]])
        with pytest.raises(KeyError, match="2 samples have the ID 'q4'"):
            twice["q4"]

    def test_a_part_is_a_report(self) -> None:
        """A part of a report has its own means, and the whole's `stopped`."""
        report = report_of()
        report.stopped = "the budget was spent"
        part = report[10:20]
        assert [row.label for row in part] == [f"q{n}" for n in range(10, 20)]
        assert part.stopped == report.stopped
        failing = report.filter(lambda row: row.results[0].missed)
        assert len(failing) == 15
        assert failing.summary()["id_recall"].mean == 0.0

    def test_slices_are_means_of_parts(self) -> None:
        """Slices are sorted from the lowest mean; each mean is over its samples, in groups."""
        report = report_of()
        slices = report.slices("kind")
        assert [one.value for one in slices] == ["even", "odd"]
        for one in slices:
            of = report.filter(lambda row, kind=one.value: row.sample.metadata["kind"] == kind)
            summary = of.summary()["id_recall"]
            assert (one.mean, one.samples) == (summary.mean, summary.scored)
        assert slices["even"].mean == 0.5
        nested = report.slices("testset.flags", Recall @ 1)
        assert (nested.label, nested["a"].samples, nested["b"].samples) == ("id_recall@1", 20, 60)
        by_function = report.slices(lambda row: row.position % 3)
        assert sorted(one.value for one in by_function) == ["0", "1", "2"]
        assert report.slices("group")["g0"].samples == 2

    def test_the_lowest_slice_is_first(self) -> None:
        """The order of the samples does not matter; slices without a score come last."""
        rows = [("good", ["d"]), ("none", None), ("bad", ["x"]), ("middle", ["d"]), ("middle", [])]
        samples = [
            Sample(
                retrieved_context_ids=found, reference_context_ids=["d"], metadata={"kind": kind}
            )
            for kind, found in rows
        ]
        slices = evaluate(samples, IdRecall(), progress=False).slices("kind")
        assert [one.value for one in slices] == ["bad", "middle", "good", "none"]

    def test_intervals_allow_for_every_slice(self) -> None:
        """Each interval is wider than alone, so that all hold together."""
        report = report_of()
        alone = report.filter(lambda row: row.sample.metadata["kind"] == "even")
        wide, narrow = report.slices("kind")["even"].interval, alone.summary()["id_recall"].interval
        assert wide is not None
        assert narrow is not None
        assert wide.low < narrow.low < narrow.high < wide.high
        assert wide.confidence == pytest.approx(0.975)

    def test_what_cannot_be_sliced(self) -> None:
        """An unknown field or value is an error with the known ones; a wrong confidence, too."""
        report = report_of()
        with pytest.raises(ReportError, match="'sort' to slice by: choose one of group, kind"):
            report.slices("sort")
        with pytest.raises(ParameterError, match="confidence"):
            report.slices("kind", confidence=1.0)
        with pytest.raises(KeyError, match="choose one of even, odd"):
            report.slices("kind")["other"]


class TestPrinted:
    """A shell prints each object briefly, with the score first."""

    def test_results_and_rows(self) -> None:
        """Results and rows print as one line without control characters, for any texts."""
        wanted = ["a", *(f"d{n}" for n in range(9))]
        sample = Sample(id="q", user_input="?", retrieved_ids=["a"], expected_ids=wanted)
        result = IdRecall().score(sample)
        assert repr(result) == "Result(0.100 id_recall: 1 of 10 found in 1 retrieved)"
        assert str(result).startswith("0.100 id_recall: 1 of 10 found in 1 retrieved; missed: d0,")
        assert str(result).endswith("d4, 4 more")
        assert "findings" not in str(result)
        broken = Sample(expected_ids=["a"], retrieval={"error": "x\x1b[31m" + "y" * 500})
        assert "\x1b" not in repr(IdRecall().score(broken))
        assert len(repr(IdRecall().score(broken))) < 200
        row = evaluate([sample], [IdRecall(), PrecisionById()], progress=False).rows[0]
        assert repr(row) == "Row(q: 0.100 id_recall, 1.000 precision_by_id)"
        assert str(row).splitlines()[:2] == ["q", "?"]

    @pytest.mark.rooms
    def test_scores_of_summaries_comparisons_and_gates(self) -> None:
        """Scores of summaries, comparisons and gates print the number first."""
        from fullrecall import diagnose

        report = report_of()
        assert repr(report.summary()["id_recall"]).startswith("ScoreSummary(0.750 (.")
        change = compare(report, report)["id_recall"]
        assert repr(change).startswith("ScoreComparison(id_recall stayed at 0.750")
        assert repr(Gate(Recall >= 0.1, RR >= 0.9).check(report)).startswith("GateResult(FAIL, 2")
        assert repr(report.smallest_k(0.5)).startswith(
            "SmallestK(2, id_recall reaches 0.5 at k = 2:"
        )
        assert "even" in str(report.slices("kind"))
        [change] = diagnose(report, k=1).changes[:1]
        assert repr(change).startswith("Change(+0.")
        assert ", id_recall@1: raise k" in repr(change)


class TestRuns:
    """Several reports are compared side by side."""

    def test_changes_since_the_first(self) -> None:
        """Each later report is compared with the first; p is adjusted for the number of reports."""
        report = report_of()
        better = evaluate(
            [row.sample.with_retrieval([Context(id="d")]) for row in report],
            IdRecall(),
            progress=False,
        )
        runs = Comparisons({"May": report, "June": better, "July": report})
        june, july = runs.changes("id_recall", Recall).values()
        assert june.difference == pytest.approx(0.25)
        assert june.p_adjusted == pytest.approx(min(1.0, 2 * june.p))
        assert july.difference == 0
        assert "June" in str(runs)
        assert list(runs.reports) == ["May", "June", "July"]
        assert runs["June"].after is better

    def test_one_report_is_not_several(self) -> None:
        """A comparison of one report is refused."""
        with pytest.raises(ParameterError, match="at least 2, got 1"):
            Comparisons({"a": report_of()})
