"""Quotes looked up in the contexts that they cite, and compared with what they are quoted for."""

from __future__ import annotations

from collections.abc import Mapping

from fullrecall.judges.bearing import Aim, objection
from fullrecall.judges.evidence import Folded, Location, locate_parts
from fullrecall.judges.judge import Citation, Verdict


class Quotes:
    """Contexts by their 0-based index, each prepared once to look quotes up in."""

    def __init__(self, contexts: Mapping[int, str]) -> None:
        self.contexts = contexts
        self._folded: dict[int, Folded] = {}
        self._located: dict[Citation, tuple[Location, ...]] = {}  # aligning takes long

    def folded(self, index: int) -> Folded:
        """Return a context prepared to look quotes up in."""
        if index not in self._folded:
            self._folded[index] = Folded(self.contexts[index])
        return self._folded[index]

    def located(self, citation: Citation) -> tuple[Location, ...]:
        """Return where the parts of a quote stand in the context that it cites; none if nowhere."""
        if citation not in self._located:
            folded = self.folded(citation.context)
            self._located[citation] = locate_parts(citation.quote, folded)
        return self._located[citation]

    def objection(self, citation: Citation, verdict: Verdict, target: str, aim: Aim) -> str:
        """Return why a citation proves nothing, as half a sentence; empty where it may."""
        parts = self.located(citation)
        if not parts:
            return "is not there"
        others = verdict.citations if verdict.together else ()
        beside = [quote for index, quote in others if (index, quote) != citation]
        return objection(target, self.contexts[citation.context], parts, aim, beside)

    def prove(self, verdict: Verdict, target: str, aim: Aim) -> bool:
        """Whether a verdict rests on a verified quote, or on all of its quotes if it needs all."""
        are_verified = [
            not self.objection(citation, verdict, target, aim) for citation in verdict.citations
        ]
        return bool(are_verified) and (all if verdict.together else any)(are_verified)
