"""What a report holds of one sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fullrecall.result import Result
from fullrecall.sample import Sample


@dataclass(frozen=True, slots=True, repr=False)
class Row:
    """One sample with the results of all scorers, in their order. `position` counts from 1."""

    position: int
    sample: Sample
    results: tuple[Result, ...]

    @property
    def label(self) -> str:
        """The sample's ID, or `#position` where it has none."""
        return self.sample.id or f"#{self.position}"

    def __repr__(self) -> str:
        return f"Row({self.label}: {', '.join(map(_named, self.results))})"

    def __str__(self) -> str:
        question = [] if self.sample.user_input is None else [self.sample.user_input]
        return "\n".join([self.label, *question, *map(str, self.results)])


def _named(result: Result) -> str:
    score = str(result.status) if result.score is None else f"{result.score:.3f}"
    return f"{score} {result.method.name}"


class Missed(NamedTuple):
    """A target that one scorer did not find in full within `k`.

    `credit` is what it earned of 1.0 within k; `rank` where it does stand beyond k, None if it
    was not retrieved at all.
    """

    sample: str
    question: str | None
    score: str
    target: str
    credit: float
    rank: int | None
