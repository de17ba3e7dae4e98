"""What a request brought, and whether it is sent again: how often, and after how long a wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import float_info
from typing import Any

from fullrecall._util.parameters import check_k
from fullrecall.errors import ParameterError
from fullrecall.judge.models.chat import Completion, Failure
from fullrecall.judge.models.failures import shortened
from fullrecall.judge.usage import MOST

MOST_CHARACTERS = 200_000
"""Of a reply that is read: twenty verdicts with their quotes, after long thoughts, take a quarter.
What reads a reply takes linear time, so that this bounds how long it holds up an event loop."""

_AFTER_TIMEOUT = 1
"""A request that hung was long already: it is sent once more and no more."""


_MOST_TOKENS = 100_000_000
"""No model takes so many in one request: whoever says more does not count tokens."""


def token_count(count: object) -> int:
    """Return the tokens that an endpoint says it counted; 0 where it says nothing to go by.

    Whole numbers from 0 to 100 million count, also as floats (100.0) and as text ("100").
    """
    if isinstance(count, str):
        return int(count) if count.isascii() and count.isdigit() and len(count) < 10 else 0  # noqa: PLR2004
    if isinstance(count, bool) or not isinstance(count, (int, float)):
        return 0
    # Compared first: what is no number fails it, and what is too large for a float never is one.
    return int(count) if 0 <= count <= _MOST_TOKENS and count == int(count) else 0


def tokens_used(reply: Mapping[str, Any], *names: str) -> int:
    """Return the tokens that a reply's `usage` counts by these names together."""
    usage = reply.get("usage")
    return sum(token_count(usage.get(name)) for name in names) if isinstance(usage, Mapping) else 0


def sound(reply: Any) -> Completion:
    """Return a completion of which every field is what it says, and none holds a secret.

    The one door through which what models answer comes in: too long a text, secrets, and
    numbers that are none stay outside.
    """
    if not isinstance(reply, Completion) or not isinstance(reply.text, str):
        detail = f"the model gave no Completion with a text, but {type(reply).__name__}"
        return Completion("", failure=Failure.MALFORMED, detail=detail)
    from fullrecall.judge.models.redaction import (
        without_secrets,  # its patterns take long to compile
    )

    fields: tuple[Any, Any, Any] = reply.text, reply.failure, reply.detail  # whatever they are
    text, failure, detail = fields
    tokens = token_count(reply.prompt_tokens), token_count(reply.completion_tokens)
    if failure is not None and not isinstance(failure, Failure):
        text, failure, detail = "", Failure.TRANSPORT, f"{failure}: {detail}"
    if len(text) > MOST_CHARACTERS:
        detail = f"{len(text):,} characters; at most {MOST_CHARACTERS:,} are read"
        text, failure = "", Failure.TOO_LARGE
    detail = shortened(detail if isinstance(detail, str) else repr(detail)) if detail else ""
    # What was answered was paid for, however odd what it says of itself.
    requests = max(1, token_count(reply.requests))
    return Completion(without_secrets(text), *tokens, failure, detail, requests, _wait(reply.wait))


def _wait(seconds: object) -> float | None:
    """Return the seconds to wait, None for what is no number of them."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    return float(seconds) if 0 <= seconds <= float_info.max else None


@dataclass(frozen=True)
class Retries:
    """How requests that failed for the moment are sent again.

    - `most`: how often at most; one that timed out is sent again once.
    - `first_wait`: seconds before the first retry; each further wait is twice as long, and all
      are shortened at random by up to a half, so that clients do not come back in step.
    - `longest_wait`: the longest wait in seconds. An endpoint whose `Retry-After` asks for more
      is not asked again; one that asks for less gets what it asks for.

    Rate limits, errors of the server, timeouts, lost connections and replies that are no JSON are
    sent again. What the endpoint rejects or denies, and what the model refuses, `evaluate` sends
    once more; `score` and `ascore` do not.
    """

    most: int = MOST
    first_wait: float = 0.5
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        check_k(self.most, "most", least=0)
        for name in ("first_wait", "longest_wait"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not value >= 0:
                raise ParameterError(f"must be a number of seconds >= 0, got {value!r}", name)

    def gives_up(self, completion: Completion) -> bool:
        """Whether the endpoint asks for a longer wait than there is patience for."""
        return (completion.wait or 0.0) > self.longest_wait

    def wait(self, sent: int, completion: Completion) -> float | None:
        """Return the seconds before a request, sent so often, goes once more; None for never."""
        from random import uniform  # a run that asks nobody does without

        failure = completion.failure
        if failure is None or not failure.is_passing or self.gives_up(completion):
            return None
        most = min(self.most, _AFTER_TIMEOUT) if failure is Failure.TIMEOUT else self.most
        if sent > most:
            return None
        if completion.wait is not None:
            return completion.wait + uniform(0.0, self.first_wait / 2)  # noqa: S311 - no secret
        # 2.0 ** 1024 would raise OverflowError.
        growing = self.first_wait * 2.0 ** min(sent - 1, 60)
        return min(growing, self.longest_wait) * uniform(0.5, 1.0)  # noqa: S311 - as above
