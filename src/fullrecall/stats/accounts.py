"""Accounts that bet on the leader: which retriever is best, at one error rate for any looking.

Each retriever a holds one account, with capital 1 at the start. Before each question a challenger L
(whoever is furthest ahead of a) and a stake λ are fixed from earlier questions only; then

    capital_a *= 1 + λ (X_L - X_a),    0 <= λ < 1

For the retriever a* with the highest true mean, that is a nonnegative supermartingale: it ever
reaches 1 / alpha with probability alpha at most. A retriever whose account reaches it is dropped,
and to name a worse one, a* must have been dropped. So a name is wrong with probability alpha at
most, for any number of retrievers, any joint distribution of their values in [0, 1], any number of
looks and later calls, and a number of questions that depends on the data. Nothing is corrected for
the number of retrievers; none may be withdrawn that others have bet on. Questions must be
independent draws, in an order that does not depend on the answers.

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
"""No account risks more of its capital on one question."""

RESERVE = 0.2
"""The share of the capital at a call's start that is kept for later calls."""

_PRIOR_SQUARES, _PRIOR_QUESTIONS = 1.0, 4.0
"""Before anything is known, differences have a variance of 1/4, which counts as four questions."""

_POWER = NormalDist().inv_cdf(0.8)
"""The number of further questions is that of a test that succeeds in 80% of the cases."""


@dataclass
class Accounts:
    """The accounts of retrievers, and what their bets are made from.

    Arrays have a retriever in their last axis; `ahead`, `squares` and `together` have a pair [a, j]
    in their last two: the sum of X_j - X_a over the questions that both were asked, of its squares,
    and their number. Leading axes are races that run beside each other, as in simulations. `logs`
    are logarithms of capitals, `starts` those at the start of the present call.
    """

    logs: Floats
    starts: Floats
    surviving: NDArray[np.bool_]
    ahead: Floats
    squares: Floats
    together: Floats
    alpha: float = 0.05

    def __post_init__(self) -> None:
        """Read lists, as of a file; raise `ValueError` for arrays that do not fit together."""
        for name, value in vars(self).items():
            if name != "alpha":
                setattr(self, name, np.array(value, bool if name == "surviving" else float))
        shape = self.logs.shape
        pairs = (*shape, *shape[-1:])
        fits = all(each.shape == shape for each in (self.starts, self.surviving))
        if not fits or not all(
            each.shape == pairs for each in (self.ahead, self.squares, self.together)
        ):
            raise ValueError(f"accounts are not all of {shape[-1:]} retrievers")

    @classmethod
    def open(cls, retrievers: int, alpha: float = 0.05, races: tuple[int, ...] = ()) -> Self:
        """Return accounts with capital 1, one for each retriever, in as many races."""
        shape = (*races, retrievers)
        logs, sums = np.zeros(shape), np.zeros((*shape, retrievers))
        surviving = np.ones(shape, dtype=np.bool_)
        return cls(logs, logs, surviving, sums, sums, sums, alpha)

    @property
    def goal(self) -> float:
        """The logarithm of the capital at which a retriever is dropped."""
        return log(1 / self.alpha)

    def begin(self) -> None:
        """Start a call: a part of what each account has by now is kept for later ones."""
        self.starts = self.logs.copy()

    def bets(self, left: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the challenger and the stake of each account for the next of `left` questions."""
        variance = (_PRIOR_SQUARES + self.squares) / (_PRIOR_QUESTIONS + self.together)
        lead = self.ahead / np.sqrt(variance)
        lead = np.where(self.surviving[..., None, :], lead, -np.inf)
        retrievers = np.arange(lead.shape[-1])
        lead[..., retrievers, retrievers] = -np.inf
        challenger = lead.argmax(axis=-1)
        against = challenger[..., None]
        spread = np.take_along_axis(variance, against, -1)[..., 0]
        # Waudby-Smith and Ramdas's sqrt(2 ln(1 / alpha) / (n variance)), of what is left of each.
        # It hangs on earlier questions only: else the capital is no supermartingale.
        missing = np.maximum(0, self.goal - self.logs)
        stake = np.minimum(LARGEST_STAKE, np.sqrt(2 * missing / (left * spread)))
        stake = stake * np.maximum(0, 1 - RESERVE * np.exp(self.starts - self.logs))
        betting = self.surviving & (missing > 0)
        betting &= np.take_along_axis(lead, against, -1)[..., 0] > 0
        return challenger, np.where(betting, stake, 0.0)

    def learn(self, low: Floats, high: Floats, left: int) -> None:
        """Settle the bets on one question, of which `left` were left before it.

        `low` and `high` are the values of each retriever in [0, 1], with whatever is unscored at
        its worst and at its best: a challenger counts with the one, who is challenged with the
        other. Retrievers that were dropped have any finite value.
        """
        challenger, stake = self.bets(left)
        # Logarithms: a capital of many bets leaves the range of floats.
        self.logs += np.log1p(stake * (np.take_along_axis(low, challenger, -1) - high))
        are_asked = self.surviving[..., None] & self.surviving[..., None, :]
        ahead = np.where(are_asked, low[..., None, :] - low[..., None], 0.0)
        self.ahead += ahead
        self.squares += ahead**2
        self.together += are_asked

    def drop(self) -> None:
        """Look: drop whoever's account has reached the goal. Nothing is dropped elsewhere."""
        self.surviving &= self.logs < self.goal

    def more(self) -> int | None:
        """Return about how many more questions would leave one retriever, if the lead stays.

        None where no number would: where none or one is left, and where the first two are even.
        """
        survivors = np.flatnonzero(self.surviving)
        if len(survivors) < 2:  # noqa: PLR2004 - nobody is left to be dropped
            return None
        pairs = np.ix_(survivors, survivors)
        behind = (self.ahead[pairs] / np.maximum(1.0, self.together[pairs])).max(axis=1)
        leader = survivors[behind.argmin()]
        # In simulations 80 to 89% of races were settled by then, 64% of those of four retrievers at
        # 60 questions: it is "about" so many.
        needed = 0.0
        for other in survivors[survivors != leader]:
            count = self.together[other, leader]
            lead = self.ahead[other, leader] / max(1.0, count)
            if lead <= 0:
                return None
            variance = self.squares[other, leader] / count - lead**2
            chance = 1 - exp(-max(self.goal - self.logs[other], log(2)))
            needed = max(needed, (NormalDist().inv_cdf(chance) + _POWER) ** 2 * variance / lead**2)
        return max(1, ceil(needed))
