"""Decisions keep their stated error rates, each computed by exact enumeration.

A gate's outcome depends only on how many samples have each score. So each possible set of counts
of a law on two or three scores is gated once and weighed by its probability.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Any

import pytest
from scipy.stats import binom

from fullrecall import Gate, IdRecall, Report, Sample, evaluate
from fullrecall.measures import Hit, Recall
from fullrecall.report import Outcome, Row, compare

PASS, FAIL, CANNOT_TELL = Outcome.PASS, Outcome.FAIL, Outcome.CANNOT_TELL
PARTS = 20


def result(score: float | None) -> Any:
    """Return a result of 20 targets with this recall; None is unscored."""
    found = [f"d{n}" for n in range(PARTS if score is None else round(score * PARTS))]
    sample = Sample(
        retrieved_ids=None if score is None else ["x", *found],
        expected_ids=[f"d{n}" for n in range(PARTS)],
    )
    return IdRecall().score(sample)


RESULTS = {score: result(score) for score in (None, *(n / PARTS for n in range(PARTS + 1)))}


def report_of(scores: Iterable[float | None], groups: Sequence[str | None] = ()) -> Report:
    """Return a report of samples with these scores."""
    return Report.of(
        [RESULTS[0.0].method],
        [
            Row(n + 1, Sample(id=n, group=groups[n] if groups else None), (RESULTS[score],))
            for n, score in enumerate(scores)
        ],
    )


def outcome(gate: Gate, *reports: Report) -> Outcome:
    """Return the outcome of a gate."""
    return gate.check(*reports).outcome


@pytest.mark.long
class TestFalseOutcomes:
    """A true mean at the threshold must not FAIL, and one just below must not PASS."""

    @pytest.mark.parametrize(("mean", "n"), [(0.99, 50), (0.9, 30), (0.95, 60)])
    def test_hits_at_their_threshold(self, mean: float, n: int) -> None:
        """Hits whose true mean is the threshold neither FAIL nor PASS in over 5%."""
        gate = Gate(Recall >= mean)
        said = {
            hits: outcome(gate, report_of([1.0] * hits + [0.0] * (n - hits)))
            for hits in range(n + 1)
            if binom.pmf(hits, n, mean) > 1e-9
        }
        for wrong in (PASS, FAIL):
            rate = sum(binom.pmf(hits, n, mean) for hits, what in said.items() if what is wrong)
            assert rate <= 0.05

    @pytest.mark.parametrize(("margin", "n"), [(0.05, 100), (0.02, 150)])
    def test_rare_total_losses(self, margin: float, n: int) -> None:
        """Total losses in as many samples as the margin allows PASS in 5% at most."""
        gate, before = Gate(margin=margin), report_of([1.0] * n)
        rate = sum(
            binom.pmf(lost, n, margin)
            for lost in range(12)
            if outcome(gate, report_of([0.0] * lost + [1.0] * (n - lost)), before) is PASS
        )
        assert 0 < rate <= 0.05

    @pytest.mark.parametrize("n", [100])
    def test_unscored_samples_that_would_be_0(self, n: int) -> None:
        """If one sample in 10 is unscored because it fails, a gate PASSes in 5% at most."""
        rng = random.Random(n)
        runs, wrong = 60, 0
        for _ in range(runs):
            scores = [None if rng.random() < 0.1 else 1.0 for _ in range(n)]
            wrong += outcome(Gate(Recall >= 0.9), report_of(scores)) is PASS
        assert wrong / runs <= 0.05 + 2 * sqrt(0.05 * 0.95 / runs)

    def test_groups_whose_size_tells_of_their_scores(self) -> None:
        """If large groups fail more often than single samples, a gate PASSes in 5% at most."""
        rng = random.Random(5)
        runs, wrong = 100, 0
        truth = 0.9 * 0.95 + 0.1 * 0.45  # The threshold is that of the mean over groups.
        for _ in range(runs):
            scores: list[float | None] = []
            groups: list[str | None] = []
            for group in range(15):
                large = rng.random() < 0.1
                score = float(rng.random() < (0.45 if large else 0.95))
                scores += [score] * (6 if large else 1)
                groups += [f"g{group}"] * (6 if large else 1)
            wrong += outcome(Gate(Recall >= truth), report_of(scores, groups)) is not CANNOT_TELL
        assert wrong / runs <= 0.1 + 2 * sqrt(0.1 * 0.9 / runs)

    def test_six_rules_at_their_thresholds(self) -> None:
        """Of six rules, each at its threshold, any FAILs in 5% at most."""
        rng, n, runs = random.Random(7), 60, 30
        methods = [IdRecall(name=f"score_{place}").method for place in range(6)]
        gate = Gate(Recall >= 0.9, scores=[method.name for method in methods])
        wrong = 0
        for _ in range(runs):
            rows = [
                Row(
                    at,
                    Sample(),
                    tuple(RESULTS[float(rng.random() < 0.9)] for _ in methods),
                )
                for at in range(1, n + 1)
            ]
            wrong += outcome(gate, Report.of(methods, rows)) is FAIL
        assert wrong / runs <= 0.05 + 2 * sqrt(0.05 * 0.95 / runs)

    @pytest.mark.parametrize(("mean", "n"), [(0.9, 40)])
    def test_the_smallest_k_is_not_too_small(self, mean: float, n: int) -> None:
        """A k whose true mean is just below the target is returned in 5% at most."""
        rate = sum(
            binom.pmf(hits, n, mean)
            for hits in range(n + 1)
            if binom.pmf(hits, n, mean) > 1e-9
            and report_of([1.0] * hits + [0.0] * (n - hits)).smallest_k(mean, Hit).k is not None
        )
        assert rate <= 0.05


class TestPower:
    """Gates and searches decide with a feasible number of samples, not only CANNOT TELL."""

    def test_hits(self) -> None:
        """Of 192 samples with a true mean of 0.95, four in five show that it is above 0.9."""
        n = 192
        rate = sum(
            binom.pmf(hits, n, 0.95)
            for hits in range(170, n + 1)
            if outcome(Gate(Recall >= 0.9), report_of([1.0] * hits + [0.0] * (n - hits))) is PASS
        )
        assert rate >= 0.8

    def test_identical_reports_pass_at_149_pairs(self) -> None:
        """No valid rule passes a margin of 0.02 earlier: .98 ** 148 > .05."""
        for n, expected in ((148, CANNOT_TELL), (149, PASS)):
            report = report_of([0.5, 1.0] * (n // 2) + [1.0] * (n % 2))
            assert outcome(Gate(margin=0.02), report, report) is expected
            (check,) = Gate(margin=0.02).check(report, report).checks
            assert check.needed == (149 if expected is CANNOT_TELL else None)


class TestEdges:
    """Thresholds may be extreme, and reports may have few or no scores."""

    def test_a_threshold_of_0_always_passes(self) -> None:
        """A threshold of 0, or a margin of 1, always passes."""
        assert outcome(Gate(Recall >= 0), report_of([0.0])) is PASS
        assert outcome(Gate(margin=1), report_of([0.0]), report_of([1.0])) is PASS

    def test_a_threshold_of_1_never_passes(self) -> None:
        """A threshold of 1 never passes, and a sample below 1 makes it fail."""
        (check,) = Gate(Recall >= 1).check(report_of([1.0] * 1_000)).checks
        assert (check.outcome, check.needed) == (CANNOT_TELL, None)
        assert outcome(Gate(Recall >= 1), report_of([1.0] * 99 + [0.95])) is FAIL

    def test_one_sample_and_none(self) -> None:
        """One sample or none gives CANNOT TELL, not an error."""
        assert outcome(Gate(Recall >= 0.5), report_of([1.0])) is CANNOT_TELL
        for scores in ([], [None], [None] * 5):
            report = report_of(scores)
            (check,) = Gate(Recall >= 0.5).check(report).checks
            assert (check.outcome, check.value, check.p_pass) == (CANNOT_TELL, None, None)
            assert "has no sample with a value" in check.reason
            assert report.smallest_k(0.5).k is None


class TestCompare:
    """The interval of a comparison is the inversion of its test."""

    def test_the_outcome_and_the_interval_never_disagree(self) -> None:
        """In 60 runs with ties and groups, a change is better or worse exactly if 0 is outside."""
        rng = random.Random(11)
        decided = 0
        for _ in range(60):
            n = rng.randrange(20, 40)
            groups = [f"g{rng.randrange(10)}" if rng.random() < 0.4 else None for _ in range(n)]
            before = [rng.choice([0.0, 0.5, 0.5, 1.0]) for _ in range(n)]
            after = [b if rng.random() < 0.4 else rng.choice([0.5, 1.0]) for b in before]
            one = compare(report_of(before, groups), report_of(after, groups), Recall)
            main = one["id_recall"].main
            assert main.interval is not None
            outside = not main.interval.low <= 0 <= main.interval.high
            assert (main.outcome != "cannot_tell") == outside
            decided += outside
        assert 3 < decided < 57


class TestIdentity:
    """Scores of different targets are not compared."""

    def split(self, parts: int, found: int, n: int = 40) -> Report:
        """Return `n` samples' report: `parts` targets each, the first `found` of them found."""
        return evaluate(
            [
                Sample(
                    id=at,
                    retrieved_ids=[f"{parts}-{part}" for part in range(found)],
                    expected_ids=[f"{parts}-{part}" for part in range(parts)],
                )
                for at in range(n)
            ],
            IdRecall(),
            progress=False,
        )

    def test_claims_split_otherwise_do_not_compare(self) -> None:
        """Claims that were split differently are not compared, so there is no PASS."""
        before, after = self.split(2, 1), self.split(1, 1)
        score = compare(before, after)["id_recall"]
        assert (score.main.samples, score.main.difference, score.main.p) == (0, None, None)
        assert score.unpaired["no_common_targets"] == 40
        assert "40 not compared in id_recall: no target in common" in str(compare(before, after))
        assert outcome(Gate(margin=0.02), after, before) is CANNOT_TELL

    def test_common_targets_alone_count(self) -> None:
        """Only common targets count, and the samples with other targets are counted."""
        before, after = self.split(2, 1), self.split(2, 1)
        more = evaluate(
            [
                Sample(id=n, retrieved_ids=["2-0", "new"], expected_ids=["2-0", "2-1", "new"])
                for n in range(40)
            ],
            IdRecall(),
            progress=False,
        )
        score = compare(before, more)["id_recall"]
        assert (score.main.before, score.main.after, score.differing) == (0.5, 0.5, 40)
        assert compare(before, after)["id_recall"].differing == 0
        drift = (
            "the references of 40 samples differ in id_recall: only those that both reports have"
        )
        assert drift in str(compare(before, more))

    def test_rows_of_one_id_are_one_group(self) -> None:
        """Rows with the same ID are one group: a report repeated four times proves no more."""
        report = report_of([1.0] * 12 + [0.0] * 8)
        merged = Report.of(report.methods, [*report] * 4)
        assert merged.summary()[0].interval == report.summary()[0].interval
        assert merged.summary()[0].main.groups == 20
        assert [c.interval for c in Gate(Recall >= 0.3).check(merged).checks] == [
            c.interval for c in Gate(Recall >= 0.3).check(report).checks
        ]

    def test_linked_samples_are_one_group(self) -> None:
        """Samples that are linked by groups or IDs are one group."""
        rows = [
            Row(1, Sample(id="x", group="a"), (RESULTS[1.0],)),
            Row(2, Sample(id="x"), (RESULTS[1.0],)),
            Row(3, Sample(id="x", group="b"), (RESULTS[0.0],)),
            Row(4, Sample(id="y", group="b"), (RESULTS[0.0],)),
            Row(5, Sample(id="a"), (RESULTS[1.0],)),
            Row(6, Sample(id="a"), (RESULTS[1.0],)),
            Row(7, Sample(id="z"), (RESULTS[0.0],)),
        ]
        groups = Report.of([RESULTS[1.0].method], rows).table.groups
        assert len(set(groups[:4])) == 1
        assert groups[4] == groups[5] != groups[0]
        assert groups[6] is None
