"""What a run sends and pays, counted as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fullrecall.judges.protocols import Completion
from fullrecall.usage import Spent


@dataclass
class Spending:
    """Running totals of one run; it begins when this is made."""

    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reused: int = 0
    results_reused: int = 0
    cost_so_far: Callable[[], float | None] = lambda: None
    began: float = field(default_factory=time.monotonic)

    def add(self, completion: Completion) -> None:
        """Count the tokens of a completion."""
        self.prompt_tokens += completion.prompt_tokens or 0
        self.completion_tokens += completion.completion_tokens or 0

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self.began

    def so_far(self) -> Spent:
        """Return the totals as they stand."""
        return Spent(
            self.calls,
            self.retries,
            self.prompt_tokens,
            self.completion_tokens,
            self.cost_so_far(),
            self.seconds,
            self.reused,
            self.results_reused,
        )
