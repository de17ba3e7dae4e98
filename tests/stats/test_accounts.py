"""Accounts that bet on the leader keep their guarantees, and equal a slow reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

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


def test_a_decided_pair_needs_no_more_questions() -> None:
    """A retriever that the leader is shown to be near to counts no more than a dropped one."""
    ahead = np.array([[0.0, -1, -20], [1, 0, -19], [20, 19, 0]])
    sums = {"ahead": ahead, "squares": abs(ahead) + 30, "together": np.full((3, 3), 100.0)}
    logs = np.zeros((3, 3))
    accounts = Accounts(logs, logs, np.ones(3, bool), **sums, within=0.05)
    undecided = accounts.more()
    accounts.logs[1, 0] = accounts.goal
    decided = accounts.more()
    accounts.surviving[1] = False
    assert decided == accounts.more() is not None
    assert undecided is not None
    assert decided < undecided


class SlowPairs:
    """The race with a tolerance by its definition: one account for each pair of retrievers."""

    def __init__(self, retrievers: int, within: float) -> None:
        self.all = range(retrievers)
        self.within = within
        self.goal = math.log(20 * (retrievers - 1))
        self.differences: dict[tuple[int, int], list[float]] = {
            (a, w): [] for a in self.all for w in self.all
        }
        self.capital = dict.fromkeys(self.differences, 0.0)
        self.at_start = dict(self.capital)
        self.alive = [True] * retrievers

    def variance(self, pair: tuple[int, int]) -> float:
        """Return the estimated variance of a pair's differences, with a prior of 1/4."""
        seen = self.differences[pair]
        return (1 + math.fsum(d * d for d in seen)) / (4 + len(seen))

    def stake(self, pair: tuple[int, int], left: int) -> float:
        """Return the share of a pair's capital that it bets on the next question."""
        a, w = pair
        is_ahead = math.fsum(d + self.within for d in self.differences[pair]) > 0
        missing = self.goal - self.capital[pair]
        if a == w or not (self.alive[a] and self.alive[w] and is_ahead) or missing <= 0:
            return 0.0
        stake = min(0.95, math.sqrt(2 * missing / (left * self.variance(pair))))
        return stake * max(0.0, 1 - 0.2 * math.exp(self.at_start[pair] - self.capital[pair]))

    def question(self, values: Sequence[float], left: int) -> None:
        """Settle all bets on one question."""
        stakes = {pair: self.stake(pair, left) for pair in self.differences}
        for (a, w), stake in stakes.items():
            self.capital[a, w] += math.log(1 + stake * (values[w] + self.within - values[a]))
            if self.alive[a] and self.alive[w]:
                self.differences[a, w].append(values[w] - values[a])

    def has_won(self, a: int, w: int) -> bool:
        """Return whether w is shown to be at most the tolerance worse than a."""
        return a == w or self.capital[a, w] >= self.goal

    def named(self) -> list[bool]:
        """Return which retrievers are shown to be within the tolerance of all other retrievers."""
        return [self.alive[w] and all(self.has_won(a, w) for a in self.all) for w in self.all]

    def is_behind(self, a: int, w: int) -> bool:
        """Return whether w leads a by more than the tolerance."""
        return math.fsum(d - self.within for d in self.differences[a, w]) > 1e-12

    def look(self) -> None:
        """Drop the retrievers that no question can name any more."""
        named, alive = self.named(), list(self.alive)
        for a in self.all:
            others = [w for w in self.all if alive[w]]
            is_beaten = all(self.has_won(a, w) for w in others)
            if is_beaten and any(self.is_behind(a, w) for w in others) and not named[a]:
                self.alive[a] = False

    def more(self) -> float | None:
        """Return the estimated number of further questions, not rounded."""
        left = [a for a in self.all if self.alive[a]]
        if any(self.named()) or not left:
            return None

        def mean(a: int, w: int) -> float:
            return math.fsum(self.differences[a, w]) / max(1, len(self.differences[a, w]))

        leader = min(left, key=lambda a: max(mean(a, w) for w in left))
        needed = 0.0
        for other in left:
            seen = self.differences[other, leader]
            lead = mean(other, leader)
            if other == leader:
                continue
            if not seen or lead + self.within <= 0:
                return None
            if self.has_won(other, leader):
                continue
            variance = math.fsum(d * d for d in seen) / len(seen) - lead**2
            rest = max(self.goal - self.capital[other, leader], math.log(2))
            z = NormalDist().inv_cdf(1 - math.exp(-rest)) + NormalDist().inv_cdf(0.8)
            needed = max(needed, z**2 * variance / (lead + self.within) ** 2)
        return needed


@pytest.mark.parametrize(
    ("means", "within", "questions", "named"),
    [
        ((0.9, 0.9, 0.2), 0.1234, 90, "tt."),
        ((0.9, 0.5, 0.1), 0.0567, 40, "t.."),
        ((0.6, 0.55, 0.5, 0.3), 0.3456, 60, "ttt."),
        ((0.5, 0.5), 0.0123, 20, ".."),
    ],
)
def test_pairs_agree_with_the_slow_reference(
    means: tuple[float, ...], within: float, questions: int, named: str
) -> None:
    """With a tolerance, capitals, names, drops and the questions left are those of the definition.

    The retrievers score their means on average, in two calls.
    """
    fast, slow = Accounts.open(len(means), within=within), SlowPairs(len(means), within)
    rng = np.random.default_rng(3)
    for _ in range(2):
        fast.begin()
        slow.at_start = dict(slow.capital)
        for left in range(questions, 0, -1):
            values = (rng.random((4, len(means))) < np.array(means)).mean(axis=0)
            fast.learn(values, values, left)
            slow.question(values.tolist(), left)
            if left % 5 == 1:
                fast.drop()
                slow.look()
                assert fast.surviving.tolist() == slow.alive
                assert fast.named.tolist() == slow.named()
                needed: Any = slow.more()
                if needed is not None:
                    needed = pytest.approx(max(1, needed), abs=1)
                assert fast.more() == needed
        capitals = [[slow.capital[a, w] for w in slow.all] for a in slow.all]
        np.testing.assert_allclose(fast.logs, capitals, rtol=1e-9, atol=1e-12)
    assert "".join("t" if each else "." for each in fast.named) == named
