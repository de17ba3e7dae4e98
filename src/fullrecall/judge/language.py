"""The language room as the kernel sees it: sentences, names, numbers, and rules for quotes.

`fullrecall.lexical` plugs its rules in. Without that room `PlainLanguage` splits sentences by their
marks, knows no name, and refuses no quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from fullrecall._util.ports import plugged
from fullrecall.judge.evidence import Location

Aim: TypeAlias = Literal["claim", "question", "context"]
"""What a quote is quoted for; a question's answer need not share a word with it."""


class Language(Protocol):
    """The words and rules that judging needs of a natural language."""

    def sentences(self, text: str) -> list[str]:
        """Return the parts of a text, in order."""

    def statements(self, text: str) -> list[str]:
        """Return the sentences of a text that state something."""

    def facts(self, claim: str) -> list[str]:
        """Return the facts of a claim, the claim itself where it is one."""

    def omitted(self, text: str) -> Sequence[Any]:
        """Return the parts of a text that state nothing, each with `text` and `role`."""

    def names(self, text: str) -> Sequence[Any]:
        """Return the names in a text, each with `start`, `end` and `keys`."""

    def numbers(self, text: str) -> Sequence[Any]:
        """Return the numbers in a text, each with `value`, `text`, `start` and `end`."""

    def mentions(self, entity: str, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a text has the number or the date that an entity is."""

    def objection(
        self,
        target: str,
        context: str,
        parts: Sequence[Location],
        aim: Aim,
        beside: Sequence[str],
    ) -> str:
        """Return why a quote cannot prove its target; empty where it may."""

    def stating(
        self, claim: str, contexts: Mapping[int, str], lowered: Mapping[int, str]
    ) -> Iterator[int]:
        """Yield the contexts with a sentence that has all words of the claim."""

    def stand_alone(self, claim: str, contexts: Sequence[str]) -> list[bool]:
        """Return for each context whether it has as much of the claim as all of them together."""


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


class PlainLanguage:
    """Sentences end at their marks; no names, numbers, or rules."""

    def sentences(self, text: str) -> list[str]:
        """Return the sentences of a text."""
        return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]

    statements = sentences

    def facts(self, claim: str) -> list[str]:
        """Return the claim as one fact."""
        return [claim]

    def omitted(self, text: str) -> Sequence[Any]:  # noqa: ARG002
        """Return nothing: every sentence counts as a statement."""
        return ()

    names = numbers = omitted

    def objection(self, *_: object) -> str:
        """Return no objection."""
        return ""

    def mentions(self, *_: object) -> Iterator[tuple[int, int]]:
        """Yield nothing: numbers are compared as they are written."""
        yield from ()

    def stating(self, *_: object) -> Iterator[int]:
        """Yield no context."""
        yield from ()

    def stand_alone(self, claim: str, contexts: Sequence[str]) -> list[bool]:  # noqa: ARG002
        """Return False for each context, so that credit needs all of them."""
        return [False] * len(contexts)


def language() -> Language:
    """Return the language room, or `PlainLanguage` without it."""
    found: Language | None = plugged("language")
    return PlainLanguage() if found is None else found
