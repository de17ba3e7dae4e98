"""A judge without a model, for tests in which the right verdict is obvious."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fullrecall.judge.judge import Citation, Flow, Relation, SplitKind, Verdict
from fullrecall.judge.language import language


@dataclass(frozen=True)
class ContainmentJudge:
    """A judge without a model: each context that contains a target supports it."""

    name: str = "containment"

    def split(
        self,
        text: str,
        *,
        kind: SplitKind,
        question: str | None = None,
    ) -> Flow[Sequence[str]]:
        """Return the sentences of the text."""
        yield from ()
        return language().sentences(text)

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return a verdict per target."""
        yield from ()
        return [self._verdict(target, contexts) for target in targets]

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return a verdict per context: relevant if it is part of the reference or question."""
        yield from ()
        text = reference or question or ""
        return [
            Verdict("supported", (Citation(n, context),))
            if context in text
            else Verdict("not_supported")
            for n, context in enumerate(contexts)
        ]

    def _verdict(self, target: str, contexts: Sequence[str]) -> Verdict:
        citations = tuple(Citation(n, target) for n, text in enumerate(contexts) if target in text)
        return Verdict("supported", citations) if citations else Verdict("not_supported")
