"""`ChatModel`, the protocol of models that a judge asks, with its messages and completions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable


class Message(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a model: messages, and the JSON schema that its answer should have.

    A model may ignore the schema, since the messages ask for the same form.
    """

    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None
    schema_name: str = "answer"
    sample: int = 0
    """The number of this answer among several; it makes otherwise equal requests distinct."""
    again: int = 0
    """How often the request was sent before without getting a usable answer."""


class Failure(StrEnum):
    """The reason why a completion has no answer: a failure of the model or of the connection."""

    REFUSED = "the model refused"
    EMPTY = "the model's reply was empty"
    CUT_OFF = "the model's reply was cut off"
    AMBIGUOUS = "the model gave answers that differ"
    RATE_LIMIT = "the endpoint's rate limit was exceeded"
    SERVER = "the endpoint failed"
    TIMEOUT = "the endpoint did not answer in time"
    CONNECTION = "the connection to the endpoint failed"
    MALFORMED = "the endpoint's answer could not be read"
    DENIED = "the endpoint denied access"
    UNKNOWN = "the endpoint does not know the model"
    INVALID = "the endpoint rejected the request"
    MOVED = "the endpoint redirects to another address"
    TOO_LARGE = "the endpoint's reply was too large to be read"
    ADJUSTED = "the endpoint rejected a field of the request"
    """The request is sent again, without the field or with its other name."""
    TRANSPORT = "the request failed"
    """Any other exception of a client."""

    @property
    def is_reply(self) -> bool:
        """Whether the model itself replied, so that the connection works."""
        return self in (Failure.REFUSED, Failure.EMPTY, Failure.CUT_OFF, Failure.AMBIGUOUS)

    @property
    def is_final(self) -> bool:
        """Whether it is useless to send the model the same words again.

        Connection failures are final here, because they have already been retried.
        """
        return self not in (Failure.EMPTY, Failure.CUT_OFF)

    @property
    def is_passing(self) -> bool:
        """Whether the failure is temporary: the same request may succeed a little later."""
        return self in (
            Failure.RATE_LIMIT,
            Failure.SERVER,
            Failure.TIMEOUT,
            Failure.CONNECTION,
            Failure.MALFORMED,
            Failure.ADJUSTED,
        )


_CUT_OFF = frozenset("length max_tokens model_context_window_exceeded abort pause_turn".split())
_REFUSED = frozenset(
    "content_filter refusal safety recitation blocklist prohibited_content spii".split()
)
_ENDED = frozenset("stop end_turn stop_sequence eos tool_calls tool_use function_call".split())
"""Finish reasons of complete replies, in lower case."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer, or a `failure` and its `detail`, often in the words of the endpoint.

    A reply that was cut off may still hold whole verdicts in its `text`. `requests` is the number
    of requests sent for it, including failed requests and retries; fullrecall fills it in. `wait`
    is the seconds that the endpoint asks to wait before the next request; None if it asks for none.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failure: Failure | None = None
    detail: str = ""
    requests: int = 1
    wait: float | None = None

    @classmethod
    def of(
        cls,
        text: str,
        *,
        tokens: tuple[int, int] = (0, 0),
        stop: object = None,
        refusal: object = None,
    ) -> Completion:
        """Return a completion with the failure that the reply itself shows.

        `tokens` are the tokens of the prompt and of the answer, `stop` is the finish reason in any
        provider's words, `refusal` is the model's refusal instead of an answer.
        """
        reason = stop.lower() if isinstance(stop, str) else ""
        if refusal or reason in _REFUSED:
            detail = str(refusal or reason).replace("_", " ")
            return cls(text, *tokens, Failure.REFUSED, detail)
        if reason in _CUT_OFF:
            at = "at the token limit" if reason in ("length", "max_tokens") else f"by {stop!r}"
            return cls(text, *tokens, Failure.CUT_OFF, at)
        if not text.strip():
            detail = f"its finish reason is {stop!r}" if reason not in ("", *_ENDED) else ""
            return cls(text, *tokens, Failure.EMPTY, detail)
        return cls(text, *tokens)

    @property
    def problem(self) -> str:
        """The failure in one phrase; empty without a failure."""
        if self.failure is None:
            return ""
        return f"{self.failure}: {self.detail}" if self.detail else str(self.failure)


@runtime_checkable
class ChatModel(Protocol):
    """A model that completes chats. Any exception that it raises counts as a failed request.

    fullrecall retries, so turn off the retries of a client. A model that keeps connections for each
    event loop may have an `async def aclose(self)` that closes the connections of the running loop;
    `evaluate` calls it before its own loop ends.
    """

    @property
    def name(self) -> str:
        """The model and its parameters; models with the same name must give the same answers."""
        ...

    def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer."""
        ...

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the model's answer without blocking the event loop."""
        ...
