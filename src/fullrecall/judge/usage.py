"""The requests, tokens and cost of judging."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from fullrecall._util.counts import counted

MOST = 4
"""The default of `Retries.most`, the most times that a request is sent again."""


class Usage(NamedTuple):
    """The requests behind a result, and the tokens that the models counted.

    `calls` counts all requests that were sent, including failed requests and retries. A shared
    request counts for every sample that uses it: if two samples share a text, it is split once, and
    the request is in the usage of both.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both."""
        return Usage(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(slots=True)
class Spent:
    """The requests that a run itself sent, and their cost; failed requests are included.

    `calls` counts all requests that were sent, `retries` the requests among them that were sent
    again; `cost` is None without prices, `seconds` is the run's duration. `reused` counts the
    answers that needed no request, because a store had them or another sample of the run asked the
    same. `adjusted` has one sentence for each field that an endpoint rejected: requests were sent
    without the field, or with another name for it.
    """

    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    reused: int = 0
    adjusted: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers together."""
        return self.prompt_tokens + self.completion_tokens

    def note(self, adjustments: Iterable[str]) -> None:
        """Add a model's sentences on rejected fields to `adjusted`, each once."""
        self.adjusted = tuple(dict.fromkeys((*self.adjusted, *adjustments)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def sentence(self) -> str:
        """Return a sentence on the requests sent and the answers reused; "" if there are none."""
        if not (self.calls or self.reused):
            return ""
        stored = f"{counted(self.reused, 'answer')} came from the store."
        return " ".join([f"Sent {self.sent()}; {stored}", *self.adjusted])

    def sent(self) -> str:
        """Describe the calls, how many of them are retries, the tokens, and the cost."""
        retries = f" ({self.retries:,} of them retries)" if self.retries else ""
        cost = "" if self.cost is None else f", cost {self.cost:,.4g}"
        return f"{counted(self.calls, 'call')}{retries}, {counted(self.tokens, 'token')}{cost}"
