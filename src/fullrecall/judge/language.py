"""The language rules that judging needs: sentences, names, numbers, and rules for quotes.

`fullrecall.lexical` provides the rules. Without it, a plain `Language` splits sentences at their
marks, finds no names, and refuses no quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from fullrecall._util.ports import plugged
from fullrecall.judge.evidence import Location

Aim: TypeAlias = Literal["claim", "question", "context"]
"""The kind of target that a quote supports. A quote for a question need not share words with it."""


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


class Language:
    """The language rules that judging needs; this default splits sentences at their marks.

    It finds no names and no numbers, and accepts every quote.
    """

    def sentences(self, text: str) -> list[str]:
        """Return the sentences of a text, in order."""
        return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]

    def statements(self, text: str) -> list[str]:
        """Return the sentences of a text that state something."""
        return self.sentences(text)

    def facts(self, claim: str) -> list[str]:
        """Return the facts of a claim; a claim of one fact is returned unchanged."""
        return [claim]

    def omitted(self, text: str) -> Sequence[Any]:  # noqa: ARG002
        """Return the parts of a text that make no statement, each with `text` and `role`."""
        return ()

    def names(self, text: str, /) -> tuple[Any, ...]:  # noqa: ARG002
        """Return the names in a text, each with `start`, `end` and `keys`."""
        return ()

    def numbers(self, text: str, /) -> tuple[Any, ...]:  # noqa: ARG002
        """Return the numbers of a text: `value`, `text`, `start`, `end` and `in_digits` of each."""
        return ()

    def mentions(self, entity: str, text: str) -> Iterator[tuple[int, int]]:  # noqa: ARG002
        """Yield the spans in a text at which the number or date that `entity` names occurs."""
        yield from ()

    def objection(
        self,
        target: str,  # noqa: ARG002
        context: str,  # noqa: ARG002
        parts: Sequence[Location],  # noqa: ARG002
        aim: Aim,  # noqa: ARG002
        beside: Sequence[str],  # noqa: ARG002
    ) -> str:
        """Return the reason why a quote cannot prove its target; "" if it may.

        `parts` are the places of the quote in `context`, `beside` the other quotes that the verdict
        needs together with it.
        """
        return ""

    def stating(self, claim: str, contexts: Mapping[int, str]) -> Iterator[int]:  # noqa: ARG002
        """Yield the numbers of the contexts with all content words of the claim in one sentence."""
        yield from ()

    def stand_alone(self, claim: str, contexts: Sequence[str]) -> list[bool]:  # noqa: ARG002
        """Return for each context whether it alone states as much of the claim as all together."""
        return [False] * len(contexts)


def language() -> Language:
    """Return the rules of `fullrecall.lexical`; a plain `Language` if it is missing."""
    found: Language | None = plugged("language")
    return Language() if found is None else found
