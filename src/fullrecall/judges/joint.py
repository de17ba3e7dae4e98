"""One reply that lists the claims of a text and judges them: its first part, taken for itself.

The claims of a text are fixed once, by the first reply whose list is all of the text and nothing
else (`partition`), or by a split that saw no contexts. Whoever comes later judges these.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from fullrecall.judges.origin import parted
from fullrecall.judges.partition import fault
from fullrecall.judges.prompts import Prompts
from fullrecall.judges.replies import is_placeholder, json_values, text_items
from fullrecall.models.chat import ChatRequest, Completion, Failure

_MOST_CLAIMS = 200
"""Of one text: comparing more with each other takes long."""


class ClaimList:
    """The claims of one text, in whatever reply lists them."""

    def __init__(self, text: str, question: str | None) -> None:
        self._text = text
        self._question = question
        self._read: tuple[Completion | None, tuple[str, ...]] = (None, ())

    def of(self, completion: Completion) -> tuple[str, ...]:
        """Return the claims that a completion fixes; none where it does not.

        A signed one was asked to judge them, too. One that was not lists items, as a split does.
        """
        heard, claims = self._read
        if heard is not completion:
            claims = self._claims(completion)
            self._read = completion, claims
        return claims

    def is_in(self, completion: Completion) -> bool:
        """Whether a completion fixes the claims."""
        return bool(self.of(completion))

    def kept_as(self, prompts: Prompts) -> tuple[ChatRequest, ChatRequest]:
        """Return the requests under which the claims are kept: as fixed, and as split alone."""
        split = prompts.split(self._text, kind="claims", question=self._question)
        return replace(split, schema_name="claims"), split

    def _claims(self, completion: Completion) -> tuple[str, ...]:
        text, origin = parted(completion.text)
        if not origin:
            return () if completion.failure else tuple(text_items(text) or ())
        if completion.failure not in (None, Failure.CUT_OFF):
            return ()
        listed = listed_claims(text)
        return () if not listed or fault(listed, self._text, self._question) else tuple(listed)


def listing(claims: Sequence[str]) -> Completion:
    """Return claims as the answer to a split; it took no request of its own."""
    return Completion(json.dumps({"items": list(claims)}, ensure_ascii=False), requests=0)


def listed_claims(text: str) -> list[str]:
    """Return the claims of a joint reply; none where they do not come first, whole and once.

    Of a reply that was cut off the list counts, if it is whole: nothing but verdicts is missing.
    """
    values = [value for value in json_values(text) if not _is_example(value)]
    if not values:
        return []
    first, *others = values
    if any(isinstance(value, dict) and "claims" in value for value in others):
        return []  # a second list
    if isinstance(first, dict):
        if next(iter(first), None) != "claims":  # verdicts that come first choose what is claimed
            return []
        first = first["claims"]
    if not isinstance(first, list) or len(first) > _MOST_CLAIMS:
        return []
    if not all(isinstance(claim, str) and claim.strip() for claim in first):
        return []
    return [claim.strip() for claim in first]


def _is_example(value: object) -> bool:
    claims = value.get("claims") if isinstance(value, dict) else None
    return isinstance(claims, list) and len(claims) == 1 and is_placeholder(claims[0])
