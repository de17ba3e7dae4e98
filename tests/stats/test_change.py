"""A change has one interval, with the outcome and the p-value that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from fullrecall import IdRecall, Report, Sample
from fullrecall.errors import ParameterError
from fullrecall.measures import Recall
from fullrecall.report import Row, compare
from fullrecall.stats.bounds import Counts, lower_bound, mean_above, mean_below, upper_bound
from fullrecall.stats.change import Difference, Direction

STEPS = st.integers(-12, 12).map(lambda twelfths: twelfths / 12)
PARTS = 60


def result(found: int) -> Any:
    """Return a result with `found` of 60 targets found."""
    targets = [f"d{n}" for n in range(PARTS)]
    return IdRecall().score(Sample(retrieved_ids=["x", *targets[:found]], expected_ids=targets))


RESULTS = [result(found) for found in range(PARTS + 1)]


def report_of(values: Iterable[float]) -> Report:
    """Return a report of samples with these recalls."""
    results = [RESULTS[round(value * PARTS)] for value in values]
    rows = [Row(n, Sample(id=n), (each,)) for n, each in enumerate(results, start=1)]
    return Report.of([RESULTS[0].method], rows)


def change(differences: Sequence[float], **options: Any) -> Difference:
    """Return the change between two reports whose samples differ by these amounts."""
    before = report_of(max(0.0, -each) for each in differences)
    after = report_of(max(0.0, each) for each in differences)
    return compare(before, after, Recall, **options)["id_recall"][Recall]


@given(st.lists(STEPS, min_size=1, max_size=40), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=25, deadline=None)
def test_outcome_interval_and_p_mean_agree(differences: list[float], confidence: float) -> None:
    """A change is better or worse if and only if its interval excludes 0, and its p is small."""
    found = change(differences, confidence=confidence)
    assert found.interval.low <= found.difference <= found.interval.high  # type: ignore[operator]
    assert (found.outcome is Direction.BETTER) == (found.interval.low > 0)
    assert (found.outcome is Direction.WORSE) == (found.interval.high < 0)
    if abs(found.p - (1 - confidence)) > 1e-9:
        assert (found.outcome is not Direction.CANNOT_TELL) == (found.p < 1 - confidence)
    counts = Counts.of(differences)
    sides = mean_above(counts, 0, least=-1), mean_below(counts, 0, most=1)
    assert found.p == pytest.approx(min(1, 2 * min(sides)))


@given(st.lists(STEPS, min_size=1, max_size=30))
@settings(max_examples=20, deadline=None)
def test_before_and_after_swapped_mirror_everything(differences: list[float]) -> None:
    """Swapping before and after negates the change."""
    there, back = change(differences), change([-each for each in differences])
    assert back.difference == pytest.approx(-there.difference)  # type: ignore[operator]
    assert back.interval.low == pytest.approx(-there.interval.high, abs=1e-9)
    assert back.p == pytest.approx(there.p)
    assert back.needed == there.needed


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("sign", [1, -1])
def test_needed_groups_would_settle_it(sign: int, confidence: float) -> None:
    """`needed` groups of the same differences exclude 0, and one fewer does not."""
    differences = [0.5 * sign] * 3 + [-0.5 * sign] * 2 + [0.0] * 35
    found = change(differences, confidence=confidence)
    assert found.outcome is Direction.CANNOT_TELL
    assert found.needed is not None
    counts = Counts.of(differences)

    def settled(groups: int) -> bool:
        share, alpha = counts.scaled(groups / len(differences)), (1 - confidence) / 2
        return lower_bound(share, alpha, least=-1.0) > 0 or upper_bound(share, alpha) < 0

    assert [settled(found.needed - 1), settled(found.needed)] == [False, True]


def test_no_number_of_groups_settles_a_tie() -> None:
    """Equal gains and losses, and no change at all, have no `needed`."""
    assert change([0.5, -0.5] * 20).needed is None
    nothing = change([0.0] * 50)
    assert (nothing.outcome, nothing.needed, nothing.p) == (Direction.CANNOT_TELL, None, 1.0)


def test_a_t_test_says_what_is_likely_and_decides_nothing() -> None:
    """A t-test says which direction is likely, and never changes the outcome."""
    small = [0.1] * 30 + [0.0] * 60 + [-0.1] * 10
    gained, lost = change(small), change([-each for each in small])
    assert (gained.outcome, gained.likely) == (Direction.CANNOT_TELL, Direction.BETTER)
    assert (lost.outcome, lost.likely) == (Direction.CANNOT_TELL, Direction.WORSE)
    assert gained.p_t == pytest.approx(ttest_1samp(small, 0).pvalue, abs=1e-9)
    assert [change([0.1, 0.2, *[0.1] * n]).p_t is None for n in (27, 28)] == [True, False]
    assert change([0.1] * 300).likely is None


def test_few_groups_show_nothing() -> None:
    """Five groups that all gain do not show a change at 95% confidence."""
    assert change([0.05] * 5).outcome is Direction.CANNOT_TELL


def test_no_groups_have_no_mean() -> None:
    """A change without groups has no difference, interval, or p, and cannot tell."""
    nothing = change([])
    assert (nothing.difference, nothing.interval, nothing.p) == (None, None, None)
    assert (nothing.outcome, nothing.needed, nothing.groups) == (Direction.CANNOT_TELL, None, 0)


def test_holm_corrects_what_is_shown_together() -> None:
    """Of ten changes at once, weak evidence no longer suffices, and strong evidence does."""
    before, strong = report_of([0.0] * 40), report_of([0.5] * 24 + [0.0] * 16)
    weak = report_of([0.5] * 10 + [0.0] * 30)
    alone = compare(before, weak, Recall)["id_recall"].main
    assert alone.outcome is Direction.BETTER
    reports = {"before": before, "strong": strong, **{f"weak {n}": weak for n in range(9)}}
    first, *others = [each["id_recall"].main for each in compare(reports, Recall)]
    assert first.outcome is Direction.BETTER
    assert {each.outcome for each in others} == {Direction.CANNOT_TELL}
    assert others[0].p_adjusted == pytest.approx(min(1, 9 * alone.p))


@pytest.mark.parametrize("bad", [{"confidence": 0}, {"confidence": 1}])
def test_arguments_out_of_range(bad: dict[str, float]) -> None:
    """Each argument out of its range is refused by name."""
    with pytest.raises(ParameterError, match=next(iter(bad))):
        change([0.1], **bad)
