"""Accounts that bet on the leader keep their guarantees, and equal a slow reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall.run.race import LOOKS
from fullrecall.stats.accounts import Accounts


class SlowAccounts:
    """The race by its definition, in plain Python, which keeps every answer and sums it anew."""

    def __init__(self, retrievers: int) -> None:
        self.retrievers = retrievers
        self.answers: list[list[float]] = []
        self.capital = [1.0] * retrievers
        self.at_start = [1.0] * retrievers
        self.alive = [True] * retrievers

    def variance(self, a: int, j: int) -> float:
        """Return the estimated variance of the paired difference, with a prior of 1/4."""
        squares = math.fsum((x[a] - x[j]) ** 2 for x in self.answers)
        return (1 + squares) / (4 + len(self.answers))

    def lead(self, a: int, j: int) -> float:
        """Return by how many standard deviations j is ahead of a."""
        return math.fsum(x[j] - x[a] for x in self.answers) / math.sqrt(self.variance(a, j))

    def bet(self, a: int, left: int) -> tuple[int, float]:
        """Return the rival that a is bet against, and the share of a's capital that is bet."""
        rivals = [j for j in range(self.retrievers) if j != a and self.alive[j]]
        if not rivals or not self.alive[a] or self.capital[a] >= 20:
            return a, 0.0
        rival = max(rivals, key=lambda j: self.lead(a, j))
        if self.lead(a, rival) <= 0:
            return a, 0.0
        missing = math.log(20) - math.log(self.capital[a])
        stake = min(0.95, math.sqrt(2 * missing / (left * self.variance(a, rival))))
        return rival, stake * max(0.0, 1 - 0.2 * self.at_start[a] / self.capital[a])

    def question(self, values: Sequence[float], left: int) -> None:
        """Settle all bets on one question."""
        bets = [self.bet(a, left) for a in range(self.retrievers)]
        for a, (rival, stake) in enumerate(bets):
            self.capital[a] *= 1 + stake * (values[rival] - values[a])
        self.answers.append(list(values))

    def look(self) -> None:
        """Drop each retriever whose capital has reached 20."""
        self.alive = [
            alive and capital < 20 for alive, capital in zip(self.alive, self.capital, strict=True)
        ]

    def more(self) -> float | None:
        """Return the estimated number of further questions that settle the race, not rounded."""
        alive = [a for a in range(self.retrievers) if self.alive[a]]
        totals = [math.fsum(x[a] for x in self.answers) for a in range(self.retrievers)]
        best = max(alive, key=totals.__getitem__)
        needed = 0.0
        for j in alive:
            if j == best:
                continue
            differences = [x[best] - x[j] for x in self.answers]
            mean = math.fsum(differences) / len(differences)
            if mean <= 0:
                return None
            variance = math.fsum(d * d for d in differences) / len(differences) - mean**2
            rest = max(math.log(20) - math.log(self.capital[j]), math.log(2))
            z = NormalDist().inv_cdf(1 - math.exp(-rest))
            needed = max(needed, (z + NormalDist().inv_cdf(0.8)) ** 2 * variance / mean**2)
        return needed


def run_call(
    values: np.ndarray, learn: Callable[[np.ndarray, int], None], look: Callable[[], bool]
) -> None:
    """Run a call's questions through a race, with evenly spread analyses, until one is left."""
    step = math.ceil(len(values) / LOOKS)
    for position, answers in enumerate(values, start=1):
        learn(answers, len(values) - position + 1)
        if (position % step == 0 or position == len(values)) and look():
            return


