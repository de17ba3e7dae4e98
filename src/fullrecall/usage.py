"""What judging costs."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """The answers of models that something rests on, and the tokens that the models counted.

    They count whoever asked for them: a text that two samples share is split once, and the answer
    is in the usage of both.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both."""
        return Usage(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Spent(NamedTuple):
    """What a run sent and paid itself, what failed included.

    `calls` are all requests that were sent, `retries` those among them that were sent again;
    `cost` is None without prices, `seconds` is how long the run took. `reused` counts the answers
    that nothing was sent for, as a store had them or another sample of the run asked the same;
    `results_reused` the results that a store had finished.
    """

    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    reused: int = 0
    results_reused: int = 0

    def sentence(self) -> str:
        """Return in one sentence what was sent and what was there; empty where nothing was."""
        if not (self.calls or self.reused or self.results_reused):
            return ""
        retries = f" ({self.retries:,} of them retries)" if self.retries else ""
        sent = (
            f"{self.calls:,} calls{retries}, {self.prompt_tokens + self.completion_tokens:,} tokens"
        )
        cost = "" if self.cost is None else f", cost {self.cost:,.4g}"
        there = f"{self.reused:,} answers and {self.results_reused:,} results were there already"
        return f"Sent {sent}{cost}; {there}."
