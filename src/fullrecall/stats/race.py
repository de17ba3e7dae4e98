"""A race of retrievers: the choice it leads to, and the state that `choose` continues from.

`fullrecall.stats.accounts` decides. The state is saved as JSON without any text: questions are
digests of their IDs, so that none counts twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import ceil, log
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from fullrecall._util.counts import counted
from fullrecall._util.truth import NoTruth
from fullrecall._util.whole_files import write_whole
from fullrecall.errors import ReportError
from fullrecall.show.sheet import Cell, Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import outward, shown
from fullrecall.stats.accounts import Accounts
from fullrecall.stats.bounds import Bracket, Counts, Interval
from fullrecall.stats.plain import plain_of
from fullrecall.stats.question_cost import FELT, percentiles, shown_seconds

_TOKEN_STEPS = 10
"""Steps of tokens that count as equal, for each power of e."""


@dataclass(frozen=True)
class Standing:
    """One retriever in a choice.

    It was asked `questions` in all calls. `mean` is over the scored questions of the last call;
    None without any. `interval` is that of the true mean, from the last call's questions, with
    unscored ones at their worst and at their best; None for a dropped retriever. The intervals hold
    for all retrievers together, including the named one. `tokens` is the mean per question,
    `seconds` the 50th and 95th percentile of a call; None if unknown.
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
        """Return a sort key: named retrievers first, the cheapest first, then by mean.

        Tokens that differ by less than about 10% count as equal: then the seconds decide, and all
        seconds below 0.01 count as equal.
        """
        if not self.is_named:
            return (1 + self.is_dropped, -(self.mean or 0.0))
        seconds = 0.0 if self.seconds is None else max(FELT, self.seconds[0])
        return (
            0,
            round(_TOKEN_STEPS * log(1 + (self.tokens or 0.0))),
            seconds,
            -(self.mean or 0.0),
        )


@dataclass(frozen=True, repr=False)
class Choice(NoTruth, Shown):
    """Which retriever is best by a measure; prints as a table under one sentence.

    `winners` names the only surviving retriever, or those that are `within` a tolerance of the
    best, the cheapest first; `winner` is the first, None without any. A name is wrong if another
    retriever's true mean is higher by more than `within`. The probability that any name is wrong is
    1 - confidence at most, for any number of retrievers, looks, and added questions. `needed` is
    roughly how many more questions would settle it if the lead stays, None if no number would.
    `questions` were asked in `calls` calls: samples of one group are one question.
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
        """The cheapest of `winners`; None without any."""
        return next(iter(self.winners), None)

    @property
    def outcome(self) -> str:
        """Whether a retriever is "chosen", or "cannot_tell"."""
        return "cannot_tell" if self.winner is None else "chosen"

    @property
    def sentence(self) -> str:
        """The chosen retrievers with their recall and cost, or that the choice is undecided."""
        questions = counted(self.questions, "question")
        if self.winner is None:
            left = sum(not each.is_dropped for each in self.standings)
            if not left:
                way = "all were ruled out at once; start again with new questions"
            elif not self.questions:
                way = "there was none to ask"
            elif self.needed is None:
                way = f"{left} are left, and no number of questions would settle their order"
            else:
                more = f"about {self.needed:,} more would settle it if the lead stays"
                way = f"{left} are left; {more}"
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
            f"{_between(winner.interval)}{cost and f', {cost}'}"
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
                    _between(each.interval),
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


def _between(interval: Interval | None) -> str:
    return "" if interval is None else "{:.3f} to {:.3f}".format(*outward(interval))


LOOKS = 16
"""Looks in each call, evenly spread: only then a retriever may be dropped."""

_FORMAT = "fullrecall choice 5"


class QuestionValue(NamedTuple):
    """The value of one retriever for one question, with unscored samples as 0 and as 1.

    `values` are those of the question's scored samples: several where samples share a group.
    """

    low: float
    high: float
    values: Sequence[float] = ()


@dataclass
class RaceRecord:
    """The state of one retriever beside its account.

    `identity` says whether it is the same at the next call. `means` has the mean of each scored
    question, `low` and `high` a value for each question; all are of the last call that asked this
    retriever. `pending` holds the answers since the last look, None for a question without any
    target.
    """

    identity: str
    questions: int = 0
    unscored: int = 0
    reason: str = ""
    tokens: float = 0.0
    with_tokens: int = 0
    seconds: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    pending: dict[str, QuestionValue | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Convert answers that were read from JSON, where they are lists."""
        self.pending = {key: own and QuestionValue(*own) for key, own in self.pending.items()}

    def add(self, answer: QuestionValue) -> None:
        """Count the answer to one question."""
        self.questions += 1
        if answer.values:
            self.means.append(fmean(answer.values))
        self.low.append(answer.low)
        self.high.append(answer.high)

    def forget(self) -> None:
        """Drop the values of earlier calls: an interval needs questions fixed beforehand."""
        for collection in (self.pending, self.means, self.low, self.high):
            collection.clear()


