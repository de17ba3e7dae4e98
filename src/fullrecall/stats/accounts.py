"""Find the best retriever by accounts that bet, at one error rate for any number of looks.

A look compares the retrievers after some of the questions. Each retriever a holds one account, with
capital 1 at the start. Before each question, a challenger L (the retriever furthest ahead of a) and
a stake λ are fixed from earlier questions only; then

    capital_a *= 1 + λ (X_L - X_a),    0 <= λ < 1

For the retriever a* with the highest true mean, this is a nonnegative supermartingale: the
probability that it ever reaches 1 / alpha is at most alpha. A retriever whose account reaches 1 /
alpha is dropped, and the last one left is named as the best. A worse retriever is named only after
a* has been dropped. So a name is wrong with probability alpha at most. This holds for any number of
retrievers and any joint distribution of their values in [0, 1]. It also holds for any number of
looks, for later calls that add questions, and if the data decide how many questions are asked. The
number of retrievers needs no correction, but a retriever on which another account has bet may not
be withdrawn. Questions must be independent draws, in an order that does not depend on the answers.

With a tolerance ε, each pair of retrievers holds an account that bets on w against a:

    capital_aw *= 1 + λ (X_w + ε - X_a)

Where a is better than w by more than ε, this is a nonnegative supermartingale: the probability that
it ever reaches (R - 1) / alpha is at most alpha / (R - 1). A retriever w is named once its accounts
against all R - 1 other retrievers have reached that goal. A wrong name is a w that is worse than a*
by more than ε; it requires that the account of the pair a*, w reached the goal. At most R - 1
retrievers are that much worse, so the probability that any name is wrong is alpha at most, at any
number of looks. A retriever that is asked no further questions keeps its accounts and is not named,
which adds no error.

Source of the inequality: Ville, "Étude critique de la notion de collectif", 1939; of betting on
differences of means: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
betting", JRSS-B 86, 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fullrecall.measures.lists import Floats

LARGEST_STAKE = 0.95
"""The largest share of its capital that an account bets on one question."""

RESERVE = 0.2
"""The share of its capital at a call's start that each account does not bet during the call, so
that later calls, which add questions, can still bet.
"""

_PRIOR_SQUARES, _PRIOR_QUESTIONS = 1.0, 4.0
"""The prior of the variance of a difference: 1/4, which has the weight of four questions."""

_POWER = NormalDist().inv_cdf(0.8)
"""The normal quantile of 80%: `more` estimates how many questions would settle 80% of choices."""


@dataclass
class Accounts:
    """The betting accounts of retrievers, and the sums from which the stakes are computed.

    An account has a capital, which its bets raise or lower; see the top of this module.

    The last axis of arrays is the retriever. The last two axes of `ahead`, `squares` and `together`
    are a pair [a, j]. They have sums over the questions that both retrievers were asked: `ahead` of
    the differences (X_j - X_a), `squares` of their squares, and `together` of ones, which gives the
    number of questions. Leading axes are parallel races (choices), as in simulations. `logs` are
    the logarithms of the capitals, `starts` those at the start of the present call. Both have one
    item for each retriever or, if the tolerance `within` is above 0, for each pair.
    """

    logs: Floats
    starts: Floats
    surviving: NDArray[np.bool_]
    ahead: Floats
    squares: Floats
    together: Floats
    alpha: float = 0.05
    within: float = 0.0

    def __post_init__(self) -> None:
        """Convert lists, as read from a file; raise `ValueError` if the shapes do not fit."""
        for name, value in vars(self).items():
            if name not in ("alpha", "within"):
                setattr(self, name, np.array(value, bool if name == "surviving" else float))
        shape = self.surviving.shape
        pairs = (*shape, *shape[-1:])
        own = pairs if self.within else shape
        fits = all(each.shape == own for each in (self.logs, self.starts))
        if not fits or not all(
            each.shape == pairs for each in (self.ahead, self.squares, self.together)
        ):
            raise ValueError(f"accounts are not all of {shape[-1:]} retrievers")

    @classmethod
    def open(
        cls,
        retrievers: int,
        alpha: float = 0.05,
        within: float = 0.0,
        races: tuple[int, ...] = (),
    ) -> Self:
        """Return accounts with capital 1 for a race of `retrievers`, or for an array of races.

        `races` is the shape of that array; () is a single race. There is one account for each
        retriever, or, with a tolerance (`within`), for each pair of retrievers.
        """
        shape = (*races, retrievers)
        sums = np.zeros((*shape, retrievers))
        logs = sums if within else np.zeros(shape)
        return cls(logs, logs, np.ones(shape, np.bool_), sums, sums, sums, alpha, within)

    @property
    def goal(self) -> float:
        """The logarithm of the capital at which an account decides; see the top of this module."""
        return log((self.surviving.shape[-1] - 1 if self.within else 1) / self.alpha)

    @property
    def named(self) -> NDArray[np.bool_]:
        """Whether each retriever is named as the best.

        Without a tolerance, a retriever is named if it is the only one left. With a tolerance, a
        surviving retriever is named if the data show that every other retriever is better than it
        by at most the tolerance.
        """
        if not self.within:
            is_alone: NDArray[np.bool_] = self.surviving.sum(axis=-1, keepdims=True) == 1
            return self.surviving & is_alone
        return self.surviving & self._won.all(axis=-2)

    @property
    def _won(self) -> NDArray[np.bool_]:
        """For each pair [a, w], whether a is shown to be better than w by at most `within`."""
        return (self.logs >= self.goal) | np.eye(self.surviving.shape[-1], dtype=np.bool_)

    def begin(self) -> None:
        """Start a call: reserve a part of each account's present capital for later calls."""
        self.starts = self.logs.copy()

    def stakes(self, left: int) -> Floats:
        """Return the stakes on the next question, if `left` questions remain.

        Stake [a, j] is the share of its capital that the account of a bets on the challenger j.
        """
        variance = (_PRIOR_SQUARES + self.squares) / (_PRIOR_QUESTIONS + self.together)
        lead = (self.ahead + self.within * self.together) / np.sqrt(variance)
        are_asked = self.surviving[..., None] & self.surviving[..., None, :]
        lead = np.where(are_asked & ~np.eye(lead.shape[-1], dtype=np.bool_), lead, -np.inf)
        logs, starts = self.logs, self.starts
        betting = lead > 0
        # If `within` is 0, a retriever has one account, which bets on the challenger with the
        # largest lead.
        if not self.within:
            logs, starts = logs[..., None], starts[..., None]
            betting &= np.arange(lead.shape[-1]) == lead.argmax(axis=-1)[..., None]
        # The stake is sqrt(2 ln(1 / alpha) / (n variance)), as Waudby-Smith and Ramdas propose, but
        # with the remaining distance to the goal in place of ln(1 / alpha). The stake depends on
        # earlier questions only; otherwise the capital would not be a supermartingale.
        missing = np.maximum(0, self.goal - logs)
        stake = np.minimum(LARGEST_STAKE, np.sqrt(2 * missing / (left * variance)))
        stake = stake * np.maximum(0, 1 - RESERVE * np.exp(starts - logs))
        return np.where(betting & (missing > 0), stake, 0.0)

    def learn(self, low: Floats, high: Floats, left: int) -> None:
        """Settle the bets on one question, before which `left` questions remained.

        `low` and `high` have a value for each retriever, in [0, 1]. An unscored sample counts as 0
        in `low` and as 1 in `high`. A bet uses the `low` value of the challenger and the `high`
        value of the challenged retriever. Dropped retrievers may have any finite value.
        """
        gains = low[..., None, :] + self.within - high[..., None]
        # Add logarithms, because the capital itself leaves the range of floats after many bets.
        won = np.log1p(self.stakes(left) * gains)
        self.logs += won if self.within else won.sum(axis=-1)
        are_asked = self.surviving[..., None] & self.surviving[..., None, :]
        ahead = np.where(are_asked, low[..., None, :] - low[..., None], 0.0)
        self.ahead += ahead
        self.squares += ahead**2
        self.together += are_asked

    def drop(self) -> None:
        """Drop the retrievers that need no further questions.

        Without a tolerance, these are the retrievers whose account has reached the goal. With a
        tolerance, a retriever is dropped if all of this holds: it is not named; it is shown to be
        better than each surviving retriever by at most the tolerance; its mean so far is below that
        of a surviving retriever by more than the tolerance.
        """
        if not self.within:
            self.surviving &= self.logs < self.goal
            return
        is_beaten = (self._won | ~self.surviving[..., None, :]).all(axis=-1)
        others = np.where(self.surviving[..., None, :], self.ahead, 0.0)
        is_behind = (others > self.within * self.together).any(axis=-1)
        self.surviving &= ~(is_beaten & is_behind & ~self.named)

    def more(self) -> int | None:
        """Return roughly how many more questions would name one retriever, if the lead stays.

        Returns None if no number would: a retriever is already named, all are dropped, or the
        leader's mean plus the tolerance is not above the mean of each other retriever.
        """
        survivors = np.flatnonzero(self.surviving)
        if self.named.any() or not len(survivors):
            return None
        pairs = np.ix_(survivors, survivors)
        behind = (self.ahead[pairs] / np.maximum(1.0, self.together[pairs])).max(axis=1)
        leader = survivors[behind.argmin()]
        # In simulations, 80 to 89% of choices were settled within the number of questions returned
        # here; for four retrievers and 60 questions, only 64% of choices were.
        needed = 0.0
        for other in survivors[survivors != leader]:
            count = self.together[other, leader]
            mean = self.ahead[other, leader] / max(1.0, count)
            if mean + self.within <= 0 or not count:
                return None
            variance = self.squares[other, leader] / count - mean**2
            capital = self.logs[other, leader] if self.within else self.logs[other]
            if self.within and capital >= self.goal:
                continue  # The leader is already shown to be within the tolerance of `other`.
            chance = 1 - exp(-max(self.goal - capital, log(2)))
            z = NormalDist().inv_cdf(chance) + _POWER
            needed = max(needed, z**2 * variance / (mean + self.within) ** 2)
        return max(1, ceil(needed))
