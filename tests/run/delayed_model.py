"""A model that answers with a delay, and samples of which every two share a reference."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

from fullrecall import ClaimRecall, LLMJudge, Sample
from fullrecall.judge.models import Completion
from fullrecall.judge.models.chat import ChatRequest
from fullrecall.judge.models.retries import Retries

if TYPE_CHECKING:
    from collections.abc import Callable


QUICK = Retries(first_wait=0.001)


class HttpError(Exception):
    """A client's exception, with a status, and headers on a response."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code = status
        self.response = type("Response", (), {"status_code": status, "headers": headers})()


class DelayedModel:
    """Answers after the delay that `seconds` returns for each request; counts its requests.

    `fails` may return an exception for a request, by its number from 1.
    """

    def __init__(
        self,
        seconds: Callable[[int], float] = lambda _: 0.0,
        fails: Callable[[int], Exception | None] = lambda _: None,
        name: str = "delayed",
    ) -> None:
        self.name = name
        self.sent: list[ChatRequest] = []
        self.at_once = self.most = 0
        self.closed = 0
        self._seconds = seconds
        self._fails = fails

    def complete(self, request: ChatRequest) -> Completion:
        """Raise: the engine must use `acomplete`."""
        raise AssertionError(request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the answer, which depends on the request's text alone."""
        self.sent.append(request)
        number = len(self.sent)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(self._seconds(number))
            error = self._fails(number)
            if error is not None:
                raise error
            return answer_to(request)
        finally:
            self.at_once -= 1

    async def aclose(self) -> None:
        """Count that the connections were closed."""
        self.closed += 1


def answer_to(request: ChatRequest) -> Completion:
    """Return two claims for a text, or a verdict for each claim: supported if its number is odd."""
    words = request.messages[1].content
    if request.schema_name == "items":
        number = re.findall(r"\d+", words)[0]
        return Completion(json.dumps({"items": [f"One {number}.", f"Two {number}."]}), 7, 3)
    verdicts = []
    for place, claim in re.findall(r"^(\d+) \"(.*)\"$", words.split("claims:\n")[1], re.MULTILINE):
        odd = int(re.findall(r"\d+", claim)[0]) % 2
        cited = [{"context": 1, "quote": "the context says"}] if odd else []
        verdict = "supported" if odd else "not_supported"
        verdicts.append({"id": int(place), "begins": claim, "verdict": verdict, "citations": cited})
    return Completion(json.dumps({"verdicts": verdicts}), 11, 5)


def samples(count: int) -> list[Sample]:
    """Return samples; every two share a question and its reference."""
    return [
        Sample(
            id=f"s{number}",
            user_input=f"q{number // 2}",
            retrieved_contexts=[f"All of this is what the context says of {number}."],
            retrieved_context_ids=[number],
            reference=f"Reference {number // 2}.",
            reference_context_ids=[number],
        )
        for number in range(count)
    ]


def scorer(model: DelayedModel, **options: Any) -> ClaimRecall:
    """Return claim recall with its own judge."""
    return ClaimRecall(judge=LLMJudge(model), **options)
