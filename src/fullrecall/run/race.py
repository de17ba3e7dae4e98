"""A race of retrievers: the state from which `choose` continues, and the resulting choice.

`fullrecall.stats.accounts` makes the decisions. The state is saved as JSON without texts: it has
digests of questions' IDs, so that no question counts twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from fullrecall._util.whole_files import write_whole
from fullrecall.errors import ReportError
from fullrecall.stats.accounts import Accounts
from fullrecall.stats.bounds import Bracket, Counts, alpha_of
from fullrecall.stats.choice import Choice, Standing
from fullrecall.stats.question_cost import percentiles

LOOKS = 16
"""The number of looks in each call, evenly spread over its questions. A look compares retrievers by
all answers so far; a retriever can be dropped only then."""

_FORMAT = "fullrecall choice 5"


class QuestionValue(NamedTuple):
    """The value of one retriever for one question: unscored samples are 0 in `low` and 1 in `high`.

    `values` are those of the question's scored samples; there are several if samples share a group.
    """

    low: float
    high: float
    values: Sequence[float] = ()


@dataclass
class RaceRecord:
    """The answers of one retriever; `Race.accounts` compares it with the other retrievers.

    - `identity`: a text that changes if the retriever changes between calls.
    - `questions`: the number of answered questions; `unscored`: the number of unscored samples;
      `reason`: the reason of the first unscored sample.
    - `tokens`: the sum over `with_tokens` samples; `seconds`: one number per sample that has it.
    - `means`: the mean of each scored question; `low`, `high`: the value of each question, with
      unscored samples counted as 0 and as 1. All three are from the last call that asked this
      retriever.
    - `pending`: the answers that no comparison of the retrievers has counted yet, by question; None
      for a question without targets.
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
        """Convert answers that were read from JSON, which has lists for tuples."""
        self.pending = {key: own and QuestionValue(*own) for key, own in self.pending.items()}

    def add(self, answer: QuestionValue) -> None:
        """Add the answer to one question."""
        self.questions += 1
        if answer.values:
            self.means.append(fmean(answer.values))
        self.low.append(answer.low)
        self.high.append(answer.high)

    def forget(self) -> None:
        """Drop the values of earlier calls, since an interval needs questions fixed in advance."""
        for collection in (self.pending, self.means, self.low, self.high):
            collection.clear()


@dataclass
class Race:
    """The retrievers, their comparison, and the questions of the present call.

    `accounts` has the statistics of the comparison, with the retrievers in the order of `records`.
    `rule` has the measure and the settings; it stays the same from call to call. `plan` has the
    digests of the present call's questions, in order, and `position` is the number of those whose
    answers have been counted; `done` has the digests of earlier calls' questions.
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

        Without such questions, the results of the last call stay unchanged.
        """
        begun_keys = {*self.done, *self.plan[: self.position]}
        # The error bound (see `stats.accounts`) requires an order that does not depend on answers:
        # sort by digest.
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
        """Return the questions to ask before the next look (comparison); [] if none are left.

        Questions that are not in `available` are removed from the plan.
        """
        ahead = [key for key in self.plan[self.position :] if key in available]
        self.plan[self.position :] = ahead
        return ahead[: max(1, ceil(len(self.plan) / LOOKS))]

    def learn(self, keys: Sequence[str]) -> None:
        """Count the answers to these questions; drop the retrievers shown to be worse than another.

        All surviving retrievers must have answered the questions.
        """
        surviving = self.surviving
        for key in keys:
            pending = {name: self.records[name].pending.pop(key) for name in surviving}
            left, self.position = len(self.plan) - self.position, self.position + 1
            if not any(pending.values()):
                continue
            # If a question's value is undefined for some retrievers only, it counts as unscored for
            # them.
            answers = {name: answer or QuestionValue(0.0, 1.0) for name, answer in pending.items()}
            for name, answer in answers.items():
                self.records[name].add(answer)
            # Dropped retrievers were not asked. Use zeros for them, since `accounts` ignores their
            # values.
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
            alpha_of(self.accounts.alpha),
            self.accounts.within,
            max(record.questions for record in self.records.values()),
            self.calls,
            tuple(sorted(standings, key=Standing.order)),
            (*reasons, *notes),
        )

    def _standing(self, name: str, *, is_named: bool) -> Standing:
        """Return the standing of a retriever; the intervals hold for all retrievers together."""
        record, is_dropped = self.records[name], name not in self.surviving
        # Bonferroni: the winner is chosen by its values, so all intervals must hold together, each
        # with its share of the error rate.
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
        """Return the race that is saved in a file; None if there is no file.

        Raises `ReportError` for a file of another program or version, and a damaged one.
        """
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
    """Return the digest of a question's ID.

    It depends only on the ID, so sorting questions by it always gives the same order.
    """
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]
