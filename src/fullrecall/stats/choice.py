"""The choice of the best retriever: the winners, and the standing of each retriever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from fullrecall._util.counts import counted
from fullrecall._util.truth import NoTruth
from fullrecall.show.sheet import Cell, Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import from_to, shown
from fullrecall.stats.bounds import Interval
from fullrecall.stats.plain import plain_of
from fullrecall.stats.question_cost import FELT, shown_seconds

_TOKEN_STEPS = 10
"""The steps to which token counts are rounded, for each factor of e: about 10% each."""


@dataclass(frozen=True)
class Standing:
    """One retriever in a choice.

    `questions` is the number that the retriever was asked in all calls of `choose`. `mean` is over
    the scored questions of the last call; None if there are none. `interval` contains the true
    mean. It is computed from the last call's questions; an unscored question counts as 0 at the
    lower end and as 1 at the upper. It is None for a dropped retriever. The intervals hold for all
    retrievers together, including the winners. `reason` says why questions are unscored.
    `is_dropped` says that the retriever was ruled out, `is_named` that it is a winner. `tokens` is
    the mean per question, `seconds` the 50th and 95th percentile of the duration of a retrieval;
    None if unknown.
    """

    name: str
    mean: float | None
    interval: Interval | None
    questions: int
    unscored: int
    reason: str
    is_dropped: bool
    is_named: bool
    tokens: float | None
    seconds: tuple[float, float] | None

    def order(self) -> tuple[float, ...]:
        """Return a sort key: winners first, by cost and then mean; then the remaining retrievers.

        The remaining retrievers are ordered by mean, dropped ones last. Costs are compared by
        tokens, rounded to steps of about 10%. If the rounded tokens are equal, costs are compared
        by the median seconds; all medians below 0.01 count as equal.
        """
        if not self.is_named:
            return (1 + self.is_dropped, -(self.mean or 0.0))
        seconds = 0.0 if self.seconds is None else max(FELT, self.seconds[0])
        tokens = round(_TOKEN_STEPS * log(1 + (self.tokens or 0.0)))
        return (0, tokens, seconds, -(self.mean or 0.0))


@dataclass(frozen=True, repr=False)
class Choice(NoTruth, Shown):
    """The choice of the best retriever by a measure. Prints as a sentence and a table.

    Without a tolerance, `winners` has the name of the only retriever that was not dropped. With a
    tolerance (`within`), it has the names of the retrievers that are shown to be worse than the
    best by at most the tolerance, the cheapest first. `winner` is the first of `winners`, or None
    if there is none. A winner is wrong if another retriever's true mean is higher by more than
    `within`. The probability that any winner is wrong is 1 - confidence at most, for any number of
    retrievers, of calls of `choose`, and of added questions. `needed` is roughly how many more
    questions would settle the choice if the lead stays, None if no number would. `questions` were
    asked in `calls` calls of `choose`; samples of one group are one question. `label` names the
    measure.
    """

    needed: int | None
    label: str
    confidence: float
    within: float
    questions: int
    calls: int
    standings: tuple[Standing, ...]
    notes: tuple[str, ...] = ()

    @property
    def winners(self) -> tuple[str, ...]:
        """The names of the winning retrievers, the cheapest first."""
        return tuple(each.name for each in self.standings if each.is_named)

    @property
    def winner(self) -> str | None:
        """The cheapest of `winners`, or None if there is none."""
        return next(iter(self.winners), None)

    @property
    def outcome(self) -> str:
        """Whether a retriever is "chosen", or "cannot_tell"."""
        return "cannot_tell" if self.winner is None else "chosen"

    @property
    def sentence(self) -> str:
        """The winners, with the measure and the cost of the cheapest, or why there is no winner."""
        questions = counted(self.questions, "question")
        if self.winner is None:
            left = sum(not each.is_dropped for each in self.standings)
            remaining = "1 is left" if left == 1 else f"{left} are left"
            if not left:
                way = "all were ruled out at once; start again with new questions"
            elif not self.questions:
                way = "there was none to ask"
            elif self.needed is None:
                way = f"{remaining}, and no number of questions would settle their order"
            else:
                more = f"about {self.needed:,} more would settle it if the lead stays"
                way = f"{remaining}; {more}"
            near = f" within {self.within:g}" if self.within else ""
            return f"CANNOT TELL which has the best {self.label}{near} after {questions}: {way}"
        winner = self[self.winner]
        costs = [] if winner.tokens is None else [f"{winner.tokens:,.0f} tokens"]
        if winner.seconds is not None:
            costs.append(f"{shown_seconds(winner.seconds[0])} s per question")
        cost = ", ".join(costs)
        sure = f"{self.confidence:.0%} confidence, {questions}"
        claim = f"no other has a better {self.label} ({sure})"
        if self.within:
            claim = (
                f"no other is better by more than {self.within:g} in {self.label} ({sure}, at "
                "however many looks)"
            )
        of = f"the cheapest, {winner.name}: " if len(self.winners) > 1 else ""
        return (
            f"{', '.join(self.winners)}: {claim}; {of}{self.label} "
            f"{from_to(winner.interval)}{cost and f', {cost}'}"
        )

    def __getitem__(self, name: str) -> Standing:
        standings = {standing.name: standing for standing in self.standings}
        if name not in standings:
            raise KeyError(f"no retriever {name!r}: choose one of {', '.join(standings)}")
        return standings[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = plain_of(self, "outcome", "sentence", "winner", "winners")
        return {**names, **plain_of(self)}

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The standings as a table, the best first."""
        heads = [self.label, f"{self.confidence:.0%} interval", "questions", "unscored", "tokens"]
        lines = [
            Line(
                each.name,
                [
                    Cell(shown(each.mean), "strong" if each.is_named else ""),
                    from_to(each.interval),
                    f"{each.questions:,}",
                    f"{each.unscored:,}",
                    "" if each.tokens is None else f"{each.tokens:,.0f}",
                    *(map(shown_seconds, each.seconds) if each.seconds else [""] * 2),
                    self._state(each),
                ],
            )
            for each in self.standings
        ]
        return [
            Sheet(
                [*heads, "p50 s", "p95 s", ""],
                [Section("", lines)],
                self.notes,
                title=self.sentence,
                corner="retriever",
            )
        ]

    def _state(self, standing: Standing) -> str:
        if standing.is_dropped:
            return "dropped"
        if not standing.is_named:
            return "left"
        return f"within {self.within:g}" if self.within else "best"

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{super().__str__()}"
