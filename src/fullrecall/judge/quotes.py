"""Locate a judge's quotes in the cited contexts, and check them against their targets."""

from __future__ import annotations

from collections.abc import Mapping

from fullrecall.judge.evidence import Folded, Location, locate_parts
from fullrecall.judge.judge import Citation, Verdict
from fullrecall.judge.language import Aim, language


class Quotes:
    """Contexts by their 0-based index, each prepared once for quote lookup."""

    def __init__(self, contexts: Mapping[int, str]) -> None:
        self.contexts = contexts
        self._folded: dict[int, Folded] = {}
        # Keep locations, which several rules need: finding them each time blocked an event loop.
        self._located: dict[Citation, tuple[Location, ...]] = {}

    def located(self, citation: Citation) -> tuple[Location, ...]:
        """Return the locations of a quote's parts in the cited context; () if it does not occur."""
        if citation not in self._located:
            index, quote = citation
            if index not in self._folded:
                self._folded[index] = Folded(self.contexts[index])
            self._located[citation] = locate_parts(quote, self._folded[index])
        return self._located[citation]

    def objection(self, citation: Citation, verdict: Verdict, target: str, aim: Aim) -> str:
        """Return the reason, as a clause, why a citation cannot prove the target; "" if it may."""
        parts = self.located(citation)
        if not parts:
            return "is not there"
        joint = verdict.citations if verdict.together else ()
        beside = [quote for index, quote in joint if (index, quote) != citation]
        return language().objection(target, self.contexts[citation.context], parts, aim, beside)

    def prove(self, verdict: Verdict, target: str, aim: Aim) -> bool:
        """Return whether a quote verifies a verdict; with `verdict.together`, every quote must."""
        are_verified = [
            not self.objection(citation, verdict, target, aim) for citation in verdict.citations
        ]
        return bool(are_verified) and (all if verdict.together else any)(are_verified)
