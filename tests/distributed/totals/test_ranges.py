"""Runs of whole numbers, against sets."""

from __future__ import annotations

from fullrecall.distributed.ranges import Runs, count, cut, in_words, joined, runs_of, without
from hypothesis import given
from hypothesis import strategies as st

from fullrecall.distributed.totals.whole import planned_runs


class TestRanges:
    """Runs of whole numbers, against sets."""

    @given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
    def test_against_sets(self, one: set[int], other: set[int]) -> None:
        """Union, difference, size and cutting are those of sets."""

        def numbers(runs: Runs) -> set[int]:
            return {n for first, last in runs for n in range(first, last + 1)}

        a, b = runs_of(one), runs_of(other)
        assert numbers(a) == one
        assert count(a) == len(one)
        assert joined([*a, *b]) == runs_of(one | other)
        assert without(a, b) == runs_of(one - other)
        pieces = list(cut(a, 7))
        assert numbers(tuple(pieces)) == one
        assert all(first // 7 == last // 7 for first, last in pieces)

    def test_words(self) -> None:
        """The first few are named."""
        assert in_words(((5, 5), (1_000, 2_000))) == "5, 1,000 to 2,000"
        told = in_words(runs_of(range(0, 20, 2)))
        assert told == "0, 2, 4, 6, 8, and 5 more ranges"

    def test_plans(self) -> None:
        """A number of rows, a range, or several."""
        assert planned_runs(5) == planned_runs(range(5)) == planned_runs([range(5)]) == ((0, 4),)
        assert planned_runs([range(3), range(10, 12)]) == ((0, 2), (10, 11))
        assert planned_runs(range(0, 6, 2)) == ((0, 0), (2, 2), (4, 4))
        assert planned_runs(0) == planned_runs([]) == ()
