"""What a judge is, and the one thing that a framework must provide for one: a `ChatModel`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

T = TypeVar("T")


class Message(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked: messages, and the JSON schema that its answer should have.

    A model that takes no schema may leave it aside: the messages ask for the same form.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    schema_name: str = "answer"
    sample: int = 0
    """Which of several answers to the same request this is: it makes them distinct."""
    again: int = 0
    """How often it was asked before, in these words, without an answer that could be used."""

    def plain_schema(self) -> dict[str, Any]:
        """Return the schema as plain dicts and lists, as clients serialise it."""
        plain: dict[str, Any] = _plain(self.schema)
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


class Failure(StrEnum):
    """Why a completion holds no answer: the model's doing, or that of the way to it."""

    REFUSED = "the model refused"
    EMPTY = "the model's reply was empty"
    CUT_OFF = "the model's reply was cut off"
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
    SCHEMA = "the endpoint rejected the request with the answer's schema"
    """To be sent again: the model leaves the schema out then."""
    TRANSPORT = "the request failed"
    """Whatever a client raised that says none of the above."""

    @property
    def is_reply(self) -> bool:
        """Whether the model itself replied, so that the way to it works."""
        return self in (Failure.REFUSED, Failure.EMPTY, Failure.CUT_OFF)

    @property
    def is_final(self) -> bool:
        """Whether asking the model again in the same words mends nothing.

        What retries the failures of the way to it is the driver, and it has done so by then.
        """
        return self not in (Failure.EMPTY, Failure.CUT_OFF)


_CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})
_REFUSED = frozenset({"content_filter", "refusal", "SAFETY"})


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered. `failure` says why `text` is no answer, `detail` in whose words.

    A reply that was cut off may still hold whole verdicts in its `text`. `requests` is how many
    requests it took, those included that failed and were sent again: drivers fill it in.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failure: Failure | None = None
    detail: str = ""
    requests: int = 1

    @classmethod
    def of(
        cls,
        text: str,
        *,
        tokens: tuple[int, int] = (0, 0),
        stop: object = None,
        refusal: object = None,
    ) -> Completion:
        """Return a reply with the failure that its own account of itself tells.

        `tokens` are those of prompt and answer, `stop` is why the model stopped, in any of the
        words that providers use, `refusal` what it said instead of an answer.
        """
        if refusal or stop in _REFUSED:
            told = str(refusal or stop).replace("_", " ")
            return cls(text, *tokens, Failure.REFUSED, told)
        if stop in _CUT_OFF:
            return cls(text, *tokens, Failure.CUT_OFF, "at the token limit")
        if not text.strip():
            return cls(text, *tokens, Failure.EMPTY)
        return cls(text, *tokens)

    @property
    def problem(self) -> str:
        """The failure in one phrase; empty where there is none."""
        if self.failure is None:
            return ""
        return f"{self.failure}: {self.detail}" if self.detail else str(self.failure)


@runtime_checkable
class ChatModel(Protocol):
    """A model that completes chats. Exceptions are the driver's to handle: raise them freely.

    Drivers retry: a client's own retries come on top of theirs, so turn them off. A model that
    keeps connections for each event loop may have an `async def aclose(self)` that closes those
    of the running one; `evaluate` calls it before the loop that it made ends.
    """

    @property
    def name(self) -> str:
        """Model and parameters: two models of one name must give the same answers."""
        ...

    def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer."""
        ...

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the model's answer without blocking the event loop."""
        ...


class Ask(NamedTuple):
    """One request to one model.

    `accepts` says of a completion whether it holds something of an answer: no other is ever
    stored. None accepts every completion without a failure.
    `known` is the completion where whoever asks has it already: drivers send nothing then.
    """

    model: ChatModel
    request: ChatRequest
    accepts: Callable[[Completion], bool] | None = None
    known: Completion | None = None


Flow: TypeAlias = Generator[Sequence[Ask], Sequence[Completion], T]
"""Scoring logic that does no I/O: it yields batches of requests, receives completions in order.

A judge that needs no model never yields.
"""

Label: TypeAlias = Literal["supported", "partial", "not_supported", "contradicted"]
"""What a judge decides. Only the first two can earn credit; "contradicted" says that the contexts
state the opposite, which another fix mends than what is merely not there."""


class Citation(NamedTuple):
    """Evidence that a judge names: the context by its 0-based index, and its words."""

    context: int
    quote: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's word on one target.

    `label` is None where there is no valid verdict, and `problem` says why. `together` tells
    whether the cited contexts are needed all at once or each is enough alone. `agreement` is the
    share of judges that gave this label, None for a single judge. `others` are verdicts on the
    same target that help too, from other windows or contexts: each stands by itself. `votes` are
    the verdicts of a panel, one for each judge: credit at a rank is then their median. `judge`
    names the one that settled it before the last of a cascade was asked; empty otherwise.
    `contested` says which context tried to instruct the judge, where one did.
    """

    label: Label | None
    citations: tuple[Citation, ...] = ()
    together: bool = False
    problem: str = ""
    agreement: float | None = None
    others: tuple[Verdict, ...] = ()
    judge: str = ""
    votes: tuple[Verdict, ...] = ()
    contested: str = ""


Kind: TypeAlias = Literal["claims", "questions", "entities"]
"""What a text is split into: the claims of an answer, the sub-questions of a question, …"""

Relation: TypeAlias = Literal["claim", "question", "entity"]
"""What is asked of a target: is it stated, can it be answered, does it occur."""


class Judge(Protocol):
    """Splits texts into targets and attributes targets to contexts."""

    @property
    def name(self) -> str:
        """What identifies the judge: kind, model, prompt version."""
        ...

    def split(self, text: str, *, kind: Kind, question: str | None = None) -> Flow[Sequence[str]]:
        """Return the claims of an answer, the sub-questions of a question, or the entities.

        `question` is what the text answers: "In 1889." says little without it.
        """
        ...

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order."""
        ...

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context: does it help to answer the question?"""
        ...


@runtime_checkable
class QuotingJudge(Protocol):
    """A judge that can ask once more for a quote which was not verified."""

    def requiring_quotes(self) -> Judge:
        """Return the same judge, asking once more for quotes that are not verified."""
        ...


def requiring_quotes(judge: Judge) -> Judge:
    """Return a judge that asks once more for quotes; the same where it is none that can."""
    return judge.requiring_quotes() if isinstance(judge, QuotingJudge) else judge
