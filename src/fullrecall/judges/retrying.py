"""Sending a failed request again: how often, and after how long a wait."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.errors import ParameterError
from fullrecall.judges.failures import Trouble, trouble_of
from fullrecall.judges.protocols import Completion, Failure

if TYPE_CHECKING:
    from tenacity import RetryCallState

MOST = 4
"""How often a request is sent again, unless it is said."""

_AFTER_TIMEOUT = 1
"""A request that hung was long already: it is sent once more and no more."""


class Attempt(NamedTuple):
    """One try of a request: the completion, and the trouble where it holds no reply."""

    completion: Completion
    trouble: Trouble | None = None

    @classmethod
    def of(cls, completion: Completion) -> Attempt:
        """Return the attempt that gave this completion, which may say that it failed."""
        if completion.failure is None or not completion.failure.is_final:
            return cls(completion)  # an answer, or one that the judge asks for again
        return cls(completion, Trouble(completion.failure, completion.detail))

    @classmethod
    def failed(cls, error: Exception) -> Attempt:
        """Return the attempt that ended in an exception of the client."""
        trouble = trouble_of(error)
        return cls(trouble.completion(), trouble)


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
    once more if the model answers others; `score` and `ascore` do not.
    """

    most: int = MOST
    first_wait: float = 0.5
    longest_wait: float = 60.0
    _jitter: random.Random = field(
        default_factory=random.Random, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.most, int) or isinstance(self.most, bool) or self.most < 0:
            raise ParameterError(f"most is a whole number >= 0, got {self.most!r}")
        for name in ("first_wait", "longest_wait"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not value >= 0:
                raise ParameterError(f"{name} is a number of seconds >= 0, got {value!r}")

    def gives_up(self, trouble: Trouble) -> bool:
        """Whether the endpoint asks for a longer wait than there is patience for."""
        return (trouble.wait or 0.0) > self.longest_wait

    def tried(self, attempt: Callable[[], Attempt]) -> Attempt:
        """Return the last of as many attempts as it takes; blocks while it waits."""
        from tenacity import Retrying

        last: Attempt = Retrying(**self._rules())(attempt)
        return last

    async def atried(self, attempt: Callable[[], Awaitable[Attempt]]) -> Attempt:
        """Return the last of as many attempts as it takes."""
        # Most requests succeed at once, and then there is nothing to set up.
        first = await attempt()
        if first.trouble is None or not first.trouble.passing:
            return first
        from tenacity import AsyncRetrying

        tries = iter([first])

        async def again() -> Attempt:
            known = next(tries, None)
            return known if known is not None else await attempt()

        last: Attempt = await AsyncRetrying(**self._rules())(again)
        return last

    def _rules(self) -> dict[str, Any]:
        from tenacity import retry_if_result, wait_exponential

        growing = wait_exponential(multiplier=self.first_wait, max=self.longest_wait)

        def wait(state: RetryCallState) -> float:
            trouble = _trouble(state)
            asked = trouble.wait if trouble is not None else None
            if asked is not None:
                return asked + self.first_wait * self._jitter.random() / 2
            return growing(state) * self._jitter.uniform(0.5, 1.0)

        return {
            "retry": retry_if_result(lambda attempt: attempt.trouble and attempt.trouble.passing),
            "stop": self._is_over,
            "wait": wait,
            "retry_error_callback": lambda state: state.outcome and state.outcome.result(),
        }

    def _is_over(self, state: RetryCallState) -> bool:
        trouble = _trouble(state)
        if trouble is None:
            return False
        most = min(self.most, _AFTER_TIMEOUT) if trouble.failure is Failure.TIMEOUT else self.most
        return state.attempt_number > most or self.gives_up(trouble)


def _trouble(state: RetryCallState) -> Trouble | None:
    if state.outcome is None or state.outcome.failed:
        return None
    attempt: Attempt = state.outcome.result()
    return attempt.trouble