@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_accounts_agree_with_the_slow_reference(retrievers: int, calls: int, seed: int) -> None:
    """Survivors, capitals, and the number of further questions are those of the definition."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.3, 0.9, retrievers)
    fast, slow = Accounts.open(retrievers), SlowAccounts(retrievers)

    def look() -> bool:
        fast.drop()
        slow.look()
        assert fast.surviving.tolist() == slow.alive
        return int(fast.surviving.sum()) <= 1

    def learn(answers: np.ndarray, left: int) -> None:
        fast.learn(answers, answers, left)
        slow.question(answers.tolist(), left)

    for _ in range(calls):
        values = (rng.random((int(rng.integers(5, 60)), retrievers, 2)) < means[:, None]).mean(-1)
        fast.begin()
        slow.at_start = list(slow.capital)
        run_call(values, learn, look)
        np.testing.assert_allclose(np.exp(fast.logs), slow.capital, rtol=1e-9)
        if sum(slow.alive) < 2:
            return
        needed, slowly = fast.more(), slow.more()
        if slowly is None:
            assert needed is None
        else:
            # The two sums of squares have another order, so their last digits may differ.
            assert needed == pytest.approx(max(1, slowly), rel=1e-5, abs=1)


LAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "two-point": lambda rng, shape: (rng.random(shape) < 0.7).astype(float),
    "skewed": lambda rng, shape: np.where(rng.random(shape) < 0.9, 1.0, rng.random(shape)),
    "rare losses": lambda rng, shape: (rng.random(shape) >= 0.02).astype(float),
}


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [30, 100])
def test_a_tie_is_named_worse_in_five_percent_at_most(law: str, size: int) -> None:
    """With four equal retrievers, over three calls, each is dropped in at most 5% of the races.

    All four are equally good, so any of them may be the best.
    """
    races = 2_000
    rng = np.random.default_rng(7)
    accounts = Accounts.open(4, races=(races,))
    for _ in range(3):
        values = LAWS[law](rng, (size, races, 4))
        accounts.begin()
        step = math.ceil(size / LOOKS)
        for position in range(1, size + 1):
            accounts.learn(values[position - 1], values[position - 1], size - position + 1)
            if position % step == 0 or position == size:
                accounts.drop()
    dropped = (~accounts.surviving).mean(axis=0)
    assert dropped.max() <= 0.05 + 3 * 0.005


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_a_name_is_worse_by_more_than_the_tolerance_in_five_percent_at_most(law: str) -> None:
    """A named retriever is worse by more than the tolerance in at most 5% of the races."""
    races, size = 1_000, 100
    rng = np.random.default_rng(8)
    accounts = Accounts.open(4, within=0.05, races=(races,))
    wrong = np.zeros(races, np.bool_)
    for _ in range(2):
        accounts.begin()
        for left in range(size, 0, -1):
            values = LAWS[law](rng, (races, 4))
            # The worse retrievers score 0 on a random share of the questions.
            values[:, 1:] *= rng.random((races, 3)) >= 0.0501 / values.mean()
            accounts.learn(values, values, left)
            if left % 5 == 1:
                accounts.drop()
                wrong |= accounts.named[:, 1:].any(axis=1)
    assert wrong.mean() <= 0.05


def test_the_tolerance_names_equal_retrievers() -> None:
    """Two equal retrievers are both named after 40 equal questions; a failing one is not."""
    accounts = Accounts.open(3, within=0.2)
    for left in range(60, 0, -1):
        values = np.array([1.0, 1.0, 0.0])
        accounts.learn(values, values, left)
    accounts.drop()
    assert accounts.named.tolist() == [True, True, False]
    assert accounts.surviving.tolist() == [True, True, False]
    assert accounts.more() is None


def test_unscored_questions_drop_no_retriever() -> None:
    """Unscored questions count in a retriever's favor, so they never drop one."""
    accounts = Accounts.open(2)
    for left in range(200, 0, -1):
        accounts.learn(np.array([1.0, 0.0]), np.array([1.0, 1.0]), left)
    accounts.drop()
    assert accounts.surviving.all()
    assert accounts.logs[1] <= 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
@settings(max_examples=25, deadline=None)
def test_doubt_never_speeds_up_a_drop(answers: list[tuple[int, int]]) -> None:
    """Capital never becomes negative or NaN, for any values."""
    accounts = Accounts.open(2)
    for left, (first, second) in zip(range(len(answers), 0, -1), answers, strict=True):
        low = np.array([first, second]) / 4
        accounts.learn(low, np.minimum(1, low + 0.25), left)
        assert np.isfinite(accounts.logs).all()


def test_accounts_that_do_not_fit_together_are_refused() -> None:
    """Accounts of different sizes, as in a damaged file, are an error."""
    accounts = Accounts.open(3)
    with pytest.raises(ValueError, match="not all of"):
        replace(accounts, ahead=np.zeros((1, 1)))


def test_a_race_of_equals_has_no_estimate() -> None:
    """A race of equals has no estimate, and neither has a race with one retriever left."""
    accounts = Accounts.open(2)
    assert accounts.more() is None
    accounts.surviving[0] = False
    assert accounts.more() is None
