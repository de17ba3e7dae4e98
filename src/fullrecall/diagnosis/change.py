"""A change of what is retrieved or compared, with the recall that it would bring."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from fullrecall.stats.bounds import Interval, rounded_down
from fullrecall.stats.plain import plain_of


class ChangeKind(StrEnum):
    """What a change does."""

    LARGER_K = "larger_k"
    """Count, or retrieve, more contexts."""
    NORMALIZE_IDS = "normalize_ids"
    """Write the same IDs in one way."""
    ID_LEVEL = "id_level"
    """Compare IDs of the level that the references have."""
    DROP_DUPLICATES = "drop_duplicates"
    """Drop repeated contexts before the list is cut."""


class Cost(NamedTuple):
    """Contexts per question before and after a change, in mean, and their tokens.

    Tokens are characters / 4; None where a text is not known.
    """

    contexts_before: float
    contexts_after: float
    tokens_before: float | None = None
    tokens_after: float | None = None

    @property
    def factor(self) -> float | None:
        """How many times as many contexts; None where there were none before."""
        return self.contexts_after / self.contexts_before if self.contexts_before else None

    @property
    def text(self) -> str:
        """The cost in words, empty where the change costs no context."""
        if self.factor is None or abs(self.factor - 1) < _SAME:
            return ""
        words = f"{_times(self.factor)} the contexts"
        if self.tokens_before is None or self.tokens_after is None:
            return words
        return f"{words} ({self.tokens_after - self.tokens_before:+,.0f} tokens per question)"


@dataclass(frozen=True, repr=False)
class Change:
    """A change with the recall that it would bring, as far as the record tells.

    `action` says what to do. `score` is the label of the first score that gains, such as
    `id_recall@5`; `before` and `after` are its mean recall over `samples` scored samples, groups
    counted once, and `gain` is their difference. `interval` holds the mean gain over all questions
    of this kind, whatever the distribution; together with those of the score's other changes at
    its confidence. `cost` is None where the change is not one of how much is retrieved.
    """

    kind: ChangeKind
    action: str
    score: str
    before: float
    after: float
    gain: float
    interval: Interval
    samples: int
    cost: Cost | None = None

    @property
    def text(self) -> str:
        """One line: "raise k from 5 to 10: +0.11 (+0.06 to +0.16), twice the contexts"."""
        cost = "" if self.cost is None else self.cost.text
        return f"{self.action}: {self.gain_text}{cost and ', '}{cost}"

    @property
    def gain_text(self) -> str:
        """The gain with its interval: "+0.11 (+0.06 to +0.16)"."""
        # From 0.0, so that an upper bound of 0 is not written as -0.
        low, high = rounded_down(self.interval.low, 2), 0.0 - rounded_down(-self.interval.high, 2)
        return f"{self.gain:+.2f} ({low:+.2f} to {high:+.2f})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**plain_of(self), "text": self.text}

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Change({self.gain_text}, {self.score}: {self.action})"


_SAME = 0.005


def _times(factor: float) -> str:
    if abs(factor - 2) < _SAME:
        return "twice"
    # "1.0 times" would say that nothing changes.
    digits = 2 if abs(factor - 1) < 0.05 else 1  # noqa: PLR2004 - half of the last digit
    return f"{factor:.{digits}f} times".replace(".0 ", " ")
