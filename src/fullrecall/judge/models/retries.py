"""Check completions, and decide whether, when and how often a request is sent again."""

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
"""The most characters of a reply; a longer one is a failure. Twenty verdicts with their quotes,
after long thoughts, have a quarter as many. Reading takes linear time, so this limits how long it
blocks an event loop.
"""

_AFTER_TIMEOUT = 1
"""The retries after a timeout. The request already took long, so it is sent only once more."""


_MOST_TOKENS = 100_000_000
"""The largest believable number of tokens of one request; a larger one is not a token count."""


def token_count(count: object) -> int:
    """Return the token count that an endpoint reports; 0 without a usable number.

    Whole numbers from 0 to 100 million count, also as floats (100.0) and as text ("100").
    """
    if isinstance(count, str):
        return int(count) if count.isascii() and count.isdigit() and len(count) < 10 else 0  # noqa: PLR2004
    if isinstance(count, bool) or not isinstance(count, (int, float)):
        return 0
    # Compare before `int`, which raises for NaN and infinity.
    return int(count) if 0 <= count <= _MOST_TOKENS and count == int(count) else 0


def tokens_used(reply: Mapping[str, Any], *names: str) -> int:
    """Return the sum of the token counts under these names in a reply's `usage`."""
    usage = reply.get("usage")
    return sum(token_count(usage.get(name)) for name in names) if isinstance(usage, Mapping) else 0


def sound(reply: Any) -> Completion:
    """Return a model's reply as a valid completion without secrets.

    Every reply of a model goes through this check. It removes secrets, texts that are too long, and
    invalid numbers.
    """
    if not isinstance(reply, Completion) or not isinstance(reply.text, str):
        detail = f"the model gave no Completion with a text, but {type(reply).__name__}"
        return Completion("", failure=Failure.MALFORMED, detail=detail)
    from fullrecall.judge.models.redaction import (
        without_secrets,  # compiling its patterns takes long
    )

    # these values may have any type
    fields: tuple[Any, Any, Any] = reply.text, reply.failure, reply.detail
    text, failure, detail = fields
    tokens = token_count(reply.prompt_tokens), token_count(reply.completion_tokens)
    if failure is not None and not isinstance(failure, Failure):
        text, failure, detail = "", Failure.TRANSPORT, f"{failure}: {detail}"
    if len(text) > MOST_CHARACTERS:
        detail = f"{len(text):,} characters; at most {MOST_CHARACTERS:,} are read"
        text, failure = "", Failure.TOO_LARGE
    detail = shortened(detail if isinstance(detail, str) else repr(detail)) if detail else ""
    # A reply costs at least one request, even if its own count is invalid.
    requests = max(1, token_count(reply.requests))
    return Completion(without_secrets(text), *tokens, failure, detail, requests, _wait(reply.wait))


def _wait(seconds: object) -> float | None:
    """Return a valid number of seconds as a float; None for any other value."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    return float(seconds) if 0 <= seconds <= float_info.max else None


@dataclass(frozen=True)
class Retries:
    """How requests with a temporary failure are sent again.

    - `most`: the most retries of a request; a request that timed out is sent again only once.
    - `first_wait`: seconds before the first retry. Each further wait is twice as long. All waits
      are shortened at random by up to a half, so that clients do not retry in step.
    - `longest_wait`: the longest wait in seconds. If an endpoint's `Retry-After` asks for more,
      the request is not sent again; a shorter `Retry-After` is obeyed.

    Requests are sent again after rate limits, server errors, timeouts, lost connections and
    replies that are not JSON. `evaluate` sends a request once more if the endpoint rejects or
    denies it or the model refuses; `score` and `ascore` do not.
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
        """Return whether the endpoint asks for a longer wait than `longest_wait`."""
        return (completion.wait or 0.0) > self.longest_wait

    def wait(self, sent: int, completion: Completion) -> float | None:
        """Return the seconds to wait before the next try, after `sent` tries; None to give up."""
        from random import uniform  # runs without requests do not need it

        failure = completion.failure
        if failure is None or not failure.is_passing or self.gives_up(completion):
            return None
        most = min(self.most, _AFTER_TIMEOUT) if failure is Failure.TIMEOUT else self.most
        if sent > most:
            return None
        if completion.wait is not None:
            return completion.wait + uniform(0.0, self.first_wait / 2)  # noqa: S311 - no secret
        # Limit the exponent: 2.0 ** 1024 would raise OverflowError.
        growing = self.first_wait * 2.0 ** min(sent - 1, 60)
        return min(growing, self.longest_wait) * uniform(0.5, 1.0)  # noqa: S311 - as above
