"""What judging costs."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """Requests that were sent to models, and the tokens that the models counted."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both."""
        return Usage(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))