@dataclass
class Race:
    """Retrievers in the order of their accounts, and the questions of the present call.

    `rule` has the measure and the settings; it stays the same from call to call. `plan` has the
    digests of the present call's questions, in order, and `position` says how many of them were
    learned from; `done` has the digests of earlier calls' questions.
    """

    rule: dict[str, Any]
    records: dict[str, RaceRecord]
    accounts: Accounts
    plan: list[str] = field(default_factory=list)
    position: int = 0
    calls: int = 0
    done: list[str] = field(default_factory=list)
    format: str = _FORMAT

    @property
    def surviving(self) -> list[str]:
        """The retrievers that were not dropped."""
        flags = self.accounts.surviving.tolist()
        return [name for name, left in zip(self.records, flags, strict=True) if left]

    def begin(self, keys: Iterable[str]) -> None:
        """Start a call with the questions that no earlier call asked, if there are any.

        Without any, the results of the last call stay as they are.
        """
        begun_keys = {*self.done, *self.plan[: self.position]}
        # In the order of digests, which does not depend on answers, as the theorem requires.
        new = sorted({key for key in keys if key not in begun_keys})
        if not new:
            return
        self.done += self.plan[: self.position]
        self.plan, self.position = new, 0
        self.calls += 1
        self.accounts.begin()
        for name in self.surviving:
            self.records[name].forget()

    def batch(self, available: Mapping[str, Any]) -> list[str]:
        """Return the questions up to the next look, if any are left.

        Those that are not available leave the plan.
        """
        ahead = [key for key in self.plan[self.position :] if key in available]
        self.plan[self.position :] = ahead
        return ahead[: max(1, ceil(len(self.plan) / LOOKS))]

    def learn(self, keys: Sequence[str]) -> None:
        """Learn from the pending answers of all survivors to these questions, then look."""
        surviving = self.surviving
        for key in keys:
            pending = {name: self.records[name].pending.pop(key) for name in surviving}
            left, self.position = len(self.plan) - self.position, self.position + 1
            if not any(pending.values()):
                continue
            # If a measure is undefined only for some retrievers, it is unscored there.
            answers = {name: answer or QuestionValue(0.0, 1.0) for name, answer in pending.items()}
            for name, answer in answers.items():
                self.records[name].add(answer)
            # Dropped retrievers are not asked: their bets were settled when they were dropped.
            if len(surviving) > 1:
                none = QuestionValue(0.0, 0.0)
                values = [answers.get(name, none) for name in self.records]
                low, high = (np.array([value[side] for value in values], float) for side in (0, 1))
                self.accounts.learn(low, high, left)
        if len(surviving) > 1:
            self.accounts.drop()

    def choice(self, label: str, notes: Sequence[str] = ()) -> Choice:
        """Return the choice from the answers so far."""
        flags = self.accounts.named.tolist()
        standings = [
            self._standing(name, is_named=is_named)
            for name, is_named in zip(self.records, flags, strict=True)
        ]
        reasons = [
            f"{each.unscored:,} unscored of {each.name}, for or against which nothing counts: "
            f"{each.reason}"
            for each in standings
            if each.unscored
        ]
        return Choice(
            self.accounts.more(),
            label,
            round(1 - self.accounts.alpha, 12),
            self.accounts.within,
            max(record.questions for record in self.records.values()),
            self.calls,
            tuple(sorted(standings, key=Standing.order)),
            (*reasons, *notes),
        )

    def _standing(self, name: str, *, is_named: bool) -> Standing:
        """Return a retriever's standing; the intervals of all retrievers hold together."""
        record, is_dropped = self.records[name], name not in self.surviving
        # Bonferroni's share: the winner is chosen by its values, so its interval must hold together
        # with those of all retrievers.
        confidence, interval = 1 - self.accounts.alpha / len(self.records), None
        if record.low and not is_dropped:
            values = Bracket(Counts.of(record.low), Counts.of(record.high))
            interval = values.interval(confidence)
        return Standing(
            name,
            fmean(record.means) if record.means else None,
            interval,
            record.questions,
            record.unscored,
            record.reason,
            is_dropped,
            is_named,
            record.tokens / record.with_tokens if record.with_tokens else None,
            percentiles(record.seconds),
        )

    @staticmethod
    def load(path: Path) -> Race | None:
        """Return the race that a file holds; None where there is no file."""
        try:
            saved = json.loads(path.read_bytes())
            accounts = Accounts(**saved["accounts"])
            records = {name: RaceRecord(**each) for name, each in saved["records"].items()}
            race = Race(**{**saved, "records": records, "accounts": accounts})
            fits = race.format == _FORMAT and len(records) == len(accounts.logs)
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = f"not a file of choose, or a damaged one ({error!r})"
            raise ReportError(f"{path}: {problem}; name another file to start anew") from None
        if not fits:
            raise ReportError(f"{path}: of another version, or damaged; name another file")
        return race

    def save(self, path: Path) -> None:
        """Write the file atomically: an interruption leaves the old file or the new one."""
        write_whole(path, json.dumps(self, default=_plain).encode())


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else vars(value)


def question_key(identity: str) -> str:
    """Return the digest of a question's ID, which orders questions equally in every call."""
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]
