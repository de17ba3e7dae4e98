"""Which of several retrievers is best: the one that is named, or CANNOT TELL, and what each costs.

`fullrecall.choose` makes a `Choice`; how it decides is in `fullrecall.results.accounts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullrecall.counts import counted
from fullrecall.results.bounds import Interval
from fullrecall.results.question_cost import shown_seconds
from fullrecall.views.sheet import Cell, Line, Section, Sheet
from fullrecall.views.shown import Shown
from fullrecall.views.text import shown


@dataclass(frozen=True)
class Standing:
    """One retriever in a choice.

    It was asked `questions` in all calls. `mean` is over those of the last call, unscored ones left
    out; None without any. `interval` is of the mean over all such questions, from the same, with
    what is unscored at its worst and at its best; it holds together with those of all others,
    whichever is named, and is None for a retriever that was dropped. `contexts` and `tokens` are
    means per question, `seconds` the 50th and 95th percentile of a call; None where not known.
    `is_efficient`: no other retriever is at least as good in recall, tokens, and seconds, and
    better in one of them.
    """

    name: str
    mean: float | None
    interval: Interval | None
    questions: int
    unscored: int
    reason: str
    is_dropped: bool
    contexts: float | None
    tokens: float | None
    seconds: tuple[float, float] | None
    is_efficient: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        p50, p95 = self.seconds or (None, None)
        return {
            **self.__dict__,
            "interval": None if self.interval is None else self.interval._asdict(),
            "seconds": {"p50": p50, "p95": p95},
        }


@dataclass(frozen=True, repr=False)
class Choice(Shown):
    """Which retriever is best by a measure; prints as a table under one sentence.

    `winner` is the name of the only retriever that is left, None where several are; it is
    wrong, in that another one has a higher true mean, with probability 1 - confidence at most, for
    any number of retrievers and however often more questions are added. `needed` is about how many
    more questions would settle it if the lead stays, None where no number would. `questions` were
    asked in `calls` calls: samples of one group are one question.
    """

    winner: str | None
    needed: int | None
    label: str
    confidence: float
    questions: int
    calls: int
    standings: tuple[Standing, ...]
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What is chosen, with its recall and its cost, or that nothing is decided."""
        questions = counted(self.questions, "question")
        if self.winner is None:
            return f"CANNOT TELL which has the best {self.label} after {questions}{self._way_out}"
        winner = self[self.winner]
        costs = [] if winner.tokens is None else [f"{winner.tokens:,.0f} tokens"]
        if winner.seconds is not None:
            costs.append(f"{shown_seconds(winner.seconds[0])} s per question")
        cost = ", ".join(costs)
        sure = f"{self.confidence:.0%} confidence"
        return (
            f"{winner.name}: no other has a better {self.label} ({sure}, {questions})"
            f"; {self.label} {_between(winner.interval)}{cost and f', {cost}'}"
        )

    @property
    def front(self) -> tuple[Standing, ...]:
        """The retrievers that no other beats in recall, tokens, and seconds at once."""
        return tuple(each for each in self.standings if each.is_efficient)

    @property
    def _way_out(self) -> str:
        left = sum(not each.is_dropped for each in self.standings)
        if not left:
            return ": all were ruled out at once; start again with new questions"
        if self.needed is None:
            return f": {left} are left, and no number of questions would settle their present order"
        return f": {left} are left; about {self.needed:,} more would settle it if the lead stays"

    def __getitem__(self, name: str) -> Standing:
        for standing in self.standings:
            if standing.name == name:
                return standing
        names = ", ".join(standing.name for standing in self.standings)
        raise KeyError(f"no retriever {name!r}: choose one of {names}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "outcome": "cannot_tell" if self.winner is None else "chosen",
            **self.__dict__,
            "sentence": self.sentence,
            "standings": [standing.to_dict() for standing in self.standings],
            "notes": list(self.notes),
        }

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The standings as a table, the best first."""
        heads = [self.label, f"{self.confidence:.0%} interval", "questions", "unscored", "tokens"]
        lines = [
            Line(
                each.name,
                [
                    Cell(shown(each.mean), "strong" if each.name == self.winner else ""),
                    _between(each.interval),
                    f"{each.questions:,}",
                    f"{each.unscored:,}",
                    "" if each.tokens is None else f"{each.tokens:,.0f}",
                    *(map(shown_seconds, each.seconds) if each.seconds else [""] * 2),
                    _state(each, self.winner),
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

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{super().__str__()}"


def efficient(standings: Sequence[Standing]) -> tuple[Standing, ...]:
    """Return standings that know whether any other is better in recall, tokens, and seconds."""
    return tuple(
        replace(each, is_efficient=not any(_dominates(other, each) for other in standings))
        for each in standings
    )


def _dominates(other: Standing, each: Standing) -> bool:
    """Return whether one is at least as good in all that is known of both, and better in one."""
    if other.mean is None:
        return False
    pairs = [(other.mean, 0.0 if each.mean is None else each.mean)]
    if other.tokens is not None and each.tokens is not None:
        pairs.append((-other.tokens, -each.tokens))
    if other.seconds is not None and each.seconds is not None:
        pairs.append((-other.seconds[0], -each.seconds[0]))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def _state(standing: Standing, winner: str | None) -> str:
    state = "dropped" if standing.is_dropped else "best" if standing.name == winner else "left"
    return f"{state}, efficient" if standing.is_efficient else state


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"
