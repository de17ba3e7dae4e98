"""Views of a table: one sample with its results, and one target that was missed."""

from __future__ import annotations

from dataclasses import dataclass

from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Result


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
        return f"Row({self.label}: {', '.join(each.named_score for each in self.results)})"

    def __str__(self) -> str:
        question = [] if self.sample.user_input is None else [self.sample.user_input]
        return "\n".join([self.label, *question, *map(str, self.results)])
